"""`doctor --venv`: seeded conflicts, each named with what to do; a sound environment is called sound."""

from __future__ import annotations

import base64
import hashlib
import os
import shlex
import shutil
import sys
from collections.abc import Callable
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest

from stackbuild.__main__ import run
from stackbuild.checks.loader_paths import LoaderPaths
from stackbuild.checks.venv import VenvReport, examine_venv
from stackbuild.core.errors import UsageError
from stackbuild.views.machine import draw_venv
from support.binaries import library

INIT, STATE = "onnxruntime/__init__.py", "onnxruntime/capi/onnxruntime_pybind11_state.so"
SHARED = "onnxruntime/capi/libonnxruntime_providers_shared.so"
ROCM = "onnxruntime/capi/libonnxruntime_providers_rocm.so"
MIGRAPHX = "onnxruntime/capi/libonnxruntime_providers_migraphx.so"
INFO = "onnxruntime/capi/build_and_package_info.py"


class Venv:
    """A virtual environment of Python 3.12 that distributions are installed into as pip does, without running anything."""

    def __init__(self, root: Path) -> None:
        self.root, self.site = root / "venv", root / "venv/lib/python3.12/site-packages"
        self.system = root / "system"
        self.system.mkdir(parents=True)
        (self.system / "libc.so.6").touch()
        (self.site / "pip").mkdir(parents=True)
        (self.site / "pip/__init__.py").touch()
        (self.root / "pyvenv.cfg").write_text(f"home = {root}/usr/bin\ninclude-system-site-packages = false\n")

    algorithm = "sha256"
    """Of the digests in RECORD; "" for none, as in AMD's wheels."""

    def install(
        self, name: str, version: str, files: dict[str, bytes] | None = None, requires: tuple[str, ...] = ()
    ) -> None:
        files = files or {}
        rows = []
        for path, data in files.items():
            (self.site / path).parent.mkdir(parents=True, exist_ok=True)
            (self.site / path).write_bytes(data)
            digest = ""
            if self.algorithm:
                value = base64.urlsafe_b64encode(hashlib.new(self.algorithm, data).digest()).decode().rstrip("=")
                digest = f"{self.algorithm}={value}"
            rows.append(f"{path},{digest},{len(data)}")
        info = self.site / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        lines = [f"Name: {name}", f"Version: {version}", *(f"Requires-Dist: {r}" for r in requires)]
        (info / "METADATA").write_text("Metadata-Version: 2.1\n" + "\n".join(lines) + "\n")
        (info / "RECORD").write_text("\n".join([*rows, f"{info.name}/RECORD,,"]) + "\n")

    def runtime(self, name: str, version: str, **more: bytes) -> None:
        """An ONNX Runtime; `more` are further files below `capi/`, by the part of their name."""
        names = {"rocm": ROCM, "migraphx": MIGRAPHX, "shared": SHARED}
        files = {
            INIT: f'__version__ = "{version.partition("+")[0]}"  # {name}\n'.encode(),
            STATE: library(needed=["libc.so.6"], rodata=f"{name} {version}".encode()),
            **{names.get(part, f"onnxruntime/capi/{part}"): data for part, data in more.items()},
        }
        self.install(name, version, files)

    def uninstall(self, name: str) -> None:
        for info in self.site.glob(f"{name.replace('-', '_')}-*.dist-info"):
            for row in (info / "RECORD").read_text().splitlines():
                (self.site / row.split(",")[0]).unlink(missing_ok=True)
            shutil.rmtree(info, ignore_errors=True)

    def report(self, glibc: str = "2.41", makers: tuple[str, ...] = ()) -> VenvReport:
        return examine_venv(self.root, LoaderPaths((), (self.system,), glibc), makers)


def provider(needed: str = "libc.so.6", **more: object) -> bytes:
    return library(needed=[needed, "libonnxruntime_providers_shared.so"], **more)  # type: ignore[arg-type]


def cpu_over_rocm(venv: Venv) -> None:
    venv.runtime("onnxruntime-rocm", "1.22.1", rocm=provider(), shared=library())
    venv.runtime("onnxruntime", "1.23.2", shared=library(rodata=b"of the CPU's"))


