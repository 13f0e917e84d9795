"""Two builds of one lock, in two folders and stores, give the same bytes: the wheel, its SBOM, and what is stated of it."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import pytest

from support.build_bench import BuildBench, link_store

COMPONENTS = r"""
  tool:
    kind: script
    run:
      - [mkdir, -p, /out/tool]
      - [sh, -c, 'printf "int answer(void) { return %d; }\n" 42 > /tmp/a.c; gcc -g -shared -fPIC -o /out/tool/liba.so /tmp/a.c']
      - [sh, -c, ': > /out/tool/__init__.py; echo mine > /out/tool/LICENSE']
  wheel:
    kind: wheel
    needs: [tool]
    distribution: tool
    version: '1.0'
    summary: a tool
    packages: [tool]
    license_files: [tool/LICENSE]
"""


@pytest.mark.sandbox
def test_wheel_sbom_and_statements_have_the_same_bytes(bench: BuildBench, small_base: Path, tmp_path: Path) -> None:
    bench.write(COMPONENTS)
    bench.env |= {"LC_ALL": "C.UTF-8", "TZ": "UTC"}
    bench.build("-j", "1")
    folder = tmp_path / "another folder, with a longer name"
    other = BuildBench(folder, folder / "store", {"LC_ALL": "de_DE.UTF-8", "TZ": "Pacific/Kiritimati", "HOME": str(tmp_path / "home")})
    folder.mkdir()
    link_store(small_base / "store", other.store)
    (folder / "t.lock.yaml").write_bytes((bench.root / "t.lock.yaml").read_bytes())
    other.write(COMPONENTS)
    other.build("-j", "4", before=("sh", "-c", 'umask 077; sleep 1.1; exec "$@"', "sh"))

    def published(root: Path) -> dict[str, str]:
        found = (root / "dist/simple/tool").glob("tool-1.0-*")
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in found}

    mine, theirs = published(bench.root), published(folder)
    kinds = {".whl", ".metadata", ".lock.yaml", ".cdx.json", ".provenance.json", ".verification.json"}
    assert {name.partition(".whl")[2] or ".whl" for name in mine} == kinds
    assert mine == theirs


@pytest.mark.sandbox
def test_the_sbom_in_the_wheel_names_what_is_in_it_and_what_made_it(bench: BuildBench) -> None:
    bench.write(COMPONENTS)
    bench.build()
    (wheel,) = (bench.root / "dist/simple/tool").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        sbom = archive.read("tool-1.0.dist-info/sboms/stackbuild.cdx.json")
        library = hashlib.sha256(archive.read("tool/liba.so")).hexdigest()
    assert sbom == wheel.with_name(f"{wheel.name}.cdx.json").read_bytes()
    assert library.encode() in sbom and b"bundled-library" in sbom and b"pkg:deb/debian/gcc@" in sbom
