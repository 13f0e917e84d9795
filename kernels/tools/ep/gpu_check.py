"""Checks the plugin execution provider on a GPU, and times it. Exits non-zero on any mismatch.

    kernels/ep/gpu-check                          # build for this machine's GPU, check, time
    kernels/ep/gpu-check --library FILE           # a library built before (libonnxruntime_ep_rockernels.so)
    kernels/ep/gpu-check --quick                  # the checks without the times
    kernels/ep/gpu-check --sanitize               # the checks under compute-sanitizer: memcheck and racecheck, at once
    kernels/ep/gpu-check --cpu-test-library FILE  # the checks on the CPU test platform, without a GPU
    kernels/ep/gpu-check --coverage MODEL.onnx    # no checks: which nodes of a model the provider takes, and why not the others

Needs onnxruntime >= 1.24, onnx and numpy; torch, torchvision and transformers for the comparison, which is left out where one of them is
missing. Building needs cmake and hipcc or nvcc, and ONNX Runtime's headers of 1.27 or newer (--headers FOLDER).

Exit status: 0 all checks hold, 1 one does not, 2 no GPU, no compiler, a package missing or wrong arguments, 129, 130 and 143 ended by SIGHUP,
SIGINT and SIGTERM.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import sys
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

from tools import processes, provider
from tools.processes import Children, NoGpu, Unusable, run_interruptibly

KERNELS = Path(__file__).resolve().parents[2]

CHECKS = ("nodes", "cases", "types", "graphs", "edges", "models", "threads", "devices")
TIMES = "times"
MODEL_SIZES = {
    "resnet50": ["1", "3"], "bert-base": ["2x16", "1x37"], "yolov5s": ["1", "2"], "vit-b16": ["1", "3"],
    "whisper-tiny-encoder": ["1", "2"], "whisper-tiny-decoder": ["2x7", "1x32"],
}  # fmt: skip
"""The models that are checked, each at two sizes."""
RUN_ON_CPU = ("resnet50", "bert-base")
"""Those that the CPU test platform runs; of the others it shows where the nodes are placed."""
MODEL_TOLERANCE = {"float32": 1e-4, "float16": 2e-2}


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=Path, help="libonnxruntime_ep_rockernels.so with its device library beside it")
    parser.add_argument("--cpu-test-library", type=Path, help="librockernels_ep_cpu_test.so: the same checks without a GPU")
    parser.add_argument("--headers", type=Path, help="folder with onnxruntime_c_api.h, to build")
    parser.add_argument("--platform", choices=("amd", "nvidia"), help="build for it (amd where there is a hipconfig, or else nvidia)")
    parser.add_argument("--cases", type=int, default=30, help="random cases an operator and element type (30)")
    parser.add_argument("--quick", action="store_true", help="check only")
    parser.add_argument("--only", action="append", choices=(*CHECKS, TIMES), help="of the checks and the times only this (repeatable)")
    parser.add_argument("--coverage", action="append", type=Path, metavar="MODEL", help="say which nodes of a model are taken, and why not the others; no checks")
    parser.add_argument("--sanitize", action="store_true", help="run --quick under compute-sanitizer instead")
    parser.add_argument("--fewer", action="store_true", help="models fused and at one size only")
    parser.add_argument("--seconds", type=float, default=400, help="with --sanitize: give up after this long (400)")
    parser.add_argument("--models", default="", help="comma-separated model:dtype:size to time, e.g. resnet50:float16:8")
    parser.add_argument("--compiled", dest="compile_form", nargs="?", const="max-autotune", default="", choices=("max-autotune", "plain"), help="time torch.compile too, by max-autotune, or plain: a CUDA graph without its templates of products (minutes a model)")
    parser.add_argument("--json", type=Path, help="write the results here")
    return parser.parse_args()


NOT_ON_CPU = (TIMES, "threads", "devices")
"""What the CPU test platform has none of."""


def refusal(args: argparse.Namespace) -> str:
    """Why nothing, or not all that is asked for, would be checked or timed; "" where it would."""
    if args.cases < 1:
        return f"--cases {args.cases}: nothing would be checked; next: 1 or more"
    if args.cpu_test_library is not None and (left_out := [name for name in args.only or () if name in NOT_ON_CPU]):
        return f"--only {left_out[0]}: the CPU test platform cannot run it; next: leave it out, or name a GPU's --library"
    for item in args.models.split(",") if args.models else ():
        name, _, rest = item.partition(":")
        dtype, _, size = rest.partition(":")
        if name not in MODEL_SIZES:
            return f"--models {item}: no model {name!r}; next: one of {', '.join(MODEL_SIZES)}"
        if dtype not in MODEL_TOLERANCE:
            return f"--models {item}: no type {dtype!r}; next: one of {', '.join(MODEL_TOLERANCE)}"
        example = MODEL_SIZES[name][-1]
        numbers = size.split("x")
        if len(numbers) != len(example.split("x")) or not all(n.isascii() and n.isdecimal() and int(n) > 0 for n in numbers):
            return f"--models {item}: no size {size!r}; next: such as {name}:{dtype}:{example}"
    return ""


def make_room(path: Path) -> None:
    """The folder of `path`. Raises Unusable where no file can be written there."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("a").close()
    except OSError as error:
        raise Unusable(f"--json {path}: {error.strerror}; next: name a file that can be written") from error


