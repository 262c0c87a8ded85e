"""Of how many triangles each user is the middle one: exact on tiny graphs, over all answers.  [MIDDLE.1-2]"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from support.row_worlds import RowWorld
from visibility_aware_edge_ldp.aggregator.nonresponse.reported_rows import reported_rows
from visibility_aware_edge_ldp.aggregator.nonresponse.reported_triangles import earlier_share, middles
from visibility_aware_edge_ldp.model import VisibilityPolicy
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi, powerlaw

TINY = {
    "nothing public": RowWorld(erdos_renyi(4, 5, seed=3), VisibilityPolicy.nothing(), 1),
    "three classes": RowWorld(erdos_renyi(5, 8, seed=4), VisibilityPolicy("0.4", "0.2", "0.4"), 1),
}


def middle_triangles(world: RowWorld) -> np.ndarray:
    """Of each user, the triangles of which it is the middle one and holds the far side."""
    found, ties = np.zeros(world.graph.n), {tuple(edge) for edge in world.graph.edges.tolist()}
    for u, v, w in combinations(range(world.graph.n), 3):
        kind = world.world.public.classes.of(np.array([v]), np.array([w]))[0]
        found[v] += kind != Visibility.PUBLIC and {(u, v), (u, w), (v, w)} <= ties
    return found


@pytest.mark.parametrize("name", TINY)
def test_they_are_right_on_average_and_vary_as_they_say(name: str) -> None:
    world, values, noise = TINY[name], [], 0.0
    samples = list(combinations(world.asked, 2))
    for users in samples:
        mean, square = np.zeros(world.graph.n), np.zeros(world.graph.n)
        for chance, outcomes in world.everything():
            found = middles(reported_rows(world.collection(outcomes, users)))
            mean += chance * found.each
            square += chance * found.each**2
            noise += chance * found.noise / len(samples)
        values.append((mean, float((square - mean**2).sum())))
    # A user's own answers are in the sample with this chance.
    rate = 2 / len(world.asked)
    assert np.mean([mean for mean, _ in values], axis=0) == pytest.approx(rate * middle_triangles(world))
    assert noise == pytest.approx(np.mean([variance for _, variance in values]))
    assert noise > 0


def test_who_has_earlier_friends_only_is_found_by_place_and_by_answers() -> None:
    """Users are numbered by degree here, so that places alone would be off: friends come early."""
    graph = powerlaw(200, 3000, seed=1)
    world = RowWorld(graph, VisibilityPolicy.nothing(), 4)
    earlier = np.bincount(graph.edges.max(axis=1), minlength=graph.n) / np.maximum(graph.degrees, 1)
    rows = reported_rows(world.sample(np.random.default_rng(1), 0.7))
    found, place = earlier_share(rows), (np.arange(graph.n) + 0.5) / graph.n
    large = rows.users[graph.degrees[rows.users] > 30]
    assert np.abs(found - earlier)[large].mean() < 0.7 * np.abs(place - earlier)[large].mean()
