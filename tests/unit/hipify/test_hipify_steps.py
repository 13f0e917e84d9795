"""What a recipe's `hipify:` becomes in the plan: pure, nothing is run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests_hipify import bundled_rules, small_tables

from stackbuild.checks.hipify import hipify_findings
from stackbuild.checks.recipe import CheckInput, check
from stackbuild.core.errors import UsageError
from stackbuild.hipify.engines import Engine
from stackbuild.hipify.model import Target
from stackbuild.hipify.stage import ConversionOptions, convert_source
from stackbuild.hipify.tables.installed import Tools
from stackbuild.hipify.tree import files
from stackbuild.model.inputs import Inputs
from stackbuild.model.lock import Lock
from stackbuild.model.plan import Plan
from stackbuild.plan.resolve import resolve
from stackbuild.recipe.load import load, parse
from stackbuild.tables.compatibility import table

RECIPE = """\
schema: 1
name: t
summary: a test
rocm: "6.4"
base: {debian: {suite: trixie, packages: [hipcc]}}
gfx: [gfx90a, gfx1100]
python: ["3.11", "3.12"]
sources: {code: {path: code}, tool: {debian: hipify-perl, suite: sid}}
components:
  one: {kind: cmake, source: code, uses_gfx: GPU_TARGETS, hipify: {MORE}}
  two: {kind: cmake, source: code}
