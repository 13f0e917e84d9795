"""Logs of builds."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.inspection import inspect, judge


def test_build_logs(tmp_path: Path):
    log = tmp_path / "configure.log"
    log.write_text(
        "-- ok\nCMake Warning:\n  Manually-specified variables were not used by the project:\n\n    GGML_HIPBLAS\n"
        "    onnxruntime_ROCM_HOME\n\n\n[1/2] c++ -O2 -march=native -c /build/x/ops.cc -o ops.o\n[2/2] c++ -O2 -c fine.cc\n"
    )
    facts = inspect(log)
    assert facts.log and facts.log.unused_options == ("GGML_HIPBLAS", "onnxruntime_ROCM_HOME")
    found = {f.rule: f.found for f in judge(facts)}
    assert set(found) == {"SB-LOG-UNUSED-OPTION", "SB-LOG-NATIVE"}
    assert "GGML_HIPBLAS" in found["SB-LOG-UNUSED-OPTION"] and "ROCM_HOME" not in found["SB-LOG-UNUSED-OPTION"]
    assert "ops.cc" in found["SB-LOG-NATIVE"] and "fine.cc" not in found["SB-LOG-NATIVE"]
    log.write_text("-- all is well\n")
    assert judge(inspect(log)) == ()


@pytest.mark.parametrize(
    "prefix", ["[docker] 12:00 ", "#12 34.5 ", "2026-11-20T12:00:00.1234567Z ", "\x1b[33m", "web-1  | \x1b[0m"]
)
def test_logs_with_prefixed_lines(prefix: str, tmp_path: Path):
    """As CI services and `docker compose` print them; a colour is no word."""
    said = [
        "CMake Warning:",
        "  Manually-specified variables were not used by the project:",
        "",
        "    GGML_HIPBLAS",
        "    CK_OLD",
        "",
        "",
        "-- Done",
    ]
    log = tmp_path / "ci.log"
    log.write_text("\n".join(prefix + line for line in ["-- start", *said, "Done"]) + "\n")
    assert inspect(log).log.unused_options == ("GGML_HIPBLAS", "CK_OLD")


def test_logs_list_options_only_where_cmake_does(tmp_path: Path):
    log = tmp_path / "ci.log"
    log.write_text("  Manually-specified variables were not used by the project:\n\n    A_B\n\nDone\n    C_D\n")
    assert inspect(log).log.unused_options == ("A_B",)


@pytest.mark.parametrize(
    "data",
    [
        b"Manually-specified variables were not used by the project: " * 9_000,
        b"Manually-specified variables were not used by the project:\n" + b"".join(b" A%d\n" % n for n in range(50_000)),
        b"-march=native " * 40_000, (b"-march=native" + b"a/" * 4_000 + b"\n") * 60,
    ],
)  # fmt: skip
def test_hostile_logs_cost_little(data: bytes, tmp_path: Path):
    """Half a megabyte took seconds: a line without an end was searched again for each word in it."""
    import time

    log = tmp_path / "x.log"
    log.write_bytes(data)
    started = time.process_time()
    found = inspect(log).log
    assert found and len(found.unused_options) <= 1_000 and len(found.native) <= 1_000
    assert time.process_time() - started < 2
