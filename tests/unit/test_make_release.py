"""The release of stackbuild itself: what its pyproject.toml says beyond that of the repository."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from make_release import settings_with_sbom

from stackbuild.actions.sbom import FILE_NAME

PROJECT = Path(__file__).parents[2] / "pyproject.toml"


def test_the_sbom_is_packed_into_the_wheel_and_the_sdist() -> None:
    before = tomllib.loads(PROJECT.read_text("utf-8"))
    after = tomllib.loads(settings_with_sbom(PROJECT.read_text("utf-8")))
    targets = after["tool"]["hatch"]["build"]["targets"]
    assert targets["wheel"].pop("sbom-files") == [FILE_NAME]
    assert targets["sdist"]["include"].pop(0) == FILE_NAME
    assert after == before


def test_settings_that_have_no_place_for_the_sbom_end_the_release() -> None:
    with pytest.raises(SystemExit, match="the SBOM cannot be packed"):
        settings_with_sbom(PROJECT.read_text("utf-8").replace("\ninclude = [", "\nexclude = ["))
