"""Fetching into a bundle."""

import hashlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stackbuild.build import fetch as fetching
from stackbuild.core.cancel import Stopper
from stackbuild.core.errors import LockError
from stackbuild.sources.mirror import Mirror


@pytest.mark.parametrize("digest", [f"sha1:{hashlib.sha1(b'hello').hexdigest()}", hashlib.sha256(b"hello").hexdigest()])
def test_a_failed_bundle_leaves_nothing_and_a_whole_one_has_archives_under_either_digest(
    digest: str, empty_mirror: Path, tmp_path: Path
) -> None:
    url = "https://github.com/f/f.zip"
    step = SimpleNamespace(name="a", action="archive", params=(("url", url), ("sha256", digest)))
    store = SimpleNamespace(tree=lambda tree: tmp_path)
    context: Any = SimpleNamespace(stopper=Stopper(), emit=lambda note: None, store=store, mirror=Mirror(empty_mirror))
    built: Any = {"a": SimpleNamespace(tree="t")}
    steps: Any = (step,)
    place = empty_mirror / "github.com" / "f" / "f.zip"
    place.parent.mkdir(parents=True)
    bundle = tmp_path / "bundle"
    place.write_bytes(b"other")
    with pytest.raises(LockError, match=r"f\.zip"):
        fetching._BundleWriter(bundle, steps, built, context).write_and_seal()
    assert not list(bundle.iterdir())
    place.write_bytes(b"hello")
    assert fetching._BundleWriter(bundle, steps, built, context).write_and_seal()
    assert (bundle / "github.com/f/f.zip").read_bytes() == b"hello"
    assert (bundle / "bundle.json").is_file()
