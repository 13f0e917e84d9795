"""What a publish refuses, and what it takes."""

from __future__ import annotations

import errno
import json
import shutil
from pathlib import Path

import pytest

from stackbuild.core.errors import MachineLacks, UsageError
from stackbuild.core.packaging import split_label
from stackbuild.model.recipe import Publish
from stackbuild.publishing.catalog import Catalog
from stackbuild.publishing.generation import read_catalog
from stackbuild.publishing.index import publish
from stackbuild.publishing.maintenance import rebuild, set_status, yank
from stackbuild.publishing.publication import Publication
from stackbuild.publishing.refusals import LONGEST_NAME
from stackbuild.publishing.ssh_keys import load_trusted_keys
from stackbuild.publishing.statements import VERIFICATION, ResourceDescriptor, statement, statement_name
from stackbuild.publishing.verify_release import Trust, verify_release
from stackbuild.views.publishing import draw_published
from support.wheels import SignedIndex, descriptor_of, new_key, put_statements, signed_index, small_wheel


@pytest.fixture
def signed(tmp_path: Path) -> SignedIndex:
    return signed_index(tmp_path)


def files_of(index: Path) -> dict[str, bytes]:
    """What lies at public names of an index, with its bytes."""
    found = (path for path in index.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {str(path.relative_to(index)): path.read_bytes() for path in found if ".generations" not in path.parts}


def problems(signed: SignedIndex) -> tuple[str, ...]:
    return verify_release(signed.folder, Trust(load_trusted_keys([signed.public]))).problems


def test_a_summary_in_any_language_is_published(tmp_path: Path) -> None:
    index = tmp_path / "simple"
    publish((small_wheel(tmp_path / "a", headers=("Summary: Größe 模型",)),), index)
    assert "Größe 模型" in (index / "demo-pkg" / "index.html").read_text("utf-8")
    assert json.loads((index / "demo-pkg" / "index.json").read_text())["files"]


def test_a_page_has_no_sign_that_a_terminal_or_the_direction_of_writing_obeys(tmp_path: Path) -> None:
    index = tmp_path / "simple"
    publish((small_wheel(tmp_path / "a", headers=("Summary: red \x1b[31m \x07 \u202e txt.exe",)),), index)
    yank(index, "demo-pkg", "1.0", "wrong \x1b[2J\u202e results")
    for page in index.rglob("index.html"):
        assert not [char for char in page.read_text("utf-8") if not char.isprintable() and char not in "\n"], page


def test_a_refused_wheel_never_comes_back(tmp_path: Path) -> None:
    """Not with the next publish, not signed, not by a rebuild: nothing of it lies at its public name."""
    index, (key, _) = tmp_path / "simple", new_key(tmp_path / "keys")
    broken = small_wheel(tmp_path / "a", name="vd", requires=("no requirement ===",))
    pair = small_wheel(tmp_path / "a", name="aa", requires=("bb==1.0",)), small_wheel(tmp_path / "a", "2.0", name="bb")
    for wheels in ((broken,), pair):
        with pytest.raises(UsageError, match="requires"):
            publish(wheels, index)
        assert not files_of(index)
    publish((small_wheel(tmp_path / "a"),), index, Publication(keys=(key,)))
    with pytest.raises(UsageError, match="requires"):
        publish(pair, index, Publication(keys=(key,)))
    rebuild(index, Publication(keys=(key,)))
    catalog = read_catalog(index)
    assert catalog is not None
    assert list(catalog.projects) == ["demo-pkg"]


def test_a_wheel_that_no_page_names_is_not_published(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One left by a publish that was killed, or put there by somebody else."""
    index = tmp_path / "simple"
    for name in ("aa", "bb"):
        small_wheel(index / name, name=name)
    receipt = publish((small_wheel(tmp_path / "a"),), index)
    assert receipt.unpublished == ("aa/aa-1.0-py3-none-any.whl", "bb/bb-1.0-py3-none-any.whl")
    draw_published(receipt)
    assert "not published, though it lies in the folder: aa/aa-1.0-py3-none-any.whl" in " ".join(capsys.readouterr().err.split())
    catalog = read_catalog(index)
    assert catalog is not None and list(catalog.projects) == ["demo-pkg"]
    rebuild(index, Publication())
    assert list((read_catalog(index) or Catalog()).projects) == ["demo-pkg"]


def test_a_rebuild_takes_the_wheels_that_the_last_pages_name(tmp_path: Path) -> None:
    """Also without the current link, and those that lie in a folder of their digest."""
    index = tmp_path / "simple"
    publish((small_wheel(tmp_path / "a"), small_wheel(tmp_path / "a", name="aa")), index)
    publish((small_wheel(tmp_path / "b", content="other"),), index, Publication(replace=True))
    before = read_catalog(index)
    assert before is not None
    (index / ".current").unlink()
    rebuild(index, Publication())
    after = read_catalog(index)
    assert after is not None
    for name, project in before.projects.items():
        for row in project.files.values():
            assert after.projects[name].files[row.name].sha256 == row.sha256
            assert after.projects[name].files[row.name].folder == row.folder


def test_a_wheel_with_other_bytes_than_its_page_names_stops_a_rebuild(tmp_path: Path) -> None:
    index = tmp_path / "simple"
    made = small_wheel(tmp_path / "a")
    publish((made,), index)
    (index / "demo-pkg" / made.name).write_bytes(small_wheel(tmp_path / "b", content="evil").read_bytes())
    with pytest.raises(UsageError, match="other bytes than the page"):
        rebuild(index, Publication())


def test_a_rebuild_of_a_folder_without_pages_is_refused(tmp_path: Path) -> None:
    small_wheel(tmp_path / "simple" / "aa", name="aa")
    with pytest.raises(UsageError, match="no page of this index names a wheel"):
        rebuild(tmp_path / "simple", Publication())


def test_a_failed_publish_takes_its_files_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = tmp_path / "simple"
    publish((small_wheel(tmp_path / "a"),), index)
    before = files_of(index)

    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch, pytest.raises(MachineLacks, match="disk of the index is full"):
        patch.setattr("stackbuild.publishing.transaction.switch", full)
        publish((small_wheel(tmp_path / "a", "2.0"), small_wheel(tmp_path / "a", name="aa")), index)
    assert files_of(index) == before


def test_a_refused_statement_leaves_a_signed_index_as_it_was(signed: SignedIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a key, and by a clock that is behind."""
    before = files_of(signed.folder)
    newer = {signed.wheel: put_statements(signed.wheel, "another machine")}
    with pytest.raises(UsageError, match="no key is given"):
        publish((signed.wheel,), signed.folder, Publication(attachments=newer))
    assert files_of(signed.folder) == before and not problems(signed)

    def behind(*args: object) -> None:
        raise UsageError("this machine's clock is behind")

    with monkeypatch.context() as patch, pytest.raises(UsageError, match="clock"):
        patch.setattr("stackbuild.publishing.transaction.signed_files", behind)
        publish((signed.wheel,), signed.folder, Publication(attachments=newer, keys=(signed.key,)))
    assert files_of(signed.folder) == before and not problems(signed)


def test_a_newer_statement_is_signed_anew(signed: SignedIndex) -> None:
    newer = {signed.wheel: put_statements(signed.wheel, "another machine")}
    (row,) = publish((signed.wheel,), signed.folder, Publication(attachments=newer, keys=(signed.key,))).wheels
    assert "load: another machine" in row.claim and not problems(signed)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"no JSON", "Expecting value"),
        (b"[" * 100_000, "statement cannot be published"),
        (statement([ResourceDescriptor("x", "00")], VERIFICATION, {"claim": "c"}), "it is about x with sha256 00"),
        (None, "it has no predicate with a type"),
    ],
)
def test_a_statement_that_is_not_about_the_wheel_is_refused(tmp_path: Path, text: bytes | None, words: str) -> None:
    made = small_wheel(tmp_path / "a")
    path = made.with_name(statement_name(made.name, "verification"))
    path.write_bytes(statement([descriptor_of(made)], VERIFICATION, []) if text is None else text)
    with pytest.raises(UsageError, match=words):
        publish((made,), tmp_path / "simple", Publication(attachments={made: (path,)}))
    assert not files_of(tmp_path / "simple")


