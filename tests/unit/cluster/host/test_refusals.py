"""What a worker refuses before it does a step."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from stackbuild.actions import Job
from stackbuild.cluster.host import StepHost
from stackbuild.cluster.tasks import StepInput, StepTask
from stackbuild.model.plan import Need, Step
from stackbuild.remote import pull
from stackbuild.remote.settings import RemoteSettings, Settings
from stackbuild.runners.fake import Fake
from support.remotes import TEXT, a_key, asked, exported, key_files, open_at, put

MINE = a_key().fingerprint


@pytest.fixture
def host(tmp_path: Path) -> Iterator[StepHost]:
    """A worker whose remote has one output, under the key of `TEXT`."""
    builder = open_at(tmp_path / "builder")
    put(builder, large=0)
    builder.close()
    exported(tmp_path / "builder", tmp_path / "remote")
    private, public = key_files(tmp_path)
    remote = RemoteSettings(url=f"file://{tmp_path}/remote", read=(public.read_text(),), write=True, sign=str(private))
    made = StepHost(
        "w1", tmp_path / "store", Settings(remotes=(remote,)), 1, lambda line: None,
        runner_of=lambda *words, **more: Fake(), actions={"archive": write},
    )  # fmt: skip
    yield made
    made.close()


def write(job: Job) -> dict[str, str]:
    (job.out / "made").write_text("x")
    return {}


def task(step: Step, trusted: tuple[str, ...] = (MINE,), inputs: tuple[StepInput, ...] = ()) -> StepTask:
    return StepTask(step, inputs, "t", "t", "", "sandbox", base_is_image=False, trusted_keys=trusted)


def test_a_step_whose_output_the_client_would_not_take(host: StepHost, tmp_path: Path) -> None:
    """A worker that came later, or one whose key was exchanged: it says so before it works for hours."""
    outcome = host.do("k", task(Step("s", "archive"), ("SHA256:another",)), lambda message: None)
    assert outcome.status == "lacks" and MINE in outcome.failure.what
    assert host.do("k", task(Step("s", "archive")), lambda message: None).status == "made"
    key_files(tmp_path, "new")
    (tmp_path / "new.key").replace(tmp_path / "builder.key")
    again = host.do("k2", task(Step("s2", "archive")), lambda message: None)
    assert again.status == "made"  # with the key that it offered: until it is started again


def test_no_room_for_an_input(host: StepHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The input is not made again for it: the remote has it."""
    builder = open_at(tmp_path / "builder")
    (record,) = builder.find_all((asked().key,)).values()
    builder.close()
    given = StepInput("s", record.key, record.tree, TEXT)
    step = Step("next", "archive", (Need("s", record.key),))
    monkeypatch.setattr(pull, "ROOM", 1 << 60)
    outcome = host.do("k", task(step, inputs=(given,)), lambda message: None)
    assert outcome.status == "lacks" and outcome.failure.what == "there is no room for the output of `s`"
    monkeypatch.undo()
    assert host.do("k", task(step, inputs=(given,)), lambda message: None).status == "made"
