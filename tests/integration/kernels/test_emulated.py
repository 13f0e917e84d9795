"""The device code for AMD, run on emulated waves (tests/emulation): nobody here has such a GPU.

The mutations below are what shows that the emulation can fail: each is a mistake that a CPU build or an NVIDIA GPU does not show.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.kernels import EMULATED_OBJECTS, KERNELS, KernelStack, run

EMULATION = Path(__file__).parents[2] / "emulation"
pytestmark = [
    pytest.mark.timeout(1500),
    pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++"),
]
OPERATORS = ("attention", "batch_norm", "conv", "group_norm", "leaky_relu")
WAY = re.compile(r" = \w+ \d+")  # of a line in a file of choices
TARGETS = ("gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1151", "gfx1200", "gfx1201")


def built(kernels: Path, target: str, out: Path, *operators: str, grid_threads: int | None = None) -> Path:
    words = [word for operator in operators for word in ("--only", operator)]
    words += ["--grid-threads", str(grid_threads)] if grid_threads else []
    command = [sys.executable, str(EMULATION / "build.py"), str(kernels), target, str(out), *words, "--objects", str(EMULATED_OBJECTS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return out


def check(library: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(EMULATION / "check.py"), str(library), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})


def assert_right(done: subprocess.CompletedProcess[str], at_least: int) -> None:
    """Nothing wrong in as many runs as are known to fit the selection."""
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-2000:]}"
    assert " 0 wrong" in done.stdout
    assert int(done.stdout.split(": ", 1)[1].split(" runs", 1)[0]) >= at_least, done.stdout


def test_every_operator_on_waves_of_64(tmp_path: Path) -> None:
    library = built(KERNELS, "gfx942", tmp_path / "gfx942.so", *OPERATORS)
    assert_right(check(library, "--part", "3/12", "--work", "4e5"), 30)


def test_attention_and_norms_on_waves_of_32(tmp_path: Path) -> None:
    library = built(KERNELS, "gfx1100", tmp_path / "gfx1100.so", "attention", "group_norm")
    operators = ("--op", "Attention", "--op", "GroupNormalization")
    assert_right(check(library, *operators, "--part", "1/8", "--work", "2e6"), 10)


def test_float16_weights_outlive_matrix_units_that_flush(tmp_path: Path) -> None:
    """And queries that no key answers, for which AMD's tiles copy nothing."""
    library = built(KERNELS, "gfx90a", tmp_path / "gfx90a.so", "attention")
    words = ("sink", "lengths", "numbers")
    named = [word for name in words for word in ("--named", name)]
    assert_right(check(library, "--op", "Attention", *named, "--work", "6e6"), 20)


