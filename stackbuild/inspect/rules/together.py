"""Rules about wheels that would be installed together."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from stackbuild.inspect.facts import Facts
from stackbuild.inspect.rules.rule import ERROR, Found, JointRule, some


def overwrite(all_facts: tuple[Facts, ...]) -> Iterator[Found]:
    wheels = [facts for facts in all_facts if facts.wheel is not None]
    for one, two in combinations(wheels, 2):
        if one.wheel and two.wheel and one.wheel.name != two.wheel.name:
            shared = sorted({m.path for m in one.members} & {m.path for m in two.members})
            if shared:
                yield f"{one.wheel.name} + {two.wheel.name}", f"{len(shared)} files of the same name: {some(shared)}"


OVERWRITE = JointRule(
    "SB-DIST-OVERWRITE", ERROR, "Two wheels install the same files",
    when="Several wheels are inspected together, and two distributions hold files of the same path.",
    why="The one installed last wins, file by file: the provider of the first is gone although pip lists both.",
    fix="Install only one of them; a plugin EP beside the plain onnxruntime is the way to have both.",
    link="https://onnxruntime.ai/docs/execution-providers/plugin-ep-libraries/packaging.html", needs="", check=overwrite,
)  # fmt: skip

RULES = (OVERWRITE,)
