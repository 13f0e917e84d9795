"""The same fuzzing as in every run, for minutes: nightly."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from support.paths import TESTS

UNIT = TESTS / "unit" / "inspection" / "readers" / "whole" / "test_fuzz.py"


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_thousands_of_inputs_for_each_parser():
    rounds = os.environ.get("STACKBUILD_FUZZ_ROUNDS", "5000")
    words = [sys.executable, "-m", "pytest", "-q", "-x", "--timeout=3000", "-p", "no:randomly", UNIT]
    ran = subprocess.run(
        words, env=os.environ | {"STACKBUILD_FUZZ_ROUNDS": rounds}, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout[-4000:]
