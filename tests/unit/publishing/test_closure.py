"""The install line names what the wheels require of their own index: nobody else can offer it."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaging.markers import Marker

from stackbuild.core.errors import UsageError
from stackbuild.publishing.catalog import Catalog
from stackbuild.publishing.generation import read_catalog
from stackbuild.publishing.index import publish
from stackbuild.publishing.maintenance import set_status, yank
from stackbuild.publishing.publication import Publication, Receipt
from support.wheels import small_wheel

SERVED = Publication(url="https://wheels.example.invalid/simple")


def put(folder: Path, *wheels: tuple[str, str, tuple[str, ...]], older: bool = False) -> Receipt:
    """Publish wheels, each a name, a version and what it requires, in one command."""
    made = tuple(small_wheel(folder / "w", version, name=name, requires=needs) for name, version, needs in wheels)
    return publish(made, folder / "simple", Publication(url=SERVED.url, older=older))


def named(receipt: Receipt) -> set[str]:
    """The files of the line."""
    return {word.rpartition("/")[2].partition("#")[0] for word in receipt.requirements}


def page(folder: Path, project: str) -> str:
    return (folder / "simple" / project / "index.html").read_text()


def test_a_requirement_of_an_earlier_command_is_named(tmp_path: Path) -> None:
    put(tmp_path, ("base", "1.0", ()), ("lib", "1.0", ("base",)))
    put(tmp_path, ("lib", "1.1", ("base",)))
    receipt = put(tmp_path, ("app", "1.0", ("lib>=1", "numpy")))
    assert named(receipt) == {f"{name}-py3-none-any.whl" for name in ("app-1.0", "lib-1.1", "base-1.0")}
    assert "numpy" not in receipt.install_line and receipt.install_line.count("sha256=") == 3
    assert all(f"{name}-py3-none-any.whl#sha256=" in page(tmp_path, "app").partition("<pre>")[2] for name in ("lib-1.1", "base-1.0"))


def test_the_version_is_the_highest_that_all_of_them_take(tmp_path: Path) -> None:
    for version in ("1.0", "1.5", "2.0", "3.0rc1"):
        put(tmp_path, ("base", version, ()))
    put(tmp_path, ("lib", "1.0", ("base<2",)))
    assert named(put(tmp_path, ("one", "1.0", ("base",)))) == {"one-1.0-py3-none-any.whl", "base-2.0-py3-none-any.whl"}
    both = put(tmp_path, ("two", "1.0", ("base", "lib")))
    assert "base-1.5-py3-none-any.whl" in named(both) and "base-2.0-py3-none-any.whl" not in named(both)
    yank(tmp_path / "simple", "base", "1.5", "wrong", SERVED)
    assert "base-1.0-py3-none-any.whl" in named(put(tmp_path, ("two", "1.1", ("base", "lib"))))


def test_requirements_that_contradict_each_other_have_no_line(tmp_path: Path) -> None:
    put(tmp_path, ("base", "1.0", ()), ("lib", "1.0", ("base<2",)))
    put(tmp_path, ("base", "2.0", ()))
    receipt = put(tmp_path, ("app", "1.0", ("lib", "base>=2")))
    both = "app-1.0-py3-none-any.whl requires base>=2 and lib-1.0-py3-none-any.whl requires base<2; no file"
    assert receipt.install_line == "" and both in receipt.no_install
    assert "<pre>" not in page(tmp_path, "app")
    together = put(tmp_path, ("base", "3.0", ()), ("lib", "1.1", ("base<2",)))
    assert together.install_line == "" and "lib-1.1-py3-none-any.whl requires base<2" in together.no_install


def test_a_requirement_that_was_taken_back_leaves_no_line(tmp_path: Path) -> None:
    wheels = (("lib", "1.0", ()), ("app", "1.0", ("lib",)))
    assert "<pre>" in page(tmp_path, "app") if put(tmp_path, *wheels).install_line else False
    set_status(tmp_path / "simple", "lib", "quarantined", "stolen key", SERVED)
    assert "<pre>" not in page(tmp_path, "app")


@pytest.mark.parametrize(
    ("needs", "where"),
    [
        (("lib ; python_version < '3.12'",), "python_version < '3.12'"),
        (("lib ; python_version < '3.9' or python_version > '3.12'",), "python_version < '3.9' or python_version > '3.12'"),
        (("lib ; python_version < '3.12'", "lib ; python_version >= '3.12'"), "python_version >= '3'"),
        (("lib", "lib ; python_version < '3.12'"), ""),
        (("lib ; platform_release != '$(id)'",), ""),
    ],
)
def test_a_marker_of_a_requirement_stays_with_it(tmp_path: Path, needs: tuple[str, ...], where: str) -> None:
    put(tmp_path, ("lib", "1.0", ()))
    (word,) = [word for word in put(tmp_path, ("app", "1.0", needs)).requirements if "/lib/" in word]
    marker = word.partition(" ; ")[2].rstrip('"')
    assert "$" not in word and word.count('"') == 2
    for python in ("3.8", "3.11", "3.12", "3.13"):
        environment = {"python_version": python}
        wanted = not where or Marker(where).evaluate(environment)
        assert wanted == (not marker or Marker(marker).evaluate(environment)), (python, marker)


def test_extras_count_where_they_are_asked_for(tmp_path: Path) -> None:
    put(tmp_path, ("tool", "1.0", ()), ("lib", "1.0", ("tool ; extra == 'fast'",)))
    assert len(put(tmp_path, ("app", "1.0", ("lib",))).requirements) == 2
    receipt = put(tmp_path, ("app", "1.1", ("lib[fast]",)))
    assert named(receipt) == {f"{name}-py3-none-any.whl" for name in ("app-1.1", "lib-1.0", "tool-1.0")}
    assert " ; " not in receipt.install_line


def test_projects_that_require_each_other_come_to_an_end(tmp_path: Path) -> None:
    receipt = put(
        tmp_path, ("a", "1.0", ("b ; python_version < '4'",)), ("b", "1.0", ("c ; python_version < '5'",)), ("c", "1.0", ("a", "b"))
    )
    assert len(receipt.requirements) == 3
    assert len(put(tmp_path, ("app", "1.0", ("b",))).requirements) == 4


def test_one_version_in_two_spellings_is_one(tmp_path: Path) -> None:
    """PEP 440: 1.0 and 1.0.0 are equal."""
    put(tmp_path, ("demo", "1.0", ()))
    index = tmp_path / "simple"
    yank(index, "demo", "1.0.0", "wrong", SERVED)
    catalog = read_catalog(index)
    assert catalog is not None and catalog.projects["demo"].files["demo-1.0-py3-none-any.whl"].yanked == "wrong"


def test_what_was_never_yanked_is_not_taken_back(tmp_path: Path) -> None:
    put(tmp_path, ("demo", "1.0", ()))
    with pytest.raises(UsageError, match=r"demo 1\.0\.0 is not yanked"):
        yank(tmp_path / "simple", "demo", "1.0.0", None)
    assert (read_catalog(tmp_path / "simple") or Catalog()).number == 1


def test_of_two_builds_of_one_version_the_later_is_installed(tmp_path: Path) -> None:
    plain = small_wheel(tmp_path / "w")
    builds = tuple(plain.with_name(f"demo_pkg-1.0-{build}-py3-none-any.whl") for build in ("2", "10", "1a"))
    for build in builds:
        build.write_bytes(plain.read_bytes())
    receipt = publish(builds, tmp_path / "simple", SERVED)
    assert named(receipt) == {"demo_pkg-1.0-10-py3-none-any.whl"}
