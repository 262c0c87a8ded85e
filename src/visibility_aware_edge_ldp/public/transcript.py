"""The first round as everybody may read it: which positions answered, what they said, and the bytes that carry it.

Without a scope the bytes are both planes, two bits a position. Inside a scope they are one bit a user, who answered,
and one bit for each position that is asked: where public knowledge says that nothing is, nothing is sent.
"""

import hashlib
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.counts.rows import scores_of_rows
from visibility_aware_edge_ldp.counts.scores import Scores
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.public.layout import octets, pack
from visibility_aware_edge_ldp.public.positions import TILE, row_of, row_start
from visibility_aware_edge_ldp.public.surveys.position import PositionReport, PositionSurvey
from visibility_aware_edge_ldp.public.view import Octets, PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

Bits = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Transcript:
    """All first answers of a survey, packed as in a report; broadcast to everybody before the second round.

    Whoever is given one reads the very octets that a collection holds, and cannot write them.
    """

    survey: str
    answered: Octets = field(repr=False)
    ones: Octets = field(repr=False)
    _rows: dict[PublicView, Bits] = field(default_factory=dict, init=False, repr=False)
    _scores: dict[PublicView, Scores] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("answered", "ones"):
            object.__setattr__(self, name, _to_read(getattr(self, name)))

    def __reduce__(self) -> tuple[object, ...]:
        """Without what can be worked out again."""
        return Transcript, (self.survey, self.answered, self.ones)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything in it: a second report names the transcript that it was made from."""
        digest = hashlib.sha256(self.survey.encode())
        digest.update(self.answered.data)
        digest.update(self.ones.data)
        return digest.hexdigest()

    def rows_answered(self, view: PublicView) -> Bits:
        """Which users answered for their row; a row answers as a whole or not at all."""
        if view not in self._rows:
            self._rows[view] = _to_read(self._rows_answered(view))
        return self._rows[view]

    def scores(self, view: PublicView, survey: PositionSurvey) -> Scores:
        """The score of every position whose row was reported, and 0 elsewhere, by the survey that was answered.

        Refused as :meth:`rows_answered` does. All who read the same octets in one process have them in common.
        """
        if survey.identity != self.survey:
            raise ProtocolViolation("The transcript is of another survey's first round.")
        if view not in self._scores:
            self._scores[view] = self._of_reported(view, survey)
        return self._scores[view]

    def _of_reported(self, view: PublicView, survey: PositionSurvey) -> Scores:
        self.rows_answered(view)
        groups = [([view.edge_bits], [1.0])] if len(view.edges) else []
        for kind in NON_PUBLIC:
            is_all = view.class_sizes[kind] + view.class_sizes[Visibility.PUBLIC] == view.positions
            held = self.answered if is_all else self.answered & view.class_bits[kind]
            if held.any():
                ones = self.ones if is_all else held & self.ones  # who said 1 has answered
                groups.append(([held, ones], [float(v) for v in survey.channel(kind).scores]))
        return scores_of_rows(groups, view.n)

    def _rows_answered(self, view: PublicView) -> Bits:
        public = view.class_bits[Visibility.PUBLIC]
        if self.answered.shape != public.shape or self.ones.shape != public.shape:
            raise ProtocolViolation(f"A transcript of {view.positions:,} positions has {public.size:,} bytes twice.")
        spare = self.answered.size * 8 - view.positions
        if (self.answered & public).any() or (self.ones & ~self.answered).any() or _last_bits(self.answered, spare):
            raise ProtocolViolation("The transcript holds answers of positions that were not asked.")
        starts = row_start(view.n, np.arange(view.n + 1))
        answers = ones_between(self.answered, starts)
        if _in_part(answers, _asked_between(view, starts)):
            raise ProtocolViolation("A user answered for a part of its row; a row answers as a whole.")
        return answers > 0

    def broadcast(self, view: PublicView) -> bytes:
        """The bytes that everybody downloads, from which :func:`read_broadcast` makes the same transcript."""
        answered = self.rows_answered(view)
        if view.policy.scope is None:
            return self.answered.tobytes() + self.ones.tobytes()
        said = [_bits(self.ones, run)[_asked(view, run)] for run in _runs(view)]
        return pack(answered) + pack(np.concatenate([np.empty(0, np.bool_), *said]))


def at_rate(scores: Scores, view: PublicView, rate: float) -> Scores:
    """Scores of what was reported, made unbiased for a chance ``rate`` that a row is.  [TRIANGLE.3]

    Public edges are always there.
    """
    values = scores.values.copy()
    values[int(len(view.edges) > 0) :] /= rate
    return replace(scores, values=values)


def broadcast_size(view: PublicView) -> int:
    """How many bytes everybody downloads; public knowledge alone decides it."""
    if view.policy.scope is None:
        return 2 * octets(view.positions)
    return octets(view.n) + octets(view.positions - view.class_sizes[Visibility.PUBLIC])


def read_broadcast(survey: str, data: bytes, view: PublicView) -> Transcript:
    """The transcript in these bytes, of the survey with this identity; refuses what no honest round broadcasts."""
    size = broadcast_size(view)
    if len(data) != size:
        raise ProtocolViolation(f"The transcript has {len(data):,} bytes; {size:,} are expected.")
    flat = np.frombuffer(data, np.uint8)
    if view.policy.scope is None:
        return Transcript(survey, flat[: size // 2], flat[size // 2 :])
    users, said = flat[: octets(view.n)], np.unpackbits(flat[octets(view.n) :], bitorder="little").view(np.bool_)
    rows = np.unpackbits(users, count=view.n, bitorder="little").view(np.bool_)
    starts, used, planes = row_start(view.n, np.arange(view.n + 1)), 0, []
    for run in _runs(view):
        asked, ones = _asked(view, run), np.zeros(run.stop - run.start, np.bool_)
        count = int(np.count_nonzero(asked))
        ones[asked], used = said[used : used + count], used + count
        counts: Ints = np.diff(np.clip(starts, run.start, run.stop)).astype(np.int64)
        here = np.repeat(rows, counts)
        planes.append((np.packbits(asked & here, bitorder="little"), np.packbits(ones, bitorder="little")))
    found = Transcript(
        survey, *(np.concatenate([np.empty(0, np.uint8), *plane]) for plane in zip(*planes, strict=True))
    )
    if found.broadcast(view) != data:
        raise ProtocolViolation("The transcript holds answers of positions that were not asked.")
    return found


def _runs(view: PublicView) -> list[slice]:
    """All positions, so many at a time, from full bytes on."""
    return [slice(start, min(start + TILE, view.positions)) for start in range(0, view.positions, TILE)]


def _bits(plane: Octets, run: slice) -> Bits:
    found = plane[run.start >> 3 : (run.stop + 7) >> 3]
    return np.unpackbits(found, count=run.stop - run.start, bitorder="little").view(np.bool_)


def _asked(view: PublicView, run: slice) -> Bits:
    return ~_bits(view.class_bits[Visibility.PUBLIC], run)


def _to_read(array: npt.NDArray[T]) -> npt.NDArray[T]:
    """The same array, for those who read."""
    found = array.view()
    found.setflags(write=False)
    return found


def refuse_part_rows(report: PositionReport, view: PublicView) -> None:
    """One user who answers for a part of its row would spoil everybody's transcript: it is refused at the door."""
    start, stop = report.start, report.start + report.count
    if not report.count or stop > view.positions:
        return  # the last user's row is empty; what does not exist is refused by the collection
    starts = row_start(view.n, np.arange(row_of(view.n, start), row_of(view.n, stop - 1) + 2))
    if starts[0] == start and starts[-1] == stop:
        answers = ones_between(np.frombuffer(report.answered, np.uint8), starts - start)
        if not _in_part(answers, _asked_between(view, starts)):
            return
    raise ProtocolViolation("A user answered for a part of its row; a row answers as a whole.")


