"""What a lock answers, and what it leaves open."""


import pytest

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
