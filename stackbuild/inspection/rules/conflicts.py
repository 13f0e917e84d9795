"""Rules about wheels that would be installed together."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations

from stackbuild.core.install_paths import landing
from stackbuild.inspection.facts import Facts
from stackbuild.inspection.rules.rule import ERROR, JointRule, SubjectEvidence, count_of, some


def overwrite(all_facts: tuple[Facts, ...]) -> Iterator[SubjectEvidence]:
    wheels = [facts for facts in all_facts if facts.wheel is not None]
    for one, two in combinations(wheels, 2):
        if one.wheel and two.wheel and one.wheel.name != two.wheel.name:
            shared_paths = sorted(_installed_paths(one) & _installed_paths(two))
            if shared_paths:
                yield (
                    f"{one.wheel.name} + {two.wheel.name}",
                    f"{count_of(len(shared_paths), 'file')} of the same name: {some(shared_paths)}",
                )


def _installed_paths(facts: Facts) -> set[str]:
    """Where the files of a wheel come to lie, below site-packages or, in angle brackets, a folder of the environment."""
    return {install_path(member.path) for member in facts.members if not member.path.endswith("/")}


def install_path(path: str) -> str:
    """Where installers put a member: `X.data/purelib/a.py` is `a.py`; the scripts and data of all wheels share a folder."""
    place = landing(path)
    return re.sub(r"^[^/]+\.data/(scripts|data)/", r"<\1>/", place)


OVERWRITE = JointRule(
    "SB-DIST-OVERWRITE", ERROR, "Two wheels install the same files",
    when="Several wheels are inspected together, and two distributions install files at the same place, `.data` folders included.",
    why="The one installed last wins, file by file: the provider of the first is gone although pip lists both.",
    fix="Install only one of them; a plugin EP beside the plain onnxruntime is the way to have both.",
    link="https://onnxruntime.ai/docs/execution-providers/plugin-ep-libraries/packaging.html", needs="", check=overwrite,
)  # fmt: skip

RULES = (OVERWRITE,)
