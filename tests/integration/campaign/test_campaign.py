"""A tenth of each rig of the campaign, drawn with the date; the whole of it runs nightly by `ci/campaign run`."""

from __future__ import annotations

import pytest
from campaign import command, frame

RIGS = [
    pytest.param(rig, id=name, marks=[getattr(pytest.mark, need) for need in rig.needs])
    for name, rig in frame.rigs().items()
]


@pytest.mark.parametrize("rig", RIGS)
def test_a_tenth_of_the_rig_survives(rig: frame.Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    seed = command.today()
    count = frame.run(rig, frame.chosen(rig, seed, 0.1), seed)
    print(count.line())
    assert not count.lost, count.lost
    if not count.tried:
        pytest.skip(count.not_run[0][1])
