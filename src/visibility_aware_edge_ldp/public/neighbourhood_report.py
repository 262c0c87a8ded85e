"""The report of owned triangles: what leaves a user who sees its neighbourhood, and its bytes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property

from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.public.report import Bits, pack
from visibility_aware_edge_ldp.public.wire import Ints, Wire, octets, read_signed, signed

# first user, count, survey identity
_WIRE = Wire("report of owned triangles", b"VAEN", "QQ32s")


@dataclass(frozen=True, eq=False)
class NeighbourhoodReport:
    """One noisy integer of each of the users numbered ``start`` and on; those who do not answer send zeros.

    Its length depends on the number of users alone.
    """

    survey: str
    start: int
    answered: Bits = field(repr=False)
    values: Ints = field(repr=False)

    def __post_init__(self) -> None:
        if self.start < 0 or self.answered.ndim != 1 or self.answered.shape != self.values.shape:
            raise ProtocolViolation("A report of owned triangles carries one answer bit and one number a user.")
        if self.values[~self.answered].any():
            raise ProtocolViolation("A report of owned triangles holds numbers of users who did not answer.")
        _WIRE.refuse_beyond(self.values.min(initial=0), self.values.max(initial=0))

    @property
    def users(self) -> slice:
        """The users it is about, as a slice of the roster."""
        return slice(self.start, self.start + self.values.size)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything in the report."""
        return hashlib.sha256(encode_owned(self)).hexdigest()


def encode_owned(report: NeighbourhoodReport) -> bytes:
    """The bytes that leave a client."""
    head = _WIRE.head(report.start, report.values.size, bytes.fromhex(report.survey))
    return head + pack(report.answered) + signed(report.values)


def decode_owned(data: bytes) -> NeighbourhoodReport:
    """The report in these bytes; refuses anything that :func:`encode_owned` would not have written."""
    (start, count, survey), body = _WIRE.read(data)
    bits, values = _WIRE.cut(body, octets(count), 8 * count)
    return NeighbourhoodReport(survey.hex(), start, _WIRE.bits(bits, count), read_signed(values))
