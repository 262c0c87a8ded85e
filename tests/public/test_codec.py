"""Reports as bytes: what is written is read back, and nothing else is read at all."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.entropy import keyed_coins, seeded_key
from visibility_aware_edge_ldp.public.codec import decode, encode
from visibility_aware_edge_ldp.public.report import PositionReport, pack

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
    refused, read = 0, 0
    for seed in range(2000):
        data = mutated(seed)
        try:
            report = decode(data)
        except ProtocolViolation:
            refused += 1
        else:
            assert encode(report) == data
            read += 1
    assert refused > 1000
    assert read > 10
    assert refused + read == 2000


@FIXED
@given(st.binary(max_size=120))
def test_any_bytes_are_read_back_exactly_or_refused(tail: bytes) -> None:
    for data in (tail, GOLDEN[:5] + tail):
        try:
            again = encode(decode(data))
        except ProtocolViolation:
            again = data
        assert again == data
