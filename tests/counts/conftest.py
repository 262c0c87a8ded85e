"""Scores of a small collection under each policy, kept in both ways."""

from __future__ import annotations

import pytest

from support.grouped_scores import POLICIES, both_kinds
from visibility_aware_edge_ldp.counts.node_groups import GroupScores
from visibility_aware_edge_ldp.counts.scores import Scores


@pytest.fixture(scope="module", params=POLICIES, ids=str)
def two_ways(request: pytest.FixtureRequest) -> tuple[Scores, GroupScores]:
    return both_kinds(700, POLICIES[request.param])
