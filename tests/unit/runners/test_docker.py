"""Old images and dead runs' containers are taken away by whichever run comes first; what another took meanwhile is no error."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

from docker.errors import NotFound

from stackbuild.runners.docker import LABEL, Docker

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
        return [SimpleNamespace(labels={LABEL: "another"}, name="container", remove=gone)]


def test_what_another_run_removed_meanwhile_is_passed_over() -> None:
    engine, runner = Engine(), Docker("this")
    runner.__dict__["client"] = engine
    assert runner.reap() == ("image old",)
    assert engine.removed == ["old"]
