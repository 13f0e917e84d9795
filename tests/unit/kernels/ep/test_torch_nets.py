"""The forms of PyTorch that models are timed in; torch itself is a stand-in here, as CI has none."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace

import pytest


class Net:
    """A module that every call leaves as it is."""

    def eval(self) -> Net:
        return self

    def to(self, *_: object, **__: object) -> Net:
        return self

    def __call__(self, **_: object) -> str:
        return "plain"


@pytest.mark.parametrize(
    ("compiled", "told"),
    (("", None), ("max-autotune", {"mode": "max-autotune"}), ("plain", {"options": {"triton.cudagraphs": True}})),
)
def test_torch_compile_is_told_the_form(
    compiled: str, told: dict[str, object] | None, checks: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, object]] = []

    def compile_net(net: Net, **options: object) -> Callable[..., str]:
        seen.append(options)
        return lambda **_: "compiled"

    torch = SimpleNamespace(float32=None, float16=None, channels_last=None, contiguous_format=None, compile=compile_net)
    monkeypatch.setitem(sys.modules, "torch", torch)
    nets = checks("torch_nets")
    monkeypatch.setattr(nets, "torch_net", lambda name: Net())
    monkeypatch.setattr(nets, "torch_inputs", lambda *_: {"input_ids": 0})
    call = nets.torch_call("bert-base", "float16", True, compiled, {"batch": 1, "sequence": 8})
    assert call() == ("compiled" if compiled else "plain")
    assert seen == ([told] if told else [])
