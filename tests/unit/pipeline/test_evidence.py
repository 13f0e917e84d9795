"""What provenance says of each step: where its output came from."""

from __future__ import annotations

from dataclasses import replace

from stackbuild.core import digest
from stackbuild.pipeline.evidence import step_origin
from stackbuild.store.records import Record

HERE = Record(digest.of_text("x"), "kernels", "demo", "0" * 64, "x", 1.0, "run-7", "2026-11-24T04:00:00Z", {})


def test_what_another_machine_built_did_not_run_here() -> None:
    """Also where one run there made the whole wheel: the record that was taken names that run."""
    signed = replace(HERE, notes={"remote": "oci://store.example.org/x", "signed_by": "SHA256:abc (release)", "signed_run": "run-7"})
    assert step_origin(HERE, "run-7") == "ran" and step_origin(HERE, "run-8") == "reused"
    assert step_origin(signed, "run-7") == step_origin(signed, "run-8") == "reused, signed by SHA256:abc (release)"
    assert step_origin(replace(signed, notes={"remote": "https://store.example.org"}), "run-7") == "reused"
