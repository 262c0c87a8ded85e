"""A sample of positions from end to end: intervals cover the truth, with classes and with those who stay away."""

from __future__ import annotations

import numpy as np
import pytest

from visibility_aware_edge_ldp.aggregator.answers import Answers
from visibility_aware_edge_ldp.errors import TooLarge
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.public.surveys.position import position_survey
from visibility_aware_edge_ldp.simulation import execution, memory
from visibility_aware_edge_ldp.simulation.estimate import estimate
from visibility_aware_edge_ldp.simulation.execution import by_lists
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

GRAPH = powerlaw(120, 1500, 3)
STATISTICS = ("edges", "stars:2", "triangles")
TRIALS = 500


def by_sample(
    world: VisibilityAwareGraph, epsilon: object, statistics: object, share: object, **keywords: object
) -> Answers:
    return estimate(world, "position", epsilon, statistics, sample_positions=share, **keywords)  # type: ignore[arg-type]


@pytest.mark.long
@pytest.mark.parametrize(
    ("policy", "epsilon", "dropout"),
    [(VisibilityPolicy("0.2", "0.3", "0.5"), "2", 0.1), (VisibilityPolicy.nothing(), "3", 0.0)],
    ids=["classes and dropout", "nothing public"],
)
def test_intervals_cover(
    policy: VisibilityPolicy, epsilon: str, dropout: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By lists, which the test above them finds equal to planes."""
    monkeypatch.setattr(execution, "LISTED_BELOW", 1)
    world = VisibilityAwareGraph(GRAPH, policy)
    runs = [by_sample(world, epsilon, STATISTICS, "0.5", dropout=dropout, seed=seed) for seed in range(TRIALS)]
    for name in STATISTICS:
        truth, found = exact(GRAPH, name), [run[name] for run in runs]
        errors = np.array([each.value for each in found]) - truth
        inside = np.mean([each.interval()[0] <= truth <= each.interval()[1] for each in found])
        assert abs(errors.mean()) < 4 * errors.std() / TRIALS**0.5
        assert 0.93 <= inside <= 0.97
        # The twin that claims two thirds of its standard error is told apart.
        assert np.mean([abs(each.value - truth) <= 1.96 * each.standard_error * 2 / 3 for each in found]) < 0.93
        assert np.mean([each.variance for each in found]) == pytest.approx(errors.var(), rel=0.2)


def test_a_run_repeats_with_its_seed_and_draws_others_with_another() -> None:
    world = VisibilityAwareGraph(GRAPH, VisibilityPolicy.nothing())
    first, again, other = (by_sample(world, 1, ["edges"], "0.1", seed=seed) for seed in (1, 1, 2))
    assert first["edges"].value == again["edges"].value != other["edges"].value
    assert first["edges"].releases[0].survey != other["edges"].releases[0].survey
    heard: list[tuple[float, float]] = []
    by_sample(world, 1, ["edges"], "0.1", seed=1, progress=lambda done, total: heard.append((done, total)))
    assert heard[-1][0] == heard[-1][1] / 2  # all answers; counting would be the other half
    fresh = {by_sample(world, 1, ["edges"], "0.1")["edges"].releases[0].survey for _ in range(2)}
    assert len(fresh) == 2


def test_the_certificate_says_that_nothing_is_amplified() -> None:
    world = VisibilityAwareGraph(GRAPH, VisibilityPolicy.nothing())
    answers = by_sample(world, 1, ["edges"], "0.1", seed=1)
    assert "an edge at a PRIVATE position loses at most ε = 1" in str(answers)
    assert "An edge that was asked loses no less for the sample" in str(answers)
    asked = answers.certificate.classes["PRIVATE"]
    assert 0 < asked < 0.2 * GRAPH.n * (GRAPH.n - 1) / 2


def test_lists_or_planes() -> None:
    view = VisibilityAwareGraph(GRAPH, VisibilityPolicy.nothing()).public
    few, many = (position_survey(view, 1, sample=rate) for rate in ("0.05", "0.5"))
    assert by_lists(few, ["triangles"])
    assert not by_lists(few, ["four_cycles"])
    assert not by_lists(many, ["triangles"])


def test_what_does_not_fit_is_refused_with_a_share_that_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_bytes", lambda: 10**7)
    world = VisibilityAwareGraph(GRAPH, VisibilityPolicy.nothing())
    with pytest.raises(TooLarge, match=r"about --sample-positions 0\.00"):
        by_sample(world, 1, ["edges"], "0.1")
    monkeypatch.setattr(memory, "available_bytes", lambda: 10**4)
    with pytest.raises(TooLarge, match="without 4-cycles"):
        by_sample(world, 1, ["edges"], "0.5")


def test_a_sample_of_everything_is_no_sample() -> None:
    world = VisibilityAwareGraph(GRAPH, VisibilityPolicy.nothing())
    whole = estimate(world, "position", 1, ["edges"], seed=1)["edges"]
    assert by_sample(world, 1, ["edges"], 1, seed=1)["edges"].value == whole.value
