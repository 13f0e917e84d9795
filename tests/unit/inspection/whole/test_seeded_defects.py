"""Each defect seeded into a good wheel is found by its rule, and the good wheel has no finding at all."""

from __future__ import annotations

import json
import os
import struct
import warnings
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import msgpack
import pytest

from stackbuild.inspection import Expectations, inspect, judge
from stackbuild.model.findings import Severity
from support.binaries import (
    GOOD,
    MACH,
    TARGETS,
    WheelParts,
    bundle,
    ccob,
    code_object,
    fatbin,
    kernel,
    library,
    record,
    section,
    without_sections,
    zipped,
)  # fmt: skip

EXPECTED = Expectations(
    gfx=TARGETS, kernels_floor=5, version="1.2.3+rocm.6.4", size_budget=1_000_000, rocm="6.4",
    external=("libamdhip64.so.6",), excludes=("libamdhip64.so.*",),
)  # fmt: skip
INFO = GOOD.info
TENSILE = msgpack.packb({"solutions": [{"name": "Cijk"}], "library": {"type": "Problem", "rows": []}})
LAZY = msgpack.packb(
    {
        "solutions": [],
        "library": {"rows": [{"library": {"type": "Placeholder", "value": "TensileLibrary_Type_SS_gfx90a"}}]},
    }
)
LIB = "onnxruntime_ep_forge/libonnxruntime_ep_forge.so"


def lib(**changes: object) -> Callable[[], bytes]:
    return lambda: GOOD.but(lib=changes).bytes()


def parts(**changes: object) -> Callable[[], bytes]:
    return lambda: GOOD.but(**changes).bytes()


VARIANT = f"{GOOD.filename.removesuffix('.whl')}-gfx1100.whl"


def variant(*labels: str, static: object = None, providers: object = None) -> Callable[[], bytes]:
    """The good wheel with a variant.json of these labels."""
    value = {"variants": {label: {"amd": {"gfx_arch": [label]}} for label in labels}, "providers": providers or {}}
    value |= {"static-properties": static} if static else {}
    return parts(files={f"{INFO}/variant.json": json.dumps(value).encode()})


def commands(line: str) -> Callable[[], bytes]:
    """The good wheel with a line under [console_scripts]."""
    return parts(files={f"{INFO}/entry_points.txt": f"[console_scripts]\n{line}\n".encode()})


def recorded(change: Callable[[str], str]) -> Callable[[], bytes]:
    """The good wheel with RECORD's text changed."""

    def make() -> bytes:
        files = GOOD.contents()
        text = change(record(files, f"{INFO}/RECORD").decode())
        return zipped(files | {f"{INFO}/RECORD": text.encode()})

    return make


def tagged(tag: str) -> tuple[Callable[[], bytes], str]:
    """The good wheel under another tag, and the file name it then has."""
    return parts(tag=tag), GOOD.but(tag=tag).filename


def file_of(path: str, **by_target: bytes) -> Callable[[], bytes]:
    """The good wheel with a file of code objects; one by itself is not bundled."""
    return parts(files={path: next(iter(by_target.values())) if len(by_target) == 1 else bundle(by_target)})


def code(build: Callable[[], bytes]) -> Callable[[], bytes]:
    """The good wheel with other device code."""
    return lambda: GOOD.but(lib={"fatbin": build()}).bytes()


def objects(**by_target: bytes) -> bytes:
    return section([bundle({t: code_object(t, [kernel(f"k{n}") for n in range(5)]) for t in TARGETS} | by_target)])


def swapped() -> bytes:
    """gfx90a's entry holds code for gfx942."""
    return objects(gfx90a=code_object("gfx942", [kernel(f"k{n}") for n in range(5)]))


def five(target: str) -> bytes:
    return code_object(target, [kernel(f"k{n}") for n in range(5)])


def cut(share: float) -> bytes:
    """gfx1100's code object cut short; its bundle entry says the size that is left."""
    whole = five("gfx1100")
    return objects(gfx1100=whole[: int(len(whole) * share)])


def after_metadata() -> bytes:
    """gfx1100's code object cut after its metadata: everything that the facts are taken from is there."""
    whole = five("gfx1100")
    note = struct.unpack_from("<IIQQQQ", whole, 64)
    return objects(gfx1100=whole[: note[2] + note[5]])


def without_code() -> bytes:
    """Zeros in place of gfx1100's machine code, as a file with a hole has."""
    return objects(gfx1100=five("gfx1100").replace(b"\xbf\x81\0\0" * 64, bytes(256)))


def misdescribed(at: int, value: int) -> Callable[[], bytes]:
    """One 4-byte field of the first kernel descriptor of gfx1100 changed."""

    def make() -> bytes:
        whole = bytearray(five("gfx1100"))
        first = struct.unpack_from("<Q", whole, 64 + 56 + 32)[0] - 5 * 64
        struct.pack_into("<I", whole, first + at, value)
        return objects(gfx1100=bytes(whole))

    return make


def hollow(elf: bytes) -> bytes:
    """The library with a .hip_fatbin that has a size and no bytes."""
    made = bytearray(elf)
    start, names = struct.unpack_from("<Q", made, 40)[0], bytes(elf)
    for number in range(struct.unpack_from("<H", made, 60)[0]):
        at = start + 64 * number
        strings_at = struct.unpack_from("<Q", made, start + 64 * struct.unpack_from("<H", made, 62)[0] + 24)[0]
        if names[strings_at + struct.unpack_from("<I", made, at)[0] :].startswith(b".hip_fatbin\0"):
            struct.pack_into("<I", made, at + 4, 8)
            offset, size = struct.unpack_from("<QQ", made, at + 24)
            made[offset : offset + size] = bytes(size)
    return bytes(made)


