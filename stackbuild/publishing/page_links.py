"""The catalog of an index that has none, or a damaged one: from the wheels that its last pages name, by their digest.

A wheel that lies in the folder and that no page names was never published: refused, left by a publish that was killed, or
put there by somebody else. It is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

from stackbuild.core.errors import UsageError
from stackbuild.core.packaging import distribution_of
from stackbuild.core.plain_file import read_regular
from stackbuild.publishing.catalog import PROJECT, Catalog
from stackbuild.publishing.generation import CURRENT, STATE_LIMIT, generation_numbers
from stackbuild.publishing.placement import plan_placement, read_wheel, write_file


class WheelLinks(HTMLParser):
    """The wheels that a project's page names: path below the project's folder → sha256.

    Raises ValueError for a page that is not HTML, and for a link that is not a URL.
    """

    def __init__(self, page: str) -> None:
        super().__init__()
        self.links: dict[str, str] = {}
        try:
            self.feed(page)
        except AssertionError as error:  # html.parser's word for a marked section that it does not know
            raise ValueError(str(error)) from None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        url, fragment = urldefrag(dict(attrs).get("href") or "")
        if tag == "a" and url.endswith(".whl") and fragment.startswith("sha256="):
            self.links[unquote(url)] = fragment.removeprefix("sha256=")


def catalog_of_pages(index: Path) -> Catalog:
    """The catalog of the wheels that the last pages name, where they lie there with these bytes.

    Raises UsageError where a wheel has other bytes than its page names.
    """
    catalog = Catalog()
    for project, path, sha256 in sorted(_links(index)):
        wheel = index / project / path
        if not wheel.is_file() or distribution_of(wheel.name)[0] != project or not re.fullmatch(PROJECT, project):
            continue
        read = read_wheel(wheel)
        if read.sha256 != sha256:
            raise UsageError(
                "this wheel has other bytes than the page of its project names",
                where=str(wheel),
                next="put the published file back; a published name never changes its content",
            )
        plan = plan_placement(read, None, index / project, ())
        for name, data in {f"{wheel.name}.metadata": read.metadata, **plan.contents}.items():
            write_file(wheel.with_name(name), data)
        stat = wheel.stat()
        folder = "" if wheel.parent.name == project else wheel.parent.name
        row = plan.row.model_copy(update={"folder": folder, "size": stat.st_size, "modified": stat.st_mtime_ns})
        catalog = catalog.with_file(project, row)
    return catalog


def _links(index: Path) -> Iterator[tuple[str, str, str]]:
    """Project, path below its folder, and sha256 of each wheel that the current pages, or else the last ones, name."""
    for folder in (index / CURRENT, *reversed(generation_numbers(index).values())):
        if pages := sorted(folder.glob("[!.]*/index.html")):
            for page in pages:
                text = (read_regular(page, STATE_LIMIT) or b"").decode("utf-8", "replace")
                try:
                    links = WheelLinks(text).links
                except ValueError as error:
                    raise UsageError(
                        f"the page cannot be read: {error}",
                        where=str(page),
                        next="put the page that was published back, or publish its wheels to another folder",
                    ) from None
                for path, sha256 in links.items():
                    if path.count("/") <= 1 and ".." not in path and not path.startswith("/"):
                        yield page.parent.name, path, sha256
            return
