"""Wheels that must not pass: each is built with one sabotage, and taken through `verify` or through `stackbuild gate`.

What `verify` gets are wheels with a compiled library; what the gate gets is ONNX Runtime with a layer before it that
computes wrong, too little or not at all, and gates that speak of speed alone.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from random import Random

from campaign.frame import CampaignCase, NotRun, Rig
from stackbuild.inspection import NOTHING
from stackbuild.model.findings import Severity
from stackbuild.verification import VerifyOptions, verify
from stackbuild.verification.rungs import importing, loading
from support import slowed_wheels
from support.binaries import WheelParts, bundle, code_object, library, record, section, zipped
from support.paths import TESTS

C = "int answer(void) { return 42; }\n"
PLUGIN_C = "int CreateEpFactories(void) { return 0; }\nint ReleaseEpFactory(void) { return 0; }\n"
"""ONNX Runtime is installed beside a plugin alone."""
FLAGS = ("-s", "-Wl,-z,noexecstack", "-Wl,-soname,libforge.so")
DATA = "forge-1.0.data"
WRITES = b"import sys; p = [q for q in sys.path if q.endswith('site-packages')]; p and open(p[0] + '/evil.py', 'w').close()\n"


def cases(random: Random) -> Sequence[CampaignCase]:
    rows = [CampaignCase("verify: nothing wrong", partial(_verify, {}, ""))]
    rows += [CampaignCase(f"verify: {name}", partial(_verify, changes, rule)) for name, (rule, changes) in VERIFY.items()]
    rows.append(CampaignCase("gate: nothing wrong", partial(_gate, "", 0)))
    rows += [
        CampaignCase(f"gate: {name}", partial(_gate, layer, 0 if name in HARMLESS else 6)) for name, layer in GATE.items()
    ]
    return rows


def _verify(changes: dict[str, object], rule: str, folder: Path) -> str:
    """Verify a wheel; what was lost where a sabotaged one has no error of its rule, or a good one has any."""
    if lacking := [tool for tool in ("gcc", "bwrap") if shutil.which(tool) is None]:
        raise NotRun(f"not installed: {', '.join(lacking)}")
    (folder / "wheels").mkdir()
    house = _runtime(folder / "house")
    wheel = _wheel(folder, changes)
    seconds = changes.get("seconds", importing.SECONDS)
    assert isinstance(seconds, float)
    before = loading.SECONDS, importing.SECONDS
    loading.SECONDS, importing.SECONDS = 5.0, seconds
    try:
        verification = verify((wheel,), lambda name: NOTHING, VerifyOptions(runtime=("onnxruntime",), wheelhouse=house))
    finally:
        loading.SECONDS, importing.SECONDS = before
    errors = {finding.rule for finding in verification.findings if finding.severity is Severity.ERROR}
    return "" if (rule in errors if rule else not verification.failed) else verification.claim


def _runtime(folder: Path) -> Path:
    """A wheelhouse with a distribution called onnxruntime of two Python files."""
    folder.mkdir()
    info = "onnxruntime-1.0.dist-info"
    files = {
        "onnxruntime/__init__.py": b"__version__ = '1.0'\n",
        "onnxruntime/capi/__init__.py": b"",
        f"{info}/METADATA": b"Metadata-Version: 2.1\nName: onnxruntime\nVersion: 1.0\n",
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    archive = zipped(files | {f"{info}/RECORD": record(files, f"{info}/RECORD")})
    (folder / "onnxruntime-1.0-py3-none-any.whl").write_bytes(archive)
    return folder


def _wheel(folder: Path, changes: dict[str, object]) -> Path:
    """The wheel `forge`: a package and a plugin's library. `c` and `flags` are for its compiler, the rest for `WheelParts`."""
    source, binary = folder / "forge.c", folder / "libforge.so"
    source.write_text(str(changes.get("c", C)))
    flags = changes.get("flags", ())
    assert isinstance(flags, tuple)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", binary, source, *FLAGS, *flags], check=True)
    files = {"forge/__init__.py": b"", "forge/libforge.so": binary.read_bytes()}
    more = changes.get("files", {})
    assert isinstance(more, dict)
    parts = WheelParts(
        name="forge", version="1.0", tag="py3-none-linux_x86_64", body="A library.\n",
        metadata=f"Description-Content-Type: text/plain\n{changes.get('metadata', '')}", files=files | more,
        without=("onnxruntime_ep_forge/__init__.py", "libonnxruntime_ep_forge.so"),
        wheel_version=str(changes.get("wheel_version", "1.0")),
    )  # fmt: skip
    path = parts.write(folder / "wheels")
    if changes.get("unrecorded"):
        path.write_bytes(
            zipped(
                parts.contents() | {f"{parts.info}/RECORD": record(parts.contents(), f"{parts.info}/RECORD") + b"x,,\n"}
            )
        )
    return path