def gpu_over_cpu(venv: Venv) -> None:
    venv.runtime("onnxruntime", "1.22.1", shared=library())
    venv.runtime("onnxruntime-gpu", "1.22.1", cuda=b"", shared=library(rodata=b"of the GPU's"))


def uninstalled_after(venv: Venv) -> None:
    cpu_over_rocm(venv)
    venv.uninstall("onnxruntime")


def left_over(venv: Venv) -> None:
    venv.runtime("onnxruntime-migraphx", "1.23.2", migraphx=provider(), shared=library())
    (venv.site / ROCM).write_bytes(provider())


def empty_package(venv: Venv) -> None:
    (venv.site / "onnxruntime/capi").mkdir(parents=True)
    (venv.site / SHARED).write_bytes(library())


def installed_twice(venv: Venv) -> None:
    venv.runtime("onnxruntime-rocm", "1.21.0", rocm=provider(), shared=library())
    venv.install("onnxruntime-rocm", "1.22.1", {})


def other_python(venv: Venv) -> None:
    name = "onnxruntime/capi/onnxruntime_pybind11_state.cpython-310-x86_64-linux-gnu.so"
    venv.install("onnxruntime", "1.22.1", {INIT: b'__version__ = "1.22.1"\n', name: library()})


def no_rocm(venv: Venv) -> None:
    venv.runtime("onnxruntime-rocm", "1.22.1", rocm=provider("librocblas.so.4"), shared=library())


def no_migraphx(venv: Venv) -> None:
    venv.runtime("onnxruntime-migraphx", "1.23.2", migraphx=provider("libmigraphx_c.so.3"), shared=library())


def rocm_provider_gone(venv: Venv) -> None:
    venv.runtime("onnxruntime-rocm", "1.23.1", migraphx=provider(), shared=library())


def numpy_2(venv: Venv) -> None:
    venv.runtime("onnxruntime-rocm", "1.18.0", rocm=provider(), shared=library())
    venv.install("numpy", "2.2.6", {"numpy/__init__.py": b""})


def plugin_without_runtime(venv: Venv) -> None:
    venv.runtime("onnxruntime", "1.22.1", shared=library())
    venv.install("onnxruntime-ep-migraphx", "1.0.0", {"onnxruntime_ep_migraphx/__init__.py": b""})


def newer_glibc(venv: Venv) -> None:
    new = provider(versions={"libc.so.6": ["GLIBC_2.38"]})
    venv.runtime("onnxruntime-migraphx", "1.23.2", migraphx=new, shared=library())


def requirement_unmet(venv: Venv) -> None:
    venv.runtime("onnxruntime-migraphx", "1.23.2", migraphx=provider(), shared=library())
    info = next(venv.site.glob("onnxruntime_migraphx-*.dist-info"))
    with (info / "METADATA").open("a") as file:
        file.write("Requires-Dist: rocm[libraries]==7.2.4\n")


def mixed_versions(venv: Venv) -> None:
    venv.runtime("onnxruntime-migraphx", "1.23.2", migraphx=provider(), shared=library())
    (venv.site / INIT).write_text('__version__ = "1.20.0"\n')


def system_seen(venv: Venv) -> None:
    venv.runtime("onnxruntime-migraphx", "1.23.2", migraphx=provider(), shared=library())
    config = venv.root / "pyvenv.cfg"
    config.write_text(config.read_text().replace("= false", "= true"))
    (venv.root.parent / "usr/lib/python3/dist-packages/onnxruntime").mkdir(parents=True)


