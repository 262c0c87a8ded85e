"""The wire format that all reports share: a head of fixed size, then a body whose length the head decides."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.public.report import Bits, pack, unpack

Ints = npt.NDArray[np.int64]

# A number beyond this is reported as this; it stays clear of the ends of 64 bits.  [DEGREE.1]
LARGEST = 1 << 62
_VERSION = 1


@dataclass(frozen=True)
class Wire:
    """How one kind of report begins: four letters of its own, the version, and fields as ``struct`` spells them."""

    name: str
    magic: bytes
    fields: str

    @cached_property
    def _head(self) -> struct.Struct:
        return struct.Struct(f">4sB{self.fields}")

    def head(self, *fields: int | bytes) -> bytes:
        """The first bytes of a report."""
        return self._head.pack(self.magic, _VERSION, *fields)

    def read(self, data: bytes) -> tuple[tuple[Any, ...], bytes]:
        """The fields of the head, and the body; refuses what does not begin like this kind of report."""
        if len(data) < self._head.size:
            raise ProtocolViolation(f"A {self.name} has at least {self._head.size} bytes; this has {len(data)}.")
        magic, version, *fields = self._head.unpack_from(data)
        if magic != self.magic or version != _VERSION:
            raise ProtocolViolation(f"These bytes are not a {self.name} of a version that is understood here.")
        return tuple(fields), data[self._head.size :]

    def cut(self, body: bytes, *sizes: int) -> list[bytes]:
        """The body in parts of these sizes; refuses one byte more or less."""
        if len(body) != sum(sizes):
            raise ProtocolViolation(
                f"By its head this {self.name} carries {sum(sizes)} bytes more; it has {len(body)}."
            )
        return [body[start:stop] for start, stop in pairwise(accumulate(sizes, initial=0))]

    def bits(self, packed: bytes, count: int) -> Bits:
        """Who answered; refuses bits after the last user."""
        found = unpack(packed, count)
        if pack(found) != packed:
            raise ProtocolViolation(f"A {self.name} has bits after its last user.")
        return found

    def refuse_beyond(self, least: int, most: int) -> None:
        """Refuses a report whose least and largest numbers no client sends."""
        if least < -LARGEST or most > LARGEST:
            raise ProtocolViolation(f"A {self.name} holds numbers beyond 2^62, which are never sent.")


def octets(count: int) -> int:
    """How many bytes so many bits take."""
    return (count + 7) // 8


def signed(numbers: Ints) -> bytes:
    """Signed 64-bit integers, highest byte first."""
    return numbers.astype(">i8").tobytes()


def read_signed(data: bytes) -> Ints:
    """The inverse of :func:`signed`."""
    return np.frombuffer(data, ">i8").astype(np.int64)
