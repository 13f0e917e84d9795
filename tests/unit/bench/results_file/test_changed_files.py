"""Results files changed at random: refused with the place, or drawn and judged without a fault."""

from __future__ import annotations

import copy
import json
from datetime import date
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stackbuild.bench.compare import changes
from stackbuild.bench.results_file import document, read_benchmarks, read_verdict
from stackbuild.core.errors import UsageError
from stackbuild.judgement import judge
from stackbuild.model.gates import Gates
from stackbuild.pipeline.run_record import of_results
from stackbuild.views.formats import FORMATS, render_run
from support.report_samples import results, verdict, whole_run

GATES = Gates.model_validate(
    {"gates": [{"kind": "baseline"}, {"kind": "speedup", "versus": "baseline", "at_least": 1}, {"kind": "accuracy", "snr_db": 9},
               {"kind": "limit", "metric": "throughput", "at_least": 1}, {"kind": "memory", "grows_at_most": "5%"},
               {"kind": "share", "provider": "CPU"}]}
).gates  # fmt: skip
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-10, 10),
    st.floats(),
    st.sampled_from(["inf", "nan", "-inf", "", "\x00<b>", "1e400"]),
)
VALUES = st.one_of(SCALARS, st.lists(SCALARS, max_size=2), st.dictionaries(st.text(max_size=3), SCALARS, max_size=2))


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, held in inner for found in places(held, (*path, key)))]


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    copied = copy.deepcopy(value)
    at = copied
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = new
    return copied


WHOLE = document(results())
PLACES = [path for path in places(WHOLE) if path]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(PLACES), VALUES)
def test_a_changed_results_file_is_refused_or_drawn(tmp_path: Path, path: tuple[Any, ...], new: Any) -> None:
    file = tmp_path / "r.json"
    file.write_text(json.dumps(changed(WHOLE, path, new)))
    try:
        found = read_benchmarks(file)
    except UsageError as stop:
        assert str(file) in str(stop) and stop.next
        return
    judged = judge(found, GATES, date(2026, 11, 20))
    changes(found, found)
    for form in FORMATS:
        assert render_run(of_results(found, judged), form, 100_000)


def test_a_verdict_cut_short_is_refused(tmp_path: Path) -> None:
    text = json.dumps(document(verdict()))
    file = tmp_path / "v.json"
    for end in range(0, len(text), 7):
        file.write_text(text[:end])
        try:
            read_verdict(file)
        except UsageError:
            continue
        raise AssertionError(f"{end} of {len(text)} characters were read as a whole verdict")
    assert whole_run().verdict is not None
