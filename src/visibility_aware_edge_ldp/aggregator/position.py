"""A collection of POSITION reports: empty, absorb, absorb, …, scores.  [AGGREGATE.1], [SAMPLE.3]

And the source documents' own estimator from it, for comparison.  [AGGREGATE.4]
"""

import math
from collections.abc import Callable, Sequence
from functools import cached_property, reduce
from itertools import combinations_with_replacement

import numpy as np

from visibility_aware_edge_ldp.aggregator.collection import (
    AnswerBits,
    aligned,
    public_graph,
    refuse_beyond,
    refuse_other_survey,
)
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.aggregator.score_estimates import ScoredCollection, rate_variance
from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.plain.bitset import row_sums
from visibility_aware_edge_ldp.compute.tile_layout import Places
from visibility_aware_edge_ldp.counts.group_planes import GroupPlane, ScopeScores, scope_scores
from visibility_aware_edge_ldp.counts.node_groups import GroupScores
from visibility_aware_edge_ldp.counts.scores import Floats, Outcomes, Scores, scores_of
from visibility_aware_edge_ldp.counts.triangles import PairBlock, Sums, sum_over_pairs
from visibility_aware_edge_ldp.errors import BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.public.positions import TILE
from visibility_aware_edge_ldp.public.statistic import check_statistics, star_size
from visibility_aware_edge_ldp.public.surveys.position import PositionReport, PositionSurvey
from visibility_aware_edge_ldp.public.surveys.sample import SampledReport
from visibility_aware_edge_ldp.public.transcript import Transcript
from visibility_aware_edge_ldp.public.view import Octets, PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

# Nodes of highest noisy degree that document 003 looks at again.
CANDIDATES = 10


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
        """The positions of a class that took part; all that did, where no other class is asked."""
        is_all = self.view.class_sizes[kind] + self.view.class_sizes[Visibility.PUBLIC] == self.view.positions
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
        scores = enumerate(self.survey.channel(kind).scores)
        return sum(float(v) * (counts[i] - counts[i + 1]) for i, v in scores) / (rate * float(self.survey.rate))

    def nested(self, kind: Visibility) -> list[Octets]:
        """For a class: the positions that took part, those of them that said 1, those that said 1 again."""
        held = self._held(kind)
        if held is self._answered[0]:
            return [held, self._ones[0]]  # of one class and round: who said 1 has answered
        return [held, *(held & ones for ones in self._ones)]

    def group_scores(self) -> GroupScores | None:
        """The same scores in a single plane, where classes go by kinds of nodes and all answered once.  [KINDS.1]"""
        bound, once = self.view.classes.by_kinds, self.survey.rounds == 1 and not self.survey.sample
        if bound is None or not once or set(self.response_rates().values()) != {1.0}:
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

    def outcome_planes(self) -> tuple[Outcomes, dict[int, GroupPlane]]:
        """For public edges and each asked class: nested bits and their scores; and which planes go by groups."""
        drawn = float(self.survey.rate)
        groups: Outcomes = []
        known = self.view.classes.by_groups if self.survey.sample is None else None
        by_groups: dict[int, GroupPlane] = {}
        if len(self.view.edges):
            groups.append(([self.view.edge_bits], [1.0]))
        for kind, rate in self.response_rates().items():
            if not rate:
                raise BadStatistic(f"No {kind} position has answered in every round, so nothing can be estimated yet.")
            if self.asked_sizes[kind]:
                values = [float(v) / (rate * drawn) for v in self.survey.channel(kind).scores]
                if known is not None and rate == 1:
                    by_groups[sum(len(bits) for bits, _ in groups)] = GroupPlane(known.kinds, known.table == kind)
                groups.append((self.nested(kind), values))
        return groups, by_groups

    def scores(self) -> Scores:
        """The unbiased score of every position, as planes.  [AGGREGATE.1], [SAMPLE.3]"""
        groups, by_groups = self.outcome_planes()
        return scores_of(groups, self.view.n, by_groups)

    def best_scores(self, with_cycles: bool = True) -> Scores | GroupScores | ScopeScores:
        """The scores in a single plane where that is possible, and else in a plane for each outcome.

        Where 4-cycles are not asked for, planes that go by groups of nodes need not be made.  [SCOPE.6]
        """
        if (found := self.group_scores()) is not None:
            return found
        outcomes, by_groups = self.outcome_planes()
        by_tables = None if with_cycles else scope_scores(outcomes, self.view.n, by_groups)
        return by_tables or scores_of(outcomes, self.view.n, by_groups)


def ones_in(octets: Octets) -> int:
    """How many bits are one."""
    return int(backend.kernels("response").ones_in(octets))


def estimate_ipw_capped(collection: PositionCollection, statistics: Sequence[str]) -> dict[str, Estimate]:
    """Edges, max degree, triangles and k-stars as document 003 computes them: inverse weights, capped and penalised.

    For comparison: it reads two honest rounds, is biased, and has no standard error.  [AGGREGATE.4]
    """
    if collection.survey.rounds != 2:
        raise BadStatistic("ipw_capped reads two rounds; ask with rounds=2.")
    if collection.survey.sample is not None:
        raise BadStatistic("ipw_capped knows nothing of samples; ask every position.")
    wanted = check_statistics(statistics, collection.view.n)
    return {
        name: Estimate(name, _value(collection, name), math.nan, collection.releases, unbiased=False) for name in wanted
    }


