"""`hipify:` of a component: its CUDA source as HIP. Two steps before the component's own, three with hipify-clang.

`hipify.NAME.tables` looks in the base for HIPIFY and for the headers that are there; `hipify.NAME` converts, then patches.
Its output has the whole source in `source/` and, beside it, the report with the line maps. A source is
converted again if HIPIFY's tables, the rules, this package's code, the source or the patches change. A base that changed
elsewhere gives the same tables, and the conversion is reused.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import replace

from stackbuild.core import digest
from stackbuild.model.components import Component, Convertible, Hipify
from stackbuild.model.lock import patches_of
from stackbuild.model.plan import Command, Need, Step, sorted_items
from stackbuild.plan.steps.context import Context, session_step
from stackbuild.tables.targets import TARGETS, processor

TABLES = """\
PATH=/src/{tool}/usr/bin:$PATH:/opt/rocm/bin
if command -v hipify-clang; then
  mkdir /out/csv
  hipify-clang --csv --doc-format=full --doc-roc=joint --o-dir=/out/csv
  command -v hipify-perl || hipify-clang --perl --o-hipify-perl-dir=/out
fi
if command -v hipify-perl; then cp -L "$(command -v hipify-perl)" /out/hipify-perl; fi
for folder in {headers}; do
  if test -d "$folder"; then (cd "$folder" && find -L . -type f | sed 's,^[.]/,,'); fi
done | LC_ALL=C sort -u > /out/headers
test -s /out/hipify-perl || {{
  echo 'error: the base has no HIPIFY: add hipify-perl to its packages, or name a source that has it: `hipify: {{tool: SOURCE}}`'
  exit 1
}}
"""

CLANG = """\
PATH=$PATH:/opt/rocm/bin
command -v hipify-clang || {{
  echo 'error: the base has no hipify-clang: add it to its packages, or take `engine: fast`'
  exit 1
}}
cd /src/{source}
mkdir /out/text
find . -type f -name '*.cu' | sed 's,^[.]/,,' | LC_ALL=C sort > /out/files
while IFS= read -r file; do
  mkdir -p "$(dirname "/out/text/$file")"
  hipify-clang "$file" -o "/out/text/$file" {cuda} -- -I. {flags} || {{
    echo "hipify-clang could not read $file"
    rm -f "/out/text/$file"
  }}
done < /out/files
"""
"""hipify-clang parses, so its libraries and CUDA's headers must be there: it runs in the base. A file that it cannot read
stops the conversion only where that wants it."""


def step_of(name: str) -> str:
    """The name of the step that converts for the lane `NAME[.cp311][.GFX]`: one for all Pythons."""
    return "hipify." + re.sub(r"\.cp3[0-9]+", "", name, count=1)


def steps(name: str, component: Component, context: Context) -> tuple[Step, ...]:
    """The steps, none where the component is not converted."""
    conversion = component.hipify if isinstance(component, Convertible) else None
    source = getattr(component, "source", None)
    if conversion is None or source is None:
        return ()
    tables = _tables(f"{step_of(name)}.tables", conversion, context)
    before = (tables, *((_clang(step_of(name), source, conversion, context),) if conversion.engine == "clang" else ()))
    needs = (context.need(f"source.{source}"), *(Need(step.name, step.key) for step in before))
    params = sorted_items(_params(name, conversion, context))
    return (*before, Step(name=step_of(name), action="hipify", needs=needs, params=params))


def _tables(name: str, conversion: Hipify, context: Context) -> Step:
    tool = (context.need(f"source.{conversion.tool}", f"/src/{conversion.tool}"),) if conversion.tool else ()
    script = TABLES.format(tool=conversion.tool or "-", headers=" ".join(conversion.headers) or "/nonexistent")
    plain = Component.model_validate({})
    return session_step(name, plain, replace(context, names={}), (Command(("sh", "-ec", script)),), None, {}, tool)


def _clang(name: str, source: str, conversion: Hipify, context: Context) -> Step:
    cuda = f"--cuda-path={conversion.cuda}" if conversion.cuda else ""
    script = CLANG.format(source=source, cuda=cuda, flags=" ".join(map(shlex.quote, conversion.clang_flags)))
    plain, need = Component.model_validate({}), context.need(f"source.{source}", f"/src/{source}")
    return session_step(
        f"{name}.clang", plain, replace(context, names={}), (Command(("sh", "-ec", script)),), None, {}, (need,)
    )


def _params(name: str, conversion: Hipify, context: Context) -> dict[str, str]:
    """Everything that decides what becomes of the source, printable."""
    values = conversion.model_dump(exclude={"clang_flags", "cuda", "headers", "patches", "rocm", "tool"})
    component = step_of(name).split(".")[1]
    waves = sorted({TARGETS[processor(gfx)].wave for gfx in context.gfx})
    return {
        **{key: digest.canonical(value) for key, value in values.items()},
        "code": context.trees[f"hipify.{component}"],
        "resolve": digest.canonical(bool(conversion.headers)),
        "rocm": conversion.rocm or context.rocm,
        "wavefronts": digest.canonical(waves),
        **({"patches": context.trees[patches_of(f"hipify.{component}")]} if conversion.patches else {}),
    }
