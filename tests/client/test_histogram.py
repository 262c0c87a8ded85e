"""Those who hide their whole degree: any two lists are alike, an edge loses at most twice that.  [WHOLE.1-3]"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from visibility_aware_edge_ldp.audit.engine.findings import Spoken, gap_between
from visibility_aware_edge_ldp.audit.engine.small_worlds import gaps_by_list
from visibility_aware_edge_ldp.audit.protocols.histogram import (
    Stage,
    degree_loss,
    lists_of,
    report_law,
)
from visibility_aware_edge_ldp.client.histogram import HistogramClient
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.views import FriendLists
from visibility_aware_edge_ldp.errors import BadInput, BadPrivacyParameter, ProtocolViolation, Refused
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.randomness import secure_coins
from visibility_aware_edge_ldp.privacy import Bill, OneDegree
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.surveys.histogram import HistogramSurvey, growing_bins, histogram_survey
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

N = 4
VIEW = PublicView(range(N), VisibilityPolicy.nothing(), np.empty((0, 2), np.int32))
SURVEY = histogram_survey(VIEW, 1, (0, 1, 2, 3, 4))


def holders(user: int, friends: tuple[int, ...], cap: str = "1") -> HistogramClient:
    lists = FriendLists(user, np.array([0, len(friends)]), np.array(friends, np.int32))
    return HistogramClient(lists, VIEW, Purse({Visibility.PRIVATE: Fraction(cap)}))


def no_coins(count: int) -> bytes:
    raise AssertionError("a coin was drawn")


def test_any_two_lists_are_alike_and_an_edge_loses_at_most_twice_that() -> None:
    stage = Stage((Visibility.PRIVATE,) * 6, N, bins=SURVEY.edges)
    laws = {(user, held): Spoken(report_law(stage, user, held)) for user in range(N) for held in lists_of(N, user)}
    assert all(sum(spoken.law.values()) == 1 for spoken in laws.values())
    assert 0.999 <= degree_loss(stage) <= 1
    assert SURVEY.guarantee.epsilon == 1
    assert SURVEY.guarantee.relation is OneDegree
    worst = max(
        gap_between(laws[0, f], laws[0, tuple(sorted({*f, 1}))]).epsilon
        + gap_between(laws[1, g], laws[1, tuple(sorted({*g, 0}))]).epsilon
        for f in lists_of(N, 0)
        for g in lists_of(N, 1)
    )
    assert 1.999 <= worst <= 2
    assert gaps_by_list(stage, report_law)[Visibility.PRIVATE].epsilon == pytest.approx(worst)
    assert {price.epsilon for price in Bill(SURVEY.releases).values()} == {2}


def test_a_change_inside_a_bin_is_not_seen_at_all() -> None:
    stage = Stage((Visibility.PRIVATE,) * 6, N, bins=(0, 1, 4))
    assert report_law(stage, 0, (1,)) == report_law(stage, 0, (1, 2, 3))
    assert report_law(stage, 0, (1,)) != report_law(stage, 0, ())


def test_the_degree_report_does_not_hide_a_whole_degree() -> None:
    """The twin: discrete Laplace at the same ε for one entry loses three times ε for three."""
    noise = DiscreteLaplace(Fraction(1))
    assert math.log(noise.probability(5) / noise.probability(5 + 3)) == pytest.approx(3)


def test_refuse_pay_repeat() -> None:
    client = holders(0, (1, 2))
    first = client.answer(SURVEY, 1, secure_coins())
    assert client.answer(SURVEY, 1, no_coins) is first
    with pytest.raises(Refused):
        client.answer(histogram_survey(VIEW, "0.1"), 1, no_coins)
    with pytest.raises(Refused):
        holders(0, (1,), "0.99").answer(SURVEY, 1, no_coins)
    other = PublicView(range(1, N + 1), VIEW.policy, VIEW.edges)
    with pytest.raises(ProtocolViolation, match="another"):
        holders(0, (1,)).answer(histogram_survey(other, 1), 1, no_coins)
    with pytest.raises(BadInput):
        holders(0, (1, 1))


def test_the_absent_say_nothing() -> None:
    lists = FriendLists(0, np.zeros(N + 1, np.int64), np.empty(0, np.int32))
    client = HistogramClient(lists, VIEW, Purse(dict.fromkeys(NON_PUBLIC, Fraction(1))))
    report = client.answer(SURVEY, 1, secure_coins(), np.array([True, False, True, False]))
    assert report.answered.tolist() == [True, False, True, False]
    assert not report.values[[1, 3]].any()


@pytest.mark.parametrize("nodes", [1, 2, 3, 4, 5, 7, 100, 216_665])
def test_bins_grow_and_cover_every_degree(nodes: int) -> None:
    edges = growing_bins(nodes)
    assert edges[0] == 0
    assert edges[-1] == nodes
    assert all(low < high for low, high in pairwise(edges))
    assert len(edges) <= 2 * math.log2(nodes + 1) + 3


def test_bins_are_pinned() -> None:
    assert growing_bins(30) == (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 30)


@pytest.mark.parametrize("edges", [(), (0,), (0, 3), (1, 4), (0, 2, 2, 4), (0, 3, 1, 4), (0, 5)])
def test_bins_that_do_not_fit_are_refused(edges: tuple[int, ...]) -> None:
    with pytest.raises(BadInput, match="Bins"):
        histogram_survey(VIEW, 1, edges)


def test_every_field_is_in_the_identity() -> None:
    others = [histogram_survey(VIEW, 2, SURVEY.edges), histogram_survey(VIEW, 1, (0, 1, 4)), histogram_survey(VIEW, 1)]
    assert len({survey.identity for survey in (SURVEY, *others)}) == 3  # the growing bins of four users are SURVEY's


def test_a_survey_about_fewer_users_is_refused() -> None:
    """A degree beyond its bins would have no row of its own, and give itself away."""
    survey = HistogramSurvey(VIEW.roster_digest, 3, VIEW.policy.digest, Fraction(1), (0, 3))
    with pytest.raises(ProtocolViolation, match="3 users"):
        holders(0, (1, 2, 3)).answer(survey, 1, no_coins)
    with pytest.raises(BadPrivacyParameter, match="numbered"):
        survey.mechanism.randomize(np.array([1]), no_coins)
