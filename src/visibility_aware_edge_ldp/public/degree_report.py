"""A report of degrees: what leaves the holders of friend lists, and its bytes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import numpy as np

from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.public.report import Bits, pack, unpack
from visibility_aware_edge_ldp.public.wire import LARGEST as LARGEST
from visibility_aware_edge_ldp.public.wire import Ints, Wire, octets, read_signed, signed

# classes, start, count, survey identity
_WIRE = Wire("report of degrees", b"VAED", "BQQ32s")


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
        size = octets(self.count)
        if len(self.answered) != size or len(self.numbers) != 8 * self.count * self.classes:
            raise ProtocolViolation(f"A report of {self.count} users must carry {size} bytes and a number for each.")
        answered, values = self.who_answered, self.values
        if pack(answered) != self.answered or values[:, ~answered].any():
            raise ProtocolViolation("A report holds numbers of users that did not answer.")
        _WIRE.refuse_beyond(values.min(initial=0), values.max(initial=0))

    @property
    def who_answered(self) -> Bits:
        """Which of the users answered."""
        return unpack(self.answered, self.count)

    @property
    def values(self) -> Ints:
        """(classes, count): the reported numbers."""
        return read_signed(self.numbers).reshape(self.classes, self.count)

    @property
    def digest(self) -> str:
        """SHA-256 of everything in the report."""
        return hashlib.sha256(encode(self)).hexdigest()


def degree_report(survey: str, start: int, answered: Bits, values: Ints) -> DegreeReport:
    """The report of these users: (classes, count) numbers, of which those of the absent are left out."""
    numbers = signed(np.where(answered, values, 0))
    return DegreeReport(survey, start, answered.size, len(values), pack(answered), numbers)


def encode(report: DegreeReport) -> bytes:
    """The bytes that leave a client."""
    head = _WIRE.head(report.classes, report.start, report.count, bytes.fromhex(report.survey))
    return head + report.answered + report.numbers


def decode(data: bytes) -> DegreeReport:
    """The report in these bytes; refuses anything that :func:`encode` would not have written."""
    (classes, start, count, survey), body = _WIRE.read(data)
    answered, numbers = _WIRE.cut(body, octets(count), 8 * count * classes)
    return DegreeReport(survey.hex(), start, count, classes, answered, numbers)
