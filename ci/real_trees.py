"""What the real source trees do under the bundled recipes: configures, compiles, links, loads. And a mirror of them.

    ci/real-trees --make FETCHED MIRROR
    ci/real-trees MIRROR [RECIPE …]

FETCHED has repositories as `OWNER+NAME/repo` or `OWNER/NAME.git`. GitHub's archives are made anew from them: `git archive` with
the same prefix, time zone and compression gives the same bytes, and where a lock has a digest it decides. The table tells what
was run here and now (configures), and what the store holds (compiles and links: the step's output; loads: the rungs of
`stackbuild verify` on the wheels). Nothing of the trees is written but to MIRROR and the store.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from stackbuild.core.digest import of_file
from stackbuild.model.components import MIGraphXPackage
from stackbuild.model.loaded_recipe import LoadedRecipe
from stackbuild.recipe.load import bundled_recipes, load
from stackbuild.recipe.lock_file import read_lock
from stackbuild.recipe.wheels import wheels_of
from stackbuild.sources.git import in_mirror
from stackbuild.sources.mirror import SCOPE, SOURCES, VARIABLE, Mirror
from stackbuild.store.store import default_root

ARCHIVE = re.compile(
    r"https://github\.com/(?P<owner>[^/]+)/(?P<name>[^/]+)/archive/(?:refs/tags/)?(?P<ref>[^/]+?)"
    r"(?:/[^/]+)?(?P<end>\.zip|\.tar\.gz)$"
)
MOVED_REPOSITORIES = {"google/protobuf": "protocolbuffers/protobuf", "microsoft/onnxruntime": "ROCm/onnxruntime"}
"""A repository that is fetched under another name: a former owner's, and a fork with the same commits."""
GITHUB = {**os.environ, "TZ": "America/Los_Angeles"}
"""A zip archive has local times: those of GitHub's servers."""


@dataclass(frozen=True)
class TreeRow:
    """A line of the table."""

    recipe: str
    component: str
    source: str
    configures: str = "–"
    compiles: str = "–"
    loads: str = "–"

    def __str__(self) -> str:
        cells = (f"`{self.recipe}`", self.component, self.source, self.configures, self.compiles, self.loads)
        return f"| {' | '.join(cells)} |"


def repository(downloads: Path, name: str) -> Path | None:
    """Where the repository OWNER/NAME lies, under that name or the one it is fetched under."""
    for one in (name, MOVED_REPOSITORIES.get(name, name)):
        for place in (downloads / one.replace("/", "+") / "repo", downloads / f"{one}.git", downloads / one):
            if (place / "HEAD").is_file() or (place / ".git").exists():
                return place
    return None


def make(downloads: Path, mirror: Path) -> int:
    """Lay the mirror out; say what it lacks. Returns the exit code."""
    lacking = []
    for name in sorted(bundled_recipes()):
        loaded_recipe = load(name)
        for url in sorted({s.git for s in loaded_recipe.recipe.sources.values() if s.git}):
            owner_name = url.removeprefix("https://github.com/").removesuffix(".git")
            if place := repository(downloads, owner_name):
                link = mirror / "github.com" / f"{owner_name}.git"
                link.parent.mkdir(parents=True, exist_ok=True)
                link.unlink(missing_ok=True)
                link.symlink_to(place.resolve())
            else:
                lacking.append(url)
        for rows in read_lock(loaded_recipe).deps.values():
            lacking += [f"{d.url}: {fault}" for d in rows if (fault := _archive(d.url, d.digest, downloads, mirror))]
    print(*(f"lacks {line}" for line in sorted(set(lacking))), sep="\n")
    return 0


def _archive(url: str, digest: str, downloads: Path, mirror: Path) -> str:
    """Make the archive of that URL. Returns why it could not be made, "" where it was, or lies there."""
    match = ARCHIVE.match(url)
    target = mirror / url.removeprefix("https://")
    if target.is_file():
        return _differs(target, digest)
    place = repository(downloads, f"{match['owner']}/{match['name']}") if match else None
    if match is None or place is None:
        return "no repository to make it of"
    form = "zip" if match["end"] == ".zip" else "tar"
    folder = f"{match['name']}-{re.sub(r'^v(?=[0-9])', '', match['ref'])}/"
    words = ["git", "-C", str(place), "archive", f"--format={form}", f"--prefix={folder}"]
    process = subprocess.run(
        [*words, *(["-6"] if form == "zip" else []), match["ref"]], env=GITHUB, capture_output=True
    )
    if process.returncode:
        return process.stderr.decode(errors="replace").strip().splitlines()[-1]
    data = process.stdout
    if form == "tar":
        data = subprocess.run(["gzip", "-n"], input=data, capture_output=True, check=True).stdout
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.part")
    part.write_bytes(data)
    if fault := _differs(part, digest):
        part.unlink()
        return fault
    part.rename(target)
    return ""


def _differs(path: Path, digest: str) -> str:
    kind, _, reference = digest.partition(":")
    now = of_file(path) if kind == "sha256" else hashlib.sha1(path.read_bytes(), usedforsecurity=False).hexdigest()
    return f"made with {kind} {now}, the lock has {reference}" if reference and now != reference else ""


