"""`bench`: kernels, models, batches, compare, history."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from stackbuild.cli.app import JsonOption, argument, group, option
from stackbuild.cli.completion import targets
from stackbuild.cli.shared_options import SessionArguments, TextsOption, sharing
from stackbuild.core.errors import GateClosed, UsageError

if TYPE_CHECKING:
    from stackbuild.bench.measure import Measurement
    from stackbuild.model.results import Benchmarks

app = group("bench", "Measure kernels and models, compare and keep results.")

History = Annotated[
    Path | None, option("--history", metavar="FILE", help="History to append to or read; default: yours.")
]
ResultOption = Annotated[Path, option("--out", "-o", help="The results file to write.")]


@dataclass(frozen=True)
class MeasureArguments(SessionArguments):
    """How anything is measured, and where the results go."""

    rounds: Annotated[
        int | None, option("--rounds", min=1, help="Rounds of fresh processes; default: the suite's.")
    ] = None
    cache: Annotated[Path | None, option("--cache", help="Where models and unpacked wheels are kept.")] = None
    history: History = None
    no_history: Annotated[bool, option("--no-history", help="Do not append to the history.")] = False
    json: JsonOption = False


@dataclass(frozen=True)
class ProfileArguments(MeasureArguments):
    """With a profile too."""

    profile: Annotated[
        bool, option("--profile", help="Also sum one profiled run by operator and provider, and GPU counters.")
    ] = False


@app.command()
@sharing(ProfileArguments)
def kernels(
    wheel: Annotated[Path, argument(metavar="WHEEL", help="A custom-op wheel that stackbuild built.")],
    suite: Annotated[str, option("--suite", help="A suite's name or file.")] = "kernels-quick",
    baseline: Annotated[Path | None, option("--baseline", help="An older wheel to measure beside it.")] = None,
    out: ResultOption = Path("bench-kernels.json"),
    emulated_target: Annotated[
        str | None,
        option(
            "--emulated",
            metavar="GFX",
            help="Count what the kernels do on this target, in software, instead of measuring times.",
            autocompletion=targets,
        ),
    ] = None,
    emulate_all: Annotated[
        bool, option("--emulate-all", help="With --emulated: in every case, not in a sample.")
    ] = False,
    budgets: Annotated[
        Path | None,
        option(
            "--budgets",
            metavar="FILE",
            help="With --emulated: budgets that the counts must keep. Exit 6 where they do not.",
        ),
    ] = None,
    write_budgets: Annotated[
        Path | None, option("--write-budgets", metavar="FILE", help="With --emulated: write the counts as budgets.")
    ] = None,
    arguments: ProfileArguments = ProfileArguments(),
) -> None:
    """Measure a wheel's operators against ONNX Runtime's own.

    The wheel is one of custom ops. Sides are paired and interleaved, in rounds of fresh processes. With --emulated nothing is timed:
    the kernels run on the CPU in software, and instructions, bytes and bank conflicts are counted (docs/emulator.md). The wheel may
    then be a plugin execution provider too.

    Example: stackbuild bench kernels dist/simple/*/stackbuild_kernels-*.whl --emulated gfx1100 --budgets kernels/tools/emulated-budgets.toml
    """
    if emulated_target is not None:
        _count(wheel, emulated_target, emulate_all, BudgetFiles(budgets, write_budgets), arguments.json)
        return
    if emulate_all or budgets or write_budgets:
        raise UsageError(
            "--emulate-all, --budgets and --write-budgets are about --emulated", next="add --emulated gfx1100"
        )
    from stackbuild.bench.environment import default_cache
    from stackbuild.bench.kernels import KernelBench, measure_kernels
    from stackbuild.bench.providers import clock_name, provider_name, provider_options
    from stackbuild.recipe.suites import load_suite
    from stackbuild.views.bench import progress

    full = provider_name(arguments.provider)
    request = KernelBench(
        wheel, baseline, full, provider_options(full, arguments.options or ()), arguments.python, arguments.cache or default_cache(),
        arguments.threads, arguments.profile, arguments.rounds, arguments.seed, clock_name(arguments.clock),
    )  # fmt: skip
    _require_kept(out, arguments)
    with progress() as tick:
        measurement = measure_kernels(request, load_suite(suite), suite, (), tick)
    _finish(measurement, out, arguments)


@dataclass(frozen=True)
class BudgetFiles:
    """The file of budgets to check counts against, and the one to write them to."""

    read: Path | None
    write: Path | None


def _count(wheel: Path, target: str, whole: bool, files: BudgetFiles, json: bool) -> None:
    """Count what a wheel's kernels do on an emulated target, and check it against budgets."""
    from stackbuild.core.cancel import Stopper
    from stackbuild.emulator.budget_file import read_budgets, write_budgets
    from stackbuild.emulator.counter_model import model, over_budget
    from stackbuild.store.store import EMULATOR, default_root
    from stackbuild.tables.gpu_limits import limits_of
    from stackbuild.verification.emulated_counters import CounterRequest, count
    from stackbuild.views.console import err, print_json
    from stackbuild.views.emulation import draw_counters, draw_over_budget

    limits, stopper = limits_of(target, "--emulated"), Stopper()
    budgets = read_budgets(files.read, target) if files.read else None
    with stopper.on_signals(), err().status(f"running the kernels on an emulated {target} …"):
        rows = count(CounterRequest(wheel, target, default_root() / EMULATOR, whole), stopper.check)
    excess = over_budget(rows, budgets) if budgets is not None else ()
    if json:
        kernels = [
            {"counters": row, "model": (kernel_model := model(row, limits)), "binds": kernel_model.binding}
            for row in rows
        ]
        print_json(
            {"target": target, "limits": limits, "kernels": kernels, "over_budget": excess},
            "stackbuild.emulated-counters/1",
        )
    else:
        draw_counters(rows, limits)
        if files.read:
            draw_over_budget(excess, str(files.read))
    if files.write:
        write_budgets(files.write, target, rows)
    if excess:
        raise GateClosed(
            f"{len(excess)} over budget", where=str(files.read), next="--write-budgets, where the growth is meant"
        )


@app.command()
@sharing(ProfileArguments)
def models(
    model: Annotated[
        TextsOption,
        option(
            "--model",
            "-m",
            help="resnet50, bert-base, yolov5s, chess, gpt2-decode, vit-b16, whisper-tiny-encoder, whisper-tiny-decoder or an .onnx file.",
        ),
    ] = None,
    suite: Annotated[str, option("--suite", help="A suite's name or file; --model replaces it.")] = "models-quick",
    batch: Annotated[
        list[int] | None, option("--batch", "-b", min=1, help="With --model: a batch; may be repeated.")
    ] = None,
    dtype: Annotated[TextsOption, option("--dtype", help="With --model: float32, float16, int8.")] = None,
    size: Annotated[TextsOption, option("--size", metavar="NAME=N", help="With --model: such as sequence=384.")] = None,
    optimised: Annotated[
        bool, option("--optimised", help="With --model: also after ONNX Runtime's transformer optimiser.")
    ] = False,
    shape: Annotated[
        TextsOption, option("--shape", metavar="INPUT=AxB", help="With a file: a shape for an input.")
    ] = None,
    wheel: Annotated[
        Path | None, option("--wheel", "-w", metavar="WHEEL", help="The wheel to measure; default: what is installed.")
    ] = None,
    against: Annotated[
        TextsOption, option("--against", help="Another provider to measure beside it; may be repeated.")
    ] = None,
    devices: Annotated[str, option("--devices", metavar="0,1", help="Also split the batch over these devices.")] = "",
    plugin: Annotated[
        str, option("--plugin", metavar="LIBRARY", help="Shared library of a plugin EP that --provider names.")
    ] = "",
    copies: Annotated[bool, option("--copies", help="Count copies between host and device too.")] = False,
    out: ResultOption = Path("bench-models.json"),
    arguments: ProfileArguments = ProfileArguments(),
) -> None:
    """Measure whole models, on one provider or against another.

    Models are the tool's own architectures, or an .onnx file with named shapes.

    Example: stackbuild bench models --model resnet50 --batch 1 --batch 8 --provider migraphx --against cpu
    """
    from stackbuild.bench.environment import default_cache
    from stackbuild.bench.models import ModelBench, measure_models
    from stackbuild.bench.providers import clock_name, provider_name, provider_options
    from stackbuild.bench.selection import parse_devices, parse_providers, select_suite
    from stackbuild.views.bench import progress

    full = provider_name(arguments.provider)
    request = ModelBench(
        full, provider_options(full, arguments.options or (), bool(plugin)), parse_providers(against or ()),
        parse_devices(devices), wheel, None, arguments.python, plugin, arguments.cache or default_cache(),
        arguments.threads, copies, arguments.profile, arguments.rounds, arguments.seed, clock_name(arguments.clock),
    )  # fmt: skip
    suite_choice, name, users = select_suite(
        suite, model or (), batch or (), dtype or (), size or (), optimised, shape or ()
    )
    _require_kept(out, arguments)
    with progress() as tick:
        measurement = measure_models(request, suite_choice, name, (), tick, users)
    _finish(measurement, out, arguments)


@app.command()
@sharing(MeasureArguments)
def batches(
    model: Annotated[str, argument(help="One of the tool's models.")],
    sizes: Annotated[str, option("--sizes", help="Batches to measure.")] = "1,2,4,8,16,32",
    within: Annotated[
        float, option("--within", min=0, max=99, help="How many percent below the best are good enough.")
    ] = 5.0,
    mix: Annotated[
        str, option("--mix", metavar="BATCH:WEIGHT,…", help="Real batches and how often each comes, or a file of them.")
    ] = "",
    dtype: Annotated[str, option("--dtype", help="float32, float16 or int8.")] = "float32",
    wheel: Annotated[
        Path | None, option("--wheel", "-w", metavar="WHEEL", help="The wheel to measure; default: what is installed.")
    ] = None,
    out: ResultOption = Path("bench-batches.json"),
    arguments: MeasureArguments = MeasureArguments(),
) -> None:
    """Advise on a batch size, and on which sizes to compile.

    It is the smallest within some percent of the best throughput.

    Example: stackbuild bench batches chess --sizes 1,4,8,16,32,64 --mix 1:10,8:40,16:50
    """
    from stackbuild.bench.environment import default_cache
    from stackbuild.bench.models import ModelBench
    from stackbuild.bench.providers import clock_name, provider_name, provider_options
    from stackbuild.bench.selection import batch_curve
    from stackbuild.views.bench import draw_advice, progress
    from stackbuild.views.console import print_json

    full = provider_name(arguments.provider)
    request = ModelBench(
        full, provider_options(full, arguments.options or ()), wheel=wheel, python=arguments.python, threads=arguments.threads,
        cache=arguments.cache or default_cache(), rounds=arguments.rounds or 5, seed=arguments.seed, clock=clock_name(arguments.clock),
    )  # fmt: skip
    _require_kept(out, arguments)
    with progress() as tick:
        benchmarks, advice = batch_curve(request, model, dtype, sizes, within / 100, mix, tick)
    _keep(benchmarks, out, arguments)
    print_json(advice, "stackbuild.batches/1") if arguments.json else draw_advice(advice)


@app.command()
def compare(
    before: Annotated[Path, argument(help="Results of the older release.")],
    after: Annotated[Path, argument(help="Results of the newer release.")],
    json: JsonOption = False,
) -> None:
    """Print how two results files of one machine differ.

    It tells; `stackbuild gate` judges.

    Example: stackbuild bench compare v1.json v2.json
    """
    from stackbuild.bench.compare import changes, require_comparable
    from stackbuild.bench.results_file import read_benchmarks
    from stackbuild.views.bench import draw_changes
    from stackbuild.views.console import print_json

    old, new = read_benchmarks(before), read_benchmarks(after)
    require_comparable(old, new)
    figure_changes = changes(old, new)
    print_json(figure_changes, "stackbuild.changes/1") if json else draw_changes(
        figure_changes, before.stem, after.stem
    )


@app.command()
def history(
    case: Annotated[str, argument(help="A case's name; without one the cases are listed.")] = "",
    metric: Annotated[
        str, option("--metric", help="latency, throughput, create, first, host memory, device memory.")
    ] = "latency",
    side: Annotated[str, option("--side", help="The side whose series it is.")] = "candidate",
    provider: Annotated[str, option("--provider", "-p", help="Its provider; default: that of the latest result.")] = "",
    history: History = None,
    csv: Annotated[bool, option("--csv", help="Everything as CSV on stdout.")] = False,
    json: JsonOption = False,
) -> None:
    """Plot a case's history and mark where it changed.

    Example: stackbuild bench history resnet50/b1/float32
    """
    from stackbuild.bench.history import SeriesQuery, cases, default_file, load_series, to_csv
    from stackbuild.bench.providers import provider_name
    from stackbuild.bench.trend import trend
    from stackbuild.views.bench import draw_cases, draw_history
    from stackbuild.views.console import print_json, print_text

    file = history or default_file()
    if csv:
        print_text(to_csv(file))
    elif not case:
        print_json(cases(file), "stackbuild.history-cases/1") if json else draw_cases(cases(file))
    else:
        query = SeriesQuery(case, metric, side, provider=provider_name(provider) if provider else "")
        report = trend(load_series(file, query))
        body = {"series": report.figures, "turns": report.turns}
        print_json(body, "stackbuild.history/1") if json else draw_history(report)


def _require_kept(out: Path, arguments: MeasureArguments) -> None:
    """Raise a Stop where the results file or the history cannot be written: before anything is measured, not after."""
    from stackbuild.bench.history import default_file, require_usable
    from stackbuild.bench.results_file import require_writable

    require_writable(out)
    if not arguments.no_history:
        require_usable(arguments.history or default_file())


def _keep(benchmarks: Benchmarks, out: Path, arguments: MeasureArguments) -> None:
    """Write the results file and append to the history."""
    from stackbuild.bench.history import append, default_file
    from stackbuild.bench.results_file import write

    write(benchmarks, out)
    if not arguments.no_history:
        append(arguments.history or default_file(), benchmarks)


def _finish(measurement: Measurement, out: Path, arguments: MeasureArguments) -> None:
    """Keep the results and draw them. Raises StepFailed where a case did not run."""
    from stackbuild.bench.measure import require_complete
    from stackbuild.bench.results_file import document
    from stackbuild.model.results import SCHEMA
    from stackbuild.views.bench import draw_benchmarks, draw_kernels, draw_profile
    from stackbuild.views.console import err, print_json

    _keep(measurement.benchmarks, out, arguments)
    if arguments.json:
        print_json(document(measurement.benchmarks), SCHEMA)
    else:
        draw_benchmarks(measurement.benchmarks)
        draw_profile(measurement.benchmarks)
        draw_kernels(measurement.benchmarks)
    err().print(f"results in {out}", markup=False)
    require_complete(measurement.benchmarks)
