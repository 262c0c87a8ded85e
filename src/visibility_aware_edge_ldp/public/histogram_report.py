"""A report of bins by Hadamard response: what leaves the users, and its bytes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import numpy as np

from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.public.report import Bits, pack, unpack
from visibility_aware_edge_ldp.public.wire import Ints, Wire, octets

# start, count, survey identity
_WIRE = Wire("report of bins", b"VAEH", "QQ32s")


@dataclass(frozen=True)
class HistogramReport:
    """The answers of the users numbered ``start`` … ``start + count − 1``.

    One bit a user says who answered, the first user in the lowest bit; then one unsigned 32-bit column a user,
    highest byte first, 0 for those who did not answer.
    """

    survey: str
    start: int
    count: int
    answered: bytes = field(repr=False)
    columns: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if self.count < 0 or self.start < 0:
            raise ProtocolViolation("A report's range of users starts and counts from 0.")
        size = octets(self.count)
        if len(self.answered) != size or len(self.columns) != 4 * self.count:
            raise ProtocolViolation(f"A report of {self.count} users must carry {size} bytes and a column for each.")
        answered = self.who_answered
        if pack(answered) != self.answered or self.values[~answered].any():
            raise ProtocolViolation("A report holds columns of users that did not answer.")

    @property
    def who_answered(self) -> Bits:
        """Which of the users answered."""
        return unpack(self.answered, self.count)

    @property
    def values(self) -> Ints:
        """The reported columns."""
        return np.frombuffer(self.columns, ">u4").astype(np.int64)

    @property
    def digest(self) -> str:
        """SHA-256 of everything in the report."""
        return hashlib.sha256(encode(self)).hexdigest()


def histogram_report(survey: str, start: int, answered: Bits, values: Ints) -> HistogramReport:
    """The report of these users; the columns of the absent are left out."""
    columns = np.where(answered, values, 0).astype(">u4").tobytes()
    return HistogramReport(survey, start, answered.size, pack(answered), columns)


def encode(report: HistogramReport) -> bytes:
    """The bytes that leave a client."""
    return _WIRE.head(report.start, report.count, bytes.fromhex(report.survey)) + report.answered + report.columns


def decode(data: bytes) -> HistogramReport:
    """The report in these bytes; refuses anything that :func:`encode` would not have written."""
    (start, count, survey), body = _WIRE.read(data)
    return HistogramReport(survey.hex(), start, count, *_WIRE.cut(body, octets(count), 4 * count))
