"""The stand-in of the HIP runtime, compiled and called in processes of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from stackbuild.core.errors import MachineLacks
from stackbuild.emulator.hip_runtime import HostImports, lacking, runtime_folder
from stackbuild.emulator.native_library import NATIVE, compiler
from stackbuild.emulator.service import CHANNEL, EmulatorReport, EmulatorService
from stackbuild.tables.gpu_limits import emulated_targets, limits_of
from stackbuild.tables.targets import device_id
from support.line_table_object import CODE

IMPORTS = HostImports(
    "libamdhip64.so.5", {"hipMalloc": "hip_4.2", "hipGraphLaunch": "hip_4.3", "hipFancyNew": "hip_9.9"}
)
HEAD = """
import ctypes, sys
hip = ctypes.CDLL("libamdhip64.so.%d")
class Hip:
    def __getattr__(self, name):
        return getattr(hip, name)
def pointer(call=hip.hipMalloc, size=1000):
    p = ctypes.c_void_p()
    assert call(ctypes.byref(p), ctypes.c_size_t(size)) == 0
    return p
"""


@dataclass(frozen=True)
class Ended:
    """How a program ended, what it printed, and what the stand-in reported."""

    code: int
    output: str
    errors: str
    reports: tuple[EmulatorReport, ...]

    def texts(self, kind: str = "error") -> list[str]:
        return [" ".join(report.fields.values()) for report in self.reports if report.kind == kind]


@dataclass(frozen=True)
class StandIn:
    """A compiled stand-in for one target, and programs that run on it."""

    folder: Path
    kept: Path
    imports: HostImports
    target: str = "gfx1100"

    def run(self, program: str, **variables: str) -> Ended:
        service = EmulatorService(limits_of(self.target), self.kept)
        with service.running() as descriptor:
            environment = {
                **os.environ, "LD_LIBRARY_PATH": str(self.folder), CHANNEL: str(descriptor), "PYTHONFAULTHANDLER": "0", **variables,
            }  # fmt: skip
            done = subprocess.run(
                [sys.executable, "-c", HEAD % self.imports.major + program],
                env=environment, pass_fds=[descriptor], capture_output=True, text=True, check=False, timeout=120,
            )  # fmt: skip
        return Ended(done.returncode, done.stdout, done.stderr, tuple(service.reports))


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("emulator")


@pytest.fixture(scope="module")
def five(kept: Path) -> StandIn:
    return StandIn(runtime_folder(IMPORTS, kept), kept, IMPORTS)


@pytest.fixture(scope="module")
def six(kept: Path) -> StandIn:
    imports = replace(IMPORTS, soname="libamdhip64.so.6")
    return StandIn(runtime_folder(imports, kept), kept, imports)


def test_its_sources_compile_without_a_warning(tmp_path: Path) -> None:
    for source in sorted((NATIVE / "hip").glob("*.c")):
        command = [
            compiler(),
            "-std=gnu11",
            "-O1",
            "-fPIC",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-DHIP_MAJOR=7",
            "-c",
            str(source),
        ]
        done = subprocess.run([*command, "-o", str(tmp_path / "x.o")], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_symbols_have_the_soname_and_the_versions_that_are_asked_for(five: StandIn) -> None:
    library = five.folder / "libamdhip64.so.5"
    said = subprocess.run(["readelf", "-dW", "--dyn-syms", library], capture_output=True, text=True, check=True).stdout
    assert "soname: [libamdhip64.so.5]" in said
    for name, version in IMPORTS.versions.items():
        assert f" {name}@@{version}" in said
    assert " hipMemcpy@@stackbuild_emulator" in said
    assert " emulator_dispatch" not in said


def test_a_path_that_the_loader_would_divide_is_an_error_before_anything_is_compiled(tmp_path: Path) -> None:
    with pytest.raises(MachineLacks, match="divides paths at a colon"):
        runtime_folder(IMPORTS, tmp_path / "of: mine")
    assert not any(tmp_path.iterdir())


def test_a_path_with_spaces_and_commas_is_one(tmp_path: Path) -> None:
    folder = tmp_path / "my store, the second"
    done = StandIn(runtime_folder(IMPORTS, folder), folder, IMPORTS).run("print(hip.hipDeviceSynchronize())")
    assert (done.code, done.output) == (0, "0\n"), done.errors


def test_a_second_use_compiles_nothing(five: StandIn) -> None:
    before = (five.folder / "libamdhip64.so.5").stat().st_mtime_ns
    assert runtime_folder(IMPORTS, five.kept) == five.folder
    assert (five.folder / "libamdhip64.so.5").stat().st_mtime_ns == before


@pytest.mark.parametrize("name", ["libamdhip64.so.5", "libhipblas.so", "digest.json"])
def test_a_damaged_stand_in_is_compiled_anew(name: str, five: StandIn) -> None:
    before = runtime_folder(IMPORTS, five.kept)
    (file,) = five.kept.glob(f"lib{'hipblas' if 'blas' in name else 'amdhip64'}.so*-*/{name}")
    data, damage = file.read_bytes(), b"\xff" * 32
    half = len(data) // 2
    file.write_bytes(data[:half] + damage + data[half + 32 :])
    assert runtime_folder(IMPORTS, five.kept) == before
    assert file.read_bytes()[half : half + 32] != damage
    assert five.run("print(hip.hipDeviceSynchronize())").output == "0\n"
    assert (five.folder / "libhipblas.so.2").is_file()


def test_a_call_that_it_lacks_fails_by_its_name(five: StandIn) -> None:
    assert lacking(IMPORTS) == ("hipFancyNew",)
    ended = five.run("print(hip.hipFancyNew(1, 2), hip.hipGetLastError())")
    assert ended.output.split() == ["801", "801"]
    assert ended.texts("host call") == ["hipFancyNew"]
    assert "has no hipFancyNew" in ended.errors


def test_without_the_process_that_translates_there_is_no_device(five: StandIn) -> None:
    ended = five.run("n = ctypes.c_int(7)\nprint(hip.hipGetDeviceCount(ctypes.byref(n)), n.value)", **{CHANNEL: "-1"})
    assert ended.output.split() == ["100", "0"]
    assert "stackbuild verify --emulate" in ended.errors


@pytest.mark.parametrize("target", emulated_targets())
def test_a_device_is_described_as_its_target(target: str, five: StandIn) -> None:
    program = """
