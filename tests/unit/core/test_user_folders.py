"""Where a user's files lie: a variable counts before the home, and no home is an error that names a variable."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.core.errors import MachineLacks
from stackbuild.core.user_folders import DEFAULTS, cache_home, folder_of, user_folder


@pytest.mark.parametrize(("variable", "default"), DEFAULTS.items())
def test_the_variable_counts_before_the_folder_below_the_home(
    variable: str, default: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/one")
    for text in ("", None):  # an empty variable counts as one that is not set
        monkeypatch.setenv(variable, text) if text is not None else monkeypatch.delenv(variable)
        assert user_folder(variable) == Path("/home/one", default)
    monkeypatch.setenv(variable, "/elsewhere")
    assert user_folder(variable) == Path("/elsewhere")


def test_without_a_home_the_error_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("no home")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("pathlib.Path.home", homeless)
    with pytest.raises(MachineLacks, match="no home folder to keep the store in") as stopped:
        cache_home("the store", "STACKBUILD_STORE")
    assert stopped.value.next == "set STACKBUILD_STORE to a folder"


def test_of_other_variables_only_those_count() -> None:
    assert folder_of("XDG_CONFIG_HOME", {}) is None
    assert folder_of("XDG_CONFIG_HOME", {"HOME": "/h"}) == Path("/h/.config")
    assert folder_of("XDG_CONFIG_HOME", {"HOME": "/h", "XDG_CONFIG_HOME": "/c"}) == Path("/c")
