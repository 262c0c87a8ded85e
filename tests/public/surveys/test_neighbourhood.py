"""The survey of owned triangles: who owns what, how large the noise is, and what it costs.  [OWNER.1-5]"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from visibility_aware_edge_ldp.errors import BadInput, BadPrivacyParameter
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.surveys import neighbourhood
from visibility_aware_edge_ldp.public.surveys.degrees import degree_survey
from visibility_aware_edge_ldp.public.surveys.neighbourhood import (
    BELIEVED,
    CLIPPED,
    WEIGHTED,
    OwnerPlan,
    believed_margin,
    believed_plan,
    clipped_plan,
    neighbourhood_survey,
    noises_of,
    overshoots,
    paid_by_shortfalls,
    tails,
    weighted_plan,
)
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility

N = 12
VIEW = PublicView(range(N), VisibilityPolicy.nothing(), np.empty((0, 2), np.int32))
FIRST = degree_survey(VIEW, 2)
LOSS = Fraction(3, 4)
NOISY, EVERYBODY = np.arange(N) - 1, np.ones(N, bool)


def test_ranks_go_by_bound_and_then_by_number() -> None:
    plan = OwnerPlan(CLIPPED, np.array([3, 2, 3, 1]), np.ones(4, bool))
    assert plan.ranks.tolist() == [2, 1, 3, 0]


@pytest.mark.parametrize(("guard", "each"), [(WEIGHTED, lambda b: 1.5 * b + 0.25), (CLIPPED, lambda b: 2 * (b - 1))])
def test_noise_grows_with_the_bound(guard: str, each: object) -> None:
    bounds = np.array([2, 5, 9, 1, 4, 4, 4, 4, 4, 4, 4, 4])
    plan = OwnerPlan(guard, bounds, EVERYBODY)
    assert plan.sensitivities.tolist() == (each(bounds) * plan.unit).tolist()  # type: ignore[operator]
    assert plan.unit == (1 if guard == CLIPPED else 512)  # the power of two from 32n on


def test_believed_bounds_are_the_reports_with_their_margin() -> None:
    delta = Fraction(1, 1000)
    plan = believed_plan(FIRST, NOISY, EVERYBODY, delta, LOSS)
    margin = believed_margin(FIRST, delta, LOSS)
    assert margin > 0
    assert NOISY.min() < 0
    assert plan.bounds.tolist() == np.clip(np.maximum(NOISY, 0) + margin, 2, N - 2).tolist()
    assert (plan.guard, plan.delta, plan.lost) == (BELIEVED, delta, 0.0)
    with pytest.raises(BadInput, match="1 users did not report a degree"):
        believed_plan(FIRST, NOISY, np.arange(N) > 0, delta, LOSS)


def test_the_margin_is_the_least_whose_shortfalls_delta_pays_for() -> None:
    noises = noises_of(FIRST)
    for delta in map(Fraction, ("1/10", "1/1000", "1/1000000")):
        margin = believed_margin(FIRST, delta, LOSS)
        assert paid_by_shortfalls(noises, margin, LOSS) <= delta
        assert margin == 0 or paid_by_shortfalls(noises, margin - 1, LOSS) > delta
        assert float(tails(noises, margin + 1)) ** 2 > delta or margin == 0, "more than one that δ pays for at once"
    falling = overshoots(noises, np.arange(10))
    assert (np.diff(falling) < 0).all()


def test_who_did_not_report_comes_last_and_weighs_nothing_more() -> None:
    reported = np.arange(N) != 5
    plan = weighted_plan(FIRST, NOISY, reported, Fraction(1))
    assert plan.ranks[5] == 0
    assert plan.bounds[5] < plan.bounds[reported].min()
    assert plan.lost > 0


def test_a_survey_costs_its_loss_and_the_plans_delta() -> None:
    pure, paid = clipped_plan(N, 4), believed_plan(FIRST, NOISY, EVERYBODY, Fraction(1, 1000), LOSS)
    for plan in (pure, paid):
        survey = neighbourhood_survey(VIEW, 1, plan)
        price = survey.price(Visibility.PRIVATE)
        assert (price.epsilon, price.delta) == (1, plan.delta)
    assert neighbourhood_survey(VIEW, 1, pure).identity != neighbourhood_survey(VIEW, 1, paid).identity


def test_a_surveys_identity_says_what_is_counted_and_how_it_is_noised(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that would scale its noise by another rule answers another survey."""
    plans = [OwnerPlan(guard, np.full(N, 4), EVERYBODY) for guard in (WEIGHTED, CLIPPED)]
    before = [neighbourhood_survey(VIEW, 1, plan).identity for plan in plans]
    assert neighbourhood_survey(VIEW, 1, plans[0]).content()["rule"] == "the middle weight, 3b/2 + 1/4"
    monkeypatch.setattr(neighbourhood, "_RULES", {WEIGHTED: "2b + 1", CLIPPED: "3(b - 1)"})
    assert not {*before} & {neighbourhood_survey(VIEW, 1, plan).identity for plan in plans}


def test_bad_plans_and_surveys_are_refused() -> None:
    with pytest.raises(BadInput, match="is not a guard"):
        OwnerPlan("hoped for", np.ones(3, int), np.ones(3, bool))
    with pytest.raises(BadInput, match="one bound for each user"):
        OwnerPlan(CLIPPED, np.zeros(3, int), np.ones(3, bool))
    for guard, delta in ((BELIEVED, 0), (WEIGHTED, 1)):
        with pytest.raises(BadPrivacyParameter, match="need a delta above 0"):
            OwnerPlan(guard, np.ones(3, int), np.ones(3, bool), delta=Fraction(delta, 2))
    with pytest.raises(BadInput, match="use at least 2"):
        clipped_plan(N, 1)
    with pytest.raises(BadInput, match="the roster has 12"):
        neighbourhood_survey(VIEW, 1, clipped_plan(N + 1, 4))
    with pytest.raises(BadPrivacyParameter, match="above 0"):
        replace(neighbourhood_survey(VIEW, 1, clipped_plan(N, 4)), epsilon=Fraction(0))
