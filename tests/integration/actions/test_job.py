"""What a step's own tool of this machine is run with."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.actions.job import Job
from stackbuild.core.cancel import Stopper
from stackbuild.model.plan import Step
from stackbuild.runners import priority

READ = "sleep 0.3; cat /proc/self/autogroup"


@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="this kernel has no autogroups")
def test_its_session_has_the_callers_niceness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(priority, "niceness", lambda: 7)
    job = Job(Step("base", "debian"), tmp_path / "out", tmp_path, tmp_path / "log", Stopper(), {}, {})
    job.call(["sh", "-c", READ], "dash")
    assert (tmp_path / "log").read_text().split()[-2:] == ["nice", "7"]
