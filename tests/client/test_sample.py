"""A client of a sampled survey works out who is drawn, answers for them only, pays, and repeats itself.  [SAMPLE.2]"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from visibility_aware_edge_ldp.client.position import PositionClient
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.sample import SampledPositionClient
from visibility_aware_edge_ldp.client.views import PositionBits, PositionEdges
from visibility_aware_edge_ldp.errors import ProtocolViolation, Refused
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_coins
from visibility_aware_edge_ldp.public.layout import unpack
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.surveys.position import position_survey
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
VIEW = PublicView(range(30), VisibilityPolicy("0.2", "0.3", "0.5"), np.empty((0, 2), np.int32))
BITS = np.arange(VIEW.positions) % 3 == 0
SURVEY = position_survey(VIEW, "1", 2, sample="0.4", coin="lot")


def coins() -> object:
    return keyed_coins(bytes(32))


def client(view: PositionBits | PositionEdges | None = None, cap: int = 5) -> SampledPositionClient:
    return SampledPositionClient(view or PositionBits(0, BITS), VIEW, Purse(dict.fromkeys(NON_PUBLIC, Fraction(cap))))


@pytest.mark.parametrize("number", [1, 2])
def test_bits_and_lists_of_edges_are_two_ways_to_hold_the_same(number: int) -> None:
    packed, listed = client(), client(PositionEdges(0, BITS.size, np.flatnonzero(BITS)))
    for round_number in range(1, number + 1):
        first, second = (each.answer(SURVEY, round_number, coins()) for each in (packed, listed))
    assert first == second
    assert 0 < np.count_nonzero(unpack(first.ones, first.drawn)) < first.drawn


def test_only_drawn_positions_that_are_not_public_answer() -> None:
    report, drawn = client().answer(SURVEY, 1, coins()), SURVEY.drawn.between(0, VIEW.positions)
    classes = VIEW.classes.range(0, VIEW.positions)
    assert report.drawn == drawn.size < VIEW.positions / 2
    assert (unpack(report.answered, report.drawn) == (classes[drawn] != PUBLIC)).all()


def test_a_reporter_that_was_not_drawn_sends_nothing_of_itself() -> None:
    undrawn = int(np.setdiff1d(np.arange(VIEW.positions), SURVEY.drawn.between(0, VIEW.positions))[0])

    def no_coins(count: int) -> bytes:
        assert count == 0
        return b""

    reports = [client(PositionBits(undrawn, np.array([bit]))).answer(SURVEY, 1, no_coins) for bit in (False, True)]
    assert reports[0] == reports[1]
    assert (reports[0].drawn, reports[0].ones) == (0, b"")


def test_absent_positions_are_said_of_the_drawn() -> None:
    nobody = np.zeros(SURVEY.drawn.count, np.bool_)
    assert not any(client().answer(SURVEY, 1, coins(), nobody).answered)
    with pytest.raises(ProtocolViolation, match="Who is present"):
        client().answer(SURVEY, 1, coins(), np.zeros(VIEW.positions, np.bool_))


def test_asked_again_it_says_the_same_and_pays_once() -> None:
    one = client(cap=2)
    first = one.answer(SURVEY, 1, coins())
    assert one.answer(SURVEY, 1, keyed_coins(bytes(31) + b"1")) == first
    one.answer(SURVEY, 2, coins())
    with pytest.raises(Refused, match="is left"):
        one.answer(replace(SURVEY, sample=replace(SURVEY.sample, coin="another")), 1, coins())


def test_it_answers_no_other_kind_of_survey() -> None:
    with pytest.raises(ProtocolViolation, match="no sample"):
        client().answer(position_survey(VIEW, "1"), 1, coins())
    with pytest.raises(ProtocolViolation, match="another number of nodes"):
        client().answer(replace(SURVEY, nodes=31), 1, coins())
    with pytest.raises(ProtocolViolation, match="another roster"):
        client().answer(replace(SURVEY, roster="00" * 32), 1, coins())
    with pytest.raises(ProtocolViolation, match="before round 1"):
        client().answer(SURVEY, 2, coins())
    whole = PositionClient(PositionBits(0, BITS), VIEW, Purse(dict.fromkeys(NON_PUBLIC, Fraction(5))))
    with pytest.raises(ProtocolViolation, match="SampledPositionClient"):
        whole.answer(SURVEY, 1, coins())
