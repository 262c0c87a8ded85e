"""Thresholds of double clipping are exceeded as rarely as they say, whatever the edges.  [CLIP.1-2]"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import visibility_aware_edge_ldp as va
from visibility_aware_edge_ldp.errors import BadPrivacyParameter
from visibility_aware_edge_ldp.public.surveys.clipped_rows import ClippedRowSurvey, clipped
from visibility_aware_edge_ldp.public.surveys.rows import row_surveys, triangle_survey
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

VIEW = va.VisibilityAwareGraph(erdos_renyi(60, 200, 1)).public
SURVEY = clipped(triangle_survey(VIEW, 4), Fraction(1, 100))


def test_sums_of_any_bits_exceed_a_threshold_rarely() -> None:
    """By the exact law of sums of up to 40 answers, edges all, half or none."""
    channel = SURVEY.first.channel(Visibility.PRIVATE)
    low, high = (float(each) for each in channel.scores)
    for count in (1, 5, 40):
        most = float(SURVEY.thresholds(np.array([count]))[0])
        for edges in (0, count // 2, count):
            law = np.ones(1)
            for place in range(count):
                one = float((channel.given_one if place < edges else channel.given_zero)[1])
                law = np.convolve(law, [1 - one, one])
            sums = low * (count - np.arange(count + 1)) + high * np.arange(count + 1)
            assert law[np.abs(sums) > most].sum() <= float(SURVEY.delta) / (2 * (2 * count + 1))
        assert most <= count * max(abs(low), high) * (1 + 1e-6)


def test_a_list_is_clipped_as_rarely_as_it_says() -> None:
    alpha, margin = SURVEY.reach_noise.alpha, SURVEY.margin
    assert alpha**margin / (1 + alpha) <= float(SURVEY.delta) / 2 < alpha ** (margin - 1) / (1 + alpha)
    assert SURVEY.kept(np.array([-1000, 3, 1000])).tolist() == [0, 3 + margin, 59]


def test_it_costs_what_the_other_survey_costs_and_a_delta() -> None:
    plain = triangle_survey(VIEW, 4)
    assert SURVEY.epsilon == plain.epsilon
    for kind in (Visibility.PRIVATE, Visibility.FRIEND_VISIBLE):
        assert SURVEY.price(kind, 1) == plain.price(kind, 1)
        assert SURVEY.price(kind, 2).epsilon == plain.price(kind, 2).epsilon
        assert SURVEY.price(kind, 2).delta == Fraction(1, 100)
    assert SURVEY.identity != plain.identity
    assert (plain.clip, SURVEY.clip) == ("smooth", "double")


def test_noise_follows_from_the_threshold() -> None:
    kept = np.array([0, 10, 59])
    units = SURVEY.sensitivities(kept)
    assert (units >= SURVEY.thresholds(kept) * 2.0**SURVEY.fineness + 1).all()
    alpha = math.exp(-float(SURVEY.total_epsilon) / int(units[1]))
    expected = 2 * alpha / (1 - alpha) ** 2 / 4.0**SURVEY.fineness
    assert SURVEY.noise_variances(kept)[1] == pytest.approx(expected)


def test_bad_surveys_are_refused() -> None:
    with pytest.raises(BadPrivacyParameter, match="needs a delta"):
        clipped(triangle_survey(VIEW, 1), Fraction(0))
    cycles = row_surveys(VIEW, 1, ["four_cycles"])["four_cycles"]
    with pytest.raises(BadPrivacyParameter, match="triangles alone"):
        ClippedRowSurvey(cycles.first, cycles.reach, cycles.total, cycles.share, statistic="four_cycles")