def table(mirror: Path, names: list[str]) -> Iterator[TreeRow]:
    """The rows of each recipe, all where none is named."""
    for name in names or sorted(bundled_recipes()):
        loaded_recipe = load(name)
        sources = [s for s in loaded_recipe.recipe.sources.values() if s.git]
        absent = [s.git for s in sources if s.git and in_mirror(s.git, Mirror(mirror)) is None]
        if not sources or absent:
            yield TreeRow(
                name, "–", f"not run: the mirror lacks {', '.join(absent)}" if absent else "no source of others"
            )
            continue
        yield from _rows(loaded_recipe, mirror)


def _rows(loaded_recipe: LoadedRecipe, mirror: Path) -> Iterator[TreeRow]:
    name = loaded_recipe.given_name
    events = stackbuild(mirror, "build", "-r", name, "--until", "configure", "--keep-going", "--json")
    took = {e["step"]: f"yes, {_seconds(e['key']):.0f} s" for e in events if e["event"] == "StepFinished"}
    broke = {e["step"]: f"**no**: {e['what']}" for e in events if e["event"] == "StepBroke"}
    against = {
        match[1]: match[2]
        for e in events
        if e["event"] == "Note"
        and (match := re.match(r"(\S+) is configured against empty stand-ins for (.+)", e["text"]))
    }
    (plan,) = stackbuild(mirror, "plan", "-r", name, "--json", whole=True)
    state = {step["step"]: step["state"] for step in plan["steps"]}
    loads = _loads(mirror, name) if all(s == "cached" for s in state.values()) else {}
    lock = read_lock(loaded_recipe)
    for step in state:
        component = loaded_recipe.recipe.components.get(step.partition(".")[0])
        source = getattr(component, "source", "")
        if component is None or (not source and component.kind not in ("wheel", "archive")):
            continue
        configure_time = {**took, **broke}.get(f"configure.{step}", "–")
        if step in against and configure_time != "–":
            configure_time += f", against stand-ins for {against[step]}"
        commit = lock.commits.get(source, "")[:12]
        build_state = "yes" if state[step] == "cached" else "not yet"
        yield TreeRow(
            name, f"`{step}`", f"{source} @ {commit}" if commit else "–", configure_time, build_state, loads.get(step, "–")
        )


def _seconds(key: str) -> float:
    """What the step took when it was really run: a finished step may have come out of the store."""
    return float(_record(key)["seconds"])


def _tree(key: str) -> Path:
    """Where the store has the step's output."""
    tree = str(_record(key)["tree"])
    return default_root() / "trees" / tree[:2] / tree


def _record(key: str) -> dict[str, Any]:
    return dict(json.loads((default_root() / "records" / key[:2] / f"{key}.json").read_text("utf-8")))


def _loads(mirror: Path, name: str) -> dict[str, str]:
    """By wheel's step, what `stackbuild verify` says of loading it, in the base where there is one, and beside the recipe's own
    MIGraphX where that is a wheel."""
    stackbuild(mirror, "build", "-r", name, "--json")
    (plan,) = stackbuild(mirror, "plan", "-r", name, "--json", whole=True)
    trees = {step["step"]: _tree(step["key"]) for step in plan["steps"]}
    houses = sorted(str(tree) for step, tree in trees.items() if step.startswith("wheelhouse."))
    packs_migraphx = {w.name for w in wheels_of(load(name).recipe) if isinstance(w.component, MIGraphXPackage)}
    beside = [str(wheel) for step in sorted(packs_migraphx & trees.keys()) for wheel in trees[step].glob("*.whl")]
    rungs_of_step = {}
    for step, tree in trees.items():
        for wheel in sorted(tree.glob("*.whl")) if not step.startswith("wheelhouse.") else ():
            together = dict.fromkeys((str(wheel), *beside))
            words = ["verify", *together, "-r", name, "--root", str(trees["base"]), "--json"]
            (result,) = stackbuild(mirror, *words, *(("--wheelhouse", houses[0]) if houses else ()), whole=True)
            rungs = {r["name"]: r["status"] for r in result["verification"]["rungs"]}
            rungs_of_step[step] = ", ".join(
                f"{rung}: {rungs[rung]}" for rung in ("load", "load with ROCm") if rung in rungs
            )
    return rungs_of_step


def stackbuild(mirror: Path, *words: str, whole: bool = False) -> list[dict[str, Any]]:
    """The JSON that a command prints: a document, or an event a line. Its other words go to the terminal."""
    environment = {**os.environ, VARIABLE: str(mirror.absolute()), SCOPE: SOURCES}
    process = subprocess.run(
        [sys.executable, "-m", "stackbuild", *words], env=environment, stdout=subprocess.PIPE, text=True
    )
    if not process.stdout.strip():
        raise SystemExit(f"stackbuild {' '.join(words)}: exit code {process.returncode}, and nothing on stdout")
    return [json.loads(process.stdout)] if whole else [json.loads(line) for line in process.stdout.splitlines()]


def main(words: list[str]) -> int:
    if words[:1] == ["--make"] and len(words) == 3:
        return make(Path(words[1]), Path(words[2]))
    if not words or words[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    print(f"{datetime.now(UTC):%Y-%m-%d}, stackbuild @ {commit}:\n")
    print("| recipe | step | source | configures | compiles and links | loads |\n|---|---|---|---|---|---|")
    for row in table(Path(words[0]), words[1:]):
        print(row, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