data = ctypes.create_string_buffer(792)
assert hip.hipGetDeviceProperties(data, 0) == 0
def attribute(number):
    value = ctypes.c_int()
    assert hip.hipDeviceGetAttribute(ctypes.byref(value), number, 0) == 0
    return value.value
print(data.raw[396:652].split(b"\\0")[0].decode(), attribute(87), attribute(63), attribute(74), attribute(23))
print(data.value.decode())
"""
    ended = replace(five, target=target).run(program)
    limits = limits_of(target)
    first, name = ended.output.splitlines()
    assert first.split() == [device_id(target), str(limits.wave), str(limits.units), str(limits.lds_bytes), str(limits.version[0])]
    assert name == f"emulated {target} on a CPU"


def test_devices_and_their_memory_are_as_many_as_the_environment_says(five: StandIn) -> None:
    program = """
n = ctypes.c_int()
hip.hipGetDeviceCount(ctypes.byref(n))
p = ctypes.c_void_p()
print(n.value, hip.hipSetDevice(2), hip.hipSetDevice(3))
print(hip.hipMalloc(ctypes.byref(p), ctypes.c_size_t(60_000)), hip.hipMalloc(ctypes.byref(p), ctypes.c_size_t(60_000)))
"""
    ended = five.run(program, STACKBUILD_EMULATOR_DEVICES="3", STACKBUILD_EMULATOR_MEMORY="100000")
    assert ended.output.split() == ["3", "0", "101", "0", "2"]
    assert any("60000 bytes of 100000, 60000 of them taken" in text for text in ended.texts())


def test_a_number_that_is_none_ends_the_process_with_its_name(five: StandIn) -> None:
    ended = five.run("n = ctypes.c_int()\nhip.hipGetDeviceCount(ctypes.byref(n))", STACKBUILD_EMULATOR_MEMORY="much")
    assert ended.code < 0 and "STACKBUILD_EMULATOR_MEMORY=much" in ended.errors


def test_fresh_memory_holds_no_zeros(five: StandIn) -> None:
    assert five.run("print(ctypes.string_at(pointer(), 4).hex())").output.strip() == "ffffffff"


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("hip.hipMemset(pointer(), 0, ctypes.c_size_t(1001))", "writes 1001 bytes at byte 0 of an allocation of 1000 bytes"),
        (
            "p = pointer(); q = ctypes.c_void_p(p.value + 900)\nhip.hipMemcpy(b'x' * 200, q, ctypes.c_size_t(101), 2)",
            "reads 101 bytes at byte 900 of an allocation of 1000 bytes",
        ),
        ("b = ctypes.create_string_buffer(8)\nhip.hipMemcpy(b, b'1' * 8, ctypes.c_size_t(8), 1)", "which is no device memory"),
        ("hip.hipMemcpy(pointer(), b'1', ctypes.c_size_t(1), 9)", "direction 9"),
        ("p = pointer(); hip.hipFree(p); hip.hipFree(p)", "not the start of such an allocation, or freed already"),
        ("p = pointer(); hip.hipMemset(p, 0, ctypes.c_size_t(8)); hip.hipFree(p); hip.hipMemset(p, 0, ctypes.c_size_t(8))", "no device memory"),
        ("s = ctypes.c_void_p(); hip.hipStreamCreate(ctypes.byref(s)); hip.hipStreamDestroy(s); hip.hipStreamSynchronize(s)", "was destroyed"),
        ("e = ctypes.c_void_p(); hip.hipEventCreate(ctypes.byref(e)); hip.hipEventDestroy(e); hip.hipEventQuery(e)", "was destroyed"),
        ("p = pointer(); ctypes.memset(p.value + 1000, 1, 2); hip.hipDeviceSynchronize()", "written 0 bytes past the end of an allocation of 1000"),
        ("hip.hipSetDevice(5)", "device 5 of 1"),
        ("v = ctypes.c_int(); hip.hipDeviceGetAttribute(ctypes.byref(v), 4711, 0)", "attribute 4711"),
        ("hip.hipLaunchKernel(ctypes.c_void_p(64), 0, 0, 0, 0, 0, 0)", "no kernel is registered for 0x40"),
        ("m = ctypes.c_void_p(); hip.hipModuleLoadData(ctypes.byref(m), b'nonsense' * 100)", "neither a code object nor a bundle"),
        ("m = ctypes.c_void_p(); hip.hipModuleLoadData(ctypes.byref(m), b'__CLANG_OFFLOAD_BUNDLE__' + bytes(5) + bytes([1]) + bytes(99))", "neither a code object nor a bundle"),
        ("m = ctypes.c_void_p(); hip.hipModuleLoadData(ctypes.byref(m), b'__CLANG_OFFLOAD_BUNDLE__' + bytes([2]) + bytes(7) + bytes(16) + bytes([255]) * 8)", "neither a code object nor a bundle"),
        ("m = ctypes.c_void_p(); hip.hipModuleLoad(ctypes.byref(m), b'/nowhere')", "/nowhere cannot be read"),
        ("s = ctypes.c_void_p(); hip.hipStreamCreate(ctypes.byref(s)); g = ctypes.c_void_p(); hip.hipStreamEndCapture(s, ctypes.byref(g))", "began no capture"),
    ],
)  # fmt: skip
def test_a_wrong_call_is_an_error_that_says_what_was_wrong(program: str, said: str, five: StandIn) -> None:
    ended = five.run(program)
    assert ended.code == 0, ended.errors
    assert any(said in text for text in ended.texts()), ended.texts()


def test_what_lies_behind_an_allocation_cannot_be_accessed(five: StandIn) -> None:
    for offset in (1024, -5000):
        assert five.run(f"p = pointer(size=1024)\nctypes.memset(p.value + {offset}, 1, 1)").code < 0


def test_freed_memory_cannot_be_accessed(five: StandIn) -> None:
    assert five.run("p = pointer(); hip.hipFree(p); ctypes.memset(p.value, 1, 1)").code < 0


def test_what_pytorch_libraries_ask_of_memory_and_streams(six: StandIn) -> None:
    ended = six.run(
        "p = pointer(hip.hipMallocManaged); n = ctypes.c_size_t()\n"
        "print(hip.hipMemPtrGetInfo(p, ctypes.byref(n)), n.value, hip.hipMemAdvise(p, n, 1, 0), "
        "hip.hipMemPrefetchAsync(p, n, 0, None), hip.hipGetStreamDeviceId(None), "
        "hip.hipMemPrefetchAsync(p, ctypes.c_size_t(1001), 0, None), "
        "hip.hipMemPtrGetInfo(ctypes.c_void_p(p.value + 1), ctypes.byref(n)))"
    )
    assert ended.output.split() == ["0", "1000", "0", "0", "0", "1", "1"], ended.errors


def test_a_finding_has_the_source_line_of_its_instruction(six: StandIn, tmp_path: Path) -> None:
    (tmp_path / "lines.co").write_bytes(CODE)
    ended = six.run(
        f"m, f, p, n = ctypes.c_void_p(), ctypes.c_void_p(), pointer(size=256 * 4), ctypes.c_int(512)\n"
        f"assert hip.hipModuleLoad(ctypes.byref(m), {str(tmp_path / 'lines.co')!r}.encode()) == 0\n"
        "assert hip.hipModuleGetFunction(ctypes.byref(f), m, b'beyond') == 0\n"
        "arguments = (ctypes.c_void_p * 2)(ctypes.addressof(p), ctypes.addressof(n))\n"
        "hip.hipModuleLaunchKernel(f, 2, 1, 1, 256, 1, 1, 0, None, arguments, None)"
    )
    found = next((report.fields for report in ended.reports if report.kind == "finding"), None)
    assert found is not None, (ended.errors, ended.texts())
    assert (found["kernel"], found["source"]) == ("beyond", "lines.hip:5"), found


def test_the_nth_call_fails_where_the_environment_says_so(five: StandIn) -> None:
    program = "p = ctypes.c_void_p()\nprint(*[hip.hipMalloc(ctypes.byref(p), ctypes.c_size_t(8)) for _ in range(3)], hip.hipSetDevice(0))"
    ended = five.run(program, STACKBUILD_EMULATOR_FAULTS="hipMalloc:2,hipSetDevice:1=101")
    assert ended.output.split() == ["0", "2", "0", "101"]
    assert any("STACKBUILD_EMULATOR_FAULTS" in text for text in ended.texts())


def test_faults_that_cannot_be_read_end_the_process(five: StandIn) -> None:
    ended = five.run("hip.hipSetDevice(0)", STACKBUILD_EMULATOR_FAULTS="hipMalloc")
    assert ended.code < 0 and "is not CALL:N[=CODE]" in ended.errors


def test_a_captured_stream_runs_when_its_graph_is_launched(six: StandIn) -> None:
    program = """