CONFLICTS: list[tuple[Callable[[Venv], None], str, str, str]] = [
    (cpu_over_rocm, "OVERWRITE", r"the bytes are those of onnxruntime 1.23.2", "uninstall -y onnxruntime onnxruntime-rocm"),
    (gpu_over_cpu, "OVERWRITE", r"the bytes are those of onnxruntime-gpu 1.22.1", "install onnxruntime-gpu==1.22.1"),
    (uninstalled_after, "MISSING", "of its files are not there", "install onnxruntime-rocm==1.22.1"),
    (left_over, "ORPHAN", ROCM, "rm -r"),
    (empty_package, "ORPHAN", "belongs to no installed distribution", "install onnxruntime"),
    (installed_twice, "TWICE", "1.21.0 and 1.22.1", "dist-info"),
    (other_python, "ABI", "it is for Python 3.10, the environment has 3.12", "install onnxruntime"),
    (no_rocm, "LOAD", "does not find librocblas.so.4", "ROCm"),
    (no_migraphx, "LOAD", "does not find libmigraphx_c.so.3", "ROCm"),
    (rocm_provider_gone, "ROCM-EP-GONE", "no ROCMExecutionProvider", "MIGraphXExecutionProvider"),
    (numpy_2, "NUMPY", "compiled against NumPy 1", "numpy<2"),
    (plugin_without_runtime, "PLUGIN", "registers no plugin providers", "onnxruntime>=1.23"),
    (newer_glibc, "GLIBC", "it asks for glibc 2.38, this machine has 2.36", "manylinux"),
    (requirement_unmet, "REQUIRES", "nothing of it is installed", "rocm[libraries]==7.2.4"),
    (mixed_versions, "VERSION", "the package says 1.20.0, its distribution 1.23.2", "install onnxruntime-migraphx==1.23.2"),
    (system_seen, "SYSTEM", "the environment sees the system's packages", "include-system-site-packages = false"),
]  # fmt: skip


@pytest.mark.parametrize(("seed", "rule", "found", "fix"), CONFLICTS, ids=[c[0].__name__ for c in CONFLICTS])
def test_a_seeded_conflict_is_named_with_its_next_step(
    seed: Callable[[Venv], None], rule: str, found: str, fix: str, tmp_path: Path
) -> None:
    venv = Venv(tmp_path)
    seed(venv)
    findings = {f.rule.removeprefix("SB-VENV-"): f for f in venv.report("2.36").findings}
    assert rule in findings, findings
    assert found in findings[rule].found and fix in findings[rule].fix, findings[rule]


def test_a_sound_environment_has_no_finding(tmp_path: Path) -> None:
    venv = Venv(tmp_path)
    venv.runtime("onnxruntime-migraphx", "1.23.2", migraphx=provider(), shared=library())
    venv.install("numpy", "2.2.6", {"numpy/__init__.py": b""})
    (venv.site / "onnxruntime/__pycache__").mkdir()
    (venv.site / "onnxruntime/__pycache__/__init__.cpython-312.pyc").touch()
    report = venv.report()
    assert report.findings == () and not report.failed
    assert report.owned[MIGRAPHX] == ("onnxruntime-migraphx 1.23.2",) and len(report.owned) == 4
    assert [p.provider for p in report.providers] == ["migraphx"]


def test_the_first_twelve_are_errors_and_a_cpu_build_is_told_of(tmp_path: Path) -> None:
    venv = Venv(tmp_path)
    venv.runtime("onnxruntime", "1.23.2", shared=library())
    (finding,) = venv.report().findings
    assert finding.rule == "SB-VENV-CPU-ONLY" and "stackbuild start" in finding.fix


def test_what_is_no_environment_is_refused_and_an_empty_one_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no lib/python3"):
        examine_venv(tmp_path, LoaderPaths((), (), "2.41"))
    assert [f.rule for f in Venv(tmp_path).report().findings] == ["SB-VENV-NONE"]


def test_the_command_exits_7_where_something_is_to_be_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    venv = Venv(tmp_path)
    cpu_over_rocm(venv)
    monkeypatch.setattr(sys, "argv", ["stackbuild", "doctor", "--venv", str(venv.root)])
    assert run() == 7
    said = capsys.readouterr().out
    assert "onnxruntime-rocm" in said and "next: " in said and "uninstall -y onnxruntime onnxruntime-rocm" in said


