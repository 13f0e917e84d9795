"""Git repositories that attack whoever checks them out, served by a mirror: files stay inside and nothing is run."""

from __future__ import annotations

import os
import subprocess
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from hashlib import sha1
from pathlib import Path
from random import Random

from campaign.frame import CampaignCase, Rig
from stackbuild.core import tree_walk
from stackbuild.core.errors import Stop
from stackbuild.sources import git, git_command
from stackbuild.sources.local import settle
from stackbuild.sources.mirror import Mirror
from stackbuild.store import atomic, tree

URL = "https://github.com/org/tool"
ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "HOME": "/nonexistent",
}
DAMAGES = 30
DEEP = 3000
LEVELS = git.DEEPEST_MODULE + 4


@dataclass(frozen=True)
class Upstream:
    """A bare repository in the mirror, written object by object: git itself would refuse most of these."""

    folder: Path

    @property
    def bare(self) -> Path:
        return self.folder / "mirror" / "github.com" / "org" / "tool.git"

    @property
    def canary(self) -> Path:
        """What must not come about."""
        return self.folder / "canary"

    def git(self, *words: str, text: str = "") -> str:
        person = ("-c", "user.name=t", "-c", "user.email=t@t")
        command = ["git", *person, f"--git-dir={self.bare}", *words]
        return subprocess.run(
            command, check=True, env=ENVIRONMENT, input=text, capture_output=True, text=True, cwd=self.folder
        ).stdout.strip()

    def begin(self) -> None:
        self.bare.mkdir(parents=True)
        self.git("init", "--quiet", "--bare", "--initial-branch=main")

    def object(self, kind: str, data: bytes) -> str:
        """Write an object, well formed or not; its name."""
        whole = b"%s %d\0" % (kind.encode(), len(data)) + data
        name = sha1(whole).hexdigest()
        place = self.bare / "objects" / name[:2] / name[2:]
        place.parent.mkdir(exist_ok=True)
        if not place.exists():
            place.write_bytes(zlib.compress(whole))
        return name

    def tree(self, *entries: tuple[str, bytes, str]) -> str:
        """A tree of modes, names and objects, in the order given."""
        return self.object(
            "tree", b"".join(b"%s %s\0" % (mode.encode(), name) + bytes.fromhex(name_) for mode, name, name_ in entries)
        )

    def commit(self, root: str, message: bytes = b"m", ref: str = "refs/tags/v1") -> str:
        who = b"t <t@t> 1700000000 +0000"
        digest = self.object("commit", b"tree %s\nauthor %s\ncommitter %s\n\n%s\n" % (root.encode(), who, who, message))
        place = self.bare / ref
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"{digest}\n")
        (self.bare / "refs" / "heads" / "main").write_text(f"{digest}\n")
        return digest

    def blob(self, text: bytes = b"text\n") -> str:
        return self.object("blob", text)


RepositoryMaker = Callable[[Upstream], str]
"""Writes a repository; the commit that the lock has."""


def entries(*rows: tuple[str, bytes, bytes]) -> RepositoryMaker:
    """A commit of one folder with those modes, names and contents."""
    return lambda up: up.commit(up.tree(*((mode, name, up.blob(content)) for mode, name, content in rows)))


def below(name: bytes, *rows: tuple[str, bytes, bytes]) -> RepositoryMaker:
    """The same in a folder of that name."""
    return lambda up: up.commit(up.tree(("40000", name, up.tree(*((mode, n, up.blob(c)) for mode, n, c in rows)))))


def through_link(target: bytes) -> RepositoryMaker:
    """A link, and a folder of the same name with a file: what is checked out last would be written through it."""

    def make(up: Upstream) -> str:
        inner = up.tree(("100644", b"canary", up.blob()))
        return up.commit(up.tree(("120000", b"a", up.blob(target)), ("40000", b"a", inner)))

    return make


def deep(up: Upstream) -> str:
    inner = up.tree(("100644", b"f", up.blob()))
    for _ in range(DEEP):
        inner = up.tree(("40000", b"d", inner))
    return up.commit(inner)


def submodule(listing: str, path: bytes = b"sub") -> RepositoryMaker:
    def make(up: Upstream) -> str:
        text = listing.replace("CANARY", str(up.canary)).encode()
        return up.commit(up.tree(("100644", b".gitmodules", up.blob(text)), ("160000", path, "1" * 40)))

    return make


