"""Packs are the same bytes each time, and are read back from any place; cores are shared by those who compress."""

from __future__ import annotations

import random
import threading
from pathlib import Path

import pytest

from stackbuild.core import digest
from stackbuild.core.cancel import Interruption, worker_threads
from stackbuild.core.zstd import ZstdDecompressor
from stackbuild.remote import packing
from stackbuild.remote.packing import BlobSpool, CoreBudget, FileDiffers, compress
from stackbuild.remote.packs import Pack
from stackbuild.remote.trees import StoredBlob
from stackbuild.store.tree import Entry


def entry(root: Path, name: str, data: bytes) -> Entry:
    (root / name).write_bytes(data)
    return Entry(name, "f", "444", len(data), digest.of_bytes(data))


@pytest.mark.parametrize("most", [0, 5, 8, 100])
def test_a_spool_is_read_from_any_place(tmp_path: Path, most: int) -> None:
    pieces, whole = (b"abc", b"", b"defgh", b"i", b"jklmnop"), b"abcdefghijklmnop"
    with BlobSpool(tmp_path, most) as spool:
        for piece in pieces:
            spool.write(piece)
        for place in range(len(whole) + 1):
            spool.seek(place)
            assert spool.read() == whole[place:]
            spool.seek(place)
            read = list(iter(lambda: spool.read(2), b""))
            assert b"".join(read) == whole[place:] and all(len(piece) <= 2 for piece in read)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("size", [packing.LARGE_PACK - 1, packing.LARGE_PACK])
def test_a_pack_is_the_same_blob_for_any_number_of_threads(
    tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two builders of one tree send the same blobs, whichever machines they have."""
    data = (random.Random(18).randbytes(1 << 20) + bytes(1 << 20)) * (size >> 21) + bytes(1 << 21)
    pack = Pack((entry(tmp_path, "a", data[: size - 1]), entry(tmp_path, "b", b"b")))
    blobs: set[StoredBlob] = set()
    for threads in (1, 2, 3):
        monkeypatch.setattr(packing, "THREADS", threads)
        with BlobSpool(tmp_path, 1 << 20) as spool:
            blob = compress(tmp_path, pack, 1, spool)
            spool.seek(0)
            stored = spool.read()
        assert StoredBlob(digest.of_bytes(stored), len(stored)) == blob
        assert ZstdDecompressor().decompress(stored) == data[: size - 1] + b"b"
        blobs.add(blob)
    assert len(blobs) == 1


@pytest.mark.parametrize("content", [b"abd", b"ab", b"abcd", b"", None])
def test_a_file_that_differs_is_found_while_it_is_packed(tmp_path: Path, content: bytes | None) -> None:
    pack = Pack((entry(tmp_path, "a", b"abc"),))
    (tmp_path / "a").unlink()
    if content is not None:
        (tmp_path / "a").write_bytes(content)
    with BlobSpool(tmp_path) as spool, pytest.raises(FileDiffers):
        compress(tmp_path, pack, 1, spool)


def test_who_compresses_a_large_pack_waits_for_its_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "THREADS", 2)
    budget, entered = CoreBudget(3), threading.Event()
    large = Pack((Entry("a", "f", "444", packing.LARGE_PACK, ""),))

    def take() -> None:
        with budget.take(large):
            entered.set()

    other = threading.Thread(target=take)
    with budget.take(large):
        with budget.take(Pack((Entry("b", "f", "444", 1, ""),))):
            other.start()
            assert not entered.wait(0.1)
        assert not entered.wait(0.1)
    other.join()
    assert entered.is_set()


def test_who_waits_for_cores_does_not_begin_once_the_push_is_given_up() -> None:
    budget, began, compressed = CoreBudget(1), threading.Event(), []
    small = Pack((Entry("a", "f", "444", 1, ""),))
    held = budget.take(small)

    def work() -> None:
        began.set()
        with budget.take(small):
            compressed.append(small)

    with pytest.raises(KeyboardInterrupt), worker_threads(1, lambda: held.__exit__(None, None, None)) as pool:
        held.__enter__()
        waits = pool.submit(work)
        began.wait()
        raise KeyboardInterrupt
    assert isinstance(waits.exception(), Interruption) and compressed == []
