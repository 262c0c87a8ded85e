"""The worlds of the exact audit: how many there are, and that none is left out.  [AUDIT.1]"""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from visibility_aware_edge_ldp.audit.engine.small_worlds import (
    flipped,
    friends,
    neighbour_count,
    neighbours,
    neighbours_up_to_names,
    patterns,
    patterns_up_to_names,
    positions,
    renamings,
    view_of,
    worlds,
)
from visibility_aware_edge_ldp.public.positions import numbers
from visibility_aware_edge_ldp.public.visibility import Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility


def test_positions_stand_in_the_order_of_the_software() -> None:
    for n in (2, 3, 4, 5):
        assert [int(numbers(n, u, v)) for u, v in positions(n)] == list(range(len(positions(n))))


@pytest.mark.parametrize(("n", "every", "up_to_names"), [(2, 3, 3), (3, 27, 10), (4, 729, 66)])
def test_patterns_up_to_names_stand_for_all(n: int, every: int, up_to_names: int) -> None:
    chosen = patterns_up_to_names(n)
    assert len(patterns(n)) == every
    assert len(chosen) == up_to_names
    orbits = [set(renamings(pattern, n)) for pattern in chosen]
    assert sum(map(len, orbits)) == every
    assert set().union(*orbits) == set(patterns(n))


def test_the_view_has_the_classes_of_the_pattern_and_the_public_edges() -> None:
    pattern = (PRIVATE, PUBLIC, FRIEND_VISIBLE, PUBLIC, PRIVATE, PRIVATE)
    view = view_of(pattern, 4, ("3", "1/2"))
    assert tuple(view.classes.range(0, 6)) == pattern
    assert view.edges.tolist() == [[0, 2], [1, 2]]
    assert view_of(pattern, 4, public_bit=0).edges.shape == (0, 2)
    assert [view.policy.multiplier(kind) for kind in (FRIEND_VISIBLE, PRIVATE)] == [3, 0.5]


def test_worlds_agree_on_what_is_public() -> None:
    pattern = (PRIVATE, PUBLIC, FRIEND_VISIBLE)
    assert list(worlds(pattern)) == [(0, 1, 0), (0, 1, 1), (1, 1, 0), (1, 1, 1)]
    assert {world[1] for world in worlds(pattern, public_bit=0)} == {0}
    assert flipped((0, 1, 0), 2) == (0, 1, 1)


def test_neighbours_are_all_pairs_that_differ_in_one_secret() -> None:
    pattern = (PRIVATE, PUBLIC, FRIEND_VISIBLE)
    pairs = list(neighbours(pattern))
    assert len(pairs) == 2 * 2
    for world, other, place in pairs:
        assert (world[place], other[place]) == (0, 1)
        assert flipped(world, place) == other
        assert pattern[place] is not PUBLIC


def renamed(pattern: tuple[Visibility, ...], n: int, world: tuple[int, ...], place: int) -> set[tuple[object, ...]]:
    """The pair of worlds, its place marked, under every renaming that leaves the pattern as it is."""
    at = {pair: i for i, pair in enumerate(positions(n))}
    marked = [*world[:place], "differs", *world[place + 1 :]]
    found = set()
    for name in permutations(range(n)):
        order = [at[tuple(sorted((name[u], name[v])))] for u, v in positions(n)]
        if all(pattern[i] is pattern[k] for i, k in zip(order, range(len(order)), strict=True)):
            found.add(tuple(marked[i] for i in order))
    return found


@pytest.mark.parametrize(
    "pattern", [(PRIVATE,) * 6, (PRIVATE, FRIEND_VISIBLE, PUBLIC, PRIVATE, PRIVATE, PUBLIC)], ids=str
)
def test_pairs_up_to_names_stand_for_all_pairs(pattern: tuple[Visibility, ...]) -> None:
    stood_for = [renamed(pattern, 4, world, place) for world, _, place in neighbours_up_to_names(pattern, 4)]
    assert sum(map(len, stood_for)) == len(list(neighbours(pattern)))
    everything = set().union(*(renamed(pattern, 4, world, place) for world, _, place in neighbours(pattern)))
    assert set().union(*stood_for) == everything


def test_friend_lists_are_sorted_and_symmetric() -> None:
    for world in worlds((PRIVATE,) * 6):
        lists = [friends(world, 4, user) for user in range(4)]
        matrix = np.zeros((4, 4), int)
        for user, held in enumerate(lists):
            assert list(held) == sorted(held)
            matrix[user, list(held)] = 1
        assert (matrix == matrix.T).all()
        assert matrix.sum() == 2 * sum(world)


def test_neighbouring_worlds_are_counted_without_making_them() -> None:
    for pattern in (*patterns(3), *patterns_up_to_names(4)):
        assert neighbour_count(pattern) == len(list(neighbours(pattern)))
