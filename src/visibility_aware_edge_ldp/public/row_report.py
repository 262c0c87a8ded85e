"""The second report of USER triangles, and its bytes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property

from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.public.report import Bits, pack
from visibility_aware_edge_ldp.public.wire import Ints, Wire, octets, read_signed, signed

# first user, count, survey identity, transcript digest
_WIRE = Wire("row report", b"VAET", "QQ32s32s")


@dataclass(frozen=True, eq=False)
class RowReport:
    """Two noisy integers of each of the users numbered ``start`` and on: its row's reach and its row's sum.

    Its length depends on the number of users alone; users who do not answer send zeros.
    """

    survey: str
    transcript: str
    start: int
    answered: Bits = field(repr=False)
    reaches: Ints = field(repr=False)
    totals: Ints = field(repr=False)

    def __post_init__(self) -> None:
        if not self.answered.shape == self.reaches.shape == self.totals.shape or self.answered.ndim != 1:
            raise ProtocolViolation("A row report carries one answer bit and two numbers for each of its users.")
        if self.start < 0 or self.reaches[~self.answered].any() or self.totals[~self.answered].any():
            raise ProtocolViolation("A row report holds numbers of users who did not answer.")

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything in the report."""
        return hashlib.sha256(encode_rows(self)).hexdigest()


def encode_rows(report: RowReport) -> bytes:
    """The bytes that leave a client."""
    survey, transcript = bytes.fromhex(report.survey), bytes.fromhex(report.transcript)
    head = _WIRE.head(report.start, report.answered.size, survey, transcript)
    return head + pack(report.answered) + signed(report.reaches) + signed(report.totals)


def decode_rows(data: bytes) -> RowReport:
    """The report in these bytes; refuses anything that :func:`encode_rows` would not have written."""
    (start, count, survey, transcript), body = _WIRE.read(data)
    bits, reaches, totals = _WIRE.cut(body, octets(count), 8 * count, 8 * count)
    answered = _WIRE.bits(bits, count)
    return RowReport(survey.hex(), transcript.hex(), start, answered, read_signed(reaches), read_signed(totals))