@pytest.fixture(scope="module")
def small_grids(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """HIP takes fewer than 2³² threads to a launch on AMD, more than can be emulated: here it takes 2048."""
    out = tmp_path_factory.mktemp("grids") / "norms.so"
    return built(KERNELS, "gfx90a", out, "batch_norm", "group_norm", "leaky_relu", grid_threads=2048)


def test_what_is_larger_than_a_grid_goes_in_several_launches(small_grids: Path) -> None:
    operators = ("--op", "LeakyRelu", "--op", "BatchNormalization", "--op", "GroupNormalization")
    assert_right(check(small_grids, *operators, "--work", "6e4"), 470)


def test_a_grid_that_cannot_be_cut_up_is_refused_in_words(small_grids: Path) -> None:
    done = check(small_grids, "--op", "GroupNormalization", "--named", "1x6x131x97")
    assert done.returncode == 1
    wrong = [line for line in done.stdout.splitlines() if line.startswith("WRONG")]
    assert len({line.partition(" groups=")[0] for line in wrong}) == 4, done.stdout
    words = ("group too large (code 2)", "images too large for channels_last (code 2)")
    assert all(line.endswith(words) for line in wrong), wrong


def test_a_launch_that_fails_is_an_error(tmp_path: Path) -> None:
    """Whichever of those that an answer takes: the emulation forgets the error at the next call, as HIP did before ROCm 7.0."""
    library = built(KERNELS, "gfx90a", tmp_path / "norms.so", "group_norm")
    for kernel in ("partial", "apply", "last_partial", "last_merge", "last_apply"):
        words = ("--op", "GroupNormalization", "--named", "1x6x131x97")
        done = check(library, *words, EMULATION_FAIL=f"group_norm_{kernel}")
        wrong = [line for line in done.stdout.splitlines() if line.startswith("WRONG")]
        assert {line.split()[2] for line in wrong} == {"float32", "float16"}, done.stdout
        assert all(line.endswith("group_norm: invalid configuration (code 4)") for line in wrong), (kernel, wrong)


@pytest.mark.slow
def test_a_convolution_of_more_tiles_than_a_grid_goes_image_by_image(tmp_path: Path) -> None:
    library = built(KERNELS, "gfx1201", tmp_path / "conv.so", "conv", grid_threads=512)
    assert_right(check(library, "--op", "Conv", "--named", "by 32x16x1x1", "--work", "4e5"), 160)


def test_tiles_that_a_device_has_no_room_for_are_not_taken(tmp_path: Path) -> None:
    """One byte less than the largest tile, and less than every tile: smaller tiles and the direct form answer."""
    library = built(KERNELS, "gfx90a", tmp_path / "tiles.so", "attention")
    for lds in ("57599", "8192"):
        assert_right(check(library, "--op", "Attention", "--part", "1/6", "--work", "1e6", EMULATION_LDS=lds), 20)


@pytest.mark.slow
def test_convolutions_choose_among_the_tiles_that_a_device_has_room_for(tmp_path: Path) -> None:
    library = built(KERNELS, "gfx1100", tmp_path / "tiles.so", "conv")
    runs = []
    for lds in ("65536", "32768", "8192"):
        done = check(library, "--op", "Conv", "--part", "1/6", "--work", "4e5", EMULATION_LDS=lds)
        assert_right(done, 80)
        runs.append(int(done.stdout.split(": ", 1)[1].split(" runs", 1)[0]))
    assert runs[0] > runs[1] > runs[2], "every way of a Conv is counted, and fewer fit"


CHOSEN = ("--op", "Conv", "--named", "2x16x9x9 by 32x16x1x1 ")


@pytest.fixture(scope="module")
def convolutions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(KERNELS, "gfx1100", tmp_path_factory.mktemp("conv") / "conv.so", "conv")


def chosen(library: Path, file: Path, how: str) -> str:
    """What a check says whose convolutions are made as `how` and `file` say."""
    return check(library, *CHOSEN, STACKBUILD_KERNELS_CONV=how, STACKBUILD_KERNELS_CONV_CACHE=str(file)).stdout


def test_measured_choices_are_kept_and_read(convolutions: Path, tmp_path: Path) -> None:
    for how in ("measure", "rule", "measure"):
        assert " 0 wrong" in chosen(convolutions, tmp_path / "choices", how)
    assert " = " in (tmp_path / "choices").read_text()


@pytest.mark.parametrize(
    ("how", "change", "says"),
    [
        ("rule", lambda file: file.unlink(), "the file of choices cannot be read"),
        ("rule", lambda file: file.write_text(""), "the file of choices is empty"),
        ("rule", lambda file: (file.unlink(), file.mkdir()), "the file of choices is not a regular file"),
        ("rule", lambda file: file.write_text(WAY.sub(" = implicit_gemm 999", file.read_text())), "has a damaged line"),
        ("rule", lambda file: file.write_text(WAY.sub(" = direct 0", file.read_text())), "has a damaged line"),
        ("rule", lambda file: file.write_text(WAY.sub(" = implicit_gemm 32", file.read_text())), "does not take its shape"),
        ("rule", lambda file: file.write_text(WAY.sub(" = depthwise 1", file.read_text())), "does not take its shape"),
        ("measure", lambda file: (file.unlink(), file.symlink_to("absent/file")), "the file of choices cannot be written"),
    ],
)  # fmt: skip
def test_choices_that_cannot_be_had_are_an_error(
    convolutions: Path, tmp_path: Path, how: str, change: Callable[[Path], object], says: str
) -> None:
    """At every call, not at the first one alone."""
    file = tmp_path / "choices"
    chosen(convolutions, file, "measure")
    change(file)
    said = chosen(convolutions, file, how)
    runs = said.count("WRONG Conv")
    assert runs > 2
    assert said.count(says) == runs


@dataclass(frozen=True)
class Mutation:
    """Text that stands in one file of the kernels, what becomes of it, and the cases that must find it."""

    name: str
    target: str
    file: str
    was: str
    becomes: str
    named: str
    killed: bool = False
    """Whether it ends the process (a page that faults), not in a wrong answer."""
    operator: str = "Attention"
    grid_threads: int | None = None
    words: tuple[str, ...] = ()
    """More options of check.py."""


FOLDERS = {
    "Attention": "attention",
    "BatchNormalization": "batch_norm",
    "Conv": "conv",
    "GroupNormalization": "group_norm",
}
TILES = "attention/attention_tiled_kernels.hpp"
QUICK = (
    Mutation(
        "mfma's rows",
        "gfx942",
        "common/mma.hpp",
        ": kTileValues * (lane_id() / 16) + s;",
        ": 4 * s + lane_id() / 16;",
        "T63 D64",
    ),
    Mutation("no barrier", "gfx942", TILES, "__syncthreads();", "", "T129 D64"),
    Mutation(
        "one grid for all groups",
        "gfx90a",
        "group_norm/group_norm.hip",
        "in_slices(p, most_blocks(threads)",
        "in_slices(p, INT32_MAX",
        "groups=32",
        operator="GroupNormalization",
        grid_threads=1024,
    ),
    Mutation(
        "vectors off their boundary, BatchNormalization", "gfx1100", "batch_norm/batch_norm.hip",
        "const bool aligned = aligned_to(p.x, kVectorBytes) && aligned_to(p.y, kVectorBytes);", "const bool aligned = true;",
        "x", operator="BatchNormalization", words=("--part", "0/9"), killed=True,
    ),
    Mutation(
        "vectors off their boundary, GroupNormalization", "gfx1100", "group_norm/group_norm.hip",
        "const bool aligned = aligned_to(p.x, kVectorBytes) && aligned_to(p.y, kVectorBytes);", "const bool aligned = true;",
        "x", operator="GroupNormalization", words=("--part", "0/9"), killed=True,
    ),
)  # fmt: skip
NIGHTLY = (
    Mutation(
        "vectors off their boundary, Conv", "gfx1100", "conv/conv_gemm.hip",
        "aligned = aligned_to(", "aligned = true || aligned_to(", "x", operator="Conv", words=("--part", "0/9"), killed=True,
    ),
    Mutation(
        "lines off their boundary, Conv by depth", "gfx1100", "conv/conv_depthwise.hip",
        "&& aligned_to(p.x, bytes) && aligned_to(p.y, bytes);", ";", "x", operator="Conv", words=("--forms",), killed=True,
    ),
    Mutation(
        "rows off their boundary", "gfx1100", "attention/attention_tiled.hip", "return aligned_to(data, kVectorBytes) && s.batch", "return s.batch",
        "D64", words=("--forms",), killed=True,
    ),
    Mutation("wmma's rows", "gfx1100", "common/mma.hpp", "return 2 * s + lane_id() / 16;", "return 8 * (lane_id() / 16) + s;", "T63 D64"),
    Mutation(
        "a width of 32", "gfx942", "common/platform.hpp", "kWaveSize = __AMDGCN_WAVEFRONT_SIZE__;", "kWaveSize = 32;", "T63 D32",
        killed=True,
    ),
    Mutation("subnormal weights", "gfx90a", TILES, "kLift = 14.0f", "kLift = 0.0f", "sink"),
    Mutation("a copy that never began", "gfx942", TILES, "if (tiles > first) finish_tile();", "finish_tile();", "lengths", killed=True),
    Mutation(
        "LDS too small", "gfx942", "attention/attention_tiled.hip", "Shape::kShared, stream", "Shape::kShared - 2048, stream", "T63 D64", killed=True
    ),
    Mutation(
        "parameters of the first groups", "gfx90a", "group_norm/group_norm.hip", "group : group * channels;", "0 : 0;",
        "groups=32", operator="GroupNormalization", grid_threads=1024,
    ),
    Mutation(
        "images of the first part", "gfx90a", "conv/conv_gemm.hip", "first * g.D * g.H * g.W * g.x_channels", "first * g.D * g.H * g.x_channels",
        "by 32x16x1x1", operator="Conv", grid_threads=512,
    ),
    Mutation(
        "float16 sums, depthwise", "gfx90a", "conv/conv_depthwise_kernels.hpp",
        "sums[o][p][j] = fmaf(values[p * Stride + s][j], taps.v[j], sums[o][p][j]);",
        "sums[o][p][j] = to_float(from_float<T>(fmaf(values[p * Stride + s][j], taps.v[j], sums[o][p][j])));",
        "beside 2048", operator="Conv",
    ),
    Mutation(
        "a neighbour's sums, pointwise", "gfx1100", "conv/conv_pointwise_kernels.hpp",
        "keeps_first = (lane & mask) == 0;", "keeps_first = true;", "by 4x32x1x1", operator="Conv",
    ),
    Mutation(
        "no barrier between parts, pointwise", "gfx90a", "conv/conv_pointwise_kernels.hpp",
        "      __syncthreads();\n      if (part < half) {", "      if (part < half) {", "by 8x264x1", operator="Conv",
    ),
    Mutation(
        "float16 sums of products", "gfx90a", "common/mma.hpp",
        "c = __builtin_amdgcn_mfma_f32_16x16x16f16(x, y, c, 0, 0, 0);",
        "c = __builtin_amdgcn_mfma_f32_16x16x16f16(x, y, c, 0, 0, 0); for (int i = 0; i < 4; ++i) c[i] = __half2float(__float2half(c[i]));",
        "beside 2048", operator="Conv",
    ),
    Mutation(
        "values relative to zero", "gfx1100", "group_norm/group_norm_kernels.hpp",
        "return kSumsRest<T> ? 0.0f : to_float(*first);", "return 0.0f;", "one step more", operator="GroupNormalization",
    ),
    Mutation(
        "moments of the first strip", "gfx1100", "group_norm/group_norm_last_kernels.hpp",
        "blockIdx.x) * p.channels + static_cast<int64_t>(blockIdx.y) * strip;", "blockIdx.x) * p.channels;",
        "2056", operator="GroupNormalization",
    ),
    Mutation(
        "a parameter too many", "gfx942", "batch_norm/batch_norm_kernels.hpp", "first + c < p.channels;", "first + c <= p.channels;",
        "2056", operator="BatchNormalization", words=("--tight",), killed=True,
    ),
    Mutation(
        "no barrier between images", "gfx1201", "conv/conv_pack_kernels.hpp",
        "values;\n    }\n    __syncthreads();\n", "values;\n    }\n",
        "65540", operator="Conv", words=("--large",),
    ),
)  # fmt: skip


def integer_products(kernels: Path, target: str, folder: Path, stack: KernelStack) -> subprocess.CompletedProcess[str]:
    """What `integer_products.cpp` says on emulated waves of `target`."""
    headers = stack.built("source.headers") / "usr" / "include" / "onnxruntime"
    program = folder / "integer_products"
    run(sys.executable, EMULATION / "build.py", kernels, target, program, "--program", EMULATION / "integer_products.cpp", "--provider", headers)
    return subprocess.run([str(program)], capture_output=True, text=True, check=False)


@pytest.mark.sandbox
@pytest.mark.parametrize("target", ["gfx942", *(pytest.param(t, marks=pytest.mark.slow) for t in TARGETS if t != "gfx942")])
def test_products_of_integers_in_every_shape_of_tile(target: str, stack: KernelStack, tmp_path: Path) -> None:
    done = integer_products(KERNELS, target, tmp_path, stack)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "112 products, 0 wrong" in done.stdout


def conv_forms(kernels: Path, folder: Path, stack: KernelStack) -> subprocess.CompletedProcess[str]:
    """What `conv_forms.cpp` says of the host side in `kernels`."""
    headers = stack.built("source.headers") / "usr" / "include" / "onnxruntime"
    program = folder / "conv_forms"
    run(sys.executable, EMULATION / "build.py", kernels, "gfx942", program, "--program", EMULATION / "conv_forms.cpp", "--provider", headers)
    return subprocess.run([str(program)], capture_output=True, text=True, check=False)


@pytest.mark.sandbox
def test_a_convolution_of_a_cut_batch_has_one_form(stack: KernelStack, tmp_path: Path) -> None:
    """As NVIDIA's build has it: workspace and flag are decided once, for the whole batch."""
    done = conv_forms(KERNELS, tmp_path, stack)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "34560 shapes, 0 wrong; 16200 in windows, 9944 in parts" in done.stdout


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("was", "becomes", "mistake"),
    (
        (" || images_at_once(q, z) < p.batch || image > (kLimit - 1) / p.batch", "", "a part packs another number of vectors"),
        (" || !may_window(p)) return shape;", ") return shape;", "windows that the engine does not take"),
    ),
    ids=("windows of a cut batch", "variants beyond the last"),
)
def test_a_form_that_a_part_does_not_have_is_told(was: str, becomes: str, mistake: str, stack: KernelStack, tmp_path: Path) -> None:
    kernels = shutil.copytree(KERNELS, tmp_path / "kernels", ignore=shutil.ignore_patterns("__pycache__"))
    source = kernels / "conv" / "conv_gemm.hip"
    text = source.read_text()
    assert text.count(was) == 1
    source.write_text(text.replace(was, becomes))
    done = conv_forms(kernels, tmp_path, stack)
    assert done.returncode == 1, done.stdout[-2000:] + done.stderr[-2000:]
    assert mistake in done.stdout


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("target", "was", "becomes"),
    [
        ("gfx1100", "lane_id() % 2 * 8 + lane_id() % 16 / 2", "lane_id() % 16"),
        ("gfx942", "kTogether * (lane_id() / 16)", "kTogether * (lane_id() % 4)"),
        ("gfx1030", "IntegerTile::column() + i, chunk + step", "IntegerTile::column(), chunk + step"),
    ],
    ids=["wmma's order of lines", "mfma's rows", "the line of a dot product"],
)
def test_a_mistake_of_integer_products_is_seen(target: str, was: str, becomes: str, stack: KernelStack, tmp_path: Path) -> None:
    kernels = tmp_path / "kernels"
    shutil.copytree(KERNELS, kernels, ignore=shutil.ignore_patterns("__pycache__"))
    file = kernels / "common" / "mma_integer.hpp"
    text = file.read_text()
    assert was in text, f"{file.name} no longer has {was!r}"
    file.write_text(text.replace(was, becomes))
    done = integer_products(kernels, target, tmp_path, stack)
    assert done.returncode == 1, done.stdout[-2000:] + done.stderr[-2000:]
    assert "WRONG" in done.stdout


