"""POSITION with a sample, from lists: nothing has the size of all positions.  [SAMPLE.3-5]"""

from fractions import Fraction
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.aggregator.collection import (
    AnswerBits,
    Estimators,
    public_graph,
    public_positions,
    refuse_other_survey,
)
from visibility_aware_edge_ldp.aggregator.score_estimates import ESTIMATORS, ScoredCollection, rate_variance
from visibility_aware_edge_ldp.compute.reproducible_math import dot
from visibility_aware_edge_ldp.counts.scores import Floats
from visibility_aware_edge_ldp.counts.sparse_scores import ListedScores
from visibility_aware_edge_ldp.errors import BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.public.layout import part_of
from visibility_aware_edge_ldp.public.positions import Ints, ends_of, position_count
from visibility_aware_edge_ldp.public.statistic import BUTTERFLIES, FOUR_CYCLES, STATISTICS
from visibility_aware_edge_ldp.public.surveys.position import PositionSurvey
from visibility_aware_edge_ldp.public.surveys.sample import SampledReport
from visibility_aware_edge_ldp.public.view import Octets, PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

# Up to here a bit for every position is no burden.
MOST_POSITIONS = 1 << 31


def bytes_needed(n: int, rate: Fraction | float, public_edges: int = 0, rounds: int = 1) -> int:
    """Memory of the lists of a sample and of all that is estimated from them, at most."""
    listed = float(rate) * position_count(n) * 1.01 + public_edges
    # Packed answers; an end, a symbol and a sum of paths for each; counts by node and symbol; blocks of work.
    return int(listed * (rounds / 4 + 4 + 1 + 8) + 8 * n * (4 * rounds + 16)) + 400_000_000


class _Listed(NamedTuple):
    """What the answers say: positions drawn and outcomes seen of each class, and lists of those that answered.

    Symbol 0 is a public edge; each class's outcomes follow.
    """

    asked: dict[Visibility, int]
    outcomes: dict[Visibility, Ints]
    starts: Ints
    targets: npt.NDArray[np.int32]
    symbols: Octets


