"""What is not wholly inside a scope: exact on tiny graphs, and refused where nobody has worked it out.  [SCOPE.7-8]"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from visibility_aware_edge_ldp.aggregator import scope_rest
from visibility_aware_edge_ldp.aggregator.position import PositionCollection
from visibility_aware_edge_ldp.aggregator.scope_rest import ESTIMATED, joint_releases, rest_estimates
from visibility_aware_edge_ldp.compute.plain.bitset import pack_rows
from visibility_aware_edge_ldp.counts.scores import Scores
from visibility_aware_edge_ldp.errors import BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.scope import group_scope
from visibility_aware_edge_ldp.public.surveys.position import position_survey
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.simulation.simulate import collect
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

NODES = 4
POSITIONS = list(combinations(range(NODES), 2))
# Two triangles have a side outside, and one has none; positions inside and outside hold edges and none.
EDGES = {(0, 1), (0, 2), (1, 2), (0, 3), (1, 3)}
INSIDE = {(0, 1), (0, 2), (1, 2), (2, 3)}
RATE, KEEP = 0.5, 0.75
LOW, HIGH = -(1 - KEEP) / (2 * KEEP - 1), KEEP / (2 * KEEP - 1)


def outcomes(position: tuple[int, int]) -> list[tuple[float, int | None]]:
    """The chance of each outcome of a position: its answer, or None where the coin does not draw it."""
    bit = position in EDGES
    answers = [(KEEP if answer == bit else 1 - KEEP, answer) for answer in (0, 1)]
    if position in INSIDE:
        return answers
    return [(1 - RATE, None), *((RATE * chance, answer) for chance, answer in answers)]


def scores_of(answers: dict[tuple[int, int], int | None]) -> Scores:
    """Planes of who was asked and who said 1, inside and outside."""
    planes = np.zeros((4, NODES, NODES), bool)
    for (u, v), answer in answers.items():
        first = 0 if (u, v) in INSIDE else 2
        for plane, holds in ((first, answer is not None), (first + 1, answer == 1)):
            planes[plane, u, v] = planes[plane, v, u] = holds
    values = np.array([LOW, HIGH, LOW / RATE, HIGH / RATE])
    member = np.kron(np.eye(2), np.tri(2)).astype(bool)
    return Scores(NODES, np.stack([pack_rows(each, NODES) for each in planes]), values, member)


def raw(parts: tuple[tuple[float, float], tuple[float, float]]) -> list[float]:
    return [number for part in parts for number in part]


def walked(made: Callable[[Scores, int], Any]) -> tuple[np.ndarray, np.ndarray]:
    """The chance of every outcome of all positions together, and what is estimated there: (4, outcomes)."""
    chances, found = [], []
    for drawn in product(*(outcomes(position) for position in POSITIONS)):
        chances.append(np.prod([chance for chance, _ in drawn]))
        found.append(raw(made(scores_of({p: answer for p, (_, answer) in zip(POSITIONS, drawn, strict=True)}), 2)))
    return np.array(chances), np.array(found).T


@pytest.mark.parametrize("name", ["edges", "triangles"])
def test_values_and_variances_are_exact_over_all_coins_and_answers(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("visibility_aware_edge_ldp.counts.triangles.triangles", unfloored)
    chance, (rest, rest_variance, whole, whole_variance) = walked(ESTIMATED[name])
    sets = {"edges": [(edge,) for edge in POSITIONS], "triangles": [((a, b), (a, c), (b, c)) for a, b, c in TRIPLES]}
    there = [sides for sides in sets[name] if EDGES.issuperset(sides)]
    assert chance.sum() == pytest.approx(1)
    assert chance @ whole == pytest.approx(len(there))
    assert chance @ rest == pytest.approx(sum(not INSIDE.issuperset(sides) for sides in there))
    for values, variances in ((rest, rest_variance), (whole, whole_variance)):
        true = chance @ values**2 - (chance @ values) ** 2
        assert chance @ variances == pytest.approx(true)


def test_the_twin_that_forgets_shared_sides_has_another_variance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("visibility_aware_edge_ldp.counts.triangles.triangles", unfloored)
    whole = scope_rest._inner_sums
    monkeypatch.setattr(scope_rest, "_inner_sums", lambda block, kept: {**whole(block, kept), "shared": 0.0})
    chance, (rest, variance, _, _) = walked(ESTIMATED["triangles"])
    true = chance @ rest**2 - (chance @ rest) ** 2
    assert abs(chance @ variance / true - 1) > 0.01


TRIPLES = list(combinations(range(NODES), 3))


def unfloored(sums: dict[str, float]) -> tuple[float, float]:
    """The unbiased variance: the one that is shown is never below its last term."""
    return sums["count"] / 3, sums["one noisy"] + sums["two noisy"] + sums["three noisy"] / 3


def two_collections(seed: int = 1, epsilon: float = 2) -> tuple[PositionCollection, PositionCollection]:
    graph = erdos_renyi(30, 200, seed=4)
    scope = group_scope(range(30), "third", {name: name % 3 for name in range(30)})
    policy = VisibilityPolicy.from_profiles({0: True, 7: True}, "any").within(scope)
    worlds = [VisibilityAwareGraph(graph, each) for each in (policy, policy.outside)]
    surveys = [position_survey(worlds[0].public, epsilon), position_survey(worlds[1].public, 2, sample=0.3, coin="c")]
    found = [collect(*each, seed=seed, into=PositionCollection) for each in zip(worlds, surveys, strict=True)]
    return found[0], found[1]


def test_every_position_is_inside_or_outside_and_pays_once() -> None:
    inside, outside = two_collections()
    public = sum(each.view.class_sizes[Visibility.PRIVATE] for each in (inside, outside))
    assert public == inside.view.positions - 29 - 28
    assert not (inside.complete & outside.complete).any()
    (release,) = joint_releases(inside, outside)
    assert release.prices == inside.releases[0].prices
    found = rest_estimates(inside, outside, ("edges", "triangles"))
    assert all(each.releases == (release,) for pair in found.values() for each in pair)


def test_collections_that_do_not_belong_together_are_refused() -> None:
    inside, outside = two_collections()
    with pytest.raises(ProtocolViolation, match="not of the positions outside"):
        joint_releases(inside, inside)
    dearer, _ = two_collections(epsilon=3)
    with pytest.raises(ProtocolViolation, match="the same loss"):
        joint_releases(dearer, outside)


def test_other_statistics_are_refused_with_what_to_do() -> None:
    with pytest.raises(BadStatistic, match="not for stars:2; ask for these alone"):
        rest_estimates(*two_collections(), ("edges", "stars:2"))
