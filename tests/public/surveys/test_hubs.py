"""The survey of public hubs: territories from public lists alone, weights, noise and price.  [HUB.1-5]"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from visibility_aware_edge_ldp.errors import BadInput, BadPolicy, BadPrivacyParameter, ProtocolViolation
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.positions import endpoints
from visibility_aware_edge_ldp.public.scope import list_scope
from visibility_aware_edge_ldp.public.surveys.hubs import (
    PLAIN,
    SHARED,
    HubReport,
    choose_hubs,
    hub_plan,
    hub_survey,
    hubs_see_everybody,
)
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

# Nodes 0 and 1 publish their lists: 0 knows 2 to 6, and 1 knows 5 to 8. Nobody knows 9.
EDGES = [(0, v) for v in range(2, 7)] + [(1, v) for v in range(5, 9)]
VIEW = PublicView(
    range(10),
    VisibilityPolicy.from_profiles({0: "public", 1: "public"}, "any"),
    np.array(sorted(EDGES), np.int32),
)
HIDING = VIEW.users_with(NON_PUBLIC).any(axis=0)


def test_hubs_are_chosen_by_how_many_nodes_they_add() -> None:
    assert choose_hubs(VIEW, HIDING) == (0, 1)
    assert choose_hubs(VIEW, HIDING, 1) == (0,)
    assert hubs_see_everybody(VIEW)  # 9 is in no list, but all its positions are seen from their other ends
    two_outside = PublicView(range(11), VIEW.policy, VIEW.edges)
    assert hub_plan(two_outside).unseen_positions == 1
    assert not hubs_see_everybody(two_outside)


def test_territories_are_the_hubs_lists() -> None:
    plan = hub_plan(VIEW)
    assert plan.sizes.tolist() == [5, 4]
    assert np.flatnonzero(plan.marks == 3).tolist() == [5, 6]
    assert plan.marks[[0, 1, 9]].tolist() == [0, 0, 0]
    assert hub_plan(VIEW, keep=1).sizes.tolist() == [5, 2]  # 5 and 6 stay with the first
    assert hub_plan(VIEW, keep=1).digest != plan.digest


@pytest.mark.parametrize("keep", [1, 2])
def test_positions_that_belong_to_a_territory_are_the_scope_of_the_lists(keep: int) -> None:
    """[HUB.7]"""
    u, v = endpoints(10, 0, VIEW.positions)
    classes, marks = VIEW.classes.of(u, v), hub_plan(VIEW, keep=keep).marks
    belongs = ((marks[u] & marks[v]) != 0) & (classes != Visibility.PUBLIC)
    listed = list_scope(VIEW).holds(u, v, classes) & (classes != Visibility.PUBLIC)
    assert not (belongs & ~listed).any()
    assert (belongs == listed).all() == (keep == 2)  # two hubs report
    loose = np.count_nonzero((classes != Visibility.PUBLIC) & ~belongs)
    assert loose == hub_plan(VIEW, keep=keep).loose_positions + hub_plan(VIEW, keep=keep).unseen_positions


def test_positions_are_counted_by_where_their_ends_are() -> None:
    plan = hub_plan(VIEW)
    # Held by none of both: {2, 3, 4} × {7, 8}, which a hub sees, and all with 9, of which one end is seen.
    assert plan.loose_positions == 6 + 7
    assert plan.unseen_positions == 0
    assert plan.most_reached(loose=False) == 2
    assert plan.can_miss_triangles  # 2, 7 and 9


def test_the_price_is_the_best_guarded_class_for_all() -> None:
    survey = hub_survey(VIEW, 1)
    assert survey.classes == (Visibility.PRIVATE,)
    assert dict(survey.releases[0].prices) == {Visibility.PRIVATE: survey.price(Visibility.PRIVATE)}
    assert survey.price(Visibility.PRIVATE).epsilon == survey.loss == 1


@pytest.mark.parametrize("kind", [SHARED, PLAIN])
def test_what_a_position_pays_at_all_reporters_is_within_its_loss(kind: str) -> None:
    """Each reporter takes 1/weight of a number's loss, and a position reaches so many reporters at most.  [HUB.2]"""
    survey, plan = hub_survey(VIEW, 1, kind), hub_plan(VIEW)
    for number in survey.numbers:
        weights = survey.weights(number)
        assert weights.max() <= survey.largest_weight(number)
        assert (plan.reaches[weights > 0] <= weights[weights > 0]).all() or number == "inside"
    assert sum(noise.epsilon for noise in survey.noises.values()) == survey.loss


def test_scales_are_at_least_their_floors_and_identities_name_the_plan() -> None:
    survey = hub_survey(VIEW, 1)
    assert (survey.floors("all") > plan_half(survey.plan.sizes)).all()
    assert survey.identity != hub_survey(VIEW, 1, plan=hub_plan(VIEW, keep=1)).identity


def plan_half(sizes: np.ndarray) -> np.ndarray:
    return sizes // 2


def test_bad_plans_and_surveys_are_refused() -> None:
    with pytest.raises(BadPolicy, match="all of whose positions are PUBLIC"):
        hub_plan(VIEW, [2])
    for hubs in ([], [0, 0]):
        with pytest.raises(BadPolicy, match="1 to 62 different nodes"):
            hub_plan(VIEW, hubs)
    with pytest.raises(BadInput, match="not a way of sharing"):
        hub_survey(VIEW, 1, "some")
    with pytest.raises(BadPrivacyParameter, match="above 0"):
        replace(hub_survey(VIEW, 1), epsilon=Fraction(0))
    with pytest.raises(ProtocolViolation, match="names a reporter"):
        HubReport("ab" * 32, 256, (1,))