@pytest.mark.parametrize("days", [float("nan"), float("inf"), 1e12, 4_000_000, 0, -1])
def test_a_signature_holds_for_a_time_that_can_be_told(days: float) -> None:
    with pytest.raises(UsageError, match="a signature cannot hold for"):
        Publication(days=days)


@pytest.mark.parametrize("name", ["dep.whl", "dep-1.0.zip", "dep-1.0-py3-none-any.whl ", "dep-1.0-py3-none-a\nny.whl", "dep-1.0-py3-none-\x1b.whl"])
def test_a_file_name_that_is_no_wheels_is_refused(tmp_path: Path, name: str) -> None:
    path = small_wheel(tmp_path / "a", name="dep").rename(tmp_path / name)
    with pytest.raises(UsageError, match="file name"):
        publish((path,), tmp_path / "simple")
    assert not files_of(tmp_path / "simple")


@pytest.mark.parametrize("tags", ["py3-none-any-gfx1100", "1-py3-none-any-gfx1100", "cp313-cp313t-musllinux_1_2_x86_64-x86_64_v3"])
def test_a_wheel_variant_is_refused_as_one(tmp_path: Path, tags: str) -> None:
    """And not for a build number that it does not have."""
    wheel = small_wheel(tmp_path / "a")
    with pytest.raises(UsageError, match=r"a wheel variant, with the label (gfx1100|x86_64_v3) \(PEP 825") as caught:
        publish((wheel.rename(wheel.with_name(f"demo_pkg-1.0-{tags}.whl")),), tmp_path / "simple")
    assert "give the plain wheel" in caught.value.next and "publish --variants" in caught.value.next


