"""The survey of groups: the price of degrees, an identity that names the groups, and reports of many numbers."""

from __future__ import annotations

import numpy as np
import pytest

from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.public.groups import Groups
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.surveys.degrees import degree_survey
from visibility_aware_edge_ldp.public.surveys.groups import GroupReport, decode, encode, group_survey
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC

GROUPS = Groups("parity", ("even", "odd"), np.arange(6) % 2)
VIEW = PublicView(range(6), VisibilityPolicy("0.2", "0.3", "0.5"), np.empty((0, 2), np.int32), GROUPS)


def test_several_counts_cost_what_one_degree_costs() -> None:
    survey, degrees = group_survey(VIEW, 1), degree_survey(VIEW, 1)
    for kind in NON_PUBLIC:
        assert survey.price(kind) == degrees.price(kind)
        assert survey.mechanism(kind) == degrees.mechanism(kind)
        assert survey.payment()[kind].epsilon * 2 == survey.price(kind).epsilon
    assert survey.asked == (NON_PUBLIC[0],) * 2 + (NON_PUBLIC[1],) * 2
    assert survey.identity != degrees.identity


def test_other_groups_are_another_survey() -> None:
    other = Groups("parity", ("even", "odd"), np.arange(6) % 3 // 2)
    assert group_survey(VIEW, 1, other).identity != group_survey(VIEW, 1).identity
    with pytest.raises(BadInput, match="groups are of 5 users"):
        group_survey(VIEW, 1, Groups("parity", ("even", "odd"), np.arange(5) % 2))


def test_a_report_may_have_more_rows_than_a_byte_counts() -> None:
    sent = GroupReport(
        "ab" * 32, 0, np.array([True, False]), np.stack([np.arange(300), np.zeros(300, np.int64)], axis=1)
    )
    assert decode(encode(sent)) == sent
    assert sent.classes == 300
