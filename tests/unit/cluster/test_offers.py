"""What is needed beside what is offered: the step, what is missing, and the next step are named."""

from __future__ import annotations

import pytest

from stackbuild.cluster.offers import (
    MOST_NAME,
    Offer,
    fits,
    missing,
    read_offer,
    refuse_strangers,
    refuse_unmet,
    step_needs,
)
from stackbuild.core.errors import MachineLacks
from support.fake_build import step

SMALL = Offer("small", "tcp://1", {"step": 2, "memory": 4 << 30, "x86_64": 2, "stackbuild 1": 2, "sandbox": 2})
LARGE = Offer("large", "tcp://2", {**SMALL.amounts, "memory": 64 << 30, "sandbox": 0})


def test_needs_of_a_step() -> None:
    needs = step_needs(step("a", memory=5 << 30), "sandbox", "x86_64", "1")
    assert needs == {"step": 1, "memory": 5 << 30, "x86_64": 1, "stackbuild 1": 1, "sandbox": 1}
    assert not fits(needs, SMALL) and not fits(needs, LARGE)
    assert fits(step_needs(step("a"), "sandbox", "x86_64", "1"), SMALL)


@pytest.mark.parametrize(
    ("needs", "words"),
    [
        ({"memory": 4 << 30}, ""),
        ({"memory": 65 << 30}, "66560 MiB of memory (the largest worker offers 65536 MiB)"),
        ({"memory": 5 << 30, "sandbox": 1}, "5120 MiB of memory, sandbox on one machine"),
        ({"docker": 1}, "docker"),
        ({"aarch64": 1}, "aarch64"),
        ({"gfx1100": 2}, "2 × gfx1100"),
        ({"stackbuild 2": 1}, "stackbuild 2 (there is stackbuild 1)"),
    ],
)
def test_what_no_worker_offers(needs: dict[str, float], words: str) -> None:
    assert missing(needs, (SMALL, LARGE)) == words


def test_the_refusal_names_steps_and_workers() -> None:
    with pytest.raises(MachineLacks, match="a, b: gfx942; c: docker") as refused:
        refuse_unmet({"a": {"gfx942": 1}, "b": {"gfx942": 1}, "c": {"docker": 1}}, (SMALL, LARGE), "tcp://s:1")
    assert refused.value.where == "2 workers: small, large" and "stackbuild worker tcp://s:1" in refused.value.next
    with pytest.raises(MachineLacks, match="no worker is connected to tcp://s:1"):
        refuse_unmet({"a": {"step": 1}}, (), "tcp://s:1")
    refuse_unmet({}, (), "tcp://s:1")


def test_strangers() -> None:
    one = Offer("one", "", {}, ("A",), ("A", "B"))
    refuse_strangers((one, Offer("two", "", {}, ("B",), ("A", "B"))), ("A", "B"))
    with pytest.raises(MachineLacks, match="the key of two is not trusted here: B"):
        refuse_strangers((one, Offer("two", "", {}, ("B",), ("A", "B"))), ("A",))
    with pytest.raises(MachineLacks, match="two does not trust the key of one: A"):
        refuse_strangers((one, Offer("two", "", {}, ("B",), ("B",))), ("A", "B"))
    with pytest.raises(MachineLacks, match="two pushes its outputs nowhere"):
        refuse_strangers((one, Offer("two", "", {}, (), ("A",))), ("A",))


def test_an_offer_as_the_scheduler_lists_it() -> None:
    row = {"name": "one", "resources": {"step": 2, "memory": 4.0}, "signers": ["A"], "trusted": ["A", "B"], "pid": 7}
    assert read_offer("tcp://1", row) == Offer("one", "tcp://1", {"step": 2, "memory": 4}, ("A",), ("A", "B"))
    assert len(read_offer("tcp://1", {"name": "x" * 9999, "resources": {}}).name) == MOST_NAME


@pytest.mark.parametrize(
    "row",
    [
        None, [], {}, {"name": 5, "resources": {}}, {"name": "one", "resources": []}, {"name": "one", "resources": {7: 1}},
        {"name": "one", "resources": {"step": "2"}}, {"name": "one", "resources": {"memory": float("nan")}},
        {"name": "one", "resources": {"memory": float("inf")}}, {"name": "one", "resources": {"memory": 10**400}},
        {"name": "one", "resources": {"memory": -1}}, {"name": "one", "resources": {}, "signers": [7]},
        {"name": "one", "resources": {}, "trusted": [["A"]]}, {"name": "one", "resources": {}, "signers": 7},
    ],
)  # fmt: skip
def test_what_is_no_offer_is_refused(row: object) -> None:
    with pytest.raises(MachineLacks, match="what the worker tcp://1 offers is not understood"):
        read_offer("tcp://1", row)
