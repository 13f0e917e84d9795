"""The public ROCm wheels and their control, by name: exact facts and exact rule ids, time and memory."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from stackbuild.inspection import Expectations, Facts, inspect, judge
from stackbuild.inspection.diff import difference
from stackbuild.model.findings import Severity

pytestmark = [pytest.mark.network, pytest.mark.timeout(900)]

ROCM, MIGRAPHX, CONTROL = "onnxruntime-rocm==1.22.2.post3", "onnxruntime-migraphx==1.27.1", "onnxruntime-gpu==1.31.1"
ERRORS = {
    ROCM: {
        "SB-RECORD-HASH", "SB-TAG-POLICY", "SB-META-UNDECLARED", "SB-ELF-CWD-RUNPATH", "SB-ELF-ABSOLUTE-RUNPATH",
        "SB-ELF-EXEC-STACK", "SB-ELF-UNDERLINKED",
    },
    MIGRAPHX: {
        "SB-RECORD-HASH", "SB-TAG-MISMATCH", "SB-TAG-POLICY", "SB-WHEEL-BUILD-INFO", "SB-ELF-CWD-RUNPATH",
        "SB-ELF-ABSOLUTE-RUNPATH",
    },
    CONTROL: set(),
}  # fmt: skip
OTHERS = {
    ROCM: {
        "SB-ELF-SONAME", "SB-TEXT-HOME-PATH", "SB-META-DESCRIPTION", "SB-DIST-SHARED-MODULE", "SB-ELF-UNSTRIPPED",
        "SB-GPU-SPILLS", "SB-GPU-UNCOMPRESSED", "SB-ELF-EXTERNAL",
    },
    MIGRAPHX: {
        "SB-META-LICENCE", "SB-TEXT-HOME-PATH", "SB-META-DESCRIPTION", "SB-DIST-SHARED-MODULE", "SB-ELF-UNSTRIPPED",
        "SB-ELF-EXTERNAL",
    },
    CONTROL: {
        "SB-META-LICENCE", "SB-ELF-SONAME", "SB-TEXT-HOME-PATH", "SB-META-DESCRIPTION", "SB-DIST-SHARED-MODULE",
        "SB-ELF-EXTERNAL",
    },
}  # fmt: skip


@pytest.fixture(scope="session")
def fetched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The three wheels, fetched once a session (pip's own cache keeps them between sessions)."""
    folder = tmp_path_factory.mktemp("public")
    for requirement in (ROCM, MIGRAPHX, CONTROL):
        words = [
            "download",
            "--quiet",
            "--no-deps",
            "--only-binary=:all:",
            "--python-version",
            "3.11",
            "--dest",
            folder,
        ]
        subprocess.run([sys.executable, "-m", "pip", *words, requirement], check=True, stderr=subprocess.DEVNULL)
    return folder


def wheel(folder: Path, requirement: str) -> Path:
    return next(folder.glob(requirement.split("==")[0].replace("-", "_") + "-*.whl"))


@pytest.fixture(scope="session")
def facts(fetched: Path) -> dict[str, Facts]:
    return {each: inspect(wheel(fetched, each)) for each in (ROCM, MIGRAPHX, CONTROL)}


@pytest.mark.parametrize("which", [ROCM, MIGRAPHX, CONTROL])
def test_exact_rule_ids(which: str, facts: dict[str, Facts]):
    found = judge(facts[which])
    assert {f.rule for f in found if f.severity is Severity.ERROR} == ERRORS[which]
    assert {f.rule for f in found if f.severity is not Severity.ERROR} == OTHERS[which]


def test_facts_of_the_fat_binary(facts: dict[str, Facts]):
    (device,) = facts[ROCM].device
    assert (device.size, len(device.bundles), len(device.objects)) == (490_150_944, 95, 760)
    assert {(b.compression, len(b.entries)) for b in device.bundles} == {("none", 9)}
    assert {(o.version, o.metadata) for o in device.objects} == {(6, (1, 2))}
    targets = {t.target: t for t in facts[ROCM].targets}
    assert sorted(targets) == ["gfx1030", "gfx1100", "gfx1101", "gfx1200", "gfx1201", "gfx908", "gfx90a", "gfx942"]
    assert {t.kernels for t in targets.values()} == {10_211}
    assert {name: t.empty for name, t in targets.items()} == dict.fromkeys(targets, 3_670) | {"gfx908": 3_646}
    worst = targets["gfx942"].worst
    assert worst and (targets["gfx942"].spilling, worst.vgpr_spills, worst.scratch) == (5, 291, 1_168)
    assert targets["gfx1201"].worst.vgpr_spills == 516 and {t.waves for t in targets.values()} == {(32,), (64,)}
    assert len({k.name for o in device.objects for k in o.kernels}) == 9_858


def test_facts_of_the_hosts(facts: dict[str, Facts]):
    rocm, migraphx, control = (facts[each] for each in (ROCM, MIGRAPHX, CONTROL))
    assert (rocm.policy.name, rocm.policy.deciding[1]) == ("manylinux_2_35_x86_64", "GLIBCXX_3.4.30")
    assert (
        "manylinux_2_34_x86_64",
        "onnxruntime/capi/libonnxruntime_providers_rocm.so",
        "GCC_12.0.0",
    ) in rocm.policy.too_new
    assert control.policy.name == "manylinux_2_28_x86_64" and control.policy.too_new == ()
    assert migraphx.policy.external == ("libamdhip64.so.7", "libmigraphx_c.so.3") and not migraphx.device
    assert [(p.name, p.form) for p in migraphx.providers] == [("MIGraphXExecutionProvider", "bridge")]
    home = {hit.path.rsplit("/", 1)[-1]: hit.count for hit in control.texts if hit.kind == "home-path"}
    assert home == {"libonnxruntime_providers_cuda.so": 280}


def test_a_recipe_for_other_targets_does_not_fit(facts: dict[str, Facts]):
    expected = Expectations(
        gfx=("gfx942", "gfx950"), kernels_floor=7_000, providers=("ROCMExecutionProvider",), rocm="7.2.4"
    )
    found = {f.rule: f.found for f in judge(facts[ROCM], expected) if f.rule.startswith("SB-RECIPE")}
    assert set(found) == {"SB-RECIPE-GFX", "SB-RECIPE-KERNELS"}
    assert difference(facts[MIGRAPHX], facts[ROCM]).findings


def test_the_big_wheel_takes_little_memory(fetched: Path):
    """In a process of its own; seconds are in docs/appendix/performance-inspect.md, since a shared machine's vary."""
    code = "import sys; from pathlib import Path; from stackbuild.inspection import inspect; inspect(Path(sys.argv[1]))"
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    subprocess.run([sys.executable, "-c", code, wheel(fetched, ROCM)], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert max(after, before) < 400 << 10 or after == before


def test_json_of_the_whole_wheel(fetched: Path):
    ran = subprocess.run(
        [sys.executable, "-m", "stackbuild", "inspect", "--json", wheel(fetched, ROCM)],
        capture_output=True,
        check=False,
    )
    said = json.loads(ran.stdout)
    assert ran.returncode == 5 and said["schema"] == "stackbuild.inspect/1"
    assert sum(t["kernels"] for t in said["files"][0]["targets"]) == 81_688
