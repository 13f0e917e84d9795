"""The command with a real hipify-perl where one is installed, and with small stand-ins where none is needed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.hipify import NO_PERL, PERL, script

real = pytest.mark.skipif(PERL is None, reason=NO_PERL)


def run(*arguments: str | Path, code: int = 0, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("HIPIFY_")} | more
    argv = [sys.executable, "-m", "stackbuild", "hipify", *map(str, arguments)]
    done = subprocess.run(argv, capture_output=True, text=True, env=environment, check=False, timeout=280)
    assert done.returncode == code, done.stderr + done.stdout
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture
def fake(tmp_path: Path) -> Path:
    """A hipify-perl that is only its tables: enough for the fast engine."""
    path = tmp_path / "tools" / "hipify-perl"
    path.parent.mkdir()
    path.write_text(script(new_layout=True))
    path.chmod(0o755)
    return path


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    path = tmp_path / "kernel.cu"
    path.write_text("#include <cuda_runtime.h>\n__global__ void k() {}\nvoid f() { cuNothing(); cudaFree(p); }\n")
    return path


def test_where_no_hipify_is_installed_the_packages_own_tables_are_used(kernel: Path, tmp_path: Path) -> None:
    run(kernel, "-o", tmp_path / "k.hip", PATH=str(tmp_path))
    assert "hipFree(p);" in (tmp_path / "k.hip").read_text()
    done = run(kernel, "-o", tmp_path / "o", "--engine", "perl", code=7, PATH=str(tmp_path))
    assert "hipify-perl is not installed" in done.stderr and "apt install hipify-perl" in done.stderr


def test_a_look_before_and_a_change_in_place(kernel: Path, tmp_path: Path) -> None:
    before = kernel.read_text()
    assert "+void f() { cuNothing(); hipFree(p); }" in run(kernel, "--diff").stdout
    page = tmp_path / "page.html"
    assert "cuNothing looks like a CUDA API" in run(kernel, "--dry-run", "--html", page).stdout and "cuNothing" in page.read_text()
    assert kernel.read_text() == before and "::notice file=" in run(kernel, "--dry-run", "--annotations").stdout
    run(kernel, "--in-place")
    assert "hipFree" in kernel.read_text() and (tmp_path / "kernel.cu.prehip").read_text() == before
    for wrong in (["--in-place", "--dry-run"], ["--diff", "--json"], ["--target-rocm", "99x", "--dry-run"], ["--compat", "x", "--dry-run"], []):
        run(kernel, *wrong, code=2)


def test_an_empty_source_is_not_the_current_folder(tmp_path: Path) -> None:
    assert "SRC is empty" in run("", "--dry-run", code=2).stderr


def test_a_page_that_cannot_be_written_is_refused_before_the_work(kernel: Path, tmp_path: Path) -> None:
    for page in (tmp_path / "no" / "page.html", tmp_path):
        assert f"--html {page}" in run(kernel, "-o", tmp_path / "out/", "--html", page, code=2).stderr
    assert not (tmp_path / "out").exists()


def without_rights(*arguments: str | Path, code: int) -> str:
    """The output of a run that may read and write what the modes of files say, also for root."""
    drop = "-dac_override,-dac_read_search"
    prefix = ["setpriv", f"--bounding-set={drop}", f"--inh-caps={drop}"] if os.geteuid() == 0 else []
    argv = [*prefix, sys.executable, "-m", "stackbuild", "hipify", *map(str, arguments)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == code, done.stderr + done.stdout
    return done.stderr + done.stdout


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="root needs setpriv to lose its rights")
def test_what_cannot_be_read_or_written_ends_with_2(kernel: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "a.cu").write_text(kernel.read_text())
    (tree / "b.cu").write_text(kernel.read_text())
    (tree / "b.cu").chmod(0)
    said = without_rights(tree, "-o", tmp_path / "out", code=2)
    assert "b.cu: error: cannot be read" in said and (tmp_path / "out" / "a.cu").exists()
    assert "make it readable" in without_rights(tree / "b.cu", "-o", tmp_path / "one.hip", code=2)
    (tree / "b.cu").unlink()
    tree.chmod(0o555)
    said = without_rights(tree, "--in-place", code=2)
    assert f"chmod u+w {tree}" in said and "nothing was changed" in said
    tree.chmod(0o755)
    assert (tree / "a.cu").read_text() == kernel.read_text() and not list(tree.glob("*.prehip"))


def test_git_applies_a_diff_with_the_command_of_the_page(tmp_path: Path) -> None:
    tree = tmp_path / "work" / "src"
    (tree / "my folder").mkdir(parents=True)
    (tree / "my folder" / "é.cu").write_text("#include <cuda_runtime.h>\nvoid f() { cudaFree(p); }")
    (tree / "b.cu").write_bytes(b"#include <cuda_runtime.h>\r\n__device__ void f() { __syncwarp(); }\r\n")
    diff = tmp_path / "changes.diff"
    argv = [sys.executable, "-m", "stackbuild", "hipify", tree, "--diff"]
    diff.write_bytes(subprocess.run(argv, capture_output=True, check=True, timeout=280).stdout)
    subprocess.run(["git", "apply", "--directory=src", str(diff)], check=True, cwd=tmp_path / "work", timeout=60)
    assert "hipFree" in (tree / "my folder" / "é.cu").read_text() and (tree / "stackbuild_hip_compat.h").exists()
    assert "--- a/" not in run(tree, "--diff").stdout


def test_the_report_goes_to_stdout_and_the_rest_to_stderr(kernel: Path, fake: Path, tmp_path: Path) -> None:
    done = run(kernel, "-o", tmp_path / "k.hip", "--hipify-perl", fake)
    assert "kernel.cu:3:12: error: cuNothing has no counterpart in HIP [HIPIFY-UNSUPPORTED]" in done.stdout
    assert "fast engine, tables of hipify-perl 7.0.0" in done.stderr
    assert "hipFree(p);" in (tmp_path / "k.hip").read_text()


def test_json_is_one_document(kernel: Path, fake: Path, tmp_path: Path) -> None:
    done = run(kernel, "-o", tmp_path / "k.hip", "--json", HIPIFY_PERL=str(fake))
    report = json.loads(done.stdout)
    assert report["schema"] == "stackbuild.hipify/1" and report["counts"]["error"] == 1
    assert report["files"][0]["findings"][0]["place"] == {"file": "kernel.cu", "line": 3, "column": 12}


def test_sarif_names_the_rule_and_the_line(kernel: Path, fake: Path, tmp_path: Path) -> None:
    done = run(kernel, "-o", tmp_path / "k.hip", "--sarif", HIPIFY_PERL=str(fake))
    (result,) = json.loads(done.stdout)["runs"][0]["results"]
    assert result["ruleId"] == "HIPIFY-UNSUPPORTED"
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 3


def test_exit_codes(kernel: Path, fake: Path, tmp_path: Path) -> None:
    out = tmp_path / "o"
    run(kernel, "-o", out, "--strict", code=5, HIPIFY_PERL=str(fake))
    run(kernel, "-o", out, "--rules", "generik", code=2, HIPIFY_PERL=str(fake))
    run(kernel, "-o", out, "--engine", "fats", code=2, HIPIFY_PERL=str(fake))
    run(kernel, "-o", out, "--engine", "clang", code=7, HIPIFY_PERL=str(fake))
    run(kernel, "-o", out, "--target-rocm", "new", code=2, HIPIFY_PERL=str(fake))
    run(tmp_path / "gone.cu", "-o", out, code=2, HIPIFY_PERL=str(fake))
    run(kernel, code=2, HIPIFY_PERL=str(fake))
    rules = tmp_path / "mine.yaml"
    rules.write_text("schema: 1\nname: mine\nrules: [{id: r, why: w, identifier: NotThere, to: x}]\n")
    done = run(kernel, "-o", out, "--rules", rules, code=2, HIPIFY_PERL=str(fake))
    assert "rule r (identifier: NotThere) matched nothing" in done.stdout


def test_a_literal_that_cuts_a_name_fails_the_run(kernel: Path, fake: Path, tmp_path: Path) -> None:
    rules = tmp_path / "mine.yaml"
    rules.write_text(
        "schema: 1\nname: mine\nrules: [{id: r, why: w, literal: noth, to: x, optional: true}, {id: q, why: w, literal: Noth, to: x, optional: true}]\n"
    )
    done = run(kernel, "-o", tmp_path / "o", "--rules", rules, code=2, HIPIFY_PERL=str(fake))
    assert (
        "the literal 'Noth' of rule q matches inside a longer identifier" in done.stdout and "rule r" not in done.stdout
    )


def test_a_killed_run_leaves_whole_files_and_the_next_one_finishes(fake: Path, tmp_path: Path) -> None:
    source, out = tmp_path / "src", tmp_path / "out"
    source.mkdir()
    for i in range(400):
        (source / f"{i}.cu").write_text("cudaFree(p);\n" * 400)
    argv = [sys.executable, "-m", "stackbuild", "hipify", str(source), "-o", str(out), "-j", "1", "--summary"]
    begun = subprocess.Popen(
        argv, env={**os.environ, "HIPIFY_PERL": str(fake)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while begun.poll() is None and not list(out.glob("*.cu")):
        time.sleep(0.001)
    begun.kill()
    begun.wait()
    left = list(out.glob("*.cu"))
    assert left and {p.stat().st_size for p in left} == {left[0].stat().st_size}
    (source / "0.cu").write_text("cudaFree(q);\n")
    run(source, "-o", out, "--summary", HIPIFY_PERL=str(fake))
    assert len(list(out.iterdir())) == 401 and "hipFree(q)" in (out / "0.cu").read_text()


def test_runs_into_one_folder_at_a_time_know_of_each_other(fake: Path, tmp_path: Path) -> None:
    for i in range(6):
        (tmp_path / f"{i}.cu").write_text(f"cudaFree({i});\n")
    environment = {**os.environ, "HIPIFY_PERL": str(fake)}
    argv = [sys.executable, "-m", "stackbuild", "hipify"]
    for text in ("first", "second"):
        started = [
            subprocess.Popen(
                [*argv, f"{i}.cu", "-o", f"out/{i}.hip", "--summary"],
                cwd=tmp_path,
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
            for i in range(6)
        ]
        assert [one.communicate()[1].count(b"stackbuild:") or one.returncode for one in started] == [0] * 6, text
        for i in range(6):
            (tmp_path / f"{i}.cu").write_text(f"cudaFree({i} + {i});\n")
    assert sorted(json.loads((tmp_path / "out" / ".stackbuild-hipify.json").read_text())["files"]) == [
        f"{i}.hip" for i in range(6)
    ]


def test_an_interrupted_run_ends_its_workers_without_a_traceback(fake: Path, tmp_path: Path) -> None:
    source = tmp_path / "src"
    source.mkdir()
    for i in range(8):
        (source / f"{i}.cu").write_text("cudaFree(p);\n" * 150_000)
    argv = [sys.executable, "-m", "stackbuild", "hipify", str(source), "-o", str(tmp_path / "out"), "-j", "2"]
    begun = subprocess.Popen(
        argv,
        env={**os.environ, "HIPIFY_PERL": str(fake)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(
            signal.SIGINT, signal.SIG_DFL
        ),  # a job in the background is started deaf to it
    )
    time.sleep(3)
    os.killpg(begun.pid, signal.SIGINT)
    said = begun.communicate(timeout=60)[0]
    assert begun.returncode == 130 and b"Traceback" not in said, said
    assert not list((tmp_path / "out").rglob("*.cu"))


def test_tables_are_cached_by_the_tool_s_bytes(kernel: Path, fake: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    for _ in range(2):
        run(kernel, "-o", tmp_path / "o", HIPIFY_PERL=str(fake), XDG_CACHE_HOME=str(cache))
    assert len(list(cache.rglob("*.json"))) == 1
    fake.write_text(fake.read_text().replace("hipFree", "hipFreed"))
    run(kernel, "-o", tmp_path / "o", HIPIFY_PERL=str(fake), XDG_CACHE_HOME=str(cache))
    assert len(list(cache.rglob("*.json"))) == 2 and "hipFreed" in (tmp_path / "o" / "kernel.cu").read_text()


def test_a_cache_that_cannot_be_written_does_not_stop_the_run(kernel: Path, fake: Path, tmp_path: Path) -> None:
    run(kernel, "-o", tmp_path / "o", HIPIFY_PERL=str(fake), XDG_CACHE_HOME=str(kernel))


def test_many_files_in_several_processes_are_the_same(fake: Path, tmp_path: Path) -> None:
    source = tmp_path / "src"
    source.mkdir()
    for i in range(12):
        (source / f"{i}.cu").write_text("__global__ void k() {}\n" + f"void f{i}() {{ cudaFree(p); }}\n" * 20_000)
    for jobs, out in (("1", "one"), ("2", "two")):
        run(source, "-o", tmp_path / out, "-j", jobs, "--summary", HIPIFY_PERL=str(fake))
    for i in range(12):
        assert (tmp_path / "one" / f"{i}.cu").read_bytes() == (tmp_path / "two" / f"{i}.cu").read_bytes()


@pytest.mark.slow
def test_a_file_of_50_mb_is_converted(fake: Path, tmp_path: Path) -> None:
    path = tmp_path / "big.cu"
    path.write_text("// generated\n" + "int table[] = { 0x01, 0x02, 0x03, 0x04 }; cudaFree(p);\n" * 900_000)
    assert path.stat().st_size > 48_000_000
    run(path, "-o", tmp_path / "o.cu", "--summary", HIPIFY_PERL=str(fake))
    assert "cudaFree" not in (tmp_path / "o.cu").read_text()


@real
def test_the_real_tables_report_every_unsupported_name() -> None:
    from stackbuild.hipify import Target, open_engine
    from stackbuild.hipify.convert import convert

    engine = open_engine(target=Target(rocm="6.4"), hipify_perl=PERL)
    names = [
        n
        for n, by in engine.tables.unsupported.items()
        if {"hip", "hipdnn", "device_function", "device_type"} & set(by)
    ]
    assert len(names) > 3000
    text = "".join(f"auto x{i} = {name}(a);\n" for i, name in enumerate(names))
    told = {
        f.place.line for f in convert(text, engine.tables, engine.rules, engine.target, "a.cpp").findings if f.place
    }
    assert told == set(range(1, len(names) + 1))


HARD = r"""// cudaMalloc in a comment, cublas_v2.h too
#include <curand.h>
#include <cublas_v2.h>
#include <device_launch_parameters.h>
#include <cub/cub.cuh>
using namespace cub;
__constant__ float table[4];
template <typename T, int N> __global__ void k(T* p) { p[0] = table[N]; }
void f(int cublas_h, my::cudaMalloc_t x) {
  puts("cudaFree failed");
  my::cudaFree(x);
  cudaFuncSetAttribute(k<float, 4>, cudaFuncAttributeMaxDynamicSharedMemorySize, 1);
  cudaMemcpyToSymbol(table, foo(1, 2), 4);
  cudaMemcpyFromSymbol(h, table, sizeof(int), 0, cudaMemcpyDeviceToHost);
  k<float, 2><<<1, 2>>>(p); cub::DeviceReduce::Sum(a, b, c, d, 1);
}
"""


@real
@pytest.mark.parametrize("rules", ["generic", "none"])
def test_every_difference_from_hipify_perl_is_explained(rules: str, tmp_path: Path) -> None:
    assert PERL is not None
    (tmp_path / "a.cu").write_text(HARD)
    (tmp_path / "b.cu").write_bytes(HARD.replace("\n", "\r\n").encode() + b"// \xff\xfe\r\n")
    more = {"HIPIFY_PERL": PERL}
    done = run(tmp_path, "-o", tmp_path / "o", "--verify-engine", "perl", "--rules", rules, "--json", **more)
    differences = json.loads(done.stdout)["differences"]
    kinds = {d["defect"] for d in differences}
    assert {"PERL-COMMENT", "PERL-STRING", "PERL-FOREIGN", "PERL-COMMA", "PERL-TOP-INCLUDE", "PERL-DOT"} <= kinds
    assert None not in kinds


@real
def test_the_perl_engine_is_hipify_perl(tmp_path: Path) -> None:
    assert PERL is not None
    (tmp_path / "a.cu").write_text(HARD)
    run(tmp_path / "a.cu", "-o", tmp_path / "b.cu", "--engine", "perl", HIPIFY_PERL=PERL)
    expected = subprocess.run([PERL, "-quiet-warnings", tmp_path / "a.cu"], capture_output=True, check=True).stdout
    assert (tmp_path / "b.cu").read_bytes() == expected
