"""The known word that a person probably meant. Pure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from stackbuild.tables.key_words import choices_of_word


def nearest(word: str, candidates: list[str]) -> str:
    """The known word that was probably meant, "" where none is near. Case and the marks `-`, `_`, `.` count for nothing.

    A word of several parts, of which one is known, means that one, the last before the first: `kernels-wheel` is `wheel`.
    """
    plain = {re.sub(r"[-_. ]", "", name.lower()): name for name in reversed(candidates)}
    bare = re.sub(r"[-_. ]", "", word.lower())
    if matches := difflib.get_close_matches(bare, plain, n=1, cutoff=_ALMOST_EQUAL):
        return plain[matches[0]]
    parts = re.split(r"[-_. ]+", word.lower())
    if known_part := next((plain[part] for part in reversed(parts[1:]) if len(part) > 3 and part in plain), ""):
        return known_part
    if matches := difflib.get_close_matches(bare, plain, n=1, cutoff=0.6):
        return plain[matches[0]]
    inside = [
        name for text, name in plain.items() if len(bare) > 2 and len(text) > 2 and (bare in text or text in bare)
    ]
    return inside[0] if len(inside) == 1 else ""


_ALMOST_EQUAL = 0.85
"""From this ratio of difflib's on, the whole word is spelt alike, whatever its parts are."""


def question(word: str, names: list[str]) -> str:
    """`did you mean …? ` before a list of all the names; "" where none is near."""
    near = nearest(word, names)
    return f"did you mean `{near}`? " if near else ""


def one_of(word: str, choices: Sequence[str], otherwise: str = "") -> str:
    """The next step for a word that is not one of a few: the one that was probably meant, else all; then `otherwise`."""
    words = [*choices]
    near = next((each for each in choices_of_word(word) if each in words), "")
    near = near or nearest(word, words) or _word_of_abbreviation(word.lower(), words)
    if near:
        return f"did you mean `{near}`?" + (f" Else {otherwise}" if otherwise else "")
    return f"one of: {', '.join(words)}" + (f", or {otherwise}" if otherwise else "")


def _word_of_abbreviation(word: str, words: list[str]) -> str:
    """The only word that begins as an abbreviation and has its letters in order: `gh` is github. "" where there is not one."""
    letters = re.sub(r"[^a-z0-9]", "", word)
    matches = [each for each in words if letters and re.match(".*?".join(letters), each.lower())]
    return matches[0] if len(matches) == 1 else ""


def close_to(word: str, candidates: list[str]) -> str:
    """The next step for a word that is not known: the nearest known one, or all of them."""
    near = nearest(word, candidates)
    choices = f"known are: {', '.join(candidates)}" if candidates else "none is defined: define it, or remove it here"
    return f"did you mean `{near}`?" if near else choices


def step_meant(word: str, steps: list[str]) -> str:
    """The next step for a word that a plan has no step of: the step that was probably meant, or all of them."""
    if word.lower() in ("verify", "verification", "test", "check", "gate", "gates", "bench", "publish", "all", "end") and steps:
        wheels = [step for step in steps if "wheel" in step and not step.startswith("wheelhouse")]
        return f"write `{(wheels or steps)[-1]}`, the last step: `build` without it verifies, judges and publishes after all steps"
    near = nearest(word, steps)
    return f"did you mean `{near}`? `stackbuild plan` lists the steps" if near else f"steps are: {', '.join(steps)}"


def rules_meant(id_: str, ids: list[str]) -> str:
    """The next step for an id that no rule has: the rules that begin so, where the last word was cut, or the nearest."""
    siblings = [each for each in ids if each.removeprefix("SB-").startswith(id_.upper().removeprefix("SB-"))]
    if len(siblings) > 1 and not any(f"{id_.upper()}-" in f"{each}-" for each in siblings):
        return f"these begin so: {', '.join(siblings)}"
    near = rule_near(id_, ids)
    return f"did you mean `{near}`?" if near else ""


def rule_near(id_: str, ids: list[str]) -> str:
    """The rule whose id is almost that one behind their common beginning `SB-`; "" where none is."""
    by_rest = {each.removeprefix("SB-"): each for each in ids}
    rest = id_.upper().removeprefix("SB-")
    longer = [each for each in by_rest if each.startswith(rest)]
    of_parts = [each for each in by_rest if {*rest.split("-")} <= {*each.split("-")}]
    near = longer if len(longer) == 1 and len(of_parts) < 2 else difflib.get_close_matches(rest, by_rest, 1, 0.75)
    return by_rest[near[0]] if near else ""
