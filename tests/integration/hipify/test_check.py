"""`--check` in a real sandbox, with a stand-in for hipcc: what it can read, how long it may take, and the command's report.

What the real hipcc says needs the root file system of a ROCm, as in `test_compiles.py`: STACKBUILD_HIP_ROOT.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stackbuild.hipify.compilation.hip_compiler import HOST, TREE, CompilerLog, HipCompiler, find_compiler

pytestmark = pytest.mark.sandbox
ROOT = os.environ.get("STACKBUILD_HIP_ROOT", "")
SAY_LINES = """\
#!/bin/sh
for last; do :; done
case "$*" in *"-E "*) printf '# 1 "%s"\n' "$last"; cat "$last"; exit;; esac
grep -n WRONG "$last" | while IFS=: read -r number rest; do echo "$last:$number:1: error: $rest" >&2; done
! grep -q WRONG "$last"
"""


def stand_in(folder: Path, script: str) -> Path:
    """A hipcc in `folder/bin`."""
    program = folder / "bin" / "hipcc"
    program.parent.mkdir(parents=True)
    program.write_text(script)
    program.chmod(0o755)
    return program


def logs(tmp_path: Path, script: str, seconds: float = 60.0, words: tuple[str, ...] = ()) -> list[CompilerLog]:
    program = stand_in(tmp_path / "tool", script)
    tree = tmp_path / "tree"
    (tree / "k").mkdir(parents=True)
    (tree / "k" / "a.cu").write_text("int i;\n")
    return list(HipCompiler(Path("/"), str(program), ("gfx1100",), words, seconds).logs(tree, "k/a.cu", ("inc", "")))


def run(*arguments: str | Path, tools: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("HIPIFY_")}
    environment["PATH"] = f"{tools}:{environment['PATH']}"
    argv = [sys.executable, "-m", "stackbuild", "hipify", *map(str, arguments)]
    done = subprocess.run(argv, capture_output=True, text=True, env=environment, check=False, timeout=120)
    assert done.returncode == code, done.stderr + done.stdout
    return done


def test_each_error_is_a_finding_at_the_line_of_the_source(tmp_path: Path) -> None:
    source = tmp_path / "src"
    source.mkdir()
    (source / "a.cu").write_text("#include <cuda_runtime.h>\n__global__ void k() { __syncwarp(); }\nint i = WRONG;\n")
    tools = stand_in(tmp_path / "tool", SAY_LINES).parent
    words = ("--target-rocm", "6.4", "--check", "--check-gpu", "gfx942", "--json", "--strict")
    done = run(source, "-o", tmp_path / "out", *words, tools=tools, code=5)
    document = json.loads(done.stdout)
    assert "hipcc: 0 of 1 files\n" in done.stderr
    (row,) = [f for f in document["files"][0]["findings"] if f["rule"] == "HIPIFY-COMPILE-ERROR"]
    assert (row["place"]["file"], row["place"]["line"], row["found"]) == ("a.cu", 3, "hipcc: int i = WRONG;")
    assert document["entries"][-1]["found"].startswith("1 files were parsed for gfx942 and the host: 0 have no error")


def test_a_machine_without_hipcc_is_told_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text("int i;\n")
    (tmp_path / "empty").mkdir()
    done = run(tmp_path / "a.cu", "-o", tmp_path / "out/", "--check", "--check-root", tmp_path / "empty", tools=tmp_path, code=7)
    assert "it has no hipcc" in done.stderr and not (tmp_path / "out").exists()
    run(tmp_path / "a.cu", "--dry-run", "--check", tools=tmp_path, code=2)
    run(tmp_path / "a.cu", "-o", tmp_path / "out/", "--check-word=-DX", tools=tmp_path, code=2)
    run(tmp_path / "a.cu", "-o", tmp_path / "out/", "--check", "--check-gpu", "-o/tmp/x", tools=tmp_path, code=2)


def test_the_command_line_has_the_folders_of_the_tree_and_the_words(tmp_path: Path) -> None:
    host, gpu = logs(tmp_path, '#!/bin/sh\necho "$PWD $*"\n', words=("-DX=1", "-Iown", "-I/opt/x"))
    assert (host.side, gpu.side) == (HOST, "gfx1100")
    assert "--cuda-host-only" in host.text and "--offload-arch=gfx1100 --cuda-device-only" in gpu.text
    assert host.text.startswith(f"{TREE}/k ") and host.text.rstrip().endswith(
        f"-DX=1 -I{TREE}/own -I/opt/x -I{TREE}/inc -I{TREE} -x hip {TREE}/k/a.cu"
    )


def test_the_compiler_sees_the_tree_and_no_other_file_and_cannot_write(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret\n")
    script = f"#!/bin/sh\ncat {secret} /etc/shadow /root/.profile\necho x > {TREE}/k/a.cu\ncat {TREE}/k/a.cu\n"
    host, _ = logs(tmp_path, script)
    assert "the secret" not in host.text and host.text.count("No such file") == 3
    assert "Read-only" in host.text and "int i;" in host.text


def test_a_compiler_that_does_not_end_is_ended(tmp_path: Path) -> None:
    before = time.monotonic()
    host, _ = logs(tmp_path, "#!/bin/sh\nsleep 100\n", seconds=1.0)
    assert host.is_late and time.monotonic() - before < 30


def test_endless_messages_and_memory_have_an_end(tmp_path: Path) -> None:
    host, _ = logs(tmp_path, "#!/bin/sh\nexec yes\n")
    assert host.code and len(host.text) <= 17 << 20


def test_of_a_root_file_system_its_own_hipcc_is_taken(tmp_path: Path) -> None:
    stand_in(tmp_path / "opt/rocm", "#!/bin/sh\n")
    assert find_compiler(tmp_path, ("gfx1100",), ()).program == "/opt/rocm/bin/hipcc"


PASTED = "#define DECLARE(name) int nvtx##name(int);\nDECLARE(NameNoSuch)\nint i = nvtxNameNoSuch(1);\n"


def unknown_names(document: str) -> list[tuple[int, str]]:
    findings = json.loads(document)["files"][0]["findings"]
    return [(row["place"]["line"], row["severity"]) for row in findings if row["rule"] == "HIPIFY-UNKNOWN"]


def test_what_hipcc_takes_without_an_error_is_a_note(tmp_path: Path) -> None:
    source = tmp_path / "a.cu"
    source.write_text(PASTED)
    tools = stand_in(tmp_path / "tool", SAY_LINES).parent
    words = ("--target-rocm", "6.4", "--json")
    assert unknown_names(run(source, "-o", tmp_path / "x/", *words, tools=tools).stdout) == [(3, "warning")]
    assert unknown_names(run(source, "-o", tmp_path / "y/", "--check", *words, tools=tools).stdout) == [(3, "note")]
    source.write_text(PASTED + "int WRONG;\n")
    assert unknown_names(run(source, "-o", tmp_path / "z/", "--check", *words, tools=tools).stdout) == [(3, "warning")]


@pytest.mark.skipif(not ROOT, reason="STACKBUILD_HIP_ROOT is not given")
def test_the_real_hipcc_refutes_what_it_has_read_and_decided(tmp_path: Path) -> None:
    source = tmp_path / "a.cu"
    source.write_text(
        f"#include <cuda_runtime.h>\n{PASTED}"
        "template <class T> T f(T x) { return nvtxNameNoSuch(x) + nvtxNameNoOther(x); }\n"  # nothing uses it: hipcc takes it
        "#ifdef NEVER\nint j = nvtxNameNoThird(1);\n#endif\n__global__ void k() {}\n"
    )
    words = ("--target-rocm", "6.4", "--json", "--check", "--check-root", ROOT)
    done = run(source, "-o", tmp_path / "out/", *words, tools=tmp_path)
    assert "1 have no error" in done.stdout
    assert unknown_names(done.stdout) == [(4, "note"), (5, "warning"), (5, "warning"), (7, "warning")]
