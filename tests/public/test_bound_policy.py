"""A policy on a roster: rows, runs and single positions say the same, with a scope and without.  [SCOPE.1]"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from visibility_aware_edge_ldp.public.bound_policy import BoundPolicy, InsideRule, inside_rule
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.positions import position_count
from visibility_aware_edge_ldp.public.scope import SameValue
from visibility_aware_edge_ldp.public.visibility import Visibility

N = 30
POLICIES = {
    "nothing": VisibilityPolicy.nothing(),
    "drawn positions": VisibilityPolicy("0.2", "0.3", "0.5"),
    "profiles": VisibilityPolicy.public_profiles("0.4", "any"),
}
EVERY_POLICY = pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)


def by_position(bound: BoundPolicy) -> dict[tuple[int, int], int]:
    return {(u, v): int(bound.of(u, v)[0]) for u, v in combinations(range(bound.n), 2)}


@EVERY_POLICY
def test_rows_and_runs_are_the_positions_one_by_one(policy: VisibilityPolicy) -> None:
    bound = policy.bind(range(N))
    one_by_one = by_position(bound)
    assert bound.range(0, position_count(N)).tolist() == list(one_by_one.values())
    rows = bound.rows(3, 9)
    assert {(u, v): int(rows[u - 3, v]) for u, v in one_by_one if 3 <= u < 9} == {
        pair: kind for pair, kind in one_by_one.items() if 3 <= pair[0] < 9
    }
    assert set(one_by_one.values()) <= {int(kind) for kind in bound.present}
    assert bound.inside(np.arange(N - 1), np.arange(1, N)).all()


@EVERY_POLICY
def test_kinds_of_nodes_decide_where_there_are_some(policy: VisibilityPolicy) -> None:
    bound = policy.bind(range(N))
    kinds = bound.by_kinds
    assert (kinds is None) == (policy is POLICIES["drawn positions"])
    if kinds is not None:
        u, v = np.triu_indices(N, 1)
        assert (kinds(u, v) == bound.of(u, v)).all()
        assert set(kinds.kinds.tolist()) == set(range(len(kinds.table)))


@EVERY_POLICY
def test_outside_of_a_scope_everything_is_public(policy: VisibilityPolicy) -> None:
    scope = SameValue("year", np.arange(N) % 3 - 1)  # a third of the nodes have no year
    rule = inside_rule(policy.rule, scope)
    bound, plain = BoundPolicy(N, rule.bind(range(N))), policy.bind(range(N))
    u, v = np.triu_indices(N, 1)
    inside = (u % 3 == v % 3) & (u % 3 != 0)
    assert bound.inside(u, v).tolist() == inside.tolist()
    assert 0 < inside.sum() < u.size
    assert bound.of(u, v).tolist() == np.where(inside, plain.of(u, v), Visibility.PUBLIC).tolist()
    assert bound.of(v, u).tolist() == bound.of(u, v).tolist()
    assert rule.present(range(N)) == plain.present | {Visibility.PUBLIC}
    groups = bound.by_groups
    assert (groups is None) == (plain.by_kinds is None)
    if groups is not None:
        assert (groups(u, v) == bound.of(u, v)).all()


def test_a_second_scope_keeps_to_both() -> None:
    years, towns = SameValue("year", np.arange(N) % 3), SameValue("town", np.arange(N) % 2)
    rule = inside_rule(inside_rule(POLICIES["nothing"].rule, years), towns)
    assert not isinstance(rule.rule, InsideRule)
    u, v = np.triu_indices(N, 1)
    both = (u % 3 == v % 3) & (u % 2 == v % 2)
    assert BoundPolicy(N, rule.bind(range(N))).inside(u, v).tolist() == both.tolist()
