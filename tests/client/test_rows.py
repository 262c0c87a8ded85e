"""USER triangles, the client: refuse, then pay, then answer once a round.  [TRIANGLE.1-2]"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from visibility_aware_edge_ldp.aggregator.rows import RowCollection
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.rows import FirstRound, TwoRoundClient
from visibility_aware_edge_ldp.client.views import FriendLists
from visibility_aware_edge_ldp.errors import BadPrivacyParameter, ProtocolViolation, Refused
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_coins, secure_coins, seeded_key
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.layout import unpack
from visibility_aware_edge_ldp.public.surveys.rows import RowSurvey, encode_rows, triangle_survey
from visibility_aware_edge_ldp.public.transcript import Transcript, holders
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Multipliers, Visibility
from visibility_aware_edge_ldp.simulation.worlds import cut_lists
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

N = 21
WORLD = VisibilityAwareGraph(erdos_renyi(N, 90, seed=4), VisibilityPolicy("0.2", "0.3", "0.5"))
VIEW = WORLD.public
SURVEY = triangle_survey(VIEW, 2)
SIZE = VIEW.positions


def no_coins(count: int) -> bytes:
    raise AssertionError("a coin was drawn")


def purse(survey: RowSurvey = SURVEY, times: Fraction = Fraction(1)) -> Purse:
    return Purse({kind: times * survey.multipliers.of(kind) * survey.epsilon for kind in NON_PUBLIC})


def everybody(view: PublicView = VIEW, money: Purse | None = None, users_at_once: int = N) -> list[TwoRoundClient]:
    lists = cut_lists(WORLD.graph, users_at_once)
    return [TwoRoundClient(held, view, money or purse()) for held in lists]


def first_answers(users: TwoRoundClient, survey: RowSurvey = SURVEY, seed: int = 1) -> FirstRound:
    """The first round of all users in one, as everybody hears it."""
    collection = RowCollection(survey, VIEW)
    collection.absorb_answers(users.answer(survey, 1, keyed_coins(seeded_key(seed))))
    return FirstRound(survey, VIEW, collection.close_first_round())


def changed(first: FirstRound, **parts: np.ndarray) -> FirstRound:
    return FirstRound(first.survey, first.public, replace(first.transcript, **parts))


def flat(bits: np.ndarray) -> np.ndarray:
    return np.packbits(bits, bitorder="little")


def test_asked_again_it_repeats_itself_whatever_the_coins() -> None:
    (users,) = everybody()
    answers = users.answer(SURVEY, 1, secure_coins())
    assert users.answer(SURVEY, 1, no_coins) is answers
    first = first_answers(users)
    total = users.total(SURVEY, first, secure_coins())
    assert users.total(SURVEY, first, no_coins) is total
    assert users.answer(SURVEY, 1, no_coins, np.zeros(N, bool)) is answers


def test_both_rounds_cost_exactly_what_the_survey_says() -> None:
    (users,) = everybody(money=purse())
    users.total(SURVEY, first_answers(users), secure_coins())
    other = replace(SURVEY, total=SURVEY.total / 1000)
    with pytest.raises(Refused, match="0 is left"):
        users.total(other, FirstRound(other, VIEW, first_of(users, other)), no_coins)
    assert SURVEY.epsilon == 2
    for kind in NON_PUBLIC:
        prices = [dict(release.prices)[kind].epsilon for release in SURVEY.releases]
        assert prices == [SURVEY.first.round_price(kind, 1), SURVEY.second_price(kind)]
        assert sum(prices) == 2 * SURVEY.multipliers.of(kind)


def first_of(users: TwoRoundClient, survey: RowSurvey) -> Transcript:
    """The first answers again: a survey with the same first round does not pay for them twice."""
    return first_answers(users, survey).transcript


def test_with_an_empty_purse_nothing_is_answered_nor_stored() -> None:
    poor = Purse({kind: SURVEY.first.round_price(kind, 1) for kind in NON_PUBLIC})
    (users,) = everybody(money=poor)
    first = first_answers(users)
    for _ in range(2):
        with pytest.raises(Refused):
            users.total(SURVEY, first, no_coins)
    assert (SURVEY.identity, 2) not in users._answers
    (penniless,) = everybody(money=Purse({}))
    for _ in range(2):
        with pytest.raises(Refused):
            penniless.answer(SURVEY, 1, no_coins)
    with pytest.raises(ProtocolViolation, match="before round 1"):
        penniless.total(SURVEY, first, no_coins)


def test_round_two_comes_after_round_one() -> None:
    (users,) = everybody()
    (other,) = everybody()
    with pytest.raises(ProtocolViolation, match="before round 1"):
        users.total(SURVEY, first_answers(other), no_coins)


def test_a_second_transcript_is_refused() -> None:
    (users,) = everybody()
    first = first_answers(users)
    users.total(SURVEY, first, secure_coins())
    ones = first.transcript.answered & ~first.transcript.ones
    with pytest.raises(ProtocolViolation, match="another transcript"):
        users.total(SURVEY, changed(first, ones=ones), no_coins)


def test_a_transcript_without_ones_own_answers_is_refused() -> None:
    view = PublicView(range(N), VisibilityPolicy.nothing(), np.empty((0, 2), np.int32))
    survey = triangle_survey(view, 2)
    (users,) = everybody(view)
    users.answer(survey, 1, secure_coins())
    silent = np.zeros((SIZE + 7) // 8, np.uint8)
    for held_back in (0, 5, N - 2):
        rows = np.repeat(np.arange(N - 1), np.arange(N - 1, 0, -1))
        answered = flat(rows != held_back)
        first = FirstRound(survey, view, Transcript(survey.first.identity, answered, silent))
        with pytest.raises(ProtocolViolation, match="own first answers"):
            users.total(survey, first, no_coins)
    assert (survey.identity, 2) not in users._answers


HIDDEN = VIEW.classes.range(0, SIZE) != Visibility.PUBLIC


def broken(kind: str, first: FirstRound) -> FirstRound:
    answered, ones = first.transcript.answered.copy(), first.transcript.ones.copy()
    place = int(np.flatnonzero(HIDDEN)[3])
    if kind == "a part of a row":
        answered[place >> 3] &= ~np.uint8(1 << (place & 7))
        ones &= answered
    elif kind == "a public position answers":
        public = int(np.flatnonzero(~HIDDEN)[0])
        answered[public >> 3] |= np.uint8(1 << (public & 7))
    elif kind == "a one without an answer":
        return changed(first, answered=np.zeros_like(answered), ones=flat(HIDDEN))
    elif kind == "bits after the last position":
        answered[-1] |= np.uint8(0x80)
    elif kind == "too short":
        return changed(first, answered=answered[:-1], ones=ones[:-1])
    else:
        return changed(first, answered=answered, ones=ones[:-1])
    return changed(first, answered=answered, ones=ones)


@pytest.mark.parametrize(
    "kind",
    [
        "a part of a row",
        "a public position answers",
        "a one without an answer",
        "bits after the last position",
        "too short",
        "of unlike lengths",
    ],
)
def test_transcripts_of_no_honest_round_are_refused(kind: str) -> None:
    assert SIZE % 8 != 0
    (users,) = everybody()
    first = first_answers(users)
    with pytest.raises(ProtocolViolation):
        users.total(SURVEY, broken(kind, first), no_coins)
    assert (SURVEY.identity, 2) not in users._answers
    assert users.total(SURVEY, first, secure_coins()).answered.any()


def test_the_first_round_of_another_survey_or_view_is_refused() -> None:
    (users,) = everybody()
    first = first_answers(users)
    dearer = replace(SURVEY, first=replace(SURVEY.first, epsilon=Fraction(3)))
    with pytest.raises(ProtocolViolation, match="another survey's first round"):
        FirstRound(dearer, VIEW, first.transcript)
    twin = PublicView(VIEW.names, VIEW.policy, VIEW.edges)
    other_total = replace(SURVEY, total=SURVEY.total * 2)
    for read in (FirstRound(SURVEY, twin, first.transcript), FirstRound(other_total, VIEW, first.transcript)):
        with pytest.raises(ProtocolViolation, match="read with another"):
            users.total(SURVEY, read, no_coins)


def test_a_survey_about_other_people_other_classes_or_other_prices_is_refused() -> None:
    nothing = PublicView(range(N), VisibilityPolicy.nothing(), np.empty((0, 2), np.int32))
    renamed = PublicView(range(1, N + 1), VIEW.policy, np.empty((0, 2), np.int32))
    lying = replace(SURVEY, first=replace(SURVEY.first, multipliers=Multipliers(Fraction(3), Fraction(1))))
    (users,) = everybody(money=purse(times=Fraction(9)))
    first = first_answers(users)
    for survey in (triangle_survey(nothing, 2), triangle_survey(renamed, 2), lying):
        with pytest.raises(ProtocolViolation, match=r"another roster or another policy|policy allows"):
            users.answer(survey, 1, no_coins)
        with pytest.raises(ProtocolViolation, match=r"another roster or another policy|policy allows"):
            users.total(survey, first, no_coins)


def test_a_survey_must_be_possible() -> None:
    two_rounds = replace(SURVEY.first, shares=(Fraction(1, 2), Fraction(1, 2)))
    bad: list[dict[str, object]] = [
        {"first": two_rounds},
        {"fineness": -41},
        {"fineness": 21},
        {"reach": Fraction(0)},
        {"total": Fraction(-1)},
        {"share": Fraction(1, 2)},
        {"share": Fraction(0)},
    ]
    for parts in bad:
        with pytest.raises(BadPrivacyParameter):
            replace(SURVEY, **parts)
    identities = {SURVEY.identity, *(replace(SURVEY, **{name: getattr(SURVEY, name) / 2}).identity for name in PARTS)}
    assert len(identities | {replace(SURVEY, fineness=9).identity}) == 5


PARTS = ("reach", "total", "share")


def test_those_who_are_absent_say_nothing() -> None:
    (users,) = everybody()
    here = np.arange(N) % 3 > 0
    answers = users.answer(SURVEY, 1, secure_coins(), here)
    rows = np.repeat(np.arange(N - 1), np.arange(N - 1, 0, -1))
    assert (unpack(answers.answered, SIZE) == (HIDDEN & here[rows])).all()
    collection = RowCollection(SURVEY, VIEW)
    collection.absorb_answers(answers)
    first = FirstRound(SURVEY, VIEW, collection.close_first_round())
    assert (first.answered == (here & holders(VIEW))).all()
    later = np.arange(N) % 2 > 0
    report = users.total(SURVEY, first, secure_coins(), later)
    assert (report.answered == (here & later & holders(VIEW))).all()
    assert not report.totals[~report.answered].any()
    assert not report.reaches[~report.answered].any()


def test_lengths_do_not_depend_on_lists_and_lists_do_not_print() -> None:
    empty = FriendLists(0, np.zeros(N + 1, np.int64), np.empty(0, np.int32))
    (users,) = everybody()
    lonely = TwoRoundClient(empty, VIEW, purse())
    reports = [one.total(SURVEY, first_answers(one), secure_coins()) for one in (users, lonely)]
    assert len({len(encode_rows(report)) for report in reports}) == 1
    (held,) = cut_lists(WORLD.graph)
    assert "neighbours" not in repr(held)
    assert "totals" not in repr(reports[0])
