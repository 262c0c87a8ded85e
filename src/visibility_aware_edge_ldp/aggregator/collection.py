"""A collection of POSITION reports: empty, absorb, absorb, …, scores.  [AGGREGATE.1], [SAMPLE.3]"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property, reduce

import numpy as np

from visibility_aware_edge_ldp.errors import BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.kernels import choice
from visibility_aware_edge_ldp.privacy.composition import Release
from visibility_aware_edge_ldp.public.positions import TILE
from visibility_aware_edge_ldp.public.report import PositionReport, SampledReport
from visibility_aware_edge_ldp.public.survey import PositionSurvey
from visibility_aware_edge_ldp.public.transcript import Transcript
from visibility_aware_edge_ldp.public.view import Octets, PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility
from visibility_aware_edge_ldp.subgraphs.kinds import KindScores, Places
from visibility_aware_edge_ldp.subgraphs.scores import Scores, scores_of


class PositionCollection:
    """All that has arrived for one survey, one packed bit a position for each thing known of it."""

    def __init__(self, survey: PositionSurvey, view: PublicView) -> None:
        if (survey.roster, survey.policy) != (view.roster_digest, view.policy.digest):
            raise ProtocolViolation("The survey is about another roster or another policy than this public view.")
        self.survey, self.view = survey, view
        size = (view.positions + 7) // 8
        self._answered = [np.zeros(size, np.uint8) for _ in range(survey.rounds)]
        self._ones = [np.zeros(size, np.uint8) for _ in range(survey.rounds)]
        self._seen: set[str] = set()
        self._rates: dict[Visibility, float] | None = None  # until the next report

    def absorb(self, report: PositionReport | SampledReport) -> None:
        """Take a report in. The same report again changes nothing; a second answer is refused."""
        if report.digest in self._seen:
            return
        if isinstance(report, SampledReport) != (self.survey.sample is not None):
            raise ProtocolViolation("A sampled survey takes reports of its sample, and any other survey takes none.")
        place, answered, ones = self._checked(self._spread(report) if isinstance(report, SampledReport) else report)
        index = report.round - 1
        self._answered[index][place] |= answered
        self._ones[index][place] |= ones
        self._seen.add(report.digest)
        self._rates = None

    def _spread(self, report: SampledReport) -> PositionReport:
        """The same answers with a place for every position of the run; those that were not drawn did not answer."""
        _refuse_beyond(report, self.view)
        inside = self.survey.drawn.between(report.start, report.count) - report.start
        if inside.size != report.drawn:
            raise ProtocolViolation(f"The coin draws {inside.size} positions of the run; a report has {report.drawn}.")
        run = np.zeros(report.count, np.bool_)
        run[inside] = True
        places, deposit = np.packbits(run, bitorder="little"), choice.response_kernels().deposit
        answered, ones = (
            deposit(np.frombuffer(bits, np.uint8), places).tobytes() for bits in (report.answered, report.ones)
        )
        return PositionReport(report.survey, report.round, report.start, report.count, answered, ones)

    def _checked(self, report: PositionReport) -> tuple[slice, Octets, Octets]:
        if report.survey != self.survey.identity or not 1 <= report.round <= self.survey.rounds:
            raise ProtocolViolation("A report for another survey or another round was sent here.")
        _refuse_beyond(report, self.view)
        place, answered = aligned(report.start, report.count, report.answered)
        _, ones = aligned(report.start, report.count, report.ones)
        index = report.round - 1
        if (answered & self.view.class_bits[Visibility.PUBLIC][place]).any():
            raise ProtocolViolation("A report answers for public positions, which are not asked.")
        refuse_second(answered, self._answered[index][place])
        if index:
            refuse_unasked(ones, self._ones[0][place])
        return place, answered, ones

    @property
    def releases(self) -> tuple[Release, ...]:
        """What was paid for: the survey's rounds, named by what arrived."""
        return releases_of(self.survey, (*self._answered, *self._ones))

    @property
    def transcript(self) -> Transcript:
        """The first answers of everybody, to be broadcast."""
        return Transcript(self.survey.identity, self._answered[0], self._ones[0])

    @property
    def complete(self) -> Octets:
        """The positions that took part in every round; only they are used.  [CHANNEL.5]"""
        return reduce(np.bitwise_and, self._answered)

    @cached_property
    def asked_sizes(self) -> dict[Visibility, int]:
        """How many positions of each class are asked: all of a non-public class, or those that a sample draws."""
        if self.survey.sample is None:
            return self.view.class_sizes
        drawn = self._drawn_bits()
        return {kind: ones_in(self.view.class_bits[kind] & drawn) for kind in NON_PUBLIC}

    def _drawn_bits(self) -> Octets:
        parts, drawn = [np.empty(0, np.uint8)], self.survey.drawn
        for start in range(0, self.view.positions, TILE):
            run = np.zeros(min(TILE, self.view.positions - start), np.bool_)
            run[drawn.between(start, run.size) - start] = True
            parts.append(np.packbits(run, bitorder="little"))
        return np.concatenate(parts)

    def response_rates(self) -> dict[Visibility, float]:
        """The share of what is asked of each non-public class that took part in every round; 1 for an empty class."""
        if self._rates is None:
            sizes = self.asked_sizes
            self._rates = {kind: ones_in(self._held(kind)) / sizes[kind] if sizes[kind] else 1.0 for kind in NON_PUBLIC}
        return dict(self._rates)

    def _held(self, kind: Visibility) -> Octets:
        """The positions of a class that took part; all that did, where there is no other class."""
        is_all = self.view.class_sizes[kind] == self.view.positions
        return self.complete if is_all else self.complete & self.view.class_bits[kind]

    def rate_variance(self) -> float:
        """Relative variance of a count per (positions in its subgraph)², that dividing by observed rates removes.

        [AGGREGATE.5]
        """
        rates, sizes = self.response_rates(), self.asked_sizes
        if all(rate in (0, 1) for rate in rates.values()):
            return 0.0
        found = {kind: self._class_edges(kind, rates[kind]) for kind in NON_PUBLIC if rates[kind]}
        total = len(self.view.edges) + sum(found.values())
        if total <= 0:
            return 0.0
        partly = {kind: rate for kind, rate in rates.items() if 0 < rate < 1}
        return sum((1 - rate) / (rate * sizes[kind]) * (found[kind] / total) ** 2 for kind, rate in partly.items())

    def _class_edges(self, kind: Visibility, rate: float) -> float:
        counts = [ones_in(bits) for bits in self.nested(kind)] + [0]
        scores = self.survey.channel(kind).scores
        return sum(float(v) * (counts[i] - counts[i + 1]) for i, v in enumerate(scores)) / (
            rate * float(self.survey.rate)
        )

    def nested(self, kind: Visibility) -> list[Octets]:
        """For a class: the positions that took part, those of them that said 1, those that said 1 again."""
        held = self._held(kind)
        if held is self._answered[0]:
            return [held, self._ones[0]]  # of one class and round: who said 1 has answered
        return [held, *(held & ones for ones in self._ones)]

    def kind_scores(self) -> KindScores | None:
        """The same scores in a single plane, where classes go by kinds of nodes and all answered once.  [KINDS.1]"""
        bound = self.view.classes.by_kinds
        if (
            bound is None
            or self.survey.sample
            or self.survey.rounds > 1
            or set(self.response_rates().values()) != {1.0}
        ):
            return None
        scores = {kind: self.survey.channel(kind).scores for kind in NON_PUBLIC} | {Visibility.PUBLIC: (0, 1)}
        low, high = (np.array([[float(scores[Visibility(c)][i]) for c in row] for row in bound.table]) for i in (0, 1))
        places, kernels = Places(bound.kinds), choice.tile_kernels()
        flat = self._ones[0] | self.view.edge_bits if len(self.view.edges) else self._ones[0]
        if len(places.sizes) == 1:
            plane = kernels.strips_of(flat, self.view.n, places.sides)
        else:
            plane = kernels.arranged(choice.plane_of()(flat, self.view.n), places.slots, places.sides)
        return KindScores(places, low, high, plane)

    def scores(self) -> Scores:
        """The unbiased score of every position, as planes.  [AGGREGATE.1], [SAMPLE.3]"""
        drawn = float(self.survey.rate)
        groups: list[tuple[list[Octets], list[float]]] = []
        if len(self.view.edges):
            groups.append(([self.view.edge_bits], [1.0]))
        for kind, rate in self.response_rates().items():
            if not rate:
                raise BadStatistic(f"No {kind} position has answered in every round, so nothing can be estimated yet.")
            if self.asked_sizes[kind]:
                values = [float(v) / (rate * drawn) for v in self.survey.channel(kind).scores]
                groups.append((self.nested(kind), values))
        return scores_of(groups, self.view.n)


