"""Makes ELF files, code objects, bundles and wheels from nothing, so that tests need no compiler, no GPU and no download.

`good_wheel(path)` is a wheel without a fault; every keyword spoils one thing.
"""

from __future__ import annotations

import base64
import hashlib
import io
import struct
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgpack
import zstandard

MACH = {"gfx90a": 0x3F, "gfx942": 0x4C, "gfx1030": 0x36, "gfx1100": 0x41}
_SHT = {
    ".dynsym": 11,
    ".dynstr": 3,
    ".gnu.version_r": 0x6FFFFFFE,
    ".dynamic": 6,
    ".note.gnu.property": 7,
    ".symtab": 2,
    ".strtab": 3,
}


def strings(*texts: str) -> tuple[bytes, dict[str, int]]:
    """A string table and where each text is in it."""
    table, at = bytearray(b"\0"), {"": 0}
    for text in texts:
        if text not in at:
            at[text] = len(table)
            table += text.encode() + b"\0"
    return bytes(table), at


def library(
    *,
    exports: Iterable[str] = (),
    undefined: Iterable[str] = ("malloc",),
    needed: Iterable[str] = ("libc.so.6",),
    soname: str = "",
    runpath: str | None = "$ORIGIN",
    rpath: str | None = None,
    stack: int | None = 6,
    versions: Mapping[str, Iterable[str]] | None = None,
    rodata: bytes = b"nothing to see",
    fatbin: bytes = b"",
    wrapper: bytes = b"FPIH",
    wrappers: int = 1,
    isa: int = 0,
    symtab: int = 0,
    machine: int = 62,
    more: Mapping[str, bytes] | None = None,
    tags: Iterable[tuple[int, int]] = (),
) -> bytes:
    """An x86-64 shared library as a linker lays it out: what a loader reads, and no code. `more` are sections beside, `tags`
    more dynamic tags."""
    exports, undefined, needed = list(exports), list(undefined), list(needed)
    versions = {"libc.so.6": ["GLIBC_2.17"]} if versions is None else {k: list(v) for k, v in versions.items()}
    names = [
        *exports,
        *undefined,
        *needed,
        soname,
        runpath or "",
        rpath or "",
        *versions,
        *(v for vs in versions.values() for v in vs),
    ]
    dynstr, at = strings(*names)
    symbols = b"\0" * 24 + b"".join(struct.pack("<IBBHQQ", at[n], 0x12, 0, 7, 0x1000, 8) for n in exports)
    symbols += b"".join(struct.pack("<IBBHQQ", at[n], 0x12, 0, 0, 0, 0) for n in undefined)
    parts: dict[str, bytes] = {".dynsym": symbols, ".dynstr": dynstr, ".gnu.version_r": _verneed(versions, at)}
    if isa:
        prop = struct.pack("<IIII", 0xC0008002, 4, (1 << isa) - 1, 0)
        parts[".note.gnu.property"] = struct.pack("<III", 4, len(prop), 5) + b"GNU\0" + prop
    parts[".hash"] = struct.pack("<IIII", 1, len(symbols) // 24, 0, 0) + b"\0" * (4 * (len(symbols) // 24 - 1))
    parts[".rodata"] = rodata
    more_tags = list(tags)
    parts[".dynamic"] = b"\0" * 16 * (len(needed) + len(more_tags) + 11)
    if fatbin:
        parts[".hipFatBinSegment"] = (wrapper + struct.pack("<IQQ", 1, 0, 0)) * wrappers
        parts[".hip_fatbin"] = fatbin
    parts |= more or {}
    if symtab:
        parts[".strtab"] = b"\0" * symtab
    own = [(1, at[n]) for n in needed] + ([(14, at[soname])] if soname else []) + more_tags
    own += ([(29, at[runpath])] if runpath is not None else []) + ([(15, at[rpath])] if rpath is not None else [])
    return _laid_out(parts, own, {n: len(v) for n, v in [("verneed", versions)]}, stack, machine)


def _verneed(versions: Mapping[str, Iterable[str]], at: dict[str, int]) -> bytes:
    out = b""
    rows = [(name, list(found)) for name, found in versions.items()]
    for number, (name, found) in enumerate(rows):
        size = 16 + 16 * len(found)
        out += struct.pack("<HHIII", 1, len(found), at[name], 16, size if number + 1 < len(rows) else 0)
        for index, version in enumerate(found):
            out += struct.pack("<IHHII", 0, 0, index + 2, at[version], 16 if index + 1 < len(found) else 0)
    return out


def _laid_out(
    parts: dict[str, bytes], tags: list[tuple[int, int]], counts: dict[str, int], stack: int | None, machine: int
) -> bytes:
    phnum = 2 + (stack is not None) + (".note.gnu.property" in parts)
    body = bytearray(b"\0" * (64 + 56 * phnum))
    where: dict[str, int] = {}
    for name, data in parts.items():
        align = 4096 if name.startswith(".hip_fatbi") else 8
        body += b"\0" * (-len(body) % align)
        where[name] = len(body)
        body += data
    tags = [
        *tags,
        (5, where[".dynstr"]),
        (10, len(parts[".dynstr"])),
        (6, where[".dynsym"]),
        (11, 24),
        (4, where[".hash"]),
    ]
    tags += [(0x6FFFFFFE, where[".gnu.version_r"]), (0x6FFFFFFF, counts["verneed"])] if counts["verneed"] else []
    tags += [(0, 0)]
    packed = b"".join(struct.pack("<QQ", *tag) for tag in tags)
    body[where[".dynamic"] : where[".dynamic"] + len(packed)] = packed
    shstr, at = strings(*parts, ".shstrtab")
    where[".shstrtab"] = len(body)
    body += shstr
    body += b"\0" * (-len(body) % 8)
    shoff = len(body)
    index = {name: number for number, name in enumerate(["", *parts, ".shstrtab"])}
    body += b"\0" * 64
    for name, data in {**parts, ".shstrtab": shstr}.items():
        link = index[".dynstr"] if name in (".dynsym", ".gnu.version_r", ".dynamic") else 0
        info = {".gnu.version_r": counts["verneed"], ".dynsym": 1}.get(name, 0)
        entry = {".dynsym": 24, ".dynamic": 16}.get(name, 0)
        flags = 0 if name in (".shstrtab", ".strtab") else 2
        kind = _SHT.get(name, 3 if name == ".shstrtab" else 1)
        body += struct.pack(
            "<IIQQQQIIQQ", at[name], kind, flags, where[name], where[name], len(data), link, info, 8, entry
        )
    struct.pack_into(
        "<16sHHIQQQIHHHHHH", body, 0, b"\x7fELF\x02\x01\x01" + b"\0" * 9, 3, machine, 1, 0, 64, shoff, 0, 64, 56, phnum, 64,
        len(index), index[".shstrtab"],
    )  # fmt: skip
    headers = [(1, 5, 0, shoff), (2, 6, where[".dynamic"], len(parts[".dynamic"]))]
    headers += [(0x6474E551, stack, 0, 0)] if stack is not None else []
    if ".note.gnu.property" in parts:
        headers.append((0x6474E553, 4, where[".note.gnu.property"], len(parts[".note.gnu.property"])))
    for number, (kind, flags, offset, size) in enumerate(headers):
        struct.pack_into("<IIQQQQQQ", body, 64 + 56 * number, kind, flags, offset, offset, offset, size, size, 8)
    return bytes(body)


def without_sections(elf: bytes) -> bytes:
    """The same library as sstrip leaves it: no section headers, which no loader reads."""
    made = bytearray(elf[: struct.unpack_from("<Q", elf, 40)[0]])
    struct.pack_into("<Q", made, 40, 0)
    struct.pack_into("<HHH", made, 58, 0, 0, 0)
    return bytes(made)


def kernel(name: str, vgprs: int = 8, **more: Any) -> dict[str, Any]:
    base = {
        ".name": name, ".symbol": f"{name}.kd", ".vgpr_count": vgprs, ".sgpr_count": 16, ".vgpr_spill_count": 0,
        ".sgpr_spill_count": 0, ".group_segment_fixed_size": 0, ".private_segment_fixed_size": 0, ".wavefront_size": 64,
        ".max_flat_workgroup_size": 256, ".kernarg_segment_size": 24, ".args": [],
    }  # fmt: skip
    return base | more


def code_object(
    target: str = "gfx90a",
    kernels: Iterable[dict[str, Any]] | None = None,
    *,
    abi: int = 3,
    metadata: Any = None,
    described: list[dict[str, Any]] | None = None,
) -> bytes:
    """An AMDGPU ELF as lld lays it out: metadata note, symbols, a descriptor for each kernel, and bytes in place of code.

    `described` are the kernels with descriptors where they are not those of the metadata.
    """
    listed = [kernel("k0"), kernel("k1"), kernel("k2")] if kernels is None else list(kernels)
    said = {"amdhsa.version": [1, 2], "amdhsa.target": f"amdgcn-amd-amdhsa--{target}", "amdhsa.kernels": listed}
    said = said if metadata is None else metadata
    desc = msgpack.packb(said)
    note = struct.pack("<III", 7, len(desc), 32) + b"AMDGPU\0\0" + desc + b"\0" * (-len(desc) % 4)
    name, _, features = target.partition(":")
    flags = MACH[name] | sum(
        {"xnack-": 0x200, "xnack+": 0x300, "sramecc-": 0x800, "sramecc+": 0xC00}[f] for f in features.split(":") if f
    )
    ident = b"\x7fELF\x02\x01\x01" + bytes([64, abi]) + b"\0" * 7
    head = struct.pack("<16sHHIQQQIHHHHHH", ident, 3, 224, 1, 0, 64, 0, flags, 64, 56, 4, 64, 0, 0)
    if described is None and isinstance(said, dict):
        described = said.get("amdhsa.kernels")
    return _with_segments(head, note, described if isinstance(described, list) else [])


def _with_segments(head: bytes, note: bytes, kernels: list[Any]) -> bytes:
    """The segments of a code object: what is read, what is executed (a page on), and what leads to the symbols."""
    start = 64 + 4 * 56
    dynstr, at = strings(*(str(k.get(".symbol", f"{k.get('.name')}.kd")) for k in kernels))
    symbols = start + len(note) + -len(note) % 8
    names = symbols + 24 * (1 + len(kernels)) + 8
    rodata = names + len(dynstr) + -(names + len(dynstr)) % 64
    text = rodata + 64 * len(kernels)
    code = b"\xbf\x81\x00\x00" * 64
    body = bytearray(head.ljust(start, b"\0") + note).ljust(symbols + 24, b"\0")
    for number, name in enumerate(at[str(k.get(".symbol", f"{k.get('.name')}.kd"))] for k in kernels):
        body += struct.pack("<IBBHQQ", name, 0x11, 3, 6, rodata + 64 * number, 64)
    body += struct.pack("<II", 1, 1 + len(kernels)) + dynstr
    body = body.ljust(rodata, b"\0")
    for number, each in enumerate(kernels):
        sizes = each.get(".group_segment_fixed_size", 0), each.get(".private_segment_fixed_size", 0)
        body += struct.pack("<II8xq40x", *sizes, text + 4096 - (rodata + 64 * number))
    body += code
    tags = [(6, symbols), (5, names), (10, len(dynstr)), (4, symbols + 24 * (1 + len(kernels))), (0, 0)]
    dynamic = b"".join(struct.pack("<QQ", *tag) for tag in tags)
    headers = [
        (4, 4, start, start, len(note)),
        (1, 4, 0, 0, text),
        (1, 5, text, text + 4096, len(code)),
        (2, 6, len(body), len(body) + 8192, len(dynamic)),
    ]
    for number, (kind, flags, offset, address, size) in enumerate(headers):
        struct.pack_into(
            "<IIQQQQQQ", body, 64 + 56 * number, kind, flags, offset, address, address, size, size, 4
        )
    return bytes(body) + dynamic


def bundle(objects: Mapping[str, bytes], form: str = "hipv4-amdgcn-amd-amdhsa--{}") -> bytes:
    """A plain bundle: a host entry of no bytes, then each code object under its target ID, 4 KiB aligned.

    `form` makes an entry's ID of a target. A target that ends in a blank is that target a second time.
    """
    ids = ["host-x86_64-unknown-linux-gnu-", *(form.format(target.rstrip()) for target in objects)]
    table = 32 + sum(24 + len(i) for i in ids)
    at = table + -table % 4096
    rows, body = [(at, 0)], b""
    for data in objects.values():
        body += b"\0" * (-len(body) % 4096)
        rows.append((at + len(body), len(data)))
        body += data
    head = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(ids))
    head += b"".join(struct.pack("<QQQ", o, s, len(i)) + i.encode() for (o, s), i in zip(rows, ids, strict=True))
    return head.ljust(at, b"\0") + body