def plugin(**changes: object) -> bytes:
    """The library of the good wheel, with other parts."""
    good = {
        "exports": ["CreateEpFactories", "ReleaseEpFactory"], "soname": "libonnxruntime_ep_forge.so",
        "undefined": ["malloc", "hipMalloc"], "needed": ["libamdhip64.so.6", "libc.so.6"], "fatbin": fatbin(),
    }  # fmt: skip
    return library(**(good | changes))  # type: ignore[arg-type]


def of_mach(number: int) -> bytes:
    """A code object whose header has another processor's number, and that does not say its target otherwise."""
    data = bytearray(code_object("gfx90a", metadata={"amdhsa.kernels": [kernel(f"k{n}") for n in range(5)]}))
    data[48] = number
    return bytes(data)


def flipped(marker: bytes, offset: int) -> Callable[[], bytes]:
    """The device code with one byte after a marker changed."""

    def make() -> bytes:
        data = bytearray(fatbin())
        at = data.index(marker) + offset
        data[at] ^= 0x40
        return bytes(data)

    return make


def zip_with(change: Callable[[zipfile.ZipFile], None]) -> Callable[[], bytes]:
    """The good wheel with more members written after it."""

    def make() -> bytes:
        buffer = BytesIO(GOOD.bytes())
        with warnings.catch_warnings(), zipfile.ZipFile(buffer, "a") as archive:
            warnings.simplefilter("ignore")  # zipfile warns of the duplicate that is meant
            change(archive)
        return buffer.getvalue()

    return make


def link(archive: zipfile.ZipFile) -> None:
    info = zipfile.ZipInfo("onnxruntime_ep_forge/link")
    info.external_attr = 0o120777 << 16
    archive.writestr(info, "/etc/passwd")


def local_name() -> bytes:
    data = GOOD.bytes()
    return data.replace(b"onnxruntime_ep_forge/__init__.py", b"onnxruntime_ep_forge/__init__.pz", 1)


def two_ends() -> bytes:
    """Another archive, whose end record's comment reaches over this one's end."""
    first, second = bytearray(zipped({"a.py": b""})), GOOD.bytes()
    first[-2:] = len(second).to_bytes(2, "little")
    return bytes(first) + second


def crc() -> bytes:
    """A byte of a stored member changed after packing."""
    files = GOOD.contents()
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for path, content in (files | {f"{INFO}/RECORD": record(files, f"{INFO}/RECORD")}).items():
            archive.writestr(path, content)
    return buffer.getvalue().replace(b"nothing to see", b"nothing to sea", 1)


