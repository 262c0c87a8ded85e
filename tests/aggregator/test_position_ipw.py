"""The source documents' estimator: what it takes, and exact where everything is public.  [AGGREGATE.4]"""

from __future__ import annotations

import math

import pytest

from visibility_aware_edge_ldp.aggregator.position import estimate_ipw_capped
from visibility_aware_edge_ldp.errors import BadStatistic
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.public.surveys.position import position_survey
from visibility_aware_edge_ldp.simulation.simulate import collect
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

GRAPH = erdos_renyi(20, 60, 1)
NAMES = ("edges", "max_degree", "triangles", "stars:2")


def test_public_graphs_are_counted_exactly_and_without_a_standard_error() -> None:
    world = VisibilityAwareGraph(GRAPH, VisibilityPolicy(1))
    found = estimate_ipw_capped(collect(world, position_survey(world.public, 1, 2), 1), NAMES)
    for name in NAMES:
        assert found[name].value == pytest.approx(exact(GRAPH, name))
        assert math.isnan(float(found[name].variance))
        assert not found[name].unbiased


@pytest.mark.parametrize(
    ("rounds", "name", "hint"), [(1, "edges", "reads two rounds"), (2, "degrees", "has no degrees")]
)
def test_what_it_cannot_do_is_refused(rounds: int, name: str, hint: str) -> None:
    world = VisibilityAwareGraph(GRAPH, VisibilityPolicy.nothing())
    with pytest.raises(BadStatistic, match=hint):
        estimate_ipw_capped(collect(world, position_survey(world.public, 1, rounds), 1), [name])
