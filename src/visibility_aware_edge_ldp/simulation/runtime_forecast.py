"""How long a run will take, before it starts: counts of its work, times what this machine takes for each.

T = C + D·(nodes) + A·(positions) + B·(words compared) + t·(tile triples), with counts that are known exactly, for the
answers (which compare no words) and for the counting that follows. t is measured on tiles of random bits; the others
come from the same questions to smaller worlds of the same policy and mean degree, about a second in all. So whichever
kernels this machine has, and whatever else runs on it, is accounted for. Nothing is measured for a run that is small by
figures of an ordinary machine.
"""

import os
import time
from collections.abc import Hashable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from visibility_aware_edge_ldp.aggregator.score_estimates import WorkBudget
from visibility_aware_edge_ldp.compute.engines import LISTING, seconds_a_triple
from visibility_aware_edge_ldp.compute.plain.bitset import word_count
from visibility_aware_edge_ldp.compute.plain.tiles import SIDE, WORDS, strip_start
from visibility_aware_edge_ldp.compute.tile_layout import TilesInMemory
from visibility_aware_edge_ldp.counts.scores import Floats
from visibility_aware_edge_ldp.errors import BadPolicy
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public.node_rules import NodeTypes
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.positions import Ints
from visibility_aware_edge_ldp.public.scope import Outside, PublicPositions
from visibility_aware_edge_ldp.public.trust import trust_model
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.simulation.chunks import ChunksForecast, engine_cores
from visibility_aware_edge_ldp.simulation.execution import (
    BY_ROWS,
    CHUNKS,
    DEGREES,
    FILED,
    KINDS,
    LISTS,
    PLANES,
    Request,
    Run,
)
from visibility_aware_edge_ldp.simulation.models import answer, position_answers
from visibility_aware_edge_ldp.simulation.options import options_for
from visibility_aware_edge_ldp.simulation.worlds import ANSWERS, COUNTING, PATHS, ROWS, Phases
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

# What an ordinary core does in a second, for deciding whether a closer look is worth it.
USUAL_POSITIONS, USUAL_WORDS, USUAL_TRIPLES, USUAL_LISTED = 1e8, 2e9, 5e4, 2e6
# Of one class, words of users' rows are added rather than compared, so many in the time of one.
ADDED = 16
# Seconds, and octets: what is less is small, and nothing is said of it.
LONG, LARGE = 10.0, 500_000_000
# Sizes of smaller worlds: one for what does not grow, and the next, doubled until it takes so long; each so many times,
# or until so many seconds are over.
TINY, FIRST, LONG_ENOUGH, REPEATS, ONCE_IS_ENOUGH = 64, 512, 0.25, 3, 1.0
_TRIAL_SIDES = 4
# Of the work over pairs, about what the paths of 4-cycles take, which come last.
PATHS_SHARE = 0.3


@dataclass(frozen=True)
class Work:
    """How much there is to do: nodes where blocks of rows cost something each, positions, words, tile triples."""

    nodes: float = 0.0
    positions: float = 0.0
    words: float = 0.0
    triples: float = 0.0

    @property
    def usual_seconds(self) -> float:
        """On an ordinary core."""
        return self.positions / USUAL_POSITIONS + self.words / USUAL_WORDS + self.triples / USUAL_TRIPLES


@dataclass(frozen=True)
class Forecast:
    """Seconds, by phases; where nobody tells of answers, all of it is counting."""

    answers: float
    counting: float
    triples: float = 0.0
    """Of the counting, what the triples of tiles take."""
    last: float = 0.0
    """Of the rest of it, the share of what comes last: paths of 4-cycles, or those behind users' standard errors."""

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.answers + self.counting

    @property
    def phases(self) -> dict[str, float]:
        """As progress wants them."""
        rest = self.counting - self.triples
        paths = self.last * rest
        return {ANSWERS: self.answers, ROWS: rest - paths, COUNTING: self.triples, PATHS: paths}


def work_of_run(run: Run) -> Work:
    """Positions that answer, words that are compared, and tile triples in which triangles are counted."""
    n, positions = run.n, run.rounds * run.n * (run.n - 1) / 2
    if run.strategy == CHUNKS:
        return Work(0, 2 * positions)
    if run.strategy in (DEGREES, LISTS):
        # Lists are not positions, and a friend takes as long as so many of them.
        return Work(0, (n + run.m) * USUAL_POSITIONS / USUAL_LISTED)
    if run.strategy in (KINDS, FILED):
        return replace(_by_kinds(run), positions=positions)
    if run.strategy == BY_ROWS:
        # Each two users in each two planes of the first answers, and each friend in each plane.
        return Work(n, positions, (_pairs_by_rows(run) + run.planes * run.m) * word_count(n))
    if run.strategy == PLANES and run.over_pairs:
        return Work(n, positions, run.planes**2 * run.asked * n * n / 2 * word_count(n))
    return Work(0, positions)


