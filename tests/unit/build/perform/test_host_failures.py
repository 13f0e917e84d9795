"""A step of the host that fails: its message names the file it failed at, and no log that was never written."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from stackbuild.build.perform import BrokenStep, _on_host
from stackbuild.core.errors import LockError
from stackbuild.model.events import StepBroke

URL = "https://x.example/abseil.zip"


@pytest.mark.parametrize("is_logged", [False, True])
def test_the_file_of_a_wrong_digest_is_named(is_logged: bool, tmp_path: Path) -> None:
    log = tmp_path / "deps.log"

    def deps(job: object) -> dict[str, str]:
        if is_logged:
            log.write_text("one line\n")
        raise LockError("sha1 b came, the lock has a", where=URL, next="fetch it by hand")

    said: list[object] = []
    context = SimpleNamespace(
        store=SimpleNamespace(tree=Path), actions={"deps": deps}, emit=said.append, stopper=None, locals={}, mirror=None
    )
    step = SimpleNamespace(name="source.onnxruntime.deps", action="deps")
    run = SimpleNamespace(step=step, staging=SimpleNamespace(out=tmp_path, work=tmp_path), trees={})
    with pytest.raises(BrokenStep):
        _on_host(run, log, context)  # type: ignore[arg-type]
    (event,) = said
    assert isinstance(event, StepBroke)
    assert event.what == f"{URL}: sha1 b came, the lock has a"
    assert event.log == (str(log) if is_logged else "")
