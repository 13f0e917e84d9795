"""A source distribution from an index that lies."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.core.cancel import Stopper
from stackbuild.core.errors import MachineLacks, StepFailed
from stackbuild.sources import python_index
from stackbuild.sources.http import DownloadRequest, TransferLimits, fetch

SHA256 = "#sha256=" + "0" * 64


@pytest.mark.parametrize("link", ["//ho℀st/x-1.tar.gz", "https://ho℀st/x-1.tar.gz"])
def test_a_link_that_is_no_url_is_refused_in_words(link: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def page_alone(download: DownloadRequest, target: Path, *others: object) -> str:
        target.write_text(f'<a href="{link}{SHA256}">x</a>')
        return ""

    monkeypatch.setattr(python_index, "fetch", page_alone)
    monkeypatch.setattr(python_index, "_index", lambda: "https://index.lan/simple")
    with pytest.raises(StepFailed, match="not a URL"):
        python_index.download_sdist("x==1", tmp_path, Stopper())


def test_the_password_of_an_index_is_not_printed(tmp_path: Path) -> None:
    request = DownloadRequest("https://ada:secret@index.lan:x/simple/x/")
    with pytest.raises(MachineLacks) as refused:
        fetch(request, tmp_path / "x", None, Stopper(), TransferLimits(pause=0.0))
    assert "secret" not in str(refused.value) and "//…@index.lan" in str(refused.value)
