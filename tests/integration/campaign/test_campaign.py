"""A part of each rig of the campaign, drawn with the date; the whole of it runs nightly by `ci/campaign run`.

The part is a tenth, and less of the rigs whose cases are builds or transfers: the tests must not take longer than a person waits. Each
rig runs in a process of its own, as `ci/campaign` runs it.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from campaign import frame
from campaign.command import all_rigs

from support.paths import ROOT

OF_BUILDS = frozenset(("builders", "corruption", "hostile-step", "left-behind", "signals", "store-faults", "store-kills"))
OF_REMOTES = frozenset(("cluster-faults", "object-stores", "remote-faults", "remote-kills"))
TENTH, LESS = 0.1, 0.02
RIGS = [
    pytest.param(rig, id=name, marks=[getattr(pytest.mark, need) for need in rig.needs])
    for name, rig in all_rigs().items()
]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("rig", RIGS)
def test_a_part_of_the_rig_survives(rig: frame.Rig) -> None:
    share = LESS if rig.name in OF_BUILDS | OF_REMOTES else TENTH
    words = [sys.executable, str(ROOT / "ci" / "campaign"), "run", rig.name, "--share", str(share), "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    (count,) = json.loads(done.stdout)
    print(done.stderr)
    assert done.returncode == 0 and not count["lost"], count["lost"]
    if not count["tried"]:
        pytest.skip(count["not_run"][0][1])