def build(args: argparse.Namespace, children: Children) -> Path:
    """Build for the platform of this machine, or the one asked for, and return the library."""
    platform = args.platform or processes.platform()
    folder = KERNELS.parent / "build" / f"kernels-ep-{platform}"
    options = [f"-DSBK_PLATFORM={platform}", "-DSBK_EP=ON", "-DSBK_CUSTOM_OPS=OFF", *processes.device_options(platform)]
    if args.headers is not None:
        options.append(f"-DONNXRUNTIME_INCLUDE_DIR={args.headers.resolve()}")
    if shutil.which("cmake") is None:
        raise Unusable("cmake is not in PATH: nothing to build with; --library names a built library")
    for command in (["cmake", "-S", str(KERNELS), "-B", str(folder), *options], ["cmake", "--build", str(folder), "--parallel"]):
        run = children.run("build", command, math.inf)
        if run.status:
            raise Unusable(f"{run.output()[-8000:]}\ngpu-check: {' '.join(command)}: {run.status_text()}")
    return folder / "ep" / "libonnxruntime_ep_rockernels.so"


def check_nodes(device: object) -> tuple[dict[str, int], int]:
    """ONNX's node tests; the second value counts failures."""
    from tools.ep import node_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # onnx's own generators overflow on purpose
        outcomes = node_tests.run(device)
    for outcome in outcomes:
        if outcome.state == "failed":
            print(f"  FAILED {outcome.name}: {outcome.detail[:200]}")
    states = Counter(o.state for o in outcomes)
    print(f"ONNX node tests: {states['passed']} passed, {states['failed']} failed, {states['elsewhere']} not wholly ours, "
          f"{states['skipped']} that ONNX Runtime itself does not load")
    return dict(states), states["failed"] + (states["passed"] == 0)


def check_cases(device: object, count: int) -> tuple[dict[str, dict[str, float]], int]:
    """Random shapes against float64: the worst relative error of each operator and type, and the number beyond tolerance."""
    from tools.ep import cases, session

    worst: dict[str, dict[str, float]] = {}
    bad = total = 0
    for name in cases.MAKERS:
        for case in cases.cases(name, count):
            total += 1
            try:
                open_case = session.open_session(case.model(), device, optimize=False)
                elsewhere = session.nodes_elsewhere(open_case, device.ep_name)
                error = max(session.relative_error(a, b) for a, b in zip(open_case.run(None, case.feeds()), case.reference, strict=True))
                detail = f"on the CPU: {dict(elsewhere)}" if elsewhere else ""
            except Exception as failure:
                error, detail = float("inf"), str(failure)[:200]
            row = worst.setdefault(name, {})
            row[case.dtype] = max(row.get(case.dtype, 0.0), error)
            if detail or not error <= cases.TOLERANCE[case.dtype]:
                bad += 1
                shapes = [None if x is None else x.shape for x in case.inputs]
                print(f"  FAILED {name} {case.name} {case.dtype} {shapes} {case.attributes}: error {error:.2e} {detail}")
    print(f"random cases: {total}, {bad} beyond tolerance")
    return worst, bad


