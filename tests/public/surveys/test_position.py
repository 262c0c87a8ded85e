"""The survey: its price per class and round, its channel, and a name that changes with every field."""

from __future__ import annotations

import struct
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.read_back import written_again
from visibility_aware_edge_ldp.errors import BadPrivacyParameter, ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.randomized_response import RandomizedResponse
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_coins, seeded_key
from visibility_aware_edge_ldp.privacy import Bill, OneEdge
from visibility_aware_edge_ldp.public.layout import pack
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.surveys.position import (
    PositionReport,
    PositionSurvey,
    decode,
    encode,
    position_survey,
)
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
VIEW = PublicView(range(10), VisibilityPolicy(0.2, 0.3), np.empty((0, 2), np.int32))
HALF = Fraction(1, 2)
ONE = PositionSurvey("roster", 10, "policy", Fraction(1))
TWO = PositionSurvey("roster", 10, "policy", Fraction(1), (HALF, HALF))


def test_a_survey_is_about_its_view() -> None:
    survey = position_survey(VIEW, 0.1)
    assert (survey.roster, survey.nodes, survey.policy) == (VIEW.roster_digest, 10, VIEW.policy.digest)
    assert survey.epsilon == Fraction(1, 10)
    assert (survey.rounds, survey.shares) == (1, (1,))


@pytest.mark.parametrize("survey", [ONE, TWO], ids=["one round", "two rounds"])
@pytest.mark.parametrize(("kind", "price"), [(PUBLIC, 0), (FRIEND_VISIBLE, 2), (PRIVATE, 1)])
def test_price_per_class(survey: PositionSurvey, kind: Visibility, price: int) -> None:
    assert sum(survey.round_price(kind, number) for number in range(1, survey.rounds + 1)) == price


def test_the_bill_adds_the_rounds() -> None:
    for survey in (ONE, TWO, replace(TWO, shares=(Fraction(1, 3), Fraction(2, 3)))):
        bill = Bill(survey.releases)
        assert {str(kind): guarantee.epsilon for kind, guarantee in bill.items()} == {
            "PRIVATE": 1,
            "FRIEND_VISIBLE": 2,
        }
        assert all(guarantee.relation is OneEdge and not guarantee.delta for guarantee in bill.values())


def test_one_release_a_round_named_by_the_survey() -> None:
    assert [(r.survey, r.round) for r in TWO.releases] == [(TWO.identity, 1), (TWO.identity, 2)]
    assert len(set(ONE.releases) | set(ONE.releases)) == 1
    assert [dict(r.prices)[PRIVATE].epsilon for r in TWO.releases] == [HALF, HALF]


@pytest.mark.parametrize("kind", NON_PUBLIC)
def test_the_channel_of_one_round_is_randomized_response(kind: Visibility) -> None:
    assert ONE.channel(kind) == RandomizedResponse(ONE.multipliers.of(kind)).channel
    assert ONE.channel(kind).loss <= ONE.multipliers.of(kind)


@pytest.mark.parametrize("kind", NON_PUBLIC)
def test_the_channel_of_two_rounds(kind: Visibility) -> None:
    survey = replace(TWO, shares=(Fraction(1, 4), Fraction(3, 4)))
    first, second = (RandomizedResponse(ONE.multipliers.of(kind) * share) for share in survey.shares)
    channel = survey.channel(kind)
    assert channel.given_one == (first.flip, first.keep * second.flip, first.keep * second.keep)
    assert channel.given_zero == (first.keep, first.flip * second.keep, first.flip * second.flip)
    assert channel.loss <= ONE.multipliers.of(kind) + 1e-15
    assert channel.loss > ONE.multipliers.of(kind) - 1e-9


@pytest.mark.parametrize("survey", [ONE, TWO], ids=["one round", "two rounds"])
def test_prices_and_mechanisms_are_worked_out_once_and_belong_to_their_survey(survey: PositionSurvey) -> None:
    for kind in NON_PUBLIC:
        for number in range(1, survey.rounds + 1):
            price = survey.multipliers.of(kind) * survey.epsilon * survey.shares[number - 1]
            assert survey.round_price(kind, number) == price
            assert survey.round_price(kind, number) is survey.round_price(kind, number)
            assert survey.mechanism(kind, number) is survey.mechanism(kind, number)
            assert survey.mechanism(kind, number) == RandomizedResponse(price)
    twice = replace(survey, epsilon=2 * survey.epsilon)
    assert twice.round_price(PRIVATE, 1) == 2 * survey.round_price(PRIVATE, 1)
    assert twice.mechanism(PRIVATE, 1) != survey.mechanism(PRIVATE, 1)
    fresh = replace(survey)
    assert (fresh, hash(fresh)) == (survey, hash(survey))


