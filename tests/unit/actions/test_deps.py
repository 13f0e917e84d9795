"""`deps`: the archives that a source's own build would download."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stackbuild.actions import deps
from stackbuild.core.cancel import Stopper
from stackbuild.core.digest import of_text
from stackbuild.core.errors import MachineLacks
from stackbuild.sources.mirror import Mirror

URLS = [f"https://github.com/org/{name}/archive/v1.zip" for name in ("one", "two", "three")]


def test_all_that_a_mirror_lacks_is_named_and_nothing_is_left(tmp_path: Path) -> None:
    mirror, out = tmp_path / "mirror", tmp_path / "out"
    out.mkdir()
    there = mirror / "github.com/org/two/archive/v1.zip"
    there.parent.mkdir(parents=True)
    there.write_text("two")
    params = dict.fromkeys(URLS, f"sha256:{of_text('two')}")
    job: Any = SimpleNamespace(params=params, out=out, mirror=Mirror(mirror), stopper=Stopper())
    with pytest.raises(MachineLacks) as stopped:
        deps.do(job)
    assert stopped.value.what.splitlines()[1:] == [f"github.com/org/{name}/archive/v1.zip" for name in ("one", "three")]
    assert not list(out.iterdir())
    job.params = {URLS[1]: params[URLS[1]]}
    assert deps.do(job) == {} and (out / "github.com/org/two/archive/v1.zip").read_text() == "two"
