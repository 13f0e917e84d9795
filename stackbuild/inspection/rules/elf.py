"""Rules about host libraries: how the dynamic loader will find and run them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from stackbuild.core.install_paths import landing
from stackbuild.inspection.expectations import Expectations
from stackbuild.inspection.facts import Facts, Library
from stackbuild.inspection.readers.providers import bridge_stem
from stackbuild.inspection.rules.rule import ERROR, NOTE, WARNING, SubjectEvidence, count_of, rule, some

_LD_SO = "https://man7.org/linux/man-pages/man8/ld.so.8.html"


_ORIGIN = re.compile(r"\$(ORIGIN(?![A-Za-z0-9_])|\{ORIGIN\})")
"""The one token of ld.so that stands for an absolute path. `$LIB` is `lib` or `lib64` and `$PLATFORM` the CPU's name: an
element that starts with them is relative. A longer word, `$ORIGINAL`, is not a token and stays as it is."""


def _search_path(lib: Library) -> tuple[str, ...]:
    return (*lib.rpath, *lib.runpath)


def _is_loose(path: str) -> bool:
    """Whether a path means another file in every directory that the program is run from."""
    return not path.startswith("/") and not _ORIGIN.match(path)


@rule(
    "SB-ELF-CWD-RUNPATH", ERROR, "Libraries are looked for in the current directory",
    why="An empty or relative path means the directory the program happens to run in, whoever can write there.",
    fix="Set it to $ORIGIN forms only: `patchelf --set-rpath '$ORIGIN'`. CMake leaves an empty element where a list item of"
    " INSTALL_RPATH is empty. A needed path comes from linking a library without a soname by its path.",
    link=_LD_SO,
)  # fmt: skip
def cwd_runpath(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """An element of RPATH or RUNPATH that is empty or relative (`a::b`, a trailing `:`, `.`, `lib`, `$LIB/x`), or a needed
    library named by a relative path (`build/liba.so`)."""
    for lib in facts.libraries:
        paths = _search_path(lib)
        loose = [element for element in paths if _is_loose(element)]
        if loose:
            yield lib.path, f"RUNPATH is {':'.join(paths)!r}: {count_of(len(loose), 'element')} empty or relative"
        needed_names = [name for name in lib.needed if "/" in name and _is_loose(name)]
        if needed_names:
            yield lib.path, f"needs {some(needed_names)}, looked for from the current directory"


@rule(
    "SB-ELF-RUNPATH-SEPARATOR", ERROR, "A search path with a semicolon in it",
    why="The loader splits RPATH and RUNPATH at colons alone: `$ORIGIN;/x` is one folder of that name, and neither part is searched.",
    fix="A CMake list went into a linker option as it was: join INSTALL_RPATH with `:` (CMake does it for the property itself).",
    link=_LD_SO,
)  # fmt: skip
def runpath_separator(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """An element of RPATH or RUNPATH that holds a semicolon."""
    for lib in facts.libraries:
        joined_elements = [element for element in _search_path(lib) if ";" in element]
        if joined_elements:
            yield lib.path, f"RUNPATH has {some(map(repr, joined_elements))}"


@rule(
    "SB-ELF-TEXTREL", ERROR, "The loader has to write to machine code",
    why="SELinux and hardened kernels refuse it (`cannot restore segment prot after reloc`), and no two processes share the pages.",
    fix="Compile every part with `-fPIC` (an assembly file or a static library without it causes this), and link with `-Wl,-z,text`.",
    link="https://refspecs.linuxfoundation.org/elf/gabi4+/ch5.dynamic.html",
)  # fmt: skip
def text_relocations(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """DT_TEXTREL, or DF_TEXTREL in DT_FLAGS."""
    for lib in facts.libraries:
        if lib.text_relocations:
            yield lib.path, "it has relocations in read-only segments (DT_TEXTREL)"


@rule(
    "SB-ELF-ABSOLUTE-RUNPATH", ERROR, "Libraries are looked for at a path of the builder's machine",
    why="On the user's machine the path is missing or holds another version; wheels that kept it failed to load everywhere but"
    " where they were built.",
    fix="Use $ORIGIN forms only and let the user's loader configuration find ROCm; a path that is meant goes into the recipe"
    " (`runpaths`).",
    link="https://github.com/ROCm/AMDMIGraphX/issues/5235",
)  # fmt: skip
def absolute_runpath(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """An absolute element of RPATH or RUNPATH that the recipe does not name, or a needed library named by an absolute path."""
    for lib in facts.libraries:
        fixed_elements = [e for e in _search_path(lib) if e.startswith("/") and e not in expectations.runpaths]
        if fixed_elements:
            yield lib.path, f"RUNPATH has {some(fixed_elements)}"
        needed_names = [
            name for name in lib.needed if name.startswith("/") and posixpath.dirname(name) not in expectations.runpaths
        ]
        if needed_names:
            yield lib.path, f"needs {some(needed_names)} by its path"


@rule(
    "SB-ELF-ESCAPING-RUNPATH", WARNING, "RUNPATH leads out of the installed wheel",
    why="What is found there belongs to another package or to nobody; it changes without this wheel knowing.",
    fix="Point $ORIGIN to folders of the wheel; a package it is meant to reach (a rocm-sdk wheel) goes into the recipe.",
)  # fmt: skip
def escaping_runpath(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """A $ORIGIN element that leads above the top of the wheel."""
    if facts.wheel is None:
        return
    for lib in facts.libraries:
        for element in _search_path(lib):
            origin = _ORIGIN.match(element)
            if origin is None or element in expectations.runpaths:
                continue
            where = posixpath.normpath((posixpath.dirname(landing(lib.path)) or ".") + element[origin.end() :])
            if where == ".." or where.startswith("../"):
                yield lib.path, f"RUNPATH has {element}, which is outside the wheel"


@rule(
    "SB-ELF-EXEC-STACK", ERROR, "The library asks for an executable stack",
    why="glibc 2.41 and later, and hardened kernels, refuse to load it: `cannot enable executable stack as shared object requires`.",
    fix="Link with `-Wl,-z,noexecstack` (an assembly file without .note.GNU-stack causes it); `patchelf --clear-execstack` fixes one.",
    link="https://github.com/microsoft/onnxruntime/issues/27377",
)  # fmt: skip
def exec_stack(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """PT_GNU_STACK is executable, or missing, which means executable."""
    for lib in facts.libraries:
        if lib.exec_stack is not False:
            yield (
                lib.path,
                "PT_GNU_STACK is RWE" if lib.exec_stack else "no PT_GNU_STACK header, so the stack is executable",
            )


@rule(
    "SB-ELF-SONAME", WARNING, "A library without a soname",
    why="What links to it records the path it had at link time instead of a name.",
    fix="Link with `-Wl,-soname,NAME` (CMake does it unless NO_SONAME is set).",
)  # fmt: skip
def soname(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """A shared library, not a Python extension, without DT_SONAME. Bridge EPs are opened by path and still need one."""
    for lib in facts.libraries:
        name_match = re.search(r"(^|/)lib[^/]*\.so(\.\d+)*$", lib.path)
        if name_match and not lib.soname and not lib.is_extension:
            yield lib.path, "no DT_SONAME"


#: Symbol prefix → soname stem that has it. From the ROCm libraries' public headers.
PREFIXES = {
    "rocblas_": "librocblas.so", "hipblas": "libhipblas.so", "hipfft": "libhipfft.so", "miopen": "libMIOpen.so",
    "hipblasLt": "libhipblaslt.so", "rocfft_": "librocfft.so", "rsmi_": "librocm_smi64.so", "hiprtc": "libhiprtc.so",
    "hipsparse": "libhipsparse.so", "hiprand": "libhiprand.so", "hipsolver": "libhipsolver.so", "nccl": "librccl.so",
    "migraphx_": "libmigraphx_c.so", "roctracer_": "libroctracer64.so", "roctx": "libroctx64.so",
    "hipMalloc": "libamdhip64.so", "hipLaunch": "libamdhip64.so", "hipStream": "libamdhip64.so",
    "__hipRegister": "libamdhip64.so", "__hipPush": "libamdhip64.so", "hsa_": "libhsa-runtime64.so",
}  # fmt: skip
#: Libraries that also carry another's symbols.
ALSO = {
    "libhiprtc.so": ("libamdhip64.so",),
    "libhipblas.so": ("libhipblaslt.so",),
    "librocm_smi64.so": ("libamd_smi.so",),
}


@rule(
    "SB-ELF-UNDERLINKED", ERROR, "A symbol whose library is not among those needed",
    why="It resolves only while another library happens to pull the right one in; otherwise loading fails with `undefined symbol`.",
    fix="Link the library the symbols are from (CMake: target_link_libraries), and link with `-Wl,--no-undefined`.",
    link="https://github.com/microsoft/onnxruntime/pull/15204",
)  # fmt: skip
def undeclared_libraries(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """Undefined symbols of a ROCm library that DT_NEEDED does not name."""
    for lib in facts.libraries:
        missing: dict[str, list[str]] = {}
        for symbol in lib.undefined:
            prefix = max((p for p in PREFIXES if symbol.startswith(p)), key=len, default="")
            if prefix and not _has(lib, PREFIXES[prefix]):
                missing.setdefault(PREFIXES[prefix], []).append(symbol)
        for library, symbols in missing.items():
            yield (
                lib.path,
                f"{count_of(len(symbols), 'symbol')} of {library} undefined, but it is not needed: {some(symbols)}",
            )


def _has(lib: Library, stem: str) -> bool:
    return any(soname.startswith((stem, *ALSO.get(stem, ()))) for soname in lib.needed)


@rule(
    "SB-ELF-ISA", ERROR, "The library needs a newer CPU than is declared",
    why="On an older CPU it dies with SIGILL. `-march=native` on a build machine is how it gets in.",
    fix="Build with `-march=x86-64` (or the level the recipe declares) and dispatch at run time.",
    link="https://github.com/GeiserX/whisper-subs/issues/173",
)  # fmt: skip
def isa(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """The GNU property note names an x86-64 level above the declared one (level 1 without a recipe). Compilers write that
    note only when asked to (`-Wl,-z,x86-64-v3`; clang and gcc do not by themselves). And ONNX Runtime holds AVX-512 code that
    it only runs where the CPU has it. So silence here proves nothing. SB-LOG-NATIVE reads the compilers' options."""
    for lib in facts.libraries:
        if lib.isa > expectations.isa:
            yield lib.path, f"needs x86-64-v{lib.isa}; x86-64-v{expectations.isa} is declared"


