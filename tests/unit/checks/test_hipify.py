"""What `recipe check` says of a recipe's `hipify:`."""

from __future__ import annotations

from pathlib import Path

from stackbuild.checks.hipify import hipify_findings
from stackbuild.checks.recipe import CheckInput, check_recipe
from stackbuild.model.lock import Lock
from stackbuild.recipe.load import load, parse
from stackbuild.tables.compatibility import table
from support.hipify import RECIPE


def test_a_base_without_hipify_is_found_before_it_is_made() -> None:
    def found(more: str, packages: dict[str, str]) -> list[str]:
        recipe = parse(RECIPE.replace("MORE", more), "t.yaml")
        given = CheckInput(recipe, Lock(schema=1, asked="0" * 64, packages=packages), "", "t.yaml", table())
        return [f.subject for f in check_recipe(given) if f.rule == "SB-STACK-HIPIFY"]

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
    assert found("rules: [generik]") == [("SB-STACK-HIPIFY-RULES", f"{rules}.0", "no rule set is called 'generik'")]
    assert found("rules: [gone.yaml]")[0][2] == "gone.yaml: the rule set cannot be read: No such file or directory"
    assert found("patches: one/2") == [("SB-STACK-PATCH", folder, "patches/one/2: there is no such folder")]
    assert found("patches: one/1") == [("SB-STACK-PATCH", folder, "patches/one/1: there is no patch in it")]
    (patches / "0001-a.patch").write_text("nothing")
    told = found("patches: one/1")
    assert ("SB-STACK-PATCH", folder, "patches/one/1/0001-a.patch:1:1: there is no unified diff in it") in told


def test_a_glob_of_a_deeper_file_and_another_tools_word_are_written_out(tmp_path: Path) -> None:
    (tmp_path / "code" / "src").mkdir(parents=True)
    (tmp_path / "code" / "src" / "a.cu").write_text("")
    (tmp_path / "own.yaml").write_text(
        "schema: 1\nname: own\nrules:\n  - {id: x, why: w, identifier: Gone, replace: Here}\n"
    )
    (tmp_path / "t.yaml").write_text(RECIPE.replace("MORE", "include: ['*.cu'], rules: [own.yaml]"))
    fixes = [finding.fix for finding in hipify_findings(load(str(tmp_path / "t.yaml")))]
    assert {*fixes} == {"write `to: Here`", 'write `"**/*.cu"`: `**/` stands for any folders'}
