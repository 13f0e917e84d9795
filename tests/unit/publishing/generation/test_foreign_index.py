"""An index whose folder others have written to: a change writes and removes nothing elsewhere, and waits for nobody."""

from __future__ import annotations

import base64
import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from stackbuild.core.errors import UsageError
from stackbuild.publishing.generation import read_catalog
from stackbuild.publishing.index import publish
from stackbuild.publishing.maintenance import damages, rebuild, yank
from stackbuild.publishing.publication import Publication
from stackbuild.publishing.ssh_keys import load_trusted_keys, trusted_keys_of
from stackbuild.publishing.verify_release import Trust, verify_release
from support.wheels import SignedIndex, small_wheel

OTHER = "other-1.0-py3-none-any.whl"
STATE = ".generations/00000001"


@pytest.fixture
def signed(signed: SignedIndex, tmp_path: Path) -> SignedIndex:
    victim = tmp_path / "victim"
    (victim / "keep").mkdir(parents=True)
    (victim / "keep" / "f").write_text("x")
    (victim / "file").write_text("y")
    return signed


def contents(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() if path.is_file() else "" for path in folder.rglob("*")}


def put_link(path: Path, target: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(target)


def put_fifo(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.parent.mkdir(exist_ok=True)
    os.mkfifo(path)


def edit_catalog(old: str, new: str) -> Callable[[Path, Path], None]:
    def edit(index: Path, victim: Path) -> None:
        file = index / STATE / "catalog.json"
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new))

    return edit


def move_generations(index: Path, victim: Path) -> None:
    """A link to a folder with a good state, and with files of somebody else."""
    shutil.move(index / STATE, victim / "00000001")
    put_link(index / ".generations", victim)


PLANTED: dict[str, Callable[[Path, Path], None]] = {
    "generations elsewhere": move_generations,
    "state elsewhere": lambda index, victim: put_link(index / ".current", victim),
    "state above": lambda index, victim: put_link(index / ".current", Path("..")),
    "state is a FIFO": lambda index, victim: put_fifo(index / ".current"),
    "catalog is a FIFO": lambda index, victim: put_fifo(index / STATE / "catalog.json"),
    "catalog is endless": lambda index, victim: put_link(index / STATE / "catalog.json", Path("/dev/zero")),
    "envelope is a FIFO": lambda index, victim: put_fifo(index / STATE / "snapshot.dsse.json"),
    "lock is a FIFO": lambda index, victim: put_fifo(index / ".lock"),
    "lock is another file": lambda index, victim: put_link(index / ".lock", victim / "file"),
    "lock is a new file": lambda index, victim: put_link(index / ".lock", victim / "new"),
    "project is a link": lambda index, victim: put_link(index / "demo-pkg", victim),
    "project out of the index": edit_catalog('"demo-pkg"', '"../victim"'),
    "file out of the index": edit_catalog('"demo_pkg-1.0-py3-none-any.whl"', '"../../victim/file"'),
    "number of 400 digits": edit_catalog('"number": 1', '"number": ' + "9" * 400),
    "a folder in place of a page": lambda index, victim: (index / "other/index.html").mkdir(parents=True),
    "a folder in place of METADATA": lambda index, victim: (index / f"other/{OTHER}.metadata").mkdir(parents=True),
    "a file in place of a project": lambda index, victim: put_fifo(index / "other"),
}
HARMLESS: dict[str, Callable[[Path, Path], None]] = {
    "staged file is a FIFO": lambda index, victim: put_fifo(index / f"other/.{OTHER}.staged"),
    "staged METADATA is a FIFO": lambda index, victim: put_fifo(index / f"other/.{OTHER}.metadata.staged"),
    "staged file is a link": lambda index, victim: put_link(index / f"other/.{OTHER}.metadata.staged", victim / "file"),
    "staged file is a folder": lambda index, victim: (index / f"other/.{OTHER}.staged/x").mkdir(parents=True),
    "next generation is a link": lambda index, victim: put_link(index / ".generations/00000002", victim),
    "generation of another digit": lambda index, victim: (index / ".generations/²").mkdir(),
    "generation of 200 digits": lambda index, victim: (index / ".generations" / ("9" * 200)).mkdir(),
    "page is a link": lambda index, victim: put_link(index / "other/index.html", victim / "file"),
    "another folder is a link": lambda index, victim: put_link(index / "elsewhere", victim),
}


@pytest.mark.timeout(30)
@pytest.mark.parametrize("name", [*PLANTED, *HARMLESS])
def test_nothing_elsewhere_is_written_or_removed(name: str, signed: SignedIndex, tmp_path: Path) -> None:
    index, victim = signed.folder, tmp_path / "victim"
    (victim / f".{OTHER}.staged").write_text("of somebody else")
    {**PLANTED, **HARMLESS}[name](index, victim)
    before = contents(victim)
    publication = Publication(keys=(signed.key,), accept_changes=True)
    wheel = small_wheel(tmp_path / "w", name="other")
    if name in PLANTED:
        with pytest.raises(UsageError) as refused:
            publish((wheel,), index, publication)
        assert refused.value.next
    else:
        publish((wheel,), index, publication)
        assert f"other/{OTHER}" in str(verify_release(index, Trust(load_trusted_keys([signed.public]))).wheels)
    assert contents(victim) == before


