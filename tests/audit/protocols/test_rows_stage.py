"""Recalled numbers are those that the client would have made, and a client that looks at more is noticed.  [WALK.8]"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import partial

import pytest

from visibility_aware_edge_ldp.audit.engine.noise_laws import Floats, Noised
from visibility_aware_edge_ldp.audit.engine.small_worlds import Pattern, renamings
from visibility_aware_edge_ldp.audit.protocols.rows import CYCLES, USUAL
from visibility_aware_edge_ldp.audit.protocols.rows_stage import Friends, Recall, Split, Stage
from visibility_aware_edge_ldp.audit.protocols.rows_walk import Numbers, recalled_stages, same_numbers, second_report
from visibility_aware_edge_ldp.client.rows import FirstRound, TwoRoundClient
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.public.surveys.rows import RowSurvey
from visibility_aware_edge_ldp.public.visibility import Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
MIXED = (PRIVATE, FRIEND_VISIBLE, PUBLIC, PRIVATE, PUBLIC, FRIEND_VISIBLE)
TWO_CLASSES = (PRIVATE, FRIEND_VISIBLE, PRIVATE, PRIVATE, PUBLIC, PRIVATE)
ONE_ROW = (PRIVATE, PRIVATE, FRIEND_VISIBLE, PUBLIC, PUBLIC, PRIVATE)
Case = tuple[Stage, int, Friends, FirstRound]


def cases(pattern: Pattern, split: Split, public_bit: int = 1) -> Iterator[Case]:
    """All cases of all renamings of a pattern, whoever answered."""
    stages = [Stage(each, 4, split, public_bit, dropout=True) for each in dict.fromkeys(renamings(pattern, 4))]
    return (
        (stage, user, friends, stage.first_round(answers))
        for stage in stages
        for user in stage.asked
        for answers in stage.transcripts(user)
        for friends in stage.lists(user)
    )


def recalled_from(every: Iterator[Case]) -> list[tuple[Case, Case]]:
    """Each case that is recalled, beside the one that was worked out for it."""
    recall: Recall[Case] = Recall(lambda *case: case, lambda one, other: True)
    pairs = ((case, recall(*case)) for case in every)
    return [(case, source) for case, source in pairs if case != source]


@pytest.mark.long
@pytest.mark.parametrize("public_bit", [0, 1])
@pytest.mark.parametrize(
    ("pattern", "split", "least"),
    [(MIXED, USUAL, 0.8), (TWO_CLASSES, USUAL, 0.9), (MIXED, CYCLES, 0.4), (ONE_ROW, CYCLES, 0.4)],
    ids=["triangles", "triangles of two classes", "4-cycles", "4-cycles of a row"],
)
def test_recalled_numbers_are_those_of_the_client(
    pattern: Pattern, split: Split, least: float, public_bit: int
) -> None:
    """A sample of all cases that are recalled, most from another policy, is worked out without the memory."""
    recalled = recalled_from(cases(pattern, split, public_bit))
    assert len(recalled) > least * len(list(cases(pattern, split, public_bit)))
    for case, source in recalled[:: len(recalled) // 120]:
        assert same_numbers(second_report(*case), second_report(*source))


def numbers_of(recall: Recall[Numbers], split: Split = USUAL) -> list[Numbers]:
    return [recall(*case) for case in cases(MIXED, split)]


def looking(place: str, stage: Stage, user: int, friends: Friends, first: FirstRound) -> Numbers:
    """A client whose sum holds one answer more: its own first one, or that of a user before it."""
    honest = Numbers(0, Noised(len(friends), 1))
    at = stage.row(user)[0][0] if place == "own" else 0
    return honest._replace(reach=int(first.transcript.ones[0]) >> at & 1)


@pytest.mark.parametrize("place", ["own", "earlier"])
def test_a_client_that_looks_at_more_is_noticed(place: str) -> None:
    recall = Recall(partial(looking, place), same_numbers, every=50)
    with pytest.raises(ProtocolViolation, match="other numbers"):
        numbers_of(recall)


def by_name(stage: Stage, user: int, friends: Friends, first: FirstRound) -> Numbers:
    """A client that treats user 3 otherwise than others."""
    return Numbers(int(3 in friends), Noised(len(friends), 1))


@pytest.mark.parametrize("split", [USUAL, CYCLES], ids=["triangles", "4-cycles"])
def test_a_client_that_looks_at_names_is_noticed(split: Split) -> None:
    """As soon as the first case is recalled, however seldom others are worked out again."""
    recall = Recall(by_name, same_numbers, every=10**9)
    with pytest.raises(ProtocolViolation, match="other numbers"):
        numbers_of(recall, split)


def test_the_real_client_with_an_eye_for_names_stops_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = TwoRoundClient._measure

    def measure(self: TwoRoundClient, survey: RowSurvey, first: FirstRound) -> tuple[Floats, Floats]:
        reaches, sums = honest(self, survey, first)
        return reaches, sums + 5 * float((self._members == 3).any())

    monkeypatch.setattr(TwoRoundClient, "_measure", measure)
    with pytest.raises(ProtocolViolation, match="other numbers"):
        recalled_stages([Stage((PRIVATE,) * 6, 4, USUAL)])


def test_every_kind_of_case_that_is_recalled_is_worked_out_again() -> None:
    """Once for each way in which it is recalled: nothing differs for the user, or names alone."""
    ways: set[tuple[Case, bool]] = set()
    worked_out: list[Case] = []
    recall: Recall[Case] = Recall(
        lambda *case: case, lambda *_: True, lambda *case: worked_out.append(case) or case, 10**9
    )
    seen: set[Hashable] = set()
    for case in cases(TWO_CLASSES, USUAL):
        source, known = recall(*case), (recall._case_of(case[0], case[1], case[3]), case[2])
        if source != case:
            ways.add((source, known in seen))
        seen.add(known)
    assert recall.checks == len(ways) > recall.worked_out


def test_numbers_are_the_same_up_to_rounding_alone() -> None:
    one = Numbers(1, Noised(2, 3))
    assert same_numbers(one, Numbers(1, Noised(2, 3)))
    assert not same_numbers(one, Numbers(2, Noised(2, 3)))
    assert not same_numbers(one, Numbers(1, Noised(3, 3)))
    assert not same_numbers(one, Numbers(1, Noised(2, 4)))