def ccob(plain: bytes, version: int = 3, method: int = 1, *, prefix: bytes = b"", **lies: int) -> bytes:
    """A compressed bundle. `prefix` goes before the compressed frame; `lies` override total, inflated and hash."""
    payload = prefix + (zstandard.ZstdCompressor().compress(plain) if method else zlib.compress(plain))
    digest = lies.get("hash", int.from_bytes(hashlib.md5(plain).digest()[:8], "little"))
    inflated = lies.get("inflated", len(plain))
    size = {1: 20, 2: 24, 3: 32}[version]
    total = lies.get("total", size + len(payload))
    numbers = {
        1: ("<IQ", (inflated, digest)),
        2: ("<IIQ", (total, inflated, digest)),
        3: ("<QQQ", (total, inflated, digest)),
    }
    return (
        b"CCOB" + struct.pack("<HH", version, method) + struct.pack(numbers[version][0], *numbers[version][1]) + payload
    )


def section(bundles: Iterable[bytes]) -> bytes:
    """Several bundles as one .hip_fatbin: each on a 4 KiB boundary, zeros between."""
    out = b""
    for data in bundles:
        out += b"\0" * (-len(out) % 4096) + data
    return out


def record(files: Mapping[str, bytes], own: str) -> bytes:
    def row(path: str, data: bytes) -> str:
        hashed = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        return f"{path},sha256={hashed},{len(data)}\n"

    return ("".join(row(p, d) for p, d in files.items()) + f"{own},,\n").encode()


