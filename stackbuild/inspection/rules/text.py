"""Rules about text in files: traces of the build machine, secrets."""

from __future__ import annotations

from collections.abc import Iterator

from stackbuild.inspection.expectations import Expectations
from stackbuild.inspection.facts import Facts
from stackbuild.inspection.rules.rule import ERROR, WARNING, SubjectEvidence, count_of, rule, some


@rule(
    "SB-TEXT-HOME-PATH", WARNING, "Paths of the builder's home folder",
    why="They tell the builder's name and folders to everyone, and differ on every machine, so the build cannot be repeated.",
    fix="Build at a fixed path (stackbuild does) or with `-ffile-prefix-map=$PWD=.`.",
    link="https://reproducible-builds.org/docs/build-path/",
)  # fmt: skip
def home_path(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """Text under /home/NAME, /root or /Users/NAME in a library or other file, manuals and METADATA left out."""
    for hit in facts.texts:
        is_prose = hit.path.endswith((".py", ".md", ".txt", ".rst", ".dist-info/METADATA"))
        if hit.kind == "home-path" and not is_prose:
            yield hit.path, f"{count_of(hit.count, 'path')}, such as {hit.samples[0]}"


@rule(
    "SB-TEXT-SECRET", ERROR, "Something that looks like a secret",
    why="Whoever downloads the wheel has it.",
    fix="Revoke it now, then find what wrote it (an environment dump, a URL with a password in build information).",
)  # fmt: skip
def secret(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """Access keys, tokens of code hosts and package indexes, private keys, tokens and passwords in URLs. In text also keys of
    storage, model hubs, chat and payment services, JSON web tokens, bearer tokens and netrc lines. Never shown whole."""
    for hit in facts.texts:
        if hit.kind == "secret":
            yield hit.path, f"{count_of(hit.count, 'match')}: {some(hit.samples)}"


RULES = (home_path, secret)