def test_the_first_share() -> None:
    survey = position_survey(VIEW, 2, rounds=2, first_share=0.1)
    assert survey.shares == (Fraction(1, 10), Fraction(9, 10))
    assert survey.round_price(PRIVATE, 1) == Fraction(1, 5)
    assert survey.round_price(FRIEND_VISIBLE, 2) == Fraction(18, 5)
    assert position_survey(VIEW, 2, rounds=2).shares == (HALF, HALF)
    assert position_survey(VIEW, 2, rounds=1, first_share=0.1).shares == (1,)


CHANGED: dict[str, PositionSurvey] = {
    "nothing": ONE,
    "roster": replace(ONE, roster="other"),
    "nodes": replace(ONE, nodes=11),
    "policy": replace(ONE, policy="other"),
    "epsilon": replace(ONE, epsilon=Fraction(1) + Fraction(1, 10**15)),
    "rounds": TWO,
    "shares": replace(TWO, shares=(Fraction(1, 3), Fraction(2, 3))),
    "shares, the other way round": replace(TWO, shares=(Fraction(2, 3), Fraction(1, 3))),
}


def test_the_identity_changes_with_every_field() -> None:
    identities = {what: survey.identity for what, survey in CHANGED.items()}
    assert all(len(identity) == 64 and bytes.fromhex(identity) for identity in identities.values())
    assert len(set(identities.values())) == len(CHANGED)


def test_the_same_survey_has_the_same_identity() -> None:
    assert PositionSurvey("roster", 10, "policy", Fraction("1.0"), (Fraction(1),)).identity == ONE.identity


def test_the_identity_is_pinned() -> None:
    assert ONE.identity == "9a606ae70691f01ea3bbaa1e57a7de1a99fae4face2d8690953b4e5621a05811"
    assert TWO.identity == "3d50ff1406e75b0c4bd612fb4a1406044aa73ee2633c2e0683e9a3a58bebf2dc"


def test_surveys_of_unlike_price_have_unlike_identities() -> None:
    dear, dearer = replace(ONE, epsilon=Fraction(50)), replace(ONE, epsilon=Fraction(60))
    assert dear.releases[0].prices != dearer.releases[0].prices
    assert dear.identity != dearer.identity


@pytest.mark.parametrize("rounds", [0, 3, -1, 1.5, "1", None])
def test_only_one_or_two_rounds(rounds: Any) -> None:
    with pytest.raises(BadPrivacyParameter, match="1 or 2 rounds"):
        position_survey(VIEW, 1, rounds=rounds)


@pytest.mark.parametrize("share", [0, 1, 2, -0.1, float("nan"), "x", True])
def test_a_round_without_a_share_is_refused(share: Any) -> None:
    with pytest.raises(BadPrivacyParameter):
        position_survey(VIEW, 1, rounds=2, first_share=share)


@pytest.mark.parametrize(
    "shares",
    [(), (HALF,), (HALF, HALF, Fraction(0)), (HALF, Fraction(1, 3)), (Fraction(3, 2), -HALF), (Fraction(1, 3),) * 3],
)
def test_shares_are_positive_and_sum_to_one(shares: tuple[Fraction, ...]) -> None:
    with pytest.raises(BadPrivacyParameter, match="shares that sum to 1"):
        replace(ONE, shares=shares)


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), 1e-30, True, "x", None])
def test_an_impossible_epsilon_is_refused_when_the_survey_is_made(epsilon: Any) -> None:
    with pytest.raises(BadPrivacyParameter):
        position_survey(VIEW, epsilon)


def test_a_round_too_small_to_be_sampled_is_refused_when_the_survey_is_made() -> None:
    assert position_survey(VIEW, "1e-18").rounds == 1
    with pytest.raises(BadPrivacyParameter, match="too small"):
        position_survey(VIEW, "1e-18", rounds=2, first_share="0.01")


FIXED = settings(derandomize=True, deadline=None, max_examples=150)


HEADER = 4 + 1 + 1 + 8 + 8 + 32


REPORT = PositionReport(bytes(range(32)).hex(), 2, 524_288, 11, bytes([0b10110111, 0b101]), bytes([0b00100101, 0b100]))


GOLDEN = bytes.fromhex(
    "5641454c"  # "VAEL"
    "01"  # version
    "02"  # round
    "0000000000080000"  # start
    "000000000000000b"  # count
    "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"  # survey
    "b705"  # who answered
    "2504"  # the ones
)