@pytest.mark.parametrize(
    "file, data, said",
    [
        ("METADATA", b"Name: onnxruntime\nVersion: 1.22.1\nAuthor: J\xf6rg\n", "not UTF-8: byte 43"),
        ("METADATA", b"", "missing or empty"),
        ("RECORD", b"onnxruntime/\xff.py,,\n", "not UTF-8: byte 12"),
        ("RECORD", b"onnxruntime/__init__.py,,many\n", "not path, hash and size"),
    ],
)
def test_a_damaged_distribution_is_a_finding_that_names_its_file(
    tmp_path: Path, file: str, data: bytes, said: str
) -> None:
    venv = Venv(tmp_path)
    venv.runtime("onnxruntime", "1.22.1", shared=library())
    (venv.site / "onnxruntime-1.22.1.dist-info" / file).write_bytes(data)
    found = next(f for f in venv.report().findings if f.rule == "SB-VENV-DAMAGED")
    assert found.subject == f"onnxruntime-1.22.1.dist-info/{file}" and said in found.found
    assert "install onnxruntime==1.22.1" in found.fix and "onnxruntime-1.22.1.dist-info" in found.fix


def test_a_missing_file_is_found_on_every_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """importlib.metadata of Python 3.12 has no file in `files` that is not there; so has its backport."""
    venv = Venv(tmp_path)
    uninstalled_after(venv)
    monkeypatch.setattr(PathDistribution, "files", property(lambda self: []))
    assert "SB-VENV-MISSING" in {finding.rule for finding in venv.report().findings}


@pytest.mark.parametrize("file", ["METADATA", "RECORD"])
def test_a_fifo_is_not_waited_for(tmp_path: Path, file: str) -> None:
    venv = Venv(tmp_path)
    venv.runtime("onnxruntime", "1.22.1", shared=library())
    path = venv.site / "onnxruntime-1.22.1.dist-info" / file
    path.unlink()
    os.mkfifo(path)
    found = next(f for f in venv.report().findings if f.rule == "SB-VENV-DAMAGED")
    assert found.subject.endswith(file) and found.found == "it is not a regular file"


def test_a_sparse_giant_and_endless_metadata_are_refused(tmp_path: Path) -> None:
    venv = Venv(tmp_path)
    venv.runtime("onnxruntime", "1.22.1", shared=library())
    os.truncate(venv.site / "onnxruntime-1.22.1.dist-info/METADATA", 1 << 40)
    assert "it is longer than 64 MiB" in {f.found for f in venv.report().findings}
    os.truncate(venv.site / INIT, 1 << 40)
    with pytest.raises(UsageError, match="1100 GB") as refused:
        venv.report()
    assert INIT in refused.value.next


def test_a_marker_that_cannot_be_compared_is_a_finding(tmp_path: Path) -> None:
    venv = Venv(tmp_path)
    venv.runtime("onnxruntime", "1.22.1", shared=library())
    venv.install("onnxruntime-x", "1.0", requires=('numpy; os_name ~= "posix"',))
    found = next(f for f in venv.report().findings if f.rule == "SB-VENV-REQUIRES")
    assert "no installer can read its requirement 'numpy; os_name ~= \"posix\"'" in found.found


@pytest.mark.parametrize("name", ["onnxruntime$(touch pwned);x", "-rhttps:x", "onnx runtime"])
def test_no_command_holds_a_name_that_is_none(tmp_path: Path, name: str) -> None:
    venv = Venv(tmp_path / "a folder;$(b)")
    venv.runtime("onnxruntime", "1.22.1", shared=library())
    (venv.site / "onnxruntime-1.22.1.dist-info/METADATA").write_text(f"Name: {name}\nVersion: 1.22.1\n")
    (venv.site / INIT).unlink()
    findings = venv.report().findings
    assert "its name is not that of a distribution" in next(f.found for f in findings if f.rule == "SB-VENV-DAMAGED")
    commands = [f.fix for f in findings if "pip" in f.fix]
    assert len(commands) > 1
    for command in commands:
        assert name not in command
        assert all("$" not in word or str(venv.root) in word for word in shlex.split(command))
        assert f"'{venv.root}" in command


def rows_without_digest(venv: Venv) -> None:
    """AMD's wheels: RECORD has sizes alone. The second one has a file of the first one's size, and a longer one."""
    venv.algorithm = ""
    venv.install("onnxruntime-migraphx", "1.27.1", {INIT: b"12", STATE: b"migraphx's", MIGRAPHX: b"m", INFO: b""})
    info = b"package_name = 'onnxruntime-rocm'\n__version__ = '1.22.2'\n"
    venv.install("onnxruntime-rocm", "1.22.2.post3", {INIT: b"34", STATE: b"rocm", ROCM: b"r", INFO: info})


