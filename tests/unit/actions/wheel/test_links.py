"""What a step left for a wheel is a stranger's: a link out of the output takes no file of this machine along."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.actions import wheel
from stackbuild.core.errors import StepFailed


def test_a_link_inside_is_followed_and_one_outside_is_refused(tmp_path: Path) -> None:
    root, secret = tmp_path / "out", tmp_path / "secret"
    (root / "pkg").mkdir(parents=True)
    secret.write_text("secret")
    (root / "pkg" / "lib.so.1").write_text("lib")
    (root / "pkg" / "lib.so").symlink_to("lib.so.1")
    assert wheel._file(root, "pkg/lib.so", "w").read_text() == "lib"
    for name, target in (("absolute", str(secret)), ("up", "../../secret"), ("LICENSE", str(secret))):
        (root / "pkg" / name).symlink_to(target)
        with pytest.raises(StepFailed, match="a link out of the component's output"):
            wheel._file(root, f"pkg/{name}", "w")
    with pytest.raises(StepFailed, match="a link out of"):
        wheel._text(root, "pkg/LICENSE", "w")
