"""Old images and dead runs' containers are taken away by whichever run comes first; what another took meanwhile is not an error."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from docker.errors import APIError, NotFound
from requests import Response

from stackbuild.core.cancel import Stopper
from stackbuild.core.errors import MachineLacks
from stackbuild.runners.docker import LABEL, STORE, Docker, _DockerSession
from stackbuild.runners.protocol import Exec
from stackbuild.store.identity import identity
from stackbuild.store.store import Store

DAY = 86400


class Engine:
    """The SDK's client with two old images and a young one; another run has just removed the first and the container."""

    def __init__(self) -> None:
        self.removed: list[str] = []
        self.api = SimpleNamespace(images=self.rows)
        self.images = SimpleNamespace(remove=self.remove)
        self.containers = SimpleNamespace(list=self.dead)

    def rows(self, name: str) -> list[dict[str, Any]]:
        if name != "stackbuild-failed":
            return []
        ages = {"gone": 8, "old": 8, "young": 6}
        return [{"Id": n, "Created": int(time.time()) - days * DAY, "RepoTags": [n]} for n, days in ages.items()]

    def remove(self, name: str, force: bool) -> None:
        if name == "gone":
            raise NotFound(name)
        self.removed.append(name)

    def dead(self, all: bool, filters: dict[str, str], ignore_removed: bool) -> list[Any]:
        def gone(force: bool) -> None:
            raise NotFound("container")

        assert ignore_removed
        return [SimpleNamespace(labels={LABEL: "dead"}, name="container", remove=gone)]


def test_what_another_run_removed_meanwhile_is_passed_over(tmp_path: Path) -> None:
    store = Store(tmp_path / "store", "this")
    engine, runner = Engine(), Docker(store)
    runner.__dict__["client"] = engine
    assert runner.reap() == ("image old",)
    assert engine.removed == ["old"]
    store.close()


class Containers:
    """An engine's containers, of which `list` gives those with a label, as the engine does."""

    def __init__(self, *labels: dict[str, str]) -> None:
        self.there = list(labels)
        self.api = SimpleNamespace(images=lambda name: [])
        self.containers = SimpleNamespace(list=self.with_label)

    def with_label(self, all: bool, filters: dict[str, str], ignore_removed: bool) -> list[Any]:
        name, _, value = filters["label"].partition("=")
        return [
            SimpleNamespace(
                labels=labels, name=labels[LABEL], remove=lambda force, labels=labels: self.there.remove(labels)
            )
            for labels in self.there
            if labels.get(name) == value
        ]


def test_only_containers_of_this_stores_dead_runs_are_removed(tmp_path: Path) -> None:
    """No process id is asked for: another run's process may be in another namespace or on another machine."""
    root = tmp_path / "store"
    live, mine = Store(root, "live"), Store(root, "mine")
    runner = Docker(mine)
    here = runner.store_id
    engine = Containers(
        *({LABEL: run, STORE: here} for run in ("live", "mine", "dead")),
        {LABEL: "dead", STORE: "another"},
        {LABEL: "dead"},
    )
    runner.__dict__["client"] = engine
    assert runner.reap() == ("container dead",)
    assert [labels[LABEL] for labels in engine.there] == ["live", "mine", "dead", "dead"]
    live.close()
    assert runner.reap() == ("container live",)
    mine.close()


def test_a_store_keeps_its_name_and_a_copy_of_it_has_another(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name / "tmp").mkdir(parents=True)
    first = identity(tmp_path / "a")
    assert identity(tmp_path / "a") == first
    shutil.copy(tmp_path / "a" / "id", tmp_path / "b" / "id")
    assert identity(tmp_path / "b") != first
    (tmp_path / "a" / "id").write_bytes(b"\xff damaged")
    renamed = identity(tmp_path / "a")
    assert renamed != first and identity(tmp_path / "a") == renamed
    assert not list((tmp_path / "a" / "tmp").iterdir())


def refusing(status: int) -> Any:
    """A session whose engine refuses each command with that HTTP status."""

    def refuse(container: str, argv: list[str], **settings: object) -> None:
        response = Response()
        response.status_code = status
        raise APIError("refused", response=response, explanation="Container c is not running")

    return _DockerSession(SimpleNamespace(api=SimpleNamespace(exec_create=refuse)), SimpleNamespace(id="c"))


def test_a_container_that_the_step_ended_is_the_steps_end(tmp_path: Path) -> None:
    """A step can kill the container's first process; that was called a fault of the machine."""
    done = refusing(409).run(Exec(("true",), (), "/", tmp_path / "log"), Stopper())
    assert (done.code, done.out_of_memory) == (137, False)
    assert refusing(409)._output(("true",)) == b""


def test_an_engine_that_refuses_for_another_reason_is_the_machines_fault(tmp_path: Path) -> None:
    with pytest.raises(MachineLacks, match="the Docker engine refused: Container c"):
        refusing(500).run(Exec(("true",), (), "/", tmp_path / "log"), Stopper())