def counts(report: VenvReport) -> dict[str, tuple[int, int, int]]:
    return {row.distribution: (row.changed, row.missing, row.unknown) for row in report.owners}


def findings_by_rule(report: VenvReport) -> dict[str, str]:
    return {f.rule.removeprefix("SB-VENV-"): f.found for f in report.findings}


def test_without_digests_a_size_says_whose_a_file_is(tmp_path: Path) -> None:
    venv = Venv(tmp_path)
    rows_without_digest(venv)
    report = venv.report()
    assert counts(report) == {"onnxruntime-migraphx": (2, 0, 2), "onnxruntime-rocm": (0, 0, 4)}
    said = findings_by_rule(report)["OVERWRITE"]
    assert "3 files of onnxruntime/ belong to each" in said
    assert "the bytes of 2 are those of onnxruntime-rocm 1.22.2.post3 (by size)" in said
    assert "of 1 it is not known whose they are" in said
    assert report.extension and report.extension.owner == "onnxruntime-rocm 1.22.2.post3"
    assert report.extension.evidence == "size"


def test_files_of_one_size_are_told_by_what_they_say_of_themselves(tmp_path: Path) -> None:
    venv = Venv(tmp_path)
    venv.algorithm = ""
    for name in ("onnxruntime-x", "onnxruntime-y"):
        info = f"package_name = '{name}'\n__version__ = '1.22.2'\n".encode()
        venv.install(name, "1.22.2", {INFO: info})
    said = findings_by_rule(venv.report())["OVERWRITE"]
    assert said.endswith("the bytes are those of onnxruntime-y 1.22.2 (by its own text)")
    (venv.site / INFO).write_text("package_name = 'onnxruntime-z'\n__version__ = '1.22.2'\n")
    assert findings_by_rule(venv.report())["OVERWRITE"].endswith("of 1 it is not known whose they are")
    (venv.site / INFO).write_text("")
    assert findings_by_rule(venv.report())["OVERWRITE"].endswith("1 have bytes that none of them installed")


def test_a_truncated_and_a_replaced_file_without_digest_are_changed(tmp_path: Path) -> None:
    venv = Venv(tmp_path)
    venv.algorithm = ""
    venv.runtime("onnxruntime-migraphx", "1.27.1", migraphx=provider(), shared=library())
    assert counts(venv.report()) == {"onnxruntime-migraphx": (0, 0, 4)}
    assert "CHANGED" not in findings_by_rule(venv.report())
    os.truncate(venv.site / STATE, 100)
    (venv.site / INIT).write_text("replaced = 1\n")
    report = venv.report()
    assert counts(report) == {"onnxruntime-migraphx": (2, 0, 2)}
    assert "2 of its files are other bytes than it installed" in findings_by_rule(report)["CHANGED"]
    assert report.extension and report.extension.owner == ""