def check_types(device: object, library: Path, fewer: bool) -> int:
    """Every registered kernel in every combination of element types."""
    from tools.ep import element_types

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the reference's own divisions
        results = element_types.run(device, library, fewer)
    wrong = [r for r in results if r.state not in ("answered", "unclaimed")]
    unclaimed_count = sum(r.state == "unclaimed" for r in results)
    print(f"element types: {len(results)} combinations, {unclaimed_count} not claimed, {len(wrong)} wrong" + "".join(f"\n  FAILED {r.name}: {r.state}" for r in wrong))
    if 10 * unclaimed_count >= len(results):
        print("  FAILED: so few are claimed that the check proves nothing")
        return len(wrong) + 1
    return len(wrong)


def check_edges(device: object) -> int:
    """What does not fit, or only just does: as the CPU provider answers or refuses it, or ONNX where that goes astray."""
    from tools.ep import edges

    results = edges.run(device)
    wrong = [r for r in results if r.wrong]
    for r in wrong:
        print(f"  FAILED {r.name}: {r.wrong}")
    astray = Counter(r.cpu for r in results if r.cpu)
    print(f"edges: {len(results)}, {len(wrong)} wrong; {astray.total()} of them by ONNX's text, where the CPU provider goes or went astray (ONNX Runtime "
          f"{edges.ort.__version__} here):" + "".join(f"\n  {n} × {what}" for what, n in sorted(astray.items())))
    return len(wrong)


def check_graphs(device: object) -> int:
    """Graphs that fusion and layout conversion change, with each of them on and off."""
    from tools.ep import graphs, linears

    results = graphs.run(device) + linears.run(device)
    wrong = [r for r in results if r[2]]
    for name, error, detail in wrong:
        print(f"  FAILED {name}: error {error:.2e} {detail}")
    print(f"graphs for fusion and layout: {len(results)}, {len(wrong)} wrong, worst error {max(r[1] for r in results):.1e}")
    return len(wrong)


def check_models(device: object, cpu: bool, fewer: bool) -> int:
    """The models, fused and plain, two sizes one after the other in one session; no compute node may be elsewhere."""
    from tools.ep import bench, models, session

    bad = 0
    for name, texts in MODEL_SIZES.items():
        for dtype in ["float32", "float16"][: 1 if cpu else 2]:
            for fuse in ("1",) if fewer else ("1", "0"):
                open_case = session.open_session(models.model(name, dtype), device, options={"fuse": fuse})
                elsewhere = session.compute_nodes_elsewhere(open_case, device.ep_name)
                if cpu and name not in RUN_ON_CPU:
                    bad += bool(elsewhere)
                    print(f"{'  FAILED' if elsewhere else ''} {name} {dtype} not run, compute nodes elsewhere: {dict(elsewhere) or 'none'}")
                    continue
                for size in [models.sizes_of(name, text) for text in texts[: 1 if cpu or fewer else 2]]:
                    outputs = dict(zip([o.name for o in open_case.get_outputs()], open_case.run(None, models.feeds(name, dtype, **size)), strict=True))
                    reference = bench.cpu_result(name, dtype, **size)
                    error = max(session.relative_error(outputs[k], reference[k]) for k in reference)
                    wrong = bool(elsewhere) or not error <= MODEL_TOLERANCE[dtype]
                    bad += wrong
                    print(f"{'  FAILED' if wrong else ''} {name} {dtype} {size} {'fused' if fuse == '1' else 'plain'}: error {error:.1e}, "
                          f"compute nodes elsewhere: {dict(elsewhere) or 'none'}")
    return bad


def check_steps(device: object, cpu: bool) -> int:
    """Both models with their extents known: no more steps than with symbols."""
    from tools.ep import steps

    bad = 0
    for name, symbols, extents, wrong in steps.run(device, ["float32"] if cpu else ["float32", "float16"]):
        bad += wrong
        print(f"{'  FAILED' if wrong else ''} {name}: {symbols[0]} groups and {symbols[1]} nodes alone; {extents[0]} and {extents[1]} where extents are known")
    return bad


