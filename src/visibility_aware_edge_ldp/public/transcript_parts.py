"""The first round as one user downloads it: who answered, and the answers between users of one group.  [PARTS.1]"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.public.layout import Bits, Ints, Octets, octets, pack, unpack
from visibility_aware_edge_ldp.public.positions import numbers
from visibility_aware_edge_ldp.public.transcript import Transcript
from visibility_aware_edge_ldp.public.view import PublicView

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.public.surveys.row_parts import PartSurvey

Floats = npt.NDArray[np.float64]
# So many pairs are looked up at a time.
AT_ONCE = 1 << 20


class FirstAnswers(Protocol):
    """First answers that somebody can look up, all of them or some."""

    @property
    def digest(self) -> str:
        """What names the first round, as whoever broadcast it says."""

    @property
    def answered(self) -> Bits:
        """Which users answered for their row."""

    def ones(self, u: Ints, v: Ints) -> Bits:
        """Which of the positions {u, v}, u < v, were answered with 1."""


@dataclass(frozen=True, eq=False)
class AllAnswers:
    """A whole transcript, as its aggregator holds it; ``name`` is what it was broadcast under, if not its digest."""

    transcript: Transcript
    view: PublicView
    name: str = ""

    @property
    def digest(self) -> str:
        return self.name or self.transcript.digest

    @property
    def answered(self) -> Bits:
        return self.transcript.rows_answered(self.view)

    def ones(self, u: Ints, v: Ints) -> Bits:
        return bits_at(self.transcript.ones, numbers(self.view.n, u, v))


@dataclass(frozen=True, eq=False)
class Part:
    """One part: one bit for every two users of one group, group after group, in the canonical order of positions."""

    survey: PartSurvey
    number: int
    digest: str
    answered: Bits = field(repr=False)
    packed: Octets = field(repr=False)

    @cached_property
    def _groups(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Of each user: its group, its place in the group; of each group: how many there are, where its bits begin."""
        return _places(self.survey, self.number)

    def ones(self, u: Ints, v: Ints) -> Bits:
        """As the part says; refuses positions between two groups, of which it says nothing."""
        group, place, size, begin = self._groups
        here = group[u]
        if (here != group[v]).any():
            raise ProtocolViolation("A part holds answers between users of one group alone.")
        return bits_at(self.packed, begin[here] + numbers_in(size[here], place[u], place[v]))

    def encode(self) -> bytes:
        """The bytes that its users download: who answered, and the part's answers."""
        return pack(self.answered) + self.packed.tobytes()


def cut_part(survey: PartSurvey, number: int, answers: FirstAnswers) -> Part:
    """The part of this number, from all answers."""
    group, _, size, _ = _places(survey, number)
    order = np.argsort(group, kind="stable")
    said = [np.empty(0, np.bool_), *(answers.ones(u, v) for u, v in _pairs_within(order, size))]
    return Part(survey, number, answers.digest, answers.answered, np.frombuffer(pack(np.concatenate(said)), np.uint8))


def _pairs_within(order: Ints, size: Ints) -> Iterator[tuple[Ints, Ints]]:
    """All pairs of users of one group, group after group, about ``AT_ONCE`` at a time; ``order`` has groups in turn."""
    # How many users of the same group stand after each one: with each of them it makes a pair.
    later = np.repeat(np.cumsum(size), size) - np.arange(order.size) - 1
    ends = np.cumsum(later)
    cuts = np.searchsorted(ends, np.arange(AT_ONCE, ends[-1] if order.size else 0, AT_ONCE))
    for users in np.split(np.arange(order.size), cuts):
        first = np.repeat(users, later[users])
        step = np.arange(first.size) - np.repeat(np.cumsum(later[users]) - later[users], later[users])
        yield order[first], order[first + 1 + step]


def part_octets(survey: PartSurvey, number: int) -> int:
    """How many bytes this part has; public knowledge alone decides it."""
    size = _places(survey, number)[2]
    return octets(survey.nodes) + octets(int((size * (size - 1) // 2).sum()))


def read_part(survey: PartSurvey, number: int, data: bytes, digest: str) -> Part:
    """The part in these bytes, of a first round of this name; refuses another length than this part has."""
    users, size = octets(survey.nodes), part_octets(survey, number)
    if len(data) != size:
        raise ProtocolViolation(f"The part has {len(data):,} bytes; {size:,} are expected.")
    answered = unpack(data[:users], survey.nodes)
    part = Part(survey, number, digest, answered, np.frombuffer(data[users:], np.uint8))
    if part.encode() != data:
        raise ProtocolViolation("The part has bits after the last participant.")
    return part


def _places(survey: PartSurvey, number: int) -> tuple[Ints, Ints, Ints, Ints]:
    users = np.arange(survey.nodes)
    group = survey.group_of(np.full(users.shape, number), users)
    size = np.bincount(group, minlength=survey.groups)
    order, place = np.argsort(group, kind="stable"), np.empty(users.size, np.int64)
    place[order] = users - np.repeat(np.cumsum(size) - size, size)
    bits = size * (size - 1) // 2
    return group, place, size, np.cumsum(bits) - bits


def numbers_in(size: Ints, u: Ints, v: Ints) -> Ints:
    """The numbers of positions (u, v), u < v, each among so many users."""
    found: Ints = u * (2 * size - u - 1) // 2 + (v - u - 1)
    return found


def bits_at(packed: Octets, places: Ints) -> Bits:
    """The bits at these places of packed bits."""
    found: Bits = (packed[places >> 3] >> (places & 7).astype(np.uint8) & 1).view(np.bool_)
    return found


def largest_score(survey: PartSurvey, view: PublicView, rate: float) -> float:
    """M: no score is further from 0, where an answer stands for 1/rate of them."""
    scores = (abs(float(score)) for kind in view.non_public for score in survey.first.channel(kind).scores)
    return max([1.0, *(score / rate for score in scores)])


def sums_of_scores(
    survey: PartSurvey, view: PublicView, answers: FirstAnswers, owner: Ints, u: Ints, v: Ints, rate: float
) -> Floats:
    """For each owner below the last, the scores of its positions {u, v}, u < v, added up.

    Few numbers are rounded: how many positions of each class said 1, and how many said 0, are whole.
    """
    count = int(owner.max(initial=-1)) + 1
    heard, ones = answers.answered[u], answers.ones(u, v)
    constant = view.classes.is_constant and view.n > 1
    classes = None if constant else view.classes.of(u, v)
    sums = np.zeros(count)
    for kind in view.non_public:
        here = heard if classes is None else heard & (classes == kind)
        zero, one = (float(score) / rate for score in survey.first.channel(kind).scores)
        held, said = (np.bincount(owner[each], minlength=count) for each in (here, here & ones))
        sums += zero * (held - said) + one * said
    if len(view.edges):
        places = np.searchsorted(view.edge_numbers, numbers(view.n, u, v))
        public = view.edge_numbers[np.minimum(places, view.edge_numbers.size - 1)] == numbers(view.n, u, v)
        sums += np.bincount(owner[public], minlength=count)
    return sums
