"""Coverage-guided fuzzing of the same targets as the rig `parser-fuzz`, for people who look for more: needs atheris.

    .venv/bin/pip install atheris
    .venv/bin/python ci/campaign/coverage_fuzzing.py "code objects" -max_total_time=600 -seed=1

What follows the target's name are libFuzzer's options. The corpus starts with 200 inputs of the seeded mutator, in a folder
of its own. It ends with an error at the first loss, whose input libFuzzer keeps as `crash-…` in that folder.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from random import Random

CI = Path(__file__).resolve().parent.parent
sys.path[:1] = [str(CI), str(CI.parent / "tests"), str(CI.parent)]

if __name__ == "__main__":
    import atheris

    with atheris.instrument_imports(
        include=["stackbuild.inspection", "stackbuild.publishing", "stackbuild.bench.results_file", "stackbuild.model"]
    ):
        from campaign import parsers

    folder = Path(tempfile.mkdtemp(prefix="stackbuild-guided-"))
    (folder / "corpus").mkdir()
    target = parsers.targets(folder)[sys.argv[1]]
    for number in range(200):
        (folder / "corpus" / str(number)).write_bytes(target.spoil(Random(number)))
    os.chdir(folder)
    atheris.Setup([sys.argv[0], *sys.argv[2:], str(folder / "corpus")], target.parse)
    atheris.Fuzz()
