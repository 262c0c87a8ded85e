"""The survey of degrees: what it costs, and that its name says all of it."""

from __future__ import annotations

import struct
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.read_back import written_again
from visibility_aware_edge_ldp.errors import BadPrivacyParameter, ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_coins, seeded_key
from visibility_aware_edge_ldp.privacy import Bill, OneEdge, OneListEntry
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.surveys.degrees import (
    LARGEST,
    DegreeReport,
    DegreeSurvey,
    decode,
    degree_report,
    degree_survey,
    encode,
)
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Multipliers, Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
SURVEY = DegreeSurvey("0" * 64, 5, "1" * 64, Fraction(1))


def view_of(policy: VisibilityPolicy) -> PublicView:
    return PublicView(range(5), policy, np.empty((0, 2), np.int32))


def test_each_list_entry_loses_half_of_what_the_edge_loses() -> None:
    assert SURVEY.list_price(PRIVATE).epsilon == Fraction(1, 2)
    assert SURVEY.list_price(FRIEND_VISIBLE).epsilon == 1
    assert SURVEY.list_price(PRIVATE).relation is OneListEntry
    assert SURVEY.price(PRIVATE).epsilon == 1
    assert SURVEY.price(PRIVATE).relation is OneEdge
    assert SURVEY.mechanism(PRIVATE) == DiscreteLaplace(Fraction(1, 2))
    assert SURVEY.mechanism(FRIEND_VISIBLE) == DiscreteLaplace(Fraction(1))


def test_the_bill_is_per_edge() -> None:
    bill = Bill(SURVEY.releases)
    assert {key: price.epsilon for key, price in bill.items()} == {"PRIVATE": 1, "FRIEND_VISIBLE": 2}


@pytest.mark.parametrize(
    ("policy", "classes"),
    [
        (VisibilityPolicy.nothing(), (PRIVATE,)),
        (VisibilityPolicy("0.5"), (PRIVATE,)),
        (VisibilityPolicy("0.2", "0.3", "0.5"), NON_PUBLIC),
        (VisibilityPolicy("0", "1"), (FRIEND_VISIBLE,)),
        (VisibilityPolicy(1), ()),
    ],
    ids=str,
)
def test_only_classes_that_can_be_there_are_asked(policy: VisibilityPolicy, classes: tuple[Visibility, ...]) -> None:
    assert degree_survey(view_of(policy), 1).classes == classes


def test_the_policy_s_own_losses_are_used() -> None:
    survey = degree_survey(view_of(VisibilityPolicy("0.2", "0.3", "0.5").guarded(friend_visible=3)), "0.5")
    assert survey.price(FRIEND_VISIBLE).epsilon == Fraction(3, 2)
    assert survey.mechanism(FRIEND_VISIBLE).epsilon == Fraction(3, 4)


def test_every_field_is_in_the_identity() -> None:
    others = [
        replace(SURVEY, roster="2" * 64),
        replace(SURVEY, nodes=6),
        replace(SURVEY, policy="2" * 64),
        replace(SURVEY, epsilon=Fraction(1, 2)),
        replace(SURVEY, classes=(PRIVATE,)),
        replace(SURVEY, multipliers=Multipliers(Fraction(3))),
    ]
    assert len({SURVEY.identity, *(other.identity for other in others)}) == 7


def test_the_identity_is_pinned() -> None:
    """Another machine must give the same survey the same name."""
    assert SURVEY.identity == "638f9f46442afe117867cb4292b26c4078211d8ce509b525043a5b4c9eeaefb3"


def test_what_cannot_be_asked_is_refused() -> None:
    for epsilon in (0, -1):
        with pytest.raises(BadPrivacyParameter):
            replace(SURVEY, epsilon=Fraction(epsilon))
    for classes in ((PUBLIC,), (PRIVATE, FRIEND_VISIBLE), (PRIVATE, PRIVATE)):
        with pytest.raises(BadPrivacyParameter):
            replace(SURVEY, classes=classes)


FIXED = settings(derandomize=True, deadline=None, max_examples=150)


HEADER = 4 + 1 + 1 + 8 + 8 + 32


ANSWERED = np.array([True, False, True])


REPORT = degree_report(bytes(range(32)).hex(), 258, ANSWERED, np.array([[1, 9, -2], [LARGEST, 9, -LARGEST]]))