s, other, e, g, x = (ctypes.c_void_p() for _ in range(5))
hip.hipStreamCreate(ctypes.byref(s)); hip.hipStreamCreate(ctypes.byref(other)); hip.hipEventCreate(ctypes.byref(e))
p, n = pointer(), ctypes.c_size_t(4)
read = lambda: ctypes.string_at(p, 4).hex()
assert hip.hipStreamBeginCapture(s, 0) == 0
assert hip.hipMemsetAsync(p, 1, n, s) == 0
hip.hipEventRecord(e, s); hip.hipStreamWaitEvent(other, e, 0)
assert hip.hipMemsetAsync(ctypes.c_void_p(p.value + 2), 2, ctypes.c_size_t(2), other) == 0
status = ctypes.c_int()
hip.hipStreamIsCapturing(s, ctypes.byref(status))
print(status.value, read())
assert hip.hipStreamEndCapture(s, ctypes.byref(g)) == 0
assert hip.hipGraphInstantiate(ctypes.byref(x), g, None, None, ctypes.c_size_t(0)) == 0
hip.hipGraphDestroy(g)
for _ in range(2):
    hip.hipMemset(p, 0, n); before = read()
    assert hip.hipGraphLaunch(x, s) == 0
    print(before, read())
"""
    ended = six.run(program)
    assert ended.output.split() == ["1", "ffffffff", "00000000", "01010202", "00000000", "01010202"], ended.errors


def test_kinds_of_memory_have_the_numbers_of_their_hip_version(five: StandIn, six: StandIn) -> None:
    program = """
