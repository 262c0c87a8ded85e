"""Pairs within groups, their weights, and how sums over them vary, coin by coin.  [PARTS.1], [PARTS.4]"""

from __future__ import annotations

from itertools import combinations, product
from math import comb

import numpy as np
import pytest

from visibility_aware_edge_ldp.compute.list_groups import Pairs, pairs_in_groups, short_weights
from visibility_aware_edge_ldp.counts.row_noise import ListLaw
from visibility_aware_edge_ldp.mechanisms.power_noise import smooth_bound

FRIENDS = (2, 5, 7, 8)
EDGES = {(2, 5), (5, 7), (7, 8), (2, 8)}


def pairs_of(groups: tuple[int, ...]) -> Pairs:
    return pairs_in_groups(np.array([0, len(FRIENDS)]), np.array(FRIENDS, np.int32), np.array(groups))


def sums(groups: tuple[int, ...]) -> tuple[int, int]:
    """How many edges are alone in a group, and how many are in one group at all."""
    found = pairs_of(groups)
    edges = np.array([(u, v) in EDGES for u, v in zip(found.u.tolist(), found.v.tolist(), strict=True)], bool)
    return int(edges[found.load == 2].sum()), int(edges.sum())


@pytest.mark.parametrize("count", [2, 3, 5])
def test_over_all_coins_both_sums_have_the_mean_of_all_pairs_and_the_variance_of_the_theorem(count: int) -> None:
    coins = [sums(groups) for groups in product(range(count), repeat=len(FRIENDS))]
    alone, together = np.array(coins, float).T
    d, s, t = len(FRIENDS), 1 / count, len(EDGES)
    weight = float(short_weights(np.array([d]), count, 99)[0])
    assert weight * alone.mean() == pytest.approx(t)
    assert count * together.mean() == pytest.approx(t)
    paths = sum(len({*one, *other}) == 3 for one, other in combinations(EDGES, 2))
    both = (1 - 2 * s) ** (d - 4) * (1 - s) ** (5 - 2 * d)
    assert (weight * alone).var() == pytest.approx(weight * t - t**2 + both * (t**2 - t - 2 * paths))
    assert (count * together).var() == pytest.approx((count - 1) * t)


def test_pairs_are_those_that_a_plain_loop_finds() -> None:
    rng = np.random.default_rng(1)
    lists = [np.flatnonzero(rng.random(40) < share) for share in (0.0, 0.02, 0.3, 0.9, 0.5)]
    offsets, members = np.concatenate([[0], np.cumsum([each.size for each in lists])]), np.concatenate(lists)
    groups = rng.integers(0, 4, members.size)
    found = pairs_in_groups(offsets, members.astype(np.int32), groups)
    expected, largest = set(), []
    for i, friends in enumerate(lists):
        own = groups[offsets[i] : offsets[i + 1]]
        sizes = np.bincount(own, minlength=4)
        largest.append(int(sizes.max()) if friends.size else 0)
        expected |= {
            (i, int(friends[a]), int(friends[b]), int(sizes[own[a]]))
            for a, b in combinations(range(friends.size), 2)
            if own[a] == own[b]
        }
    told = list(zip(*(each.tolist() for each in found[:4]), strict=True))
    assert len(told) == len(set(told))
    assert set(told) == expected
    assert found.loads.tolist() == largest


def test_weights_stop_growing() -> None:
    weights = short_weights(np.array([0, 1, 2, 3, 9, 10, 11, 500]), 10, 10)
    assert weights[:4] == pytest.approx([10 * 0.81, 9, 10, 10 / 0.9])
    assert weights[5:].tolist() == [weights[5]] * 3


def test_the_law_of_lists_is_what_sampled_coins_give() -> None:
    """Loads, lengths' noise and sums drawn by NumPy: 40,000 lists of each length; five standard errors are allowed."""
    law = ListLaw(8, 12, 80, 0.6, 2.5, 3.9, 1.9, 2.1, 0.1)
    rng, many = np.random.default_rng(3), 40_000
    for length in (0, 3, 9, 14, 30):
        noise = (rng.geometric(1 - np.exp(-0.6), (2, many)) * [[1], [-1]]).sum(axis=0)
        short = length + noise <= law.longest
        assert short.mean() == pytest.approx(float(law.short_chance(np.array([length]))[0]), abs=0.0125)
        loads = np.stack([np.bincount(row, minlength=8) for row in rng.integers(0, 8, (many // 10, length))]).max(
            axis=1
        )
        bound = 8 * 2.5 * smooth_bound(loads.astype(float), 1.0, 0.1)
        long = float(law._second_long(np.array([length]))[0])
        assert long == pytest.approx((bound**2).mean() * 2.1**2, rel=0.03)
    weights = law.weights(np.array([9]))
    assert law.first(np.array([9])) == pytest.approx(3.9 * comb(9, 2) * weights)


def test_long_lists_meet_at_the_two_ways_of_reckoning_their_largest_group() -> None:
    law = ListLaw(20, 30, 200, 0.3, 2.0, 2.0, 2.0, 2.0, 0.1)
    lengths = np.arange(0, 4000, 10)
    values = law._second_long(lengths)
    assert (np.diff(values) > 0).all()
    assert (np.diff(values[20:]) / values[20:-1] < 0.1).all()
