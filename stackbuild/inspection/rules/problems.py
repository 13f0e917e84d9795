"""Rules about files that could not be read as what they claim to be."""

from __future__ import annotations

from collections.abc import Iterator

from stackbuild.inspection.expectations import Expectations
from stackbuild.inspection.facts import Facts, ProblemKind
from stackbuild.inspection.readers.bundle import is_portable
from stackbuild.inspection.rules.rule import ERROR, NOTE, SubjectEvidence, rule


def _problems(facts: Facts, kind: ProblemKind) -> Iterator[SubjectEvidence]:
    for problem in facts.problems:
        if problem.trouble is kind:
            yield problem.subject, problem.what


@rule(
    "SB-READ-MALFORMED", ERROR, "A file breaks its own format",
    why="What a loader makes of such a file is undefined: it may refuse it, crash, or read something else than was checked.",
    fix="Build or fetch the file again. If it came from a fresh build, the linker, patchelf or strip damaged it.",
)  # fmt: skip
def malformed_parts(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """A truncated, mutated or lying wheel, ELF, bundle, code object or its metadata; a hash or CRC that is not the content's."""
    return _problems(facts, ProblemKind.FORMAT)


@rule(
    "SB-READ-LIMIT", ERROR, "A file claims more than is believed",
    why="A few bytes can claim terabytes. Readers here follow no claim beyond the bounds of `stackbuild/inspection/limits.py`.",
    fix="Check where the file comes from. If it is genuine and this large, raise the bound and say so in a bug report.",
)  # fmt: skip
def limit(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """A count or size beyond the bounds of the readers."""
    return _problems(facts, ProblemKind.LIMIT)


@rule(
    "SB-READ-UNREAD", NOTE, "GPU code that is recognised but not read",
    why="What is in it is not among the facts, so nothing is claimed about its targets and kernels.",
    fix="Check it with the tool that made it.",
    link="https://github.com/ROCm/TheRock/blob/main/docs/rfcs/RFC0008-Multi-Arch-Packaging.md",
)  # fmt: skip
def unread(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """A .kpack archive, a library whose GPU code was split out into one, a MIOpen kernel database, or SPIR-V that the runtime
    compiles for its GPU."""
    for device in facts.device:
        portable = [entry for bundle in device.bundles for entry in bundle.entries if is_portable(entry)]
        if portable:
            yield device.path, f"{len(portable)} entries of SPIR-V"
    for extra in facts.extras:
        if extra.kind != "Tensile library":
            yield extra.path, f"a {extra.kind} of {extra.size:,} bytes"


@rule(
    "SB-ZIP-UNCLEAN", ERROR, "The archive can be read in two ways",
    why="Installers disagree about duplicates, links, second directories and paths that leave the archive, so what was checked is"
    " not what is installed. Package indexes refuse such wheels since 2025.",
    fix="Write the wheel with one tool in one go; never append to it or edit it in place.",
    link="https://packaging.python.org/en/latest/specifications/binary-distribution-format/",
)  # fmt: skip
def unclean(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """Names that are duplicate, absolute, or have `..` or control characters; links; encrypted or overlapping members. Local
    headers that disagree with the directory, extra fields with another name, several end records. Counts or Zip64 records that
    disagree, bytes that no member owns, names and .data folders that come to the same place. No, a wrong or several
    .dist-info."""
    for problem in facts.packaging:
        yield problem.subject, problem.what


RULES = (malformed_parts, limit, unread, unclean)
