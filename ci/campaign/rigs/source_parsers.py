"""Fuzzers of the parsers of recipes, locks, records, lists, patches, addresses and headers: no text makes one crash.

Texts are made from good ones by chance, with the seed. `CAMPAIGN_EXECUTIONS` says how many a parser gets (20,000; the
nightly run takes 1,000,000).
"""

from __future__ import annotations

import io
import json
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from random import Random

from campaign.frame import CampaignCase, Rig
from stackbuild.core import digest
from stackbuild.core.errors import Stop
from stackbuild.model.loaded_recipe import LoadedRecipe
from stackbuild.model.plan import rows_of
from stackbuild.recipe.load import load, parse
from stackbuild.recipe.lock_file import parse_lock
from stackbuild.sources import git, http, oci, patches, upstream
from stackbuild.sources.patch_drift import changes, hunks
from stackbuild.store.records import Record
from stackbuild.store.resume_mark import MARK, UnfinishedMark, boot, shows_writable
from stackbuild.store.tree import Entry, manifest
from support.fake_build import fast_folder
from support.paths import ROOT
from support.upstream_lists import DEPS_TXT

EXECUTIONS = int(os.environ.get("CAMPAIGN_EXECUTIONS", "20000"))
CHUNKS = 20
MOST_SECONDS = 2.0
"""Of the processor, for one text."""
WORDS = (
    *(
        "\0",
        "\n",
        "\r\n",
        "\x1b[2J",
        "\u2028",
        "\udcff",
        "\U0001f600",
        "..",
        "../",
        "/",
        "//",
        ":",
        ": ",
        "- ",
        "{",
        "}",
    ),
    *(
        "[",
        "]",
        '"',
        "'",
        "&a",
        "*a",
        "#",
        "|",
        ">",
        "!!python/object",
        "%",
        "@",
        "=",
        "==",
        "-",
        "--",
        "0",
        "-1",
        "9" * 40,
    ),
    *(
        "9" * 5000,
        "1e999",
        "NaN",
        "null",
        "true",
        "~",
        "a" * 300,
        "(" * 50,
        "\\",
        "\\u0000",
        "${x}",
        "$(id)",
        ";",
        "https://",
    ),
)


@dataclass(frozen=True)
class ParserCase:
    """A parser: what reads one text, good texts, and the exceptions that say a text is wrong."""

    read: Callable[[str, Path], object]
    good: Callable[[], tuple[str, ...]]
    says: tuple[type[Exception], ...] = (Stop,)


def _record() -> str:
    text = "format: 1\nstep: s\nneed base: 0\n"
    return Record(digest.of_text(text), "s", "r", "0" * 64, text, 1.5, "run", "now", {"a": "ü"}).text()


@cache
def _recipes() -> tuple[str, ...]:
    return tuple(
        path.read_text()
        for path in sorted((ROOT / "recipes").glob("*.yaml"))
        if path.stat().st_size < 6000 and "lock" not in path.name
    )


@cache
def _locks() -> tuple[str, ...]:
    return tuple(path.read_text()[:3000] for path in sorted((ROOT / "recipes").glob("*.lock.yaml")))


PATCH = """\
Why: a reason
Upstream: none
Remove-When: never
Moved-By: rule, other

diff --git a/x.c b/x.c
--- a/x.c
+++ b/x.c
@@ -1,3 +1,3 @@ int f
 a
-b
+c
 d
diff --git a/b.bin b/b.bin
new file mode 100644
GIT binary patch
"""


def _lock(text: str, folder: Path) -> object:
    path = folder / "t.lock.yaml"
    path.write_text(text, "utf-8", "surrogateescape")
    return parse_lock(replace(_demo(), folder=folder, lock_path=path))


@cache
def _demo() -> LoadedRecipe:
    return load("debian-13")


def _mark(text: str, folder: Path) -> object:
    (folder / MARK).write_text(text, "utf-8", "surrogateescape")
    mark = UnfinishedMark.of(folder)
    return mark and (mark.is_intact, mark.names_step("s"))


def _layout(text: str, folder: Path) -> object:
    data = text.encode("utf-8", "surrogateescape")
    name = "0" * 64
    blobs = folder / "blobs" / "sha256"
    blobs.mkdir(parents=True, exist_ok=True)
    (blobs / name).write_bytes(data)
    (folder / "index.json").write_bytes(data)
    layout = oci.Layout(folder)
    with suppress(Stop):
        layout.digest  # noqa: B018
    (folder / "index.json").write_text(json.dumps({"manifests": [{"digest": f"sha256:{name}"}]}))
    return layout.layers()


def _patch(text: str, folder: Path) -> object:
    patch = patches.parse("0001-x.patch", text)
    patches.check(patch, "x")
    for hunk in hunks(text):
        changes(hunk.before, text.split("\n")[:200], hunk.line)
    return patch


def _headers(text: str, folder: Path) -> object:
    """What a server says before a body, as http.client reads it."""

    class CodeLine:
        def makefile(self, mode: str) -> io.BytesIO:
            return io.BytesIO(text.encode("utf-8", "surrogateescape"))

    answer = HTTPResponse(CodeLine())  # type: ignore[arg-type]
    try:
        answer.begin()
        return http._promised_range(answer, 1000, 1 << 20)
    finally:
        answer.close()


def _manifest(text: str, folder: Path) -> object:
    return manifest(tuple(map(Entry.read, text.splitlines())))


