"""A collection of POSITION reports: empty, absorb, absorb, …, scores.  [AGGREGATE.1], [SAMPLE.3]"""

from functools import cached_property, reduce

import numpy as np

from visibility_aware_edge_ldp.aggregator.collection import AnswerBits, aligned, refuse_beyond, refuse_other_survey
from visibility_aware_edge_ldp.aggregator.score_estimates import ScoredCollection, rate_variance
from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.tiles.layout import Places
from visibility_aware_edge_ldp.counts.node_groups import GroupScores
from visibility_aware_edge_ldp.counts.scores import Scores, scores_of
from visibility_aware_edge_ldp.errors import BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.public.positions import TILE
from visibility_aware_edge_ldp.public.surveys.position import PositionReport, PositionSurvey
from visibility_aware_edge_ldp.public.surveys.sample import SampledReport
from visibility_aware_edge_ldp.public.transcript import Transcript
from visibility_aware_edge_ldp.public.view import Octets, PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility


class PositionCollection(ScoredCollection, AnswerBits[PositionReport | SampledReport]):
    """Answers of all positions: one packed bit a position for each thing known of it."""

    protocol = "position"

    def __init__(self, survey: PositionSurvey, view: PublicView) -> None:
        super().__init__(survey, view, view.positions)
        self._rates: dict[Visibility, float] | None = None  # until the next report

    def add(self, report: PositionReport | SampledReport) -> None:
        """Keep the answers of positions that had not answered in this round before."""
        if isinstance(report, SampledReport) != (self.survey.sample is not None):
            raise ProtocolViolation("A sampled survey takes reports of its sample, and any other survey takes none.")
        whole = self._spread(report) if isinstance(report, SampledReport) else report
        refuse_other_survey(whole, self.survey)
        refuse_beyond(whole, self.view)
        place, answered = aligned(whole.start, whole.count, whole.answered)
        if (answered & self.view.class_bits[Visibility.PUBLIC][place]).any():
            raise ProtocolViolation("A report answers for public positions, which are not asked.")
        self._keep(whole.round, whole.start, whole.count, whole.answered, whole.ones)
        self._rates = None

    def _spread(self, report: SampledReport) -> PositionReport:
        """The same answers with a place for every position of the run; those that were not drawn did not answer."""
        refuse_beyond(report, self.view)
        inside = self.survey.drawn.between(report.start, report.count) - report.start
        if inside.size != report.drawn:
            raise ProtocolViolation(f"The coin draws {inside.size} positions of the run; a report has {report.drawn}.")
        run = np.zeros(report.count, np.bool_)
        run[inside] = True
        places, deposit = np.packbits(run, bitorder="little"), backend.kernels("response").deposit
        answered, ones = (
            deposit(np.frombuffer(bits, np.uint8), places).tobytes() for bits in (report.answered, report.ones)
        )
        return PositionReport(report.survey, report.round, report.start, report.count, answered, ones)

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
        rates = self.response_rates()
        if all(rate in (0, 1) for rate in rates.values()):
            return 0.0
        edges = {kind: self._class_edges(kind, rates[kind]) for kind in NON_PUBLIC if rates[kind]}
        return rate_variance(rates, self.asked_sizes, edges, len(self.view.edges))

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

    def group_scores(self) -> GroupScores | None:
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
        places = Places(bound.kinds)
        flat = self._ones[0] | self.view.edge_bits if len(self.view.edges) else self._ones[0]
        if len(places.sizes) == 1:
            plane = backend.kernels("bitset").strips_of(flat, self.view.n, places.sides)
        else:
            flat_plane = backend.plane_of(flat, self.view.n)
            plane = backend.kernels("tiles").arranged(flat_plane, places.slots, places.sides)
        return GroupScores(places, low, high, plane)

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

    def best_scores(self) -> Scores | GroupScores:
        """The scores in a single plane where that is possible, and else in a plane for each outcome."""
        return self.group_scores() or self.scores()


def ones_in(octets: Octets) -> int:
    """How many bits are one."""
    return int(backend.kernels("response").ones_in(octets))