def sub(url: str, name: str = "s", path: str = "sub", more: str = "") -> RepositoryMaker:
    return submodule(f'[submodule "{name}"]\n\tpath = {path}\n\turl = {url}\n{more}', path.encode())


def with_configuration(text: str, hook: str = "") -> RepositoryMaker:
    """A good commit, in a repository whose own configuration would run something."""

    def make(up: Upstream) -> str:
        commit = up.commit(up.tree(("100644", b"f", up.blob())))
        script = up.folder / "evil"
        script.write_text(f"#!/bin/sh\ntouch {up.canary}\ncat\n")
        script.chmod(0o755)
        with (up.bare / "config").open("a") as file:
            file.write(text.replace("EVIL", str(script)))
        if hook:
            (up.bare / "hooks").mkdir(exist_ok=True)
            (up.bare / "hooks" / hook).write_text(script.read_text())
            (up.bare / "hooks" / hook).chmod(0o755)
        return commit

    return make


def attributes(text: str) -> RepositoryMaker:
    return lambda up: up.commit(
        up.tree(("100644", b".gitattributes", up.blob(text.encode())), ("100644", b"f", up.blob(b"$Id$\r\n")))
    )


def tag_of(kind: str) -> RepositoryMaker:
    """The tag is of something other than a commit."""

    def make(up: Upstream) -> str:
        good = up.commit(up.tree(("100644", b"f", up.blob())))
        other = up.blob() if kind == "blob" else up.tree(("100644", b"g", up.blob())) if kind == "tree" else "f" * 40
        (up.bare / "refs" / "tags" / "v1").write_text(f"{other}\n")
        return {"moved": good}.get(kind, other)

    return make


def chain(up: Upstream) -> str:
    """A repository that is its own submodule at an earlier commit, and that one again: more than is gone down."""
    listing = up.blob(b'[submodule "s"]\n\tpath = sub\n\turl = https://github.com/org/tool\n')
    commit = up.commit(up.tree(("100644", b"f", up.blob())))
    (up.bare / "config").open("a").write("[uploadpack]\n\tallowAnySHA1InWant = true\n")
    for _ in range(LEVELS):
        commit = up.commit(up.tree(("100644", b".gitmodules", listing), ("160000", b"sub", commit)))
    return commit


def bomb(up: Upstream) -> str:
    """A folder of ten names, each a folder of ten names, eight deep: 100 million files from a few objects."""
    inner = up.tree(("100644", b"f", up.blob()))
    for _ in range(8):
        inner = up.tree(*(("40000", b"%d" % i, inner) for i in range(10)))
    return up.commit(inner)


def alternates(target: str) -> RepositoryMaker:
    def make(up: Upstream) -> str:
        commit = up.commit(up.tree(("100644", b"f", up.blob())))
        (up.bare / "objects" / "info").mkdir(exist_ok=True)
        (up.bare / "objects" / "info" / "alternates").write_text(f"{target}\n")
        return commit

    return make


