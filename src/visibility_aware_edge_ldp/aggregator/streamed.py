"""POSITION reports that are counted as they arrive and not kept: degrees of more nodes than memory has positions for.

For each node and class it keeps how many positions took part and how many of them said 1; edges, degrees, the largest
degree and the degree histogram need no more. The variance of k-stars sums over positions what both ends have in all, so
it would take every answer a second time: k-stars, as triangles, come from a whole collection.

Reports come in the order of positions, and those of one run round after round. What ``PositionCollection`` refuses is
refused here; a second answer cannot come, because it would be out of order.  [AGGREGATE.1]
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.errors import BadInput, BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.kernels import node_ones
from visibility_aware_edge_ldp.privacy.composition import Release
from visibility_aware_edge_ldp.public.positions import row_of, row_start
from visibility_aware_edge_ldp.public.report import PositionReport
from visibility_aware_edge_ldp.public.survey import PositionSurvey
from visibility_aware_edge_ldp.public.view import Octets, PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility
from visibility_aware_edge_ldp.subgraphs.degree_histogram import histogram
from visibility_aware_edge_ldp.subgraphs.max_degree import max_degree
from visibility_aware_edge_ldp.subgraphs.scores import Floats, ScoreFunction, score, spread
from visibility_aware_edge_ldp.subgraphs.statistic import check_statistics

Counts = npt.NDArray[np.int32]
STATISTICS = ("edges", "degrees", "max_degree", "degree_histogram")


class StreamedCollection:
    """Per node and non-public class: positions asked, those that took part in all rounds, said 1, and said 1 again."""

    def __init__(self, survey: PositionSurvey, view: PublicView) -> None:
        if (survey.roster, survey.policy) != (view.roster_digest, view.policy.digest):
            raise ProtocolViolation("The survey is about another roster or another policy than this public view.")
        if survey.sample is not None:
            raise ProtocolViolation("A sample's answers are kept, not counted as they come.")
        self.survey, self.view = survey, view
        present = [kind for kind in NON_PUBLIC if kind in view.present]
        self._asked: dict[Visibility, Counts] = {kind: np.zeros(view.n, np.int32) for kind in present}
        self._nested = {kind: np.zeros((survey.rounds + 1, view.n), np.int32) for kind in present}
        self._next, self._run = 0, list[PositionReport]()
        self._seen: set[str] = set()
        self._digest = hashlib.sha256(f"{survey.identity} ".encode())

    def absorb(self, report: PositionReport) -> None:
        """Take the next report in. The same report again changes nothing."""
        if report.digest in self._seen:
            return
        self._check(report)
        self._seen.add(report.digest)
        self._digest.update(report.digest.encode())
        self._run.append(report)
        if report.round == self.survey.rounds:
            self._count()
            self._next, self._run = report.start + report.count, []

    def _check(self, report: PositionReport) -> None:
        if report.survey != self.survey.identity or not 1 <= report.round <= self.survey.rounds:
            raise ProtocolViolation("A report for another survey or another round was sent here.")
        if report.start + report.count > self.view.positions:
            raise ProtocolViolation(f"A report names positions beyond the last, {self.view.positions - 1}.")
        same = not self._run or report.count == self._run[0].count
        if report.start != self._next or report.round != len(self._run) + 1 or not same:
            raise ProtocolViolation(
                f"Reports must come in the order of positions, and of one run round after round: round "
                f"{len(self._run) + 1} from position {self._next} is next."
            )
        if self._run and (_octets(report.ones) & ~_octets(self._run[0].ones)).any():
            raise ProtocolViolation("A report answers in round 2 for positions that did not answer 1 in round 1.")

    def _count(self) -> None:
        """Of a run for which all rounds are here."""
        begin, size = self._run[0].start, self._run[0].count
        if not size:
            return
        complete: Octets = np.bitwise_and.reduce([_octets(report.answered) for report in self._run])
        places = self._places(begin, size)
        if (np.bitwise_or.reduce([_octets(report.answered) for report in self._run]) & ~_union(places)).any():
            raise ProtocolViolation("A report answers for public positions, which are not asked.")
        for kind, asked in places.items():
            held = complete & asked
            answers = [held & _octets(report.ones) for report in self._run]
            for counts, bits in zip((self._asked[kind], *self._nested[kind]), (asked, held, *answers), strict=True):
                self._add(begin, bits, counts)

    def _add(self, begin: int, bits: Octets, counts: Counts) -> None:
        row = row_of(self.view.n, begin)
        node_ones.fastest().add_node_ones(bits, row, begin - row_start(self.view.n, row), counts)

    def _places(self, start: int, count: int) -> dict[Visibility, Octets]:
        """Where in a run the positions of each non-public class are; the table of all positions is never made."""
        classes = self.view.classes.range(start, count)
        return {kind: np.packbits(classes == kind, bitorder="little") for kind in self._asked}

    @property
    def releases(self) -> tuple[Release, ...]:
        """What was paid for: the survey's rounds, named by what arrived."""
        return tuple(replace(release, transcript=self._digest.hexdigest()) for release in self.survey.releases)

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
        rates, sizes = self.response_rates(), self.class_sizes
        found = {kind: float(self._sums(kind, score, rates[kind]).sum() / 2) for kind in self._asked if rates[kind]}
        total = len(self.view.edges) + sum(found.values())
        if total <= 0:
            return 0.0
        partly = {kind: rates[kind] for kind in found if rates[kind] < 1}
        return sum((1 - rate) / (rate * sizes[kind]) * (found[kind] / total) ** 2 for kind, rate in partly.items())

    def node_sums(self, function: ScoreFunction) -> Floats:
        """For each node, the sum over its positions of a function of the score that is 0 at 0.  [AGGREGATE.1]"""
        self._refuse_missing()
        rates = self.response_rates()
        total: Floats = self.public_degrees * float(function(np.ones(1))[0])
        for kind in self._asked:
            if not rates[kind]:
                raise BadStatistic(f"No {kind} position has answered in every round, so nothing can be estimated yet.")
            total = total + self._sums(kind, function, rates[kind])
        return total

    def _sums(self, kind: Visibility, function: ScoreFunction, rate: float) -> Floats:
        """What one class adds to each node's sum."""
        values = function(np.array([float(value) / rate for value in self.survey.channel(kind).scores]))
        outcomes = -np.diff(self._nested[kind], axis=0, append=0)
        sums: Floats = values @ outcomes
        return sums

    def _refuse_missing(self) -> None:
        if self._next < self.view.positions:
            raise BadInput(
                f"Answers of {self._next:,} of {self.view.positions:,} positions have arrived. Absorb them all first."
            )

    @property
    def public_degrees(self) -> Floats:
        """How many public edges each node has."""
        return np.bincount(self.view.edges.ravel(), minlength=self.view.n).astype(np.float64)

    @property
    def degree_bounds(self) -> tuple[Floats, Floats]:
        """Between its public edges and those plus its non-public positions: what everybody knows of a degree."""
        low = self.public_degrees
        return low, low + sum(self._asked.values(), np.zeros(self.view.n))


