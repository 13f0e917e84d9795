"""`recipe outdated`: which upstream tags are newer than what a recipe builds."""

import json

import pytest

from stackbuild.__main__ import main
from stackbuild.checks.source_tags import compare_tags
from stackbuild.core.errors import MachineLacks
from stackbuild.sources import git

TAGS = ("v1.22.0", "v1.22.1", "v1.22.2", "v1.23.2", "v1.24.0-rc1", "rel-1.99.0", "v2", "1.50.0", "v1.9.3")


@pytest.mark.parametrize(
    ("ref", "tags", "newest", "line"),
    [
        ("v1.22.1", TAGS, "v1.23.2", "v1.22.2"),
        ("v1.22.2", TAGS, "v1.23.2", ""),
        ("v1.23.2", TAGS, "", ""),
        ("rel-1.22.1", TAGS, "rel-1.99.0", ""),
        ("rocm-7.2.4", ("rocm-7.2.4", "rocm-7.14.0", "rocm-7.2.10"), "rocm-7.14.0", "rocm-7.2.10"),
        ("v1.22.1", (), "", ""),
    ],
)
def test_releases_written_alike_are_compared_by_their_numbers(
    ref: str, tags: tuple[str, ...], newest: str, line: str
) -> None:
    found = compare_tags("s", "https://host/x", ref, tags)
    assert (found.newest, found.in_line, found.problem) == (newest, line, "")
    assert found.is_outdated is bool(newest)


def test_a_commit_has_no_place_among_the_tags() -> None:
    found = compare_tags("s", "https://host/x", "f729a52fafa209a094eb8c6df3433e94423577fe", TAGS)
    assert not found.is_outdated and "commit" in found.problem and not found.unreachable


def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> tuple[object, dict[str, object]]:
    monkeypatch.setattr("sys.argv", ["stackbuild", "recipe", "outdated", "-r", "rocm-6.4", "--json"])
    code: object = 0
    try:
        main()
    except SystemExit as left:
        code = left.code
    return code, {row["source"]: row for row in json.loads(capsys.readouterr().out)["sources"]}


def test_the_command_exits_10_where_one_is_newer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(git, "tags", lambda url, mirror: TAGS if "onnxruntime" in url else ())
    code, rows = run(monkeypatch, capsys)
    assert code == 10
    assert rows["onnxruntime"]["newest"] == "v1.23.2"  # type: ignore[index]


def test_a_server_that_cannot_be_asked_is_named_and_the_others_are_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def tags(url: str, mirror: object) -> tuple[str, ...]:
        if "onnxruntime" in url:
            raise MachineLacks("a git server cannot be reached")
        return ()

    monkeypatch.setattr(git, "tags", tags)
    code, rows = run(monkeypatch, capsys)
    assert code == 7 and rows["onnxruntime"]["unreachable"] and not rows["migraphx"]["unreachable"]  # type: ignore[index]


def test_what_can_be_done_is_said_where_no_server_is_reached(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A commit has no place among tags: its server is not asked, and is none of those that could not be."""

    def tags(url: str, mirror: object) -> tuple[str, ...]:
        raise MachineLacks("a git server cannot be reached")

    monkeypatch.setattr(git, "tags", tags)
    monkeypatch.setattr("sys.argv", ["stackbuild", "recipe", "outdated", "-r", "rocm-6.4"])
    with pytest.raises(SystemExit) as left:
        main()
    said = capsys.readouterr().err
    assert left.value.code == 7
    assert "nothing is known of migraphx, onnxruntime\n" in said and "--mirror DIR" in said


def test_a_recipe_without_a_git_source_says_that_there_is_nothing_to_compare(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["stackbuild", "recipe", "outdated", "-r", "debian-13"])
    with pytest.raises(SystemExit) as left:
        main()
    assert not left.value.code and "there is nothing to compare" in capsys.readouterr().out
