"""The second report of USER triangles, and its bytes."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.public.report import pack, unpack

Bits = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]

# magic, format version, first user, count, survey identity, transcript digest
_HEADER = struct.Struct(">4sBQQ32s32s")
_MAGIC, _VERSION = b"VAET", 1


@dataclass(frozen=True, eq=False)
class RowReport:
    """Two noisy integers of each of the users numbered ``start`` and on: its row's reach and its row's sum.

    Its length depends on the number of users alone; users who do not answer send zeros.
    """

    survey: str
    transcript: str
    start: int
    answered: Bits = field(repr=False)
    reaches: Integers = field(repr=False)
    totals: Integers = field(repr=False)

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
    head = _HEADER.pack(_MAGIC, _VERSION, report.start, report.answered.size, survey, transcript)
    numbers = (array.astype(">i8").tobytes() for array in (report.reaches, report.totals))
    return b"".join([head, pack(report.answered), *numbers])


def decode_rows(data: bytes) -> RowReport:
    """The report in these bytes; refuses anything that :func:`encode_rows` would not have written."""
    if len(data) < _HEADER.size:
        raise ProtocolViolation(f"A row report has at least {_HEADER.size} bytes; this has {len(data)}.")
    magic, version, start, count, survey, transcript = _HEADER.unpack_from(data)
    if magic != _MAGIC or version != _VERSION:
        raise ProtocolViolation("These bytes are not a row report of a version that is understood here.")
    size = (count + 7) // 8
    if len(data) != _HEADER.size + size + 16 * count:
        raise ProtocolViolation(f"A row report of {count} users carries {size + 16 * count} bytes after its head.")
    bits, numbers = data[_HEADER.size : _HEADER.size + size], np.frombuffer(data[_HEADER.size + size :], ">i8")
    answered = unpack(bits, count)
    if pack(answered) != bits:
        raise ProtocolViolation("A row report has bits after its last user.")
    numbers = numbers.astype(np.int64)
    return RowReport(survey.hex(), transcript.hex(), start, answered, numbers[:count], numbers[count:])
