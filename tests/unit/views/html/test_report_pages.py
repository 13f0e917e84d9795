"""The report's documents: self-contained, inert, within limits, well formed; and the geometry of the plots."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackbuild.bench.compare import FigureChange, changes
from stackbuild.bench.results_file import identity, write
from stackbuild.core.errors import UsageError
from stackbuild.hipify.tree.report_file import Conversion, RuleSummary
from stackbuild.model.findings import Finding, Rung, Severity, Status, Verification
from stackbuild.model.results import (
    Benchmarks,
    Case,
    ChangedInput,
    GateOutcome,
    GateVerdict,
    InputComparison,
    KernelCounters,
    OpTime,
    Series,
    Verdict,
)
from stackbuild.pipeline.run_record import BuiltFile, Delivery, RunRecord, TimeSpan, find_run, of_results
from stackbuild.publishing.wheel_readme import WheelUsage
from stackbuild.views import bench
from stackbuild.views.formats import as_json, render_run
from stackbuild.views.html import html
from stackbuild.views.markdown import escape_markdown, markdown
from stackbuild.views.plots import LETTER, WIDTH, curve_plots, pair_plot, timeline
from stackbuild.views.text import headline, qualifications
from support.report_samples import results, verdict, whole_run


class Page(HTMLParser):
    """Collects what a browser would act on."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in ("meta", "link", "br", "wbr", "line", "rect", "circle", "polyline"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_self_contained_and_nothing_in_it_acts() -> None:
    page, text = Page(), html(whole_run())
    page.feed(text)
    assert page.open == []
    assert not {"script", "img", "iframe", "link", "object", "form"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on") or name in ("src", "style")]
    links = [value or "" for name, value in page.attributes if name == "href"]
    assert all(link.startswith("#") and f'id="{link[1:]}"' in text for link in links) and len(links) > 4
    assert "url(" not in text and "@import" not in text
    assert text.count("&lt;script&gt;") > 10 and "default-src &#39;none&#39;" not in text
    assert "Content-Security-Policy" in text and "prefers-color-scheme: dark" in text and "@media print" in text


def test_verdicts_come_first_and_each_part_is_there() -> None:
    text = html(replace(whole_run(), steps=(), verifications=()))
    order = [text.index(f'id="{part}"') for part in ("verdicts", "benchmarks", "stages", "provenance")]
    assert order == sorted(order)
    assert text.count("<figure>") == 3 + 1 and 'class="limit"' in text and 'class="interval"' in text


def test_a_conversion_shows_its_counts_and_the_first_finding_of_each_rule() -> None:
    first = Finding("HIPIFY-UNSUPPORTED", Severity.ERROR, "a.cu", "cuNothing is gone", "why it is", "use another")
    conversion = Conversion("hipify.one", "hipify-perl 6.0", 3, 4, {"memory": 7}, (RuleSummary(2, first),), ("0001-x",))
    run = replace(whole_run(), conversions=(conversion,))
    for text in (html(run), markdown(run)):
        assert "cuNothing is gone" in text and "use another" in text and "3 of 4 files" in text
    assert "×2" in html(run) and "<b>7</b> memory" in html(run) and "then patched by 0001-x" in html(run)


@pytest.mark.parametrize(
    ("run", "says", "kind"),
    [
        (whole_run(), "wheel failed", "bad"),
        (replace(whole_run(), steps=()), "not verified: static failed", "bad"),
        (of_results(results(), verdict()), "0 of 1 gate passed, 1 failed: 7 % slower", "bad"),
        (of_results(results(), verdict("known")), "0 of 1 gate passed, 1 waived", "good"),
        (of_results(results(), None), "Measured; no gates were given", "good"),
    ],
)
def test_the_headline_is_what_matters_most(run: RunRecord, says: str, kind: str) -> None:
    assert headline(run)[0].startswith(says) and headline(run)[1] == kind


def test_the_qualified_claim_stands_beside_every_verdict() -> None:
    """Open gates do not hide what verification did not run, nor that all figures are the CPU's."""
    rungs = (Rung("static rules", Status.PASSED, "", 1.0), Rung("GPU at work", Status.SKIPPED, "no AMD GPU here", 0.0))
    made = results()
    cpu = replace(made, sides=tuple(replace(side, provider="CPUExecutionProvider") for side in made.sides))
    run = RunRecord("r", "", 1.0, verifications=(Verification("x.whl", "0" * 64, rungs),), benchmarks=cpu, verdict=opened())
    line, kind = headline(run)
    assert kind == "good" and line.endswith("; no GPU ran")
    claim = "verified (static rules; not run: GPU at work: no AMD GPU here); no GPU ran"
    assert qualifications(run) == (("x.whl", claim),)
    assert escape_markdown(f"x.whl: {claim}") in markdown(run) and f'<p class="note">x.whl: {claim}</p>' in html(run)
    only = RunRecord("r", "", 1.0, verifications=run.verifications)
    assert headline(only) == (claim, "good") and qualifications(only) == ()
    assert headline(RunRecord("r", "", 1.0))[0] == "Built; not verified"


def test_the_head_has_the_install_line_sizes_lock_and_logs(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "a#b.log"
    wheel = BuiltFile("x-1-py3-none-any.whl", 12_345_678, "ab" * 32)
    delivery = Delivery((wheel,), 'pip install "x @ file:///i/x.whl#sha256=ab"', "dist/simple", (("log of a", log),))
    run = replace(whole_run(), steps=(), verifications=(), delivery=delivery)
    page = html(run)
    head = page[: page.index("<main>")]
    assert "<code class=\"command\">pip install &#34;x @ file:///i/x.whl#sha256=ab&#34;</code>" in head
    assert "x-1-py3-none-any.whl, 12.3 MB" in head and "ab" * 32 in head and "dist/simple" in head
    assert f'<a href="{log.as_uri()}">log of a</a>' in head and "a%23b.log" in head
    assert '    pip install "x @ file:///i/x.whl#sha256=ab"' in markdown(run) and "12.3 MB" in markdown(run)
    unpublished = html(replace(run, delivery=replace(delivery, install="")))
    assert "not published: no install line" in unpublished


def test_a_report_says_how_its_wheels_are_used() -> None:
    """Once for the wheels of several Pythons, in HTML, Markdown and JSON; in Markdown no text can act."""
    usage = WheelUsage(code=("import x", 'print("<b>")'), places=("GPU code for gfx1100: RX 7900 XTX", "lib<y>.so comes from the machine"))
    wheels = tuple(BuiltFile(f"x-1-cp31{n}-cp31{n}-linux_x86_64.whl", 1, "ab" * 32, usage) for n in (1, 2))
    run = replace(whole_run(), delivery=Delivery(wheels))
    page, text = html(run), markdown(run)
    assert "<dt>Use</dt><dd><pre>import x\nprint(&#34;&lt;b&gt;&#34;)</pre></dd>" in page and page.count("<dt>What runs where</dt>") == 1
    assert "<li>GPU code for gfx1100: RX 7900 XTX</li><li>lib&lt;y&gt;.so comes from the machine</li>" in page
    assert "Use:\n\n    import x\n    print(" in text and "- GPU code for gfx1100&#58; RX 7900 XTX" in text and "lib<y>" not in text
    assert json.loads(as_json(run))["delivery"]["wheels"][0]["usage"]["code"] == list(usage.code)
    assert "What runs where" not in html(replace(run, delivery=Delivery((replace(wheels[0], usage=WheelUsage()),))))


def test_the_cpu_implementation_of_a_kernel_has_no_speed_up() -> None:
    made = results()
    sides = tuple(replace(side, provider="CPUExecutionProvider") for side in made.sides)
    kernels = replace(made, kind="kernels", sides=(sides[0], replace(sides[1], label="onnxruntime")), cases=tuple(
        replace(case, series=(case.series[0], replace(case.series[1], side="onnxruntime"))) for case in made.cases))  # fmt: skip
    assert kernels.reference_sides == {"candidate"} and not made.reference_sides
    for text in (html(of_results(kernels, None)), markdown(of_results(kernels, None))):
        assert "speed-up over" not in text and "candidate speed-up" not in text
        assert "the kernels ran on the CPU" in text
    assert "speed-up over" in html(of_results(made, None))


def opened() -> Verdict:
    return Verdict((GateVerdict("g", "c", GateOutcome.PASS, "fast"),))


def test_the_marks_of_a_pair_plot_are_explained_where_there_is_one() -> None:
    legend = "is one pair of samples"
    both = results()
    alone = replace(both, cases=tuple(replace(case, series=case.series[:1]) for case in both.cases))
    assert legend in html(of_results(both, None)) and legend not in html(of_results(alone, None))


def test_figures_are_plain_numbers_and_no_change_is_called_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    even = FigureChange("c", "throughput", "runs/s", 22710.0, 22710.4, 0.00002)
    bench.draw_changes((even, FigureChange("c", "latency", "ms", 1.0, 1.05, -0.05)), "a", "b")
    told = capsys.readouterr().out
    assert told.count("22,710 runs/s") == 2 and "same" in told and "5.0% worse" in told
    fast = replace(results(), cases=tuple(replace(case, items=1_000_000) for case in results().cases))
    bench.draw_benchmarks(fast)
    pages = (html(of_results(fast, None)), markdown(of_results(fast, None), 1_000_000), capsys.readouterr().out)
    assert not [page for page in pages if "e+0" in page]


def test_markdown_is_inert_and_keeps_its_limit() -> None:
    text = markdown(whole_run(), 1_000_000)
    assert (
        "<script" not in text and "\x1b" not in text and "](" not in text and "@all" not in text and "\n::" not in text
    )
    columns = {line.count("|") for line in text.splitlines() if line.startswith("| SB") or line.startswith("| error")}
    assert columns == {6}
    for limit in (200, 900, 1_500):
        cut = markdown(whole_run(), limit)
        assert len(cut.encode()) <= limit and cut.endswith("see the HTML report._\n")


@settings(max_examples=100)
@given(st.text())
def test_no_text_is_active_in_markdown(text: str) -> None:
    made = escape_markdown(text)
    assert "\n" not in made and not re.search(r"[<>|`\[\]@*]", made) and all(c.isprintable() for c in made)


def _holed(why: str, case: str = "net/b1/float32") -> Benchmarks:
    """The results with one side of a case that did not run."""
    whole = results()
    cases = [
        replace(c, series=(c.series[0], replace(c.series[1], problem=why, seconds=()))) if c.name == case else c
        for c in whole.cases
    ]
    return replace(whole, cases=tuple(cases))


@pytest.mark.parametrize("why", ["the session was not created", ""])
def test_a_measurement_with_a_hole_is_red_everywhere(why: str) -> None:
    run = of_results(_holed(why), None)
    says = "Not measured: net/b1/float32 did not run on the side baseline: " + (why or "no sample was kept")
    assert headline(run) == (says, "bad")
    assert f'class="headline bad">{says}' in html(run) and "❌ **Not measured" in markdown(run)
    (suite,) = ElementTree.fromstring(render_run(run, "junit", 0).partition("\n")[2])
    assert (suite.get("name"), suite.get("tests"), suite.get("failures")) == ("benchmarks", "6", "1")
    assert headline(of_results(replace(results(), cases=()), None)) == ("Nothing was measured", "bad")


def test_a_hole_is_worse_than_an_undecided_gate_and_may_be_waived() -> None:
    (gate,) = verdict().gates
    undecided = Verdict((replace(gate, outcome=GateOutcome.INCONCLUSIVE),))
    assert headline(of_results(_holed("it crashed"), undecided))[0].startswith("Not measured")
    assert headline(of_results(_holed("it crashed"), verdict()))[0].startswith("0 of 1 gate passed, 1 failed: 7 %")
    run = of_results(_holed("it crashed"), verdict("known"))
    assert headline(run) == ("0 of 1 gate passed, 1 waived", "good")
    benchmarks = ElementTree.fromstring(render_run(run, "junit", 0).partition("\n")[2])[0]
    assert (benchmarks.get("failures"), benchmarks.get("skipped")) == ("0", "1")
    other = of_results(_holed("it crashed", "net/b4/float32"), verdict("known"))
    assert headline(other)[1] == "bad"


def test_junit_is_well_formed_and_counts() -> None:
    root = ElementTree.fromstring(render_run(whole_run(), "junit", 0).partition("\n")[2])
    suites = {s.get("name", "")[:5]: s for s in root}
    assert suites["gates"].get("failures") == "1" and suites["steps"].get("failures") == "1"
    waived = ElementTree.fromstring(render_run(of_results(results(), verdict("known")), "junit", 0).partition("\n")[2])
    assert {s.get("name"): s.get("skipped") for s in waived} == {"benchmarks": "0", "gates": "1"}


def test_json_is_strict_and_versioned() -> None:
    found = json.loads(render_run(whole_run(), "json", 0), parse_constant=lambda name: pytest.fail(name))
    assert found["schema"] == "stackbuild.run/1" and found["benchmarks"]["schema"] == "stackbuild.benchmarks/2"
    with pytest.raises(UsageError, match="no format 'pdf'"):
        render_run(whole_run(), "pdf", 0)


@given(st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=60), st.floats(0.2, 5), st.floats(0.01, 100))
def test_pair_marks_lie_on_the_paper(seconds: list[float], factor: float, limit: float) -> None:
    ours, theirs = Series("candidate", tuple(seconds)), Series("baseline", tuple(s * factor for s in seconds))
    case = Case("c", "m", "float32", {}, 1, 1, "run", 17, "", (ours, theirs))
    gate = GateVerdict("g", "c", GateOutcome.PASS, "", limit=limit, unit="× time")
    plot = pair_plot(case, "candidate", "baseline", gate)
    assert plot is not None and plot.limit is not None
    assert plot.low <= plot.median <= plot.high
    for x in (plot.low, plot.high, plot.one, plot.limit, *(t.at for t in plot.ticks), *(x for x, _ in plot.dots)):
        assert 0 <= x <= WIDTH
    assert all(0 <= y <= plot.height for _, y in plot.dots)


def test_curves_rise_with_throughput_and_lie_on_the_paper() -> None:
    (plot,) = curve_plots(results())
    assert [curve.side for curve in plot.curves] == ["candidate", "baseline"]
    first = plot.curves[0].points
    assert [batch for _, _, batch in first] == [1, 4, 16]
    assert first[0][0] < first[2][0] and first[0][1] > first[2][1]  # more latency to the right, more throughput up
    assert all(0 <= x <= WIDTH and 0 <= y <= plot.height for x, y, _ in first)


def test_a_timeline_of_a_thousand_steps_keeps_the_longest_and_what_failed() -> None:
    spans = [TimeSpan(f"s{n}", n, n / 10, "run") for n in range(1000)] + [TimeSpan("bad", 3, 0, "failed")]
    found = timeline(spans, 1100)
    assert found is not None and len(found.bars) == 60 and found.left_out == 1000 - 60
    assert {"bad", "s999"} <= {bar.span.name for bar in found.bars}
    assert all(bar.x >= 0 and bar.x + bar.width <= WIDTH for bar in found.bars)
    assert timeline([TimeSpan("x", 0, 0, "cached")], 1) is None


def test_no_label_of_a_timeline_is_cut_at_its_edge() -> None:
    """A step that begins past the middle, with its cache's figures: the label ran out of the picture."""
    long = TimeSpan("onnxruntime-wheel.cp312", 55, 3661, "run", hits=120, misses=880)
    found = timeline([TimeSpan("a", 0, 50, "run"), long, TimeSpan("b", 59, 1, "run"), TimeSpan("x" * 80, 30, 1, "failed")], 60)
    assert found is not None
    for bar in found.bars:
        room = LETTER * len(bar.label)
        low, high = (bar.text - room, bar.text) if bar.ends else (bar.text, bar.text + room)
        assert high <= WIDTH and (low >= 0 or room > WIDTH), bar
    half = timeline([TimeSpan("kernels", 60, 40, "run", hits=1, misses=24), TimeSpan("base", 0, 60, "run")], 100)
    assert half is not None and half.bars[1].label == "kernels · 40 s · ccache 4 % of 25" and half.bars[1].ends


def test_a_verdict_on_another_measurement_is_refused(tmp_path: Path) -> None:
    ours, other, judged = (tmp_path / name for name in ("r.json", "o.json", "v.json"))
    write(results(), ours)
    write(replace(results(), taken="2026-11-21T09:00:00Z"), other)
    write(replace(verdict(), of=identity(results())), judged)
    run = find_run(str(ours), judged)
    assert run.verdict is not None and run.verdict.gates == verdict().gates
    with pytest.raises(UsageError, match="on another measurement"):
        find_run(str(other), judged)
    write(verdict(), judged)
    with pytest.raises(UsageError, match="does not say what it is on"):
        find_run(str(ours), judged)


@pytest.mark.parametrize("odd", ["\x1b", "\0", "\u202e", "\x9b", "\x07"])
def test_no_document_holds_a_control_character(odd: str) -> None:
    run = of_results(replace(results(), suite=f"a{odd}b", notes=(f"a{odd}b",)), None)
    page = html(run)
    escaped = odd.encode("unicode_escape").decode()
    assert odd not in page and f"a{escaped}b" in page
    assert odd not in markdown(run, 100_000)


def test_what_is_drawn_cannot_act_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    odd = "\x1b]0;owned\x07\x9b2J\u202e\nPASS  all gates are open [bold]x[/bold]"
    whole = results()
    series = (replace(whole.cases[0].series[0], ops=(OpTime(odd, odd, 1.0, 1),),
                      kernels=(KernelCounters(odd, 1, 1.0, {odd: 1.0}),)),
              replace(whole.cases[0].series[1], problem=odd))  # fmt: skip
    hostile = replace(
        whole, cases=(replace(whole.cases[0], name=odd, series=series),), timer=odd, notes=(odd,),
        inputs=InputComparison("a", "b", (ChangedInput(odd, odd, odd),)),
    )  # fmt: skip
    (gate,) = verdict(odd).gates
    bench.draw_benchmarks(hostile)
    bench.draw_profile(hostile)
    bench.draw_kernels(hostile)
    bench.draw_verdict(Verdict((replace(gate, says=odd), replace(gate, says=odd, waived="")), 1.0, (odd,)))
    bench.draw_inputs(hostile.inputs)
    bench.draw_changes(changes(hostile, hostile), odd, odd)
    bench.draw_cases([(odd, odd, 1)])
    told = capsys.readouterr()
    shown = told.out + told.err
    assert "owned" in shown and "[bold]" in shown
    assert all(c.isprintable() or c == "\n" for c in shown)
    assert not any(line.startswith("PASS  all") for line in shown.splitlines())
