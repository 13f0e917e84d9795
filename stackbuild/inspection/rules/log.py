"""Rules about build logs and compile_commands.json: what went wrong although the build ended well."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from stackbuild.inspection.expectations import Expectations
from stackbuild.inspection.facts import Facts
from stackbuild.inspection.rules.rule import ERROR, SubjectEvidence, count_of, rule, some


@rule(
    "SB-LOG-UNUSED-OPTION", ERROR, "CMake did not use an option it was given",
    why="An option that was renamed is ignored with a warning: a build that was to use ROCm becomes a CPU build that passes.",
    fix="Give the option under its present name, or list it in the component's `unused_ok` and inspect with `--recipe`.",
    link="https://github.com/tobocop2/lilbee/pull/630",
)  # fmt: skip
def unused_option(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """`Manually-specified variables were not used by the project` names an option that neither the recipe nor
    onnxruntime's own build is known to leave unused."""
    if facts.log:
        unused_options = [
            n for n in facts.log.unused_options if not any(fnmatchcase(n, p) for p in expectations.unused_options)
        ]
        if unused_options:
            yield facts.subject, f"{count_of(len(unused_options), 'option')} not used: {some(unused_options, 8)}"


@rule(
    "SB-LOG-NATIVE", ERROR, "Something is compiled for the build machine's own CPU",
    why="`-march=native` takes what the build machine has, such as AVX-512; on other machines the library dies with SIGILL.",
    fix="Set an explicit level (`-march=x86-64`); look for GGML_NATIVE, CK_NATIVE and their like.",
    link="https://github.com/GeiserX/whisper-subs/issues/173",
)  # fmt: skip
def native(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """A command line with -march=native or -mcpu=native."""
    if facts.log and facts.log.native:
        yield facts.subject, f"-march=native for {some(facts.log.native)}"


RULES = (unused_option, native)
