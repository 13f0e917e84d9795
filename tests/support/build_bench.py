"""A small Debian base, built once through stackbuild itself and kept in a cache of its own; each test gets it as hardlinks."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from stackbuild.core import digest
from stackbuild.model import plan
from stackbuild.model.lock import questions_digest
from stackbuild.plan.resolve import BASE_MAKER
from stackbuild.recipe.load import parse
from stackbuild.store import locks, records
from stackbuild.store.store import FORMAT
from support.other_user import OtherUser

BASE = """\
schema: 1
name: NAME
summary: a test
base: {debian: {suite: trixie, packages: [ccache, gcc, libc6-dev, make]}}
gfx: [gfx90a]
"""
CACHE = Path.home() / ".cache" / "stackbuild" / "test-bases"
"""Outside every test's own home: read when pytest starts, before homes are made."""
EMPTY_LOCK = 'schema: 1\nasked: "{asked}"\npackages: {packages}\n'


@dataclass
class BuildBench:
    """A folder with a recipe, its lock, and a store that has the base."""

    root: Path
    store: Path
    env: dict[str, str] = field(default_factory=dict)
    user: OtherUser | None = None
    """Who runs stackbuild, where it is not the user of the tests."""
    pid: int = 0

    @property
    def recipe(self) -> Path:
        return self.root / "t.yaml"

    def write(self, components: str, more: str = "") -> None:
        """The recipe `t` with these components; its lock stays true, for the questions are the same."""
        self.recipe.write_text(BASE.replace("NAME", "t") + more + "components:\n" + components)

    def command(self, *words: str) -> list[str]:
        python = [*self.user.prefix, self.user.python] if self.user else [sys.executable]
        return [*python, "-m", "stackbuild", *words]

    def environment(self) -> dict[str, str]:
        theirs = self.user.environment if self.user else {}
        return {**os.environ, "STACKBUILD_STORE": str(self.store), **theirs, **self.env}

    def run(
        self, *words: str, check: int | None = 0, timeout: float = 120, before: tuple[str, ...] = ()
    ) -> subprocess.CompletedProcess[str]:
        """`stackbuild WORDS` in the folder; fails the test unless it ends with the exit code `check` (None: any)."""
        done = subprocess.run(
            [*before, *self.command(*words)],
            cwd=self.root,
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        assert check is None or done.returncode == check, (
            f"exit {done.returncode}, not {check}:\n{done.stdout}\n{done.stderr}"
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def build(
        self, *words: str, check: int | None = 0, timeout: float = 120, before: tuple[str, ...] = ()
    ) -> subprocess.CompletedProcess[str]:
        return self.run("build", "--recipe", str(self.recipe), *words, check=check, timeout=timeout, before=before)

    def events(self, done: subprocess.CompletedProcess[str], kind: str = "") -> list[dict[str, object]]:
        """The events of a `build --json`, all or of one kind."""
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        return [row for row in rows if kind in ("", row["event"])]

    def trees(self) -> dict[str, str]:
        """Each step's output digest, as the plan names its key."""
        rows = json.loads(self.run("plan", "--recipe", str(self.recipe), "--json").stdout)["steps"]
        found = {}
        for row in rows:
            record = self.store / "records" / row["key"][:2] / f"{row['key']}.json"
            if record.exists():
                found[row["step"]] = json.loads(record.read_text())["tree"]
        return found

    def tree(self, step: str) -> Path:
        digest = self.trees()[step]
        return self.store / "trees" / digest[:2] / digest

    def leftovers(self) -> list[str]:
        """Staging that is left in the store."""
        return sorted(p.name for p in (self.store / "tmp").iterdir())


def ensure_base(scratch: Path, recipe: str = BASE, timeout: float = 280) -> Path:
    """The folder with a recipe's base, built by stackbuild itself unless it is there: once for all sessions and workers."""
    text = recipe.replace("NAME", "t") + "components: {x: {kind: script, run: [[/bin/true]]}}\n"
    question = questions_digest(parse(text, "t.yaml"))
    folder = CACHE / digest.of_text(f"{question} {records.SCHEMA} {FORMAT} {BASE_MAKER} {plan.FORMAT}")[:16]
    with locks.hold(folder.with_name(f"{folder.name}.lock"), lambda pid: None, lambda: None):
        stamp = folder / "stamp"
        if not stamp.exists() or stamp.read_text() != _stamp(folder / "store"):
            shutil.rmtree(folder, ignore_errors=True)
            bench = BuildBench(scratch, folder / "store")
            bench.recipe.write_text(text)
            (scratch / "t.lock.yaml").write_text(EMPTY_LOCK.format(asked=question, packages="{}"))
            bench.build("--until", "base", timeout=timeout)
            packages = _installed(folder / "store")
            folder.joinpath("t.lock.yaml").write_text(EMPTY_LOCK.format(asked=question, packages=json.dumps(packages)))
            stamp.write_text(_stamp(folder / "store"))
    _bases.setdefault(folder, _file_states(folder / "store" / "trees"))
    return folder


_bases: dict[Path, set[str]] = {}
"""The state of every file of the bases that this process has asked for."""


def changed_base() -> str:
    """Files of a shared base that are not as this process found them, in words; "" where all are. Each change is told once."""
    for folder, states in _bases.items():
        now = _file_states(folder / "store" / "trees")
        if changes := sorted(now ^ states):
            _bases[folder] = now
            return f"the tests' shared base was changed meanwhile: {'; '.join(changes[:4])}"
    return ""


def _installed(store: Path) -> dict[str, str]:
    for path in (store / "records").glob("*/*.json"):
        notes = json.loads(path.read_text())["notes"]
        if "packages" in notes:
            return dict(json.loads(notes["packages"]))
    raise AssertionError("no record of the base")


def link_store(source: Path, target: Path) -> None:
    target.mkdir(parents=True)
    names = ["records", "trees", "manifests", "latest", "format"]
    subprocess.run(["cp", "-al", *(str(source / name) for name in names), str(target)], check=True)


def _stamp(store: Path) -> str:
    """The digest of the path, mode, size and time of each file: tests link to them, and one may change what all have."""
    paths = sorted((store / "trees").rglob("*"))
    return digest.of_text("\n".join(_state(str(path)) for path in paths))


def _file_states(folder: Path) -> set[str]:
    return {_state(f"{above}/{name}") for above, *names in os.walk(folder) for name in (*names[0], *names[1])}


def _state(path: str) -> str:
    status = os.lstat(path)
    return f"{path} {status.st_mode} {status.st_size} {status.st_mtime_ns}"
