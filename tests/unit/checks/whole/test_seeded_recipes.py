"""Wrong recipes as users write them: `recipe check` names the place, the cause and the next step of each.

`tests/seeded-recipes/seeds.yaml` was in sight while the messages were written; `unseen.yaml` was written afterwards. Nothing
was changed for it before 2026-11-23; two messages that it missed have been changed since. `third.yaml` was written before
any of it was run: 21 of its 30 were whole at first sight, and the other nine were corrected. `pytest -s` prints the figures of both, with what was missed.

`draws.yaml` has further draws, each written after the messages for the one before it were corrected, and read by a person:
docs/your-machine.md has the figures. Its messages are a snapshot, `draws.txt`: `STACKBUILD_SNAPSHOTS=write` writes it anew.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from stackbuild.__main__ import run
from support.paths import TESTS

FOLDER = TESTS / "seeded-recipes"
PARTS = ("place", "cause", "next")


@dataclass(frozen=True)
class Seed:
    """One change to a right recipe, and what the message about it must hold."""

    id: str
    of: str
    old: str
    new: str
    at: str | list[str]
    cause: list[str]
    next: list[str]

    def text(self) -> str:
        whole = (FOLDER / f"{self.of}.yaml").read_text()
        assert whole.count(self.old) >= 1, f"{self.id}: {self.old!r} is not in {self.of}.yaml"
        return whole.replace(self.old, self.new, 1)

    def lines(self, text: str) -> set[int]:
        """The lines that the message may name."""
        found = {text.count("\n", 0, text.find(at)) + 1 for at in ([self.at] if isinstance(self.at, str) else self.at)
                 if at in text}  # fmt: skip
        assert found, f"{self.id}: nothing to point at"
        return found

    def judged(self, said: str) -> set[str]:
        """Which of place, cause and next step the best of the messages holds."""
        allowed, best = self.lines(self.text()), set[str]()
        for block in re.split(r"(?m)^(?=(?:\w+:? +)?recipe\.yaml:\d+)", said):
            at = re.match(r"(?:\w+:? +)?recipe\.yaml:(\d+)", block)
            step = block.partition("next:")[2]
            holds = {
                "place": int(at[1]) in allowed if at else False,
                "cause": all(re.search(word, block, re.IGNORECASE) for word in self.cause),
                "next": any(re.search(word, step, re.DOTALL) for word in self.next),
            }
            good = {part for part, held in holds.items() if held}
            best = max(best, good, key=len)
        return best


def seeds(name: str) -> list[Seed]:
    return [Seed(**row) for row in yaml.safe_load((FOLDER / name).read_text())]


def folder_with(text: str, root: Path) -> Path:
    """A recipe in a folder with what the right recipes name."""
    shutil.copytree(FOLDER / "tool", root / "tool")
    path = root / "recipe.yaml"
    path.write_text(text)
    return path


def told(path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.chdir(path.parent)
    monkeypatch.setattr(sys, "argv", ["stackbuild", "recipe", "check", "-r", path.name])
    monkeypatch.setenv("COLUMNS", "500")
    code = run()
    said = capsys.readouterr()
    return f"{said.out}{said.err}\nexit {code}"


@pytest.mark.parametrize("name", ["kernels", "stack", "script"])
def test_the_recipes_that_are_changed_are_right(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = told(folder_with((FOLDER / f"{name}.yaml").read_text(), tmp_path), monkeypatch, capsys)
    assert "exit 0" in said and "error" not in said.replace("0 errors", ""), said


@pytest.mark.parametrize(("name", "least"), [("seeds.yaml", 0.97), ("unseen.yaml", 0.9), ("third.yaml", 0.97)])
def test_most_mistakes_are_told_with_place_cause_and_next_step(
    name: str, least: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    missed: list[str] = []
    rows = [row for row in seeds(name) if row.id not in READ_SINCE]
    for seed in rows:
        (tmp_path / seed.id).mkdir()
        said = told(folder_with(seed.text(), tmp_path / seed.id), monkeypatch, capsys)
        if lacking := [part for part in PARTS if part not in seed.judged(said)]:
            missed.append(f"{seed.id}: no {', '.join(lacking)}: {said.strip()}")
    whole = len(rows) - len(missed)
    counts = {part: sum(part in m.split(": ")[1] for m in missed) for part in PARTS}
    print(f"{name}: {whole} of {len(rows)} whole; lacking {counts}", *missed, sep="\n")
    assert whole >= least * len(rows), "\n".join(missed)


@pytest.mark.parametrize(
    ("name", "missed"),
    [
        # what a reader accepts and the words do not: another right word for the same, and texts that are valid after all
        ("frozen-10.yaml", {"10-45", "10-49", "10-53", "10-57", "10-58", "10-94", "10-95"}),
        ("frozen-11.yaml", {"11-02", "11-69"}),
        ("frozen-12.yaml", {"12-04", "12-13", "12-61"}),
        ("frozen-13.yaml", {"13-38", "13-62", "13-66", "13-72", "13-74"}),
        ("frozen-14.yaml", {"14-01", "14-05"}),
    ],
)
def test_draws_whose_words_were_frozen_hold_them(
    name: str, missed: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first sight is in docs/way-in-evidence.md. This is what they have since the corrections."""
    lacking = set()
    for row in yaml.safe_load((FOLDER / name).read_text()):
        folder = tmp_path / row["id"]
        folder.mkdir()
        if row["id"] in READ_SINCE:
            continue
        if "of" not in row:
            if row["id"] not in ELSEWHERE and not answers_command(row, folder, monkeypatch, capsys):
                lacking.add(row["id"])
            continue
        folders_of_bases(folder)
        text = (BASES / f"{row['of']}.yaml").read_text().replace(row["old"], row["new"], 1)
        (folder / "recipe.yaml").write_text(text)
        said = told(folder / "recipe.yaml", monkeypatch, capsys)
        lines = {n for n, line in enumerate(text.split("\n"), 1) if any(at in line for at in row["at"].split("|"))}
        for block in re.split(r"(?m)^(?=(?:\w+:? +)?recipe\.yaml:\d+)", said):
            at, step = re.match(r"(?:\w+:? +)?recipe\.yaml:(\d+)", block), block.partition("next:")[2]
            has_place_and_step = at and int(at[1]) in lines and re.search(row["next"], step, re.DOTALL)
            if has_place_and_step and all(re.search(word, block, re.IGNORECASE) for word in row["cause"]):
                break
        else:
            lacking.add(row["id"])
    assert lacking == missed