@pytest.mark.parametrize("tags", ["py3-none-any", "1-py3-none-any", "1a-cp311-abi3-linux_x86_64"])
def test_a_plain_wheel_has_no_label(tags: str) -> None:
    assert split_label(f"demo_pkg-1.0-{tags}.whl") == (f"demo_pkg-1.0-{tags}.whl", "")


def test_a_lowered_version_is_refused(tmp_path: Path) -> None:
    """It is no release that users would get; a correction of an older line says so."""
    index, old = tmp_path / "simple", small_wheel(tmp_path, "1.9")
    publish((small_wheel(tmp_path, "1.10"),), index)
    with pytest.raises(UsageError, match=r"demo-pkg 1\.9 is lower than 1\.10, which is published already") as refusal:
        publish((old,), index)
    assert "--older" in refusal.value.next and not (index / "demo-pkg" / old.name).exists()
    receipt = publish((old,), index, Publication(older=True))
    assert [wheel.fresh for wheel in receipt.wheels] == [True]


def test_a_correction_is_published_after_a_yank(tmp_path: Path) -> None:
    """The old app requires the yanked version; the new one and what it requires are not held up by it."""
    index = tmp_path / "simple"
    publish((small_wheel(tmp_path / "a", name="dep"), small_wheel(tmp_path / "a", name="app", requires=("dep==1.0",))), index)
    yank(index, "dep", "1.0", "bad")
    new = small_wheel(tmp_path / "a", "2.0", name="dep"), small_wheel(tmp_path / "a", "2.0", name="app", requires=("dep==2.0",))
    assert all(one.fresh for one in publish(new, index).wheels)
    with pytest.raises(UsageError, match=r"this index has dep 2\.0"):
        publish((small_wheel(tmp_path / "b", "3.0", name="app", requires=("dep==1.0",)),), index)


@pytest.mark.parametrize(
    ("requirement", "needed"),
    [
        ('dep==9; python_version<"3"', False),
        ('dep==9; extra=="x"', False),
        ('dep==9; sys_platform=="win32"', False),
        ('dep==9; python_version<"3.12"', True),
        ('dep==9; platform_machine=="aarch64"', True),
        ("dep==9", True),
    ],
)
def test_a_requirement_is_needed_where_its_marker_holds(tmp_path: Path, requirement: str, needed: bool) -> None:
    wheels = small_wheel(tmp_path / "a", name="dep"), small_wheel(tmp_path / "a", name="app", requires=(requirement,))
    if not needed:
        assert len(publish(wheels, tmp_path / "simple").wheels) == 2
        return
    with pytest.raises(UsageError, match=r"this index has dep 1\.0"):
        publish(wheels, tmp_path / "simple")


