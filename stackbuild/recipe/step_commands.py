"""Commands of a script that cannot do in a step what they do on a person's machine: no root, no network, another folder. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stackbuild.model.components import Script
from stackbuild.model.findings import Finding
from stackbuild.model.recipe import Recipe
from stackbuild.recipe import recipe_rules

_PACKAGES = "name packages in `base.debian.packages`, or `base.extend.packages` of an image"
_SOURCES = "name what is fetched in `sources:`: a component sees its source at `/src/NAME`"
_WITHOUT_NETWORK = {
    "apt": _PACKAGES, "apt-get": _PACKAGES, "yum": _PACKAGES, "dnf": _PACKAGES, "apk": _PACKAGES, "pacman": _PACKAGES, "conda": _PACKAGES,
    "wget": _SOURCES, "curl": _SOURCES, "git clone": _SOURCES, "git pull": _SOURCES, "git fetch": _SOURCES, "git submodule": _SOURCES,
    "docker": "remove it: a step runs in the recipe's base already",
}  # fmt: skip
"""Programs, some with their first word, that need a network or root, and what does that in a recipe."""
_PLACE = re.compile(r"((?:DESTDIR|PREFIX|prefix)=|--prefix=|-DCMAKE_INSTALL_PREFIX=|--destdir=)(/(?!out(?:/|$)).*|~.*)")
"""An argument that says where to install, outside of the output."""


def commands(recipe: Recipe) -> Iterator[Finding]:
    """Every command that ends at once, or installs where nothing is kept; and a PATH without the system's programs."""
    for name, component in recipe.components.items():
        for i, command in enumerate(component.run if isinstance(component, Script) else ()):
            source = component.source if isinstance(component, Script) else None
            if reason := _why(command, source, is_first=i == 0):
                what, fix = reason
                yield recipe_rules.COMMAND.finding(f"components.{name}.run.{i}", what, fix=fix)
        path = component.env.get("PATH")
        if path is not None and "/usr/bin" not in path.split(":"):
            yield recipe_rules.COMMAND.finding(
                f"components.{name}.env.PATH", f"`PATH` of `{name}` has no `/usr/bin`: the base's own programs are not found",
                fix=f"write `PATH: {path and path + ':'}/usr/local/bin:/usr/bin:/bin`",
            )  # fmt: skip


def _why(command: tuple[str, ...], source: str | None, is_first: bool) -> tuple[str, str] | None:
    """What is wrong with a command, and the next step; None where nothing is known of it."""
    program = command[0]
    if program in ("sudo", "su", "doas"):
        rest = ", ".join(command[1:]) or "COMMAND"
        return f"`{program}`: a step has no other user, and needs none", f"write `[{rest}]`"
    if program.startswith("./") and is_first and source:
        rest = ", ".join((f"/src/{source}/{program[2:]}", *command[1:]))
        return (
            f"`{program}` is not there: commands start in an empty `/build/…`, and the source is at `/src/{source}`",
            f"write `[{rest}]`",
        )
    for words in (program, " ".join(command[:2])):
        if step := _WITHOUT_NETWORK.get(words, ""):
            return f"`{words}` cannot work in a step: it has neither a network nor root", step
    if _installs_from_index(command):
        step = "name it in `base.extend.pip` of an image, or as a package of Debian in `base.debian.packages`"
        return f"`{' '.join(command)[:60]}` asks the package index, and a step has no network", step
    if argument := next((word for word in command[1:] if re.fullmatch(r"--?[A-Za-z][\w-]* \S+", word)), ""):
        return (
            f"{argument!r} is one argument, with a blank in it",
            f"write `{', '.join(argument.split())}`: an item for each word",
        )
    if place := next((match for word in command if (match := _PLACE.fullmatch(word))), None):
        return f"`{place[0]}` installs where nothing is kept: the output is `/out`", f"write `{place[1]}/out`"
    return None


def _installs_from_index(command: tuple[str, ...]) -> bool:
    words = [word for word in command if not re.fullmatch(r"python[\d.]*|-m", word)]
    if len(words) < 3 or words[0] not in ("pip", "pip3") or words[1] != "install" or "--no-index" in words:
        return False
    return any(
        re.fullmatch(r"[A-Za-z][\w.-]*(?:\[.*\])?(?:[=<>!~]=?.*)?", word) and "/" not in word for word in words[2:]
    )
