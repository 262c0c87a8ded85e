"""What a user by double clipping sums, against a plain count.  [CLIP.1]"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import visibility_aware_edge_ldp as va
from visibility_aware_edge_ldp.client.row_clipping import clipped_sums, refuse_missing_rows
from visibility_aware_edge_ldp.client.rows import FirstRound
from visibility_aware_edge_ldp.counts.scores import score
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.public.surveys.clipped_rows import clipped
from visibility_aware_edge_ldp.public.surveys.rows import triangle_survey
from visibility_aware_edge_ldp.public.transcript import Transcript
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

GRAPH = erdos_renyi(12, 40, 3)
VIEW = va.VisibilityAwareGraph(GRAPH).public
SURVEY = clipped(triangle_survey(VIEW, 2), Fraction(1, 1000))


def first_round(missing: int = 0) -> FirstRound:
    said, all_of_them = np.random.default_rng(1).integers(0, 2, 66), np.ones(66, np.int64)
    all_of_them[: 11 * missing] = 0
    bits = (np.packbits(each.astype(np.uint8), bitorder="little") for each in (all_of_them, said & all_of_them))
    return FirstRound(SURVEY, VIEW, Transcript(SURVEY.first.identity, *bits))


@pytest.mark.parametrize(("kept", "most"), [(11, 100.0), (11, 1.5), (2, 100.0), (0, 1.0)])
def test_sums_are_those_of_a_plain_count(kept: int, most: float) -> None:
    first = first_round()
    scores = np.asarray(first.scores.rows(slice(0, 12)), np.float64)
    friends = [2, 3, 5, 7, 11]
    offsets, members = np.array([0, 5]), np.array(friends, np.int32)
    expected = 0.0
    for place, x in enumerate(friends[:kept]):
        between = sum(scores[x, k] for k in friends[:kept][place + 1 :])
        expected += min(max(between, -most), most)
    (found,) = clipped_sums(first.scores, offsets, members, np.array([kept]), np.array([most]))
    assert found == pytest.approx(expected, rel=1e-5)
    assert first.scores.weights(score).size == 2


def test_somebody_missing_is_refused() -> None:
    refuse_missing_rows(first_round())
    with pytest.raises(ProtocolViolation, match="everybody answered"):
        refuse_missing_rows(first_round(missing=1))