GOLDEN = bytes.fromhex(
    "56414544"  # "VAED"
    "01"  # version
    "02"  # classes
    "0000000000000102"  # start
    "0000000000000003"  # count
    "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"  # survey
    "05"  # who answered
    "0000000000000001" "0000000000000000" "fffffffffffffffe"  # first class
    "4000000000000000" "0000000000000000" "c000000000000000"  # second class
)  # fmt: skip


@st.composite
def reports(draw: st.DrawFn) -> DegreeReport:
    count, classes = draw(st.integers(0, 20)), draw(st.integers(0, 2))
    answered = np.array(draw(st.lists(st.booleans(), min_size=count, max_size=count)), dtype=np.bool_)
    number = st.integers(-LARGEST, LARGEST)
    values = draw(st.lists(number, min_size=count * classes, max_size=count * classes))
    survey = draw(st.binary(min_size=32, max_size=32)).hex()
    table = np.array(values, np.int64).reshape(classes, count)
    return degree_report(survey, draw(st.integers(0, 2**64 - 1)), answered, table)


def assert_refused(data: bytes, match: str = "report") -> None:
    with pytest.raises(ProtocolViolation, match=match):
        decode(data)


@FIXED
@given(reports())
def test_round_trip(report: DegreeReport) -> None:
    data = encode(report)
    assert decode(data) == report
    assert encode(decode(data)) == data
    assert len(data) == HEADER + (report.count + 7) // 8 + 8 * report.count * report.classes


def test_the_golden_vector() -> None:
    assert encode(REPORT) == GOLDEN
    assert decode(GOLDEN) == REPORT
    assert decode(GOLDEN).values.tolist() == [[1, 0, -2], [LARGEST, 0, -LARGEST]]
    assert decode(GOLDEN).answered.tolist() == ANSWERED.tolist()


def test_every_truncation_and_every_addition_is_refused() -> None:
    for length in range(len(GOLDEN)):
        assert_refused(GOLDEN[:length])
    for extra in (b"\0", bytes(8), GOLDEN):
        assert_refused(GOLDEN + extra)


def test_another_magic_version_count_or_number_of_classes_is_refused() -> None:
    assert_refused(b"VAEL" + GOLDEN[4:], "not a report of degrees")
    for version in (0, 2):
        assert_refused(GOLDEN[:4] + bytes([version]) + GOLDEN[5:], "version")
    for classes in (0, 1, 3, 255):
        assert_refused(GOLDEN[:5] + bytes([classes]) + GOLDEN[6:])
    for count in (0, 2, 4, 2**32, 2**64 - 1):
        assert_refused(GOLDEN[:14] + struct.pack(">Q", count) + GOLDEN[22:])


def test_numbers_of_the_absent_and_spare_bits_are_refused() -> None:
    body = HEADER + 1
    assert_refused(GOLDEN[: body + 15] + b"\1" + GOLDEN[body + 16 :], "did not answer")
    for bit in range(3, 8):
        assert_refused(GOLDEN[:HEADER] + bytes([5 | 1 << bit]) + GOLDEN[body:], "after its last user")


@pytest.mark.parametrize("number", [LARGEST + 1, -LARGEST - 1, 2**63 - 1, -(2**63)])
def test_numbers_that_are_never_sent_are_refused(number: int) -> None:
    body = HEADER + 1
    assert_refused(GOLDEN[:body] + struct.pack(">q", number) + GOLDEN[body + 8 :], "beyond")


def test_ranges_count_from_zero() -> None:
    with pytest.raises(ProtocolViolation, match="from 0"):
        DegreeReport("0" * 64, -1, ANSWERED, np.zeros((1, 3), np.int64))


def test_two_thousand_mutations_are_read_back_exactly_or_refused() -> None:
    found = []
    for seed in range(2000):
        coins, data = keyed_coins(seeded_key("degree mutations", seed)), bytearray(GOLDEN)
        for _ in range(1 + coins(1)[0] % 3):
            kind, place, value = coins(3)
            at = place % (len(data) + 1)
            data[at : at + (kind % 3 == 0)] = b"" if kind % 3 == 1 else bytes([value])
        found.append((bytes(data), written_again(bytes(data), decode, encode)))
    assert all(again in (None, data) for data, again in found)
    refused = [data for data, again in found if again is None]
    assert 500 < len(refused) < 2000 - 10


@FIXED
@given(st.binary(max_size=120))
def test_any_bytes_are_read_back_exactly_or_refused(tail: bytes) -> None:
    for data in (tail, GOLDEN[:5] + tail):
        assert written_again(data, decode, encode) in (None, data)
