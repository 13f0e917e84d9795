"""A failure says each thing once: the option, what is wrong, what to write. And it names the file that cannot be written."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from stackbuild.__main__ import run
from stackbuild.cli.completed_message import complete
from stackbuild.cli.option_forms import form_of
from stackbuild.core.errors import UsageError
from tests.unit.cli.test_option_forms import OPTIONS, answer

ADVICE = re.compile(r"(?:^|; |\? )(?:else )?(?:write|give|name|such as)\b", re.IGNORECASE)
REFUSED = [(c, o) for c, o in OPTIONS if (form := form_of(c, o)) and (form.choices or form.pattern)]


def repetitions(message: str) -> list[str]:
    """What a failure block says twice: an option, or what to write."""
    first, _, rest = message.partition("\n  next: ")
    step = rest.partition("\n")[0]
    twice = [
        option
        for option in re.findall(r"(?<!\S)--[a-z-]+(?=:| \S+:)", first)
        if len(re.findall(rf"{option}\b", first)) > 1
    ]
    return [*twice, *([step] if len(ADVICE.findall(step)) > 1 else [])]


def test_a_repetition_is_seen() -> None:
    assert repetitions("stackbuild: --color doctor: --color: 'doctor' is not one of auto\n  next: `x` lists them")
    assert repetitions("stackbuild: --nodes: no\n  next: write 90% or 0.9; write a share, such as `--nodes 90%`")
    assert repetitions("stackbuild: --device: no\n  next: such as 0; write an index, such as `--device 0`")
    assert not repetitions(
        "stackbuild: --nodes: no\n  next: write a share, such as `--nodes 90%`\n  help: stackbuild help usage"
    )


@pytest.mark.parametrize(
    "words",
    [
        ("start", "--gpu", "XX"), ("env", "--gpu", "MI300X", "--rocm", "foo"), ("env", "--gpu", "MI300X", "--device", "foo"),
        ("store", "gc", "--max-size", "foo"), ("doctor", "--venv", "/etc"), ("model", "check", __file__, "--nodes", "90"),
        ("--color", "doctor"), ("plan", "-r", "lc0", "--color", "x"), ("--color=x", "plan"), ("build", "-r", "lc0", "--jobs", "x"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_answered_once(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = answer([*words], monkeypatch, capsys)
    assert code == 2 and "next: " in said and repetitions(said) == [], said


@pytest.mark.parametrize(("command", "option"), REFUSED, ids=[f"{c} {o}" for c, o in REFUSED])
def test_each_option_says_once_what_it_takes(
    command: str, option: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("STACKBUILD_RECIPE", "debian-13")
    code, said = answer([*command.split(), option, "@"], monkeypatch, capsys)
    assert code == 2 and repetitions(said) == [], said


@pytest.mark.parametrize("step", ["write 90% or 0.9", "give the folder of a virtual environment", "name a wheel", "write for example 7.2.4"])  # fmt: skip
def test_a_step_that_says_what_to_write_gets_no_second_half(step: str) -> None:
    stop = UsageError("'foo' is not one", where="--nodes", next=step)
    complete(stop, ["model", "check", "--nodes", "foo"], {})
    assert stop.next == step


def test_a_step_that_says_nothing_to_write_gets_the_form_of_its_option() -> None:
    stop = UsageError("'foo' is not one", where="--nodes", next="the recipe has others")
    complete(stop, ["model", "check", "--nodes", "foo"], {})
    assert stop.next == "the recipe has others; write a share, such as `--nodes 90%`"


@pytest.mark.parametrize("words", ["plan -r lc0 --color x", "--color x plan"])
def test_the_values_of_an_option_without_a_line_in_the_help_are_listed(
    words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, said = answer(words.split(), monkeypatch, capsys)
    assert "--color: it cannot be 'x'\n  next: one of: auto, always, never\n" in said


@pytest.mark.parametrize(
    "words", ["--help", "inspect --help", "--show-completion bash", "-v --version", "version", "version --json"]
)
def test_a_full_standard_output_is_named_and_no_store(
    words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["stackbuild", *words.split()])
    with Path("/dev/full").open("w", buffering=1) as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert run() == 7
    assert (
        capsys.readouterr().err.splitlines()[0]
        == "stackbuild: standard output cannot be written: No space left on device"
    )