#: name → (rule that must speak, the spoilt wheel's bytes, its file name where that is what is spoilt)
DEFECTS: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "cwd by trailing colon": ("SB-ELF-CWD-RUNPATH", lib(runpath="$ORIGIN:"), ""),
    "cwd by leading colon": ("SB-ELF-CWD-RUNPATH", lib(runpath=":$ORIGIN"), ""),
    "cwd by empty element": ("SB-ELF-CWD-RUNPATH", lib(runpath="$ORIGIN::$ORIGIN/lib"), ""),
    "cwd by dot": ("SB-ELF-CWD-RUNPATH", lib(runpath="."), ""),
    "relative runpath": ("SB-ELF-CWD-RUNPATH", lib(runpath="lib"), ""),
    "cwd by $LIB": ("SB-ELF-CWD-RUNPATH", lib(runpath="$LIB/plugins"), ""),
    "cwd by ${PLATFORM}": ("SB-ELF-CWD-RUNPATH", lib(runpath="$ORIGIN:${PLATFORM}"), ""),
    "cwd by a longer word": ("SB-ELF-CWD-RUNPATH", lib(runpath="$ORIGINAL/x"), ""),
    "needs a relative path": ("SB-ELF-CWD-RUNPATH", lib(needed=["libamdhip64.so.6", "libc.so.6", "build/liba.so"]), ""),
    "needs an absolute path": (
        "SB-ELF-ABSOLUTE-RUNPATH",
        lib(needed=["libamdhip64.so.6", "libc.so.6", "/opt/rocm/lib/liba.so"]),
        "",
    ),
    "cwd by rpath": ("SB-ELF-CWD-RUNPATH", lib(runpath=None, rpath="$ORIGIN:"), ""),
    "absolute runpath": ("SB-ELF-ABSOLUTE-RUNPATH", lib(runpath="/opt/rocm-6.4.0/lib"), ""),
    "absolute rpath": ("SB-ELF-ABSOLUTE-RUNPATH", lib(rpath="/home/builder/lib"), ""),
    "escaping runpath": ("SB-ELF-ESCAPING-RUNPATH", lib(runpath="$ORIGIN/../../elsewhere"), ""),
    "escaping runpath of a moved library": (
        "SB-ELF-ESCAPING-RUNPATH",
        parts(
            files={
                "onnxruntime_ep_forge-1.2.3+rocm.6.4.data/platlib/x/libx.so": library(
                    soname="x", runpath="$ORIGIN/../../y"
                )
            }
        ),
        "",
    ),
    "executable stack": ("SB-ELF-EXEC-STACK", lib(stack=7), ""),
    "no stack header": ("SB-ELF-EXEC-STACK", lib(stack=None), ""),
    "no soname": ("SB-ELF-SONAME", lib(soname=""), ""),
    "underlinked": ("SB-ELF-UNDERLINKED", lib(undefined=["malloc", "hipMalloc", "rocblas_create_handle"]), ""),
    "avx-512": ("SB-ELF-ISA", lib(isa=4), ""),
    "unstripped": ("SB-ELF-UNSTRIPPED", lib(symtab=2 << 20), ""),
    "another machine": ("SB-ELF-MACHINE", lib(machine=183), ""),
    "half a plugin": ("SB-EP-EXPORTS", lib(exports=["CreateEpFactories"]), ""),
    "exports everything": (
        "SB-ELF-EXPORTS-MANY",
        lib(exports=["CreateEpFactories", "ReleaseEpFactory", *(f"llvm{n}" for n in range(80))]),
        "",
    ),
    "glibc too new": ("SB-TAG-POLICY", lib(versions={"libc.so.6": ["GLIBC_2.17", "GLIBC_2.35"]}), ""),
    "libstdc++ too new": ("SB-TAG-POLICY", lib(versions={"libstdc++.so.6": ["GLIBCXX_3.4.30"]}), ""),
    "glibc too new for a tag between two policies": (
        "SB-TAG-POLICY",
        lambda: GOOD.but(tag="py3-none-manylinux_2_30_x86_64", lib={"versions": {"libc.so.6": ["GLIBC_2.31"]}}).bytes(),
        GOOD.but(tag="py3-none-manylinux_2_30_x86_64").filename,
    ),
    "libstdc++ too new for a tag between two policies": (
        "SB-TAG-POLICY",
        lambda: GOOD.but(
            tag="py3-none-manylinux_2_30_x86_64", lib={"versions": {"libstdc++.so.6": ["GLIBCXX_3.4.30"]}}
        ).bytes(),
        GOOD.but(tag="py3-none-manylinux_2_30_x86_64").filename,
    ),
    "glibc under musllinux": ("SB-TAG-PLATFORM", *tagged("py3-none-musllinux_1_2_x86_64")),
    "glibc for Android": ("SB-TAG-PLATFORM", *tagged("py3-none-android_24_x86_64")),
    "musl under manylinux": (
        "SB-TAG-PLATFORM",
        lib(needed=["libamdhip64.so.6", "libc.musl-x86_64.so.1"], versions={}),
        "",
    ),
    "ELF for Windows": ("SB-TAG-PLATFORM", *tagged("py3-none-win_amd64")),
    "ELF for macOS": ("SB-TAG-PLATFORM", *tagged("py3-none-macosx_11_0_arm64")),
    "a glibc that is not yet": ("SB-TAG-UNKNOWN", *tagged("py3-none-manylinux_2_99_x86_64")),
    "isoc23 without a version": ("SB-TAG-POLICY", lib(undefined=["malloc", "hipMalloc", "__isoc23_strtol"]), ""),
    "two ROCm majors": ("SB-ROCM-MIXED", lib(needed=["libamdhip64.so.6", "librocblas.so.5", "libc.so.6"]), ""),
    "another ROCm": ("SB-ROCM-SONAME", lib(needed=["libamdhip64.so.7", "libc.so.6"]), ""),
    "needs something unsaid": ("SB-ELF-EXTERNAL", lib(needed=["libamdhip64.so.6", "libMIOpen.so.1", "libc.so.6"]), ""),
    "home path": ("SB-TEXT-HOME-PATH", lib(rodata=b"\0/home/builder/ort/core/session.cc\0"), ""),
    "secret": ("SB-TEXT-SECRET", lib(rodata=b"\0ghp_" + b"a1B2" * 9 + b"\0"), ""),
    "secret in a text file": (
        "SB-TEXT-SECRET",
        parts(files={"onnxruntime_ep_forge/build.txt": b"url=https://ci:hunter2hunter2@git.example.org/x"}),
        "",
    ),
    "another branch": (
        "SB-WHEEL-BUILD-INFO",
        lib(rodata=b"\0ORT Build Info: git-branch=rel-1.1.0, git-commit-id=f217402897, x\0"),
        "",
    ),
    "grafted library": (
        "SB-ROCM-GRAFTED",
        parts(
            files={"onnxruntime_ep_forge.libs/libamdhip64-1a2b3c4d.so.6": library(soname="libamdhip64-1a2b3c4d.so.6")}
        ),
        "",
    ),
    "no provider": (
        "SB-ROCM-NO-PROVIDER",
        lambda: GOOD.but(
            name="onnxruntime-rocm", lib={"exports": ["f"], "fatbin": b"", "undefined": [], "needed": ["libc.so.6"]}
        ).bytes(),
        GOOD.but(name="onnxruntime-rocm").filename,
    ),
    "plugin pins onnxruntime": (
        "SB-EP-PLUGIN-DEPENDS",
        parts(metadata=GOOD.metadata + "Requires-Dist: onnxruntime>=1.24\n"),
        "",
    ),
    "undeclared import": ("SB-META-UNDECLARED", parts(init="import numpy\nimport flatbuffers\n"), ""),
    "undeclared numpy of an extension": (
        "SB-META-UNDECLARED",
        lambda: GOOD.but(
            init="", metadata="Description-Content-Type: text/plain\n", lib={"rodata": b"\0numpy.core.multiarray\0"}
        ).bytes(),
        "",
    ),
    "no licence": (
        "SB-META-LICENCE",
        parts(without=("LICENSE",), metadata="Requires-Dist: numpy\nDescription-Content-Type: text/plain\n"),
        "",
    ),
    "no description": ("SB-META-DESCRIPTION", parts(body=""), ""),
    "no content type": ("SB-META-DESCRIPTION", parts(metadata="Requires-Dist: numpy\n"), ""),
    "no name": (
        "SB-META-NAME",
        parts(files={f"{INFO}/METADATA": b"Metadata-Version: 2.1\nRequires-Dist: numpy\n\n"}),
        "",
    ),
    "renamed": ("SB-META-NAME", parts(), "onnxruntime_ep_forge-9.9-py3-none-manylinux_2_28_x86_64.whl"),
    "retagged": ("SB-TAG-MISMATCH", parts(wheel_tag="py3-none-linux_x86_64"), ""),
    "not a wheel's name": ("SB-ZIP-UNCLEAN", parts(), "forge.whl"),
    "local version without dot": (
        "SB-VERSION-LOCAL",
        parts(version="1.2.3+rocm6.4"),
        GOOD.but(version="1.2.3+rocm6.4").filename,
    ),
    "another version": (
        "SB-RECIPE-VERSION",
        parts(version="1.2.4+rocm.6.4"),
        GOOD.but(version="1.2.4+rocm.6.4").filename,
    ),
    "gfx targets as static properties": ("SB-VARIANT-STATIC", variant("gfx1100", static={"amd": {"gfx_arch": ["gfx1201", "gfx1100"]}}), VARIANT),
    "gfx target as a provider's static property": (
        "SB-VARIANT-STATIC",
        variant("gfx1100", providers={"amd": {"static-properties": {"gfx_arch": ["gfx90a"]}}}),
        VARIANT,
    ),
    "variant of another label": ("SB-VARIANT-LABEL", variant("gfx90a"), VARIANT),
    "variant of two labels": ("SB-VARIANT-LABEL", variant("gfx1100", "gfx90a"), VARIANT),
    "variant.json without a label": ("SB-VARIANT-LABEL", variant("gfx1100"), ""),
    "label without variant.json": ("SB-VARIANT-LABEL", parts(), VARIANT),
    "variant.json that is none": ("SB-READ-MALFORMED", parts(files={f"{INFO}/variant.json": b"[]"}), VARIANT),
    "no hashes": ("SB-RECORD-HASH", recorded(lambda t: "".join(f"{r.split(',')[0]},,\n" for r in t.splitlines())), ""),
    "weak hash": ("SB-RECORD-HASH", recorded(lambda t: t.replace("sha256=", "md5=", 1)), ""),
    "wrong hash": ("SB-RECORD-MISMATCH", recorded(lambda t: t.replace("sha256=", "sha256=AAAA", 1)), ""),
    "wrong sha512": (
        "SB-RECORD-MISMATCH",
        recorded(lambda t: t.replace("sha256=" + t.split("sha256=")[1].split(",")[0], "sha512=" + "A" * 86, 1)),
        "",
    ),
    "wrong size": ("SB-RECORD-MISMATCH", recorded(lambda t: t.replace(",4\n", ",5\n", 1)), ""),
    "row missing": ("SB-RECORD-MISMATCH", recorded(lambda t: t.split("\n", 1)[1]), ""),
    "row too many": ("SB-RECORD-MISMATCH", recorded(lambda t: "gone.py,sha256=AAAA,3\n" + t), ""),
    "row twice": ("SB-RECORD-MISMATCH", recorded(lambda t: t.splitlines()[0] + "\n" + t), ""),
    "no RECORD": ("SB-RECORD-MISMATCH", lambda: zipped(GOOD.contents()), ""),
    "no dist-info": ("SB-ZIP-UNCLEAN", lambda: zipped({"a.py": b""}), ""),
    "duplicate member": (
        "SB-ZIP-UNCLEAN",
        zip_with(lambda z: z.writestr("onnxruntime_ep_forge/__init__.py", "evil")),
        "",
    ),
    "parent member": ("SB-ZIP-UNCLEAN", zip_with(lambda z: z.writestr("../evil.py", "x")), ""),
    "absolute member": ("SB-ZIP-UNCLEAN", zip_with(lambda z: z.writestr("/etc/evil", "x")), ""),
    "link member": ("SB-ZIP-UNCLEAN", zip_with(link), ""),
    "local name differs": ("SB-ZIP-UNCLEAN", local_name, ""),
    "data after the end": ("SB-ZIP-UNCLEAN", lambda: GOOD.bytes() + b"more", ""),
    "data before the start": ("SB-ZIP-UNCLEAN", lambda: b"#!/bin/sh\n" + GOOD.bytes(), ""),
    "cut short": ("SB-READ-MALFORMED", lambda: GOOD.bytes()[:-100], ""),
    "byte flipped": ("SB-READ-MALFORMED", crc, ""),
    "library cut short": ("SB-READ-MALFORMED", parts(files={LIB: library(soname="x")[:300]}), ""),
    "library without sections cut short": (
        "SB-READ-MALFORMED",
        parts(files={LIB: without_sections(plugin())[:-64]}),
        "",
    ),
    "library of text": (
        "SB-READ-MALFORMED",
        parts(files={"onnxruntime_ep_forge/libmore.so": b"version https://git-lfs"}),
        "",
    ),
    "target missing": (
        "SB-RECIPE-GFX",
        code(lambda: section([bundle({"gfx90a": code_object("gfx90a", [kernel(f"k{n}") for n in range(5)])})])),
        "",
    ),
    "target too many": ("SB-RECIPE-GFX", code(lambda: objects(gfx942=code_object("gfx942"))), ""),
    "xnack differs": (
        "SB-RECIPE-GFX",
        code(
            lambda: section(
                [bundle({"gfx90a:xnack-": code_object("gfx90a:xnack-"), "gfx1100": code_object("gfx1100")})]
            )
        ),
        "",
    ),
    "no GPU code at all": ("SB-RECIPE-GFX", lib(fatbin=b""), ""),
    "too few kernels": (
        "SB-RECIPE-KERNELS",
        code(lambda: objects(gfx1100=code_object("gfx1100", [kernel("k")] * 3))),
        "",
    ),
    "kernels that are empty": (
        "SB-GPU-EMPTY",
        code(lambda: objects(gfx1100=code_object("gfx1100", [kernel("k", 0)] * 5))),
        "",
    ),
    "code objects without kernels": (
        "SB-GPU-EMPTY",
        code(lambda: objects(gfx1100=code_object("gfx1100", []))),
        "",
    ),
    "a target that one library lacks": (
        "SB-RECIPE-GFX",
        parts(files={"onnxruntime_ep_forge/libmore.so": library(soname="libmore.so", fatbin=section([bundle({"gfx90a": five("gfx90a")})]))}),
        "",
    ),
    "a target that one translation unit lacks": (
        "SB-GPU-BUNDLE-TARGETS",
        code(lambda: section([fatbin(), bundle({"gfx90a": five("gfx90a")})])),
        "",
    ),
    "uneven targets": ("SB-GPU-UNEVEN", code(lambda: objects(gfx1100=code_object("gfx1100", [kernel("k")] * 2))), ""),
    "registers what is not there": ("SB-GPU-WRAPPERS", lib(wrappers=3), ""),
    "two end records": ("SB-ZIP-UNCLEAN", two_ends, ""),
    "spills": (
        "SB-GPU-SPILLS",
        code(
            lambda: objects(
                gfx90a=code_object("gfx90a", [kernel(f"k{n}", **{".vgpr_spill_count": 9}) for n in range(5)])
            )
        ),
        "",
    ),
    "entry lies": ("SB-GPU-TARGET-LIE", code(swapped), ""),
    "metadata lies": (
        "SB-GPU-TARGET-LIE",
        code(
            lambda: objects(
                gfx90a=code_object(
                    "gfx90a", metadata={"amdhsa.target": "amdgcn-amd-amdhsa--gfx942", "amdhsa.kernels": []}
                )
            )
        ),
        "",
    ),
    "file name lies": ("SB-GPU-TARGET-LIE", file_of("x/Kernels.so-000-gfx942.hsaco", gfx90a=code_object("gfx90a")), ""),
    "a GPU nobody knows": ("SB-GPU-TARGET-UNKNOWN", file_of("x/a.co", gfx=of_mach(0x7F)), ""),
    "a known entry with a GPU nobody knows": ("SB-GPU-TARGET-LIE", code(lambda: objects(gfx90a=of_mach(0x7F))), ""),
    "code objects of two versions": (
        "SB-GPU-MIXED-VERSIONS",
        code(lambda: objects(gfx90a=code_object("gfx90a", [kernel(f"k{n}") for n in range(5)], abi=2))),
        "",
    ),
    "compressed bundle's hash": ("SB-GPU-BUNDLE-HASH", code(flipped(b"CCOB", 24)), ""),
    "compressed bundle damaged": ("SB-READ-MALFORMED", code(flipped(b"CCOB", 60)), ""),
    "compressed bundle too long": ("SB-READ-MALFORMED", code(flipped(b"CCOB", 12)), ""),
    "bundle's table damaged": ("SB-READ-MALFORMED", code(flipped(b"__CLANG_OFFLOAD", 55)), ""),
    "metadata damaged": ("SB-READ-MALFORMED", code(flipped(b"amdhsa.kernels", 14)), ""),
    "code object of another machine": ("SB-READ-MALFORMED", code(lambda: objects(gfx1100=library())), ""),
    "bundle claims a terabyte": ("SB-READ-LIMIT", parts(files={"x/a.co": ccob(fatbin(), inflated=1 << 40)}), ""),
    "gfx entry without metadata list": (
        "SB-READ-MALFORMED",
        code(lambda: objects(gfx1100=code_object("gfx1100", metadata={"amdhsa.kernels": 7}))),
        "",
    ),
    "tensile without code": ("SB-GPU-TENSILE-PAIR", parts(files={"x/library/TensileLibrary_gfx942.dat": TENSILE}), ""),
    "tensile with code in a library only": (
        "SB-GPU-TENSILE-PAIR",
        parts(files={"x/library/TensileLibrary_gfx90a.dat": TENSILE}),
        "",
    ),
    "tensile with code in another folder": (
        "SB-GPU-TENSILE-PAIR",
        parts(files={"x/library/TensileLibrary_gfx90a.dat": TENSILE, "x/Kernels_gfx90a.hsaco": code_object("gfx90a")}),
        "",
    ),
    "tensile index without its files": (
        "SB-GPU-TENSILE-LOST",
        parts(files={"x/library/TensileLibrary_lazy_gfx90a.dat": LAZY}),
        "1 of 1 file missing, such as TensileLibrary_Type_SS_gfx90a.dat",
    ),
    "tensile file cut off": (
        "SB-READ-MALFORMED",
        parts(files={"x/library/TensileLibrary_gfx90a.dat": TENSILE[:-1]}),
        "MessagePack",
    ),
    "kpack archive": ("SB-READ-UNREAD", parts(files={"x/blas.kpack": b"KPAK" + bytes(60)}), ""),
    "kpack archive by name only": ("SB-READ-MALFORMED", parts(files={"x/blas.kpack": b"hi"}), ""),
    "kernel database": ("SB-READ-UNREAD", parts(files={"x/gfx90a68.kdb": b"SQLite format 3\0" + bytes(84)}), ""),
    "kernel database by name only": (
        "SB-READ-MALFORMED",
        parts(files={"x/gfx90a68.kdb": b"version https://git-lfs"}),
        "",
    ),
    "code split out": ("SB-READ-UNREAD", lib(wrapper=b"KPIH"), ""),
    "over budget": (
        "SB-RECIPE-SIZE",
        lambda: GOOD.but(files={"x.bin": os.urandom(1_000_001)}).bytes(),
        "",
    ),
    "copies": ("SB-WHEEL-DUPLICATE", parts(files={"a.bin": b"a" * 70_000, "b.bin": b"a" * 70_000}), ""),
    "code object cut to a fifth": ("SB-READ-MALFORMED", code(lambda: cut(0.2)), ""),
    "code object cut after its metadata": ("SB-READ-MALFORMED", code(after_metadata), ""),
    "code object without its last byte": ("SB-READ-MALFORMED", code(lambda: cut(0.9999)), ""),
    "code object without code": ("SB-READ-MALFORMED", code(without_code), ""),
    "kernel without a descriptor": (
        "SB-READ-MALFORMED",
        code(lambda: objects(gfx1100=five("gfx1100").replace(b"k3.kd\0", b"k9.kd\0"))),
        "",
    ),
    "descriptor with other LDS": ("SB-READ-MALFORMED", code(misdescribed(0, 4096)), ""),
    "descriptor with other scratch": ("SB-READ-MALFORMED", code(misdescribed(4, 64)), ""),
    "descriptor that leads nowhere": ("SB-READ-MALFORMED", code(misdescribed(16, 1 << 30)), ""),
    "bundle of nothing": (
        "SB-GPU-BUNDLE-EMPTY",
        code(lambda: section([fatbin(), b"__CLANG_OFFLOAD_BUNDLE__" + bytes(8)])),
        "",
    ),
    "bundle for the host alone": ("SB-GPU-BUNDLE-EMPTY", code(lambda: section([fatbin(), bundle({})])), ""),
    "entry without bytes": ("SB-GPU-BUNDLE-EMPTY", code(lambda: objects(gfx942=b"")), ""),
    "target twice": ("SB-GPU-TARGET-TWICE", code(lambda: objects(**{"gfx1100 ": five("gfx1100")})), ""),
    "triple of another system": (
        "SB-GPU-TRIPLE",
        code(lambda: section([fatbin(), bundle({"gfx90a": five("gfx90a")}, "hipv4-amdgcn-amd-linux--{}")])),
        "",
    ),
    "triple of another kind": (
        "SB-GPU-TRIPLE",
        code(lambda: section([fatbin(), bundle({"gfx90a": five("gfx90a")}, "openmp-amdgcn-amd-amdhsa--{}")])),
        "",
    ),
    "entry for no target": (
        "SB-GPU-TRIPLE",
        code(lambda: section([fatbin(), bundle({"": five("gfx90a")})])),
        "",
    ),
    "renamed .hip_fatbin": (
        "SB-GPU-SECTION",
        parts(files={LIB: plugin().replace(b".hip_fatbin\0", b".hip_fatbix\0")}),
        "",
    ),
    "NOBITS .hip_fatbin": ("SB-GPU-LOST", parts(files={LIB: hollow(plugin())}), ""),
    "NOBITS .hip_fatbin that nobody registers": (
        "SB-GPU-LOST",
        parts(files={LIB: hollow(plugin()).replace(b".hipFatBinSegment\0", b".hipFatBinSegmenx\0")}),
        "",
    ),
    "registers without any code": (
        "SB-GPU-LOST",
        lib(fatbin=b"", undefined=["malloc", "hipMalloc", "__hipRegisterFatBinary"]),
        "",
    ),
    "half a plugin named like a bridge": (
        "SB-EP-EXPORTS",
        parts(
            files={
                "onnxruntime_ep_forge/libonnxruntime_providers_forge.so": library(
                    exports=["CreateEpFactories"], soname="libonnxruntime_providers_forge.so"
                )
            }
        ),
        "",
    ),
    "a plugin's wheel without a plugin": ("SB-EP-EXPORTS", lib(exports=["f"]), ""),
    "text relocations": ("SB-ELF-TEXTREL", lib(tags=[(22, 0)]), ""),
    "text relocations by flag": ("SB-ELF-TEXTREL", lib(tags=[(30, 4)]), ""),
    "runpath joined by a semicolon": ("SB-ELF-RUNPATH-SEPARATOR", lib(runpath="$ORIGIN;/x"), ""),
    "requirement that does not parse": (
        "SB-META-REQUIRES",
        parts(metadata=GOOD.metadata + "Requires-Dist: torch>=2.x; and more\n"),
        "",
    ),
    "requirement that cannot be compared": (
        "SB-META-REQUIRES",
        parts(metadata=GOOD.metadata + 'Requires-Dist: numpy; os_name ~= "posix"\n'),
        "",
    ),
    "python that does not parse": ("SB-META-REQUIRES", parts(metadata=GOOD.metadata + "Requires-Python: three\n"), ""),
    "wheel format of the future": ("SB-META-WHEEL-VERSION", parts(wheel_version="2.0"), ""),
    "no wheel format": ("SB-META-WHEEL-VERSION", parts(wheel_version=""), ""),
    "command outside of bin": ("SB-META-ENTRY-POINT", commands("../../../evil = onnxruntime_ep_forge:main"), ""),
    "command with a path": ("SB-META-ENTRY-POINT", commands("bin/evil = onnxruntime_ep_forge:main"), ""),
    "command that reads otherwise": ("SB-META-ENTRY-POINT", commands("a\u202egpj = onnxruntime_ep_forge:main"), ""),
    "command that is shell": ("SB-META-ENTRY-POINT", commands("evil = os; import sys"), ""),
    "code at every start": ("SB-WHEEL-STARTUP", parts(files={"forge.pth": b"import forge_start\n"}), ""),
    "code at every start by .data": (
        "SB-WHEEL-STARTUP",
        parts(files={"onnxruntime_ep_forge-1.2.3+rocm.6.4.data/purelib/forge.pth": b"import forge_start\n"}),
        "",
    ),
    "sitecustomize": ("SB-WHEEL-STARTUP", parts(files={"sitecustomize.py": b""}), ""),
    "name that reads otherwise": (
        "SB-ZIP-UNCLEAN",
        parts(files={"onnxruntime_ep_forge/a\u202eyp.exe": b""}),
        "",
    ),
    "undeclared import that a requirement may bring": (
        "SB-META-TRANSITIVE",
        parts(init="import numpy\nimport typing_extensions\n", metadata=GOOD.metadata + "Requires-Dist: torch\n"),
        "",
    ),
    "installs onnxruntime": ("SB-DIST-SHARED-MODULE", parts(files={"onnxruntime/__init__.py": b""}), ""),
}


