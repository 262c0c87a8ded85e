"""The first round as everybody may read it: which positions answered, and what they said."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.public.positions import row_of, row_start
from visibility_aware_edge_ldp.public.report import PositionReport, unpack
from visibility_aware_edge_ldp.public.view import Octets, PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility

Bits = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Transcript:
    """All first answers of a survey, packed as in a report; broadcast to everybody before the second round."""

    survey: str
    answered: Octets = field(repr=False)
    ones: Octets = field(repr=False)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything in it: a second report names the transcript that it was made from."""
        content = self.survey.encode() + self.answered.tobytes() + self.ones.tobytes()
        return hashlib.sha256(content).hexdigest()

    def rows_heard(self, view: PublicView) -> Bits:
        """Which users answered for their row; a row answers as a whole or not at all."""
        hidden = ~view.class_bits[Visibility.PUBLIC]
        if self.answered.shape != hidden.shape or self.ones.shape != hidden.shape:
            raise ProtocolViolation(f"A transcript of {view.positions:,} positions has {hidden.size:,} bytes twice.")
        if (self.answered & ~_cut(hidden, view)).any() or (self.ones & ~self.answered).any():
            raise ProtocolViolation("The transcript holds answers of positions that were not asked.")
        heard = any_in_rows(self.answered, view.n)
        if (heard != ~any_in_rows(_cut(hidden & ~self.answered, view), view.n))[holders(view)].any():
            raise ProtocolViolation("A user answered for a part of its row; a row answers as a whole.")
        return heard


def refuse_part_rows(report: PositionReport, view: PublicView) -> None:
    """One user who answers for a part of its row would spoil everybody's transcript: it is refused at the door."""
    start, stop = report.start, report.start + report.count
    if not report.count or stop > view.positions:
        return  # the last user's row is empty; what does not exist is refused by the collection
    starts = _row_starts(view.n, row_of(view.n, start), row_of(view.n, stop - 1) + 2) - start
    hidden = np.unpackbits(~view.class_bits[Visibility.PUBLIC][start >> 3 : (stop + 7) >> 3], bitorder="little")
    asked, answered = (
        np.add.reduceat(bits, np.maximum(starts[:-1], 0), dtype=np.int64)
        for bits in (hidden[start & 7 : (start & 7) + report.count], unpack(report.answered, report.count))
    )
    if starts[0] != 0 or starts[-1] != report.count or (answered % np.maximum(asked, 1)).any():
        raise ProtocolViolation("A user answered for a part of its row; a row answers as a whole.")


def holders(view: PublicView) -> Bits:
    """Which users hold a row with a non-public position: those that are asked."""
    return any_in_rows(_cut(~view.class_bits[Visibility.PUBLIC], view), view.n)


def response_rate(asked: int, heard: int) -> float:
    """The chance that a user's row was heard, given that another's was.  [TRIANGLE.3]"""
    return max(heard - 1, 1) / (asked - 1) if asked > 1 else 1.0


def pair_rate(asked: int, heard: int) -> float:
    """The chance that two users' rows were heard, given that a third's was.  [CYCLE.1]"""
    return response_rate(asked, heard) * response_rate(asked - 1, heard - 1) if asked > 2 else 1.0


def any_in_rows(octets: Octets, n: int) -> Bits:
    """For each user, whether any position of its row has its bit set; the last user's row is empty."""
    found = np.zeros(n, dtype=np.bool_)
    if n > 1:
        starts = _row_starts(n, 0, n - 1)
        bits = np.unpackbits(octets, bitorder="little", count=row_start(n, n - 1))
        found[:-1] = np.bitwise_or.reduceat(bits, starts).view(np.bool_)
    return found


def _row_starts(n: int, first: int, last: int) -> npt.NDArray[np.int64]:
    """Where the rows of the users from ``first`` to before ``last`` begin."""
    users = np.arange(first, last, dtype=np.int64)
    return users * (2 * n - users - 1) // 2


def _cut(octets: Octets, view: PublicView) -> Octets:
    """The same bits without the spare ones after the last position."""
    kept, spare = octets.copy(), octets.size * 8 - view.positions
    if spare:
        kept[-1] &= 0xFF >> spare
    return kept