"""
LOCK = Lock(schema=1, asked="0" * 64, packages={"hipcc": "1"})
TREES = {"code": "c" * 64, "hipify.one": "d" * 64, "hipify.one.patches": "e" * 64}


def plan(more: str = "", recipe: str = RECIPE, trees: dict[str, str] = TREES) -> Plan:
    return resolve(parse(recipe.replace("MORE", more), "t.yaml"), Inputs.of(LOCK, trees))


def params(made: Plan, step: str) -> dict[str, str]:
    return dict(made.by_name[step].params)


def test_the_component_sees_the_converted_source_and_others_the_source() -> None:
    made = plan()
    seen = {n.step: (n.at, n.part) for n in made.by_name["one"].needs}
    assert seen == {"base": ("", ""), "hipify.one": ("/src/code", "source")}
    assert "source.code" in [n.step for n in made.by_name["two"].needs]
    assert [n.step for n in made.by_name["hipify.one"].needs] == ["source.code", "hipify.one.tables"]


def test_what_is_in_the_key_and_what_is_not() -> None:
    first = plan()
    assert params(first, "hipify.one")["rocm"] == "6.4"
    assert params(plan('rocm: "6.1"'), "hipify.one")["rocm"] == "6.1"
    assert params(first, "hipify.one")["wavefronts"] == "[32,64]"
    assert "patches" not in params(first, "hipify.one")
    assert params(plan("patches: one/1"), "hipify.one")["patches"] == "e" * 64
    for more in ("strict: true", "rules: [lc0]", "lint: false", "launch: ggl", "patches: one/1", "twins: keep"):
        assert plan(more).by_name["hipify.one"].key != first.by_name["hipify.one"].key, more
    other = plan(trees={**TREES, "hipify.one": "f" * 64})
    assert other.by_name["hipify.one"].key != first.by_name["hipify.one"].key
    assert other.by_name["hipify.one.tables"].key == first.by_name["hipify.one.tables"].key
    assert other.by_name["two"].key == first.by_name["two"].key


def test_the_same_tables_make_the_same_conversion_whatever_base_they_came_from() -> None:
    made = plan()
    step = made.by_name["hipify.one"]
    moved = replace(step, needs=tuple(replace(n, key="0" * 64) for n in step.needs))
    trees = {"source.code": "a", "hipify.one.tables": "b"}
    assert moved.key != step.key
    assert moved.content_key(trees) == step.content_key(trees) != step.content_key({**trees, "source.code": "c"})


def test_tables_come_from_the_base_or_from_a_source() -> None:
    assert [n.step for n in plan().by_name["hipify.one.tables"].needs] == ["base"]
    tables = plan("tool: tool, headers: [/opt/hip/include]").by_name["hipify.one.tables"]
    assert [(n.step, n.at) for n in tables.needs] == [("base", ""), ("source.tool", "/src/tool")]
    assert "for folder in /opt/hip/include; do" in tables.commands[0].argv[-1]


@pytest.mark.parametrize("more", ["", "matrix: {per_gfx: true}\n"])
def test_one_conversion_for_all_pythons_and_one_for_each_wavefront(more: str) -> None:
    recipe = RECIPE.replace(
        "kind: cmake, source: code, uses_gfx: GPU_TARGETS",
        "kind: onnxruntime, source: code, version: 1.22.1, providers: [rocm]",
    )
    made = plan(recipe=recipe + more)
    steps = sorted(s for s in made.by_name if s.startswith("hipify.") and not s.endswith(".tables"))
    assert steps == (["hipify.one.gfx1100", "hipify.one.gfx90a"] if more else ["hipify.one"])
    assert {params(made, s)["wavefronts"] for s in steps} == ({"[32]", "[64]"} if more else {"[32,64]"})
    users = [s.name for s in made.steps if any(n.part for n in s.needs)]
    assert len(users) == (4 if more else 2)


def test_a_base_without_hipify_is_found_before_it_is_made() -> None:
    def found(more: str, packages: dict[str, str]) -> list[str]:
        recipe = parse(RECIPE.replace("MORE", more), "t.yaml")
        given = CheckInput(recipe, Lock(schema=1, asked="0" * 64, packages=packages), "", "t.yaml", table())
        return [f.subject for f in check(given) if f.rule == "SB-STACK-HIPIFY"]

    assert found("", {"hipcc": "1"}) == ["components.one.hipify"]
    assert found("", {"hipify-perl": "1"}) == found("tool: tool", {"hipcc": "1"}) == []


def test_recipe_check_reads_rules_and_patches(tmp_path: Path) -> None:
    def found(more: str) -> list[tuple[str, str, str]]:
        (tmp_path / "t.yaml").write_text(RECIPE.replace("MORE", more))
        findings = hipify_findings(load(str(tmp_path / "t.yaml")))
        return [(f.rule, f.subject, f.found.replace(f"{tmp_path}/", "")) for f in findings]

    (tmp_path / "own.yaml").write_text(
        "schema: 1\nname: own\nrules:\n  - {id: x, why: w, identifier: Gone}\n  - {id: y}\n"
    )
    patches = tmp_path / "patches" / "one" / "1"
    patches.mkdir(parents=True)
    rules, folder = "components.one.hipify.rules", "components.one.hipify.patches"
    assert found("") == []
    assert found("rules: [own.yaml, generic]") == [
        ("SB-STACK-HIPIFY-RULES", rules, "own.yaml:4:5: a identifier rule says what it becomes"),
        ("SB-STACK-HIPIFY-RULES", rules, "own.yaml:5:5: a rule has one kind, this has 0"),
    ]
    assert found("rules: [generik]") == [("SB-STACK-HIPIFY-RULES", rules, "no rule set is called 'generik'")]
    assert found("rules: [gone.yaml]")[0][2] == "gone.yaml: the rule set cannot be read: No such file or directory"
    assert found("patches: one/2") == [("SB-STACK-PATCH", folder, "patches/one/2: there is no such folder")]
    assert found("patches: one/1") == [("SB-STACK-PATCH", folder, "patches/one/1: there is no patch in it")]
    (patches / "0001-a.patch").write_text("nothing")
    told = found("patches: one/1")
    assert ("SB-STACK-PATCH", folder, "patches/one/1/0001-a.patch:1:1: there is no unified diff in it") in told


def test_hipify_clang_parses_in_the_base_before_the_conversion() -> None:
    made = plan('engine: clang, cuda: /opt/cuda, clang_flags: ["-Iinclude", "-DX=a b"]')
    parsed = made.by_name["hipify.one.clang"]
    assert [(n.step, n.at) for n in parsed.needs] == [("base", ""), ("source.code", "/src/code")]
    script = parsed.commands[0].argv[-1]
    assert "--cuda-path=/opt/cuda -- -I. -Iinclude '-DX=a b'" in script and "cd /src/code\n" in script
    assert [n.step for n in made.by_name["hipify.one"].needs] == [
        "source.code",
        "hipify.one.tables",
        "hipify.one.clang",
    ]
    assert "hipify.one.clang" not in plan().by_name
    recipe = parse(RECIPE.replace("MORE", "engine: clang"), "t.yaml")
    given = CheckInput(recipe, Lock(schema=1, asked="0" * 64, packages={"hipify-perl": "1"}), "", "t.yaml", table())
    assert [f.found for f in check(given) if f.rule == "SB-STACK-HIPIFY"] == [
        "the base has no hipify-clang among its packages"
    ]


def test_the_text_of_cu_files_is_hipify_clang_s(tmp_path: Path) -> None:
    (tmp_path / "k").mkdir()
    (tmp_path / "k" / "a.cu").write_text("#include <hip/hip_runtime.h>\nby clang\n")
    engine = Engine("clang", small_tables(), bundled_rules("generic"), Target(), Tools(None, None), tmp_path)
    assert engine.run("cudaFree(p);\n", "k/a.cu").text == "#include <hip/hip_runtime.h>\nby clang\n"
    assert engine.run("cudaFree(p);\n", "k/a.cpp").text == "hipFree(p);\n"
    with pytest.raises(UsageError, match="hipify-clang could not read it"):
        engine.run("cudaFree(p);\n", "k/b.cu")


ASKED = ConversionOptions(
    ("generic",), "fast", include=(), exclude=(), keeps_twins=False, strict=False, resolve=False, target=Target()
)


def test_the_stage_looks_at_each_folder_of_a_source_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "src/below").mkdir(parents=True)
    (tmp_path / "src/a.cu").write_text("cudaFree(p);\n")
    (tmp_path / "src/below/link.cu").symlink_to("../a.cu")
    looked: list[str] = []

    def scandir(path: Path) -> object:
        if Path(path).is_relative_to(tmp_path / "src"):
            looked.append(Path(path).name)
        return scan(path)

    scan = files.os.scandir
    monkeypatch.setattr(files.os, "scandir", scandir)
    engine = Engine("fast", small_tables(), bundled_rules("generic"), Target(), Tools(None, None))
    report = convert_source(tmp_path / "src", tmp_path / "out", engine, ASKED)
    assert sorted(looked) == ["below", "src"]
    assert [Path(file.output).name for file in report.files] == ["a.cu"]


def test_a_source_of_nothing_but_links_is_refused(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "a.cu").write_text("cudaFree(p);\n")
    (tmp_path / "src/link.cu").symlink_to("../a.cu")
    engine = Engine("fast", small_tables(), bundled_rules("generic"), Target(), Tools(None, None))
    with pytest.raises(UsageError, match="its 1 C, C\\+\\+ and CUDA files are links"):
        convert_source(tmp_path / "src", tmp_path / "out", engine, ASKED)