def found(data: bytes, name: str, folder: Path) -> list[tuple[str, Severity]]:
    path = folder / (name or GOOD.filename)
    path.write_bytes(data)
    return [(f.rule, f.severity) for f in judge(inspect(path), EXPECTED)]


def test_the_good_wheel_has_no_finding(tmp_path: Path) -> None:
    assert found(GOOD.bytes(), "", tmp_path) == []


VARIANTS = {
    f"onnxruntime_ep_forge/libforge_rocm{rocm}.so": library(
        exports=["gemm", "quantise"], soname=f"libforge_rocm{rocm}.so", needed=[f"libamdhip64.so.{major}"],
        undefined=["hipMalloc"], fatbin=section([bundle({t: code_object(t, [kernel(f"v{n}") for n in range(9)]) for t in targets})]),
    )
    for rocm, major, targets in ((64, 6, ("gfx90a", "gfx1100")), (70, 7, ("gfx90a", "gfx1100", "gfx942")))
}  # fmt: skip
"""Two libraries of one interface, each for another ROCm, of which the newer knows a target more."""


def test_a_good_variant_has_no_finding(tmp_path: Path) -> None:
    """Its targets are asked of the machine; how deep its JSON is nested makes no difference."""
    deep: object = "gfx1100"
    for _ in range(900):
        deep = [deep]
    path = tmp_path / VARIANT
    path.write_bytes(variant("gfx1100", static={"blas": {"library": ["openblas"]}}, providers={"amd": {"more": deep}})())
    facts = inspect(path)
    assert judge(facts, EXPECTED) == () and facts.wheel and facts.wheel.variant
    assert (facts.wheel.variant.label, facts.wheel.variant.static_values) == ("gfx1100", ("openblas",))
    path.write_bytes(variant("gfx1100", static={"amd": deep})())
    assert [finding.rule for finding in judge(inspect(path), EXPECTED)] == ["SB-VARIANT-STATIC"]


