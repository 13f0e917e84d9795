"""Changes of the disk that others may make too."""

from __future__ import annotations

import threading
from pathlib import Path

from stackbuild.store import atomic


def test_removing_what_another_removes_is_no_error(tmp_path: Path) -> None:
    folder = tmp_path / "tree"
    for i in range(200):
        (folder / f"d{i}").mkdir(parents=True)
        (folder / f"d{i}" / "f").touch()
    errors: list[BaseException] = []

    def go() -> None:
        try:
            atomic.remove(folder)
        except OSError as error:
            errors.append(error)

    threads = [threading.Thread(target=go) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    atomic.remove(folder)
    assert not folder.exists()
    assert not [e for e in errors if isinstance(e, FileNotFoundError)]


def test_a_hint_replaces_a_folder_in_its_place(tmp_path: Path) -> None:
    hint = tmp_path / "latest" / "r.step.key"
    (hint / "inside").mkdir(parents=True)
    (hint / "inside" / "file").touch()
    atomic.write_hint(hint, "key\n", tmp_path)
    assert hint.read_text() == "key\n"
