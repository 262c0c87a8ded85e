"""A collection of POSITION reports: empty, absorb, absorb, …, scores.  [AGGREGATE.1]"""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np

from visibility_aware_edge_ldp.errors import BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.privacy.composition import Release
from visibility_aware_edge_ldp.public.report import PositionReport, unpack
from visibility_aware_edge_ldp.public.survey import PositionSurvey
from visibility_aware_edge_ldp.public.transcript import Transcript
from visibility_aware_edge_ldp.public.view import Octets, PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility
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

    def absorb(self, report: PositionReport) -> None:
        """Take a report in. The same report again changes nothing; a second answer is refused."""
        if report.digest in self._seen:
            return
        place, answered, ones = self._checked(report)
        index = report.round - 1
        self._answered[index][place] |= answered
        self._ones[index][place] |= ones
        self._seen.add(report.digest)

    def _checked(self, report: PositionReport) -> tuple[slice, Octets, Octets]:
        if report.survey != self.survey.identity or not 1 <= report.round <= self.survey.rounds:
            raise ProtocolViolation("A report for another survey or another round was sent here.")
        if report.start + report.count > self.view.positions:
            raise ProtocolViolation(f"A report names positions beyond the last, {self.view.positions - 1}.")
        place, answered = _aligned(report.start, report.count, report.answered)
        _, ones = _aligned(report.start, report.count, report.ones)
        index = report.round - 1
        if (answered & self.view.class_bits[Visibility.PUBLIC][place]).any():
            raise ProtocolViolation("A report answers for public positions, which are not asked.")
        if (answered & self._answered[index][place]).any():
            raise ProtocolViolation("A second, different answer of a position in the same round; the first one stands.")
        if index and (ones & ~self._ones[0][place]).any():
            raise ProtocolViolation("A report answers in round 2 for positions that did not answer 1 in round 1.")
        return place, answered, ones

    @property
    def releases(self) -> tuple[Release, ...]:
        """What was paid for: the survey's rounds, named by what arrived."""
        digest = hashlib.sha256()
        for octets in (*self._answered, *self._ones):
            digest.update(octets.tobytes())
        return tuple(replace(release, transcript=digest.hexdigest()) for release in self.survey.releases)

    @property
    def transcript(self) -> Transcript:
        """The first answers of everybody, to be broadcast."""
        return Transcript(self.survey.identity, self._answered[0], self._ones[0])

    @property
    def complete(self) -> Octets:
        """The positions that took part in every round; only they are used.  [CHANNEL.5]"""
        complete: Octets = np.bitwise_and.reduce(self._answered)
        return complete

    def response_rates(self) -> dict[Visibility, float]:
        """The share of each non-public class that took part in every round; 1 for an empty class."""
        complete, sizes = self.complete, self.view.class_sizes
        answers = {kind: _ones_in(complete & self.view.class_bits[kind]) for kind in NON_PUBLIC}
        return {kind: answers[kind] / sizes[kind] if sizes[kind] else 1.0 for kind in NON_PUBLIC}

    def rate_variance(self) -> float:
        """Relative variance of a count per (positions in its subgraph)², that dividing by observed rates removes.

        [AGGREGATE.5]
        """
        rates, sizes = self.response_rates(), self.view.class_sizes
        found = {kind: self._class_edges(kind, rates[kind]) for kind in NON_PUBLIC if rates[kind]}
        total = len(self.view.edges) + sum(found.values())
        if total <= 0:
            return 0.0
        partly = {kind: rate for kind, rate in rates.items() if 0 < rate < 1}
        return sum((1 - rate) / (rate * sizes[kind]) * (found[kind] / total) ** 2 for kind, rate in partly.items())

    def _class_edges(self, kind: Visibility, rate: float) -> float:
        counts = [_ones_in(bits) for bits in self.nested(kind)] + [0]
        scores = self.survey.channel(kind).scores
        return sum(float(v) * (counts[i] - counts[i + 1]) for i, v in enumerate(scores)) / rate

    def nested(self, kind: Visibility) -> list[Octets]:
        """For a class: the positions that took part, those of them that said 1, those that said 1 again."""
        held = self.complete & self.view.class_bits[kind]
        return [held, *(held & ones for ones in self._ones)]

    def scores(self) -> Scores:
        """The unbiased score of every position, as planes.  [AGGREGATE.1]"""
        groups: list[tuple[list[Octets], list[float]]] = []
        if len(self.view.edges):
            groups.append(([self.view.edge_bits], [1.0]))
        for kind, rate in self.response_rates().items():
            if not rate:
                raise BadStatistic(f"No {kind} position has answered in every round, so nothing can be estimated yet.")
            if self.view.class_sizes[kind]:
                groups.append((self.nested(kind), [float(v) / rate for v in self.survey.channel(kind).scores]))
        return scores_of(groups, self.view.n)


def _aligned(start: int, count: int, packed: bytes) -> tuple[slice, Octets]:
    """Packed bits shifted to where they belong in the flat array, and the bytes they belong to."""
    place = slice(start >> 3, (start + count + 7) >> 3)
    if start % 8 == 0:
        return place, np.frombuffer(packed, np.uint8)
    shifted = np.concatenate([np.zeros(start % 8, np.bool_), unpack(packed, count)])
    return place, np.packbits(shifted, bitorder="little")


def _ones_in(octets: Octets) -> int:
    return int(np.bitwise_count(octets).sum(dtype=np.int64))