@st.composite
def reports(draw: st.DrawFn) -> PositionReport:
    count = draw(st.integers(0, 70))
    bits = st.lists(st.booleans(), min_size=count, max_size=count)
    answered = np.array(draw(bits), dtype=np.bool_)
    ones = np.array(draw(bits), dtype=np.bool_) & answered
    return PositionReport(
        draw(st.binary(min_size=32, max_size=32)).hex(),
        draw(st.integers(0, 255)),
        draw(st.integers(0, 2**64 - 1)),
        count,
        pack(answered),
        pack(ones),
    )


def assert_refused(data: bytes, match: str = "report") -> None:
    with pytest.raises(ProtocolViolation, match=match):
        decode(data)


def with_count(count: int, body: bytes) -> bytes:
    return GOLDEN[:14] + struct.pack(">Q", count) + GOLDEN[22:HEADER] + body


@FIXED
@given(reports())
def test_round_trip(report: PositionReport) -> None:
    data = encode(report)
    assert decode(data) == report
    assert encode(decode(data)) == data
    assert len(data) == HEADER + 2 * ((report.count + 7) // 8)


def test_the_golden_vector() -> None:
    """Clients and aggregators of different versions must mean the same bytes."""
    assert encode(REPORT) == GOLDEN
    assert decode(GOLDEN) == REPORT


def test_every_truncation_is_refused() -> None:
    for length in range(len(GOLDEN)):
        assert_refused(GOLDEN[:length], "at least" if length < HEADER else "positions carries")


@pytest.mark.parametrize("extra", [b"\x00", b"\x00\x00", GOLDEN, bytes(1000)], ids=["1", "2", "twice", "1000"])
def test_more_than_a_report_is_refused(extra: bytes) -> None:
    assert_refused(GOLDEN + extra, "carries")


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", b"GET / HTTP/1.1\r\n" * 9, bytes(HEADER), b"\xff" * 100],
    ids=["nothing", "json", "http", "zeros", "ones"],
)
def test_garbage_is_refused(data: bytes) -> None:
    assert_refused(data)


def test_another_magic_or_version_is_refused() -> None:
    assert_refused(b"VAEM" + GOLDEN[4:], "not a report")
    assert_refused(GOLDEN[:4] + b"\x02" + GOLDEN[5:], "version")
    assert_refused(GOLDEN[:4] + b"\x00" + GOLDEN[5:], "version")


@pytest.mark.parametrize("count", [0, 8, 17, 2**32, 2**63, 2**64 - 1])
def test_a_count_that_does_not_fit_the_bytes_is_refused(count: int) -> None:
    assert_refused(with_count(count, GOLDEN[HEADER:]), "positions carries")


@pytest.mark.parametrize("bit", range(11, 16))
def test_padding_bits_are_refused(bit: int) -> None:
    high = 1 << (bit - 8)
    answered = bytes([0b10110111, 0b101 | high])
    assert_refused(GOLDEN[:HEADER] + answered + bytes([0b00100101, 0b100]), "did not answer")
    assert_refused(GOLDEN[:HEADER] + answered + bytes([0b00100101, 0b100 | high]), "did not answer")


@pytest.mark.parametrize("bit", [3, 6, 9])
def test_ones_of_those_who_did_not_answer_are_refused(bit: int) -> None:
    ones = int.from_bytes(GOLDEN[-2:], "little") | 1 << bit
    assert_refused(GOLDEN[:-2] + ones.to_bytes(2, "little"), "did not answer")


def mutated(seed: int) -> bytes:
    """A report with a few bytes changed, cut out, doubled or put in."""
    coins = keyed_coins(seeded_key("mutations", seed))
    data = bytearray(GOLDEN)
    for _ in range(1 + coins(1)[0] % 4):
        kind, place, value = coins(3)
        at = place % (len(data) + 1)
        if kind % 4 == 0:
            data[at : at + 1] = bytes([value])
        elif kind % 4 == 1:
            del data[at : at + 1 + value % 8]
        elif kind % 4 == 2:
            data[at:at] = bytes([value])
        else:
            data[at:at] = data[at : at + value % 16]
    return bytes(data)


def test_two_thousand_mutations_are_read_back_exactly_or_refused() -> None:
    found = [(data, written_again(data, decode, encode)) for data in map(mutated, range(2000))]
    assert all(again in (None, data) for data, again in found)
    assert 1000 < sum(again is None for _, again in found) < 2000 - 10


@FIXED
@given(st.binary(max_size=120))
def test_any_bytes_are_read_back_exactly_or_refused(tail: bytes) -> None:
    for data in (tail, GOLDEN[:5] + tail):
        assert written_again(data, decode, encode) in (None, data)
