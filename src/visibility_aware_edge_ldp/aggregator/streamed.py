"""POSITION reports of more nodes than memory has positions for, counted as they arrive and never kept.

Reports come in the order of positions, and those of one run round after round. What ``PositionCollection`` refuses is
refused here; a second answer cannot come, because it would be out of order.  [AGGREGATE.1], [KINDS.1]

Counts of chunks of the positions add up, so that many can count, each a chunk. Where every answer can be had a second
time, k-stars are told too.  [AGAIN.1-3]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.aggregator.collection import Estimators, InOrder, public_graph
from visibility_aware_edge_ldp.aggregator.score_estimates import ESTIMATORS, ScoredCollection, rate_variance
from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.engines import LostTask
from visibility_aware_edge_ldp.compute.reproducible_math import weighted
from visibility_aware_edge_ldp.counts.scores import Floats, ScoreFunction, score
from visibility_aware_edge_ldp.errors import BadInput, BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.public.positions import row_of, row_start
from visibility_aware_edge_ldp.public.statistic import sources_of, statistic
from visibility_aware_edge_ldp.public.surveys.position import PositionReport, PositionSurvey
from visibility_aware_edge_ldp.public.view import Octets, PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

Counts = npt.NDArray[np.int32]
Arrays = Mapping[str, npt.NDArray[Any]]
STATISTICS = ("edges", "degrees", "max_degree", "degree_histogram")


def counts_suffice(statistics: Sequence[str], known: Sequence[str] = STATISTICS) -> bool:
    """Whether a few counts for each node tell all these statistics."""
    return all(statistic(source).kind in known for name in statistics for source in sources_of(name))


class StreamedCollection(ScoredCollection, InOrder):
    """Four counts for each node and non-public class, each among those before.

    Positions that were asked, that took part in all rounds, that said 1, and that said 1 again.
    Edges, degrees, the largest degree and the degree histogram need no more. The variance of k-stars needs, at every
    position, both ends' counts over all positions, and so every answer a second time: k-stars, as triangles, come from
    a ``PositionCollection``.
    """

    estimators: ClassVar[Estimators] = {name: ESTIMATORS[name] for name in STATISTICS}

    def __init__(self, survey: PositionSurvey, view: PublicView, begin: int = 0) -> None:
        super().__init__(survey, view)
        if survey.sample is not None:
            raise ProtocolViolation("A sample's answers are kept, not counted as they come.")
        present = [kind for kind in NON_PUBLIC if kind in view.present]
        self._next = begin
        self._passed = np.zeros(view.n + 1, np.int64)  # what each node has of the positions that came, as differences
        self._asked: dict[Visibility, Counts] = {kind: np.zeros(view.n, np.int32) for kind in present}
        self._nested = {kind: np.zeros((survey.rounds + 1, view.n), np.int32) for kind in present}
        self._run: list[PositionReport] = []

    def add(self, report: PositionReport) -> None:
        """Count the answers of the next positions, once all rounds of them are here."""
        super().add(report)
        same = not self._run or report.count == self._run[0].count
        if report.start != self._next or report.round != len(self._run) + 1 or not same:
            raise ProtocolViolation(
                f"Reports must come in the order of positions, and of one run round after round: round "
                f"{len(self._run) + 1} from position {self._next} is next."
            )
        if self._run and (_octets(report.ones) & ~_octets(self._run[0].ones)).any():
            raise ProtocolViolation("A report answers in round 2 for positions that did not answer 1 in round 1.")
        self._digest.update(report.digest.encode())
        self._run.append(report)
        if report.round == self.survey.rounds:
            self._count()
            self._next, self._run = report.start + report.count, []

    def _count(self) -> None:
        """Count a run of positions for which the reports of all rounds are here."""
        begin, size = self._run[0].start, self._run[0].count
        if not size:
            return
        complete: Octets = np.bitwise_and.reduce([_octets(report.answered) for report in self._run])
        places = self._places(begin, size)
        if (np.bitwise_or.reduce([_octets(report.answered) for report in self._run]) & ~_union(places)).any():
            raise ProtocolViolation("A report answers for public positions, which are not asked.")
        self._pass(begin, begin + size)
        for kind, asked in places.items():
            held = complete & asked
            self._take(kind, begin, asked, (held, *(held & _octets(report.ones) for report in self._run)))

    def _pass(self, begin: int, end: int) -> None:
        """Note that these positions came: each row of them is so many for its own node, and one for each other."""
        n = self.view.n
        rows = np.arange(row_of(n, begin), row_of(n, end - 1) + 1)
        first, last = np.maximum(row_start(n, rows), begin), np.minimum(row_start(n, rows + 1), end)
        for node, more in ((rows, last - first), (rows + 1, first - last)):
            np.add.at(self._passed, node, more)
        columns = rows + 1 + first - row_start(n, rows)
        np.add.at(self._passed, columns, 1)
        np.add.at(self._passed, columns + last - first, -1)

    def _take(self, kind: Visibility, begin: int, asked: Octets, nested: Sequence[Octets]) -> None:
        """Count, of a class, who was asked, who took part, and who said 1 in each round."""
        for counts, bits in zip((self._asked[kind], *self._nested[kind]), (asked, *nested), strict=True):
            self._add(begin, bits, counts)

    def _add(self, begin: int, bits: Octets, counts: Counts) -> None:
        row = row_of(self.view.n, begin)
        backend.kernels("bitset").add_node_ones(bits, row, begin - row_start(self.view.n, row), counts)

    def _places(self, start: int, count: int) -> dict[Visibility, Octets]:
        """Where in a run the positions of each non-public class are; the table of all positions is never made."""
        classes = self.view.classes.range(start, count)
        return {kind: np.packbits(classes == kind, bitorder="little") for kind in self._asked}

    @property
    def kinds(self) -> list[Visibility]:
        """The classes that are asked."""
        return list(self._asked)

    @property
    def passed(self) -> npt.NDArray[np.int64]:
        """How many of its positions came, of each node."""
        return np.cumsum(self._passed[:-1])

    @property
    def counts(self) -> dict[str, npt.NDArray[Any]]:
        """All that is counted; what two chunks of the positions have adds up to what both have.  [AGAIN.1]"""
        kinds, shape = len(self._asked), (self.survey.rounds + 1, self.view.n)
        return {
            "passed": self.passed,
            "asked": np.array([*self._asked.values()], np.int32).reshape(kinds, self.view.n),
            "nested": np.array([*self._nested.values()], np.int32).reshape(kinds, *shape),
        }

    @property
    def everybody(self) -> bool:
        """Whether all positions are of one class, and all of them took part."""
        held = all((self._asked[kind] == self._nested[kind][0]).all() for kind in self._asked)
        return bool(self.view.classes.is_constant and held)

    @classmethod
    def of_counts(cls, survey: PositionSurvey, view: PublicView, counts: Arrays, digests: Iterable[bytes]) -> Self:
        """The collection of all positions from the counts of all chunks, and the digest of each, in order.

        Refused where a part is missing or was counted twice.  [AGAIN.1]
        """
        whole = cls(survey, view)
        refuse_lost(counts, view.n)
        whole._asked = dict(zip(whole._asked, counts["asked"], strict=True))
        whole._nested = dict(zip(whole._nested, counts["nested"], strict=True))
        for digest in digests:
            whole._digest.update(digest)
        whole._next = view.positions
        return whole

    @property
    def class_sizes(self) -> dict[Visibility, int]:
        """How many positions each class has."""
        hidden = {kind: _half(self._asked[kind]) if kind in self._asked else 0 for kind in NON_PUBLIC}
        return {Visibility.PUBLIC: self.view.positions - sum(hidden.values()), **hidden}

    def response_rates(self) -> dict[Visibility, float]:
        """The share of each non-public class that took part in every round; 1 for an empty class."""
        sizes = self.class_sizes
        return {kind: _half(self._nested[kind][0]) / sizes[kind] if sizes[kind] else 1.0 for kind in NON_PUBLIC}

    def rate_variance(self) -> float:
        """As for a whole collection.  [AGGREGATE.5]"""
        rates = self.response_rates()
        edges = {kind: self._edges_of(kind) for kind in self._asked if rates[kind]}
        return rate_variance(rates, self.class_sizes, edges, len(self.view.edges))

    def _edges_of(self, kind: Visibility) -> float:
        return float(weighted(score(self.scores_of(kind)), self.outcomes_of(kind)).sum() / 2)

    def node_sums(self, function: ScoreFunction) -> Floats:
        """For each node, the sum over its positions of a function of the score that is 0 at 0.  [AGGREGATE.1]"""
        self._refuse_missing()
        total = public_graph(self.view).degrees * function(np.ones(1))
        for kind in self._asked:
            total = total + weighted(function(self.scores_of(kind)), self.outcomes_of(kind))
        return total

    def scores_of(self, kind: Visibility) -> Floats:
        """The score of each outcome of a class, over the share of it that took part."""
        rate = self.response_rates()[kind]
        if not rate:
            raise BadStatistic(f"No {kind} position has answered in every round, so nothing can be estimated yet.")
        return np.array([float(value) / rate for value in self.survey.channel(kind).scores])

    def outcomes_of(self, kind: Visibility) -> Counts:
        """(outcomes, n): how many positions of a class each node has with each outcome."""
        found: Counts = -np.diff(self._nested[kind], axis=0, append=0)
        return found

    def _refuse_missing(self) -> None:
        if self._next < self.view.positions:
            raise BadInput(
                f"Answers of {self._next:,} of {self.view.positions:,} positions have arrived. Absorb them all first."
            )

    @property
    def degree_bounds(self) -> tuple[Floats, Floats]:
        """Between its public edges and those plus its non-public positions: what everybody knows of a degree."""
        low = public_graph(self.view).degrees.astype(np.float64)
        return low, low + sum(self._asked.values(), np.zeros(self.view.n))

    def best_scores(self, with_cycles: bool = True) -> StreamedCollection:
        """Itself: sums over each node's scores are all that degrees need."""
        return self

    def cannot_estimate(self, name: str) -> str:
        """The sentence that refuses a statistic for which counts do not suffice."""
        return f"{name} needs every answer at once; streamed are {', '.join(STATISTICS)}."


def refuse_lost(sums: Arrays, n: int) -> None:
    """Refuse sums in which a part is missing or came twice.  [AGAIN.1]

    ``passed`` are each node's positions that came, of which there must be n − 1; ``times`` how often each part did.
    """
    if (sums["passed"] != n - 1).any() or (sums["times"] != 1).any():
        raise LostTask(
            "Sums over the chunks of the answers do not have every chunk once. Nothing was estimated; delete the "
            "folder of the checkpoint, and begin again."
        )


def _octets(packed: bytes) -> Octets:
    return np.frombuffer(packed, np.uint8)


def _union(places: dict[Visibility, Octets]) -> Octets | np.uint8:
    union: Octets | np.uint8 = np.bitwise_or.reduce([*places.values()]) if places else np.uint8(0)
    return union


def _half(counts: Counts) -> int:
    """Every position was counted at both of its ends."""
    return int(counts.sum(dtype=np.int64)) // 2
