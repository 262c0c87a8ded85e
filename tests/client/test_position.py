"""The client: refuses, pays, randomizes once, repeats.  [POSITION.2-3]"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from visibility_aware_edge_ldp.client.position import PositionClient
from visibility_aware_edge_ldp.client.reporter import Bits, Purse
from visibility_aware_edge_ldp.client.views import PositionBits
from visibility_aware_edge_ldp.errors import ProtocolViolation, Refused
from visibility_aware_edge_ldp.mechanisms.randomness import Coins, keyed_coins, secure_coins, seeded_key
from visibility_aware_edge_ldp.public.layout import unpack
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.surveys.position import encode, position_survey
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

N = 30
SIZE = N * (N - 1) // 2
VIEW = PublicView(range(N), VisibilityPolicy("0.3", "0.3", "0.4"), np.empty((0, 2), np.int32))


def respondent(epsilon: str = "1", bits: np.ndarray | None = None) -> PositionClient:
    held = np.zeros(SIZE, bool) if bits is None else bits
    return PositionClient(
        PositionBits(0, held), VIEW, Purse({k: VIEW.policy.multiplier(k) * Fraction(epsilon) for k in NON_PUBLIC})
    )


def no_coins(count: int) -> bytes:
    raise AssertionError("a coin was drawn")


def test_asked_again_it_repeats_itself_whatever_the_coins() -> None:
    survey, client = position_survey(VIEW, 1, 2), respondent()
    first = client.answer(survey, 1, secure_coins())
    assert client.answer(survey, 1, no_coins) is first
    second = client.answer(survey, 2, secure_coins())
    assert client.answer(survey, 2, no_coins) is second
    assert client.answer(survey, 1, no_coins) is first


def test_over_the_cap_it_refuses_before_a_coin_is_drawn() -> None:
    client = respondent("1")
    client.answer(position_survey(VIEW, "0.75"), 1, secure_coins())
    with pytest.raises(Refused, match=r"0\.5 is left"):
        client.answer(position_survey(VIEW, "0.5"), 1, no_coins)
    client.answer(position_survey(VIEW, "0.25"), 1, secure_coins())
    with pytest.raises(Refused):
        client.answer(position_survey(VIEW, "0.01"), 1, no_coins)


def test_a_refused_payment_costs_nothing() -> None:
    purse = Purse({Visibility.PRIVATE: Fraction(1), Visibility.FRIEND_VISIBLE: Fraction(1)})
    with pytest.raises(Refused):
        purse.pay({Visibility.PRIVATE: Fraction(1), Visibility.FRIEND_VISIBLE: Fraction(2)})
    purse.pay({Visibility.PRIVATE: Fraction(1), Visibility.FRIEND_VISIBLE: Fraction(1)})


def test_rounds_come_in_order_and_only_the_survey_s_own() -> None:
    survey = position_survey(VIEW, 1, 2)
    with pytest.raises(ProtocolViolation, match="before round 1"):
        respondent().answer(survey, 2, no_coins)
    with pytest.raises(ProtocolViolation, match="round 3"):
        respondent().answer(survey, 3, no_coins)


def test_a_survey_about_another_policy_or_roster_is_refused() -> None:
    other = PublicView(range(N), VisibilityPolicy.nothing(), np.empty((0, 2), np.int32))
    renamed = PublicView(range(1, N + 1), VIEW.policy, np.empty((0, 2), np.int32))
    for view in (other, renamed):
        with pytest.raises(ProtocolViolation, match="another"):
            respondent().answer(position_survey(view, 1), 1, no_coins)


def test_public_positions_are_not_asked_and_round_two_only_where_round_one_said_one() -> None:
    survey, client = position_survey(VIEW, 1, 2), respondent()
    first, second = (client.answer(survey, number, secure_coins()) for number in (1, 2))
    public = VIEW.classes.range(0, SIZE) == Visibility.PUBLIC
    for report in (first, second):
        assert (unpack(report.answered, SIZE) == ~public).all()
    assert not (unpack(second.ones, SIZE) & ~unpack(first.ones, SIZE)).any()
    assert unpack(second.ones, SIZE).any()


def test_those_who_are_absent_say_nothing() -> None:
    present = np.arange(SIZE) % 3 > 0
    report = respondent().answer(position_survey(VIEW, 1), 1, secure_coins(), present)
    assert not (unpack(report.answered, SIZE) & ~present).any()


def test_flips_are_the_same_whatever_the_bits() -> None:
    """With the same coins, complementary bits give complementary answers: what is drawn never looks at a bit."""
    survey = position_survey(VIEW, 1)
    bits = np.random.default_rng(0).random(SIZE) < 0.5
    answers = [
        unpack(respondent(bits=b).answer(survey, 1, keyed_coins(seeded_key(3))).ones, SIZE) for b in (bits, ~bits)
    ]
    asked = VIEW.classes.range(0, SIZE) != Visibility.PUBLIC
    assert ((answers[0] ^ answers[1]) == asked).all()


def told_apart(view: PublicView, start: int, bits: Bits, rounds: int, present: Bits | None, coins: Coins) -> list[Bits]:
    """The protocol as it is written, one boolean a position: the ones of each round."""
    survey, classes, said = position_survey(view, 1, rounds), view.classes.range(start, bits.size), []
    asked = classes != Visibility.PUBLIC if present is None else (classes != Visibility.PUBLIC) & present
    for number in range(1, rounds + 1):
        ones = np.zeros(bits.size, np.bool_)
        for kind in NON_PUBLIC:
            chosen = np.flatnonzero(asked & (classes == kind))
            if chosen.size:
                ones[chosen] = survey.mechanism(kind, number).randomize(bits[chosen], coins)
        asked = ones
        said.append(ones)
    return said


def noted(stream: Coins, calls: list[int]) -> Coins:
    def draw(count: int) -> bytes:
        calls.append(count)
        return stream(count)

    return draw


POLICIES = {
    "mixed": VisibilityPolicy("0.3", "0.3", "0.4"),
    "nothing": VisibilityPolicy.nothing(),
    "profiles": VisibilityPolicy.public_profiles("0.5", rule="both"),
    "public": VisibilityPolicy(1),
}


@pytest.mark.parametrize("tabled", [False, True], ids=["classes of the run", "the table of all"])
@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("start", "count"), [(0, SIZE), (8, 64), (3, 1), (5, 200), (64, 0), (400, 35)])
def test_packed_answers_are_those_of_the_protocol_bit_by_bit(
    policy: str, rounds: int, start: int, count: int, tabled: bool
) -> None:
    view = PublicView(range(N), POLICIES[policy], np.empty((0, 2), np.int32))
    if tabled:
        assert view.class_bits[Visibility.PRIVATE].size
    random = np.random.default_rng(count)
    bits, present = random.random((2, count)) < 0.5
    for here in (None, present):
        held = PositionBits(start, bits)
        client = PositionClient(held, view, Purse(dict.fromkeys(NON_PUBLIC, Fraction(2))))
        calls: tuple[list[int], list[int]] = ([], [])
        mine, theirs = (noted(keyed_coins(seeded_key(start)), each) for each in calls)
        survey = position_survey(view, 1, rounds)
        sent = [client.answer(survey, number, mine, here) for number in range(1, rounds + 1)]
        for report, ones in zip(sent, told_apart(view, start, bits, rounds, here, theirs), strict=True):
            assert unpack(report.ones, count).tolist() == ones.tolist()
            taking_part = view.classes.range(start, count) != Visibility.PUBLIC
            assert (unpack(report.answered, count) == (taking_part if here is None else taking_part & here)).all()
        assert calls[0] == calls[1], "the same coins in the same order"
    assert ("class_bits" in vars(view)) == tabled, "nobody makes the table of all positions for its own"


@pytest.mark.parametrize("said", [SIZE - 1, SIZE + 1, 1])
def test_presence_is_said_for_every_position(said: int) -> None:
    with pytest.raises(ProtocolViolation, match=f"for {said} positions"):
        respondent().answer(position_survey(VIEW, 1), 1, no_coins, np.ones(said, np.bool_))


@pytest.mark.parametrize("count", [0, 1, 8, 13])
def test_packed_bits_are_the_bits(count: int) -> None:
    bits = np.arange(count) % 3 == 0
    held = PositionBits(5, bits)
    again = PositionBits.of_packed(5, count, held.packed)
    assert (held.start, held.count) == (again.start, again.count) == (5, count)
    assert held.bits.tolist() == again.bits.tolist() == bits.tolist()
    assert held.packed.tobytes() == np.packbits(bits, bitorder="little").tobytes()


def test_length_does_not_depend_on_the_bits() -> None:
    survey = position_survey(VIEW, 1)
    lengths = {
        len(encode(respondent(bits=np.full(SIZE, bit)).answer(survey, 1, secure_coins()))) for bit in (False, True)
    }
    assert len(lengths) == 1


def test_private_bits_do_not_print_themselves() -> None:
    view = PositionBits(0, np.array([True, False, True]))
    assert "True" not in repr(view)
    assert "bits" not in repr(view)
