"""Commands of scripts that work on a person's machine and not in a step."""

from __future__ import annotations

import pytest

from stackbuild.recipe.load import parse
from stackbuild.recipe.step_commands import commands
from support.paths import TESTS

RECIPE = (TESTS / "seeded-recipes/edits/debian.yaml").read_text()
LINE = "      - [make, all]\n"
assert LINE in RECIPE


@pytest.mark.parametrize(
    ("command", "what", "fix"),
    [
        ("[sudo, make, install]", "no other user", "[make, install]"),
        ("[./configure, --with-hip]", "empty `/build/…`", "[/src/tool/configure, --with-hip]"),
        ("[apt-get, install, -y, cmake]", "`apt-get`", "base.debian.packages"),
        ("[git, clone, 'https://example.org/a']", "`git clone`", "sources:"),
        ("[wget, 'https://example.org/a.zip']", "`wget`", "sources:"),
        ("[python3, -m, pip, install, numpy]", "package index", "base.extend.pip"),
        ("[make, install, DESTDIR=/usr/local]", "`/out`", "DESTDIR=/out"),
        ("[cmake, '-S /src/tool']", "one argument", "-S, /src/tool"),
    ],
)
def test_a_command_that_cannot_work_is_found(command: str, what: str, fix: str) -> None:
    (finding,) = commands(parse(RECIPE.replace(LINE, f"      - {command}\n", 1), "r.yaml"))
    assert finding.subject == "components.tool.run.0"
    assert what in finding.found and fix in finding.fix


@pytest.mark.parametrize(
    "command",
    [
        "[git, apply, a.patch]",
        "[pip, install, --no-index, --find-links, /deps/a, numpy]",
        "[pip, install, /src/tool, --prefix=/out]",
        "[make, install, PREFIX=/out/usr]",
        "[sh, -c, 'cd /src/tool && ./configure']",
    ],
)
def test_a_command_that_works_is_left_alone(command: str) -> None:
    assert list(commands(parse(RECIPE.replace(LINE, f"      - {command}\n", 1), "r.yaml"))) == []


def test_a_path_without_the_bases_programs_is_found() -> None:
    (finding,) = commands(parse(RECIPE.replace("CXXFLAGS: -O2", "PATH: /opt/a/bin"), "r.yaml"))
    assert finding.subject == "components.saxpy.env.PATH" and "/usr/bin" in finding.fix
