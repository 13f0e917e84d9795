"""A hook of MkDocs: the pages at the top of the repository belong to the site, and links to other files are text.

`mkdocs.yml` names it. README, CONTRIBUTING, CHANGELOG and SECURITY become pages; links from docs/ to them and back are
followed. A link to any other file of the repository, such as `../kernels/README.md`, keeps its words alone: the site
does not have that file.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.structure.files import File, Files

REPOSITORY = Path(__file__).resolve().parent.parent
TOP = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
_COMMENT = re.compile(r"(?m)^<!-- .*? -->\n\n?")
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages of the top; README is not the start page, which docs/index.md is."""
    for name in TOP:
        text = _LINK.sub(_from_top, (REPOSITORY / name).read_text("utf-8"))
        files.append(File.generated(config, _place(name), content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Rewrite links that lead out of docs/; leave out the comments for the test that runs the pages."""
    folder = PurePosixPath(page.file.src_uri).parent
    return _LINK.sub(lambda m: _from_docs(m, folder), _COMMENT.sub("", markdown))


def _place(name: str) -> str:
    return f"about/{name.lower()}" if name != "README.md" else "about/readme.md"


def _from_top(match: re.Match[str]) -> str:
    """A link of a page at the top: docs/x.md is ../x.md from about/."""
    mark, words, target = match.groups()
    if target.startswith(("http", "#", "mailto:")):
        return match[0]
    path, hash, anchor = target.partition("#")
    if path.startswith("docs/"):
        return f"{mark}[{words}](../{path.removeprefix('docs/')}{hash}{anchor})"
    return f"[{words}]({PurePosixPath(_place(path)).name}{hash}{anchor})" if path in TOP else words


def _from_docs(match: re.Match[str], folder: PurePosixPath) -> str:
    mark, words, target = match.groups()
    up = "../" * (1 + len(folder.parts) - (folder == PurePosixPath(".")))
    path, hash, anchor = target.partition("#")
    if not path.startswith(up) or target.startswith("http"):
        return match[0]
    name = path.removeprefix(up)
    if str(folder) == "about":
        return match[0]
    return f"{mark}[{words}]({up[3:]}{_place(name)}{hash}{anchor})" if name in TOP else words
