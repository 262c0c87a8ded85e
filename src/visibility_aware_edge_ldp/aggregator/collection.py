"""What all collections share: accept reports, refuse what breaks the protocol, name what was paid for, and estimate.

And what everybody knows of a graph before any report: its public edges, and what can be counted in them.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.aggregator.derived import derived_estimate, of_side
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.plain.bitset import row_sums
from visibility_aware_edge_ldp.counts.exact import triangles as count_triangles
from visibility_aware_edge_ldp.errors import BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.privacy import Release
from visibility_aware_edge_ldp.public.derived import Derived
from visibility_aware_edge_ldp.public.layout import NumberReport, Numbers, Report
from visibility_aware_edge_ldp.public.statistic import (
    Statistic,
    check_statistics,
    is_set,
    refuse_without_places,
    statistic,
    with_sources,
)
from visibility_aware_edge_ldp.public.surveys.base import Survey, verify_roster
from visibility_aware_edge_ldp.public.surveys.position import PositionReport, PositionSurvey
from visibility_aware_edge_ldp.public.surveys.sample import SampledReport
from visibility_aware_edge_ldp.public.view import Octets, PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.aggregator.score_estimates import WorkBudget
    from visibility_aware_edge_ldp.counts.node_groups import GroupScores

Bits = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Estimator = Callable[[Any, Statistic], Estimate]
"""From what a collection prepared, and a statistic, to its estimate."""
Estimators = Mapping[str, Estimator]
S = TypeVar("S", bound=Survey)
R = TypeVar("R", bound=Report)
N = TypeVar("N", bound=NumberReport)
P = TypeVar("P", PositionReport, SampledReport, PositionReport | SampledReport)


class Collection(ABC, Generic[S, R]):
    """The reports of one survey.

    A subclass says in ``add`` what it refuses beside reports of other surveys, and what it keeps; in ``digest`` what
    names its releases; and in ``estimators`` which statistics it answers, by their names without a parameter.
    """

    protocol: ClassVar[str]
    estimators: ClassVar[Estimators] = {}

    def __init__(self, survey: S, view: PublicView) -> None:
        verify_roster(survey, view, "this public view")
        self.survey, self.view = survey, view
        self._seen: set[str] = set()

    def absorb(self, report: R) -> None:
        """Take a report in. The same report again changes nothing; a second, different answer is refused."""
        if report.digest in self._seen:
            return
        self.add(report)
        self._seen.add(report.digest)

    @abstractmethod
    def add(self, report: R) -> None:
        """Keep what a report says that was not seen before; refuse it as a whole where it breaks the protocol."""

    @property
    @abstractmethod
    def digest(self) -> str:
        """SHA-256 of all that is kept, by which its releases are named."""

    @property
    def releases(self) -> tuple[Release, ...]:
        """What was paid for, named by what arrived."""
        digest = self.digest
        return tuple(replace(release, transcript=digest) for release in self.survey.releases)

    def wanted(self, statistics: str | Sequence[str]) -> tuple[str, ...]:
        """The statistics asked for, each known and possible; "all" and "summary" mean what these reports answer."""
        asked = check_statistics(statistics, self.view.n)
        if is_set(statistics):
            return tuple(name for name in asked if self._is_answered(name) and not self._lacks(name))
        refuse_without_places(asked, self.view.people)
        for name in filter(self._lacks, asked):
            raise BadStatistic(f"{name} is not told of people and places by these reports; leave it out.")
        return asked

    def _lacks(self, name: str) -> bool:
        """Whether the roster is of people and places, of whom this is not estimated.  [BIPARTITE.4]"""
        return self.view.people is not None and statistic(name).kind not in self.survey.trust.on_places

    def estimator(self, name: str) -> Estimator:
        """The function that estimates this statistic: the collection's own, or one that came with the statistic."""
        known = statistic(name)
        found = self.estimators.get(known.kind) or known.estimators.get(self.protocol)
        if found is None and known.derived is not None and self._is_answered(name):
            return self._derived
        if found is None:
            raise BadStatistic(self.cannot_estimate(name))
        return found

    def _is_answered(self, name: str) -> bool:
        """Whether there is an estimator for it, or for all that it is made from."""
        known = statistic(name)
        if known.derived is not None:
            return all(map(self._is_answered, known.derived.sources))
        return known.kind in self.estimators or self.protocol in known.estimators

    def _derived(self, given: Any, asked: Statistic) -> Estimate:
        """One that is made from others, each estimated from the same reports.  [DERIVED.1-2]"""
        formula = cast(Derived, asked.derived)
        found = [self.estimator(each)(given, statistic(each)) for each in formula.sources]
        if formula.side:
            return of_side(asked.name, found[0], formula.members(self.view.people or 0))
        return derived_estimate(asked.name, formula, self.view.n, found, getattr(given, "combined", None))

    def cannot_estimate(self, name: str) -> str:
        """The sentence that refuses a statistic which these reports do not answer."""
        return f"{name} cannot be estimated from these reports; they answer {', '.join(self.estimators)}."

    def prepared(self, wanted: tuple[str, ...], budget: WorkBudget | None, made: GroupScores | None) -> Any:
        """What the estimators of these statistics share; the collection itself, if nothing has to be worked out."""
        return self


