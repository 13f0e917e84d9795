"""The static index: immutable, complete at every moment, readable as the simple repository API has it."""

from __future__ import annotations

import hashlib
import html
import json
import os
import zipfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

from stackbuild.core import digest
from stackbuild.core.errors import UsageError
from stackbuild.publishing import maintenance
from stackbuild.publishing.index import is_published, publish
from stackbuild.publishing.pages import NO_VERIFICATION
from stackbuild.publishing.publication import Publication
from stackbuild.publishing.wheel_readme import read_usage, readme
from support.wheels import put_statements, small_sbom, small_wheel


def wheel(folder: Path, version: str = "1.0", content: str = "x", name: str = "demo-pkg", requires: str = ">=3.9") -> Path:
    folder.mkdir(exist_ok=True)
    stem = f"{name.replace('-', '_')}-{version}"
    path = folder / f"{stem}-py3-none-any.whl"
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *([f"Requires-Python: {requires}"] if requires else []), "", "ü"]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("demo_pkg/__init__.py", content)
        archive.writestr(f"{stem}.dist-info/METADATA", "\n".join(lines))
    return path


def digests(*wheels: Path) -> dict[Path, str]:
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in wheels}


class Links(HTMLParser):
    def __init__(self, page: Path) -> None:
        super().__init__()
        self.found: list[dict[str, str | None]] = []
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.found.append(dict(attrs))


def assert_whole(index: Path) -> None:
    """Every link of every page leads to a file with the digest it names."""
    for project in Links(index / "index.html").found:
        folder = index / str(project["href"])
        assert (folder / "index.html").is_file()
        for link in Links(folder / "index.html").found:
            url, fragment = urldefrag(str(link["href"]))
            target = folder / unquote(url)
            assert hashlib.sha256(target.read_bytes()).hexdigest() == fragment.removeprefix("sha256=")
            beside = target.with_name(f"{target.name}.metadata")
            assert f"sha256={hashlib.sha256(beside.read_bytes()).hexdigest()}" == link["data-core-metadata"]


def test_pages_and_json_say_the_same(tmp_path: Path) -> None:
    index = tmp_path / "simple"
    receipt = publish((wheel(tmp_path / "a"), wheel(tmp_path / "a", "1.0+rocm.6.4", requires="")), index)
    assert [w.fresh for w in receipt.wheels] == [True, True]
    assert_whole(index)
    links = Links(index / "demo-pkg" / "index.html").found
    assert [link.get("data-requires-python") for link in links] == [None, ">=3.9"]
    assert str(links[0]["href"]).startswith("demo_pkg-1.0%2Brocm.6.4-py3")
    page = json.loads((index / "demo-pkg" / "index.json").read_text())
    assert page["meta"] == {"api-version": "1.4"} and page["name"] == "demo-pkg" and page["versions"] == ["1.0", "1.0+rocm.6.4"]
    for row, link in zip(page["files"], links, strict=True):
        assert row["hashes"]["sha256"] in str(link["href"]) and row["size"] > 100 and row["yanked"] is False
        assert row["upload-time"].endswith("Z") and "." in row["upload-time"]
    root = json.loads((index / "index.json").read_text())
    assert root["projects"] == [{"name": "demo-pkg"}]


def test_what_verification_came_to_stands_beside_each_wheel(tmp_path: Path) -> None:
    """On the page, in the JSON and in the receipt; of other bytes under the name, and of an unverified wheel, nothing is known."""
    index = tmp_path / "simple"
    first, second = wheel(tmp_path / "a"), wheel(tmp_path / "a", "2.0")
    claim = "verified (static rules; not run: load: <no ROCm>); no GPU ran"
    receipt = publish((first, second), index, Publication(attachments={first: put_statements(first, "<no ROCm>")}))
    assert [w.claim for w in receipt.wheels] == [claim, NO_VERIFICATION]
    assert [w.claim for w in publish((first,), index).wheels] == [claim]
    page = json.loads((index / "demo-pkg" / "index.json").read_text())
    assert [row["_stackbuild-claim"] for row in page["files"]] == [NO_VERIFICATION, claim], "the newest version first"
    text = (index / "demo-pkg" / "index.html").read_text()
    assert "beside it: benchmarks.json, provenance.json, verification.json</small>" in text
    assert "&lt;no ROCm&gt;); no GPU ran</small>" in text and f"<small>{NO_VERIFICATION}</small>" in text
    other = wheel(tmp_path / "b", content="other")
    assert [w.claim for w in publish((other,), index, Publication(replace=True)).wheels] == [NO_VERIFICATION]


