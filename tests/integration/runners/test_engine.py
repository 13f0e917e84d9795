"""An engine that does not answer, or that this user may not ask."""

from __future__ import annotations

import gc
import socket
import warnings
from pathlib import Path

import pytest

from stackbuild.core.errors import MachineLacks
from stackbuild.runners.engine import connect, find_engine


@pytest.mark.parametrize("exists", [False, True], ids=["no socket", "nobody listens"])
def test_an_engine_that_does_not_answer_leaves_no_socket_open(
    exists: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "docker.sock"
    if exists:
        with socket.socket(socket.AF_UNIX) as silent:
            silent.bind(str(path))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
    gc.collect()
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always")
        assert find_engine() is None
        gc.collect()
    assert not [str(record.message) for record in records]
    with pytest.raises(MachineLacks, match=r"no Docker engine answers: .*docker\.sock"):
        connect()
