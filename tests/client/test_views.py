"""Views: each client is cut exactly what its trust model lets it hold."""

from __future__ import annotations

import numpy as np
import pytest

from visibility_aware_edge_ldp.client.views import FriendLists, PositionBits, TwoHop, WholeGraph, two_hop, within_one

# A path 0–1–2–3–4, and 5 alone.
N, PATH = 6, np.array([(0, 1), (1, 2), (2, 3), (3, 4)], np.int32)


@pytest.mark.parametrize(("user", "seen"), [(0, [0, 1]), (2, [0, 1, 2, 3]), (4, [2, 3]), (5, [])])
def test_a_user_sees_the_edges_among_those_within_two_steps(user: int, seen: list[int]) -> None:
    view = two_hop(N, PATH, user)
    assert view.edges.tolist() == PATH[seen].tolist()
    assert (view.start, view.count, view.users) == (user, 1, slice(user, user + 1))


def test_an_edge_three_steps_away_changes_nothing_that_a_user_sees() -> None:
    more = np.vstack([PATH, [[4, 5]]]).astype(np.int32)
    assert two_hop(N, more, 1).edges.tolist() == two_hop(N, PATH, 1).edges.tolist()


def test_neighbours_are_those_one_step_away() -> None:
    chosen = np.arange(N) == 2
    assert np.flatnonzero(within_one(N, PATH, chosen)).tolist() == [1, 2, 3]
    assert np.flatnonzero(chosen).tolist() == [2]


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 17])
def test_bits_are_packed_and_read_back(count: int) -> None:
    bits = np.random.default_rng(count).random(count) < 0.5
    view = PositionBits(3, bits)
    assert (view.start, view.count) == (3, count)
    assert view.bits.tolist() == bits.tolist()
    assert PositionBits.of_packed(3, count, view.packed).bits.tolist() == bits.tolist()


def test_lists_and_graphs_know_their_sizes() -> None:
    lists = FriendLists(4, np.array([0, 2, 2, 3]), np.array([1, 2, 0], np.int32))
    assert lists.count == 3
    assert WholeGraph(N, PATH).degrees.tolist() == [1, 2, 2, 2, 1, 0]


def test_private_parts_are_not_printed() -> None:
    views = (PositionBits(0, np.ones(4, bool)), TwoHop(0, PATH), WholeGraph(N, PATH), two_hop(N, PATH, 1))
    assert not any("array" in repr(view) or "[" in repr(view) for view in views)
