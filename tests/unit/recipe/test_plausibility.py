"""Values that are well formed and that hardly anybody means: the place, and what to write."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.recipe.load import bundled_recipes, parse
from stackbuild.recipe.plausibility import implausible_values
from support.paths import TESTS

BASES = TESTS / "seeded-recipes/bases"
MEMORY_GATE = "  - kind: memory\n    where: device"


@pytest.mark.parametrize("path", [*sorted(BASES.glob("*.yaml")), *bundled_recipes().values()], ids=str)
def test_a_right_recipe_has_no_finding(path: Path) -> None:
    assert list(implausible_values(parse(path.read_text(), "recipe.yaml"))) == []


@pytest.mark.parametrize(
    ("base", "old", "new", "subject", "fix"),
    [
        ("night", "microsoft/onnxruntime\n", "microsoft\n", "sources.ort.git", "https://github.com/microsoft/onnxruntime"),
        ("night", "https://github.com/micro", "https://me:secret@github.com/micro", "sources.ort.git", "https://github.com/micro"),
        ("night", "onnxruntime\n    ref", "onnxruntime/archive/v1.tar.gz\n    ref", "sources.ort.git", "write `archive: https"),
        ("lab", "fmt-11.0.2.tar.gz", "fmt-11.0.2-py3-none-any.whl", "sources.fmt.archive", "its source"),
        (
            "lab",
            "6cb1e6d37bdcb756dbbe59be438790db409cdb4868c66e888d5df9f13f7c027f",
            "deadbeef" * 8,
            "sources.fmt.sha256",
            "sha256sum",
        ),
        ("lab", "bundled: kernels", "bundled: recipes", "sources.kernels.bundled", "`bundled: kernels`"),
        ("my-tool", "gfx: [gfx1100]", 'gfx: [gfx1100]\npython: ["3.99"]', "python.0", '"3.12"'),
        ("my-tool", "gfx: [gfx1100]", 'gfx: [gfx1100]\npython: ["3.011"]', "python.0", '"3.11"'),
        ("night", "dev-ubuntu-22.04", "dev-ubunto-22.04", "base.image", "rocm/dev-ubuntu-22.04:6.4.4-complete"),
        ("night", "6.4.4-complete", "6.4.4-complet", "base.image", "6.4.4-complete"),
        ("night", "6.4.4-complete", "6.4.4", "base.image", "6.4.4-complete"),
        ("night", "LTO: true", "LTO: ture", "matrix.variants.fast.ort.onnxruntime_ENABLE_LTO", "LTO: true"),
        ("night", "memory: 14G", "options: {BUILD_SHARED_LIBS: 'of'}", "components.ort.options.BUILD_SHARED_LIBS", "false"),
        ("night", "memory: 14G", "options: {CMAKE_CXX_STANDARD: c++20}", "components.ort.options.CMAKE_CXX_STANDARD", "20"),
        ("night", "memory: 14G", "options: {onnxruntime_ENABLE_PYTHON: 'OFF'}", "components.ort.options.onnxruntime_ENABLE_PYTHON", "python_package: false"),
        ("lab", "- lab_engine\n", "- src/lab_engine\n", "components.engine-wheel.packages.0", "`lab_engine`"),
        ("lab", "- lab_engine\n", "- lab_engine/*\n", "components.engine-wheel.packages.0", "`lab_engine`"),
        ("lab", "- lab_engine\n", "- class\n", "components.engine-wheel.packages.0", "`lab_engine`"),
        ("night", "[onnxruntime/LICENSE]", "[onnxruntime/*]", "components.ort-wheel.license_files.0", "onnxruntime/LICENSE"),
        ("night", "[onnxruntime/LICENSE]", "[onnxruntime/LICENCE]", "components.ort-wheel.license_files.0", "onnxruntime/LICENSE"),
        ("night", "+rocm.6.4.4", "+cu12", "components.ort-wheel.version", "1.21.1+rocm.6.4.4"),
        ("night", "requires: [coloredlogs", "requires: [python>=3.10", "components.ort-wheel.requires.0", "requires_python"),
        ("night", "requires: [coloredlogs", 'requires: ["onnx>=2,<1"', "components.ort-wheel.requires.0", "`onnx>=1,<2`"),
        ("night", "requires: [coloredlogs", "requires: [sympy>=1", "components.ort-wheel.requires.5", "write one of them"),
        ("night", "runtime: [onnxruntime,", "runtime: [onnxruntime==1.18,", "verify.runtime.0", "write `onnxruntime`"),
        ("night", "runtime: [onnxruntime,", "runtime: [onnxruntime-vision,", "verify.runtime.0", "write `onnxruntime`"),
        ("night", "providers: [MIGraphXExecutionProvider]", "providers: [CPUExecutionProvider]", "verify.providers.0", "MIGraphX"),
        ("lab", "      gfx: []", "      providers: [MIGraphX]", "verify.wheels.engine-wheel.providers.0", "did you mean `MIGraphX"),
        ("lab", "  x86_64_level: 2", '  grafts: ["*"]', "verify.grafts.0", "libhipdnn_ep.so"),
        ("lab", "  x86_64_level: 2", "  grafts: [rocblas]", "verify.grafts.0", "librocblas.so.*"),
        ("night", "[/opt/rocm/lib]", "[/opt/rocm/lib:/usr/lib]", "verify.runpaths.0", "[/opt/rocm/lib, /usr/lib]"),
        ("night", "[/opt/rocm/lib]", "[/home/me/lib]", "verify.runpaths.0", "/opt/rocm/lib"),
        ("night", "size_budget: 80M", "size_budget: 1K", "verify.size_budget", "60M"),
        ("night", "size_budget: 80M", "size_budget: 500G", "verify.size_budget", "2G"),
        ("night", "memory: 14G", "memory: 14000G", "components.ort.memory", "8G"),
        ("night", "threads: 8", "threads: 8000", "bench.threads", "threads: 0"),
        ("night", "delta: 3%", "delta: 50%", "gates.0.delta", "delta: 5%"),
        ("night", "pairs: [20, 40, 60]", "pairs: [20, 6000]", "gates.0.pairs", "pairs: [20, 40, 60]"),
        ("night", "pairs: [20, 40, 60]", "confidence: 0.5", "gates.0.confidence", "99%"),
        ("night", "pairs: [20, 40, 60]", "lock: old.lock.yaml", "gates.0.lock", "wheel: old.whl"),
        ("night", "at_most: 9 ms", "at_most: 9000 s", "gates.1.at_most", "20 ms"),
        ("night", "metric: latency\n    at_most: 9 ms", "metric: host_memory\n    at_most: 1.5", "gates.1.at_most", "1.5 GiB"),
        ("night", "grows_at_most: 5%", "grows_at_most: 0", "gates.2.grows_at_most", "5%"),
        ("night", "grows_at_most: 5%", "at_most: 1 KiB", "gates.2.at_most", "GiB"),
        ("night", "provider: MIGraphX", "provider: ROCM", "gates.3.provider", "MIGraphXExecutionProvider"),
        ("night", "provider: MIGraphXExecution", "provider: CPUExecution", "gates.3.provider", "MIGraphXExecutionProvider"),
        ("night", "nodes: 80%", "nodes: 0.8%", "gates.3.nodes", "90%"),
        ("night", "case: bert-base/*", 'case: "*"', "gates.3.waivers.0.case", "bert-base/*"),
        ("night", "nodes: 80%", "nodes: 80%\n    cases: [resnet50/*]", "gates.3.waivers.0.case", "resnet50/*"),
        ("night", MEMORY_GATE, f"  - kind: baseline\n    delta: 4%\n{MEMORY_GATE}", "gates.2", "remove one of the two"),
        ("night", MEMORY_GATE, f"  - kind: accuracy\n    max_abs: 0\n{MEMORY_GATE}", "gates.2.max_abs", "max_abs: 0.001"),
        ("night", MEMORY_GATE, f"  - kind: accuracy\n    cosine: 0.1\n{MEMORY_GATE}", "gates.2.cosine", "0.999"),
        ("lab", "snr_db: 90", "snr_db: 400", "gates.0.snr_db", "60"),
        ("lab", "at_least: 0.01", "at_least: 1000", "gates.1.at_least", "1.5"),
        ("lab", "index: wheels/simple", "index: wheels/simple/index.html", "publish.index", "`index: wheels/simple`"),
        ("night", "url: https://wheels.example.org/rocm-{rocm}/simple", "url: https://pypi.org/simple", "publish.url", "remove `url`"),
        ("night", "rocm-{rocm}/simple\n  url", "rocm-7.2/simple\n  url", "publish.index", "rocm-{rocm}"),
    ],
)  # fmt: skip
def test_a_value_is_told_at_its_place_with_what_to_write(base: str, old: str, new: str, subject: str, fix: str) -> None:
    whole = (BASES / f"{base}.yaml").read_text()
    assert old in whole, old
    findings = list(implausible_values(parse(whole.replace(old, new, 1), "recipe.yaml")))
    assert [finding.subject for finding in findings] == [subject]
    assert fix in findings[0].fix


@pytest.mark.parametrize("range", ["onnx<=2,>=2.0", "onnx>=1.2.3,==1.2.*", "onnx~=1.4,<2", "onnx>=1,!=1.5,<1.9", "onnx>=1.0,<=1"])
def test_a_range_that_a_version_meets_is_left_alone(range: str) -> None:
    text = (BASES / "night.yaml").read_text().replace("requires: [coloredlogs", f'requires: ["{range}"')
    assert list(implausible_values(parse(text, "recipe.yaml"))) == []
