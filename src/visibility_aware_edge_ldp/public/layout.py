"""Layouts: the bytes of a report, declared once. A head of fixed size, then a body whose length the head decides."""

import hashlib
import struct
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, ClassVar, Generic, TypeVar, cast

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.errors import ProtocolViolation

Bits = npt.NDArray[np.bool_]
Octets = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

# A number beyond this is reported as this; it stays clear of the ends of 64 bits.  [DEGREE.1]
LARGEST = 1 << 62
_VERSION = 1


class Report:
    """What leaves a client for one round of one survey."""

    layout: "ClassVar[Layout[Any]]"

    @property
    def digest(self) -> str:
        """SHA-256 of everything in the report."""
        # Kept by hand: Python 3.11 lets only one thread at a time work out a property that it caches.
        kept = vars(self)
        if "_digest" not in kept:
            kept["_digest"] = hashlib.sha256(self.layout.encode(self)).hexdigest()
        return cast(str, kept["_digest"])


R = TypeVar("R", bound=Report)


@dataclass(frozen=True)
class Layout(ABC, Generic[R]):
    """How one kind of report is written: four letters of its own, the version, the head's fields, the body.

    Parameters
    ----------
    name
        What refusals call it.
    magic
        The four letters.
    head
        The fields in their order, as "name:code" with ``struct``'s codes. A code such as 32s is a digest, which the
        report holds as hexadecimal text.
    report
        The type of report; it learns its layout here.
    """

    name: str
    magic: bytes
    head: str
    report: type[R]

    def __post_init__(self) -> None:
        self.report.layout = self

    @cached_property
    def _fields(self) -> tuple[str, ...]:
        return tuple(field.partition(":")[0] for field in self.head.split())

    @cached_property
    def _head(self) -> struct.Struct:
        return struct.Struct(">4sB" + "".join(field.partition(":")[2] for field in self.head.split()))

    def encode(self, report: R) -> bytes:
        """The bytes that leave a client."""
        return b"".join((self._begin(getattr(report, name) for name in self._fields), *self._body(report)))

    def decode(self, data: bytes) -> R:
        """The report in these bytes; refuses anything that :meth:`encode` would not have written."""
        head, body = self.read(data)
        sizes = self._sizes(head)
        if len(body) != sum(sizes):
            raise ProtocolViolation(
                f"By its head this {self.name} carries {sum(sizes)} bytes more; it has {len(body)}."
            )
        parts = [body[start:stop] for start, stop in pairwise(accumulate(sizes, initial=0))]
        return self._report(head, parts)

    def read(self, data: bytes) -> tuple[dict[str, Any], bytes]:
        """The fields of the head, and the body; refuses what does not begin like this kind of report."""
        if len(data) < self._head.size:
            raise ProtocolViolation(f"A {self.name} has at least {self._head.size} bytes; this has {len(data)}.")
        magic, version, *fields = self._head.unpack_from(data)
        if magic != self.magic or version != _VERSION:
            raise ProtocolViolation(f"These bytes are not a {self.name} of a version that is understood here.")
        written = (field.hex() if isinstance(field, bytes) else field for field in fields)
        return dict(zip(self._fields, written, strict=True)), data[self._head.size :]

    def size(self, **head: int) -> int:
        """How many bytes a report has whose head has these fields; those that do not matter may be left out."""
        return self._head.size + sum(self._sizes(head))

    def _begin(self, fields: Iterable[object]) -> bytes:
        """A report's octets up to its body."""
        packed = [bytes.fromhex(field) if isinstance(field, str) else field for field in fields]
        return self._head.pack(self.magic, _VERSION, *packed)

    @abstractmethod
    def _sizes(self, head: Mapping[str, int]) -> tuple[int, ...]:
        """The sizes of the body's parts, by the head."""

    @abstractmethod
    def _body(self, report: R) -> Iterable[bytes]:
        """The body's parts."""

    @abstractmethod
    def _report(self, head: dict[str, Any], parts: list[bytes]) -> R:
        """The report with this head and these parts."""

    def validate(self, report: R) -> None:
        """Refuse a report that no client sends; reports call it when they are made."""

    def refuse_beyond(self, least: int, most: int) -> None:
        """Refuse numbers that no client sends."""
        if least < -LARGEST or most > LARGEST:
            raise ProtocolViolation(f"A {self.name} holds numbers beyond 2^62, which are never sent.")


