"""A weighted sample tells of the whole roster without bias, and intervals hold the truth; a twin without weights fails.

Every subset of a tiny roster is drawn with its chance and every noise that matters is tried, through real reports.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from visibility_aware_edge_ldp.aggregator.collection import estimate
from visibility_aware_edge_ldp.aggregator.nonresponse.survey_weights import (
    SurveyWeights,
    WeightedDegrees,
    WeightedGroups,
    WeightedSample,
)
from visibility_aware_edge_ldp.errors import BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_random_bytes, seeded_key
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public.surveys.degrees import DegreeReport, degree_report, degree_survey
from visibility_aware_edge_ldp.public.surveys.groups import GroupReport, group_survey
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.truth.graph import Graph

NOBODY = np.zeros((0, 2), np.int32)
CHANCES = np.array([0.5, 0.8, 0.4])


def view_of(n: int, groups: dict[int, str] | None = None) -> Any:
    world = VisibilityAwareGraph(Graph(range(n), NOBODY))
    return (world if groups is None else world.grouped(groups)).public


def tried(survey: Any, numbers: Any, reach: int) -> Any:
    """Every subset of the three people and every noise up to ``reach`` in what they report, with the chance of both."""
    noise = survey.mechanism(Visibility.PRIVATE)
    for drawn in product((False, True), repeat=3):
        who = np.array(drawn)
        chance = float(np.where(who, CHANCES, 1 - CHANCES).prod())
        for each in product(range(-reach, reach + 1), repeat=int(who.sum()) * len(numbers)):
            moved = np.zeros_like(numbers)
            moved[:, who] = np.array(each, np.int64).reshape(len(numbers), -1)
            yield who, numbers + moved, chance * float(np.prod([noise.probability(k) for k in each]))


def moments(view: Any, survey: Any, kind: Any, made: Any, numbers: Any, names: Any, reach: int, weights: Any) -> Any:
    """(mean, variance, mean of the estimated variance) of each estimate, by complete enumeration."""
    sums = {name: np.zeros((3, 1)) for name in names}
    for who, said, chance in tried(survey, numbers, reach):
        collection = kind(survey, view, weights)
        collection.absorb(degree_report(survey.identity, 0, who, said, made))
        found = estimate(collection, names) if who.any() else None
        for name in names:
            value = np.atleast_1d(0.0 if found is None else found[name].value)
            variance = np.atleast_1d(0.0 if found is None else found[name].variance)
            sums[name] = sums[name] + chance * np.stack([value, value**2, variance])
    return {name: (mean, square - mean**2, said) for name, (mean, square, said) in sums.items()}


def test_horvitz_thompson_is_unbiased_with_its_variance_by_enumeration() -> None:
    view, degrees = view_of(3), np.array([[2, 1, 1]])
    survey = degree_survey(view, 12)
    names = ("edges", "stars:2", "tail:2", "mean_degree")
    weights = SurveyWeights(1 / CHANCES, scaled=False)
    found = moments(view, survey, WeightedDegrees, DegreeReport, degrees, names, 2, weights)
    for name, truth in zip(names, (2.0, 1.0, 1.0, 4 / 3), strict=True):
        mean, variance, said = found[name]
        assert mean == pytest.approx(truth, abs=2e-4), name
        assert said == pytest.approx(variance, rel=2e-3), name
    twin = moments(
        view, survey, WeightedDegrees, DegreeReport, degrees, ("edges",), 1, SurveyWeights(np.ones(3), False)
    )
    assert abs(twin["edges"][0][0] - 2) > 0.5  # weights ignored


def test_cells_of_groups_are_unbiased_with_their_variance_by_enumeration() -> None:
    view = view_of(3, {0: "a", 1: "a", 2: "b"})
    survey = group_survey(view, 14)
    # 0–1, 0–2: friends in a, friends in b, of everybody.
    numbers = np.array([[1, 1, 1], [1, 0, 0]])
    weights = SurveyWeights(1 / CHANCES, scaled=False)
    mean, variance, said = moments(view, survey, WeightedGroups, GroupReport, numbers, ("mixing",), 1, weights)[
        "mixing"
    ]
    assert mean == pytest.approx(np.array([1.0, 1.0, 0.0]), abs=2e-3)
    assert said == pytest.approx(variance, rel=1e-2)


def test_a_simple_random_sample_has_the_variance_of_textbooks() -> None:
    each, size = np.array([3.0, 5.0, 10.0, 2.0]), 10
    sample = WeightedSample(np.full(4, 7.0), np.zeros(4, np.int64), np.array([size]))
    value, spread = sample.total(each, 0.0)
    assert value == pytest.approx(size * each.mean())
    assert spread.variance == pytest.approx(size**2 * (1 - 4 / size) * each.var(ddof=1) / 4)
    assert sample.total(each, 2.0)[1].variance == pytest.approx(spread.variance + 4 * size / 4 * 2.0)
    # A sample of everybody leaves the noise alone, and one answer for many tells nothing.
    whole = WeightedSample(np.ones(4), np.zeros(4, np.int64), np.array([4]))
    assert whole.total(each, 2.0)[1] == (8.0, 0.0, 0.0)
    assert WeightedSample(np.ones(1), np.zeros(1, np.int64), np.array([4])).total(each[:1], 0.0)[1].variance == np.inf


def test_those_who_were_not_drawn_are_refused_and_nobody_tells_nothing() -> None:
    view = view_of(3)
    survey = degree_survey(view, 1)
    collection = WeightedDegrees(survey, view, SurveyWeights(np.array([1.0, 2.0, 0.0])))
    with pytest.raises(BadStatistic, match="Nobody has answered"):
        estimate(collection, "edges")
    with pytest.raises(ProtocolViolation, match="not drawn"):
        collection.absorb(degree_report(survey.identity, 0, np.ones(3, np.bool_), np.zeros((1, 3), np.int64)))
    with pytest.raises(BadStatistic, match="not told by a sample"):
        collection.estimator("degree_histogram")


def covered(runs: int, scaled: bool, ignoring: bool = False) -> tuple[float, float]:
    """How often 95 % intervals of edges and of those with 4 friends or more hold the truth, hubs drawn more often."""
    n, names = 300, ("edges", "tail:4")
    rng = np.random.default_rng(7)
    degrees = np.minimum(rng.zipf(2.2, n), 40)
    truths = {"edges": degrees.sum() / 2, "tail:4": (degrees >= 4).sum()}
    chances = np.minimum(0.15 + 0.05 * degrees, 0.9)
    view = view_of(n)
    survey = degree_survey(view, 2)
    noise, held = survey.mechanism(Visibility.PRIVATE), np.zeros(2)
    for run in range(runs):
        who = rng.random(n) < chances
        drawn = noise.sample_many(n, keyed_random_bytes(seeded_key(f"weights {run}", "noise")))
        weights = np.where(who, 1.0 if ignoring else (5.0 if scaled else 1.0) / chances, 0.0)
        collection = WeightedDegrees(survey, view, SurveyWeights(weights, scaled))
        collection.absorb(degree_report(survey.identity, 0, who, (degrees + drawn)[None]))
        found = estimate(collection, names)
        for place, name in enumerate(names):
            low, high = found[name].interval(0.95)
            held[place] += low <= truths[name] <= high
    return tuple(held / runs)  # type: ignore[return-value]


@pytest.mark.long
@pytest.mark.parametrize("scaled", [True, False])
def test_intervals_hold_the_truth_and_without_weights_they_do_not(scaled: bool) -> None:
    held = covered(300, scaled)
    assert all(0.91 <= share <= 0.985 for share in held), held
    assert min(covered(60, scaled, ignoring=True)) < 0.5
