"""USER clustering by class of degree and its local average: intervals that hold, and what is refused.  [CLUSTER.1-4]"""

from __future__ import annotations

import numpy as np
import pytest

import visibility_aware_edge_ldp as va
from support.alarm import Z_LIMIT, z_of
from visibility_aware_edge_ldp.errors import BadStatistic
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

LOCAL, CLASSES = "local_clustering", "clustering_by_degree"
WORLD = va.VisibilityAwareGraph(powerlaw(60, 300, 2))


@pytest.mark.long
@pytest.mark.parametrize("policy", ["nothing", "profiles:0.5"])
def test_intervals_hold_both(policy: str) -> None:
    """In 200 runs, of 95 % at least 88 %: of a true 95 % that has a chance below 1e-4; and the mean is the truth."""
    world = va.VisibilityAwareGraph(powerlaw(60, 300, 2), policy)
    local, shares = exact(world.graph, LOCAL), exact(world.graph, CLASSES)
    found = [va.estimate(world, "user", 8, [LOCAL, CLASSES], seed=seed) for seed in range(200)]
    assert abs(z_of([float(each[LOCAL].value) for each in found], local)) < Z_LIMIT
    assert np.mean([low <= local <= high for low, high in (each[LOCAL].interval() for each in found)]) >= 0.88
    ends = [each[CLASSES].interval() for each in found]
    assert (np.mean([(low <= shares) & (shares <= high) for low, high in ends], axis=0) >= 0.88).all()
    # And they say something: of some class.
    assert np.median([high - low for low, high in ends], axis=0).min() < 0.15


def test_with_hardly_any_noise_it_is_the_truth() -> None:
    world, name = WORLD, CLASSES
    truth = exact(world.graph, name)
    found = va.estimate(world, "user", 200, [name], seed=1)[name]
    assert np.asarray(found.value) == pytest.approx(truth, abs=1e-6)
    low, high = found.interval()
    assert ((low <= truth + 1e-6) & (truth - 1e-6 <= high)).all()
    assert found.labels == [(2, 3), (4, 7), (8, 15), (16, 31), (32, 59)]
    assert not found.unbiased
    assert found.conservative


def test_it_costs_what_the_degrees_and_the_answers_cost() -> None:
    alone = va.estimate(WORLD, "user", 2, [LOCAL], seed=1)
    both = va.estimate(WORLD, "user", 2, [LOCAL, CLASSES, "triangles", "edges"], seed=1)
    for answers in (alone, both):
        assert float(answers.bill["PRIVATE"].epsilon) == pytest.approx(2)
    assert alone.certificate.spent["the degrees"] == pytest.approx(0.5)
    assert "the answers" in alone.certificate.spent
    assert "the first answers" in both.certificate.spent


def test_what_cannot_be_had_is_refused_with_its_reason() -> None:
    for trust in ("position", "curator"):
        with pytest.raises(BadStatistic, match="class of degree, which answers of positions do not tell"):
            va.estimate(WORLD, trust, 1, [CLASSES])
    with pytest.raises(BadStatistic, match="everybody reported"):
        va.estimate(WORLD, "user", 1, [LOCAL], dropout=0.3, seed=1)


def test_a_plan_says_that_it_cannot_tell() -> None:
    for trust in ("position", "user"):
        row = va.plan(family=WORLD.graph, statistics=[LOCAL], epsilons=[2], trust=[trust]).row(trust, LOCAL, 2)
        assert row.note
