"""What everybody makes of a centre's answer.  [CENTRE.1]"""

from __future__ import annotations

from dataclasses import replace
from math import comb

import pytest

from visibility_aware_edge_ldp.aggregator.curator import bounds, estimate
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.surveys.curator import CuratorReport, curator_survey
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

WORLD = VisibilityAwareGraph(erdos_renyi(20, 60, 1), VisibilityPolicy("0.5", "0", "0.5"))
SURVEY = curator_survey(WORLD.public, 1, statistics=["edges", "triangles"])


def test_an_answer_is_an_estimate_with_its_own_release() -> None:
    report = CuratorReport(SURVEY.identity, 1, 17, "ab" * 16)
    found = estimate(SURVEY, WORLD.public, report, 3.0, lambda level: 5)
    assert (found.statistic, found.value, found.standard_error) == ("triangles", 17.0, 3.0)
    assert found.interval() == (12.0, 22.0)
    assert [each.transcript for each in found.releases] == [report.mark]


def test_answers_to_other_questions_are_refused() -> None:
    report = CuratorReport(SURVEY.identity, 0, 17, "ab" * 16)
    for wrong in (replace(report, index=2), replace(report, survey="0" * 64)):
        with pytest.raises(ProtocolViolation, match="another question"):
            estimate(SURVEY, WORLD.public, wrong, 3.0, lambda level: 5)


def test_counts_lie_between_the_public_part_and_a_complete_graph() -> None:
    assert bounds(WORLD.public, "edges") == (len(WORLD.public.edges), comb(20, 2))
    assert bounds(WORLD.public, "stars:3")[1] == 20 * comb(19, 3)
    assert bounds(WORLD.public, "triangles")[1] == comb(20, 3)
    assert bounds(WORLD.public, "max_degree")[1] == 19
