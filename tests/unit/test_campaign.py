"""The command line of ci/campaign, with a rig whose one case is lost."""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from campaign import command, frame

from support.paths import ROOT


def lose(folder: Path) -> str:
    return "as it should be"


@pytest.fixture(autouse=True)
def one_rig(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def cases(random: Random) -> list[frame.CampaignCase]:
        return [frame.CampaignCase("an archive's bomb", lose)]

    def run(rig: frame.Rig, cases: list[frame.CampaignCase], seed: int, tick: Callable[[frame.CampaignCase, str], None]) -> frame.RigReport:
        count = frame.RigReport(rig.name, seed)
        for case in cases:
            tick(case, case.attempt(tmp_path))
            count.tried += 1
            count.lost.append((case.name, "lost"))
        return count

    monkeypatch.setattr(command, "all_rigs", lambda: {"losing": frame.Rig("losing", "loses", cases)})
    monkeypatch.setattr(frame, "run", run)


def test_a_part_of_no_name_is_a_wrong_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["run", "losing", "--only", "nosuch"]) == 2
    assert "no case of losing has 'nosuch' in its name" in capsys.readouterr().err


def test_the_line_that_tries_a_lost_case_again_can_be_typed(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["run", "losing", "--seed", "7"]) == 1
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "again: " in line]
    words = shlex.split(line.partition("again: ")[2])
    assert (ROOT / words[1] / "__main__.py").is_file() and words[0].endswith("/python")
    assert command.main(words[2:]) == 1
    assert "an archive's bomb" in capsys.readouterr().err


def test_shards_have_each_case_once(capsys: pytest.CaptureFixture[str]) -> None:
    cases = [frame.CampaignCase(str(number), lose) for number in range(7)]
    shards = [frame.Shard.parse(f"{number}/3").of(cases) for number in (1, 2, 3)]
    assert sorted(case.name for shard in shards for case in shard) == [case.name for case in cases]
    for wrong in ("0/3", "4/3", "x"):
        with pytest.raises(SystemExit) as end:
            command.main(["run", "losing", "--shard", wrong])
        assert end.value.code == 2
    assert command.main(["run", "losing", "--shard", "2/2"]) == 0
    assert "losing tried nothing" in capsys.readouterr().err


def test_a_reader_that_has_gone_ends_the_list_quietly(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Gone:
        def __init__(self) -> None:
            self.file = (tmp_path / "out").open("w")

        def write(self, text: str) -> int:
            raise BrokenPipeError

        def flush(self) -> None: ...

        def fileno(self) -> int:
            return self.file.fileno()

    gone = Gone()
    monkeypatch.setattr(sys, "stdout", gone)
    code = command.main(["list"])
    gone.file.close()
    assert code == 128 + signal.SIGPIPE
