"""The report: two bits a position, and nothing for those who did not answer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.public.report import PositionReport, pack, part_of, unpack

FIXED = settings(derandomize=True, deadline=None, max_examples=100)
SURVEY = "ab" * 32
REPORT = PositionReport(SURVEY, 1, 8, 11, bytes([0b10110111, 0b101]), bytes([0b00100101, 0b100]))


@FIXED
@given(st.lists(st.booleans(), max_size=100))
def test_packing_round_trips(bits: list[bool]) -> None:
    packed = pack(np.array(bits, dtype=np.bool_))
    assert len(packed) == (len(bits) + 7) // 8
    assert unpack(packed, len(bits)).tolist() == bits


def test_the_first_position_is_in_the_lowest_bit() -> None:
    assert pack(np.array([True] + [False] * 8 + [True])) == bytes([1, 2])
    assert unpack(bytes([1, 2]), 10).tolist() == [True] + [False] * 8 + [True]
    assert unpack(bytes([1]), 3).dtype == np.bool_


@FIXED
@given(st.lists(st.booleans(), max_size=70), st.data())
def test_a_part_of_packed_bits_begins_with_a_byte(bits: list[bool], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(bits)))
    count = data.draw(st.integers(0, len(bits) - start))
    flat = np.frombuffer(pack(np.array(bits, np.bool_)), np.uint8)
    part = part_of(flat, start, count)
    assert part.tobytes() == pack(np.array(bits[start : start + count], np.bool_))


def test_a_report_holds_what_it_was_given() -> None:
    assert (REPORT.survey, REPORT.round, REPORT.start, REPORT.count) == (SURVEY, 1, 8, 11)
    assert unpack(REPORT.answered, 11).sum() == 8


def test_an_empty_report() -> None:
    assert PositionReport(SURVEY, 1, 0, 0, b"", b"").answered == b""


@pytest.mark.parametrize(
    ("count", "answered", "ones"),
    [
        (11, b"\xff", b"\x00\x00"),
        (11, b"\xff\x07", b"\x00"),
        (11, b"\xff\x07\x00", b"\x00\x00\x00"),
        (0, b"\x00", b"\x00"),
        (8, b"", b""),
    ],
)
def test_the_length_depends_on_the_count_alone(count: int, answered: bytes, ones: bytes) -> None:
    with pytest.raises(ProtocolViolation, match="must carry"):
        PositionReport(SURVEY, 1, 0, count, answered, ones)


@pytest.mark.parametrize("bit", range(11))
def test_a_one_without_an_answer_is_refused(bit: int) -> None:
    one = (1 << bit).to_bytes(2, "little")
    with pytest.raises(ProtocolViolation, match="did not answer"):
        PositionReport(SURVEY, 1, 0, 11, b"\x00\x00", one)
    assert PositionReport(SURVEY, 1, 0, 11, one, one).ones == one


@pytest.mark.parametrize("bit", range(11, 16))
def test_bits_beyond_the_last_position_are_refused(bit: int) -> None:
    padding = (1 << bit).to_bytes(2, "little")
    for ones in (b"\x00\x00", padding):
        with pytest.raises(ProtocolViolation, match="did not answer"):
            PositionReport(SURVEY, 1, 0, 11, padding, ones)


def test_a_negative_count_is_refused() -> None:
    with pytest.raises(ProtocolViolation):
        PositionReport(SURVEY, 1, 0, -3, b"", b"")


def test_the_digest_names_everything() -> None:
    others = [
        REPORT,
        replace(REPORT, survey="cd" * 32),
        replace(REPORT, round=2),
        replace(REPORT, start=9),
        replace(REPORT, count=12),
        replace(REPORT, answered=bytes([0b10110111, 0b111])),
        replace(REPORT, ones=bytes([0b00100101, 0b101])),
    ]
    assert len({report.digest for report in others}) == len(others)
    assert replace(REPORT).digest == REPORT.digest


def test_answers_are_not_printed() -> None:
    assert "answered" not in repr(REPORT)
    assert "ones" not in repr(REPORT)