a = (ctypes.c_int * 8)()
kinds = []
for p in (pointer(), pointer(hip.hipMallocHost)):
    assert hip.hipPointerGetAttributes(a, p) == 0
    kinds.append(a[0])
print(*kinds, hip.hipPointerGetAttributes(a, ctypes.create_string_buffer(8)))
"""
    assert five.run(program).output.split() == ["1", "0", "1"]
    assert six.run(program).output.split() == ["2", "1", "0"]


def test_events_are_timed_only_where_they_may_be(five: StandIn) -> None:
    program = """
a, b, c = (ctypes.c_void_p() for _ in range(3))
hip.hipEventCreate(ctypes.byref(a)); hip.hipEventCreate(ctypes.byref(b)); hip.hipEventCreateWithFlags(ctypes.byref(c), 2)
ms = ctypes.c_float(-1)
print(hip.hipEventElapsedTime(ctypes.byref(ms), a, b))
for e in (a, b, c): hip.hipEventRecord(e, None)
print(hip.hipEventElapsedTime(ctypes.byref(ms), a, b), ms.value >= 0, hip.hipEventElapsedTime(ctypes.byref(ms), a, c))
"""
    assert five.run(program).output.split() == ["400", "0", "True", "400"]


def test_products_of_hipblas_are_those_of_numpy(six: StandIn) -> None:
    program = """
