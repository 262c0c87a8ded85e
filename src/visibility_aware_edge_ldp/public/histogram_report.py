"""A report of bins by Hadamard response: what leaves the users, and its bytes."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.public.report import Bits, pack, unpack

# magic, format version, start, count, survey identity
_HEADER = struct.Struct(">4sBQQ32s")
_MAGIC, _VERSION = b"VAEH", 1

Ints = npt.NDArray[np.int64]


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
        size = (self.count + 7) // 8
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
    head = _HEADER.pack(_MAGIC, _VERSION, report.start, report.count, bytes.fromhex(report.survey))
    return head + report.answered + report.columns


def decode(data: bytes) -> HistogramReport:
    """The report in these bytes; refuses anything that :func:`encode` would not have written."""
    if len(data) < _HEADER.size:
        raise ProtocolViolation(f"A report has at least {_HEADER.size} bytes; this has {len(data)}.")
    magic, version, start, count, survey = _HEADER.unpack_from(data)
    if magic != _MAGIC or version != _VERSION:
        raise ProtocolViolation("These bytes are not a report of bins of a version that is understood here.")
    size = (count + 7) // 8
    body = data[_HEADER.size :]
    if len(body) != size + 4 * count:
        raise ProtocolViolation(f"A report of {count} users does not have {len(body)} bytes.")
    return HistogramReport(survey.hex(), start, count, body[:size], body[size:])
