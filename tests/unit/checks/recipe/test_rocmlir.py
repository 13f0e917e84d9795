"""What MIGraphX asks of rocMLIR, checked against the recipe's component."""

from stackbuild.checks.recipe import CheckInput, check_recipe
from stackbuild.model.lock import Dep, Lock
from stackbuild.recipe.load import load, parse
from stackbuild.recipe.lock_file import read_lock
from stackbuild.tables.compatibility import table
from support.recipes import text_of


def locked(name: str) -> Lock:
    return read_lock(load(name))


def findings(lock: Lock, *pairs: tuple[str, str]) -> dict[str, str]:
    text = text_of("rocm-6.4")
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    recipe = parse(text, "t.yaml")
    return {f.rule.removeprefix("SB-STACK-"): f.found for f in check_recipe(CheckInput(recipe, lock, text, "t.yaml", table()))}


def with_rocmlir(options: tuple[str, ...], commit: str) -> Lock:
    lock = locked("rocm-6.4")
    url = f"https://github.com/ROCm/rocMLIR/archive/{commit}.tar.gz"
    rows = (*(d for d in lock.deps["migraphx"] if d.name != "rocMLIR"), Dep(name="rocMLIR", url=url, options=options))
    return lock.model_copy(update={"deps": {**lock.deps, "migraphx": rows}})


def test_what_migraphx_asks_of_rocmlir_is_held_against_the_component() -> None:
    own = locked("rocm-6.4").commits["rocmlir"]
    assert not {"ROCMLIR-PIN", "ROCMLIR-OPTION", "NO-ROCMLIR"} & set(findings(locked("rocm-6.4")))
    assert "pins aaaaaaaaaaaa" in findings(with_rocmlir((), "a" * 40))["ROCMLIR-PIN"]
    found = findings(with_rocmlir(("-DLLVM_INCLUDE_TESTS=Off", "-DROCK_NEW=On"), own))
    assert "with -DROCK_NEW=On" in found["ROCMLIR-OPTION"]


def test_migraphx_without_rocmlir_is_said_before_it_fails_to_compile() -> None:
    found = findings(locked("rocm-6.4"), ("    needs: [rocmlir]\n", ""))
    assert "without rocMLIR" in found["NO-ROCMLIR"]
