"""What is not uploaded: refused by name before a connection is made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stackbuild.cli.publish import publish
from stackbuild.core.errors import UsageError
from stackbuild.publishing.upload import upload
from support.wheels import small_wheel

NOWHERE = "http://127.0.0.1:9/"


def test_a_wheel_of_another_name_is_not_uploaded(tmp_path: Path) -> None:
    renamed = small_wheel(tmp_path).rename(tmp_path / "demo_pkg-2.0-py3-none-any.whl")
    with pytest.raises(UsageError, match=r"the file name says demo-pkg 2.0, the metadata inside demo-pkg 1.0"):
        upload((renamed,), NOWHERE)


def test_what_is_no_wheel_is_not_uploaded(tmp_path: Path) -> None:
    text = tmp_path / "demo_pkg-1.0-py3-none-any.whl"
    text.write_text("not a wheel")
    with pytest.raises(UsageError):
        upload((text,), NOWHERE)


def test_a_login_in_the_url_is_refused_and_not_shown(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a login stands in the URL") as refused:
        upload((small_wheel(tmp_path),), "https://me:secret@127.0.0.1:9/simple")
    assert "secret" not in str(refused.value) and "https://127.0.0.1:9/simple" in str(refused.value)


@pytest.mark.parametrize("url", ["http://[::1/", "https://[/"])
def test_what_is_no_url_is_not_a_defect(tmp_path: Path, url: str) -> None:
    with pytest.raises(UsageError, match="is not a URL"):
        upload((small_wheel(tmp_path),), url)


@pytest.mark.parametrize(
    ("place", "what", "step"),
    [
        ("s3:/bucket/simple", "would be a folder", "write s3://bucket/simple, or ./s3:/bucket/simple"),
        ("oci:/host/x", "would be a folder", "write oci://host/x"),
        ("https:/host/x", "would be a folder", "write https://host/x"),
        ("ftp://host/x", "not a place for an index", "https://"),
    ],
)
def test_a_place_with_a_slip_is_told_what_to_write(tmp_path: Path, place: str, what: str, step: str) -> None:
    with pytest.raises(UsageError, match=what) as refused:
        publish([small_wheel(tmp_path)], place)
    assert step in refused.value.next


@pytest.mark.parametrize("option", [{"replace": True}, {"variants": True}, {"unsigned": True}, {"days": 7.0}, {"older": True}, {"at_least": 7}])
def test_an_upload_refuses_what_only_a_folder_takes(tmp_path: Path, option: dict[str, Any]) -> None:
    """It would be passed over without a word."""
    made = small_wheel(tmp_path)
    with pytest.raises(UsageError, match=f"an upload takes no --{next(iter(option)).replace('_', '-')}"):
        publish([made], "https://upload.example.invalid/legacy/", **option)


@pytest.mark.parametrize("option", [{"older": True}, {"at_least": 7}, {"days": 7.0}])
def test_a_registry_refuses_what_it_cannot_follow(tmp_path: Path, option: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=f"a registry takes no --{next(iter(option)).replace('_', '-')}"):
        publish([small_wheel(tmp_path)], "oci+http://127.0.0.1:9/wheels", **option)


def test_a_variable_of_the_pipeline_is_named_where_it_does_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is set for every command of a job: nobody asked for it of this one."""
    monkeypatch.setattr("stackbuild.publishing.upload.upload", lambda *_: ())
    monkeypatch.setenv("STACKBUILD_OLDER", "1")
    publish([small_wheel(tmp_path)], "https://upload.example.invalid/legacy/", older=True)
    assert "$STACKBUILD_OLDER does nothing here: an upload takes no --older" in " ".join(capsys.readouterr().err.split())
