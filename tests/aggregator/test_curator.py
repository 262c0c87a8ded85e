"""What everybody makes of a centre's answer.  [CENTRE.1]"""

from __future__ import annotations

from dataclasses import replace
from math import comb

import numpy as np
import pytest

from visibility_aware_edge_ldp.aggregator.curator import bounds, estimate, published
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.privacy import Bill
from visibility_aware_edge_ldp.public.surveys.curator import CuratorReport, curator_survey, published_survey
from visibility_aware_edge_ldp.public.view import PublicView
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


def test_a_published_interval_is_made_from_released_numbers_alone() -> None:
    """The answer and the bound decide it; a bound of another question, or none, is refused.  [CENTRE.2]"""
    view = PublicView(range(30), VisibilityPolicy.nothing(), np.empty((0, 2), np.int32))
    survey = published_survey(view, 1, 0, ("edges", "triangles", "stars:2"))
    reports = [CuratorReport(survey.identity, index, 500 + index, "0" * 32) for index in range(survey.rounds)]
    found = published(survey, reports[1], view, reports[3])
    noisy = survey.bounds[0].noisy_bound
    assert found.interval(0.9) == (501 - noisy.half_width(503, 0.9), 501 + noisy.half_width(503, 0.9))
    assert Bill(found.releases)["PRIVATE"].epsilon == 1
    assert published(survey, reports[0], view).interval(0.95) == (497, 503)
    for other in (None, reports[4], reports[0]):
        with pytest.raises(ProtocolViolation):
            published(survey, reports[1], view, other)
    with pytest.raises(ProtocolViolation, match="bound was sent"):
        estimate(survey, view, reports[3], 1.0, lambda level: 1)