MOUNTS = (
    "36 35 98:0 /tmp/run/step /build rw,noatime master:1 - ext4 /dev/root rw\n37 35 0:1 / /proc ro - proc proc ro\n"
)
ANSWER = (
    'HTTP/1.1 206 Partial Content\r\nETag: "one"\r\nContent-Length: 5\r\nContent-Range: bytes 1000-1999/2000\r\n\r\n'
)
INDEX = json.dumps(
    {
        "manifests": [{"digest": "sha256:" + "0" * 64, "platform": {"architecture": "amd64"}}],
        "layers": [{"digest": "x"}],
    }
)
PARSERS: dict[str, ParserCase] = {
    "recipe": ParserCase(lambda text, folder: parse(text, "r.yaml"), _recipes),
    "lock": ParserCase(_lock, _locks),
    "record": ParserCase(lambda text, folder: Record.read(text), lambda: (_record(),), (ValueError,)),
    "manifest": ParserCase(_manifest, lambda: ('f 644 5 "0a" "a/b"\nl - 0 "x" "l"\nd - 0 "" "d"\n',), (ValueError,)),
    "key text": ParserCase(lambda text, folder: rows_of(text), lambda: ("format: 1\nstep: s\nneed base at /x: 0\n",), (ValueError,)),
    "mark": ParserCase(_mark, lambda: (UnfinishedMark("r.s", "0" * 64, "sandbox", boot()).text(),)),
    "mounts": ParserCase(lambda text, folder: shows_writable(text, Path("/store/tmp/run/step")), lambda: (MOUNTS,), (IndexError,)),
    "git address": ParserCase(lambda text, folder: git.require_safe_url(text), lambda: ("https://github.com/org/tool.git", "ssh://git@host:22/x/y")),
    "submodule address": ParserCase(lambda text, folder: git.require_safe_url(git._beside(text, "https://github.com/org/tool")), lambda: ("../sub.git", "./x")),
    "mirror place": ParserCase(lambda text, folder: http.place_in(folder, text), lambda: ("https://host:443/a/b.tar.gz",)),
    "image": ParserCase(lambda text, folder: oci.reference(text), lambda: ("registry.lan:5000/rocm/dev:6.4@sha256:" + "0" * 64,)),
    "image layout": ParserCase(_layout, lambda: (INDEX,)),
    "deps.txt": ParserCase(lambda text, folder: upstream.deps_txt(text), lambda: (DEPS_TXT,)),
    "requirements.txt": ParserCase(lambda text, folder: upstream.requirements_txt(text), lambda: ("ROCm/half@1.12.0 -DX=y\ngoogle/protobuf@v3.19.0 -H sha256:" + "0" * 64 + "\n",)),
    "FetchContent": ParserCase(lambda text, folder: upstream.fetchcontent(text), lambda: ("FetchContent_Declare(\n  x\n  GIT_REPOSITORY https://github.com/a/b\n  GIT_TAG v1\n)\nFetchContent_Declare(y URL https://h/y.zip URL_HASH SHA1=" + "0" * 40 + ")\n",)),
    "abseil": ParserCase(lambda text, folder: upstream.abseil_of_protobuf(text), lambda: ('set(abseil-cpp-version "20240722.0")\n',)),
    "patch": ParserCase(_patch, lambda: (PATCH,)),
    "answer": ParserCase(_headers, lambda: (ANSWER,), (HTTPException, http._RefusedAnswer, ValueError)),
}  # fmt: skip


def mutate(text: str, random: Random) -> str:
    """The text with pieces taken out, doubled, moved, replaced, or unwelcome words put in."""
    for _ in range(random.choice((1, 1, 2, 3, 8))):
        at = random.randrange(len(text) + 1)
        size = random.choice((0, 1, 1, 2, 5, 20, 100))
        match random.randrange(6):
            case 0:
                text = text[:at] + text[at + size :]
            case 1:
                text = text[:at] + random.choice(WORDS) + text[at + size :]
            case 2:
                text = text[:at] + text[at : at + size] * random.choice((2, 3, 50)) + text[at + size :]
            case 3:
                text = text[:at] + chr(random.choice((random.randrange(128), random.randrange(0x300)))) + text[at + 1 :]
            case 4:
                other = random.randrange(len(text) + 1)
                text = text[:at] + text[other : other + size] + text[at:]
            case _:
                text = text[:at] if random.random() < 0.1 else text[:at] + random.choice(WORDS) + text[at:]
    return text


def cases(random: Random) -> Sequence[CampaignCase]:
    return [
        CampaignCase(f"{name} {i}", partial(_attempt, name, random.randrange(1 << 30)))
        for name in PARSERS
        for i in range(CHUNKS)
    ]


def _attempt(name: str, seed: int, folder: Path) -> str:
    parser, random = PARSERS[name], Random(seed)
    good = parser.good()
    with fast_folder() as memory:
        for _ in range(max(1, EXECUTIONS // CHUNKS)):
            text = mutate(random.choice(good), random)
            began = time.process_time()
            try:
                parser.read(text, memory)
            except parser.says:
                pass
            except Exception as error:
                return f"{type(error).__name__}: {error} of {text[:400]!r}"
            if time.process_time() - began > MOST_SECONDS:
                return f"{time.process_time() - began:.1f} s for {text[:400]!r}"
    return ""


RIG = Rig(
    "source-parsers", "fuzzers of the parsers of sources, recipes, locks and the store", cases, needs=(), minimum=300
)
