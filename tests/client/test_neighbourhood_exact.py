"""The whole protocol (a) on every small graph: no transcript tells more than was promised.  [OWNER.2-4]

Counts come from the real code. A report is a count plus discrete Laplace noise, whose law is exact; logarithms of
ratios are taken over a window of outputs, beyond which they no longer change.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from visibility_aware_edge_ldp.audit.engine.small_worlds import Pattern, World, edges_of, flipped, positions, view_of
from visibility_aware_edge_ldp.audit.protocols.neighbourhood import MIXED
from visibility_aware_edge_ldp.audit.protocols.neighbourhood_stage import (
    CountedByAllThree,
    OwnedStage,
    Spoken,
    losses_between,
    plan_of,
    real_users,
)
from visibility_aware_edge_ldp.client.neighbourhood import owned_triangles
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.public.surveys.degrees import degree_survey
from visibility_aware_edge_ldp.public.surveys.neighbourhood import (
    NeighbourhoodSurvey,
    OwnerPlan,
    believed_margin,
    believed_plan,
    neighbourhood_survey,
)
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility

EPSILON = 1.0


def private_view(n: int) -> PublicView:
    return view_of((Visibility.PRIVATE,) * len(positions(n)), n)


def loss_between(survey: NeighbourhoodSurvey, one: np.ndarray, other: np.ndarray) -> float:
    """The largest log-ratio over all transcripts: each user's report reaches its own beyond both counts."""
    scales = survey.plan.sensitivities
    return float(losses_between(survey, Spoken(one, scales), Spoken(other, scales)))


def largest_loss(pattern: Pattern, n: int, plan: OwnerPlan) -> float:
    """The largest loss of the counts over all worlds and all positions that may change."""
    stage = OwnedStage(pattern, n, plan, first="", second="1")
    return max(float(stage.second_losses(place).max()) for place, kind in enumerate(pattern) if kind)


def test_the_closed_form_is_that_of_the_enumerated_law() -> None:
    """Every output within ±40 scales, with what lies outside known: on three nodes one user can own a triangle."""
    view = private_view(3)
    survey = neighbourhood_survey(view, 1, OwnerPlan("clipped", np.array([2, 2, 2]), np.ones(3, np.bool_)))
    counts = {bits: owned_triangles(edges_of(bits, 3), view, survey.plan) for bits in product((0, 1), repeat=3)}
    assert sorted(c.sum() for c in counts.values()) == [0] * 7 + [1]
    noise = DiscreteLaplace(survey.loss, int(survey.plan.sensitivities[0]))
    window = range(-120, 122)
    for bits, count in counts.items():
        laws = [[noise.pmf(y - int(c), 40) for y in window] for c in count]
        outside = Fraction(noise.cdf(-121 - 0, 40)) * 2
        assert all(1 - outside - Fraction(1, 10**30) < sum(map(Fraction, law)) <= 1 for law in laws)
        for place in range(3):
            other = counts[flipped(bits, place)]
            ratios = [
                max(abs(math.log(p / noise.pmf(y - int(o), 40))) for y, p in zip(window, law, strict=True))
                for law, o in zip(laws, other, strict=True)
            ]
            assert sum(ratios) == pytest.approx(loss_between(survey, count, other))
            assert sum(ratios) <= EPSILON


@pytest.mark.parametrize("guard", ["weighted", "clipped"])
def test_pure_guards_on_every_graph_of_five_nodes_for_bounds_of_any_kind(guard: str) -> None:
    """Low bounds put weights and caps to work; the promise must not depend on bounds being right."""
    reached = 0.0
    for bounds in ([1, 1, 1, 1, 1], [2, 2, 2, 2, 2], [3, 1, 2, 2, 3], [4, 4, 4, 4, 4], [1, 2, 3, 4, 5]):
        loss = largest_loss((Visibility.PRIVATE,) * 10, 5, plan_of(guard, *bounds))
        assert loss <= EPSILON * (1 + 1e-12), bounds
        reached = max(reached, loss)
    assert reached > 0.3, "the promise is hardly spent"


@pytest.mark.parametrize(("guard", "reached"), [("weighted", 0.45), ("clipped", 0.7)])
def test_pure_guards_on_larger_graphs_that_grow_dearer(guard: str, reached: float) -> None:
    """Twenty users: edges, bounds and who reported are changed as long as the edge (0, 1) tells no less by it."""
    random, n, found = np.random.default_rng(19), 20, 0.0
    view, rows = private_view(n), np.array(positions(n), np.int32)
    for _ in range(4):
        bits, bounds, told = random.random(len(rows)) < 0.5, random.integers(1, 9, n), 0.0
        reported = random.random(n) < random.choice([0.7, 1.0])
        for _ in range(300):
            tried, other, heard = bits.copy(), bounds.copy(), reported.copy()
            tried[random.integers(1, len(rows), 3)] ^= True
            other[random.integers(n)] = random.integers(1, 9)
            if guard == "weighted":
                heard[random.integers(n)] ^= random.random() < 0.1
            survey = neighbourhood_survey(view, 1, OwnerPlan(guard, other, heard))
            tried[0] = False
            graphs = rows[tried], np.concatenate([rows[:1], rows[tried]])
            loss = loss_between(survey, *(owned_triangles(edges, view, survey.plan) for edges in graphs))
            assert loss <= EPSILON * (1 + 1e-12)
            if loss >= told:
                bits, bounds, reported, told = tried, other, heard, loss
        found = max(found, told)
    assert found > reached