def _asked_between(view: PublicView, places: Ints) -> Ints:
    """How many positions from each place to the next are not public."""
    if not view.class_sizes[Visibility.PUBLIC]:
        return np.diff(places)
    octet = int(places[0]) >> 3
    public = view.class_bits[Visibility.PUBLIC][octet : (int(places[-1]) + 7) >> 3]
    return np.diff(places) - ones_between(public, places - 8 * octet)


def _in_part(answers: Ints, asked: Ints) -> bool:
    """Whether anybody answered, but not for all that it was asked."""
    return bool(((answers != 0) & (answers != asked)).any())


def holders(view: PublicView) -> Bits:
    """Which users hold a row with a non-public position: those that are asked."""
    held: Bits = asked_in_rows(view) > 0
    return held


def asked_in_rows(view: PublicView) -> Ints:
    """How many positions of each user's row are not public; by kinds of nodes without looking at every position."""
    bound = view.classes.by_kinds
    if bound is None or not view.n:
        return _asked_between(view, row_start(view.n, np.arange(view.n + 1)))
    found = np.zeros(view.n, np.int64)
    for kind, row in enumerate(np.asarray(bound.table) != Visibility.PUBLIC):
        # How many later users each one has with whom a user of this kind has a position that is asked.
        wanted = row[bound.kinds]
        here = bound.kinds == kind
        found[here] = (wanted.sum() - np.cumsum(wanted))[here]
    return found


def response_rate(asked: int, answered: int) -> float:
    """The chance that a user's row was answered, given that another's was.  [TRIANGLE.3]"""
    return max(answered - 1, 1) / (asked - 1) if asked > 1 else 1.0


def pair_rate(asked: int, answered: int) -> float:
    """The chance that two users' rows were answered, given that a third's was.  [CYCLE.1]"""
    return response_rate(asked, answered) * response_rate(asked - 1, answered - 1) if asked > 2 else 1.0


def ones_between(octets: Octets, places: Ints) -> Ints:
    """How many ones there are in packed bits from each place to the next; places rise."""
    found: Ints = backend.kernels("response").ones_between(octets, places)
    return found


def _last_bits(octets: Octets, spare: int) -> bool:
    """Whether any of the spare bits after the last position is set."""
    return bool(spare and octets[-1] >> (8 - spare))
