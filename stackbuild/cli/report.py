"""`report`: a run or results as HTML, Markdown, JUnit or JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from stackbuild.cli.app import JsonOption, Out, app, argument, option
from stackbuild.cli.completion import runs, words

if TYPE_CHECKING:
    from stackbuild.bench.trend import Trend
    from stackbuild.model.results import Benchmarks


@app.command()
def report(
    run: Annotated[
        str,
        argument(
            metavar="RUN",
            help="A run's id, its beginning or its folder, `last`, or a results file that bench or gate wrote.",
            autocompletion=runs,
        ),
    ] = "last",
    verdict: Annotated[
        Path | None, option("--verdict", metavar="FILE", help="With a results file: the verdict on it.")
    ] = None,
    format: Annotated[
        str,
        option(
            "--format",
            "-f",
            help="html, markdown, junit or json.",
            autocompletion=words("html", "markdown", "junit", "json"),
        ),
    ] = "html",
    out: Out = None,
    limit: Annotated[
        int, option("--limit", min=1000, help="Markdown: at most so many bytes (a CI summary takes 1048576).")
    ] = 1_000_000,
    history: Annotated[
        Path | None, option("--history", metavar="FILE", help="History to draw the cases' series from; default: yours.")
    ] = None,
    no_history: Annotated[bool, option("--no-history", help="Draw no series.")] = False,
    json: JsonOption = False,
) -> None:
    """Write a run's report: an HTML page, or what CI reads.

    Example: stackbuild report bench-kernels.json --out report.html
    """
    from dataclasses import replace

    from stackbuild.pipeline.run_record import find_run
    from stackbuild.views.console import err, print_text
    from stackbuild.views.formats import render_run

    record = find_run(run, verdict)
    if record.benchmarks and not no_history:
        record = replace(record, history=_trends(history, record.benchmarks))
    text = render_run(record, "json" if json else format, limit)
    if out is None and (json or format != "html"):
        print_text(text)
        return
    target = out or Path("report.html")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, "utf-8")
    err().print(f"wrote {target}", markup=False)


def _trends(history: Path | None, benchmarks: Benchmarks) -> tuple[Trend, ...]:
    """The series of a history that was named, or of one's own where there is one and it can be read."""
    from stackbuild.bench.history import default_file
    from stackbuild.bench.trend import trends
    from stackbuild.core.errors import MachineLacks, UsageError
    from stackbuild.views.console import err

    if history:
        if not history.is_file():
            raise UsageError("there is no such history", where=str(history), next="stackbuild bench … appends to one")
        return trends(history, benchmarks)
    try:
        return trends(default_file(), benchmarks) if default_file().is_file() else ()
    except (MachineLacks, UsageError) as lacks:
        err().print(f"the report has no history: {lacks}", markup=False)
        return ()