@pytest.mark.parametrize(("known", "count"), [(False, 1), (True, 0)])
def test_a_wheel_is_hashed_at_most_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: bool, count: int) -> None:
    """Once for a publish; not at all where the caller has its digest, and neither when it is there already."""
    first, index, read = wheel(tmp_path / "a"), tmp_path / "simple", []
    publication = Publication(digests=digests(first) if known else {})

    def of_file(path: Path) -> str:
        read.append(path)
        return hashlib.sha256(path.read_bytes()).hexdigest()

    monkeypatch.setattr(digest, "of_file", of_file)
    for _ in range(2):
        publish((first,), index, publication)
        assert read == [first] * count
        read.clear()
    assert is_published(publication.digests, index) and not read


def test_a_published_name_keeps_its_bytes(tmp_path: Path) -> None:
    index = tmp_path / "simple"
    first = wheel(tmp_path / "a")
    publish((first,), index)
    assert [w.fresh for w in publish((first,), index).wheels] == [False]
    assert is_published(digests(first), index)
    other = wheel(tmp_path / "b", content="other")
    assert not is_published(digests(other), index)
    new = wheel(tmp_path / "b", "2.0")
    with pytest.raises(UsageError, match="published already, with other bytes"):
        publish((new, other), index)
    assert not (index / "demo-pkg" / new.name).exists(), "nothing of a refused publish appears"
    publish((other,), index, Publication(replace=True))
    assert_whole(index)
    (link,) = Links(index / "demo-pkg" / "index.html").found[:1]
    assert (index / "demo-pkg" / unquote(urldefrag(str(link["href"])).url)).read_bytes() == other.read_bytes()
    assert (index / "demo-pkg" / first.name).read_bytes() == first.read_bytes(), "who has read the page before still finds it"
    for content in ("third", "fourth"):
        publish((wheel(tmp_path / content, content=content),), index, Publication(replace=True))
        assert_whole(index)
    assert len(list((index / "demo-pkg").rglob("*.whl"))) == 4, "published bytes are never deleted"


def test_dying_at_any_moment_leaves_an_index_without_a_dangling_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Died(Exception):
        pass

    real, real_replace = os.rename, os.replace
    old, new = wheel(tmp_path / "a"), wheel(tmp_path / "a", "2.0")
    finished = False
    for point in range(1, 30):
        index = tmp_path / f"simple{point}"
        publish((old,), index)
        count = 0

        def die_at(change: Callable[..., None], *args: object, at: int = point, **words: object) -> None:
            nonlocal count
            count += 1
            if count == at:
                raise Died
            change(*args, **words)

        with monkeypatch.context() as patch:
            patch.setattr(os, "rename", partial(die_at, real))
            patch.setattr(os, "replace", partial(die_at, real_replace))
            try:
                publish((new,), index)
                finished = True
            except Died:
                pass
        assert_whole(index)
        publish((new,), index)
        assert_whole(index)
        assert len(Links(index / "demo-pkg" / "index.html").found) == 2
        assert not list(index.rglob("*.staged"))
        if finished:
            break
    assert finished and point == 5, "a wheel, its metadata, the generation, and the link that switches to it"


def test_a_publish_killed_between_wheel_and_metadata_is_finished_by_the_next(tmp_path: Path) -> None:
    index = tmp_path / "simple"
    made = wheel(tmp_path / "a")
    (index / "demo-pkg").mkdir(parents=True)
    (index / "demo-pkg" / made.name).write_bytes(made.read_bytes())
    (index / "demo-pkg" / f".{made.name}.staged").write_bytes(b"half")
    publish((made,), index)
    assert_whole(index)
    assert sorted(p.name for p in (index / "demo-pkg").iterdir()) == ["demo_pkg-1.0-py3-none-any.whl", "demo_pkg-1.0-py3-none-any.whl.metadata", "index.html", "index.json"]