def _pairs_by_rows(run: Run) -> float:
    return run.n * run.n / 2 * (1 / ADDED if run.planes == 2 else run.planes**2)


def _by_kinds(run: Run) -> Work:
    """All pairs of rows, or those of a sample and all tile triples, or a share of them."""
    if not run.over_pairs:
        return Work()
    rows, sides = run.worked_rows, ceil(run.n / SIDE)
    if rows == run.n:
        return Work(words=run.n * run.n / 2 * sides * WORDS)
    triples = 0.0 if not run.with_triangles else tile_triples(sides)
    return Work(words=float(rows * run.n * sides * WORDS), triples=triples * (run.work or 1.0))


def tile_triples(sides: int) -> float:
    """Of so many sides, with what making lists of tiles counts as."""
    return sides * (sides + 1) * (sides + 2) / 6 + LISTING * sides * (sides + 1) / 2


def is_large(run: Run) -> bool:
    """Whether it is worth a closer look."""
    return work_of_run(run).usual_seconds > LONG / 4 or run.need.octets > LARGE


def seconds_of(run: Run, times: int = 1) -> float:
    """Of so many runs like this: by a closer look, or the usual time where that is short."""
    usual = times * work_of_run(run).usual_seconds
    return times * forecast(run).seconds if is_large(run) or usual > LONG / 4 else usual


def forecast(run: Run, closely: bool = True) -> Forecast:
    """How long it will take here; less closely where a second or two is all that it is worth."""
    if run.strategy == CHUNKS:
        seconds = ChunksForecast(run.n, run.m, len(run.stars), run.rounds).processor_seconds
        return Forecast(seconds / engine_cores(run.engine), 0.0)
    work, triple = work_of_run(run), 0.0
    if run.strategy in (KINDS, FILED) and run.over_pairs:
        triple = seconds_of_a_triple()
    points = [small_run(run, nodes) for nodes in _sizes(run, closely)]
    terms, wanted = np.array([_terms(each) for each, _ in points]), np.array(_terms(work))
    answers = np.array([took.answers for _, took in points])
    counting = [max(took.counting - each.triples * triple, 0.1 * took.counting) for each, took in points]
    # Comparing words is counting.
    answering = float(fitted(terms[:, :3], answers) @ wanted[:3]) if answers.all() else 0.0
    rest, triples = float(fitted(terms, np.array(counting)) @ wanted), triple * work.triples
    return Forecast(answering, rest + triples, triples, _share_of_paths(run))


def _share_of_paths(run: Run) -> float:
    if run.strategy == BY_ROWS:
        return _pairs_by_rows(run) / (_pairs_by_rows(run) + run.planes * run.m)
    return PATHS_SHARE * run.with_cycles


def _terms(work: Work) -> list[float]:
    return [1.0, work.nodes, work.positions, work.words]


def fitted(terms: Floats, seconds: Floats) -> Floats:
    """Rates ≥ 0 of these terms that come nearest to the seconds; long ones, which tell more, count for more."""
    scaled, wanted, size = terms / np.sqrt(seconds)[:, None], np.sqrt(seconds), terms.shape[1]
    best, least = np.zeros(size), np.inf
    for chosen in (each for number in range(1, size + 1) for each in combinations(range(size), number)):
        rates = np.zeros(size)
        rates[list(chosen)] = np.linalg.lstsq(scaled[:, chosen], wanted, rcond=None)[0]
        miss = float(((scaled @ rates - wanted) ** 2).sum())
        if (rates >= 0).all() and miss < least:
            best, least = rates, miss
    return best


def _sizes(run: Run, closely: bool) -> list[int]:
    """Doubling sizes up to half of the run's own, until one takes long enough."""
    sizes, enough = [TINY, min(FIRST, run.n)], max(LONG_ENOUGH, work_of_run(run).usual_seconds / 50 * closely)
    while 4 * sizes[-1] <= run.n and (sizes[-1] == FIRST or small_run(run, sizes[-1])[1].seconds < enough):
        sizes.append(2 * sizes[-1])
    return sizes