COLLECTIONS: dict[str, type[Collection[Any, Any]]] = {}
"""Which collection takes the reports of which protocol; filled by the package, which loads them all."""


def estimate(
    collection: Collection[Any, Any],
    statistics: str | Sequence[str],
    budget: WorkBudget | None = None,
    made: GroupScores | None = None,
) -> dict[str, Estimate]:
    """Estimates of these statistics, all from the same reports: one price for all.  [POSITION.4]

    ``budget`` says how much counting is done for triangles and 4-cycles of positions, and where, if not as much as some
    seconds allow; ``made`` are the scores of the positions, where they are known already.
    """
    wanted = collection.wanted(statistics)
    estimators = {name: collection.estimator(name) for name in wanted}
    shared = collection.prepared(with_sources(wanted), budget, made)
    found = {name: make(shared, statistic(name)) for name, make in estimators.items()}
    releases = collection.releases
    return {name: each if each.releases else replace(each, releases=releases) for name, each in found.items()}


class UserCollection(Collection[S, N]):
    """Reports of users: for each one a bit that says whether it answered, and a few numbers."""

    OTHER: ClassVar[str] = "A report for another survey was sent here."
    SECOND: ClassVar[str] = "A second, different answer of a user to the same survey; the first one stands."

    def __init__(self, survey: S, view: PublicView, numbers: int = 1) -> None:
        super().__init__(survey, view)
        self.took_part: Bits = np.zeros(view.n, np.bool_)
        """Who has sent a report."""
        self.numbers: Ints = np.zeros((numbers, view.n), np.int64)
        """(numbers, n): what everybody reported, 0 for those who did not."""

    def add(self, report: N) -> None:
        """Keep the numbers of users who had not answered before."""
        if not self.is_for_this_survey(report):
            raise ProtocolViolation(self.OTHER)
        users, answered = report.users, report.answered
        if users.stop > self.view.n:
            raise ProtocolViolation(f"A report names users beyond the last, {self.view.n - 1}.")
        numbers = np.vstack([getattr(report, name) for name in cast(Numbers[N], report.layout).numbers])
        self.validate(users, answered, numbers)
        if (self.took_part[users] & answered).any():
            raise ProtocolViolation(self.SECOND)
        self.took_part[users] |= answered
        self.numbers[:, users] += numbers

    def is_for_this_survey(self, report: N) -> bool:
        """Whether the report answers the survey of this collection."""
        return report.survey == self.survey.identity

    def validate(self, users: slice, answered: Bits, numbers: Ints) -> None:
        """Refuse what no client of this survey sends; by default no more than every collection refuses."""

    @property
    def digest(self) -> str:
        """SHA-256 of who answered, and of the numbers."""
        return digest_of(self.took_part.tobytes(), self.numbers.tobytes())