@pytest.mark.timeout(30)
def test_an_old_index_hands_out_no_file_of_the_machine(signed: SignedIndex, tmp_path: Path) -> None:
    """Pages of an index without generations are taken over: what a link leads to would be published."""
    index = signed.folder
    shutil.rmtree(index / ".generations")
    for page in (index / ".current", *index.glob("*/index.*"), *index.glob("index.*")):
        page.unlink()
    (index / "index.html").write_text("old")
    put_link(index / "demo-pkg/index.html", tmp_path / "victim/file")
    for put in (lambda: None, lambda: put_fifo(index / "demo-pkg/index.html")):
        put()
        with pytest.raises(UsageError, match="a link, or not a file"):
            publish((small_wheel(tmp_path / "w", name="other"),), index, Publication())


@pytest.mark.timeout(30)
def test_reading_commands_do_not_wait_for_a_page(signed: SignedIndex) -> None:
    put_fifo(signed.folder / STATE / "demo-pkg/index.html")
    assert any("is not the page" in line for line in damages(signed.folder))
    put_fifo(signed.folder / STATE / "catalog.json")
    for act in (lambda: read_catalog(signed.folder), lambda: yank(signed.folder, "demo-pkg", "1.0", "why")):
        with pytest.raises(UsageError, match="not a file that can be read"):
            act()
    with pytest.raises(UsageError):
        rebuild(signed.folder, Publication(unsigned=True))


@pytest.mark.parametrize("page", ["<![x[ ]]>", '<a href="//[.whl#sha256=0">x</a>'])
def test_a_page_that_is_no_html_is_named(page: str, signed: SignedIndex) -> None:
    (signed.folder / STATE / "demo-pkg/index.html").write_text(page)
    with pytest.raises(UsageError, match="the page cannot be read"):
        rebuild(signed.folder, Publication(unsigned=True))


def line_of(signed: SignedIndex) -> str:
    return " ".join(signed.public.read_text().split()[:2])


@pytest.mark.parametrize(
    "options", ['VALID-BEFORE="20200101"', 'valid-before="20200101",Valid-After="20300101"', 'Valid-Before="20200101"']
)
def test_a_bound_of_a_key_counts_however_it_is_spelt(options: str, signed: SignedIndex, tmp_path: Path) -> None:
    (tmp_path / "keys").write_text(f"ada {options} {line_of(signed)}\n")
    (problem,) = verify_release(signed.folder, Trust(load_trusted_keys([tmp_path / "keys"]))).problems
    assert "expired" in problem or "not valid before" in problem


@pytest.mark.parametrize(
    "options",
    [
        *('valid-before="20200101";', 'valid-before=20200101', 'valid-before="20200101', 'x"', "valid-before"),
        *('valid-before="20200101",valid-before="20990101"', ',', 'cert-authority', 'valid-before="20200101"x'),
        'vаlid-before="20200101"',
    ],
)
def test_an_option_that_is_not_understood_is_refused(options: str, signed: SignedIndex) -> None:
    with pytest.raises(UsageError):
        trusted_keys_of([f"ada {options} {line_of(signed)}"], "keys")


def test_one_key_does_not_count_twice(signed: SignedIndex, tmp_path: Path) -> None:
    """Its wire format with another length is another fingerprint of the same key."""
    kind, text = signed.public.read_text().split()[:2]
    blob = base64.b64decode(text)
    for length in (0, 31, 33, 1 << 31):
        other = base64.b64encode(blob[:15] + struct.pack(">I", length) + blob[19:]).decode()
        with pytest.raises(UsageError, match="not an ed25519 public key"):
            trusted_keys_of([f"{kind} {other}"], "keys")
    (tmp_path / "twice").write_text(f"{kind} {text} ada\nbob {kind} {text}\n")
    assert len(load_trusted_keys([tmp_path / "twice", signed.public])) == 1


def test_a_bound_is_not_lifted_by_the_same_key_without_it(signed: SignedIndex, tmp_path: Path) -> None:
    (tmp_path / "keys").write_text(f'ada valid-before="20200101" {line_of(signed)}\n')
    with pytest.raises(UsageError, match="there twice, with other times"):
        load_trusted_keys([tmp_path / "keys", signed.public])


@pytest.mark.parametrize("name", ["-a", "a-", "a.", "_x", "x_"])
def test_a_name_that_no_project_has_does_not_make_the_index_unreadable(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="begins and ends with a letter or a digit"):
        publish((small_wheel(tmp_path / "w", name=name),), tmp_path / "simple", Publication())
