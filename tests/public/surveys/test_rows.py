"""The second report of USER triangles as bytes: what is written is read back, and nothing else is read at all."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.read_back import written_again
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.public.surveys.rows import RowReport, decode_rows, encode_rows


@st.composite
def reports(draw: st.DrawFn) -> RowReport:
    count = draw(st.integers(0, 20))
    answered = np.array(draw(st.lists(st.booleans(), min_size=count, max_size=count)), dtype=bool)
    whole = st.lists(st.integers(-(2**63), 2**63 - 1), min_size=count, max_size=count)
    reaches, totals = (np.where(answered, np.array(draw(whole), dtype=np.int64), 0) for _ in range(2))
    names = st.binary(min_size=32, max_size=32)
    start = draw(st.integers(0, 2**64 - 1))
    return RowReport(draw(names).hex(), draw(names).hex(), start, answered, reaches, totals)


HEADER = 4 + 1 + 8 + 8 + 32 + 32
REPORT = RowReport(
    bytes(range(32)).hex(),
    bytes(range(32, 64)).hex(),
    4096,
    np.array([True, False, True]),
    np.array([-1, 0, 5]),
    np.array([2**40, 0, -3]),
)
GOLDEN = bytes.fromhex(
    "56414554"  # "VAET"
    "01"  # version
    "0000000000001000"  # first user
    "0000000000000003"  # count
    "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"  # survey
    "202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f"  # transcript
    "05"  # who answered
    "ffffffffffffffff00000000000000000000000000000005"  # reaches
    "00000100000000000000000000000000fffffffffffffffd"  # sums
)


def same(one: RowReport, other: RowReport) -> bool:
    return encode_rows(one) == encode_rows(other) and one.digest == other.digest


@settings(max_examples=150)
@given(reports())
def test_round_trip(report: RowReport) -> None:
    data = encode_rows(report)
    again = decode_rows(data)
    assert same(again, report)
    assert (again.totals == report.totals).all()
    assert (again.reaches == report.reaches).all()
    assert (again.answered == report.answered).all()
    assert len(data) == HEADER + (report.answered.size + 7) // 8 + 16 * report.answered.size


def test_the_golden_vector() -> None:
    """Clients and aggregators of different versions must mean the same bytes."""
    assert encode_rows(REPORT) == GOLDEN
    assert same(decode_rows(GOLDEN), REPORT)


def is_read(data: bytes) -> bool:
    again = written_again(data, decode_rows, encode_rows)
    assert again in (None, data)
    return again is not None


def test_every_truncation_and_every_addition_is_refused() -> None:
    assert not any(is_read(GOLDEN[:length]) for length in range(len(GOLDEN)))
    assert not any(is_read(GOLDEN + extra) for extra in (b"\0", bytes(16), bytes(17), GOLDEN))


@pytest.mark.parametrize("count", [0, 2, 4, 8, 2**32, 2**63, 2**64 - 1])
def test_a_count_that_does_not_fit_the_bytes_is_refused(count: int) -> None:
    assert not is_read(GOLDEN[:13] + struct.pack(">Q", count) + GOLDEN[21:])


def test_numbers_of_those_who_did_not_answer_and_spare_bits_are_refused() -> None:
    assert not is_read(GOLDEN[:HEADER] + b"\x01" + GOLDEN[HEADER + 1 :])
    for spare in range(3, 8):
        assert not is_read(GOLDEN[:HEADER] + bytes([5 | 1 << spare]) + GOLDEN[HEADER + 1 :])
    for other in (b"VAEL" + GOLDEN[4:], GOLDEN[:4] + b"\x02" + GOLDEN[5:], GOLDEN[:4] + b"\x00" + GOLDEN[5:]):
        assert not is_read(other)


@pytest.mark.long
@settings(max_examples=300)
@given(st.integers(0, len(GOLDEN) - 1), st.integers(1, 255), st.integers(0, len(GOLDEN) - 1), st.integers(0, 255))
def test_changed_bytes_are_refused_or_mean_something_else(first: int, flip: int, second: int, value: int) -> None:
    data = bytearray(GOLDEN)
    data[first] ^= flip
    data[second] = value
    if is_read(bytes(data)):
        assert bytes(data) == GOLDEN or decode_rows(bytes(data)).digest != REPORT.digest


@settings(max_examples=150)
@given(st.binary(max_size=200))
def test_any_bytes_are_read_back_exactly_or_refused(tail: bytes) -> None:
    for data in (tail, GOLDEN[:5] + tail, GOLDEN[:HEADER] + tail):
        assert written_again(data, decode_rows, encode_rows) in (None, data)


@pytest.mark.parametrize(
    "make",
    [
        lambda: replace(REPORT, start=-1),
        lambda: replace(REPORT, totals=np.array([1, 2, 3])),
        lambda: replace(REPORT, reaches=np.array([0, 1, 0])),
        lambda: replace(REPORT, reaches=np.array([1, 0])),
        lambda: replace(REPORT, answered=np.ones((3, 1), bool)),
    ],
    ids=["before the first user", "a silent sum", "a silent reach", "one reach short", "a table"],
)
def test_reports_that_make_no_sense_cannot_be_made(make: Callable[[], RowReport]) -> None:
    with pytest.raises(ProtocolViolation):
        make()
