"""Reports of bins as bytes: what is written is read back, and nothing else is read at all."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.read_back import written_again
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.public.surveys.histogram import HistogramReport, decode, encode, histogram_report

FIXED = settings(derandomize=True, deadline=None, max_examples=150)
HEADER = 4 + 1 + 8 + 8 + 32
REPORT = histogram_report(bytes(range(32)).hex(), 258, np.array([True, False, True]), np.array([1, 9, 2**32 - 1]))
GOLDEN = bytes.fromhex(
    "56414548"  # "VAEH"
    "01"  # version
    "0000000000000102"  # start
    "0000000000000003"  # count
    "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"  # survey
    "05"  # who answered
    "00000001" "00000000" "ffffffff"  # columns
)  # fmt: skip


def assert_refused(data: bytes, match: str = "report") -> None:
    with pytest.raises(ProtocolViolation, match=match):
        decode(data)


def test_the_golden_vector() -> None:
    assert encode(REPORT) == GOLDEN
    assert decode(GOLDEN) == REPORT


@FIXED
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 2**32 - 1)), max_size=20), st.integers(0, 2**64 - 1))
def test_round_trip(said: list[tuple[bool, int]], start: int) -> None:
    answered, values = np.array([a for a, _ in said], bool), np.array([v for _, v in said], np.int64)
    report = histogram_report("ab" * 32, start, answered, values)
    assert decode(encode(report)) == report
    assert (report.values == np.where(answered, values, 0)).all()


def test_what_was_never_written_is_refused() -> None:
    for length in range(len(GOLDEN)):
        assert_refused(GOLDEN[:length])
    assert_refused(GOLDEN + b"\0")
    assert_refused(b"VAED" + GOLDEN[4:], "not a report of bins")
    assert_refused(GOLDEN[:4] + b"\2" + GOLDEN[5:], "version")
    for count in (0, 2, 4, 2**64 - 1):
        assert_refused(GOLDEN[:13] + struct.pack(">Q", count) + GOLDEN[21:])
    assert_refused(GOLDEN[: HEADER + 8] + b"\1" + GOLDEN[HEADER + 9 :], "did not answer")
    for bit in range(3, 8):
        assert_refused(GOLDEN[:HEADER] + bytes([5 | 1 << bit]) + GOLDEN[HEADER + 1 :], "after its last user")
    with pytest.raises(ProtocolViolation, match="from 0"):
        HistogramReport("0" * 64, -1, np.array([True]), np.array([1]))


@FIXED
@given(st.binary(max_size=100))
def test_any_bytes_are_read_back_exactly_or_refused(tail: bytes) -> None:
    for data in (tail, GOLDEN[:5] + tail):
        assert written_again(data, decode, encode) in (None, data)