@pytest.mark.parametrize(
    ("name", "data"),
    [("demo-1.0-py3-none-any.whl", b"not a zip"), ("demo-1.0-py3-none-any.whl", b""), ("demo.whl", b""), ("demo-1.0.tar.gz", b"")],
)
def test_what_is_no_wheel_is_refused_and_nothing_is_published(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(UsageError) as caught:
        publish((tmp_path / name,), tmp_path / "simple")
    assert caught.value.next
    assert not list((tmp_path / "simple").rglob("*.whl"))


def test_the_install_line_comes_with_the_packages_that_pip_cannot_bring(tmp_path: Path) -> None:
    """From the wheel's SBOM; a library that is none of ROCm's has no known package, and an SBOM without libraries tells nothing."""
    made, bare = wheel(tmp_path / "a"), wheel(tmp_path / "a", "2.0")
    rows = [
        {"name": name, "properties": [{"name": "stackbuild:role", "value": role}]}
        for name, role in (
            ("libmigraphx_c.so.3", "external-library"), ("libx.so.1", "external-library"), ("a", "source"), ("m/lib/liby.so.2", "bundled-library"),
        )
    ]
    for path, components in ((made, rows), (bare, rows[2:3])):
        text = json.dumps({"bomFormat": "CycloneDX", "specVersion": "1.6", "components": components})
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr(f"{path.name.removesuffix('-py3-none-any.whl')}.dist-info/sboms/stackbuild.cdx.json", text)
    receipt = publish((made, bare), tmp_path / "simple")
    assert [one.outside for one in receipt.wheels] == [("libmigraphx_c.so.3", "libx.so.1"), ()]
    assert [one.bundled for one in receipt.wheels] == [("liby.so.2",), ()]
    assert receipt.packages_needed == ("libmigraphx_c.so.3: package libmigraphx-c3 of Debian, migraphx of AMD",)
    with_it = replace(receipt.wheels[1], bundled=("libmigraphx_c.so.3",))
    assert replace(receipt, wheels=(receipt.wheels[0], with_it)).packages_needed == ()


def test_how_a_wheel_is_used_is_on_its_page_and_in_the_receipt(tmp_path: Path) -> None:
    """As its METADATA says: ten lines that make a session, what runs where, and for which GPUs it has code."""
    texts = {target: readme("demo-pkg", "", "demo_pkg", "custom-ops", (target,), ("libx<1>.so",)) for target in ("gfx1100", "gfx942")}
    one, two = small_wheel(tmp_path / "a", description=texts["gfx1100"]), small_wheel(tmp_path / "a", "2.0", description=texts["gfx942"])
    index, plain = tmp_path / "simple", small_wheel(tmp_path / "a", name="plain-pkg")
    receipt = publish((one, two, plain), index)
    usage = read_usage(texts["gfx942"])
    assert [each.usage.targets for each in receipt.wheels] == [("gfx1100",), ("gfx942",), ()] and receipt.usages[1] == usage
    page = (index / "demo-pkg" / "index.html").read_text()
    assert "<small>gfx942; " in page and "<small>gfx1100; " in page and html.escape("\n".join(usage.code)) in page
    assert "<summary>Use of 2.0, and what runs where</summary>" in page and page.count("<details") == 1
    assert "<li>GPU code for gfx942: MI300A, MI300X, MI325X</li><li>libx&lt;1&gt;.so comes from the machine</li>" in page
    assert [row.get("_stackbuild-gfx") for row in json.loads((index / "demo-pkg" / "index.json").read_text())["files"]] == [["gfx942"], ["gfx1100"]]
    root = (index / "index.html").read_text()
    assert "<small>2.0, gfx942</small>" in root and "<small>1.0, GPU targets not stated</small>" in root
    maintenance.yank(index, "demo-pkg", "2.0", "wrong results", Publication())
    assert "<summary>Use of 1.0" in (index / "demo-pkg" / "index.html").read_text()
    assert publish((two,), index).usages == ()


def test_what_comes_from_the_default_index_is_named(tmp_path: Path) -> None:
    """Also what a wheel of the same index requires; not what an extra, another system or a place of its own asks for."""
    base = small_wheel(tmp_path, name="base-pkg", requires=("Flat_Buffers>=1",))
    conditions = ("extra-only; extra == 'x'", "pywin32; sys_platform == 'win32'", f"elsewhere @ https://example.invalid/e-1-py3-none-any.whl#sha256={'0' * 64}")
    wheel = small_wheel(tmp_path, requires=("numpy>=1.26", "base-pkg==1.0", *conditions))
    receipt = publish((base, wheel), tmp_path / "simple", Publication(url="https://wheels.example.invalid/simple"))
    assert receipt.from_default_index == ("flat-buffers", "numpy")
    page = (tmp_path / "simple" / "demo-pkg" / "index.html").read_text()
    assert "<small>pip takes from its default index: flat-buffers, numpy</small>" in page
    assert publish((small_wheel(tmp_path, "2.0", name="numpy"),), tmp_path / "simple").from_default_index == ()
    assert publish((wheel,), tmp_path / "simple").from_default_index == ("flat-buffers",)


def test_what_was_withdrawn_has_no_install_line(tmp_path: Path) -> None:
    index, one, two = tmp_path / "simple", wheel(tmp_path / "a"), wheel(tmp_path / "a", "2.0")
    publish((one, two), index)
    maintenance.yank(index, "demo-pkg", "2.0", "wrong results", Publication())
    receipt = publish((one, two), index)
    assert [each.withdrawn for each in receipt.wheels] == ["", "yanked: wrong results"]
    assert "demo_pkg-1.0" in receipt.install_line and "demo_pkg-2.0" not in receipt.install_line
    maintenance.set_status(index, "demo-pkg", "quarantined", "", Publication())
    receipt = publish((one,), index)
    assert receipt.wheels[0].withdrawn == "the project is quarantined: no reason was given" and receipt.install_line == ""


def test_an_sbom_that_is_none_is_not_published(tmp_path: Path) -> None:
    for number, sbom in enumerate(("not json", "[]", '{"bomFormat": "SPDX", "specVersion": "2.3"}', "[" * 100_000, '{"bomFormat": 1, "bomFormat": "CycloneDX", "specVersion": "1.6"}')):
        with pytest.raises(UsageError, match="its SBOM cannot be published: it is not a CycloneDX document"):
            publish((small_wheel(tmp_path / str(number), sbom=sbom),), tmp_path / "simple")
    for number, (components, words) in enumerate((([], "it lists nothing"), ([1], "its components cannot be read"), ([{"name": "a"}], "the component a has no role")), 10):
        text = json.dumps({"bomFormat": "CycloneDX", "specVersion": "1.6", "components": components})
        with pytest.raises(UsageError, match=f"its SBOM cannot be published: {words}"):
            publish((small_wheel(tmp_path / str(number), sbom=text),), tmp_path / "simple")
    old = small_sbom().replace('"1.6"', '"1.5"')
    with pytest.raises(UsageError, match=r"its SBOM cannot be published: it is CycloneDX '1\.5', not 1\.6"):
        publish((small_wheel(tmp_path / "old", sbom=old),), tmp_path / "simple")
    assert not list((tmp_path / "simple").rglob("*.whl"))


def test_a_wheel_is_what_its_name_says(tmp_path: Path) -> None:
    index = tmp_path / "simple"
    renamed = wheel(tmp_path / "a").rename(tmp_path / "a" / "demo_pkg-2.0-py3-none-any.whl")
    with pytest.raises(UsageError, match=r"the file name says demo-pkg 2.0, the metadata inside demo-pkg 1.0"):
        publish((renamed,), index)
    other = wheel(tmp_path / "b").rename(tmp_path / "b" / "Demo_Pkg-1.0-py3-none-any.whl")
    publish((wheel(tmp_path / "a"),), index)
    with pytest.raises(UsageError, match=r"published already, as demo_pkg-1.0-py3-none-any.whl"):
        publish((other,), index)
    with pytest.raises(UsageError, match="more than once"):
        publish((wheel(tmp_path / "a"), other), index)
    assert_whole(index)


def test_names_in_pages_are_escaped(tmp_path: Path) -> None:
    index = tmp_path / "simple"
    publish((wheel(tmp_path / "a", requires=">=3.9,<4"),), index)
    assert 'data-requires-python="&gt;=3.9,&lt;4"' in (index / "demo-pkg" / "index.html").read_text()
    assert Links(index / "demo-pkg" / "index.html").found[0]["data-requires-python"] == ">=3.9,<4"


def test_one_name_twice_in_a_call_is_refused(tmp_path: Path) -> None:
    one = wheel(tmp_path / "a", content="one")
    two = wheel(tmp_path / "b", content="two")
    with pytest.raises(UsageError, match="more than once"):
        publish((one, two), tmp_path / "index")


def test_a_lost_metadata_file_is_written_again(tmp_path: Path) -> None:
    index = tmp_path / "index"
    publish((wheel(tmp_path / "a", content="one"),), index)
    lost = index / "demo-pkg" / "demo_pkg-1.0-py3-none-any.whl.metadata"
    before = lost.read_bytes()
    lost.unlink()
    publish((wheel(tmp_path / "a", "2.0", "two"),), index)
    assert lost.read_bytes() == before and "demo_pkg-2.0" in (index / "demo-pkg" / "index.html").read_text()