def small_run(run: Run, nodes: int) -> tuple[Work, Forecast]:
    """The work of a smaller run, and the least time that it took of some; each is made once in a process."""
    asked = run.trust, run.statistics, run.rounds, run.dropout, run.estimator, run.hide, run.strategy == FILED
    key = nodes, *asked, run.world.policy.digest
    if key not in _known:
        small = smaller(run, nodes)
        _known[key] = work_of_run(small), _least(small)
    return _known[key]


def _least(run: Run) -> Forecast:
    """The least time of some runs; of a long one, once is enough."""
    # The first time of a small run loads kernels, and compiles them where that was not done yet.
    took = [_taken(run)]
    while len(took) < REPEATS and (run.n <= 2 * FIRST or sum(each.seconds for each in took) < ONCE_IS_ENOUGH):
        took.append(_taken(run))
    return min(took, key=lambda each: each.seconds)


_known: dict[tuple[object, ...], tuple[Work, Forecast]] = {}


def smaller(run: Run, nodes: int) -> Run:
    """The same questions to some of the nodes, with as many made-up friends each as there are."""
    if nodes >= run.n:
        return run
    graph = run.world.graph
    places = np.linspace(0, graph.n - 1, nodes).astype(int)
    names = [graph.names[place] for place in places.tolist()]
    edges = powerlaw(nodes, min(ceil(graph.m * nodes / graph.n), nodes * (nodes - 1) // 4), 1).edges
    world = VisibilityAwareGraph(Graph(names, edges), _policy_among(run.world, names, places))
    return replace(run, world=world, filed=run.strategy == FILED)


def _policy_among(world: VisibilityAwareGraph, names: list[Hashable], places: Ints) -> VisibilityPolicy:
    """The policy for some of the nodes; one that names others, or has a scope, by the classes that these have.

    Which groups of nodes are asked stays the same, and so does the way in which answers are counted.
    """
    policy, known = world.policy, world.public.classes.by_groups
    if policy.scope is None and _binds(policy, names):
        return policy
    if known is None:
        sizes, all_positions = world.public.class_sizes, max(world.public.positions, 1)
        return VisibilityPolicy(*(Fraction(sizes[kind], all_positions) for kind in Visibility))
    kinds = dict(zip(names, known.kinds[places].tolist(), strict=True))
    table = tuple(tuple(Visibility(int(each)) for each in row) for row in known.table)
    rule = NodeTypes(kinds, table, "the classes of some nodes")
    found = VisibilityPolicy.of(rule, policy.assumptions, policy.multipliers, policy.paid)
    return found if policy.scope is None else found.within(Outside(PublicPositions()))


def _binds(policy: VisibilityPolicy, names: list[Hashable]) -> bool:
    """Whether a policy can be asked for these nodes alone: it names no others."""
    try:
        policy.bind(names)
    except BadPolicy:
        return False
    return True


def _taken(run: Run) -> Forecast:
    """How long it really takes here."""
    begin, answered = time.perf_counter(), 0.0

    def note(done: float, total: float) -> None:
        nonlocal answered
        if done <= total / 2:  # counting is the second half
            answered = time.perf_counter() - begin

    request = request_of(run, Phases(note))
    if run.strategy == FILED:
        with TemporaryDirectory(prefix="va-edge-ldp-") as folder:
            position_answers(request, WorkBudget(run.work), Path(folder))
    else:
        answer(request)
    return Forecast(answered, time.perf_counter() - begin - answered)


def request_of(run: Run, phases: Phases) -> Request:
    """The request that leads to this run, with an epsilon of 1 and a seed."""
    trust = trust_model(run.trust)
    given = {name: getattr(run, name) for name in trust.options if hasattr(run, name) and name != "engine"}
    dropout = run.dropout if "dropout" in trust.options else 0.0
    return Request(run.world, 1, run.statistics, options_for(trust, given), dropout, "forecast", phases)


@cache
def seconds_of_a_triple() -> float:
    """Of all cores together, on random bits of which a quarter are ones."""
    generator, cores = np.random.default_rng(1), os.cpu_count() or 1
    shape = (strip_start(_TRIAL_SIDES), SIDE, WORDS)
    one, other = (generator.integers(0, 1 << 63, shape, dtype=np.uint64) for _ in range(2))
    return seconds_a_triple(TilesInMemory(one & other, _TRIAL_SIDES), cores) / cores