def test_libraries_that_are_alternatives_are_no_mixture(tmp_path: Path) -> None:
    rules = [rule for rule, _ in found(GOOD.but(files=VARIANTS).bytes(), "", tmp_path)]
    assert not {"SB-ROCM-MIXED", "SB-GPU-UNEVEN", "SB-ROCM-SONAME"} & set(rules)


def test_libraries_that_need_each_other_are_no_alternatives(tmp_path: Path) -> None:
    first, second = sorted(VARIANTS)
    linked = library(
        exports=["gemm", "quantise"], soname="libforge_rocm70.so", needed=["libforge_rocm64.so", "libamdhip64.so.7"]
    )
    files = {first: VARIANTS[first], second: linked}
    assert "SB-ROCM-MIXED" in [rule for rule, _ in found(GOOD.but(files=files).bytes(), "", tmp_path)]


def test_alternatives_that_all_miss_the_recipes_rocm_are_found(tmp_path: Path) -> None:
    files = {path: data for path, data in VARIANTS.items() if "rocm70" in path}
    rules = [rule for rule, _ in found(GOOD.but(files=files).bytes(), "", tmp_path)]
    assert "SB-ROCM-SONAME" in rules


def test_an_archive_inside_the_wheel_is_no_second_end(tmp_path: Path) -> None:
    files = GOOD.contents() | {"onnxruntime_ep_forge/data.zip": zipped({"a": b"b"})}
    files |= {f"{INFO}/RECORD": record(files, f"{INFO}/RECORD")}
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    assert found(buffer.getvalue(), "", tmp_path) == []


