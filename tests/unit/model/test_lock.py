"""What a lock answers, and what it leaves open."""


import pytest

from stackbuild.core.model import ValidationError
from stackbuild.model.components import MIGraphX
from stackbuild.model.lock import Dep, Lock, is_elsewhere, missing_entries
from stackbuild.recipe.load import load


@pytest.mark.parametrize("name", ["rocMLIR", "rocmlirTriton"])
def test_rocmlir_and_the_fork_that_newer_ones_name_come_from_a_component(name: str) -> None:
    component = MIGraphX.model_validate({"kind": "migraphx", "source": "migraphx", "version": "2.12.0", "memory": "1G"})
    assert is_elsewhere(Dep(name=name, url="https://github.com/ROCm/x/archive/1.tar.gz"), component)


NOTHING = Lock(schema=1, asked="0" * 64)


def test_what_only_windows_fetches_is_no_open_question() -> None:
    lock = NOTHING.model_copy(update={"deps": {"migraphx-ep": (Dep(name="boost", url="https://x/boost.zip"),)}})
    assert not any("boost" in line for line in missing_entries(load("rocm-10.1").recipe, lock))


PIN = {"version": "1.0", "sha256": ["0" * 64]}
WORDS = {"packages": {"g++": "4:14.2.0-1~x"}, "files": {"p": {"version": "1.0+d", "sha256": "0" * 64}}, "wheelhouse": {"3.11": {"numpy": PIN}}}


@pytest.mark.parametrize(
    "more",
    [
        {"wheelhouse": {"3.11": {"x\n--index-url=http://127.0.0.1/\ny": PIN}}}, {"wheelhouse": {"3.11": {"-r/etc/passwd": PIN}}},
        {"wheelhouse": {"3.11": {"x": {**PIN, "version": "1 --pre"}}}}, {"wheelhouse": {"3.11": {"x": {**PIN, "version": "1\n"}}}},
        {"wheelhouse": {"3.11": {"x": {**PIN, "sha256": ["0" * 64 + "\n-e ."]}}}}, {"wheelhouse": {"3.11": {"": PIN}}},
        {"packages": {"-oDir::Etc=/x": "1"}}, {"packages": {"g++": "1 evil"}}, {"packages": {"g++\x1b[2J": "1"}},
        {"files": {"p": {"version": "-1", "sha256": "0" * 64}}},
    ],
)  # fmt: skip
def test_a_name_of_a_lock_begins_no_line_and_no_option(more: dict[str, object]) -> None:
    """They are written into pip's requirements and among the words of a command."""
    assert Lock.model_validate({"schema": 1, "asked": "0" * 64, **WORDS}).wheelhouse
    with pytest.raises(ValidationError):
        Lock.model_validate({"schema": 1, "asked": "0" * 64, **WORDS, **more})
