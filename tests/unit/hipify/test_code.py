"""The digest of the package's own source."""

from __future__ import annotations

import shutil

from stackbuild.hipify import code


def test_the_digest_is_of_every_module_and_of_no_modules_place(tmp_path):
    package = tmp_path / "package"
    shutil.copytree(code.PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    assert code.source_digest(package) == code.code_digest()
    (package / "engines.py").rename(package / "cpp" / "moved.py")
    assert code.source_digest(package) == code.code_digest()
    for path in sorted(package.rglob("*.py")):
        if before := path.read_bytes():
            path.write_bytes(before + b"# changed\n")
            assert code.source_digest(package) != code.code_digest(), path
            path.write_bytes(before)
    assert {path.name for path in package.rglob("*.py")} >= {"convert.py", "stage.py", "scan.py", "catalogue.py"}
