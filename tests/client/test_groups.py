"""Users who count friends group by group: right counts, one payment, one answer, no other groups.  [GROUPS.0-3]"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from visibility_aware_edge_ldp.client.degrees import class_counts
from visibility_aware_edge_ldp.client.groups import GroupClient
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.errors import ProtocolViolation, Refused
from visibility_aware_edge_ldp.mechanisms.randomness import secure_coins
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public.groups import Groups
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.surveys.degrees import degree_survey
from visibility_aware_edge_ldp.public.surveys.groups import GroupSurvey, group_survey
from visibility_aware_edge_ldp.public.visibility import DEFAULT_MULTIPLIERS, NON_PUBLIC
from visibility_aware_edge_ldp.simulation.worlds import cut_lists
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

N = 40
GROUPS = Groups("number", ("a", "b", "c"), np.arange(N) % 7 // 3)
WORLD = VisibilityAwareGraph(erdos_renyi(N, 200, 5), VisibilityPolicy("0.3", "0.3", "0.4")).grouped(GROUPS)
LISTS = next(iter(cut_lists(WORLD.graph)))


def client(cap: str = "1") -> GroupClient:
    purse = Purse({kind: DEFAULT_MULTIPLIERS.of(kind) * Fraction(cap) / 2 for kind in NON_PUBLIC})
    return GroupClient(LISTS, WORLD.public, purse)


def no_coins(count: int) -> bytes:
    raise AssertionError("a coin was drawn")


@pytest.mark.parametrize("policy", [VisibilityPolicy("0.3", "0.3", "0.4"), VisibilityPolicy.nothing()])
def test_friends_are_counted_by_class_and_group(policy: VisibilityPolicy) -> None:
    world = VisibilityAwareGraph(WORLD.whole, policy)
    classes = world.public.non_public
    found = class_counts(LISTS, world.public, classes, GROUPS)
    expected = np.zeros((len(classes), 3, N), np.int64)
    for u, v in world.graph.edges.tolist():
        kind = world.public.classes.of(np.array([u]), np.array([v]))[0]
        for one, other in ((u, v), (v, u)):
            if kind in classes:
                expected[classes.index(kind), GROUPS.members[other], one] += 1
    assert np.array_equal(found, expected.reshape(-1, N))
    assert np.array_equal(expected.sum(axis=1), class_counts(LISTS, world.public, classes))


def test_they_pay_once_answer_once_and_refuse_over_the_cap() -> None:
    survey, users = group_survey(WORLD.public, 1), client()
    first = users.answer(survey, 1, secure_coins())
    assert first.values.shape == (6, N)
    assert users.answer(survey, 1, no_coins) is first
    with pytest.raises(Refused):
        users.answer(group_survey(WORLD.public, "0.01"), 1, no_coins)


def test_other_groups_and_surveys_without_groups_are_refused() -> None:
    other = replace(GROUPS, members=GROUPS.members[::-1].copy())
    for survey in (group_survey(WORLD.public, 1, other), degree_survey(WORLD.public, 1)):
        with pytest.raises(ProtocolViolation, match="other groups"):
            client().answer(survey, 1, no_coins)
    assert isinstance(group_survey(WORLD.public, 1), GroupSurvey)
