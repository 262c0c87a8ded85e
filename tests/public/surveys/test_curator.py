"""A centre's answers as bytes: what is written is read back, and nothing else is read at all."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.read_back import written_again
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.public.surveys.curator import LARGEST_ANSWER, CuratorReport, decode_answer, encode_answer

FIXED = settings(derandomize=True, deadline=None, max_examples=150)
REPORT = CuratorReport(bytes(range(32)).hex(), 258, -2, bytes(range(32, 48)).hex())
GOLDEN = bytes.fromhex(
    "56414543"  # "VAEC"
    "01"  # version
    "0000000000000102"  # index
    "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"  # survey
    "202122232425262728292a2b2c2d2e2f"  # mark
    "fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe"  # value
)
VALUE = len(GOLDEN) - 32
reports = st.builds(
    CuratorReport,
    st.binary(min_size=32, max_size=32).map(bytes.hex),
    st.integers(0, 2**64 - 1),
    st.integers(-LARGEST_ANSWER, LARGEST_ANSWER),
    st.binary(min_size=16, max_size=16).map(bytes.hex),
)


def assert_refused(data: bytes, match: str = "answer") -> None:
    with pytest.raises(ProtocolViolation, match=match):
        decode_answer(data)


@FIXED
@given(reports)
def test_round_trip(report: CuratorReport) -> None:
    assert decode_answer(encode_answer(report)) == report


@pytest.mark.parametrize("value", [0, 1, -1, 2**62, -(2**63), 2**64, LARGEST_ANSWER, -LARGEST_ANSWER])
def test_the_length_does_not_tell_the_value(value: int) -> None:
    data = encode_answer(replace(REPORT, value=value))
    assert len(data) == len(GOLDEN) == 4 + 1 + 8 + 32 + 16 + 32
    assert decode_answer(data).value == value


def test_the_golden_vector() -> None:
    assert encode_answer(REPORT) == GOLDEN
    assert decode_answer(GOLDEN) == REPORT


def test_every_truncation_and_every_addition_is_refused() -> None:
    for length in range(len(GOLDEN)):
        assert_refused(GOLDEN[:length])
    for extra in (b"\0", bytes(32), GOLDEN):
        assert_refused(GOLDEN + extra, "carries 32 bytes more")


def test_another_magic_or_version_is_refused() -> None:
    for magic in (b"VAEL", b"VAED", b"vaec", bytes(4)):
        assert_refused(magic + GOLDEN[4:], "not a centre's answer")
    for version in (0, 2, 255):
        assert_refused(GOLDEN[:4] + bytes([version]) + GOLDEN[5:], "version")


@pytest.mark.parametrize("value", [LARGEST_ANSWER + 1, -LARGEST_ANSWER - 1, 2**255 - 1, -(2**255)])
def test_numbers_that_are_never_sent_are_refused(value: int) -> None:
    assert_refused(GOLDEN[:VALUE] + value.to_bytes(32, signed=True), "beyond")
    with pytest.raises(ProtocolViolation, match="beyond"):
        replace(REPORT, value=value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"index": -1},
        {"index": 2**64},
        {"survey": "ab"},
        {"survey": "AB" * 32},
        {"mark": ""},
        {"mark": "0g" * 16},
        {"mark": "00" * 17},
    ],
    ids=str,
)
def test_answers_that_have_no_bytes_cannot_be_made(wrong: dict[str, Any]) -> None:
    with pytest.raises(ProtocolViolation, match="answer names"):
        replace(REPORT, **wrong)


def test_every_question_can_be_named() -> None:
    for index in (0, 2**64 - 1):
        data = GOLDEN[:5] + struct.pack(">Q", index) + GOLDEN[13:]
        assert decode_answer(data) == replace(REPORT, index=index)


@FIXED
@given(st.integers(0, len(GOLDEN) - 1), st.integers(1, 255))
def test_a_changed_byte_is_refused_or_means_something_else(place: int, flip: int) -> None:
    data = bytearray(GOLDEN)
    data[place] ^= flip
    again = written_again(bytes(data), decode_answer, encode_answer)
    assert again in (None, bytes(data))
    assert again is None or decode_answer(again) != REPORT


@FIXED
@given(st.binary(max_size=120))
def test_any_bytes_are_read_back_exactly_or_refused(tail: bytes) -> None:
    for data in (tail, GOLDEN[:5] + tail, GOLDEN[: len(GOLDEN) - len(tail)] + tail):
        assert written_again(data, decode_answer, encode_answer) in (None, data)