def test_bytes_without_digest_and_size_are_not_known(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    venv = Venv(tmp_path)
    venv.runtime("onnxruntime", "1.22.1", shared=library())
    record = venv.site / "onnxruntime-1.22.1.dist-info/RECORD"
    record.write_text(f"{INIT},,\n{STATE},,\n{SHARED},,\n")
    (venv.site / STATE).write_bytes(b"anything")
    report = venv.report()
    assert counts(report) == {"onnxruntime": (0, 0, 3)}
    assert report.extension and report.extension.owner == ""
    draw_venv(report)
    said = capsys.readouterr().out
    assert "not known: RECORD has no digest of these files" in said and "whose it is, is not known" in said


@pytest.mark.parametrize("algorithm", ["sha256", "sha384", "sha512"])
def test_every_digest_that_a_record_may_use_is_compared(tmp_path: Path, algorithm: str) -> None:
    venv = Venv(tmp_path)
    venv.algorithm = algorithm
    venv.runtime("onnxruntime", "1.22.1", shared=library())
    assert counts(venv.report()) == {"onnxruntime": (0, 0, 0)}
    data = (venv.site / STATE).read_bytes()
    (venv.site / STATE).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    assert counts(venv.report()) == {"onnxruntime": (1, 0, 0)}


@pytest.mark.parametrize("version", ["1.22.2", "1.22.2.post3", "1.22.2.dev20260101", "1.22.2+rocm6.4"])
def test_a_package_says_its_release_alone(tmp_path: Path, version: str) -> None:
    venv = Venv(tmp_path)
    venv.install("onnxruntime-rocm", version, {INIT: b'__version__ = "1.22.2"\n', STATE: library(), ROCM: provider()})
    assert "VERSION" not in findings_by_rule(venv.report())
    (venv.site / INIT).write_text('__version__ = "1.22.3"\n')
    assert "the package says 1.22.3" in findings_by_rule(venv.report())["VERSION"]


def test_the_extension_module_that_python_imports_is_named(tmp_path: Path) -> None:
    venv = Venv(tmp_path)
    tagged = "onnxruntime/capi/onnxruntime_pybind11_state.cpython-312-x86_64-linux-gnu.so"
    other = tagged.replace("312", "310")
    venv.install("onnxruntime-gpu", "1.22.0", {INIT: b"gpu", tagged: b"gpu's", other: b"older"})
    venv.algorithm = ""
    venv.install("onnxruntime-migraphx", "1.27.1", {INIT: b"migraphx", STATE: b"migraphx's"})
    report = venv.report()
    assert report.extension and (report.extension.file, report.extension.evidence) == (tagged, "digest")
    said = findings_by_rule(report)["OVERWRITE"]
    assert "the bytes are those of onnxruntime-migraphx 1.27.1 (by size)" in said
    assert said.endswith("; Python imports the extension module of onnxruntime-gpu 1.22.0")


def gpu_and_migraphx(venv: Venv) -> None:
    """Both have a module, and Python takes the name with its version before the one without."""
    name = "onnxruntime_pybind11_state.cpython-312-x86_64-linux-gnu.so"
    provider_names = {"libonnxruntime_providers_cuda.so": provider("libcublas.so.13"), name: library()}
    venv.runtime("onnxruntime-gpu", "1.31.1", shared=library(), **provider_names)
    venv.runtime("onnxruntime-migraphx", "1.27.1", migraphx=provider("libmigraphx_c.so.3"), shared=library(rodata=b"2"))


@pytest.mark.parametrize(
    ("makers", "kept"),
    [((), "onnxruntime-migraphx==1.27.1"), (("AMD",), "onnxruntime-migraphx==1.27.1"), (("NVIDIA",), "onnxruntime-gpu==1.31.1")],
)  # fmt: skip
def test_the_machines_gpu_decides_and_the_whole_report_agrees(
    makers: tuple[str, ...], kept: str, tmp_path: Path
) -> None:
    venv = Venv(tmp_path)
    gpu_and_migraphx(venv)
    report = venv.report(makers=makers)
    assert report.keep == kept
    installs = {command for f in report.findings for command in f.fix.split(" && ") if " install " in command}
    assert [shlex.split(command)[-1] for command in installs] == [kept]
    assert report.extension and report.extension.owner == "onnxruntime-gpu 1.31.1"


def test_a_build_for_the_other_makers_gpu_is_exchanged(tmp_path: Path) -> None:
    venv = Venv(tmp_path)
    venv.runtime("onnxruntime-gpu", "1.31.1", **{"libonnxruntime_providers_cuda.so": provider("libcublas.so.13")})
    amd, nvidia, none = (venv.report(makers=makers).findings for makers in (("AMD",), ("NVIDIA",), ()))
    assert [f.fix.rpartition(" ")[2] for f in amd] == [
        "onnxruntime-migraphx"
    ] and "uninstall -y onnxruntime-gpu" in amd[0].fix
    assert [f.fix for f in nvidia] == ["install the CUDA and cuDNN that it names"]
    assert "For an AMD GPU: " in none[0].fix and none[0].fix.endswith("install onnxruntime-migraphx")


@pytest.mark.parametrize(
    ("info", "keep"),
    [
        (b"package_name = 'onnxruntime-rocm'\n__version__ = '1.22.2'\n", "onnxruntime-rocm==1.22.2.*"),
        (b"", "onnxruntime-migraphx"),
        (b"package_name = 'x; rm -rf ~'\n__version__ = '1$(id)'\n", "onnxruntime-migraphx"),
    ],
    ids=["said", "by its provider", "nonsense"],
)
def test_a_build_without_metadata_is_known_by_its_files(info: bytes, keep: str, tmp_path: Path) -> None:
    venv = Venv(tmp_path)
    name = "onnxruntime-migraphx" if not info.startswith(b"package_name = 'onnxruntime-rocm") else "onnxruntime-rocm"
    venv.runtime(name, "1.22.2", migraphx=provider(), **{"build_and_package_info.py": info})
    shutil.rmtree(next(venv.site.glob("*.dist-info")))
    report = venv.report()
    assert report.keep == keep
    orphan = next(f for f in report.findings if f.rule == "SB-VENV-ORPHAN")
    assert f"they are of {name}" in orphan.found and shlex.split(orphan.fix)[-1] == keep


def test_a_build_that_came_from_an_address_comes_from_there_again(tmp_path: Path) -> None:
    venv = Venv(tmp_path)
    cpu_over_rocm(venv)
    address = "https://example.org/onnxruntime_rocm-1.22.1-cp312-cp312-linux_x86_64.whl"
    info = next(venv.site.glob("onnxruntime_rocm-*.dist-info"))
    (info / "direct_url.json").write_text(f'{{"archive_info": {{}}, "url": "{address}"}}')
    assert venv.report().findings[0].fix.endswith(f"install {address}")
    (info / "direct_url.json").write_text('{"archive_info": {}, "url": "file:///nowhere/a.whl"}')
    assert venv.report().findings[0].fix.endswith("install onnxruntime-rocm==1.22.1")


def test_a_next_step_that_is_there_already_is_named_by_its_rule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    venv = Venv(tmp_path)
    cpu_over_rocm(venv)
    (venv.site / ROCM).unlink()
    monkeypatch.setattr(sys, "argv", ["stackbuild", "doctor", "--venv", str(venv.root)])
    assert run() == 7
    said = capsys.readouterr().out
    assert "next: as for SB-VENV-OVERWRITE above" in said and said.count("uninstall -y") == 1


def test_every_error_of_a_runtime_has_the_same_next_step(tmp_path: Path) -> None:
    venv = Venv(tmp_path)
    cpu_over_rocm(venv)
    (venv.site / "onnxruntime-1.23.2.dist-info/METADATA").write_bytes(b"")
    (venv.site / "onnxruntime_rocm-1.22.1.dist-info/RECORD").write_bytes(b"\xff\x00")
    shutil.copytree(venv.site / "onnxruntime-1.23.2.dist-info", venv.site / "onnxruntime-1.23.1.dist-info")
    (venv.site / INIT).unlink()
    errors = [f for f in venv.report().findings if f.severity.value == "error"]
    assert len({f.rule for f in errors}) > 2 and len({f.fix for f in errors}) == 1


@pytest.mark.parametrize(
    ("config", "command"),
    [("uv = 0.13.9\n", "uv pip install --python {}/bin/python "), ("", "{0}/bin/python -m ensurepip && {0}/bin/python -m pip ")],
)  # fmt: skip
def test_an_environment_without_pip_has_a_command_that_works(config: str, command: str, tmp_path: Path) -> None:
    venv = Venv(tmp_path)
    cpu_over_rocm(venv)
    shutil.rmtree(venv.site / "pip")
    with (venv.root / "pyvenv.cfg").open("a") as file:
        file.write(config)
    assert command.format(venv.root) in venv.report().findings[0].fix


def test_a_folder_of_packages_has_its_environments_python(tmp_path: Path) -> None:
    venv = Venv(tmp_path)
    cpu_over_rocm(venv)
    loader = LoaderPaths((), (venv.system,), "2.41")
    assert (
        f"pip install --target {venv.site} onnxruntime-rocm==1.22.1" in examine_venv(venv.site, loader).findings[0].fix
    )
    (venv.root / "bin").mkdir()
    (venv.root / "bin/python").touch()
    assert f"{venv.root}/bin/python -m pip uninstall -y" in examine_venv(venv.site, loader).findings[0].fix
