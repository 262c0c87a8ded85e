"""What a plan says of groups is what a run has; without groups it says that it cannot tell.  [PLAN.15]"""

from __future__ import annotations

import numpy as np
import pytest

import visibility_aware_edge_ldp as va
from visibility_aware_edge_ldp.counts.mixing import LINEAR
from visibility_aware_edge_ldp.evaluation.plan.groups import NO_GROUPS, user_error
from visibility_aware_edge_ldp.evaluation.plan.predictions import advised
from visibility_aware_edge_ldp.public.groups import Groups
from visibility_aware_edge_ldp.public.statistic import GROUPED
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

GROUPS = Groups("number", ("a", "b"), np.arange(200) % 3 // 2)
WORLD = va.VisibilityAwareGraph(erdos_renyi(200, 3000, 3), va.VisibilityPolicy("0.2", "0.3", "0.5")).grouped(GROUPS)


@pytest.mark.parametrize("name", GROUPED)
def test_it_predicts_the_standard_error_of_a_run(name: str) -> None:
    told = np.mean(va.estimate(WORLD, "user", 2, [name], seed=1)[name].standard_error)
    predicted = user_error(WORLD, 2, name)
    assert not isinstance(predicted, str)
    assert predicted.deviation == pytest.approx(told, rel=0.15)


def test_a_plan_has_a_row_with_groups_and_a_reason_without() -> None:
    row = va.plan(family=WORLD.whole, statistics=["mixing"], epsilons=[2], trust=["user"]).row("user", "mixing", 2)
    assert row.value == 1000
    assert row.standard_error > 0
    bare = va.plan(family=erdos_renyi(200, 3000, 3), statistics=["mixing"], epsilons=[2], trust=["user"])
    assert NO_GROUPS in bare.row("user", "mixing", 2).note


def test_a_group_without_edges_has_no_index() -> None:
    lonely = Groups("number", ("a", "b"), (np.arange(6) == 5).astype(np.int64))
    world = va.VisibilityAwareGraph(va.read_graph([(0, 1), (2, 3)], nodes=range(6))).grouped(lonely)
    assert "not defined" in str(user_error(world, 1, "coleman"))


@pytest.mark.parametrize("policy", ["nothing", "profiles:0.3", "document-001"])
@pytest.mark.parametrize("sample", ["1", "1/2"])
def test_it_predicts_the_standard_error_of_a_run_of_positions(policy: str, sample: str) -> None:
    # At chance, where a random graph is, Coleman's scale has a bend: an estimate may stand on either side.
    world, names = va.VisibilityAwareGraph(WORLD.whole, policy), [name for name in GROUPED if name != "coleman"]
    found = va.estimate(world, "position", 2, names, seed=1, sample_positions=sample)
    told = va.plan(
        family=world.whole, policy=policy, statistics=names, epsilons=[2], trust=["position"], sample_positions=sample
    )
    for name in names:
        row = told.row("position", name, 2)
        close = 0.15 if name in LINEAR or sample == "1" else 0.35  # ratios vary with the estimates in them
        assert row.standard_error == pytest.approx(np.mean(found[name].standard_error), rel=close), name


def test_advice_for_groups_goes_by_the_smaller_error() -> None:
    """Users' counts have less noise, but for the smallest groups; tail counts and triangles have one model each."""
    assert advised(WORLD, 1, ["mixing"]).trust.name == "user"
    alone = WORLD.grouped(Groups("number", tuple(map(str, range(67))), np.arange(200) // 3))
    assert advised(alone, 1, ["mixing"]).trust.name == "position"
    assert advised(alone, 1, ["mixing", "tail:2"]).trust.name == "user"
    assert advised(WORLD, 1, ["mixing", "triangles_by_group"]).trust.name == "position"
