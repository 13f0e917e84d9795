"""`migraphx-package`: the MIGraphX that another component built, as a Python package that a `wheel` can pack.

A wheel has no links, so each library lies under its soname, in one folder, with the search path `$ORIGIN`. MIGraphX opens its
targets by soname (src/register_target.cpp) and its compiler of kernels as `../bin/migraphx-hiprtc-driver`
(src/targets/gpu/compile_hip.cpp), both relative to its own libraries. The step proves it: the package is moved, its C API is
opened, and its driver must list operators.
"""

from __future__ import annotations

from stackbuild.model.components import MIGraphXPackage
from stackbuild.model.plan import PHASES, Command, Phase, Step
from stackbuild.plan.steps.context import Context, session_step
from stackbuild.plan.steps.migraphx_module import module_commands, module_needs
from stackbuild.tables.providers import MIGRAPHX_PACKAGE

COLLECT = (
    'set -e; mkdir -p "$2/lib" "$2/bin"; '
    'for f in "$1"/lib/lib*.so* "$1"/lib/migraphx/lib/lib*.so*; do '
    '[ -f "$f" ] && [ ! -L "$f" ] || continue; '
    """soname=$(readelf --dynamic --wide "$f" | sed -n 's/.*Library soname: \\[\\(.*\\)\\]$/\\1/p'); """
    '[ -n "$soname" ] || { echo "$f has no soname, by which it could be found" >&2; exit 1; }; '
    'install -m 644 "$f" "$2/lib/$soname"; done; '
    'install -m 755 "$1/bin/migraphx-driver" "$1/bin/migraphx-hiprtc-driver" "$2/bin/"; '
    'strip --strip-unneeded "$2"/lib/* "$2"/bin/*'
)
"""Arguments: MIGraphX's output, the package's folder."""

SEARCH_PATHS = """
file(GLOB libraries "${FOLDER}/lib/*")
foreach(library IN LISTS libraries)
  file(RPATH_SET FILE "${library}" NEW_RPATH "$ORIGIN")
endforeach()
foreach(program IN ITEMS migraphx-driver migraphx-hiprtc-driver)
  file(RPATH_SET FILE "${FOLDER}/bin/${program}" NEW_RPATH "$ORIGIN/../lib")
endforeach()
"""
"""CMake's own command for the search paths of what it installs (3.20 and newer), so that the base needs no patchelf."""

RELATIVE = (
    'for f in "$1"/lib/* "$1"/bin/*; do '
    """paths=$(readelf --dynamic --wide "$f" | sed -n 's/.*R[A-Z]*PATH).*\\[\\(.*\\)\\]$/\\1/p'); """
    'case $f in */bin/*) wanted="\\$ORIGIN/../lib";; *) wanted="\\$ORIGIN";; esac; '
    '[ "$paths" = "$wanted" ] || { echo "$f is looked for in ${paths:-no folder}, not in $wanted" >&2; exit 1; }; done'
)

PROVE = (
    'set -e; moved=/tmp/moved; rm -rf "$moved"; cp -a "$1" "$moved"; '
    'printf %s "$2" | cc -x c -o /tmp/prove - -ldl; /tmp/prove "$moved/lib/libmigraphx_c.so.3"; '
    '"$moved/bin/migraphx-driver" onnx --list >/tmp/operators; '
    'grep -qx "MatMul" /tmp/operators || { echo "migraphx-driver does not list MatMul:" >&2; head -5 /tmp/operators >&2; exit 1; }'
)
"""Arguments: the package's folder and the program."""

PROGRAM = r"""
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char** words) {
  void* library = count == 2 ? dlopen(words[1], RTLD_NOW) : NULL;
  if (library && dlsym(library, "migraphx_program_run")) return 0;
  fprintf(stderr, "%s\n", dlerror());
  return 1;
}
"""

TEXT = '''\
"""MIGraphX: its libraries and its driver, for a machine that has ROCm and no MIGraphX.

    import migraphx_rocm

    migraphx_rocm.preload()  # before the first session: ONNX Runtime's MIGraphX provider finds libmigraphx_c.so.3 so

`python -m migraphx_rocm perf model.onnx` runs MIGraphX's own driver. ROCm itself comes from the machine.
"""

import ctypes
from pathlib import Path

__all__ = ["get_library_folder", "preload"]


def get_library_folder():
    """The folder of the libraries, each under its soname."""
    return str(Path(__file__).resolve().parent / "lib")


def preload():
    """Open MIGraphX's C API for this process; what needs `libmigraphx_c.so.3` afterwards gets this one."""
    return ctypes.CDLL(str(Path(get_library_folder(), "libmigraphx_c.so.3")), mode=ctypes.RTLD_GLOBAL)
'''

MAIN = '''\
"""MIGraphX's driver: `python -m migraphx_rocm --help`."""

import os
import sys
from pathlib import Path

driver = str(Path(__file__).resolve().parent / "bin" / "migraphx-driver")
os.execv(driver, [driver, *sys.argv[1:]])
'''


def steps(name: str, component: MIGraphXPackage, context: Context) -> tuple[Step, ...]:
    """One step: collect, set the search paths, write the package, prove it; then the Python module, where it is wanted."""
    migraphx, package = f"/deps/{component.needs[0]}", f"/out/{MIGRAPHX_PACKAGE}"
    licenses = 'mkdir -p "$2" && cp -a "$1"/share/doc/migraphx/LICENSE "$2/"'
    texts = 'printf %s "$2" >"$1/__init__.py" && printf %s "$3" >"$1/__main__.py"'
    paths = 'printf %s "$2" >/tmp/search-paths.cmake && cmake -DFOLDER="$1" -P /tmp/search-paths.cmake'
    commands = (
        _shell(COLLECT, "install", migraphx, package),
        _shell(paths, "install", package, SEARCH_PATHS),
        _shell(licenses, "install", migraphx, package),
        _shell(texts, "install", package, TEXT, MAIN),
        _shell(RELATIVE, "test", package),
        _shell(PROVE, "test", package, PROGRAM),
    )
    if component.source is None:
        return (session_step(name, component, context, commands, None, {}),)
    both = sorted((*commands, *module_commands(name, component, context)), key=lambda one: PHASES.index(one.phase))
    more = module_needs(component, context)
    return (session_step(name, component, context, tuple(both), component.source, {}, more),)


def _shell(text: str, phase: Phase, *arguments: str) -> Command:
    return Command(("sh", "-c", text, "package", *arguments), phase)
