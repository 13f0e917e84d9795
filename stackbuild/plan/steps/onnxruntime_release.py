"""`onnxruntime-release`: ONNX Runtime's release archive as an installation that CMake finds.

The archive's CMake package names `lib64` and `include/onnxruntime`, and its files lie in `lib` and `include`
(onnxruntime#24003, reverted once by onnxruntime#26767). Both are there afterwards, and the headers also where ONNX Runtime's source
tree has them, which is where the hipDNN EP looks.
"""

from __future__ import annotations

from stackbuild.model.components import OnnxRuntimeRelease
from stackbuild.model.plan import Command, Step
from stackbuild.plan.steps.context import Context, session_step

CHECK = (
    'read -r is <"$1/VERSION_NUMBER" && [ "$is" = "$2" ] || '
    '{ echo "the archive is ONNX Runtime ${is:-of an unknown version}, the recipe says $2" >&2; exit 1; }'
)
LAYOUT = (
    'cp -a "$1/." /out/ && if [ ! -e /out/lib64 ]; then ln -s lib /out/lib64; fi && '
    'session=/out/include/onnxruntime/core/session && mkdir -p "$session" && '
    'for one in "$1"/include/*.h; do cp -a "$one" /out/include/onnxruntime/ && cp -a "$one" "$session/" || exit 1; done'
)


def steps(name: str, component: OnnxRuntimeRelease, context: Context) -> tuple[Step, ...]:
    """One step: check the version, lay the files out."""
    source = f"/src/{component.source}"
    commands = (
        Command(("sh", "-c", CHECK, "release", source, component.version), "install"),
        Command(("sh", "-c", LAYOUT, "release", source), "install"),
    )
    return (session_step(name, component, context, commands, component.source, {}),)
