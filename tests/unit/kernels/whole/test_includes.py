"""The layers of the C++ sources: which folder of kernels/ may include which."""

from __future__ import annotations

import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

KERNELS = Path(__file__).parents[4] / "kernels"
LEVELS = {
    "common": 1,
    # The provider. None of its folders may include an operator: those of kernels/ and ep/ops are above it.
    "ep/core/ort": 2,
    "ep/core/tensor": 3,
    "ep/core/device": 4,
    "ep/core/memory": 5,
    "ep/core/kernel": 6,
    "ep/core/graph": 7,
    "ep/core/provider": 8,
    "ep/loader": 9,
    # The operators: none includes another.
    "attention": 9,
    "batch_norm": 9,
    "conv": 9,
    "group_norm": 9,
    "leaky_relu": 9,
    # The device library's C interface, and what ONNX Runtime calls.
    "gpu_api": 10,
    "customop": 11,
    "ep/ops/elementwise": 10,
    "ep/ops/shape": 10,
    "ep/ops/bundled": 11,
    "ep/ops/matmul": 12,
    "ep/ops/quantized": 13,
    "ep/ops/fused": 13,
    "ep/ops/attention": 14,
    "ep/ops/reduce": 14,
    "ep/ops": 15,
    "tools/naive": 11,
}
"""Folder of C++ sources to its level: a source includes its own folder's and those of lower levels."""


def sources(kernels: Path) -> dict[str, Path]:
    return {path.relative_to(kernels).as_posix(): path for path in kernels.rglob("*") if path.suffix in {".hip", ".hpp", ".h", ".cpp"}}


def included(kernels: Path) -> dict[str, set[str]]:
    """Source to the sources of ours that it includes; a name that is no file of ours stays as it is written."""
    files = sources(kernels)
    found: dict[str, set[str]] = {}
    for name, path in files.items():
        folders = ("", "ep/") if name.startswith("ep/") else ("",)
        written = re.findall(r'(?m)^\s*#\s*include "([^"]+)"', path.read_text())
        found[name] = {next((folder + text for folder in folders if folder + text in files), text) for text in written}
    return found


def folder(name: str) -> str:
    return name.rpartition("/")[0]


def violations(kernels: Path) -> Iterator[str]:
    includes = included(kernels)
    for name, others in includes.items():
        if folder(name) not in LEVELS:
            yield f"{name}: its folder has no level"
        for other in sorted(others):
            if other not in includes:
                yield f"{name} includes {other}, which is not there"
            elif folder(other) != folder(name) and LEVELS.get(folder(other), 0) >= LEVELS.get(folder(name), 0):
                yield f"{name} includes {other}, which is not below it"
    try:
        TopologicalSorter(includes).prepare()
    except CycleError as error:
        yield "cycle: " + " → ".join(reversed(error.args[1]))


def test_every_source_includes_what_is_below_it() -> None:
    assert sum(map(len, included(KERNELS).values())) > 300
    assert list(violations(KERNELS)) == []


def test_every_level_has_a_folder() -> None:
    assert {folder(name) for name in sources(KERNELS)} == set(LEVELS)


@pytest.mark.parametrize(
    ("source", "includes", "says"),
    [
        ("ep/core/kernel/kernel.hpp", "ops/fused/matchers.hpp", "ep/core/kernel/kernel.hpp includes ep/ops/fused/matchers.hpp, which is not below it"),
        ("ep/core/ort/options.hpp", "conv/conv.hpp", "ep/core/ort/options.hpp includes conv/conv.hpp, which is not below it"),
        ("conv/conv.hpp", "attention/attention.hpp", "conv/conv.hpp includes attention/attention.hpp, which is not below it"),
        ("ep/core/memory/pool.hpp", "core/memory/stream.hpp", "cycle: ep/core/memory/"),
        ("ep/ops/shape/copy.hpp", "ops/shape/gone.hpp", "ep/ops/shape/copy.hpp includes ops/shape/gone.hpp, which is not there"),
        ("ep/core/new.hpp", "", "ep/core/new.hpp: its folder has no level"),
    ],
)  # fmt: skip
def test_a_violation_is_found(tmp_path: Path, source: str, includes: str, says: str) -> None:
    for name, path in sources(KERNELS).items():
        copy = tmp_path / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(path.read_text())
    seeded = tmp_path / source
    seeded.write_text((seeded.read_text() if seeded.exists() else "") + (f'\n#include "{includes}"\n' if includes else ""))
    assert any(line.startswith(says) for line in violations(tmp_path))


DECLARED = re.compile(r"(?m)^[A-Za-z][\w:<>&*, ]*[\s&*](\w+)\([^;{}]*\);")
DEFINED = re.compile(r"(?m)^[A-Za-z][\w:<>&*, ]*[\s&*](\w+)\([^;{}]*\) \{")
SUPPLIED = {"entries", "fusion_rules", "operator_options", "computes_shapes", "counts_channels_first", "reads_shape", "slow_form"}
"""What core/ declares and ops/ defines: how the operators come to a provider that names none."""


def test_core_defines_what_it_declares() -> None:
    """A header of core/ whose function an operator's source defines would be a circle that no include shows."""
    text = {name: re.sub(r"//.*", "", path.read_text()) for name, path in sources(KERNELS).items()}
    headers = [name for name in text if name.startswith("ep/core/") and name.endswith(".hpp")]
    declared = {function for name in headers for function in DECLARED.findall(text[name])}
    assert {"view", "nodes_of", "make_registry"} <= declared
    operators = "\n".join(body for name, body in text.items() if name.startswith("ep/ops/"))
    assert declared & set(DEFINED.findall(operators)) == SUPPLIED


def literals(body: str) -> set[str]:
    """The words in quotes that could be an operator's name: `"Conv"`, not `"gpu_graph_id"`."""
    return set(re.findall(r'"([A-Z][A-Za-z]+)"', body))


def test_core_names_no_operator() -> None:
    """An operator's name in quotes is written in ops/ alone; `entries()` and the traits bring it to the provider."""
    text = {name: re.sub(r"//.*", "", path.read_text()) for name, path in sources(KERNELS).items()}
    operators = {word for name, body in text.items() if name.startswith("ep/ops/") for word in literals(body)}
    assert {"Conv", "MaxPool", "Shape", "LayerNormalization"} <= operators
    in_core = {name: literals(body) & operators for name, body in text.items() if name.startswith("ep/core/")}
    assert not {name: words for name, words in in_core.items() if words}
