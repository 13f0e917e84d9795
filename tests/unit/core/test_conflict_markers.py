"""Conflict markers of git are named, whatever file they are left in."""

from __future__ import annotations

import pytest

from stackbuild.core import yaml
from stackbuild.core.conflict_markers import first_marker
from stackbuild.core.errors import RecipeError

CONFLICT = "name: a\n<<<<<<< HEAD\nrocm: 7.2.4\n=======\nrocm: 6.4.4\n>>>>>>> theirs\n"


def test_the_first_marker_is_named_with_its_line() -> None:
    assert first_marker(CONFLICT) == (2, "<<<<<<< HEAD")
    assert first_marker("a: 1\n=======\nb: 2\n>>>>>>> theirs\n") == (2, "=======")
    assert first_marker("a: 1\n=======\n") == first_marker("a: '<<<<<<< HEAD'\n") == (0, "")


def test_yaml_with_markers_is_refused_for_them() -> None:
    with pytest.raises(RecipeError) as stop:
        yaml.compose(CONFLICT, "x.yaml")
    (mistake,) = stop.value.mistakes
    assert mistake.place == "x.yaml:2:1" and "conflict marker" in mistake.what and "keep the lines" in mistake.next