@pytest.mark.parametrize(
    "runpath", ["${ORIGIN}", "$ORIGIN/lib", "${ORIGIN}/../onnxruntime_ep_forge.libs", "$ORIGIN/$LIB", "$ORIGIN.libs"]
)
def test_paths_from_the_librarys_own_place_are_no_finding(runpath: str, tmp_path: Path) -> None:
    assert found(GOOD.but(lib={"runpath": runpath}).bytes(), "", tmp_path) == []


def test_tensile_files_with_their_code_objects_are_no_finding(tmp_path: Path) -> None:
    files = {
        "x/TensileLibrary_gfx90a.dat": TENSILE,
        "x/Kernels.so-000-gfx90a-xnack-.hsaco": code_object("gfx90a:xnack-"),
    }
    split = {"x/TensileLibrary_gfx90a.dat": TENSILE, "x/blas_gfx90a.kpack": b"KPAK" + bytes(60)}
    for each in (files, split):
        rules = {rule for rule, _ in found(GOOD.but(files=each).bytes(), "", tmp_path)}
        assert not any(rule.startswith("SB-GPU-T") for rule in rules)


@pytest.mark.parametrize(
    ("tag", "needed", "glibc"),
    [
        ("py3-none-musllinux_1_2_x86_64", ["libc.musl-x86_64.so.1"], []),
        ("py3-none-musllinux_1_2_x86_64.manylinux_2_28_x86_64", ["libm.so"], []),
        ("py3-none-manylinux_2_30_x86_64", ["libc.so.6"], ["GLIBC_2.30"]),
        ("py3-none-linux_x86_64", ["libc.so.6"], ["GLIBC_2.41"]),
    ],
)
def test_libraries_for_the_system_of_their_tag_are_no_finding(
    tag: str, needed: list[str], glibc: list[str], tmp_path: Path
) -> None:
    wheel = GOOD.but(
        tag=tag, lib={"needed": ["libamdhip64.so.6", *needed], "versions": {"libc.so.6": glibc} if glibc else {}}
    )
    rules = [rule for rule, _ in found(wheel.bytes(), wheel.filename, tmp_path)]
    assert not any(rule.startswith("SB-TAG-") and rule != "SB-TAG-MISMATCH" for rule in rules)