class SampledCollection(ScoredCollection, AnswerBits[SampledReport]):
    """Answers of a sample of positions: one packed bit a drawn position for each thing known of it."""

    protocol = "sample"
    # 4-cycles need pairs of positions that a sample does not have.
    estimators: ClassVar[Estimators] = {
        name: each
        for name, each in ESTIMATORS.items()
        if name not in (FOUR_CYCLES.name, BUTTERFLIES.name) and not (name in STATISTICS and STATISTICS[name].complete)
    }

    def __init__(self, survey: PositionSurvey, view: PublicView) -> None:
        if survey.nodes != view.n:
            raise ProtocolViolation(f"The survey is for {survey.nodes:,} nodes; this public view has {view.n:,}.")
        self.drawn = survey.drawn
        super().__init__(survey, view, self.drawn.count)
        self._found: tuple[int, _Listed] | None = None

    def add(self, report: SampledReport) -> None:
        """Keep the answers of drawn positions that had not answered in this round before."""
        refuse_other_survey(report, self.survey)
        drawn = self.drawn.between(report.start, report.count)
        if drawn.size != report.drawn:
            raise ProtocolViolation(f"The coin draws {drawn.size} positions of the run; a report has {report.drawn}.")
        public = self.view.classes.of(*ends_of(self.view.n, drawn)) == Visibility.PUBLIC
        if (np.packbits(public, bitorder="little") & np.frombuffer(report.answered, np.uint8)).any():
            raise ProtocolViolation("A report answers for public positions, which are not asked.")
        self._keep(report.round, self.drawn.rank(report.start), report.drawn, report.answered, report.ones)

    def cannot_estimate(self, name: str) -> str:
        """The sentence that refuses a statistic which lists of a sample do not answer."""
        if name in (FOUR_CYCLES.name, BUTTERFLIES.name):
            return "4-cycles need pairs that no list of a sample has; leave them out, or ask a sample of fewer users."
        return super().cannot_estimate(name)

    @property
    def asked_sizes(self) -> dict[Visibility, int]:
        """How many positions of each non-public class were drawn."""
        return self._listed.asked

    def response_rates(self) -> dict[Visibility, float]:
        """The share of the drawn positions of each class that took part in every round; 1 for an empty class."""
        found = self._listed
        return {kind: sum(found.outcomes[kind]) / asked if asked else 1.0 for kind, asked in found.asked.items()}

    def rate_variance(self) -> float:
        """As for ``PositionCollection``.  [AGGREGATE.5]"""
        edges = {kind: dot(each, np.asarray(self._listed.outcomes[kind])) for kind, each in self._values().items()}
        return rate_variance(self.response_rates(), self.asked_sizes, edges, len(self.view.edges))

    def _values(self) -> dict[Visibility, Floats]:
        """The scores of each class that has answered."""
        scores = {kind: np.array([float(v) for v in self.survey.channel(kind).scores]) for kind in NON_PUBLIC}
        rates = {kind: rate * float(self.survey.rate) for kind, rate in self.response_rates().items()}
        return {kind: scores[kind] / rates[kind] for kind in NON_PUBLIC if rates[kind]}

    def best_scores(self, with_cycles: bool = True) -> ListedScores:
        """The unbiased score of every position that has one.  [SAMPLE.3]"""
        values, found, outcomes = self._values(), self._listed, self.survey.rounds + 1
        silent = [kind for kind, asked in found.asked.items() if asked and kind not in values]
        if silent:
            raise BadStatistic(f"No {silent[0]} position has answered in every round, so nothing can be estimated yet.")
        by_symbol = [np.ones(1), *(values.get(kind, np.zeros(outcomes)) for kind in NON_PUBLIC)]
        return ListedScores(found.starts, found.targets, found.symbols, np.concatenate(by_symbol))

    @property
    def degree_bounds(self) -> tuple[Floats, Floats]:
        """What everybody knows of a degree without looking at every position."""
        low = public_graph(self.view).degrees.astype(np.float64)
        return low, low + np.minimum(hidden_positions(self.view), self.view.n - 1 - low)

    @property
    def _listed(self) -> _Listed:
        """What the answers so far say; made anew when more have arrived."""
        if self._found is None or self._found[0] != len(self._seen):
            self._found = (len(self._seen), self._list())
        return self._found[1]

    def _list(self) -> _Listed:
        kinds, lists = self.survey.rounds + 1, _Lists(self.view.n, self.drawn.count + len(self.view.edges))
        asked, outcomes = dict.fromkeys(NON_PUBLIC, 0), {kind: np.zeros(kinds, np.int64) for kind in NON_PUBLIC}
        for tile in range(self.drawn.tiles):
            drawn = self.drawn.in_tile(tile)
            classes = self.view.classes.of(*ends_of(self.view.n, drawn))
            outcome = self._outcomes(int(self.drawn.before[tile]), drawn.size)
            symbols = np.full(drawn.size, -1, np.int8)
            for place, kind in enumerate(NON_PUBLIC):
                mine = classes == kind
                asked[kind] += int(np.count_nonzero(mine))
                mine &= outcome >= 0
                outcomes[kind] += np.bincount(outcome[mine], minlength=kinds)
                symbols[mine] = outcome[mine] + 1 + place * kinds
            lists.add(*self._with_public(tile, drawn[symbols >= 0], symbols[symbols >= 0]))
        return _Listed(asked, outcomes, *lists.closed())

    def _outcomes(self, first: int, count: int) -> npt.NDArray[np.int8]:
        """For each drawn position from a rank on, how often it said 1; −1 for who did not take part in every round."""
        answered, ones = (
            [np.unpackbits(part_of(flat, first, count), count=count, bitorder="little").view(np.int8) for flat in flats]
            for flats in (self._answered, self._ones)
        )
        said: npt.NDArray[np.int8] = np.sum(ones, axis=0, dtype=np.int8)
        return np.where(np.bitwise_and.reduce(answered) > 0, said, np.int8(-1))

    def _with_public(self, tile: int, numbers: Ints, symbols: npt.NDArray[np.int8]) -> tuple[Ints, Octets]:
        """The answers of a tile with its public edges put between them."""
        edges = self.view.edge_numbers
        inside = edges[slice(*np.searchsorted(edges, [tile * self.drawn.tile, (tile + 1) * self.drawn.tile]))]
        if not inside.size:
            return numbers, symbols.view(np.uint8)
        both = np.concatenate([numbers, inside])
        order = np.argsort(both, kind="stable")
        return both[order], np.concatenate([symbols.view(np.uint8), np.zeros(inside.size, np.uint8)])[order]


class _Lists:
    """Lists that are filled position after position."""

    def __init__(self, n: int, most: int) -> None:
        self._starts, self._targets = np.zeros(n + 1, np.int64), np.empty(most, np.int32)
        self._symbols, self._filled = np.empty(most, np.uint8), 0

    def add(self, numbers: Ints, symbols: Octets) -> None:
        """The next positions, with the symbol of each."""
        u, v = ends_of(self._starts.size - 1, numbers)
        if not u.size:
            return
        part = slice(self._filled, self._filled + u.size)
        self._targets[part], self._symbols[part], self._filled = v, symbols, part.stop
        lengths = np.bincount(u - u[0])
        self._starts[u[0] + 1 : u[0] + 1 + lengths.size] += lengths

    def closed(self) -> tuple[Ints, npt.NDArray[np.int32], Octets]:
        """Where each node's list starts, the later ends, and the symbols."""
        return np.cumsum(self._starts), self._targets[: self._filled], self._symbols[: self._filled]


def hidden_positions(view: PublicView) -> Ints:
    """How many non-public positions each node has; where classes do not go by kinds of nodes, at most."""
    by_kinds = view.classes.by_kinds is not None
    return view.n - 1 - (public_positions(view) if by_kinds else np.zeros(view.n, np.int64))
