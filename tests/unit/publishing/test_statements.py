"""Statements: what one must say, and that its bytes are the same whenever it is made."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stackbuild.publishing.statements import read_statement, statement
from support.wheels import put_statements, small_wheel


@pytest.mark.parametrize("field", ["predicateType", "predicate"])
def test_a_statement_that_states_nothing_is_refused(field: str) -> None:
    body = json.loads(statement([], "https://slsa.dev/provenance/v1", {}))
    del body[field]
    with pytest.raises(ValueError, match="no predicate with a type"):
        read_statement(json.dumps(body).encode())


def test_statements_are_the_same_bytes_whenever_they_are_made(tmp_path: Path) -> None:
    one, other = small_wheel(tmp_path / "a"), small_wheel(tmp_path / "b")
    other.write_bytes(one.read_bytes())
    assert [p.read_bytes() for p in put_statements(one)] == [p.read_bytes() for p in put_statements(other)]
