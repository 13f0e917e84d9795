"""Remotes by their URLs: what each is, and what is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.core.errors import UsageError
from stackbuild.remote.connection import open_reader, open_writer, trusted_remotes
from stackbuild.remote.files import ExportFolder, WebFolder
from stackbuild.remote.registry import OciRegistry
from stackbuild.remote.settings import settings_of
from support.remotes import key_files, open_at

URL = "https://builds.example.org/sb"


def nobody(host: str) -> None:
    return None


@pytest.mark.parametrize(
    ("url", "root"),
    [
        ("oci://ghcr.io/acme/sb", "https://ghcr.io/v2/acme/sb/"),
        ("oci://localhost:5000/sb", "http://localhost:5000/v2/sb/"),
        ("oci+http://lan:5000/a/b", "http://lan:5000/v2/a/b/"),
    ],
)
def test_registries(url: str, root: str) -> None:
    opened = open_reader(url, nobody)
    assert isinstance(opened, OciRegistry) and opened.client.root == root


def test_web_servers_and_folders(tmp_path: Path) -> None:
    assert isinstance(open_reader(URL, nobody), WebFolder)
    assert isinstance(open_writer(f"file://{tmp_path}/x", nobody), ExportFolder)
    with pytest.raises(UsageError, match="can only be read"):
        open_writer(URL, nobody)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "x",
        "oci://",
        "oci://host",
        "ftp://h/x",
        "file://host/x",
        "file:x",
        "https://",
        "https://u:p@h/",
        "https://[/",
        "oci://h/a/../b",
        "oci://h/a//b",
        "oci://h/a/%2e%2e/b",
        "oci://h/Acme/sb",
        "oci://h/acme/s b",
        "oci://h/acme/é",
        "oci://h/acme/sb:latest",
        "oci+http://h/acme/sb@sha256:00",
        "oci://h/-a",
    ],
)
def test_what_is_no_url_of_a_remote(url: str) -> None:
    with pytest.raises(UsageError):
        open_reader(url, nobody)


@pytest.mark.parametrize("name", ["a", "a/b", "a.b/c_d", "a__b", "a--b/c-d", "a/"])
def test_names_of_repositories_by_the_specification(name: str) -> None:
    assert isinstance(open_reader(f"oci://h/{name}", nobody), OciRegistry)


def test_what_is_no_repository_is_answered_with_the_grammar() -> None:
    with pytest.raises(UsageError, match="does not name a repository") as refusal:
        open_reader("oci://h/Acme/sb", nobody)
    assert "a-z and 0-9" in refusal.value.next and "oci://ghcr.io/acme/stackbuild" in refusal.value.next


def test_a_folder_that_is_no_export_is_left_out_with_a_warning(tmp_path: Path) -> None:
    said: list[str] = []
    settings = settings_of(f"file://{tmp_path}", [key_files(tmp_path)[1]])
    assert trusted_remotes(settings, nobody, said.append) == ()
    assert "no export lies there" in said[0]


def test_an_export_is_not_written_among_other_files(tmp_path: Path) -> None:
    from stackbuild.remote.faults import RemoteFault

    (tmp_path / "mine").touch()
    with pytest.raises(RemoteFault, match="other files"):
        ExportFolder("", tmp_path, is_written=True)


@pytest.mark.parametrize("mark", ["1\n", "", "stackbuild.export/2\n"])
def test_another_folder_with_a_file_format_is_not_overwritten(tmp_path: Path, mark: str) -> None:
    from stackbuild.remote.faults import RemoteFault

    (tmp_path / "format").write_text(mark)
    with pytest.raises(RemoteFault, match="not an export"):
        ExportFolder("", tmp_path, is_written=True)
    with pytest.raises(RemoteFault, match="no export"):
        ExportFolder("", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["format"] and (tmp_path / "format").read_text() == mark


def test_a_store_is_not_overwritten_by_its_export(tmp_path: Path) -> None:
    from stackbuild.remote.faults import RemoteFault

    open_at(tmp_path / "store").close()
    before = (tmp_path / "store" / "format").read_text()
    with pytest.raises(RemoteFault, match="not an export"):
        ExportFolder("", tmp_path / "store", is_written=True)
    open_at(tmp_path / "store").close()
    assert (tmp_path / "store" / "format").read_text() == before