def test_a_plugin_may_import_the_onnxruntime_it_is_used_with(tmp_path: Path) -> None:
    assert found(GOOD.but(init="import numpy\nimport onnxruntime\n").bytes(), "", tmp_path) == []


def test_enough_defects_are_seeded() -> None:
    assert len(DEFECTS) >= 40


@pytest.mark.parametrize("name", DEFECTS)
def test_each_defect_is_caught(name: str, tmp_path: Path) -> None:
    rule, make, filename = DEFECTS[name]
    assert rule in [r for r, _ in found(make(), filename, tmp_path)]


def test_defects_are_not_caught_by_chance(tmp_path: Path) -> None:
    """No rule speaks about everything: each defect leaves most other rules silent."""
    rules = {rule for rule, _, _ in DEFECTS.values()}
    for number, (rule, make, filename) in enumerate(DEFECTS.values()):
        if number % 4 == 0:
            others = {r for r, _ in found(make(), filename, tmp_path)} - {rule}
            assert len(others) <= len(rules) // 4, (rule, others)


def test_forged_targets_are_known() -> None:
    assert set(TARGETS) <= set(MACH) and struct.calcsize("<QQQ") == 24
    assert isinstance(GOOD, WheelParts)


@pytest.mark.parametrize(
    ("name", "belongs"),
    [
        ("libamdhip64.so.7", True), ("libamdhip64-1a2b3c4d.so.6", True), ("librocblas.so.5", True), ("libhipblaslt.so.1", True),
        ("libMIOpen.so.1", True), ("libmigraphx_c.so.3", True), ("libhsa-runtime64.so.1", True), ("librccl.so.1", True),
        ("libmigraphx-ep.so", False), ("librockernels_ep_hip.so", False), ("libstackbuild_kernels_hip.so", False),
        ("libonnxruntime_providers_rocm.so", False),
    ],
)  # fmt: skip
def test_which_libraries_are_rocm_s(name: str, belongs: bool, tmp_path: Path) -> None:
    data = GOOD.but(files={f"onnxruntime_ep_forge/{name}": library(soname=name)}).bytes()
    assert ("SB-ROCM-GRAFTED" in [rule for rule, _ in found(data, "", tmp_path)]) is belongs
