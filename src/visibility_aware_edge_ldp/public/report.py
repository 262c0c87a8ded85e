"""The report: what leaves a client."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.errors import ProtocolViolation

Bits = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class PositionReport:
    """One round's answers for the positions numbered ``start`` … ``start + count − 1``.

    Two bits a position, packed with the first position in the lowest bit: whether it answered, and
    its randomized answer. The length depends on ``count`` alone.
    """

    survey: str
    round: int
    start: int
    count: int
    answered: bytes = field(repr=False)
    ones: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if self.count < 0 or self.start < 0:
            raise ProtocolViolation("A report's range of positions starts and counts from 0.")
        size = (self.count + 7) // 8
        if len(self.answered) != size or len(self.ones) != size:
            raise ProtocolViolation(f"A report of {self.count} positions must carry {size} bytes twice.")
        answered, ones = (np.frombuffer(packed, np.uint8) for packed in (self.answered, self.ones))
        spare = size * 8 - self.count
        if (ones & ~answered).any() or (spare and answered[-1] >> (8 - spare)):
            raise ProtocolViolation("A report holds answers of positions that did not answer.")

    @property
    def digest(self) -> str:
        """SHA-256 of everything in the report."""
        head = f"{self.survey} {self.round} {self.start} {self.count} ".encode()
        return hashlib.sha256(head + self.answered + self.ones).hexdigest()


def pack(bits: Bits) -> bytes:
    """Eight bits a byte, the first in the lowest bit."""
    return np.packbits(bits, bitorder="little").tobytes()


def unpack(packed: bytes, count: int) -> Bits:
    """The inverse of :func:`pack`."""
    return np.unpackbits(np.frombuffer(packed, np.uint8), count=count, bitorder="little").view(np.bool_)