REPOSITORIES: dict[str, RepositoryMaker] = {
    "a good one": entries(("100644", b"a", b"x"), ("120000", b"l", b"a")),
    "a file .git": entries(("100644", b".git", b"gitdir: /etc")),
    "a link .git": entries(("120000", b".git", b"/etc")),
    "a folder .git": below(b".git", ("100755", b"hook", b"#!/bin/sh")),
    "a folder .GIT": below(b".GIT", ("100755", b"hook", b"#!/bin/sh")),
    "a folder git~1": below(b"git~1", ("100755", b"hook", b"#!/bin/sh")),
    "a folder .git with an ignored sign": below(".g\u200cit".encode(), ("100644", b"config", b"x")),
    "a folder .git with a space": below(b".git ", ("100644", b"config", b"x")),
    "a folder .git::$INDEX_ALLOCATION": below(b".git::$INDEX_ALLOCATION", ("100644", b"config", b"x")),
    "a name of two dots": entries(("100644", b"..", b"x")),
    "a name of one dot": entries(("100644", b".", b"x")),
    "a folder of two dots": below(b"..", ("100644", b"canary", b"x")),
    "a name with a slash": entries(("100644", b"a/b", b"x")),
    "a name that leads out": entries(("100644", b"../canary", b"x")),
    "an absolute name": entries(("100644", b"/tmp/canary", b"x")),
    "no name": entries(("100644", b"", b"x")),
    "a name twice": entries(("100644", b"a", b"x"), ("100644", b"a", b"y")),
    "names in no order": entries(("100644", b"b", b"x"), ("100644", b"a", b"y")),
    "a file and a folder of one name": lambda up: up.commit(up.tree(("100644", b"a", up.blob()), ("40000", b"a", up.tree(("100644", b"b", up.blob()))))),
    "through a link outside": through_link(b"../.."),
    "through an absolute link": through_link(b"/var/tmp"),
    "a link outside": entries(("120000", b"l", b"../../../../etc/passwd")),
    "a link with a NUL": entries(("120000", b"l", b"a\0b")),
    "a link that is empty": entries(("120000", b"l", b"")),
    "a link of 100,000": entries(("120000", b"l", b"x/" * 50_000)),
    "a mode of a device": entries(("20644", b"a", b"x")),
    "a mode of setuid": entries(("104755", b"a", b"x")),
    "a mode of zeros": entries(("0", b"a", b"x")),
    "a mode of letters": entries(("abc", b"a", b"x")),
    "a long name": entries(("100644", b"n" * 5000, b"x")),
    "a name with an escape": entries(("100644", b"\x1b[2J", b"x")),
    "a name that is not text": entries(("100644", b"\xff\xfe", b"x")),
    "3,000 folders deep": deep,
    "no tree at all": lambda up: up.commit("f" * 40),
    "a commit of noise": lambda up: up.object("commit", b"\x00\xff" * 50),
    "a commit with a NUL": lambda up: up.commit(up.tree(("100644", b"f", up.blob())), b"m\0m"),
    "a tag of a blob": tag_of("blob"),
    "a tag of a tree": tag_of("tree"),
    "a tag of nothing": tag_of("nothing"),
    "a tag that was moved": tag_of("moved"),
    "submodule: ext": sub("ext::sh -c touch% CANARY"),
    "submodule: an option": sub("--upload-pack=touch CANARY"),
    "submodule: a file": sub("file:///etc"),
    "submodule: a folder": sub("/etc"),
    "submodule: a proxy command": sub("ssh://-oProxyCommand=touch/x"),
    "submodule: git": sub("git://github.com/x/y"),
    "submodule: far above": sub("../../../../../x"),
    "submodule: a name that leads out": sub("https://github.com/x/y", name="../../hooks"),
    "submodule: a path that leads out": sub("https://github.com/x/y", path="../canary"),
    "submodule: a path of .git": sub("https://github.com/x/y", path=".git/hooks"),
    "submodule: a path that is an option": sub("https://github.com/x/y", path="-x"),
    "submodule: an update that runs": sub("https://github.com/x/y", more="\tupdate = !touch CANARY\n"),
    "submodule: itself": sub("https://github.com/org/tool"),
    "submodule: itself, again and again": chain,
    "submodule: not there": sub("https://github.com/org/other"),
    "submodule: said twice": sub("https://github.com/x/y", more="\turl = file:///etc\n"),
    "submodule: includes a file": sub("https://github.com/x/y", more="[include]\n\tpath = /etc/passwd\n"),
    "submodule: a list of noise": submodule("\x01\x02[[["),
    "submodule: a list that is a link": lambda up: up.commit(up.tree(("120000", b".gitmodules", up.blob(b"/etc/passwd")), ("160000", b"sub", "1" * 40))),
    "submodule: a list that is a folder": lambda up: up.commit(up.tree(("40000", b".gitmodules", up.tree()))),
    "attributes: a filter": attributes("* filter=evil\n"),
    "attributes: a diff and a merge": attributes("* diff=evil merge=evil\n"),
    "attributes: an encoding": attributes("* working-tree-encoding=UTF-16 ident text eol=crlf\n"),
    "attributes: a macro of itself": attributes("[attr]a a\n* a\n"),
    "configuration: a hook": with_configuration("[core]\n\thooksPath = EVIL\n", "post-checkout"),
    "configuration: a monitor": with_configuration("[core]\n\tfsmonitor = EVIL\n"),
    "configuration: a hook of packing": with_configuration("[uploadpack]\n\tpackObjectsHook = EVIL\n"),
    "configuration: an alternate command": with_configuration("[core]\n\talternateRefsCommand = EVIL\n"),
    "configuration: a pager and an editor": with_configuration("[core]\n\tpager = EVIL\n\teditor = EVIL\n\tsshCommand = EVIL\n"),
    "configuration: a credential helper": with_configuration("[credential]\n\thelper = EVIL\n"),
    "configuration: an alias": with_configuration("[alias]\n\tupload-pack = !EVIL\n\tls-remote = !EVIL\n\tfetch = !EVIL\n"),
    "configuration: another place": with_configuration('[url "file:///etc"]\n\tinsteadOf = https://github.com\n'),
    "configuration: of noise": with_configuration("[[[\x01"),
    "hook: pre-receive": with_configuration("", "pre-receive"),
    "hook: post-upload-pack": with_configuration("", "post-upload-pack"),
    "alternates: the machine's": alternates("/"),
    "alternates: itself": alternates("."),
    "alternates: many above": alternates("../" * 500),
    "a bomb of folders": bomb,
}  # fmt: skip


