"""Recipes that are wrong, hostile, or good ones with a change: each is planned, or refused with a place and words."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random

from campaign.frame import CampaignCase, Rig
from stackbuild.core.errors import RecipeError, Stop
from stackbuild.model.inputs import Inputs
from stackbuild.plan.resolve import resolve
from stackbuild.recipe.load import load
from stackbuild.sources.local import refuse_outside
from support.paths import ROOT, TESTS

CHANGES = 200
MOST_SECONDS = 5.0
MOST_SAID = 20_000
PLACE = re.compile(r".+:\d+:\d+", re.DOTALL)
HEAD = "schema: 1\nname: t\nsummary: t\nbase: {debian: {suite: trixie, packages: [make]}}\ngfx: [gfx90a]\n"
RUN = 'components: {one: {kind: script, run: [["true"]]}}\n'
WORDS = (
    "..",
    "../..",
    "/etc",
    "-rf",
    "$(id)",
    "`id`",
    "\\x1b[2J",
    "a\\nb",
    "\\0",
    "x" * 5000,
    "base",
    "~",
    "null",
    "1e999",
    "0x10",
    "\u202e",
    "\U0001f600",
)
BIG = "9" * 400


def _in(key: str, value: str) -> str:
    return f"{HEAD}{RUN}{key}: {value}\n"


HOSTILE: dict[str, str] = {
    **{f"the name {word[:20]!r}": HEAD.replace("name: t", f'name: "{word}"') + RUN for word in WORDS},
    **{f"the component {word[:20]!r}": f'{HEAD}components: {{"{word}": {{kind: script, run: [["true"]]}}}}\n' for word in WORDS},
    **{f"the package {word[:20]!r}": HEAD.replace("[make]", f'["{word}"]') + RUN for word in WORDS},
    **{f"the suite {word[:20]!r}": HEAD.replace("trixie", f'"{word}"') + RUN for word in WORDS},
    **{f"the area {word[:20]!r}": HEAD.replace("suite:", f'areas: ["{word}"], suite:') + RUN for word in WORDS},
    **{f"the path {word[:20]!r}": _in("sources", f'{{code: {{path: "{word}"}}}}') for word in WORDS},
    **{f"the index {word[:20]!r}": _in("publish", f'{{index: "{word}"}}') for word in WORDS},
    **{f"the git {word[:20]!r}": _in("sources", f'{{code: {{git: "https://host/{word}", ref: v1}}}}') for word in WORDS},
    **{f"the ref {word[:20]!r}": _in("sources", f'{{code: {{git: "https://host/x", ref: "{word}"}}}}') for word in WORDS},
    **{f"the archive {word[:20]!r}": _in("sources", f'{{code: {{archive: "{word}", sha256: {"0" * 64}}}}}') for word in WORDS},
    **{f"the patches {word[:20]!r}": _in("sources", f'{{code: {{git: "https://host/x", ref: v, patches: "{word}"}}}}') for word in WORDS},
    **{f"the variable {word[:20]!r}": f'{HEAD}components: {{one: {{kind: script, env: {{"{word}": x}}, run: [["true"]]}}}}\n' for word in WORDS},
    **{f"the memory {word[:20]!r}": f'{HEAD}components: {{one: {{kind: script, memory: "{word}", run: [["true"]]}}}}\n' for word in WORDS},
    **{f"the suite of benchmarks {word[:20]!r}": _in("bench", f'{{suite: "{word}"}}') for word in WORDS},
    "the number of digits": _in("publish", BIG),
    "a ladder of anchors": "a: &a [x]\n" + "".join(f"k{i}: &k{i} [{', '.join([f'*k{i - 1}' if i else '*a'] * 50)}]\n" for i in range(60)),
    "brackets": "[" * 100_000,
    "braces": "{" * 100_000,
    "dashes": "- " * 100_000,
    "deep keys": "a:\n" + "".join(" " * i + f"k{i}:\n" for i in range(1, 900)),
    "a tag of Python": "!!python/object/apply:os.system [id]",
    "a name of itself": HEAD + "components: {one: {kind: script, needs: [one], run: [[\"true\"]]}}\n",
    "a ring": HEAD + "components: {" + ", ".join(f"c{i}: {{kind: script, needs: [c{(i + 1) % 900}], run: [[x]]}}" for i in range(900)) + "}\n",
    "a chain of 5,000": HEAD + "components: {" + ", ".join(f"c{i}: {{kind: script, needs: [{f'c{i - 1}' if i else ''}], run: [[x]]}}" for i in range(5000)) + "}\n",
    "nothing": "",
    "a NUL": "\0",
    "no Unicode": "name: \udcff",
}  # fmt: skip


def cases(random: Random) -> Sequence[CampaignCase]:
    texts = {f"wrong: {path.stem}": path.read_text for path in sorted((TESTS / "wrong-recipes").glob("*.yaml"))}
    texts |= {f"hostile: {name}": partial(str, text) for name, text in HOSTILE.items()}
    good = [path.read_text() for path in sorted((ROOT / "recipes").glob("*.yaml")) if "lock" not in path.name]
    texts |= {f"changed: {i}": partial(mutate, random.choice(good), random.randrange(1 << 30)) for i in range(CHANGES)}
    return [CampaignCase(name, partial(_attempt, text)) for name, text in texts.items()]


def mutate(text: str, seed: int) -> str:
    """The text with lines or words of it taken out, doubled, exchanged or replaced by something unwelcome."""
    random = Random(seed)
    for _ in range(random.randrange(1, 5)):
        lines = text.split("\n")
        at = random.randrange(len(lines))
        match random.randrange(6):
            case 0:
                del lines[at]
            case 1:
                lines.insert(at, random.choice(lines))
            case 2:
                lines[at] = f"{' ' * random.randrange(9)}{lines[at].strip()}"
            case 3:
                lines[at] = re.sub(
                    r"[\w.-]+", lambda m: random.choice(WORDS) if random.random() < 0.3 else m[0], lines[at]
                )
            case 4:
                where = random.randrange(len(lines[at]) + 1)
                lines[at] = (
                    lines[at][:where]
                    + random.choice(("{", "]", ": ", "'", "&x", "*x", "#", "\t", "|", "%"))
                    + lines[at][where:]
                )
            case _:
                other = random.randrange(len(lines))
                lines[at], lines[other] = lines[other], lines[at]
        text = "\n".join(lines) or "x"
    return text


def _attempt(text: Callable[[], str], folder: Path) -> str:
    path = folder / "r.yaml"
    path.write_text(text(), encoding="utf-8", errors="surrogateescape")
    began = time.process_time()
    try:
        loaded_recipe = load(str(path))
        refuse_outside(loaded_recipe)
        sources = tuple((name, "1" * 64) for name in loaded_recipe.recipe.sources)
        commits = tuple((name, "0" * 40) for name in loaded_recipe.recipe.sources)
        resolve(loaded_recipe.recipe, Inputs((("make", "1"),), commits, (), sources))
    except RecipeError as wrong:
        answer = str(wrong)
        if bad := [mistake.place for mistake in wrong.mistakes if not PLACE.fullmatch(mistake.place)]:
            return f"no place: {bad[:2]}"
    except Stop as stop:
        answer = str(stop)
    else:
        answer = "a plan"
    if took := max(0.0, time.process_time() - began - MOST_SECONDS):
        return f"{took + MOST_SECONDS:.1f} s of the processor"
    if not answer or len(answer) > MOST_SAID:
        return f"{len(answer)} characters are said"
    return "it says control characters" if any(not c.isprintable() and c != "\n" for c in answer) else ""


RIG = Rig("recipes", "wrong, hostile and changed recipes", cases, needs=(), minimum=400)