def zipped(files: Mapping[str, bytes], level: int = 6) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for path, data in files.items():
            archive.writestr(zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED, level)
    return buffer.getvalue()


TARGETS = ("gfx90a", "gfx1100")


def fatbin() -> bytes:
    """Two bundles, one plain and one compressed, each with both targets."""
    plain = bundle({t: code_object(t, [kernel(f"{t}_a{n}") for n in range(3)]) for t in TARGETS})
    packed = ccob(bundle({t: code_object(t, [kernel(f"{t}_b{n}") for n in range(2)]) for t in TARGETS}))
    return section([plain, packed])


@dataclass(frozen=True)
class WheelParts:
    """A wheel in the making. `lib` are keywords of `library`; `files` come beside the package's own."""

    lib: dict[str, Any] = field(default_factory=dict)
    name: str = "onnxruntime-ep-forge"
    version: str = "1.2.3+rocm.6.4"
    tag: str = "py3-none-manylinux_2_28_x86_64"
    wheel_tag: str = ""
    wheel_version: str = "1.0"
    metadata: str = "Requires-Dist: numpy\nDescription-Content-Type: text/plain\nLicense-File: LICENSE\n"
    body: str = "A provider that does nothing.\n"
    init: str = "import numpy\n\n\ndef get_library_path():\n    return __file__\n"
    files: dict[str, bytes] = field(default_factory=dict)
    without: tuple[str, ...] = ()

    def but(self, **changes: Any) -> WheelParts:
        return replace(self, **changes)

    @property
    def filename(self) -> str:
        return f"{self.name.replace('-', '_')}-{self.version}-{self.tag}.whl"

    @property
    def info(self) -> str:
        return f"{self.name.replace('-', '_')}-{self.version}.dist-info"

    def contents(self) -> dict[str, bytes]:
        """Every file but RECORD."""
        good: dict[str, Any] = {
            "exports": ["CreateEpFactories", "ReleaseEpFactory"], "soname": "libonnxruntime_ep_forge.so",
            "undefined": ["malloc", "hipMalloc"], "needed": ["libamdhip64.so.6", "libc.so.6"], "fatbin": fatbin(),
        }  # fmt: skip
        metadata = f"Metadata-Version: 2.1\nName: {self.name}\nVersion: {self.version}\n{self.metadata}\n{self.body}"
        wheel_version = f"Wheel-Version: {self.wheel_version}\n" if self.wheel_version else ""
        files = {
            "onnxruntime_ep_forge/__init__.py": self.init.encode(),
            "onnxruntime_ep_forge/libonnxruntime_ep_forge.so": library(**(good | self.lib)),
            f"{self.info}/LICENSE": b"MIT\n",
            f"{self.info}/METADATA": metadata.encode(),
            f"{self.info}/WHEEL": f"{wheel_version}Root-Is-Purelib: false\nTag: {self.wheel_tag or self.tag}\n".encode(),
            **self.files,
        }
        return {path: data for path, data in files.items() if not path.endswith(self.without or ("\0",))}

    def bytes(self) -> bytes:
        files = self.contents()
        return zipped(files | {f"{self.info}/RECORD": record(files, f"{self.info}/RECORD")})

    def write(self, folder: Path) -> Path:
        path = folder / self.filename
        path.write_bytes(self.bytes())
        return path


GOOD = WheelParts()