def check_two_at_once(device: object) -> int:
    """Two sessions and two threads a session, each with inputs of its own: every answer is that input's."""
    import threading

    import numpy as np

    from tools.ep import models, session

    open_case = [session.open_session(models.model("bert-base", "float32"), device) for _ in range(2)]
    feeds = [models.feeds("bert-base", "float32", seed=i, batch=1 + i, sequence=24) for i in range(4)]
    reference = [open_case[0].run(None, f) for f in feeds]
    wrong: list[str] = []

    def work(i: int) -> None:
        try:
            for _ in range(10):
                for a, b in zip(open_case[i % 2].run(None, feeds[i]), reference[i], strict=True):
                    if not np.allclose(a, b, rtol=1e-4, atol=1e-5):
                        wrong.append(f"thread {i}: differs by {abs(a - b).max()}")
        except Exception as failure:
            wrong.append(f"thread {i}: {failure}")

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"two sessions, four threads: {len(wrong)} wrong answers" + "".join(f"\n  FAILED {w}" for w in wrong[:4]))
    return len(wrong)


def check_devices(ep_devices: list[object]) -> int:
    """Sessions on each of several devices, against the first one's answers."""
    if len(ep_devices) < 2:
        print("devices: one is offered, nothing to compare it with")
        return 0
    from tools.ep import devices

    results = devices.run(ep_devices)
    wrong = [(what, why) for what, why in results if why]
    print(f"{len(ep_devices)} devices: {len(results)} checks, {len(wrong)} wrong" + "".join(f"\n  FAILED {what}: {why}" for what, why in wrong))
    return len(wrong)


DEFAULT_MODELS = (
    "resnet50:float32:1,resnet50:float32:8,resnet50:float32:16,resnet50:float32:32,resnet50:float32:64,"
    "resnet50:float16:1,resnet50:float16:8,resnet50:float16:16,resnet50:float16:32,resnet50:float16:64,"
    "bert-base:float32:1x128,bert-base:float32:1x384,bert-base:float32:1x512,bert-base:float32:8x128,bert-base:float32:8x384,"
    "bert-base:float32:8x512,bert-base:float16:1x128,bert-base:float16:1x384,bert-base:float16:1x512,bert-base:float16:8x128,"
    "bert-base:float16:8x384,bert-base:float16:8x512,"
    "yolov5s:float32:1,yolov5s:float32:8,yolov5s:float16:1,yolov5s:float16:8,vit-b16:float32:1,vit-b16:float32:8,vit-b16:float16:1,vit-b16:float16:8,"
    "whisper-tiny-encoder:float32:1,whisper-tiny-encoder:float16:1,whisper-tiny-encoder:float16:8,"
    "whisper-tiny-decoder:float32:1x32,whisper-tiny-decoder:float16:1x32,whisper-tiny-decoder:float16:8x32"
)


def device_memory_used() -> int | None:
    """Bytes in use on the device, by every process; None where torch is not installed."""
    try:
        import torch
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    free, total = torch.cuda.mem_get_info()
    return total - free


def time_one(device: object, which: str, compile_form: str) -> dict[str, object]:
    """One row of the table: the provider eager and replayed, PyTorch in each of its forms, and the CPU provider."""
    from tools.ep import bench, models, session, torch_nets

    name, dtype, text = which.split(":")
    size = models.sizes_of(name, text)
    reference = bench.cpu_result(name, dtype, **size)
    row: dict[str, object] = {"model": name, "dtype": dtype, "size": text}
    for key, graph in (("eager", False), ("graph", True)):
        before = device_memory_used()
        bound = bench.bind(device, name, dtype, graph, **size)
        row[key] = vars(bench.time_call(bound.run))
        after = device_memory_used()
        row[f"{key} bytes"] = None if before is None or after is None else after - before
        outputs = bound.results()
        row[f"{key} error"] = max(session.relative_error(outputs[k], reference[k]) for k in reference)
        del bound
    if not torch_nets.torch_lacks(name):
        times, peak = bench.torch_times(name, dtype, compile_form, **size)
        row |= {form: vars(timing) for form, timing in times.items()} | {"torch bytes": peak}
    if text in ("1", "8", "1x128", "8x128") and dtype == "float32":
        row["cpu"] = vars(bench.cpu_time(name, dtype, **size))
    return row


TORCH_FORMS = ("torch eager", "torch graph", "torch last", "torch compiled")