@pytest.mark.parametrize("guard", ["weighted", "clipped"])
def test_mixes_of_classes_on_four_nodes(guard: str) -> None:
    """Public positions, edges or not, stay as they are; every other bit keeps the promise of the strictest class."""
    for pattern in MIXED:
        plan = plan_of(guard, 2, 1, 3, 2)
        survey = neighbourhood_survey(view_of(pattern, 4), 1, plan)
        assert survey.loss == (1 if Visibility.PRIVATE in survey.classes else 2)
        assert 0 < largest_loss(pattern, 4, plan) <= float(survey.loss) * (1 + 1e-12)


# v = 0 and w = 1 share four friends among nine users; n − 2 is above that, so the bounds must do the work.
SHARED_FRIENDS = np.array([[u, x] for u in (0, 1) for x in (2, 3, 4, 5)], np.int32)
FIRST, SECOND = Fraction(5), Fraction(1)


def second_round(noise: tuple[int, int], with_edge: bool, delta: Fraction) -> float:
    """The loss of the second round for the edge (0, 1), given the noises of both ends in the first."""
    view = private_view(9)
    without, joined = SHARED_FRIENDS, np.concatenate([[[0, 1]], SHARED_FRIENDS]).astype(np.int32)
    degrees = np.bincount((joined if with_edge else without).ravel(), minlength=9)
    degrees[:2] += noise
    plan = believed_plan(degree_survey(view, FIRST), degrees, np.ones(9, np.bool_), delta, SECOND)
    survey = neighbourhood_survey(view, SECOND, plan)
    one, other = (owned_triangles(np.unique(edges, axis=0), view, plan) for edges in (without, joined))
    return loss_between(survey, one, other)


@pytest.mark.parametrize("with_edge", [False, True])
def test_both_rounds_with_believed_bounds_fail_with_at_most_delta(with_edge: bool) -> None:
    view, delta = private_view(9), Fraction(1, 100)
    first = degree_survey(view, FIRST)
    assert believed_margin(first, delta, SECOND) == 0
    noise, reach = first.mechanism(Visibility.PRIVATE), 7
    failed = Fraction(0)
    for pair in product(range(-reach, reach + 1), repeat=2):
        if second_round(pair, with_edge, delta) > float(SECOND) * (1 + 1e-12):
            failed += math.prod(Fraction(noise.pmf(k)) for k in pair)
    outside = 1 - (1 - 2 * Fraction(noise.cdf(-reach - 1))) ** 2
    assert failed > 0
    assert failed + outside <= delta, "noises outside the window count as failures"


def test_believing_bounds_without_a_delta_is_caught() -> None:
    """The same bounds under a pure claim: some first transcripts make the second round too loud."""
    assert second_round((-2, -2), False, Fraction(1, 100)) > 1.5
    assert second_round((-2, 0), False, Fraction(1, 100)) <= 1


def test_every_triangle_counted_by_all_three_is_caught() -> None:
    """Document 004: T_u counts all triangles at u. At the scale of one owner that loses three times the claim."""
    view = private_view(5)
    plan = OwnerPlan("clipped", np.full(5, 4), np.ones(5, np.bool_))
    survey = neighbourhood_survey(view, 1, plan)

    def counts(bits: World) -> list[int]:
        return real_users(survey, view, edges_of(bits, 5), CountedByAllThree).counts.tolist()

    full, less = (1,) * 10, (0, *(1,) * 9)
    # c = 3: with one owner for each triangle this scale is right, with three it is three times short.
    scale = survey.loss / 3
    loss = sum(float(scale) * abs(a - b) for a, b in zip(counts(full), counts(less), strict=True))
    assert loss == pytest.approx(3.0)
    weighted = OwnerPlan("weighted", np.full(5, 5), np.ones(5, np.bool_))
    owned = [owned_triangles(edges_of(bits, 5), view, weighted) // weighted.unit for bits in (full, less)]
    assert float(scale) * np.abs(owned[0] - owned[1]).sum() == pytest.approx(1.0)


def test_noise_scaled_by_the_users_own_count_is_caught() -> None:
    """A user that scales by the largest c it sees: between a graph with c = 1 and one with c = 2 the tail tells."""
    one, two = DiscreteLaplace(Fraction(1), 1), DiscreteLaplace(Fraction(1), 2)
    assert max(abs(math.log(two.probability(y - 2) / one.probability(y - 1))) for y in range(-60, 61)) > 10


def test_a_cap_counted_as_one_moved_edge_is_caught() -> None:
    """Two cliques of four: joining 8 and 9 makes both forget their friend of lowest rank, and two triangles each."""
    view = private_view(10)
    cliques = [(*three, top) for three, top in (((0, 1, 2), 8), ((3, 4, 5), 9))]
    apart = sorted(pair for clique in cliques for pair in combinations(clique, 2))
    survey = neighbourhood_survey(view, 1, OwnerPlan("clipped", np.full(10, 3), np.ones(10, np.bool_)))
    worlds = (np.array(rows, np.int32) for rows in (apart, sorted([*apart, (8, 9)])))
    one, other = (owned_triangles(edges, view, survey.plan) for edges in worlds)
    assert np.abs(one - other).sum() == 4
    assert loss_between(survey, one, other) == pytest.approx(1), "all of the claim"
    assert np.abs(one - other).sum() / 3 > 1, "at the scale of the cap, document 004's, the claim would be broken"
