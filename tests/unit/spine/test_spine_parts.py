"""The small parts of a run: excerpts of logs, the jobserver's tokens, events as JSON, exit codes, texts that a terminal is shown."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest
from rich.console import Console

from stackbuild import __main__
from stackbuild.actions import snapshot
from stackbuild.actions.job import Local
from stackbuild.build.jobserver import Jobserver
from stackbuild.build.runs import Diary, expected, log_of, logs_of, new_id
from stackbuild.core import errors
from stackbuild.core.cancel import Stopper
from stackbuild.core.errors import Mistake, RecipeError, Stop, Stopped, UsageError, safe
from stackbuild.core.log_excerpt import MOST, WIDEST, clean, excerpt
from stackbuild.model.events import (
    Compiles,
    Note,
    RunFinished,
    RunStarted,
    StageFinished,
    StepBroke,
    StepFinished,
    StepStarted,
    document,
)
from stackbuild.plan.explain import Explanation
from stackbuild.store.store import Store
from stackbuild.views.build import lines_of
from stackbuild.views.console import out
from stackbuild.views.plan import draw_explanation
from stackbuild.views.text import format_duration

EVIL = "\x1b]0;owned\x07\x1b[31mred\x1b[0m \x9b2J \r\n::error::x [link=file:///etc/passwd]a[/link] \x00"


def test_an_excerpt_has_the_first_error_and_the_end() -> None:
    log = "\n".join([*(f"line {i}" for i in range(100)), "x.c:3:1: error: no such thing", *(f"more {i}" for i in range(100))])
    lines = excerpt(log)
    assert lines[0] == "x.c:3:1: error: no such thing" and lines[-1] == "more 99" and "…" in lines and len(lines) <= MOST


@pytest.mark.parametrize("log", ["", "\n\n", "one", "error: x", "\n".join(f"l{i}" for i in range(5))])
def test_short_logs_are_told_whole(log: str) -> None:
    assert list(excerpt(log)) == [line for line in log.splitlines() if line]


def test_lines_are_safe_for_a_terminal_and_not_endless() -> None:
    started = time.process_time()
    lines = excerpt(EVIL + "x" * 5_000_000 + "\nerror: " + "\x1b]" * 100_000 + "\n" + "\x1b[" * 100_000)
    assert time.process_time() - started < 2
    assert all(len(line) <= WIDEST and not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in line) for line in lines)
    assert clean("\x1b[1;31mfoo\x1b[0m") == "foo"


def test_messages_hold_no_control_characters() -> None:
    for error in (Stop(EVIL, where=EVIL, next=EVIL), RecipeError((Mistake("r:1:1", EVIL, EVIL),)), UsageError("\udc80\ud800")):
        assert all(c.isprintable() or c in "\n\t" for c in str(error))
        str(error).encode()
    assert str(Mistake("r:1:1", EVIL, EVIL)).count("\n") == 1, "a newline in a key cannot begin a line of its own"
    assert safe("a\nb\tc é 漢 \u202e") == "a\nb\tc é 漢 \\u202e"


def drawn(event: object) -> str:
    console = Console(file=io.StringIO(), force_terminal=False, width=200)
    for line in lines_of(event):  # type: ignore[arg-type]
        console.print(line)
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


def test_a_failure_is_drawn_with_command_lines_log_and_next_step() -> None:
    text = drawn(StepBroke("lib", "exit code 2", "make all", ("x.c:1: error: [bold]no[/bold]",), "/s/lib.log", "stackbuild shell --recipe r lib"))
    for part in ("lib", "exit code 2", "$ make all", "│ x.c:1: error: [bold]no[/bold]", "log:  /s/lib.log", "stackbuild shell --recipe r lib"):
        assert part in text


def test_events_drawn_and_as_json() -> None:
    events = [
        RunStarted("r1", "demo", ("a",), ("a",), "/f"), StepStarted("a", "k", "/l", 2.0), StepFinished("a", "k", "t", "run", 1.25, Compiles(3, 1)),
        StepFinished("b", "k", "t", "reused", 0.0), Note("warning", "[red]x"), StageFinished("publish", "dist", 0.1, True),
        StepBroke("c", "exit code 1", "make", ("l",), "/log", "look"), RunFinished("r1", 3.0, 1, 0, 1),
    ]  # fmt: skip
    for event in events:
        body = document(event)
        assert body["event"] == type(event).__name__
        assert json.loads(json.dumps(body)) == body
    assert "ccache 3/4 hits" in drawn(events[2]) and "[red]x" in drawn(events[4])


@pytest.mark.parametrize(("seconds", "text"), [(0.042, "0.042 s"), (0.0, "0 s"), (3.14, "3.1 s"), (59.4, "59 s"), (185, "3 min 05 s"), (7800, "2 h 10 min")])
def test_durations(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


def test_explanations_survive_strange_values(capsys: pytest.CaptureFixture[str]) -> None:
    out.cache_clear()
    draw_explanation(Explanation("s", "k", "env A: \x1b[2J\u2028x\n", "env A: y\n"))
    assert "\x1b[2J" not in capsys.readouterr().out
    out.cache_clear()


def test_tokens_are_lent_and_come_back(tmp_path: Path) -> None:
    server = Jobserver(tmp_path / "fifo", 2)
    stopper = Stopper()
    with server.token(stopper), server.token(stopper):
        assert not server._take()
    assert server._take() and server._take() and not server._take()
    server.refill()
    assert sum(server._take() for _ in range(5)) == 2
    assert server.makeflags == " -j2 --jobserver-auth=fifo:/jobserver"
    server.close()
    assert not (tmp_path / "fifo").exists()


def test_waiting_for_a_token_ends_when_the_run_is_stopped(tmp_path: Path) -> None:
    server, stopper = Jobserver(tmp_path / "fifo", 1), Stopper()
    with server.token(stopper):
        threading.Timer(0.1, stopper.set, (signal.SIGINT,)).start()
        started = time.monotonic()
        with pytest.raises(Stopped) as caught, server.token(stopper):
            pass
        assert time.monotonic() - started < 2 and caught.value.exit_code == 130
    server.close()


def test_a_stopper_is_set_once_and_signals_set_it() -> None:
    stopper = Stopper()
    before = signal.getsignal(signal.SIGTERM)
    with stopper.on_signals():
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.01)
        assert stopper.signal == signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) is before
    stopper.set(signal.SIGINT)
    with pytest.raises(Stopped) as caught:
        stopper.check()
    assert caught.value.exit_code == 143


def test_a_build_under_nohup_outlives_its_terminal() -> None:
    stopper = Stopper()
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stopper.on_signals():
            signal.raise_signal(signal.SIGHUP)
            stopper.check()
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_exit_codes_are_the_documented_ones() -> None:
    codes = {name: getattr(errors, name).exit_code for name in ("Defect", "UsageError", "RecipeError", "PlanError", "LockError", "StepFailed",
             "VerificationFailed", "GateClosed", "MachineLacks")}  # fmt: skip
    assert list(codes.values()) == [1, 2, 2, 3, 3, 4, 5, 6, 7]
    tree = errors.__doc__ or ""
    for name, code in codes.items():
        line = next(line for line in tree.splitlines() if f" {name} " in line)
        assert f" {code} " in line


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
        (("build", "--recipe", "debian-13", "--jobs", "-3"), 2, "greater than or equal to 0"),
        (("build",), 2, "--recipe"),
        (("plan", "--recipe", "debian-13", "--gfx", "gfx000"), 2, "gfx000"),
        (("plan", "--recipe", "debian-13", "--until", "nothing"), 2, "no step 'nothing'"),
        (("explain", "--recipe", "debian-13", "nothing"), 2, "no step 'nothing'"),
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
        ("recipe list", "stackbuild.recipes/1", {"recipes"}),
        ("recipe show debian-13", "stackbuild.recipe/1", {"recipe"}),
        ("recipe show -r debian-13", "stackbuild.recipe/1", {"recipe"}),
        ("recipe check -r debian-13", "stackbuild.check/1", {"recipe", "findings"}),
        ("plan -r debian-13", "stackbuild.plan/1", {"recipe", "steps"}),
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
    monkeypatch.setattr(importlib.import_module("stackbuild.recipe.load"), "load", lambda name: 1 / 0)
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
    monkeypatch.setattr("stackbuild.pipeline.stages.find_spec", lambda name: None if name == "onnx" else find(name))
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


def test_a_diary_keeps_events_and_how_long_steps_took(tmp_path: Path) -> None:
    store = Store(tmp_path / "store", new_id())
    heard: list[object] = []
    diary = Diary(store, [heard.append])
    (diary.logs / "a.log").write_text("hello")
    diary.emit(StepFinished("a", "k", "t", "run", 12.34))
    diary.emit(StepFinished("b", "k", "t", "cached", 99.0))
    diary.close(store, "demo")
    assert len(heard) == 2 and len((diary.folder / "events.jsonl").read_text().splitlines()) == 2
    assert expected(store, "demo") == {"a": 12.3}
    assert log_of(store.root, "", "a").read_text() == "hello" and logs_of(store.root, "")[0].name == "a.log"
    for bad in ("", "[1]", "5", "null", '{"a": "x"}', "\0", '{"a": [1]}'):
        (store.root / "runs" / ".seconds.demo.json").write_text(bad)
        assert expected(store, "demo") == {}


def test_run_ids_are_never_the_same() -> None:
    assert len({new_id() for _ in range(200)}) == 200


def test_a_snapshot_sees_every_change_of_a_source(tmp_path: Path) -> None:
    folder = tmp_path / "src"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "a.c").write_text("a")
    (folder / "run").write_text("x")
    (folder / "to-file").symlink_to("run")
    (folder / "to-folder").symlink_to("sub")
    (folder / "dangling").symlink_to("nowhere")
    seen = {snapshot.content(Local(folder))}
    for change in (
        lambda: (folder / "sub" / "a.c").write_text("b"),
        lambda: (folder / "run").chmod(0o755),
        lambda: (folder / "sub" / "a.c").rename(folder / "sub" / "b.c"),
        lambda: ((folder / "to-file").unlink(), (folder / "to-file").symlink_to("sub/b.c")),
        lambda: ((folder / "to-folder").unlink(), (folder / "to-folder").symlink_to("/")),
        lambda: (folder / "new").touch(),
        lambda: (folder / "dangling").unlink(),
    ):
        change()
        seen.add(snapshot.content(Local(folder)))
    assert len(seen) == 8
    before = snapshot.content(Local(folder))
    os.utime(folder / "run", (1, 1))
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "x.pyc").touch()
    assert snapshot.content(Local(folder)) == before


def test_what_is_no_file_in_a_source_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(UsageError, match="fifo"):
        snapshot.content(Local(tmp_path))


def test_a_source_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not there"):
        snapshot.content(Local(tmp_path / "gone"))