@pytest.mark.parametrize("marker", ["", "; extra == 'x'", "; sys_platform == 'win32'"])
def test_a_requirement_at_an_address_has_its_digest(tmp_path: Path, marker: str) -> None:
    """Whoever serves that address would choose the bytes, whatever index the user names."""
    address = "dep @ https://example.invalid/dep-1-py3-none-any.whl"
    with pytest.raises(UsageError, match="whatever lies at that address"):
        publish((small_wheel(tmp_path / "a", requires=(f"{address} {marker}",)),), tmp_path / "simple")
    assert not files_of(tmp_path / "simple")
    bound = f"{address}#sha256={'0' * 64} {marker}"
    publish((small_wheel(tmp_path / "b", requires=(bound,)),), tmp_path / "simple")


@pytest.mark.parametrize(
    "address",
    [
        "git+https://example.invalid/dep@main", "git+file:///srv/dep", "hg+https://example.invalid/dep", "file:///srv/dep",
        "https://example.invalid/dep-1.tar.gz", "https://example.invalid/dep-1-py3-none-any.whl?raw=1", "file:///dep-1-py3-none-any.whl",
    ],
)  # fmt: skip
def test_a_digest_that_installers_do_not_compare_binds_nothing(tmp_path: Path, address: str) -> None:
    """pip installs a repository or a folder whatever its fragment says, and runs the code of an sdist."""
    wheel = small_wheel(tmp_path / "a", requires=(f"dep @ {address}#sha256={'0' * 64}",))
    with pytest.raises(UsageError, match="whatever lies at that address"):
        publish((wheel,), tmp_path / "simple")
    assert not files_of(tmp_path / "simple")


@pytest.mark.parametrize(
    "entry",
    [
        "demo_pkg//__init__.py", "demo_pkg/./__init__.py", "./demo_pkg/__init__.py", "C:/x.py",
        "demo_pkg-1.0.data/purelib/demo_pkg/__init__.py", "demo_pkg-1.0.data/platlib/demo_pkg/__init__.py",
    ],
)  # fmt: skip
def test_no_entry_has_two_spellings_or_two_destinations(tmp_path: Path, entry: str) -> None:
    """pip and uv installed different files from one such wheel."""
    with pytest.raises(UsageError, match=r"is not a plain path|are installed as|leads out of the folder"):
        publish((small_wheel(tmp_path / "a", entries=((entry, "evil"),)),), tmp_path / "simple")


def test_a_wheel_whose_inside_is_malformed_is_refused(tmp_path: Path) -> None:
    evil = tmp_path / "evil"
    made = [
        (small_wheel(evil / "1", entries=(("other-1.0.dist-info/WHEEL", ""),)), "is not named after demo-pkg 1.0"),
        (small_wheel(evil / "2", entries=(("../../evil.py", "x"),)), "leads out of the folder"),
        (small_wheel(evil / "3", entries=(("/etc/evil", "x"),)), "leads out of the folder"),
        (small_wheel(evil / "4", headers=("Name: other",)), "the field name more than once"),
        (small_wheel(evil / "5", headers=("Version: 2.0",)), "the field version more than once"),
        (small_wheel(evil / "6", headers=("Requires-Python: banana",)), "'banana' is not a set of versions"),
    ]
    with pytest.warns(UserWarning, match="Duplicate name"):
        made.append((small_wheel(evil / "7", entries=(("demo_pkg/__init__.py", "y"),)), "more than once"))
    for wheel, words in made:
        with pytest.raises(UsageError, match=words):
            publish((wheel,), tmp_path / "simple")
    assert not files_of(tmp_path / "simple")


def test_a_full_disk_names_the_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("stackbuild.publishing.transaction.switch", full)
    with pytest.raises(MachineLacks, match=f"{tmp_path}/simple: the disk of the index is full"):
        publish((small_wheel(tmp_path / "a"),), tmp_path / "simple")


