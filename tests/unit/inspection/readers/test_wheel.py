"""What a wheel says of itself, within bounds."""

from __future__ import annotations

import pytest

from stackbuild.inspection.readers import wheel


def test_rows_of_record_are_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(wheel, "ROWS", 100)
    told: list[str] = []
    texts = {"x-1.dist-info/RECORD": b"a\n" * 1_000}
    made, _ = wheel.wheel("", list(texts), texts, lambda path, broken: told.append(f"{path} {broken}"))
    assert len(made.record) == 100 and "more than 100 rows" in told[0]


def test_metadata_is_no_mail():
    """A thousand messages within messages were a RecursionError, a million parts a gigabyte."""
    for data in (
        b"Content-Type: message/rfc822\n\n" * 5_000,
        b"Content-Type: multipart/mixed; boundary=x\n\n" + b"--x\n\n" * 50_000,
    ):
        texts = {"x-1.dist-info/METADATA": b"Name: x\n" + data}
        made, _ = wheel.wheel("", list(texts), texts, lambda path, broken: None)
        assert made.metadata_name == "x" and made.has_description


def test_a_row_that_is_no_csv_is_told():
    told: list[str] = []
    texts = {"x-1.dist-info/RECORD": b"a,b,1\n" + b"c" * 200_000}
    made, _ = wheel.wheel("", list(texts), texts, lambda path, broken: told.append(str(broken)))
    assert len(made.record) == 1 and "not CSV" in told[0]


def test_wheel_names_and_versions():
    assert wheel.local_of("1.27.1+rocm.7.2") == "rocm.7.2" and wheel.local_of("nonsense") == ""
    assert wheel.release_of("1.22.2.post3+x") == (1, 22, 2)
    assert wheel.required_names(("numpy>=1; python_version>'3'", "###", "Foo_Bar")) == ("numpy", "foo-bar")
