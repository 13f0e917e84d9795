"""Change points of a series."""

from __future__ import annotations

import math
import random
from itertools import combinations

import pytest

from stackbuild.bench.change_points import change_points, rank_test


def test_turns_are_found_where_the_level_changes() -> None:
    rng = random.Random(4)
    levels = [1.0] * 20 + [1.2] * 20 + [0.9] * 20
    found = change_points([level * (1 + rng.gauss(0, 0.01)) for level in levels])
    assert [turn.at for turn in found] == [20, 40]
    assert found[0].change == pytest.approx(0.2, abs=0.02)


@pytest.mark.parametrize(("before", "after"), [(5, 5), (5, 7), (9, 5), (12, 5), (5, 60)])
def test_five_nights_on_each_side_are_enough(before: int, after: int) -> None:
    """Wholly apart, 5 against 5 has a chance of 2 in 252 (the normal approximation says 1 in 82 and found nothing)."""
    values = [level + n % 2 / 1000 for level, nights in ((1.0, before), (1.1, after)) for n in range(nights)]
    assert [turn.at for turn in change_points(values)] == [before]


def test_the_rank_test_is_exact() -> None:
    """Against all choices counted one by one, with and without ties."""
    for few, many in (
        ([1, 2, 3], [4, 5, 6, 7]),
        ([1, 4, 4], [4, 5, 1, 9]),
        ([3, 3], [3, 3, 3]),
        ([9, 8, 2], [1, 7, 7]),
    ):
        ranks = [sum(y < x for y in few + many) + sum(y <= x for y in few + many) + 1 for x in few + many]
        sums = [sum(chosen) for chosen in combinations(ranks, len(few))]
        mean = len(few) * (len(ranks) + 1)
        off = abs(sum(ranks[: len(few)]) - mean)
        assert rank_test(few, many) == sum(abs(s - mean) >= off for s in sums) / len(sums)
        assert rank_test(many, few) == rank_test(few, many)
    assert rank_test(range(5), range(5, 10)) == 2 / 252
    level = [0.1 * n for n in range(11)]  # the exact chance is 0.0083; longer parts are approximated
    assert rank_test(level, [x + 0.43 for x in level]) == pytest.approx(0.0104, abs=0.0001)


def test_a_level_of_nothing_is_one_too() -> None:
    """Peaks of 0 bytes are in real histories."""
    (turn,) = change_points([0.0] * 10 + [5.0] * 10)
    assert (turn.at, turn.before, turn.change) == (10, 0.0, math.inf)
    assert [t.change for t in change_points([5.0] * 10 + [0.0] * 10)] == [-1.0] and change_points([0.0] * 20) == ()


def test_noise_has_no_turns() -> None:
    assert change_points([1.0] * 30) == ()
    rng = random.Random(9)
    noisy = [bool(change_points([1 + rng.gauss(0, 0.05) for _ in range(40)])) for _ in range(60)]
    assert sum(noisy) <= 2
