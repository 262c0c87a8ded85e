"""The report of owned triangles: what leaves a user who sees its neighbourhood, and its bytes."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.public.report import Bits, pack, unpack

Ints = npt.NDArray[np.int64]
# A number beyond this is reported as this; it stays clear of the ends of 64 bits.
LARGEST = 1 << 62
# magic, format version, first user, count, survey identity
_HEADER = struct.Struct(">4sBQQ32s")
_MAGIC, _VERSION = b"VAEN", 1


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
        if ((self.values > LARGEST) | (self.values < -LARGEST)).any():
            raise ProtocolViolation("A report of owned triangles holds numbers beyond 2^62, which are never sent.")

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
    head = _HEADER.pack(_MAGIC, _VERSION, report.start, report.values.size, bytes.fromhex(report.survey))
    return head + pack(report.answered) + report.values.astype(">i8").tobytes()


def decode_owned(data: bytes) -> NeighbourhoodReport:
    """The report in these bytes; refuses anything that :func:`encode_owned` would not have written."""
    if len(data) < _HEADER.size:
        raise ProtocolViolation(f"A report of owned triangles has at least {_HEADER.size} bytes; this has {len(data)}.")
    magic, version, start, count, survey = _HEADER.unpack_from(data)
    if magic != _MAGIC or version != _VERSION:
        raise ProtocolViolation("These bytes are not a report of owned triangles of a version understood here.")
    size = (count + 7) // 8
    bits, body = data[_HEADER.size : _HEADER.size + size], data[_HEADER.size + size :]
    if len(bits) != size or len(body) != 8 * count:
        raise ProtocolViolation(f"A report of {count} users carries {size + 8 * count} bytes after its head.")
    answered = unpack(bits, count)
    if pack(answered) != bits:
        raise ProtocolViolation("A report of owned triangles has bits after its last user.")
    return NeighbourhoodReport(survey.hex(), start, answered, np.frombuffer(body, ">i8").astype(np.int64))
