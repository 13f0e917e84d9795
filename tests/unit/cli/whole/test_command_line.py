"""What a command line is answered: messages, exit codes, JSON documents."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

from stackbuild import __main__


def call(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["stackbuild", *words])
    with pytest.raises(SystemExit) as caught:
        __main__.main()
    return int(caught.value.code or 0)


def test_no_bad_word_ends_in_a_traceback(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "r.yaml").write_text("schema: 1\n")
    for words, code, said in (
        (("build", "--recipe", "nothing-like-it"), 2, "no recipe"),
        (("build", "--recipe", str(tmp_path / "r.yaml")), 2, "is missing"),
        (("build", "--recipe", "debian-13", "--runner", "podman"), 2, "no runner 'podman'"),
        (("build", "--recipe", "debian-13", "--jobs", "-3"), 2, "from 0 to 1024"),
        (("build",), 2, "--recipe"),
        (("plan", "--recipe", "debian-13", "--gfx", "gfx000"), 2, "gfx000"),
        (("plan", "--recipe", "debian-13", "--until", "nothing"), 2, "no step 'nothing'"),
        (("explain", "--recipe", "debian-13", "nothing"), 2, "no step 'nothing'"),
        (("plan", "--recipe", "debian-13", "--until", "kernel"), 2, "did you mean `kernels`? `stackbuild plan` lists"),
        (("explain", "--recipe", "debian-13", "wheeel"), 2, "did you mean `wheel`? `stackbuild plan` lists"),
        (("plan", "--recipe", "debian-13", "--gfx", "gfx11OO"), 2, "did you mean `gfx1100`? it has: gfx90a"),
        (("rules", "SB-ELF-CWD"), 2, "did you mean `SB-ELF-CWD-RUNPATH`?"),
        (("recipe", "show"), 2, "recipe show NAME"),
        (("logs", "nothing"), 2, "no log of step"),
        (("logs", "--run", "nothing"), 2, "no logs of run"),
        (("logs",), 2, "no step has run here yet"),
        (("nonsense",), 2, "nonsense"),
    ):
        assert call(monkeypatch, *words) == code, words
        said_all = capsys.readouterr()
        assert said in said_all.err + said_all.out, (words, said_all)
        assert "Traceback" not in said_all.err + said_all.out


@pytest.mark.parametrize(
    ("words", "what", "next"),
    [
        ("bild", "no command `stackbuild bild`", "did you mean `stackbuild build`?"),
        ("bench modles", "no command `stackbuild bench modles`", "did you mean `stackbuild bench models`?"),
        ("build --recipie debian-13", "build: no option `--recipie`", "did you mean `--recipe`?"),
        ("plan -r debian-13 --jobs 3", "plan: no option `--jobs`", "`stackbuild build`, "),
        ("plan -r debian-13 --zzz", "plan: no option `--zzz`", "`stackbuild plan --help` lists the options"),
        ("--nope", "no option `--nope`", "`stackbuild --help` lists the options"),
        ("gate --baseline a.whl", "gate: --candidate or -c is missing", "for example `stackbuild gate --baseline"),
        ("inspect", "inspect: FILE… is missing", "for example `stackbuild inspect dist/"),
        ("env --gpu", "env --gpu: it has no value", "write a product or a gfx target, such as `--gpu"),
        ("env --json=1", "env --json: it takes no value", "write `--json` alone"),
        ("--color blue plan", "--color: it cannot be 'blue'", "one of: auto, always, never"),
        ("plan -r debian-13 extra", "plan: got unexpected extra argument", "remove `extra`: `stackbuild plan` takes no words"),
        ("help biuld", "no topic, rule or command 'biuld'", "did you mean `build`?"),
        ("start --gpu gfx11OO", "no GPU 'gfx11OO' is known", "did you mean gfx1100?"),
        ("index check /nope", "/nope: there is no such folder", "give the folder of an index"),
        ("help wrong-recip", "no topic, rule or command 'wrong-recip'", "did you mean `wrong-recipe`?"),
    ],
)
def test_a_wrong_command_line_is_told_what_to_write(
    words: str, what: str, next: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, *words.split()) == 2
    first, second, third = capsys.readouterr().err.splitlines()
    assert first.startswith("stackbuild: ") and what in first
    assert second.startswith("  next: ") and next in second
    assert third == "  help: stackbuild help usage"


def test_a_message_on_a_terminal_is_wrapped_between_words_and_a_source_line_is_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "r.yaml").write_text("schema: 1\nname: " + "x" * 70 + "\ngfx: [gfx1100]\n")
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert call(monkeypatch, "plan", "-r", str(tmp_path / "r.yaml")) == 2
    lines = capsys.readouterr().err.splitlines()
    assert f"    name: {'x' * 70}" in lines
    words = [line for line in lines if "xxxxx" not in line and str(tmp_path) not in line]
    assert len(words) > 4 and all(len(line) <= 60 for line in words)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("help wrong-recipe", "## Wrong recipe"),
        ("help MACHINE", "### Network"),
        ("help sb-elf-cwd-runpath", "SB-ELF-CWD-RUNPATH"),
        ("help sb-stack-no-rocm", "The recipe does not say which ROCm it is for"),
        ("help no-rocm", "SB-STACK-NO-ROCM"),
        ("rules NO-ROCM SB-VENV-LOAD", "SB-VENV-LOAD"),
        ("help bench models", "Usage: stackbuild bench models"),
        ("-q help bench models", "Usage: stackbuild bench models"),
        ("--color never -v version", "stackbuild 0."),
        ("help", "First steps:"),
    ],
)
def test_help_explains_topics_rules_and_commands(
    words: str, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, *words.split()) == 0
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("build debian-13", "build --recipe debian-13"),
        ("plan --gfx gfx90a debian-13", "plan --recipe debian-13 --gfx gfx90a"),
        ("lock recipes/mine.yaml", "lock --recipe recipes/mine.yaml"),
        ("recipe check debian13", "recipe check --recipe debian13"),
        ("explain debian-13 kernels", "explain --recipe debian-13 kernels"),
        ("shell debian-13 kernels -- ls -r", "shell --recipe debian-13 kernels -- ls -r"),
        ("explain kernels", "explain --recipe R kernels"),
        ("fetch", "fetch --recipe R"),
    ],
)
def test_a_recipe_without_its_option_is_told_what_to_write(
    words: str, meant: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, *words.split()) == 2
    assert f"`stackbuild {meant}`" in capsys.readouterr().err


def test_other_mistakes_beside_a_recipe_are_told_as_before(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for words, said in (("build -r debian-13 foo", "foo"), ("build --recip debian-13", "--recipe"), ("build -kr nothing", "no recipe 'nothing'")):
        assert call(monkeypatch, *words.split()) == 2
        assert said in capsys.readouterr().err
    assert call(monkeypatch, "build", "--help") == 0


@pytest.mark.parametrize(
    ("words", "schema", "keys"),
    [
        ("recipe list", "stackbuild.recipes/1", {"recipes", "ran"}),
        ("recipe show debian-13", "stackbuild.recipe/1", {"recipe"}),
        ("recipe show -r debian-13", "stackbuild.recipe/1", {"recipe"}),
        ("recipe check -r debian-13", "stackbuild.check/1", {"recipe", "findings"}),
        ("plan -r debian-13", "stackbuild.plan/1", {"recipe", "steps", "times"}),
        ("explain -r debian-13 kernels", "stackbuild.explanation/1", {"key", "text", "before"}),
        ("env --gpu MI300X", "stackbuild.environment/1", {"settings", "warnings"}),
        ("store ls", "stackbuild.store/1", {"items", "unfinished"}),
        ("store check", "stackbuild.store-check/1", {"items"}),
        ("store gc", "stackbuild.store-gc/1", {"records", "trees", "size"}),
        ("rules SB-ELF-CWD-RUNPATH", "stackbuild.rules/1", {"items"}),
    ],
)
def test_json_is_one_document_that_names_its_shape(
    words: str, schema: str, keys: set[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, *words.split(), "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == schema and keys <= set(document)


def test_a_defect_keeps_its_traceback_in_a_file(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(importlib.import_module("stackbuild.recipe.prepare"), "prepare", lambda *given: 1 / 0)
    assert call(monkeypatch, "plan", "--recipe", "debian-13") == 1
    said = capsys.readouterr().err
    assert "defect" in said and "Traceback" not in said
    kept = next(tmp_path.glob("stackbuild-defect-*"))
    assert str(kept) in said and "ZeroDivisionError" in kept.read_text()


def test_a_package_of_an_extra_that_is_not_installed_is_no_defect(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`pip install stackbuild` has none of what measuring takes."""
    for module in ("numpy", *[name for name in sys.modules if name.startswith("stackbuild.bench")]):
        monkeypatch.setitem(sys.modules, module, None) if module == "numpy" else monkeypatch.delitem(sys.modules, module)
    assert call(monkeypatch, "bench", "models") == 7
    said = capsys.readouterr().err
    assert "numpy is not installed" in said and "stackbuild[bench]" in said and "defect" not in said


