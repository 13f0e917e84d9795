"""A step that closes the folders it was given: another user than root can build again in the same store."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration.build.test_surroundings import hand_over, namespaces_allowed
from support.build_bench import BuildBench

STEP = '  hostile: {{kind: script, run: [[sh, -c, "{}"]]}}\n'
CLOSED = {
    "all but its output": ("mkdir /ccache/d d; touch /ccache/d/f; chmod 000 /ccache/d /ccache d . /build /jobserver; echo x > /out/x", 0),
    "all, and fails": ("mkdir d /out/d; touch /out/d/f; chmod 000 d . /build /out/d /out /ccache /jobserver; exit 3", 4),
}


@pytest.mark.sandbox
@pytest.mark.parametrize("name", CLOSED)
def test_a_closed_folder_holds_nobody_up(open_bench: BuildBench, name: str) -> None:
    assert open_bench.user is not None
    if not namespaces_allowed(open_bench.user):
        pytest.skip("this machine lets no other user open namespaces")
    script, code = CLOSED[name]
    hand_over(open_bench, open_bench.user.uid)
    open_bench.env = {"HOME": str(open_bench.root)}
    open_bench.write(STEP.format(script))
    open_bench.build(check=code)
    fine = "echo 'int f;' > f.c; ccache gcc -c f.c; cp f.o /out/f.o; for n in 1 2; do read -r x < /dev/null; done; true"
    open_bench.write(STEP.format(fine))
    open_bench.build()
    open_bench.run("store", "check")
    open_bench.run("store", "gc", "--days", "0")
    assert not list(Path(open_bench.store, "failed").iterdir())