def _refuse_beyond(report: PositionReport | SampledReport, view: PublicView) -> None:
    if report.start + report.count > view.positions:
        raise ProtocolViolation(f"A report names positions beyond the last, {view.positions - 1}.")


def releases_of(survey: PositionSurvey, kept: Iterable[Octets]) -> tuple[Release, ...]:
    """A survey's rounds, named by what was kept of them."""
    digest = hashlib.sha256()
    for octets in kept:
        digest.update(octets.data)
    return tuple(replace(release, transcript=digest.hexdigest()) for release in survey.releases)


def ones_in(octets: Octets) -> int:
    """How many bits are one."""
    return int(choice.response_kernels().ones_in(octets))


def refuse_second(answered: Octets, before: Octets) -> None:
    """A position answers once in a round."""
    if (answered & before).any():
        raise ProtocolViolation("A second, different answer of a position in the same round; the first one stands.")


def refuse_unasked(ones: Octets, first: Octets) -> None:
    """Round 2 asks those who said 1 in round 1."""
    if (ones & ~first).any():
        raise ProtocolViolation("A report answers in round 2 for positions that did not answer 1 in round 1.")


def aligned(start: int, count: int, packed: bytes) -> tuple[slice, Octets]:
    """Packed bits shifted to where they belong in the flat array, and the bytes they belong to."""
    place = slice(start >> 3, (start + count + 7) >> 3)
    if start % 8 == 0:
        return place, np.frombuffer(packed, np.uint8)
    octets, offset = np.frombuffer(packed + b"\0", np.uint8), start % 8
    shifted = octets << np.uint8(offset)
    shifted[1:] |= octets[:-1] >> np.uint8(8 - offset)
    return place, shifted[: place.stop - place.start]
