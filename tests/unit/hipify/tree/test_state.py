"""The state that runs leave in their output folder: a stranger's tree can have one, and anything in its place."""

from __future__ import annotations

import json
import os
from pathlib import Path
from random import Random
from typing import Any

import pytest
from campaign.mutation import spoilt_json

from stackbuild.core.errors import UsageError
from stackbuild.hipify import hipify_tree
from stackbuild.hipify.engines import Engine
from stackbuild.hipify.model import Report, Target
from stackbuild.hipify.tables.hipify_tools import Tools
from stackbuild.hipify.tree import state
from stackbuild.hipify.tree.files import SourceSelection
from stackbuild.hipify.tree.state import STATE, State
from support.hipify import bundled_rules, small_tables

CALL = "int f() { return cudaFree(0); }\n__global__ void k() { unsigned m = __ballot_sync(0xffffffff, 1); }\n"
ENGINE = Engine("fast", small_tables(), bundled_rules("generic"), Target(), Tools(None, None))


def run(source: Path, out: Path) -> Report:
    return hipify_tree(SourceSelection((source,), out), ENGINE)


@pytest.fixture
def src(tmp_path: Path) -> Path:
    folder = tmp_path / "src"
    (folder / "sub").mkdir(parents=True)
    for name in ("x.cu", "sub/y.cu", "sub/z.h"):
        (folder / name).write_text(CALL)
    return folder


def place(folder: Path, kind: str) -> None:
    folder.mkdir(exist_ok=True)
    path = folder / STATE
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "holes":
            path.touch()
            os.truncate(path, 1 << 42)
        case _:
            path.symlink_to(kind)


@pytest.mark.parametrize("kind", ["fifo", "holes", "/dev/zero", "/dev/stdin", "nowhere"])
def test_what_lies_in_its_place_is_not_waited_for(src: Path, tmp_path: Path, kind: str) -> None:
    place(src / "sub", kind)
    place(tmp_path / "out", kind)
    assert state.load(tmp_path / "out") == State()
    if kind in ("nowhere", "/dev/zero", "/dev/stdin"):
        report = run(src, tmp_path / "out")
        assert len(report.files) == 3 and not (tmp_path / "out" / STATE).is_symlink()


def test_a_link_to_a_state_elsewhere_is_not_followed(src: Path, tmp_path: Path) -> None:
    run(src, tmp_path / "other")
    place(tmp_path / "out", str(tmp_path / "other" / STATE))
    assert state.load(tmp_path / "other") != State() and state.load(tmp_path / "out") == State()


@pytest.mark.parametrize("seed", range(4))
def test_any_state_is_refused_or_read(src: Path, tmp_path: Path, seed: int) -> None:
    """And nothing outside of the output is touched, whatever it names."""
    out, random = tmp_path / "out", Random(seed)
    victim = tmp_path / "victim.cu"
    victim.write_text(CALL)
    run(src, out)
    good = json.loads((out / STATE).read_text())
    good["files"] |= {"../victim.cu": good["files"]["x.cu"], str(victim): good["files"]["x.cu"]}
    good["pending"] = {"../victim.cu": ["0" * 64], "x\0.cu": ["1" * 64]}
    for number in range(150):
        changed: Any = spoilt_json(good, random)
        (out / STATE).write_text(json.dumps(changed))
        try:
            run(src, out)
        except UsageError:
            pass
        except Exception as error:
            raise AssertionError(f"input {number}: {json.dumps(changed)[:3000]}") from error
        assert victim.read_text() == CALL
