"""The answer of a trusted centre, and its bytes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.public.wire import Wire

# Numbers of stars outgrow 64 bits; one beyond this is reported as this, which tells no more than the number.
LARGEST_ANSWER = 1 << 254
_BYTES = 32
_IDENTITY, _MARK = (re.compile(f"[0-9a-f]{{{digits}}}") for digits in (64, 32))
# index, survey identity, mark
_WIRE = Wire("centre's answer", b"VAEC", "Q32s16s")


@dataclass(frozen=True)
class CuratorReport:
    """What leaves the centre: one integer, and a random mark that tells this draw from another.

    As bytes the integer is signed and has 256 bits, highest byte first, whatever its value.
    """

    survey: str
    index: int
    value: int
    mark: str

    def __post_init__(self) -> None:
        if not 0 <= self.index < 1 << 64:
            raise ProtocolViolation("A centre's answer names its question, counted from 0.")
        if abs(self.value) > LARGEST_ANSWER:
            raise ProtocolViolation("A centre's answer is a number beyond 2^254, which is never sent.")
        if not _IDENTITY.fullmatch(self.survey) or not _MARK.fullmatch(self.mark):
            raise ProtocolViolation("A centre's answer names its survey by 64 hexadecimal digits and its draw by 32.")


def encode_answer(report: CuratorReport) -> bytes:
    """The bytes that leave the centre."""
    head = _WIRE.head(report.index, bytes.fromhex(report.survey), bytes.fromhex(report.mark))
    return head + report.value.to_bytes(_BYTES, signed=True)


def decode_answer(data: bytes) -> CuratorReport:
    """The answer in these bytes; refuses anything that :func:`encode_answer` would not have written."""
    (index, survey, mark), body = _WIRE.read(data)
    (value,) = _WIRE.cut(body, _BYTES)
    return CuratorReport(survey.hex(), index, int.from_bytes(value, signed=True), mark.hex())