def times_best(row: dict[str, object]) -> str:
    """PyTorch's fastest form over the provider's replay: above 1 the provider is ahead. "" without PyTorch."""
    theirs = [row[form]["median"] for form in TORCH_FORMS if form in row and row[form]["median"] > 0]  # type: ignore[index]
    return f"{min(theirs) / row['graph']['median']:.2f}" if theirs else ""  # type: ignore[index]


def time_models(device: object, which: str, compile_form: str) -> tuple[list[dict[str, object]], int]:
    """The table, and how many rows were wrong."""
    from tools.ep import torch_nets

    rows, bad = [], 0
    for name in sorted({item.partition(":")[0] for item in which.split(",")}):
        if why := torch_nets.torch_lacks(name):
            print(f"{name} without PyTorch beside it: {why}")
    print(f"{'model':28} {'eager':>8} {'graph':>8} {'torch':>8} {'t.graph':>8} {'t.last':>8} {'t.comp.':>8} {'CPU EP':>8} {'best/ours':>9}  error")
    for item in which.split(","):
        row = time_one(device, item, compile_form)
        error = max(float(row["eager error"]), float(row["graph error"]))
        wrong = not error <= MODEL_TOLERANCE[str(row["dtype"])]
        bad += wrong
        cells = [f"{row[k]['median']:8.3f}" if k in row else " " * 8 for k in ("eager", "graph", *TORCH_FORMS, "cpu")]
        print(f"{item:28} {' '.join(cells)} {times_best(row):>9}  {error:.1e}{' FAILED' if wrong else ''}", flush=True)
        rows.append(row)
    return rows, bad


def sanitize(library: Path, cases: int, seconds: float, children: Children) -> int:
    """memcheck and racecheck over each of the checks, all at once; how many found something in our kernels or did not end."""
    program = shutil.which("compute-sanitizer")
    if program is None:
        raise Unusable("compute-sanitizer is not in PATH")
    runs = []
    for tool in ("memcheck", "racecheck"):
        for check in CHECKS[:-2] if tool == "racecheck" else CHECKS[:-1]:  # threads and devices run the models' kernels again, slowly
            command = [program, "--tool", tool, "--error-exitcode", "9", sys.executable, str(KERNELS / "ep" / "gpu-check"), "--library", str(library),
                       "--quick", "--cases", str(cases), "--only", check, "--fewer"]
            runs.append(children.start(f"{tool} {check}", command))
    bad = 0
    for run in children.as_completed(runs, time.monotonic() + seconds):
        output = run.output() + ("" if run.in_time else f"not done after {seconds:g} s")
        # racecheck does not understand how cuBLAS's Hopper kernels wait (barriers of the copy engine): only ours count.
        ours = [line for line in output.splitlines() if "Race reported" in line and ("rk::" in line or "sbk::" in line)]
        summed = "ERROR SUMMARY: 0 errors" in output if run.name.startswith("memcheck") else "RACECHECK SUMMARY" in output
        failed = run.status != 0 if run.name.startswith("memcheck") else bool(ours)
        wrong = failed or not run.in_time or not summed or "all checks hold" not in output
        bad += wrong
        summary = [line for line in output.splitlines() if "SUMMARY" in line or "not done" in line or "passed" in line or "beyond" in line]
        print(f"{run.name}: {run.status_text()}: {' | '.join(summary)}" + (f"\n{output[-2500:]}" if wrong else ""), flush=True)
    return bad


def main() -> int:
    """Run the checks asked for; 0 when all hold, 1 where one does not, 2 without a GPU or a compiler, 128 and a signal's number interrupted."""
    args = arguments()
    with Children() as children:
        return run_interruptibly("gpu-check", lambda: run_or_refuse(args, children))


def run_or_refuse(args: argparse.Namespace, children: Children) -> int:
    """The checks' status; 2 where there is nothing to check, or nothing to check it with."""
    try:
        return work(args, children)
    except (NoGpu, Unusable) as error:
        print(f"gpu-check: {error}", file=sys.stderr)
        return 2