def _init(text: str, **more: object) -> dict[str, object]:
    return {"files": {"forge/__init__.py": text.encode()}, **more}


def _endless(text: str) -> dict[str, object]:
    """An import that is given up after 8 s."""
    return _init(f"import os, signal, time\n{text}\ntime.sleep(600)\n", seconds=8.0)


def _constructor(text: str) -> dict[str, object]:
    includes = "".join(f"#include <{name}.h>\n" for name in ("signal", "stdlib", "unistd"))
    return {"c": f"{C}{includes}__attribute__((constructor)) static void f(void) {{ {text} }}\n"}


def _library(**options: object) -> dict[str, object]:
    """A second library, laid out by hand."""
    return {"files": {"forge/libmore.so": library(soname="libmore.so", needed=["libc.so.6"], **options)}}  # type: ignore[arg-type]


def _link_writer(target: str) -> bytes:
    """A module that pip imports: while others are installed, it puts a link in the place of the environment's interpreter."""
    return (
        "import os, sys\npython = os.path.join(sys.prefix, 'bin', 'python')\ntry:\n    os.rename(python, python + '.was')\n"
        f"    os.symlink({target!r}, python)\nexcept OSError:\n    pass\n"
    ).encode()


_TWICE = code_object("gfx90a")
VERIFY: dict[str, tuple[str, dict[str, object]]] = {
    "the import raises": ("SB-RUN-IMPORT", _init("raise RuntimeError('no')\n")),
    "the import ends the process as if all were well": ("SB-RUN-IMPORT", _init("import os\nos._exit(0)\n")),
    "the import is killed": ("SB-RUN-CRASH", _init("import os\nos.kill(os.getpid(), 11)\n")),
    "a dependency is not declared": ("SB-RUN-IMPORT", _init("import importlib\nimportlib.import_module('flatbuffers')\n")),
    "the import writes into another package": ("SB-RUN-IMPORT", _init("import pathlib\n(pathlib.Path(__file__).parent.parent / 'evil.py').touch()\n")),
    "an undefined symbol": ("SB-RUN-LOAD", {"c": C + "int missing(void);\nint f(void) { return missing(); }\n"}),
    "a constructor that aborts": ("SB-RUN-CRASH", {"c": C + "#include <stdlib.h>\n__attribute__((constructor)) static void f(void) { abort(); }\n"}),
    "a constructor that never ends": ("SB-RUN-CRASH", {"c": C + "__attribute__((constructor)) static void f(void) { for (;;) ; }\n"}),
    "the import stops its process group": ("SB-RUN-CRASH", _endless("os.kill(0, signal.SIGSTOP)")),
    "the import stops its parent": ("SB-RUN-CRASH", _endless("os.kill(os.getppid(), signal.SIGSTOP); os.kill(1, signal.SIGSTOP)")),
    "the import kills its parent": ("SB-RUN-CRASH", _endless("os.kill(1, 9); os.kill(1, 15)")),
    "the import kills all": ("SB-RUN-IMPORT", _init("import os\nos.kill(-1, 9)\nos._exit(0)\n")),
    "the import prints without an end": ("SB-RUN-CRASH", _endless("while True: os.write(1, b'x' * 65536)")),
    "the import answers without an end": ("SB-RUN-IMPORT", _init("import os, sys\nfor _ in range(40): os.write(int(sys.argv[2]), b'[' * (1 << 20))\nos._exit(0)\n")),
    "the import leaves processes": ("SB-RUN-IMPORT", _init("import os, time\nfor _ in range(20):\n    os.fork() or (os.setsid(), time.sleep(600))\nos._exit(0)\n")),
    "the import opens the terminal": ("SB-RUN-IMPORT", _init("open('/dev/tty', 'w').write('owned')\n")),
    "a constructor that stops its process group": ("SB-RUN-CRASH", _constructor("kill(0, SIGSTOP); kill(-1, SIGSTOP); raise(SIGSTOP);")),
    "a constructor that leaves": ("SB-RUN-CRASH", _constructor("if (fork() == 0) { setsid(); for (;;) pause(); } abort();")),
    "a constructor that prints without an end": ("SB-RUN-CRASH", _constructor("static char b[65536]; for (;;) write(1, b, sizeof b);")),
    "a constructor that fills the process table": ("SB-RUN-CRASH", _constructor("for (;;) if (fork() == 0) { setsid(); raise(SIGSTOP); }")),
    "half a plugin": ("SB-EP-EXPORTS", {"c": "int CreateEpFactories(void) { return 0; }\n"}),
    "an executable stack": ("SB-ELF-EXEC-STACK", {"flags": ("-Wl,-z,execstack",)}),
    "a search path in the current directory": ("SB-ELF-CWD-RUNPATH", {"flags": ("-Wl,-rpath,$ORIGIN:",)}),
    "a search path joined by a semicolon": ("SB-ELF-RUNPATH-SEPARATOR", {"flags": ("-Wl,-rpath,$ORIGIN;/x",)}),
    "files of onnxruntime": ("SB-RUN-OVERWRITTEN", {"c": PLUGIN_C, "files": {"onnxruntime/__init__.py": b"__version__ = 'evil'\n"}}),
    "files of onnxruntime by way of .data": ("SB-RUN-OVERWRITTEN", {"c": PLUGIN_C, "files": {f"{DATA}/purelib/onnxruntime/capi/__init__.py": b"evil = 1\n"}}),
    "a .pth file that writes while others are installed": ("SB-RUN-OVERWRITTEN", {"c": PLUGIN_C, "files": {"forge.pth": WRITES}}),
    "the interpreter is a link to elsewhere": ("SB-RUN-OVERWRITTEN", {"c": PLUGIN_C, "files": {"_manylinux.py": _link_writer("/proc/self/cwd/../env/tool")}}),
    "the interpreter is a link to itself": ("SB-RUN-OVERWRITTEN", {"c": PLUGIN_C, "files": {"_manylinux.py": _link_writer("python")}}),
    "a sitecustomize": ("SB-WHEEL-STARTUP", {"files": {"sitecustomize.py": b"import sys\n"}}),
    "a command outside of its folder": ("SB-META-ENTRY-POINT", {"files": {"forge-1.0.dist-info/entry_points.txt": b"[console_scripts]\n../../evil = forge:f\n"}}),
    "a requirement nobody can read": ("SB-META-REQUIRES", {"metadata": "Requires-Dist: torch>=2.x\n"}),
    "a wheel of the future": ("SB-META-WHEEL-VERSION", {"wheel_version": "2.0"}),
    "a RECORD of other files": ("SB-RECORD-MISMATCH", {"unrecorded": True}),
    "GPU code cut short": ("SB-READ-MALFORMED", _library(fatbin=section([bundle({"gfx90a": _TWICE[: len(_TWICE) // 5]})]))),
    "GPU code for one target twice": ("SB-GPU-TARGET-TWICE", _library(fatbin=section([bundle({"gfx90a": _TWICE, "gfx90a ": _TWICE})]))),
    "GPU code that is lost": ("SB-GPU-LOST", _library(undefined=["__hipRegisterFatBinary"])),
    "text relocations": ("SB-ELF-TEXTREL", _library(tags=[(22, 0)])),
    "a library for another machine": ("SB-ELF-MACHINE", _library(machine=183)),
}  # fmt: skip


def _gate(layer: str, code: int, folder: Path) -> str:
    """`stackbuild gate` with a gate of speed alone on ONNX Runtime behind a layer; what was lost where it exits otherwise."""
    package = folder / "layer" / "onnxruntime"
    shutil.copytree(TESTS / "support" / "slowed", package, ignore=shutil.ignore_patterns("__pycache__"))
    init = package / "__init__.py"
    init.write_text(init.read_text() + LAYER + layer)
    wheel = slowed_wheels.pack(package, folder / "wheels", "6.6")
    slowed_wheels.small_model(folder)
    (folder / "small.yaml").write_text(SUITE)
    (folder / "gates.yaml").write_text(
        "gates: [{kind: limit, metric: latency, at_most: 10 s}, {kind: limit, metric: latency, at_least: 1 us}]\n"
    )
    words = ["-m", "stackbuild", "gate", "-c", str(wheel), "--suite", "small.yaml", "--gates", "gates.yaml"]
    process = subprocess.run(
        [sys.executable, *words], cwd=folder, capture_output=True, text=True, check=False, timeout=280
    )
    return "" if process.returncode == code else f"exit code {process.returncode}: {process.stderr[-300:]}"


SUITE = """\
kind: models
rounds: 8
budget: {warm_seconds: 0.02, seconds: 0.02, least: 5, most: 50}
files: [{file: small.onnx, shapes: [{x: [64, 256]}]}]
"""
LAYER = """
import numpy as _np
_session, _calls = _real.InferenceSession, []
_plain, _bound = _session.run, _session.run_with_iobinding


def _layer(run, bound=None):
    _session.run = run
    _session.run_with_iobinding = bound or _bound


def _over(binding, change):
    for each in binding.get_outputs():
        each.update_inplace(change(each.numpy()))
"""
GATE = {
    "everything is off by 5 %": "_layer(lambda s, *a: [y * 1.05 for y in _plain(s, *a)])\n",
    "everything is zero": "_layer(lambda s, *a: [y * 0 for y in _plain(s, *a)])\n",
    "everything is NaN": "_layer(lambda s, *a: [y * _np.nan for y in _plain(s, *a)])\n",
    "outputs of another shape": "_layer(lambda s, *a: [y[:1] for y in _plain(s, *a)])\n",
    "no outputs": "_layer(lambda s, *a: [])\n",
    "only the first run computes": "_layer(lambda s, *a: [y if len(_calls) < 2 else y * 0 for y in _plain(s, *a) if not _calls.append(0)])\n",
    "bound runs stop computing": (
        "_layer(_plain, lambda s, *a: _bound(s, *a) if len(_calls) < 9 and not _calls.append(0) else None)\n"
    ),
    "bound runs never compute after the first": (
        "_layer(_plain, lambda s, *a: _bound(s, *a) if len(_calls) < 1 and not _calls.append(0) else None)\n"
    ),
    "bound runs compute zeros": "_layer(_plain, lambda s, b, *a: [_bound(s, b, *a), _over(b, lambda y: y * 0)])\n",
    "bound runs compute at random": (
        "_layer(_plain, lambda s, b, *a: [_bound(s, b, *a), _over(b, lambda y: _np.random.rand(*y.shape).astype(y.dtype))])\n"
    ),
    "the process ends in the middle as if all were well": (
        "import os\n_layer(_plain, lambda s, *a: os._exit(0) if len(_calls) > 9 else (_calls.append(0), _bound(s, *a)))\n"
    ),
    "another clock": "time.perf_counter = (lambda real: lambda: real() * 1e-6)(time.perf_counter)\n",
}  # fmt: skip
"""Layers over ONNX Runtime by what they do. `s` is the session, `b` the binding."""
HARMLESS = ("another clock",)
"""What has no effect: the gate ends as without it. A clock that ran a million times too slow would not reach 1 us."""

RIG = Rig("sabotaged-wheels", "wheels with one sabotage each through verify and gate: none passes", cases, minimum=30)
