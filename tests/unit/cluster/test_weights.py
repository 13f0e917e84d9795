"""Weights of steps: chains, what nobody knows, and who is given out first."""

from __future__ import annotations

import threading

from stackbuild.cluster.weights import OTHER_SECONDS, SECONDS, TURN_SECONDS, HeaviestFirst, StepWeight, weigh
from stackbuild.model.plan import Need, Plan, Step


def step(name: str, *needs: Step, action: str = "run") -> Step:
    return Step(name, action, tuple(Need(one.name, one.key) for one in needs))


BASE = step("base", action="debian")
KERNELS, PROVIDER = step("kernels", BASE), step("provider", BASE)
WHEEL = step("wheel", KERNELS)
PLAN = Plan("t", (BASE, KERNELS, PROVIDER, WHEEL), ("wheel", "provider"))


def test_a_weight_has_the_longest_chain_that_begins_with_the_step() -> None:
    weights = weigh(PLAN, {"kernels": 100.0, "provider": 300.0, "wheel": 10.0})
    assert weights["provider"] == StepWeight(300.0, 300.0)
    assert weights["kernels"] == StepWeight(100.0, 110.0)
    assert weights["base"] == StepWeight(SECONDS["debian"], SECONDS["debian"] + 300.0)


def test_what_nobody_knows_weighs_by_its_action() -> None:
    weights = weigh(PLAN, {})
    assert weights["wheel"].seconds == weights["kernels"].seconds == OTHER_SECONDS
    assert weights["base"].seconds == SECONDS["debian"]


def test_the_heaviest_of_those_that_are_coming_goes_first() -> None:
    order, gone = HeaviestFirst(), []
    expected = {"kernels": 100.0, "provider": 300.0}
    assert order.announce(PLAN, (KERNELS, PROVIDER), expected) == [PROVIDER, KERNELS]

    def go(one: Step) -> None:
        order.wait(one)
        gone.append(one.name)

    light = threading.Thread(target=go, args=(KERNELS,))
    light.start()
    light.join(TURN_SECONDS / 5)
    assert gone == []
    go(PROVIDER)
    light.join(TURN_SECONDS / 5)
    assert gone == ["provider"], "it is on its way, and not given out"
    order.leave(PROVIDER)
    light.join(10)
    assert gone == ["provider", "kernels"]


def test_a_heavy_step_that_is_not_given_out_after_all_holds_nobody_up() -> None:
    order = HeaviestFirst()
    order.announce(PLAN, (KERNELS, PROVIDER), {"provider": 300.0})
    order.leave(PROVIDER)
    waiting = threading.Thread(target=order.wait, args=(KERNELS,))
    waiting.start()
    waiting.join(TURN_SECONDS / 5)
    assert not waiting.is_alive()


def test_a_step_waits_for_a_limited_time() -> None:
    order = HeaviestFirst()
    order.announce(PLAN, (KERNELS, PROVIDER), {"provider": 300.0})
    waiting = threading.Thread(target=order.wait, args=(KERNELS,))
    waiting.start()
    waiting.join(TURN_SECONDS / 5)
    assert waiting.is_alive()
    waiting.join(TURN_SECONDS * 20)
    assert not waiting.is_alive()
