"""The report of a public hub, and its bytes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.public.wire import LARGEST as LARGEST
from visibility_aware_edge_ldp.public.wire import Wire, read_signed, signed

# reporter, how many numbers, survey identity
_WIRE = Wire("hub's report", b"VAEB", "BB32s")


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
        _WIRE.refuse_beyond(min(self.loose, *self.values), max(self.loose, *self.values))

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything in the report."""
        return hashlib.sha256(encode_hub(self)).hexdigest()


def encode_hub(report: HubReport) -> bytes:
    """The bytes that leave a hub."""
    head = _WIRE.head(report.hub, len(report.values), bytes.fromhex(report.survey))
    return head + signed(np.array([*report.values, report.loose], np.int64))


def decode_hub(data: bytes) -> HubReport:
    """The report in these bytes; refuses anything that :func:`encode_hub` would not have written."""
    (hub, count, survey), body = _WIRE.read(data)
    values, loose = _WIRE.cut(body, 8 * count, 8)
    return HubReport(survey.hex(), hub, tuple(read_signed(values).tolist()), int(read_signed(loose)[0]))
