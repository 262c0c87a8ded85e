"""The report of a public hub, and its bytes."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from functools import cached_property

from visibility_aware_edge_ldp.errors import ProtocolViolation

# A number beyond this is reported as this; it stays clear of the ends of 64 bits.
LARGEST = 1 << 62
# magic, format version, reporter, how many numbers, survey identity
_HEADER = struct.Struct(">4sBBB32s")
_MAGIC, _VERSION = b"VAEB", 1


@dataclass(frozen=True)
class HubReport:
    """The noisy numbers of one reporter, in the survey's order, then its noisy count of loose edges.

    ``hub`` is the reporter's place in the plan. The count of loose edges is 0 where none is asked for.
    """

    survey: str
    hub: int
    values: tuple[int, ...]
    loose: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.hub < 256 or not 1 <= len(self.values) < 256:
            raise ProtocolViolation("A hub's report names a reporter of the plan and carries its numbers.")
        if any(abs(value) > LARGEST for value in (*self.values, self.loose)):
            raise ProtocolViolation("A hub's report holds numbers beyond 2^62, which are never sent.")

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything in the report."""
        return hashlib.sha256(encode_hub(self)).hexdigest()


def encode_hub(report: HubReport) -> bytes:
    """The bytes that leave a hub."""
    head = _HEADER.pack(_MAGIC, _VERSION, report.hub, len(report.values), bytes.fromhex(report.survey))
    return head + struct.pack(f">{len(report.values) + 1}q", *report.values, report.loose)


def decode_hub(data: bytes) -> HubReport:
    """The report in these bytes; refuses anything that :func:`encode_hub` would not have written."""
    if len(data) < _HEADER.size:
        raise ProtocolViolation(f"A hub's report has at least {_HEADER.size} bytes; this has {len(data)}.")
    magic, version, hub, count, survey = _HEADER.unpack_from(data)
    if magic != _MAGIC or version != _VERSION:
        raise ProtocolViolation("These bytes are not a hub's report of a version that is understood here.")
    if len(data) != _HEADER.size + 8 * (count + 1):
        raise ProtocolViolation(f"A hub's report of {count} numbers carries {8 * (count + 1)} bytes after its head.")
    *values, loose = struct.unpack(f">{count + 1}q", data[_HEADER.size :])
    return HubReport(survey.hex(), hub, tuple(values), loose)
