"""The transcript as everybody may read it: whole rows, and who holds them."""

from __future__ import annotations

import pickle
from itertools import combinations, pairwise

import numpy as np
import pytest

from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.public.layout import pack
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.positions import endpoints
from visibility_aware_edge_ldp.public.scope import group_scope, named_scope
from visibility_aware_edge_ldp.public.surveys.position import PositionReport, position_survey
from visibility_aware_edge_ldp.public.transcript import (
    Transcript,
    at_rate,
    broadcast_size,
    holders,
    ones_between,
    read_broadcast,
    refuse_part_rows,
    response_rate,
)
from visibility_aware_edge_ldp.public.view import PublicView

# Seven users; the whole row of user 4 is public, and two positions of others.
POSITIONS = list(combinations(range(7), 2))
PUBLIC = [(0, 3), *((4, x) for x in (5, 6)), (1, 4)]
VIEW = PublicView(range(7), VisibilityPolicy.from_positions(PUBLIC), np.empty((0, 2), np.int32))
HIDDEN = np.array([p not in PUBLIC for p in POSITIONS])
ROWS = np.array([u for u, _ in POSITIONS])
SURVEY = "ab" * 32


def transcript(answered: np.ndarray, ones: np.ndarray | None = None) -> Transcript:
    silent = np.zeros(len(POSITIONS), bool)
    flat = (np.packbits(bits, bitorder="little") for bits in (answered, silent if ones is None else ones))
    return Transcript(SURVEY, *flat)


def test_who_is_asked_and_who_was_heard() -> None:
    assert holders(VIEW).tolist() == [True, True, True, True, False, True, False]
    assert transcript(HIDDEN).rows_answered(VIEW).tolist() == holders(VIEW).tolist()
    some = transcript(HIDDEN & np.isin(ROWS, [0, 3]))
    assert np.flatnonzero(some.rows_answered(VIEW)).tolist() == [0, 3]
    assert not transcript(np.zeros(len(POSITIONS), bool)).rows_answered(VIEW).any()


def test_nobody_writes_into_a_transcript() -> None:
    """It is shared with the collection that it is of, which goes on; also after a journey to another process."""
    answered = np.packbits(HIDDEN, bitorder="little")
    here = Transcript(SURVEY, answered, answered.copy())
    for found in (here, pickle.loads(pickle.dumps(here))):
        for array in (found.answered, found.ones, found.rows_answered(VIEW)):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0
    answered |= np.uint8(1)
    assert np.shares_memory(here.answered, answered)


def test_every_single_answer_that_is_missing_or_too_many_is_refused() -> None:
    for place in range(len(POSITIONS)):
        answered = HIDDEN.copy()
        answered[place] = ~answered[place]
        alone = HIDDEN[place] and (HIDDEN & (ROWS[place] == ROWS)).sum() == 1
        if alone:
            assert not transcript(answered).rows_answered(VIEW)[ROWS[place]]
        else:
            with pytest.raises(ProtocolViolation):
                transcript(answered).rows_answered(VIEW)


def test_the_digest_names_everything_in_it() -> None:
    ones = HIDDEN.copy()
    ones[0] = False
    kept = [transcript(HIDDEN), transcript(HIDDEN, HIDDEN), transcript(HIDDEN, ones)]
    assert len({one.digest for one in [*kept, Transcript("cd" * 32, kept[0].answered, kept[0].ones)]}) == 4


def test_scores_are_worked_out_once_for_all_who_read_and_of_no_other_survey() -> None:
    survey, ones = position_survey(VIEW, 1), HIDDEN & (np.arange(len(POSITIONS)) % 2 == 0)
    here = Transcript(survey.identity, *(np.packbits(bits, bitorder="little") for bits in (HIDDEN, ones)))
    found = here.scores(VIEW, survey)
    assert here.scores(VIEW, survey) is found
    kind = min(VIEW.non_public)
    low, high = (float(value) for value in survey.channel(kind).scores)
    expected = np.where(HIDDEN, np.where(ones, high, low), 0.0)
    for rate in (1.0, 0.5):
        matrix = at_rate(found, VIEW, rate).rows(slice(None))
        assert [matrix[u, v] for u, v in POSITIONS] == pytest.approx((expected / rate).tolist())
    with pytest.raises(ProtocolViolation, match="another survey"):
        here.scores(VIEW, position_survey(VIEW, 2))
    partly = np.packbits(HIDDEN & (np.arange(HIDDEN.size) > 0), bitorder="little")
    with pytest.raises(ProtocolViolation, match="as a whole"):
        Transcript(survey.identity, partly, np.zeros_like(partly)).scores(VIEW, survey)


@pytest.mark.parametrize("octets", [0, 1, 7, 8, 9, 40])
def test_ones_between_places(octets: int) -> None:
    """Against the bits themselves; places may fall together, and the last may be the end."""
    random = np.random.default_rng(octets)
    bits = random.random(8 * octets) < 0.5
    places = np.sort(np.append(random.integers(0, 8 * octets + 1, 9), [0, 8 * octets]))
    expected = [int(bits[a:b].sum()) for a, b in pairwise(places)]
    assert ones_between(np.packbits(bits, bitorder="little"), places).tolist() == expected


