"""The report: what leaves a client."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.errors import ProtocolViolation

Bits = npt.NDArray[np.bool_]
Octets = npt.NDArray[np.uint8]


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
        _refuse_stray_bits(self.count, self.answered, self.ones)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything in the report."""
        return _digest(f"{self.survey} {self.round} {self.start} {self.count} ", self.answered, self.ones)


@dataclass(frozen=True)
class SampledReport:
    """One round's answers for the drawn ones of the positions numbered ``start`` … ``start + count − 1``.

    Two bits for each of the ``drawn`` positions, in their order, packed as in a ``PositionReport``. Positions that were
    not drawn have no bits, so nothing can be said for them.  [SAMPLE.2]
    """

    survey: str
    round: int
    start: int
    count: int
    drawn: int
    answered: bytes = field(repr=False)
    ones: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if not 0 <= self.drawn <= self.count or self.start < 0:
            raise ProtocolViolation("A report of a sample draws from 0 to all of its positions, which start from 0.")
        _refuse_stray_bits(self.drawn, self.answered, self.ones)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything in the report."""
        head = f"sample {self.survey} {self.round} {self.start} {self.count} {self.drawn} "
        return _digest(head, self.answered, self.ones)


def _refuse_stray_bits(count: int, answered: bytes, ones: bytes) -> None:
    """So many bits twice, zeros after the last, and no answer of who did not answer."""
    size = (count + 7) // 8
    if len(answered) != size or len(ones) != size:
        raise ProtocolViolation(f"A report of {count} positions must carry {size} bytes twice.")
    who, said = (np.frombuffer(packed, np.uint8) for packed in (answered, ones))
    spare = size * 8 - count
    if (said & ~who).any() or (spare and who[-1] >> (8 - spare)):
        raise ProtocolViolation("A report holds answers of positions that did not answer.")


def _digest(head: str, answered: bytes, ones: bytes) -> str:
    digest = hashlib.sha256(head.encode())
    digest.update(answered)
    digest.update(ones)
    return digest.hexdigest()


def pack(bits: Bits) -> bytes:
    """Eight bits a byte, the first in the lowest bit."""
    return np.packbits(bits, bitorder="little").tobytes()


def unpack(packed: bytes, count: int) -> Bits:
    """The inverse of :func:`pack`."""
    return np.unpackbits(np.frombuffer(packed, np.uint8), count=count, bitorder="little").view(np.bool_)


def part_of(flat: Octets, start: int, count: int) -> Octets:
    """The packed bits numbered ``start`` and on, moved to begin with a byte; zeros after the last. Read only."""
    place, offset = flat[start >> 3 : (start + count + 7) >> 3], start % 8
    if not offset and not count % 8:
        return place
    part = place >> np.uint8(offset)
    if offset:
        part[:-1] |= place[1:] << np.uint8(8 - offset)
    part = part[: (count + 7) // 8]
    if count % 8:
        part[-1] &= (1 << count % 8) - 1
    return part
