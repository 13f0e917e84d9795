"""The include folders of a converted tree: which of its own folders a file's `#include`s need."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cached_property
from posixpath import dirname, normpath

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.M)


class HeaderIndex:
    """The files of a tree by name, and what each includes.

    `texts` are the files by their paths below the tree. `is_installed` says whether the target has a header of that
    path: `<string.h>` is the C library's, also where the tree has a file of that name.
    """

    def __init__(self, texts: Mapping[str, str], is_installed: Callable[[str], bool]) -> None:
        self.texts, self.is_installed = texts, is_installed
        self._inclusions: dict[str, tuple[tuple[str, str], ...]] = {}

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        by_name: dict[str, list[str]] = {}
        for path in sorted(self.texts):
            by_name.setdefault(path.rpartition("/")[2], []).append(path)
        return by_name

    def folders(self, file: str) -> tuple[str, ...]:
        """The folders that a file needs as -I, in the order of need; "" is the tree itself."""
        return self._reach(file)[1]

    def texts_of(self, file: str) -> frozenset[str]:
        """A file and the tree's headers that are read with it."""
        return self._reach(file)[0]

    def _reach(self, file: str) -> tuple[frozenset[str], tuple[str, ...]]:
        folders: dict[str, None] = {}
        headers, todo = {file}, [file]
        while todo:
            for header, folder in self._inclusions_of(todo.pop()):
                if folder != BESIDE:
                    folders.setdefault(folder)
                if header not in headers:
                    headers.add(header)
                    todo.append(header)
        return frozenset(headers), tuple(folders)

    def parts(self) -> frozenset[str]:
        """The files that another file of the tree includes."""
        return frozenset(header for file in self.texts for header, _ in self._inclusions_of(file) if header != file)

    def _inclusions_of(self, file: str) -> tuple[tuple[str, str], ...]:
        """The tree's own files that a file includes, each with the folder that it is found from, or BESIDE."""
        if file not in self._inclusions:
            pairs = (self._resolve(file, path, mark) for mark, path in _INCLUDE.findall(self.texts[file]))
            self._inclusions[file] = tuple(pair for pair in pairs if pair is not None)
        return self._inclusions[file]

    def _resolve(self, file: str, path: str, mark: str) -> tuple[str, str] | None:
        beside = normpath(f"{dirname(file)}/{path}") if dirname(file) else normpath(path)
        if mark == '"' and beside in self.texts:
            return beside, BESIDE
        if mark == "<" and self.is_installed(path):
            return None
        name = normpath(path)
        matches = [own for own in self._by_name.get(name.rpartition("/")[2], ()) if f"/{own}".endswith(f"/{name}")]
        if not matches:
            return None
        header = max(matches, key=lambda own: (_shared_depth(own, file), -own.count("/"), own))
        return header, header.removesuffix(name).rstrip("/")


BESIDE = "."
"""In place of a folder: the header lies beside the file that includes it, by that path."""


def _shared_depth(one: str, other: str) -> int:
    """How many folders two paths have in common."""
    depth = 0
    for mine, theirs in zip(one.split("/")[:-1], other.split("/")[:-1], strict=False):
        if mine != theirs:
            break
        depth += 1
    return depth
