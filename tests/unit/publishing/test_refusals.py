"""What a publish refuses, and what it takes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stackbuild.core.errors import UsageError
from stackbuild.publishing.generation import read_catalog
from stackbuild.publishing.index import publish
from stackbuild.publishing.maintenance import rebuild
from stackbuild.publishing.publication import Publication
from stackbuild.publishing.signing import load_trusted_keys
from stackbuild.publishing.statements import VERIFICATION, ResourceDescriptor, statement, statement_name
from stackbuild.publishing.verify_release import Trust, verify_release
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
    catalog = rebuild(index, Publication(keys=(key,)))
    assert list(catalog.projects) == ["demo-pkg"]


def test_a_wheel_that_no_page_names_is_not_published(tmp_path: Path) -> None:
    """One left by a publish that was killed, or put there by somebody else."""
    index = tmp_path / "simple"
    for name in ("aa", "bb"):
        small_wheel(index / name, name=name)
    assert list(read_catalog_after(index, small_wheel(tmp_path / "a"))) == ["demo-pkg"]
    assert list(rebuild(index, Publication()).projects) == ["demo-pkg"]


def read_catalog_after(index: Path, wheel: Path) -> dict[str, object]:
    publish((wheel,), index)
    catalog = read_catalog(index)
    assert catalog is not None
    return dict(catalog.projects)


def test_a_rebuild_takes_the_wheels_that_the_last_pages_name(tmp_path: Path) -> None:
    """Also without the current link, and those that lie in a folder of their digest."""
    index = tmp_path / "simple"
    publish((small_wheel(tmp_path / "a"), small_wheel(tmp_path / "a", name="aa")), index)
    publish((small_wheel(tmp_path / "b", content="other"),), index, Publication(replace=True))
    before = read_catalog(index)
    assert before is not None
    (index / ".current").unlink()
    after = rebuild(index, Publication())
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

    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space left"):
        patch.setattr("stackbuild.publishing.transaction.switch", full)
        publish((small_wheel(tmp_path / "a", "2.0"), small_wheel(tmp_path / "a", name="aa")), index)
    assert files_of(index) == before


def test_a_refused_statement_leaves_a_signed_index_as_it_was(signed: SignedIndex) -> None:
    """Without a key, with a time that is none, and by a clock that is behind."""
    before = files_of(signed.folder)
    newer = {signed.wheel: put_statements(signed.wheel, "verified on a GPU")}
    for publication in (Publication(attached=newer), Publication(attached=newer, keys=(signed.key,), days=-1)):
        with pytest.raises(UsageError):
            publish((signed.wheel,), signed.folder, publication)
        assert files_of(signed.folder) == before and not problems(signed)


def test_a_newer_statement_is_signed_anew(signed: SignedIndex) -> None:
    newer = {signed.wheel: put_statements(signed.wheel, "verified on a GPU")}
    (row,) = publish((signed.wheel,), signed.folder, Publication(attached=newer, keys=(signed.key,))).wheels
    assert row.claim == "verified on a GPU" and not problems(signed)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"no JSON", "Expecting value"),
        (b"[" * 100_000, "statement cannot be published"),
        (statement([ResourceDescriptor("x", "00")], VERIFICATION, {"claim": "c"}), "it is about x with sha256 00"),
        (None, "its predicate is not an object"),
    ],
)
def test_a_statement_that_is_not_about_the_wheel_is_refused(tmp_path: Path, text: bytes | None, words: str) -> None:
    made = small_wheel(tmp_path / "a")
    path = made.with_name(statement_name(made.name, "verification"))
    path.write_bytes(statement([descriptor_of(made)], VERIFICATION, []) if text is None else text)
    with pytest.raises(UsageError, match=words):
        publish((made,), tmp_path / "simple", Publication(attached={made: (path,)}))
    assert not files_of(tmp_path / "simple")
