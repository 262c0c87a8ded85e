"""A scope with a sample of the rest: three numbers, each with an interval that holds.  [SCOPE.8]"""

from __future__ import annotations

import json

import numpy as np
import pytest

from visibility_aware_edge_ldp.errors import BadInput, BadPolicy
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.scope import group_scope
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.simulation.estimate import estimate
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

N = 60
GRAPH = erdos_renyi(N, 500, seed=8)
SCOPE = group_scope(range(N), "half", {name: name % 2 for name in range(N)})
WORLD = VisibilityAwareGraph(GRAPH, VisibilityPolicy.from_profiles({0: True, 7: True}, "any")).inside(SCOPE)
TRUTH = {
    name: (exact(WORLD.graph, name), exact(GRAPH, name) - exact(WORLD.graph, name), exact(GRAPH, name))
    for name in ("edges", "triangles")
}


@pytest.mark.long
@pytest.mark.parametrize("away", [0.0, 0.2])
def test_all_three_are_unbiased_and_their_intervals_hold(away: float) -> None:
    runs, asked = 150, {"epsilon": 3, "statistics": ["edges", "triangles"], "rest": "sample:0.5", "dropout": away}
    found = [estimate(WORLD, seed=seed, **asked) for seed in range(runs)]
    for name, truths in TRUTH.items():
        for place, truth in enumerate(truths):
            each = [(answers[name], *answers.rest[name])[place] for answers in found]
            values = np.array([one.value for one in each])
            held = np.mean([low <= truth <= high for low, high in (one.interval() for one in each)])
            assert abs(values.mean() - truth) < 4 * values.std(ddof=1) / runs**0.5
            assert held > 0.89
            assert np.mean([one.variance for one in each]) == pytest.approx(values.var(ddof=1), rel=0.6)


def test_the_sum_is_what_its_parts_are() -> None:
    answers = estimate(WORLD, epsilon=1, statistics=["edges", "triangles"], rest="sample:0.2", seed=1)
    for name, found in answers.items():
        rest, whole = answers.rest[name]
        assert found.value + rest.value == pytest.approx(whole.value)
    assert float(answers.bill["PRIVATE"].epsilon) == 1


def test_names_labels_certificate_and_json_say_which_is_which() -> None:
    answers = estimate(WORLD, epsilon=1, statistics=["triangles"], rest="sample:0.2", seed=1, truth=True)
    names = ["triangles inside the scope", "triangles not wholly inside", "triangles inside and outside"]
    assert [row[0] for row in answers.rows()] == names
    assert [row["counted"] for row in answers.records()] == [name.partition(" ")[2] for name in names]
    assert "a public coin drew" in str(answers.certificate)
    assert "lose nothing unless the coin drew them" in answers.certificate.summary
    told = json.loads(json.dumps(answers.as_dict()))
    assert told["estimates"]["triangles"]["rest"]["counted"] == "not wholly inside"
    assert told["estimates"]["triangles"]["sum"]["interval"][0] <= told["estimates"]["triangles"]["sum"]["value"]
    assert "a public coin" in told["certificate"]["scope"]["rest"]


def test_left_alone_nothing_is_said_of_the_rest() -> None:
    answers = estimate(WORLD, epsilon=1, statistics=["triangles"], rest="leave", seed=1)
    assert not answers.rest
    assert "rest" not in answers.as_dict()["estimates"]["triangles"]
    assert "nothing is said of them" in str(answers.certificate)


@pytest.mark.parametrize("rest", ["sample", "sample:", "guess", "leave:1"])
def test_other_words_are_refused(rest: str) -> None:
    with pytest.raises(BadInput, match=r"such as sample:0\.1"):
        estimate(WORLD, statistics=["edges"], rest=rest)


def test_it_needs_the_position_model_a_scope_and_nothing_besides() -> None:
    with pytest.raises(BadInput, match="in the position model, not in user"):
        estimate(WORLD, "user", statistics=["edges"], rest="sample:0.1")
    with pytest.raises(BadInput, match="leave the others out"):
        estimate(WORLD, statistics=["edges"], rest="sample:0.1", work=0.5)
    with pytest.raises(BadPolicy, match="give the policy a scope"):
        estimate(VisibilityAwareGraph(GRAPH, VisibilityPolicy.nothing()), statistics=["edges"], rest="sample:0.1")


def test_the_certificate_tells_what_is_lost_outside_too() -> None:
    """Nothing is hidden inside; outside positions of both classes are asked."""
    policy = VisibilityPolicy.from_profiles({name: name % 2 == 0 for name in range(N)}, "both")
    told = estimate(
        VisibilityAwareGraph(GRAPH, policy).inside("public"), epsilon=3, statistics="edges", rest="sample:1", seed=1
    ).certificate
    assert told.summary.startswith("Certificate: POSITION, at most ε = 3 per PRIVATE edge, ε = 6 per FRIEND_VISIBLE")
    assert "  an edge at a FRIEND_VISIBLE position loses at most ε = 6" in told.lines()
    assert "asked at the loss of their class; the others lose nothing." in " ".join(told.lines())