ELSEWHERE = {"12-69": "a process", "12-76": "a process", "12-79": "a network"}
"""Rows that a unit test cannot run, and what they need."""


def answers_command(
    row: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> bool:
    """Whether a wrong command line, setting or wheel is answered with place, cause and next step."""
    for name, text in row.get("files", {}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    for name, entries in {**row.get("wheels", {}), **row.get("cut", {})}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(folder / name, "w") as archive:
            for member, text in entries.items():
                archive.writestr(member, text)
        if name in row.get("cut", {}):
            whole = (folder / name).read_bytes()
            (folder / name).write_bytes(whole[: len(whole) * 2 // 3])
    with monkeypatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(os, "environ", {**os.environ, "COLUMNS": "500", "STACKBUILD_STORE": str(folder / ".store"), **row.get("env", {})})
        patch.setattr(sys, "argv", ["stackbuild", *shlex.split(row["command"])])
        run()
    said = "".join(capsys.readouterr())
    step = said if row["kind"] == "wheel" else said.partition("next:")[2]
    has_cause = all(re.search(word, said, re.IGNORECASE) for word in row["cause"])
    return has_cause and any(at in said for at in row["at"].split("|")) and bool(re.search(row["next"], step, re.DOTALL))


def folders_of_bases(folder: Path) -> None:
    """The folders that the recipes of `bases/` name, with the files that are looked for."""
    for file in ("tool/Makefile", "saxpy/saxpy.cu", "saxpy/CMakeLists.txt", "conv/conv.cu", "conv/CMakeLists.txt", "engine/CMakeLists.txt"):
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_text("")


BASES = FOLDER / "bases"
READ_SINCE = {
    "memory-space", "memory-gib", "memory-tera", "size-mb", "10-73", "10-74", "10-77", "11-79", "11-82",
    "2-32", "2-33", "2-35", "3-14", "4-27", "5-050", "5-051", "5-085", "6-55", "8-08", "8-10", "9-04",
}  # fmt: skip
"""Sizes such as `6 GiB` and `1T`, which were mistakes when they were seeded. One parser reads all sizes since 2026-11-30."""
LISTS = re.compile(r"((?:known are:?|one of:|it has|There are|those that can are) )(?:[^\s,]+, )+[^\s,]+")
"""Lists of all choices grow with the tables; tests of their own look at them."""
ASIDE = re.compile(
    r"\s*help: |`stackbuild help ID`|.*: \d+ errors?, |note |warning +lock: |         (a build stops|upstream may|binaries for)"
)
"""Lines that are of the recipe before its change, and not of the mistake."""


def drawn_text(row: dict[str, str]) -> str:
    text = (BASES / f"{row['of']}.yaml").read_text()
    assert row.get("old", "") in text, row["id"]
    return row["text"] if "text" in row else text.replace(row["old"], row["new"], 1)


def test_drawn_mistakes_have_the_messages_that_were_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sections, elsewhere = [], []
    for folder, file, text in (
        ("tool", "Makefile", "all:\n"),
        ("saxpy", "saxpy.cu", "__global__ void f() {}\n"),
        ("conv", "conv.cu", ""),
        ("conv", "CMakeLists.txt", ""),
        ("engine", "CMakeLists.txt", ""),
    ):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / file).write_text(text)
    (tmp_path / "saxpy/CMakeLists.txt").touch()
    for row in yaml.safe_load((FOLDER / "draws.yaml").read_text()):
        path, text = tmp_path / "recipe.yaml", drawn_text(row)
        path.write_bytes(text.encode())
        said = told(path, monkeypatch, capsys).replace(str(tmp_path), "FOLDER").replace(str(tmp_path.parent), "PARENT")
        kept = [LISTS.sub(r"\1…", line.rstrip()) for line in said.split("\n") if line and not ASIDE.match(line)]
        sections.append(f"== {row['id']}: {row['wrong']}\n" + "\n".join(kept) + "\n")
        reported = [text.split("\n")[int(n) - 1] for n in re.findall(r"recipe\.yaml:(\d+)", said)]
        if "at" in row and row["id"] not in READ_SINCE and not any(part in line for part in row["at"].split("|") for line in reported):
            elsewhere.append(f"{row['id']}: {reported}")
    assert not elsewhere
    snapshot = FOLDER / "draws.txt"
    if os.environ.get("STACKBUILD_SNAPSHOTS") == "write":
        snapshot.write_text("\n".join(sections))
    assert snapshot.read_text() == "\n".join(sections)


def test_sizes_that_were_mistakes_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folders_of_bases(tmp_path)
    ids = set()
    for row in [row for name in ("seeds", "frozen-10", "frozen-11", "draws") for row in yaml.safe_load((FOLDER / f"{name}.yaml").read_text())]:
        if row["id"] in READ_SINCE:
            ids.add(row["id"])
            is_seed = "what" not in row and (FOLDER / f"{row['of']}.yaml").exists()
            text = Seed(**row).text() if is_seed else drawn_text(row)
            (tmp_path / "recipe.yaml").write_text(text)
            assert "is a size" not in told(tmp_path / "recipe.yaml", monkeypatch, capsys), row["id"]
    assert ids == READ_SINCE


@pytest.mark.parametrize("base", sorted(BASES.glob("*.yaml")), ids=lambda p: p.stem)
def test_the_recipes_that_are_drawn_from_are_right(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in ("tool", "saxpy", "conv", "engine"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "saxpy.cu").write_text("")
        (tmp_path / folder / "conv.cu").write_text("")
        (tmp_path / folder / "CMakeLists.txt").touch()
    (tmp_path / "recipe.yaml").write_text(base.read_text())
    assert " 0 errors" in told(tmp_path / "recipe.yaml", monkeypatch, capsys)
