"""The report: two bits a position, and nothing for those who did not answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.public.layout import (
    LARGEST,
    Bits,
    Ints,
    NumberReport,
    Numbers,
    octets,
    pack,
    part_of,
    unpack,
)
from visibility_aware_edge_ldp.public.surveys import degrees as degree_report
from visibility_aware_edge_ldp.public.surveys import histogram, position
from visibility_aware_edge_ldp.public.surveys.curator import CuratorReport, decode_answer, encode_answer
from visibility_aware_edge_ldp.public.surveys.hubs import HubReport, decode_hub, encode_hub
from visibility_aware_edge_ldp.public.surveys.neighbourhood import NeighbourhoodReport, decode_owned, encode_owned
from visibility_aware_edge_ldp.public.surveys.position import PositionReport
from visibility_aware_edge_ldp.public.surveys.rows import RowReport, decode_rows, encode_rows

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


IDENTITY = bytes(range(32)).hex()


NOBODY, NOTHING = np.empty(0, np.bool_), np.empty(0, np.int64)


OWNED = NeighbourhoodReport(IDENTITY, 258, np.array([True, False, True]), np.array([5, 0, -LARGEST]))


HUB = HubReport(IDENTITY, 3, (12, -LARGEST), -3)


KINDS: dict[str, tuple[bytes, Callable[[bytes], Any]]] = {
    "positions": (position.encode(PositionReport(IDENTITY, 1, 0, 0, b"", b"")), position.decode),
    "degrees": (
        degree_report.encode(degree_report.degree_report(IDENTITY, 0, NOBODY, NOTHING[None])),
        degree_report.decode,
    ),
    "bins": (
        histogram.encode(histogram.histogram_report(IDENTITY, 0, NOBODY, NOTHING)),
        histogram.decode,
    ),
    "rows": (encode_rows(RowReport(IDENTITY, SURVEY, 0, NOBODY, NOTHING, NOTHING)), decode_rows),
    "owned triangles": (encode_owned(OWNED), decode_owned),
    "a hub": (encode_hub(HUB), decode_hub),
    "the centre": (encode_answer(CuratorReport(IDENTITY, 0, 1, "00" * 16)), decode_answer),
}


@pytest.mark.parametrize("kind", KINDS)
def test_no_kind_of_report_is_read_as_another(kind: str) -> None:
    data, decode = KINDS[kind]
    decode(data)
    for other, _ in KINDS.values():
        # Long enough to be read, so that only the letters in front can tell them apart.
        if other is not data:
            with pytest.raises(ProtocolViolation, match="version that is understood"):
                decode(other[:4] + data[4:])


def test_the_golden_vector_of_owned_triangles() -> None:
    golden = bytes.fromhex(
        "5641454e" "01"  # "VAEN", version
        "0000000000000102" "0000000000000003" + IDENTITY +  # first user, count, survey
        "05" "0000000000000005" "0000000000000000" "c000000000000000"  # who answered, numbers
    )  # fmt: skip
    assert encode_owned(OWNED) == golden
    assert encode_owned(decode_owned(golden)) == golden


def test_the_golden_vector_of_a_hub() -> None:
    golden = bytes.fromhex(
        "56414542" "01" "03" "02" + IDENTITY +  # "VAEB", version, reporter, how many numbers, survey
        "000000000000000c" "c000000000000000" "fffffffffffffffd"  # numbers, loose edges
    )  # fmt: skip
    assert encode_hub(HUB) == golden
    assert decode_hub(golden) == HUB
    assert {type(value) for value in (*decode_hub(golden).values, decode_hub(golden).loose)} == {int}


@pytest.mark.parametrize("number", [LARGEST + 1, -LARGEST - 1, 2**63 - 1, -(2**63)])
def test_numbers_that_are_never_sent_are_refused(number: int) -> None:
    changed = np.array([number], ">i8").tobytes()
    for data, decode in (KINDS["owned triangles"], KINDS["a hub"]):
        with pytest.raises(ProtocolViolation, match="beyond"):
            decode(data[:-8] + changed)


@dataclass(frozen=True, eq=False)
class Letter(NumberReport):
    """A report that exists here only: two numbers a user, and a digest."""

    survey: str
    start: int
    seal: str
    answered: Bits
    first: Ints
    second: Ints


LETTER = Numbers("letter", b"VAEX", "start:B count:B seal:2s survey:32s", Letter, ("first", "second"), ">i2")


def test_a_layout_is_declared_in_one_line() -> None:
    letter = Letter(IDENTITY, 7, "beef", np.array([True, False]), np.array([-2, 0]), np.array([3, 0]))
    data = LETTER.encode(letter)
    assert data == b"VAEX\x01\x07\x02\xbe\xef" + bytes(range(32)) + bytes.fromhex("01 fffe 0000 0003 0000")
    assert len(data) == LETTER.size(count=2)
    assert LETTER.decode(data) == letter
    assert hash(LETTER.decode(data)) == hash(letter)
    assert (letter.count, letter.users, Letter.layout) == (2, slice(7, 9), LETTER)
    head, body = LETTER.read(data)
    assert head == {"start": 7, "count": 2, "seal": "beef", "survey": IDENTITY}
    assert body == data[-9:]


@pytest.mark.parametrize("more", [-9, -1, 1, 8])
def test_one_byte_more_or_less_is_refused(more: int) -> None:
    data = LETTER.encode(Letter(IDENTITY, 7, "beef", np.array([True]), np.array([1]), np.array([2])))
    with pytest.raises(ProtocolViolation, match=r"letter carries 5 bytes more|at least 41 bytes"):
        LETTER.decode(data[:more] if more < 0 else data + bytes(more))


def test_a_report_of_numbers_is_validated() -> None:
    yes, one = np.array([True]), np.array([1])
    for start, answered, values, match in [
        (-1, yes, one, "starts and counts from 0"),
        (0, yes, np.array([1, 2]), "one answer bit"),
        (0, ~yes, one, "did not answer"),
        (0, yes, np.array([LARGEST + 1]), "beyond"),
    ]:
        with pytest.raises(ProtocolViolation, match=match):
            Letter(IDENTITY, start, "beef", answered, values, one)


def test_bits() -> None:
    assert [octets(count) for count in (0, 1, 8, 9)] == [0, 1, 1, 2]
