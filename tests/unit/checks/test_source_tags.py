"""`recipe outdated`: which upstream tags are newer than what a recipe builds."""

import json

import pytest

from stackbuild.__main__ import main
from stackbuild.checks.source_tags import compare_tags
from stackbuild.core.errors import MachineLacks
from stackbuild.sources import git

NAMES = ("v1.22.0", "v1.22.1", "v1.22.2", "v1.23.2", "v1.24.0-rc1", "rel-1.99.0", "v2", "1.50.0", "v1.9.3")
TAGS = {name: f"{n:040x}" for n, name in enumerate(NAMES, 0xF000000)}


@pytest.mark.parametrize(
    ("ref", "tags", "newest", "line"),
    [
        ("v1.22.1", TAGS, "v1.23.2", "v1.22.2"),
        ("v1.22.2", TAGS, "v1.23.2", ""),
        ("v1.23.2", TAGS, "", ""),
        ("rel-1.22.1", TAGS, "rel-1.99.0", ""),
        ("rocm-7.2.4", dict.fromkeys(("rocm-7.2.4", "rocm-7.14.0", "rocm-7.2.10"), "c"), "rocm-7.14.0", "rocm-7.2.10"),
        ("v1.22.1", {}, "", ""),
    ],
)
def test_releases_written_alike_are_compared_by_their_numbers(
    ref: str, tags: dict[str, str], newest: str, line: str
) -> None:
    found = compare_tags("s", "https://host/x", ref, tags)
    assert (found.newest, found.in_line, found.problem) == (newest, line, "")
    assert found.is_outdated is bool(newest)


@pytest.mark.parametrize("digits", [40, 9])
def test_a_commit_counts_as_the_release_that_it_was_tagged_with(digits: int) -> None:
    commit = TAGS["v1.22.1"][-digits:]
    tags = {name: each[-digits:].ljust(40, "0") for name, each in TAGS.items()}
    found = compare_tags("s", "https://host/x", commit, tags)
    assert (found.tag, found.newest, found.in_line, found.problem) == ("v1.22.1", "v1.23.2", "v1.22.2", "")


def test_of_two_tags_of_a_commit_the_higher_counts() -> None:
    commit = "7466a4cd" * 5
    found = compare_tags("s", "https://host/x", commit, {"rocm-6.4.4": commit, "rocm-6.4.3": commit, "latest": commit})
    assert found.tag == "rocm-6.4.4" and not found.is_outdated


@pytest.mark.parametrize(
    ("ref", "tags", "problem"),
    [
        ("f729a52fafa209a094eb8c6df3433e94423577fe", TAGS, "a commit that no release's tag names; look at rel-1.99.0, the highest of its tags"),
        ("f729a52fafa209a094eb8c6df3433e94423577fe", {"latest": "c"}, "a commit that no release's tag names; its repository has no release's tag"),
        ("main", TAGS, "a branch; look at rel-1.99.0, the highest of its tags"),
    ],
)  # fmt: skip
def test_what_no_tag_names_is_not_compared_and_said_to_be_so(ref: str, tags: dict[str, str], problem: str) -> None:
    found = compare_tags("s", "https://host/x", ref, tags)
    assert not found.is_outdated and not found.unreachable and found.problem == f"not compared: {problem}"


def test_a_tag_means_its_commit_also_where_it_is_annotated(monkeypatch: pytest.MonkeyPatch) -> None:
    listing = "aaa\trefs/tags/v1.0\nbbb\trefs/tags/v1.0^{}\nccc\trefs/tags/v1.1"
    monkeypatch.setattr(git, "run_git", lambda *words, mirror: listing)
    assert git.tags("https://host/x") == {"v1.0": "bbb", "v1.1": "ccc"}


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
    monkeypatch.setattr(git, "tags", lambda url, mirror: TAGS if "onnxruntime" in url else {"rocm-6.4.4": "c"})
    code, rows = run(monkeypatch, capsys)
    assert code == 10
    assert rows["onnxruntime"]["newest"] == "v1.23.2"  # type: ignore[index]


def test_a_server_that_cannot_be_asked_is_named_and_the_others_are_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def tags(url: str, mirror: object) -> dict[str, str]:
        if "onnxruntime" in url:
            raise MachineLacks("a git server cannot be reached")
        return {"rocm-6.4.4": "c"}

    monkeypatch.setattr(git, "tags", tags)
    code, rows = run(monkeypatch, capsys)
    assert code == 7 and rows["onnxruntime"]["unreachable"] and not rows["migraphx"]["unreachable"]  # type: ignore[index]


def test_a_repository_that_was_fetched_without_its_tags_tells_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(git, "tags", lambda url, mirror: {})
    code, rows = run(monkeypatch, capsys)
    assert code == 7 and rows["migraphx"]["problem"] == "its repository has no tags"  # type: ignore[index]
    assert rows["rocmlir"]["problem"].endswith("its repository has no release's tag")  # type: ignore[index]


@pytest.mark.parametrize(
    ("recipe", "sources"), [("rocm-6.4", "migraphx, onnxruntime, rocmlir"), ("rocm-10.1", "hipdnn-ep, migraphx, migraphx-ep, rocmlir")]
)  # fmt: skip
def test_without_a_network_nothing_is_known_and_what_can_be_done_is_said(
    recipe: str, sources: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where every source is a commit: it ended with 0, as if nothing was newer."""

    def tags(url: str, mirror: object) -> dict[str, str]:
        raise MachineLacks("a git server cannot be reached")

    monkeypatch.setattr(git, "tags", tags)
    monkeypatch.setattr("sys.argv", ["stackbuild", "recipe", "outdated", "-r", recipe])
    with pytest.raises(SystemExit) as left:
        main()
    said = capsys.readouterr().err
    assert left.value.code == 7
    assert f"nothing is known of {sources}\n" in said and "--mirror DIR" in said


def test_a_recipe_without_a_git_source_says_that_there_is_nothing_to_compare(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["stackbuild", "recipe", "outdated", "-r", "debian-13"])
    with pytest.raises(SystemExit) as left:
        main()
    assert not left.value.code and "there is nothing to compare" in capsys.readouterr().out