def test_what_measuring_takes_is_asked_for_before_anything_is_compiled(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Minutes of compiling and proving ended in a missing numpy."""
    find = importlib.util.find_spec
    monkeypatch.setattr("stackbuild.pipeline.gpu_benchmarks.find_spec", lambda name: None if name == "onnx" else find(name))
    assert call(monkeypatch, "build", "-r", "debian-13") == 7
    said = capsys.readouterr().err
    assert "onnx not installed: the recipe's `bench` cannot be run" in said and "-m pip install numpy onnx" in said
    assert "base" not in said


def test_a_plan_of_a_fresh_store_runs_nothing_and_dry_run_says_the_same(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(monkeypatch, "plan", "--recipe", "debian-13", "--json") == 0
    planned = json.loads(capsys.readouterr().out)
    assert planned["schema"] == "stackbuild.plan/1"
    assert {row["state"] for row in planned["steps"]} == {"run"} and planned["steps"][0]["why"] == "never built here"
    assert call(monkeypatch, "plan", "--recipe", "debian-13", "--detailed-exitcode") == 10
    capsys.readouterr()
    assert call(monkeypatch, "build", "--recipe", "debian-13", "--dry-run", "--json") == 0
    rehearsed = json.loads(capsys.readouterr().out)
    assert {row["step"] for row in rehearsed["items"]} == {row["step"] for row in planned["steps"]}
    words = [word for row in rehearsed["items"] for argv in row["commands"] for word in argv]
    assert "cmake" in words and not any(word.startswith("-j") for word in words)