def caught(mutation: Mutation, folder: Path) -> None:
    kernels = folder / "kernels"
    shutil.copytree(KERNELS, kernels, ignore=shutil.ignore_patterns("__pycache__", "ep", "tools", "customop"))
    text = (kernels / mutation.file).read_text()
    assert mutation.was in text, f"{mutation.file} no longer has {mutation.was!r}"
    (kernels / mutation.file).write_text(text.replace(mutation.was, mutation.becomes))
    library = built(
        kernels, mutation.target, folder / "mutated.so", FOLDERS[mutation.operator], grid_threads=mutation.grid_threads
    )
    done = check(library, "--op", mutation.operator, "--named", mutation.named, "--work", "6e6", *mutation.words)
    said = done.stdout[-2000:] + done.stderr[-2000:]
    if mutation.killed:
        assert done.returncode < 0, said
    else:
        assert done.returncode == 1, said
        assert f"WRONG {mutation.operator}" in done.stdout, said


@pytest.mark.parametrize("mutation", QUICK, ids=lambda m: m.name)
def test_a_mistake_of_the_device_code_is_seen(mutation: Mutation, tmp_path: Path) -> None:
    caught(mutation, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("mutation", NIGHTLY, ids=lambda m: m.name)
def test_other_mistakes_of_the_device_code_are_seen(mutation: Mutation, tmp_path: Path) -> None:
    caught(mutation, tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("target", TARGETS)
def test_every_case_on_every_emulated_target(target: str, tmp_path: Path) -> None:
    """All that the CPU is checked with, then with memory that ends where a page faults a part of it, of the norms all."""
    library = built(KERNELS, target, tmp_path / f"{target}.so")
    assert_right(check(library, "--work", "2e7"), 500)
    assert_right(check(library, "--part", "2/5", "--work", "2e6", "--tight"), 50)
    norms = ("--op", "BatchNormalization", "--op", "GroupNormalization", "--op", "LeakyRelu")
    assert_right(check(library, *norms, "--work", "2e5", "--tight"), 500)


@pytest.mark.slow
def test_more_images_than_a_grid_has_blocks_in_z(tmp_path: Path) -> None:
    library = built(KERNELS, "gfx1201", tmp_path / "conv.so", "conv")
    assert_right(check(library, "--op", "Conv", "--large", "--named", "65540x"), 16)


def devices_are_offered_one_by_one(library: Path) -> None:
    """One that is sick, has no bus id, or is beyond what ONNX Runtime takes of a provider, hides no other."""
    asking = (
        "import sys, onnxruntime as ort; ort.register_execution_provider_library('r', sys.argv[1])\n"
        "print('offered', [d.ep_metadata['rockernels_ordinal'] for d in ort.get_ep_devices() if 'RocKernels' in d.ep_name])"
    )

    def offered(**environment: str) -> str:
        command = [sys.executable, "-c", asking, str(library)]
        place = {"LD_LIBRARY_PATH": str(library.parent)}
        done = subprocess.run(command, env=os.environ | place | environment, text=True, capture_output=True, check=True)
        return done.stdout + done.stderr

    sick = offered(EMULATION_DEVICES="4", EMULATION_SICK="2")
    assert "offered ['0', '1', '3']" in sick
    assert "does not offer device 2: hipGetDeviceProperties" in sick
    assert "offered ['0', '1']" in offered(EMULATION_DEVICES="2", EMULATION_NO_BUS="1")
    many = offered(EMULATION_DEVICES="12")
    assert "offered ['0', '1', '2', '3', '4', '5', '6', '7']" in many
    assert "the first 8 devices and not the 4 behind them" in many


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("target", ["gfx90a", "gfx1100"])
def test_the_provider_on_emulated_waves(target: str, stack: KernelStack, tmp_path: Path) -> None:
    """In the installed onnxruntime, its hipBLAS by loops. Not several threads: the emulation has one stream."""
    headers = stack.built("source.headers") / "usr" / "include" / "onnxruntime"
    run(sys.executable, EMULATION / "build.py", KERNELS, target, tmp_path / "ep", "--provider", headers, "--objects", EMULATED_OBJECTS)
    library = tmp_path / "ep" / "libonnxruntime_ep_rockernels.so"
    kinds = ("nodes", "cases", "types", "edges", "graphs")
    words = [word for kind in kinds for word in ("--only", kind)]
    command = [
        sys.executable,
        "-W",
        "ignore",
        KERNELS / "ep" / "gpu-check",
        "--library",
        library,
        "--cases",
        "2",
        "--quick",
        *words,
    ]
    said = run("env", f"LD_LIBRARY_PATH={tmp_path / 'ep'}", *command)
    devices_are_offered_one_by_one(library)
    assert f"built for {target}" in said
    assert "all checks hold" in said
    assert re.search(r"ONNX node tests: [6-9]\d\d passed, 0 failed", said)
    assert re.search(r"random cases: [2-9]\d\d, 0 beyond tolerance", said)
    assert re.search(r"graphs for fusion and layout: [3-9]\d\d, 0 wrong", said)