class AnswerBits(Collection[PositionSurvey, P]):
    """Answers of positions in packed bits: for each round who answered, and who of them said 1."""

    def __init__(self, survey: PositionSurvey, view: PublicView, positions: int) -> None:
        super().__init__(survey, view)
        size = (positions + 7) // 8
        self._answered = [np.zeros(size, np.uint8) for _ in range(survey.rounds)]
        self._ones = [np.zeros(size, np.uint8) for _ in range(survey.rounds)]

    def _keep(self, round_number: int, start: int, count: int, answered: bytes, ones: bytes) -> None:
        """Put packed bits from this place on; refuse a second answer, and one in round 2 that was not asked for."""
        index, (place, who) = round_number - 1, aligned(start, count, answered)
        _, said = aligned(start, count, ones)
        if (who & self._answered[index][place]).any():
            raise ProtocolViolation("A second, different answer of a position in the same round; the first one stands.")
        if index and (said & ~self._ones[0][place]).any():
            raise ProtocolViolation("A report answers in round 2 for positions that did not answer 1 in round 1.")
        self._answered[index][place] |= who
        self._ones[index][place] |= said

    @property
    def digest(self) -> str:
        """SHA-256 of who answered in each round, then of who said 1."""
        return digest_of(*(octets.data for octets in (*self._answered, *self._ones)))


class InOrder(Collection[PositionSurvey, PositionReport]):
    """Reports that come in the order of positions, and a digest that is worked out as they come."""

    protocol = "position"

    def __init__(self, survey: PositionSurvey, view: PublicView) -> None:
        super().__init__(survey, view)
        self._next = 0  # the position whose answer is next
        self._digest = hashlib.sha256(f"{survey.identity} ".encode())

    def add(self, report: PositionReport) -> None:
        """Refuse what does not belong here; subclasses keep the rest."""
        refuse_other_survey(report, self.survey)
        refuse_beyond(report, self.view)

    @property
    def digest(self) -> str:
        """SHA-256 of all that arrived, in its order."""
        return self._digest.hexdigest()


def digest_of(*parts: bytes | memoryview) -> str:
    """SHA-256 of these parts, one after the other."""
    found = hashlib.sha256()
    for part in parts:
        found.update(part)
    return found.hexdigest()


def refuse_other_survey(report: PositionReport | SampledReport, survey: PositionSurvey) -> None:
    """Refuse a report that answers another survey, or a round that this one does not have."""
    if report.survey != survey.identity or not 1 <= report.round <= survey.rounds:
        raise ProtocolViolation("A report for another survey or another round was sent here.")


def refuse_beyond(report: PositionReport | SampledReport, view: PublicView) -> None:
    """Refuse a report of positions that there are not."""
    if report.start + report.count > view.positions:
        raise ProtocolViolation(f"A report names positions beyond the last, {view.positions - 1}.")


def aligned(start: int, count: int, packed: bytes) -> tuple[slice, Octets]:
    """Packed bits shifted to where they belong in the flat array, and the bytes they belong to."""
    place = slice(start >> 3, (start + count + 7) >> 3)
    if start % 8 == 0:
        return place, np.frombuffer(packed, np.uint8)
    octets, offset = np.frombuffer(packed + b"\0", np.uint8), start % 8
    shifted = octets << np.uint8(offset)
    shifted[1:] |= octets[:-1] >> np.uint8(8 - offset)
    return place, shifted[: place.stop - place.start]


@dataclass(frozen=True, eq=False)
class PublicGraph:
    """The public edges alone, as a graph in which statistics are counted exactly."""

    n: int
    edges: npt.NDArray[np.int32]

    @property
    def degrees(self) -> Ints:
        return np.bincount(self.edges.ravel(), minlength=self.n)


def public_graph(view: PublicView) -> PublicGraph:
    """What everybody sees of the graph."""
    return PublicGraph(view.n, view.edges)


def public_triangles(view: PublicView) -> int:
    """Triangles of which every side is a public edge: known to everybody."""
    return count_triangles(public_graph(view))


def public_positions(view: PublicView) -> Ints:
    """How many public positions each node has, edges or not."""
    return positions_of(view, Visibility.PUBLIC)


def positions_of(view: PublicView, kind: Visibility) -> Ints:
    """How many positions of a class each node has, edges or not."""
    bound = view.classes.by_kinds
    if bound is not None:
        inside, sizes = np.asarray(bound.table) == kind, np.bincount(bound.kinds)
        by_kind: Ints = inside @ sizes - np.diagonal(inside)
        return by_kind[bound.kinds]
    if not view.class_sizes[kind]:
        return np.zeros(view.n, dtype=np.int64)
    return row_sums(backend.plane_of(view.class_bits[kind], view.n))