def _value(collection: PositionCollection, statistic: str) -> float:
    if (k := star_size(statistic)) is not None:
        return _stars(collection, k)
    methods: dict[str, Callable[[PositionCollection], float]] = {
        "edges": lambda found: float(_debiased_degrees(found).sum() / 2),
        "max_degree": _max_degree,
        "triangles": _triangles,
    }
    if statistic not in methods:
        raise BadStatistic(f"ipw_capped has no {statistic}; it has {', '.join(methods)} and stars:K.")
    return methods[statistic](collection)


def _detection(collection: PositionCollection, kind: Visibility) -> tuple[float, float]:
    """p₁p₂ and q₁q₂: how often a true and a false edge say 1 twice."""
    first, second = (collection.survey.mechanism(kind, number) for number in (1, 2))
    return float(first.keep * second.keep), float(first.flip * second.flip)


def _node_counts(collection: PositionCollection, kind: Visibility, depth: int) -> Floats:
    """Per node: its positions that took part (0), said 1 (1), said 1 again (2)."""
    return row_sums(backend.plane_of(collection.nested(kind)[depth], collection.view.n)).astype(np.float64)


def _public_degrees(collection: PositionCollection) -> Floats:
    return public_graph(collection.view).degrees.astype(np.float64)


def _degrees(collection: PositionCollection, weighed: Callable[[Floats, float, float], Floats]) -> Floats:
    """An exact public part, and what is found of the surplus of each class and its detections, cut off at 0."""
    total = _public_degrees(collection)
    for kind in NON_PUBLIC:
        true, false = _detection(collection, kind)
        surplus = _node_counts(collection, kind, 2) - _node_counts(collection, kind, 0) * false
        total += np.maximum(0, weighed(surplus, true, false))
    return total


def _debiased_degrees(collection: PositionCollection) -> Floats:
    """§4.2: an exact public part, and a debiased private one cut off at 0."""
    return _degrees(collection, lambda surplus, true, false: surplus / (true - false))


def _max_degree(collection: PositionCollection) -> float:
    """§4.2: the ten nodes of highest noisy degree in round 1 are looked at again."""
    first = _public_degrees(collection) + sum(_node_counts(collection, kind, 1) for kind in NON_PUBLIC)
    candidates = np.argsort(-first, kind="stable")[:CANDIDATES]
    return float(min(_debiased_degrees(collection)[candidates].max(), collection.view.n - 1))


def _stars(collection: PositionCollection, k: int) -> float:
    """§6.2: C(d, k) of a rounded, capped degree."""
    total = _degrees(collection, lambda surplus, true, _: surplus * _weight(true, cap=5.0, floor=0.6))
    return float(sum(math.comb(degree, k) for degree in np.round(total).astype(int).tolist()))


def _weight(detection: float, cap: float, floor: float) -> float:
    """An inverse probability, capped, and shrunk towards ``floor`` of itself where detection is rare."""
    if detection <= 0.01:
        return 0.0
    weight = min(1 / detection, cap)
    return weight * (floor + (1 - floor) * detection / 0.3) if detection < 0.3 else weight


def _triangles(collection: PositionCollection) -> float:
    """§5.2: confirmed triangles by how many of their sides are not public, weighted, less a correction."""
    confirmed = _confirmed_triangles(collection)
    weighted, counted = 0.0, 0.0
    for sides, count in confirmed.items():
        chance = math.prod(_detection(collection, kind)[0] for kind in sides if kind is not Visibility.PUBLIC)
        weight = 1.0 if chance == 1 else _weight(chance, cap=50.0, floor=0.5)
        weighted += weight * count
        counted += count if weight else 0
    public = confirmed.get((Visibility.PUBLIC,) * 3, 0.0)
    false_rate = float(collection.survey.mechanism(Visibility.PRIVATE, 2).flip) ** 2
    correction = 0.5 * false_rate * max(0.0, _candidate_triangles(collection) - counted)
    return public + max(0.0, weighted - public - correction)


def _confirmed_triangles(collection: PositionCollection) -> dict[tuple[Visibility, ...], float]:
    """How many triangles of twice-confirmed edges have sides of which classes."""
    layers = {Visibility.PUBLIC: collection.view.edge_bits} | {kind: collection.nested(kind)[2] for kind in NON_PUBLIC}
    scores = scores_of([([flat], [1.0]) for flat in layers.values()], collection.view.n)
    kinds = list(layers)
    sums = sum_over_pairs(scores, lambda block: _sides(block, len(kinds)))
    return {tuple(kinds[int(place)] for place in key): count for key, count in sums.items()}


def _sides(block: PairBlock, layers: int) -> Sums:
    """Triangles of the block by the layers of their sides, each counted from its odd side once."""
    found = {}
    for triple in combinations_with_replacement(range(layers), 3):
        a, b, c = triple if triple[0] != triple[1] else triple[::-1]
        count = float((block.inside(a) * block.shared(b, c)).sum())
        found["".join(map(str, triple))] = count / 3 if a == b == c else count
    return found


def _candidate_triangles(collection: PositionCollection) -> float:
    """Triangles among public edges and first answers of 1."""
    flat = collection.view.edge_bits
    for kind in NON_PUBLIC:
        flat = flat | collection.nested(kind)[1]
    scores = scores_of([([flat], [1.0])], collection.view.n)
    return sum_over_pairs(scores, lambda block: _sides(block, 1))["000"]