def test_the_chance_of_an_answer() -> None:
    assert response_rate(10, 10) == 1
    assert response_rate(10, 7) == pytest.approx(6 / 9)
    assert response_rate(1, 1) == response_rate(0, 0) == 1


def report(start: int, stop: int, answered: np.ndarray) -> PositionReport:
    return PositionReport(
        SURVEY, 1, start, stop - start, pack(answered[start:stop]), pack(np.zeros(stop - start, bool))
    )


def test_reports_of_whole_rows_pass_and_all_others_are_refused() -> None:
    """Every range of positions, everybody in it answering: it passes if and only if it begins and ends with a row."""
    ends = {int(np.flatnonzero(u == ROWS)[0]) for u in range(6)} | {len(POSITIONS)}
    for start, stop in combinations(range(len(POSITIONS) + 1), 2):
        if start in ends and stop in ends:
            refuse_part_rows(report(start, stop, HIDDEN), VIEW)
        else:
            with pytest.raises(ProtocolViolation, match="part of its row"):
                refuse_part_rows(report(start, stop, HIDDEN), VIEW)
    for silent in range(6):
        refuse_part_rows(report(0, len(POSITIONS), HIDDEN & (silent != ROWS)), VIEW)
    for place in np.flatnonzero(HIDDEN)[:-1]:
        answered = HIDDEN.copy()
        answered[place] = False
        with pytest.raises(ProtocolViolation, match="part of its row"):
            refuse_part_rows(report(0, len(POSITIONS), answered), VIEW)


SCOPED = VIEW.within(named_scope(range(7), [(0, 1), (0, 2), (0, 3), (2, 5), (3, 6), (5, 6), (1, 4)]))
INSIDE = np.array([p in {(0, 1), (0, 2), (2, 5), (3, 6), (5, 6)} for p in POSITIONS])


def test_without_a_scope_the_broadcast_is_both_planes() -> None:
    sent = transcript(HIDDEN, HIDDEN & (ROWS % 2 == 0))
    octets = sent.broadcast(VIEW)
    assert octets == sent.answered.tobytes() + sent.ones.tobytes()
    assert len(octets) == broadcast_size(VIEW) == 6
    assert read_broadcast(SURVEY, octets, VIEW).digest == sent.digest


@pytest.mark.parametrize("absent", [(), (0,), (2, 3)])
def test_inside_a_scope_it_is_who_answered_and_a_bit_for_each_asked_position(absent: tuple[int, ...]) -> None:
    answered = INSIDE & ~np.isin(ROWS, absent)
    sent = transcript(answered, answered & (np.arange(len(POSITIONS)) % 3 > 0))
    octets = sent.broadcast(SCOPED)
    assert len(octets) == broadcast_size(SCOPED) == 2
    assert octets[0] == sum(1 << user for user in (0, 2, 3, 5) if user not in absent)
    found = read_broadcast(SURVEY, octets, SCOPED)
    assert found.digest == sent.digest
    assert (found.rows_answered(SCOPED) == sent.rows_answered(SCOPED)).all()


@pytest.mark.parametrize(
    ("octets", "words"),
    [
        (b"\0", "1 bytes; 2 are expected"),
        (bytes([0b101101, 0, 0]), "3 bytes; 2 are expected"),
        (bytes([0b10, 0]), "not asked"),  # user 1 is asked nothing
        (bytes([1 << 7, 0]), "not asked"),  # there are seven users
        (bytes([0b101101, 1 << 5]), "not asked"),  # five positions are asked
        (bytes([0b101100, 1]), "not asked"),  # user 0 did not answer
    ],
)
def test_other_bytes_are_refused(octets: bytes, words: str) -> None:
    with pytest.raises(ProtocolViolation, match=words):
        read_broadcast(SURVEY, octets, SCOPED)


def test_many_positions_survive_the_way_there_and_back() -> None:
    n = 1200
    view = PublicView(range(n), VisibilityPolicy.nothing(), np.empty((0, 2), np.int32))
    view = view.within(group_scope(range(n), "ward", {user: user % 7 for user in range(n) if user % 11}))
    u, v = endpoints(n, 0, view.positions)
    there = np.random.default_rng(1).random(n) < 0.8
    answered = view.classes.inside(u, v) & there[u]
    ones = answered & (np.random.default_rng(2).random(u.size) < 0.3)
    sent = Transcript(SURVEY, *(np.packbits(plane, bitorder="little") for plane in (answered, ones)))
    octets = sent.broadcast(view)
    assert len(octets) == broadcast_size(view) < 0.08 * (sent.answered.size + sent.ones.size)
    assert read_broadcast(SURVEY, octets, view).digest == sent.digest
