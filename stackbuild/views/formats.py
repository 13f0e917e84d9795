"""A run in the wanted format: HTML for people, Markdown for a CI summary, JUnit and JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Callable

from stackbuild.core.digest import Json, plain, printable_json
from stackbuild.core.errors import UsageError
from stackbuild.pipeline.run_record import RunRecord
from stackbuild.tables.near_words import one_of
from stackbuild.views.html import html
from stackbuild.views.junit import junit_of_run
from stackbuild.views.markdown import markdown

FORMATS = ("html", "markdown", "junit", "json")


def render_run(run: RunRecord, format: str, limit: int) -> str:
    """The run's text. `limit` is Markdown's, in bytes. Raises UsageError for a format there is not."""
    writers: dict[str, Callable[[], str]] = {
        "html": lambda: html(run), "markdown": lambda: markdown(run, limit), "junit": lambda: junit_of_run(run),
        "json": lambda: as_json(run),
    }  # fmt: skip
    if format not in writers:
        raise UsageError(f"no format {format!r}", next=one_of(format, FORMATS))
    return writers[format]()


def as_json(run: RunRecord) -> str:
    """One strict JSON document, `stackbuild.run/1`."""
    from stackbuild.bench.results_file import document

    body: dict[str, Json] = {"schema": "stackbuild.run/1"} | {
        name: plain(getattr(run, name))
        for name in (
            "title",
            "started",
            "seconds",
            "steps",
            "stages",
            "notes",
            "conversions",
            "verifications",
            "history",
            "facts",
            "delivery",
        )
    }
    body["benchmarks"] = document(run.benchmarks) if run.benchmarks else None
    body["verdict"] = document(run.verdict) if run.verdict else None
    return printable_json(json.dumps(body, indent=1, ensure_ascii=False, allow_nan=False)) + "\n"