@rule(
    "SB-ELF-UNSTRIPPED", NOTE, "Symbol tables and debug information are still there",
    why="They are downloaded and installed by every user and used by none of them.",
    fix="`strip --strip-unneeded` before RECORD is written (keep the debug files apart).",
)  # fmt: skip
def unstripped_symbols(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """A megabyte or more of .symtab, .strtab and .debug sections."""
    for lib in facts.libraries:
        spare = lib.symtab_bytes + lib.debug_bytes
        if spare >= 1 << 20:
            yield lib.path, f"{spare / 1e6:.1f} MB of symbol tables and debug information"


@rule(
    "SB-ELF-MACHINE", ERROR, "A library for another machine than the tag says",
    why="It cannot be loaded there.",
    fix="Build it for the platform of the tag, or correct the tag.",
)  # fmt: skip
def machine(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """e_machine is not that of the platform tag; or a library in a wheel for any platform."""
    if facts.wheel is None or not facts.wheel.filename_tags:
        return
    platforms = {tag.split("-")[-1] for tag in facts.wheel.filename_tags}
    machines = {
        number
        for name, number in (("x86_64", 62), ("aarch64", 183), ("i686", 3))
        if any(p.endswith(name) for p in platforms)
    }
    for lib in facts.libraries:
        if platforms == {"any"}:
            yield lib.path, "machine code in a wheel tagged for any platform"
        elif machines and lib.machine not in machines:
            yield lib.path, f"e_machine {lib.machine} in a wheel for {some(sorted(platforms))}"


@rule(
    "SB-EP-EXPORTS", ERROR, "A provider library does not export its entry points",
    why="ONNX Runtime finds the provider by these names; without them it falls back to the CPU, with one line in a log.",
    fix="Export them in the version script: GetProvider (bridge), CreateEpFactories and ReleaseEpFactory (plugin).",
    link="https://onnxruntime.ai/docs/execution-providers/plugin-ep-libraries/development.html",
)  # fmt: skip
def ep_exports(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """A library named like a provider without `GetProvider`. One plugin entry point without the other. A wheel named for a
    plugin EP (`onnxruntime-ep-…`) that has no library with both. A Python extension without PyInit_, libonnxruntime without
    OrtGetApiBase, or the shared bridge without Provider_GetHost and Provider_SetHost."""
    for lib in facts.libraries:
        exports = _wanted_exports(lib)
        lacking = sorted(exports - set(lib.exports))
        if lacking:
            yield lib.path, f"does not export {some(lacking)}"
    named = facts.wheel is not None and facts.wheel.name.startswith("onnxruntime-ep-")
    if named and facts.wheel and not facts.providers and not any(_PLUGIN & set(lib.exports) for lib in facts.libraries):
        yield facts.wheel.name, f"no library exports {some(sorted(_PLUGIN))}"


_PLUGIN = {"CreateEpFactories", "ReleaseEpFactory"}


def _wanted_exports(lib: Library) -> set[str]:
    name = lib.path.rsplit("/", 1)[-1]
    if name.startswith("libonnxruntime_providers_shared.so"):
        return {"Provider_GetHost", "Provider_SetHost"}
    if bridge_stem(lib.path):
        return _PLUGIN if _PLUGIN & set(lib.exports) and "GetProvider" not in lib.exports else {"GetProvider"}
    if re.match(r"libonnxruntime\.so", name):
        return {"OrtGetApiBase"}
    if match := re.match(r"(onnxruntime_pybind11_state|[\w]+(?=\.(?:cpython-|abi3)))[\w.-]*\.so$", name):
        return {f"PyInit_{match[1]}"}
    return _PLUGIN if _PLUGIN & set(lib.exports) and "OrtGetApiBase" not in lib.exports else set()


@rule(
    "SB-ELF-EXPORTS-MANY", WARNING, "A provider library exports much more than its entry points",
    why="Its symbols take the place of others' of the same name (LLVM, protobuf, abseil), and two libraries crash in each other.",
    fix="Link with a version script that keeps everything but the entry points local, and `-Wl,--exclude-libs,ALL`.",
)  # fmt: skip
def exports_many(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """More than 64 dynamic symbols exported by a provider, a custom-op library, ONNX Runtime or its Python extension."""
    ours = {provider.path for provider in facts.providers}
    for lib in facts.libraries:
        is_exempt = lib.path in ours or re.match(
            r"(libonnxruntime|onnxruntime_pybind11_state)", lib.path.rsplit("/", 1)[-1]
        )
        if is_exempt and len(lib.exports) > 64:
            yield lib.path, f"exports {count_of(len(lib.exports), 'symbol')}: {some(lib.exports)}"


RULES = (
    cwd_runpath, runpath_separator, text_relocations, absolute_runpath, escaping_runpath, exec_stack, soname, undeclared_libraries, isa, unstripped_symbols, machine, ep_exports,
    exports_many,
)  # fmt: skip
