"""`archive`: ONNX Runtime for C, C++ and Rust as one `.tgz`: libraries, headers, CMake package, pkg-config file, licences.

It can be unpacked anywhere: the pkg-config file's prefix is made relative, CMake's package is relative already, and the
libraries find each other beside themselves (ONNX Runtime opens its providers by its own folder). The step proves it: a C
program is configured with `find_package(onnxruntime)` against the packed folder, moved, and must print the version and
every provider that the archive promises.
"""

from __future__ import annotations

from stackbuild.model.components import Archive
from stackbuild.model.plan import Command, Phase, Step
from stackbuild.plan.steps.context import SOURCE_DATE_EPOCH, Context, session_step

COLLECT = (
    'rm -rf "$1" && mkdir -p "$1" && cp -a "$2/lib" "$2/include" "$1/" && '
    "sed -i 's|^prefix=.*|prefix=${pcfiledir}/../..|' \"$1\"/lib/pkgconfig/*.pc && "
    'into=$1 from=$2 && shift 2 && for f; do cp "$from/$f" "$into/" || exit 1; done'
)
"""Arguments: the folder to pack, the component's output, licence files in it."""

NO_BUILD_PATH = (
    'for f in "$1"/lib/*.so*; do if readelf --dynamic --wide "$f" | grep -E "R(UN)?PATH.*[:[]/"; then exit 1; fi; done; '
    'if grep -l "^prefix=/" "$1"/lib/pkgconfig/*.pc; then exit 1; fi'
)

PROGRAM = r"""
#include <onnxruntime_c_api.h>
#include <stdio.h>

int main(void) {
  const OrtApiBase* base = OrtGetApiBase();
  const OrtApi* api = base->GetApi(ORT_API_VERSION);
  OrtEnv* env = NULL;
  char** names = NULL;
  int count = 0;
  if (!api || api->CreateEnv(ORT_LOGGING_LEVEL_WARNING, "prove", &env) || api->GetAvailableProviders(&names, &count)) return 1;
  printf("%s\n", base->GetVersionString());
  for (int i = 0; i < count; ++i) printf("%s\n", names[i]);
  if (api->ReleaseAvailableProviders(names, count)) return 1;
  api->ReleaseEnv(env);
  return 0;
}
"""

PROJECT = """
cmake_minimum_required(VERSION 3.20)
project(prove C)
find_package(onnxruntime CONFIG REQUIRED)
add_executable(prove prove.c)
target_link_libraries(prove PRIVATE onnxruntime::onnxruntime)
set_target_properties(prove PROPERTIES BUILD_WITH_INSTALL_RPATH TRUE INSTALL_RPATH "$ORIGIN/../lib")
"""

PROVE = (
    'moved=/tmp/moved && rm -rf "$moved" /tmp/prove && mkdir /tmp/prove && printf %s "$2" >/tmp/prove/prove.c && '
    'printf %s "$3" >/tmp/prove/CMakeLists.txt && cp -a "$1" "$moved" && '
    'cmake -S /tmp/prove -B /tmp/prove/build -G Ninja -DCMAKE_PREFIX_PATH="$moved" && '
    'cmake --build /tmp/prove/build && mkdir -p "$moved/bin" && cp /tmp/prove/build/prove "$moved/bin/" && '
    '"$moved/bin/prove" >/tmp/prove/said && cat /tmp/prove/said && shift 3 && '
    'for line; do grep -qx "$line" /tmp/prove/said || { echo "the archive does not say: $line" >&2; exit 1; }; done'
)
"""Arguments: the packed folder, the program, its CMake project, and each line that the program must print."""

PACK = (
    'cd "$(dirname "$1")" && name=$(basename "$1") && tar --create --sort=name --format=posix '
    "--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime --numeric-owner --owner=0 --group=0 --mode=go=rX,u+rw,a-s "
    f'--mtime=@{SOURCE_DATE_EPOCH} "$name" | gzip -n -9 >"/out/$name.tgz" && cd /out && sha256sum "$name.tgz" >"$name.tgz.sha256"'
)


def steps(name: str, component: Archive, context: Context) -> tuple[Step, ...]:
    """One step: collect, prove, pack."""
    folder = f"/build/{name}/{component.file}-{component.version}"
    labels = (component.version.partition("+")[0], *component.providers)
    commands = (
        _shell(COLLECT, "install", folder, f"/deps/{component.needs[0]}", *component.license_files),
        _shell(NO_BUILD_PATH, "test", folder),
        _shell(PROVE, "test", folder, PROGRAM, PROJECT, *labels),
        _shell(PACK, "install", folder),
    )
    return (session_step(name, component, context, commands, None, {}),)


def _shell(text: str, phase: Phase, *arguments: str) -> Command:
    return Command(("sh", "-c", text, "archive", *arguments), phase)
