"""Reports of degrees as bytes: what is written is read back, and nothing else is read at all."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.entropy import keyed_coins, seeded_key
from visibility_aware_edge_ldp.public.degree_report import LARGEST, DegreeReport, decode, degree_report, encode

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
    assert decode(GOLDEN).who_answered.tolist() == ANSWERED.tolist()


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
        assert_refused(GOLDEN[:HEADER] + bytes([5 | 1 << bit]) + GOLDEN[body:], "did not answer")


@pytest.mark.parametrize("number", [LARGEST + 1, -LARGEST - 1, 2**63 - 1, -(2**63)])
def test_numbers_that_are_never_sent_are_refused(number: int) -> None:
    body = HEADER + 1
    assert_refused(GOLDEN[:body] + struct.pack(">q", number) + GOLDEN[body + 8 :], "beyond")


def test_ranges_count_from_zero() -> None:
    with pytest.raises(ProtocolViolation, match="from 0"):
        DegreeReport("0" * 64, -1, 0, 1, b"", b"")


def test_two_thousand_mutations_are_read_back_exactly_or_refused() -> None:
    refused, read = 0, 0
    for seed in range(2000):
        coins, data = keyed_coins(seeded_key("degree mutations", seed)), bytearray(GOLDEN)
        for _ in range(1 + coins(1)[0] % 3):
            kind, place, value = coins(3)
            at = place % (len(data) + 1)
            data[at : at + (kind % 3 == 0)] = b"" if kind % 3 == 1 else bytes([value])
        try:
            again = encode(decode(bytes(data)))
        except ProtocolViolation:
            refused += 1
        else:
            read += 1
            assert again == data
    assert refused > 500
    assert read > 10


@FIXED
@given(st.binary(max_size=120))
def test_any_bytes_are_read_back_exactly_or_refused(tail: bytes) -> None:
    for data in (tail, GOLDEN[:5] + tail):
        try:
            again = encode(decode(data))
        except ProtocolViolation:
            again = data
        assert again == data