def estimate(collection: StreamedCollection, statistics: Sequence[str]) -> dict[str, Estimate]:
    """What ``position.estimate`` would find for these statistics, from counts alone."""
    wanted = check_statistics(statistics, collection.view.n)
    missing = [name for name in wanted if name not in STATISTICS]
    if missing:
        raise BadStatistic(f"{missing[0]} needs every answer at once; streamed are {', '.join(STATISTICS)}.")
    noisy, variance = collection.node_sums(score), collection.node_sums(spread)
    makers: dict[str, Callable[[StreamedCollection, Floats, Floats], Estimate]] = {
        "edges": _edges,
        "degrees": _degrees,
        "max_degree": _max_degree,
        "degree_histogram": _histogram,
    }
    return {name: makers[name](collection, noisy, variance) for name in wanted}


def _edges(collection: StreamedCollection, noisy: Floats, variance: Floats) -> Estimate:
    value, error = float(noisy.sum() / 2), float(variance.sum() / 2)
    saved = value**2 * collection.rate_variance()
    # The saving is itself an estimate; it is never believed to be more than half.
    return Estimate("edges", value, max(error - saved, error / 2, 0.0), collection.releases)


def _degrees(collection: StreamedCollection, noisy: Floats, variance: Floats) -> Estimate:
    names = collection.view.names
    return Estimate("degrees", noisy, np.maximum(variance, 0.0), collection.releases, labels=names)


def _max_degree(collection: StreamedCollection, noisy: Floats, variance: Floats) -> Estimate:
    found = max_degree(noisy, np.maximum(variance, 0.0), *collection.degree_bounds)
    error, releases = found.standard_error**2, collection.releases
    return Estimate("max_degree", found.value, error, releases, unbiased=False, limits=found.interval)


def _histogram(collection: StreamedCollection, noisy: Floats, variance: Floats) -> Estimate:
    found = histogram(noisy, np.maximum(variance, 0.0), *collection.degree_bounds)
    bins = [(int(low), int(high) - 1) for low, high in zip(found.edges[:-1], found.edges[1:], strict=True)]
    error, releases = found.standard_errors**2, collection.releases
    return Estimate(
        "degree_histogram", found.counts, error, releases, labels=bins, unbiased=False, limits=found.interval
    )


def _octets(packed: bytes) -> Octets:
    return np.frombuffer(packed, np.uint8)


def _union(places: dict[Visibility, Octets]) -> Octets | np.uint8:
    union: Octets | np.uint8 = np.bitwise_or.reduce([*places.values()]) if places else np.uint8(0)
    return union


def _half(counts: Counts) -> int:
    """Every position was counted at both of its ends."""
    return int(counts.sum(dtype=np.int64)) // 2