@dataclass(frozen=True)
class PackedBits(Layout[R]):
    """Two bits a position, packed: whether it answered, and its answer. ``bits`` names the field with how many."""

    bits: str = "count"

    def _sizes(self, head: Mapping[str, int]) -> tuple[int, ...]:
        return (octets(head[self.bits]),) * 2

    def _body(self, report: Any) -> Iterable[bytes]:
        return report.answered, report.ones

    def _report(self, head: dict[str, Any], parts: list[bytes]) -> R:
        made: type[Any] = self.report
        return cast(R, made(**head, answered=parts[0], ones=parts[1]))

    def is_of(self, data: bytes, answered: Octets, *head: object) -> bool:
        """Whether these bytes are a report with this head in which these positions answered; it is not made."""
        begin, who = self._begin(head), answered.tobytes()
        body = len(begin) + len(who)
        if len(data) != body + len(who) or not data.startswith(begin + who):
            return False
        return (np.frombuffer(data, np.uint8, offset=body) | answered).tobytes() == who

    def validate(self, report: Any) -> None:
        """So many bits twice, zeros after the last, and no answer of who did not answer."""
        count: int = getattr(report, self.bits)
        size = octets(count)
        if len(report.answered) != size or len(report.ones) != size:
            raise ProtocolViolation(f"A report of {count} positions must carry {size} bytes twice.")
        who, said = (np.frombuffer(packed, np.uint8) for packed in (report.answered, report.ones))
        spare = size * 8 - count
        if (said & ~who).max(initial=0) or (spare and who[-1] >> (8 - spare)):
            raise ProtocolViolation("A report holds answers of positions that did not answer.")


class NumberReport(Report):
    """Who of the users numbered ``start`` and on answered, and some integers of each; 0 for those who did not.

    The length of its bytes depends on the number of users alone.
    """

    survey: str
    start: int
    answered: Bits

    def __post_init__(self) -> None:
        self.layout.validate(self)
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):  # what was sent stays as it was sent, whoever holds the array
                object.__setattr__(self, name, _read_only(value))

    @property
    def count(self) -> int:
        """How many users it is about."""
        return self.answered.size

    @property
    def users(self) -> slice:
        """The users it is about, as a slice of the roster."""
        return slice(self.start, self.start + self.count)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, NumberReport) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)


@dataclass(frozen=True, eq=False)
class ValueReport(NumberReport):
    """A report with one number of each user, or a row of numbers for each class."""

    survey: str
    start: int
    answered: Bits = field(repr=False)
    values: Ints = field(repr=False)


@dataclass(frozen=True)
class Numbers(Layout[R]):
    """One bit a user, the first in the lowest bit: who answered. Then, number by number, one integer a user.

    Parameters
    ----------
    numbers
        The report's fields with the integers. Where the head has a field "classes", each has a row for each class.
    dtype
        How an integer is written: signed, 64 bits, highest byte first, unless another is named.
    bounded
        Whether numbers beyond 2^62 are refused.
    """

    numbers: tuple[str, ...] = ("values",)
    dtype: str = ">i8"
    bounded: bool = True

    def _sizes(self, head: Mapping[str, int]) -> tuple[int, ...]:
        each = head["count"] * head.get("classes", 1) * np.dtype(self.dtype).itemsize
        return (octets(head["count"]), *[each] * len(self.numbers))

    def _body(self, report: Any) -> Iterable[bytes]:
        return pack(report.answered), *(getattr(report, name).astype(self.dtype).tobytes() for name in self.numbers)

    def _report(self, head: dict[str, Any], parts: list[bytes]) -> R:
        count = head.pop("count")
        shape = (head.pop("classes"), count) if "classes" in head else (count,)
        answered = unpack(parts[0], count)
        if pack(answered) != parts[0]:
            raise ProtocolViolation(f"A {self.name} has bits after its last user.")
        values = (np.frombuffer(part, self.dtype).astype(np.int64).reshape(shape) for part in parts[1:])
        made: type[Any] = self.report
        return cast(R, made(**head, answered=answered, **dict(zip(self.numbers, values, strict=True))))

    def validate(self, report: Any) -> None:
        """One answer bit and the numbers for each user, none of who did not answer, none beyond what is sent."""
        if report.start < 0:
            raise ProtocolViolation("A report's range of users starts and counts from 0.")
        columns = [getattr(report, name) for name in self.numbers]
        if report.answered.ndim != 1 or any(values.shape[-1:] != report.answered.shape for values in columns):
            raise ProtocolViolation(f"A {self.name} carries one answer bit and its numbers for each of its users.")
        if any(values[..., ~report.answered].any() for values in columns):
            raise ProtocolViolation(f"A {self.name} holds numbers of users who did not answer.")
        for values in columns if self.bounded else ():
            self.refuse_beyond(values.min(initial=0), values.max(initial=0))


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A copy that nobody can write to."""
    copy = array.copy()
    copy.flags.writeable = False
    return copy


def octets(count: int) -> int:
    """How many bytes so many bits take."""
    return (count + 7) // 8


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