import numpy as np
blas = ctypes.CDLL("libhipblas.so.2")
h = ctypes.c_void_p(); blas.hipblasCreate(ctypes.byref(h))
rng = np.random.default_rng(0)
worst = 0
i64, i32, fp = ctypes.c_longlong, ctypes.c_int, ctypes.POINTER(ctypes.c_float)
for ta in (0, 1):
    for tb in (0, 1):
        for kind, number in ((np.float32, 0), (np.float16, 2)):
            m, n, k, batch = 3, 5, 7, 2
            a, b, c = (rng.standard_normal((batch, *s)).astype(kind) for s in ((m, k), (k, n), (m, n)))
            sa, sb = (a.transpose(0, 2, 1) if not ta else a), (b.transpose(0, 2, 1) if not tb else b)  # column-major in memory
            sa, sb, sc = (np.ascontiguousarray(x) for x in (sa, sb, c.transpose(0, 2, 1)))
            alpha, beta = ctypes.c_float(2), ctypes.c_float(0.5)
            at = lambda x: x.ctypes.data_as(ctypes.c_void_p)
            code = blas.hipblasGemmStridedBatchedEx_v2(
                h, 112 if ta else 111, 112 if tb else 111, m, n, k, ctypes.byref(alpha), at(sa), number, k if ta else m, i64(m * k),
                at(sb), number, n if tb else k, i64(k * n), ctypes.byref(beta), at(sc), number, m, i64(m * n), batch, 2, 160)
            assert code == 0
            want = 2 * a.astype(np.float64) @ b.astype(np.float64) + 0.5 * c.astype(np.float64)
            worst = max(worst, float(np.abs(sc.transpose(0, 2, 1) - want).max()) / (1e-6 if kind is np.float32 else 1e-2))
print(worst < 4)
"""
    ended = six.run(program)
    assert ended.output.strip() == "True", ended.errors