def cases(random: Random) -> Sequence[CampaignCase]:
    rows = [CampaignCase(name, partial(_attempt, make)) for name, make in REPOSITORIES.items()]
    return [
        *rows,
        *(
            CampaignCase(f"damaged: {i}", partial(_attempt, partial(_damage, random.randrange(1 << 30))))
            for i in range(DAMAGES)
        ),
    ]


def _damage(seed: int, up: Upstream) -> str:
    """A good repository with bytes of its objects, or of a pack of them, changed."""
    random = Random(seed)
    commit = REPOSITORIES["a good one"](up)
    if random.random() < 0.5:
        up.git("repack", "-a", "-d", "--quiet")
    files = [path for path in (up.bare / "objects").rglob("*") if path.is_file()]
    for path in random.sample(files, min(len(files), random.randrange(1, 3))):
        path.chmod(0o644)
        data = bytearray(path.read_bytes())
        for _ in range(random.randrange(1, 4)):
            data[random.randrange(len(data))] ^= 1 << random.randrange(8)
        path.write_bytes(bytes(data[: random.randrange(len(data))] if random.random() < 0.3 else data))
    return commit


def _attempt(make: RepositoryMaker, folder: Path) -> str:
    up = Upstream(folder)
    up.begin()
    commit = make(up)
    target = folder / "out"
    target.mkdir()
    before = {path.name for path in folder.iterdir()}
    mirror = Mirror(folder / "mirror")
    with suppress(Stop):
        git.ask(URL, "v1", mirror)
    is_bomb = make is bomb
    try:
        if is_bomb:
            return _bomb_is_bounded(commit, mirror, target)
        git.checkout(git.Revision(URL, "v1", commit, mirror), target, submodules=True)
        settle(target)
        tree.seal(target)
        tree.survey(target)
        is_taken = True
    except Stop:
        is_taken = False
    if more := {path.name for path in folder.iterdir()} - before:
        return f"it made {more}"
    return _outside(target) if is_taken else ""  # what a failed step leaves is removed


def _bomb_is_bounded(commit: str, mirror: Mirror, target: Path) -> str:
    """It takes no more than the deadline: nothing bounds what a commit holds but time and the disk."""
    seconds, git_command.SECONDS = git_command.SECONDS, 2.0
    try:
        git.checkout(git.Revision(URL, "v1", commit, mirror), target, submodules=True)
    except Stop as stop:
        return "" if "not done after" in stop.what else str(stop)
    finally:
        git_command.SECONDS = seconds
        atomic.remove(target)
    return "100 million files were checked out"


def _outside(target: Path) -> str:
    """A part of git's own that is left in a tree: what any later git there would obey."""
    with tree_walk.open_folder(target) as top:
        names = [entry.path for entry in tree_walk.walk(top, lenient=True)]
    bad = [name for name in names if any(part.lower().rstrip(" .") == ".git" for part in name.split("/"))]
    return f"left in the tree: {bad[:3]}" if bad else ""


RIG = Rig("git-repositories", "hostile and damaged git repositories", cases, needs=(), minimum=100)