def devices_of(library: Path) -> list[object]:
    """Those that the provider offers. Raises Unusable where it cannot be registered, or offers none."""
    try:
        import onnx  # noqa: F401
        import onnxruntime

        from tools.ep import session
    except ImportError as error:
        raise Unusable(f"{error.name} is not installed" if isinstance(error, ModuleNotFoundError) else str(error)) from error
    if not hasattr(onnxruntime, "get_ep_devices") or not hasattr(onnxruntime.InferenceSession, "get_provider_graph_assignment_info"):
        raise Unusable(f"onnxruntime {onnxruntime.__version__} cannot register a provider's library and say where nodes ran: 1.31 can")
    if why := provider.too_old():
        raise Unusable(f"{why}, the first that records where each node runs; next: install a newer onnxruntime")
    try:
        return session.register(library)
    except session.NoDevice as error:
        raise Unusable(str(error)) from error
    except Exception as error:  # ONNX Runtime's own types
        raise Unusable(f"{library} is not registered: {str(error).splitlines()[0]}") from error


def check(args: argparse.Namespace, ep_devices: list[object], library: Path, results: dict[str, object]) -> int:
    """How many mismatches there are; what is measured goes to `results`."""
    device, cpu = ep_devices[0], args.cpu_test_library is not None
    if "devices" in (args.only or ()) and len(ep_devices) < 2:
        raise Unusable("--only devices: one device is offered, and nothing would be checked; next: leave it out, or run on more")
    print(f"{device.ep_name} on {device.ep_metadata['device']} ({device.ep_metadata['target']}), built for {device.ep_metadata['built for']}")
    names, bad = args.only or (*CHECKS, *(() if args.quick else (TIMES,))), 0
    if "nodes" in names:
        results["node tests"], bad = check_nodes(device)
    if "cases" in names:
        results["cases"], wrong = check_cases(device, args.cases)
        bad += wrong
    bad += check_types(device, library, args.fewer) if "types" in names else 0
    bad += check_graphs(device) if "graphs" in names else 0
    bad += check_edges(device) if "edges" in names else 0
    bad += check_models(device, cpu, args.fewer) if "models" in names else 0
    bad += check_steps(device, cpu) if "models" in names and not args.fewer else 0
    bad += check_two_at_once(device) if "threads" in names and not cpu else 0
    bad += check_devices(ep_devices) if "devices" in names and not cpu else 0
    if TIMES in names and not cpu:
        results["models"], wrong = time_models(device, args.models or DEFAULT_MODELS, args.compile_form)
        bad += wrong
    return bad


def cover(args: argparse.Namespace, device: object, library: Path) -> int:
    """Say what the provider takes of each model; 0, or 2 for a file that cannot be opened."""
    from tools.ep import coverage

    if missing := [str(model) for model in args.coverage if not model.is_file()]:
        raise Unusable(f"--coverage {', '.join(missing)}: no such file; next: name ONNX models")
    results = []
    for model in args.coverage:
        try:
            results += coverage.run([model], device, library)
        except Exception as error:  # ONNX's and ONNX Runtime's own types
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise Unusable(f"--coverage {model}: cannot be opened: {reason}; next: name an ONNX model") from error
    if args.json:
        args.json.write_text(json.dumps([each.to_json() for each in results], indent=1))
    return 0


def work(args: argparse.Namespace, children: Children) -> int:
    """The checks asked for; 0 when all hold."""
    if why := refusal(args):
        raise Unusable(why)
    if args.json:
        make_room(args.json)
    if args.sanitize:
        return 1 if sanitize(args.library or build(args, children), args.cases, args.seconds, children) else 0
    start = time.perf_counter()
    library = args.cpu_test_library or args.library or build(args, children)
    ep_devices = devices_of(library)
    if args.coverage:
        return cover(args, ep_devices[0], library)
    results: dict[str, object] = {"device": ep_devices[0].ep_metadata}
    try:
        bad = check(args, ep_devices, library, results)
    except Unusable:
        raise
    except Exception as error:
        traceback.print_exc()
        print(f"  FAILED {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
        bad = 1
    results["seconds"] = round(time.perf_counter() - start, 1)
    if args.json:
        args.json.write_text(json.dumps(results, indent=1, default=str))
    print(f"{'FAILED: ' + str(bad) + ' mismatches' if bad else 'all checks hold'} in {results['seconds']} s")
    return 1 if bad else 0
