"""What all reports share as bytes: no kind is read as another, and the formats stay as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.public import codec, degree_report, histogram_report
from visibility_aware_edge_ldp.public.curator_report import CuratorReport, decode_answer, encode_answer
from visibility_aware_edge_ldp.public.hub_report import HubReport, decode_hub, encode_hub
from visibility_aware_edge_ldp.public.neighbourhood_report import NeighbourhoodReport, decode_owned, encode_owned
from visibility_aware_edge_ldp.public.report import PositionReport
from visibility_aware_edge_ldp.public.row_report import RowReport, decode_rows, encode_rows
from visibility_aware_edge_ldp.public.wire import LARGEST, Wire, octets, read_signed, signed

SURVEY = bytes(range(32)).hex()
NOBODY, NOTHING = np.empty(0, np.bool_), np.empty(0, np.int64)
OWNED = NeighbourhoodReport(SURVEY, 258, np.array([True, False, True]), np.array([5, 0, -LARGEST]))
HUB = HubReport(SURVEY, 3, (12, -LARGEST), -3)
KINDS: dict[str, tuple[bytes, Callable[[bytes], Any]]] = {
    "positions": (codec.encode(PositionReport(SURVEY, 1, 0, 0, b"", b"")), codec.decode),
    "degrees": (
        degree_report.encode(degree_report.degree_report(SURVEY, 0, NOBODY, NOTHING[None])),
        degree_report.decode,
    ),
    "bins": (
        histogram_report.encode(histogram_report.histogram_report(SURVEY, 0, NOBODY, NOTHING)),
        histogram_report.decode,
    ),
    "rows": (encode_rows(RowReport(SURVEY, SURVEY, 0, NOBODY, NOTHING, NOTHING)), decode_rows),
    "owned triangles": (encode_owned(OWNED), decode_owned),
    "a hub": (encode_hub(HUB), decode_hub),
    "the centre": (encode_answer(CuratorReport(SURVEY, 0, 1, "00" * 16)), decode_answer),
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
        "0000000000000102" "0000000000000003" + SURVEY +  # first user, count, survey
        "05" "0000000000000005" "0000000000000000" "c000000000000000"  # who answered, numbers
    )  # fmt: skip
    assert encode_owned(OWNED) == golden
    assert encode_owned(decode_owned(golden)) == golden


def test_the_golden_vector_of_a_hub() -> None:
    golden = bytes.fromhex(
        "56414542" "01" "03" "02" + SURVEY +  # "VAEB", version, reporter, how many numbers, survey
        "000000000000000c" "c000000000000000" "fffffffffffffffd"  # numbers, loose edges
    )  # fmt: skip
    assert encode_hub(HUB) == golden
    assert decode_hub(golden) == HUB
    assert {type(value) for value in (*decode_hub(golden).values, decode_hub(golden).loose)} == {int}


@pytest.mark.parametrize("number", [LARGEST + 1, -LARGEST - 1, 2**63 - 1, -(2**63)])
def test_numbers_that_are_never_sent_are_refused(number: int) -> None:
    changed = signed(np.array([number]))
    for data, decode in (KINDS["owned triangles"], KINDS["a hub"]):
        with pytest.raises(ProtocolViolation, match="beyond"):
            decode(data[:-8] + changed)


def test_a_body_is_cut_into_all_of_its_parts() -> None:
    wire = Wire("letter", b"VAEX", "B")
    assert wire.cut(b"abcdef", 1, 0, 3, 2) == [b"a", b"", b"bcd", b"ef"]
    for body in (b"", b"ab", b"abcd"):
        with pytest.raises(ProtocolViolation, match="letter carries 3 bytes more"):
            wire.cut(body, 1, 2)
    fields, body = wire.read(wire.head(7) + b"rest")
    assert (fields, body) == ((7,), b"rest")


def test_bits_and_numbers() -> None:
    assert [octets(count) for count in (0, 1, 8, 9)] == [0, 1, 1, 2]
    numbers = np.array([0, -1, 2**62, -(2**63), 2**63 - 1])
    assert read_signed(signed(numbers)).tolist() == numbers.tolist()
    assert signed(np.array([-2])) == b"\xff" * 7 + b"\xfe"
