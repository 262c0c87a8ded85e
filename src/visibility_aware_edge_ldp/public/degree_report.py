"""A report of degrees: what leaves the holders of friend lists, and its bytes."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.public.report import Bits, pack, unpack

# A number beyond this is reported as this; it stays clear of the ends of 64 bits.  [DEGREE.1]
LARGEST = 1 << 62
# magic, format version, classes, start, count, survey identity
_HEADER = struct.Struct(">4sBBQQ32s")
_MAGIC, _VERSION = b"VAED", 1

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class DegreeReport:
    """The noisy degrees of the users numbered ``start`` … ``start + count − 1``.

    One bit a user says who answered, the first user in the lowest bit; then, class by class, one signed 64-bit
    integer a user, highest byte first, 0 for those who did not answer. The length depends on ``count`` alone.
    """

    survey: str
    start: int
    count: int
    classes: int
    answered: bytes = field(repr=False)
    numbers: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if self.count < 0 or self.start < 0:
            raise ProtocolViolation("A report's range of users starts and counts from 0.")
        size = (self.count + 7) // 8
        if len(self.answered) != size or len(self.numbers) != 8 * self.count * self.classes:
            raise ProtocolViolation(f"A report of {self.count} users must carry {size} bytes and a number for each.")
        answered, values = self.who_answered, self.values
        if pack(answered) != self.answered or values[:, ~answered].any():
            raise ProtocolViolation("A report holds numbers of users that did not answer.")
        if ((values > LARGEST) | (values < -LARGEST)).any():
            raise ProtocolViolation("A report holds numbers beyond 2^62, which are never sent.")

    @property
    def who_answered(self) -> Bits:
        """Which of the users answered."""
        return unpack(self.answered, self.count)

    @property
    def values(self) -> Ints:
        """(classes, count): the reported numbers."""
        return np.frombuffer(self.numbers, ">i8").astype(np.int64).reshape(self.classes, self.count)

    @property
    def digest(self) -> str:
        """SHA-256 of everything in the report."""
        return hashlib.sha256(encode(self)).hexdigest()


def degree_report(survey: str, start: int, answered: Bits, values: Ints) -> DegreeReport:
    """The report of these users: (classes, count) numbers, of which those of the absent are left out."""
    numbers = np.where(answered, values, 0).astype(">i8").tobytes()
    return DegreeReport(survey, start, answered.size, len(values), pack(answered), numbers)


def encode(report: DegreeReport) -> bytes:
    """The bytes that leave a client."""
    survey = bytes.fromhex(report.survey)
    head = _HEADER.pack(_MAGIC, _VERSION, report.classes, report.start, report.count, survey)
    return head + report.answered + report.numbers


def decode(data: bytes) -> DegreeReport:
    """The report in these bytes; refuses anything that :func:`encode` would not have written."""
    if len(data) < _HEADER.size:
        raise ProtocolViolation(f"A report has at least {_HEADER.size} bytes; this has {len(data)}.")
    magic, version, classes, start, count, survey = _HEADER.unpack_from(data)
    if magic != _MAGIC or version != _VERSION:
        raise ProtocolViolation("These bytes are not a report of degrees of a version that is understood here.")
    size = (count + 7) // 8
    body = data[_HEADER.size :]
    if len(body) != size + 8 * count * classes:
        raise ProtocolViolation(f"A report of {count} users and {classes} classes does not have {len(body)} bytes.")
    return DegreeReport(survey.hex(), start, count, classes, body[:size], body[size:])