def test_a_full_disk_is_not_filled_with_parts_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(source: Path, target: Path) -> None:
        target.write_bytes(source.read_bytes()[:100])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("stackbuild.publishing.placement.copy_file", cut)
    with pytest.raises(MachineLacks, match="disk of the index is full"):
        publish((small_wheel(tmp_path / "a"),), tmp_path / "simple")
    assert not files_of(tmp_path / "simple")


def test_a_wheel_that_is_written_to_meanwhile_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its digest was taken before: the pages would name other bytes than lie there."""
    wheel = small_wheel(tmp_path / "a")

    def late(source: Path, target: Path) -> None:
        source.write_bytes(source.read_bytes() + b"\0")
        shutil.copyfile(source, target)

    monkeypatch.setattr("stackbuild.publishing.placement.copy_file", late)
    with pytest.raises(UsageError, match="was written to while it was published"):
        publish((wheel,), tmp_path / "simple")
    assert not files_of(tmp_path / "simple")


def test_a_name_that_leaves_no_room_for_statements_is_refused(tmp_path: Path) -> None:
    longest = "a" * (LONGEST_NAME - len("-1.0-py3-none-any.whl"))
    wheel = small_wheel(tmp_path / "a", name=longest)
    key, _ = new_key(tmp_path / "keys")
    publish((wheel,), tmp_path / "simple", Publication(keys=(key,), attachments={wheel: put_statements(wheel)}))
    with pytest.raises(UsageError, match="221 characters; 220 leave room"):
        publish((small_wheel(tmp_path / "b", name=f"{longest}a"),), tmp_path / "simple")


def test_files_of_others_stay(tmp_path: Path) -> None:
    index = tmp_path / "simple"
    theirs = [index / ".notes.staged", index / "else" / ".notes.staged", index / "a" / "b" / "c" / ".x.whl.staged"]
    for path in theirs:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    publish((small_wheel(tmp_path / "a"),), index)
    assert all(path.exists() for path in theirs)


def test_a_folder_that_is_no_index_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no such index"):
        set_status(tmp_path / "nofolder", "x", "quarantined", "")
    assert not (tmp_path / "nofolder").exists()


def test_a_project_folder_that_is_a_link_is_not_written_through(tmp_path: Path) -> None:
    index, other = tmp_path / "simple", tmp_path / "other"
    index.mkdir()
    other.mkdir()
    (index / "demo-pkg").symlink_to(other)
    with pytest.raises(UsageError, match="is a link that leads elsewhere"):
        publish((small_wheel(tmp_path / "a"),), index)
    assert not list(other.iterdir())


def test_a_wheel_whose_sbom_cannot_be_unpacked_is_refused(tmp_path: Path) -> None:
    """Its bytes differ from the checksum that the archive has of them."""
    made = small_wheel(tmp_path / "a", sbom="{'unpacked': 'whole'}")
    made.write_bytes(made.read_bytes().replace(b"'whole'", b"'other'"))
    with pytest.raises(UsageError, match="its SBOM cannot be unpacked: Bad CRC-32"):
        publish((made,), tmp_path / "simple")
    assert not files_of(tmp_path / "simple")


URLS = ["https://h/$(id)", "javascript:alert(1)", "not a url", "https://h/`id`", "https://h/a'b", 'https://h/"', "https://u:p@h/", "https://h/a;b",
        "https://h/a b", "https://h/\n", "https://h/<b>", "https://h/a&b", "ftp://h/", "https:///x", "https://h/?a=1"]  # fmt: skip


@pytest.mark.parametrize("url", URLS)
def test_an_address_that_a_shell_or_a_page_would_read_is_refused(url: str) -> None:
    """By the option and by a recipe alike."""
    with pytest.raises(UsageError, match="is not an address that an index is served at"):
        Publication(url=url)
    with pytest.raises(ValueError, match="it holds a login" if "@" in url else "is not an address that pip can read"):
        Publish(url=url)


@pytest.mark.parametrize("url", ["https://example.org/simple", "http://127.0.0.1:8080/", "file:///srv/simple", "https://h/a%20b/rocm-7.2+x/~me"])
def test_a_plain_address_is_taken(url: str) -> None:
    assert Publication(url=url).url == Publish(url=url).url == url
    assert Publish(url="https://h/rocm-{rocm}/simple").url
