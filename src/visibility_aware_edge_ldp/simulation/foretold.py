"""How long a run will take, before it starts: counts of its work, times what this machine takes for each.

T = C + D·(nodes) + A·(positions) + B·(words compared) + t·(tile triples), with counts that are known exactly. t is
measured on tiles of random bits; the others come from the same questions to smaller worlds of the same policy and mean
degree, about a second in all. So whichever kernels this machine has, and whatever else runs on it, is accounted for.
Nothing is measured for a run that is small by figures of an ordinary machine.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from math import ceil

import numpy as np

from visibility_aware_edge_ldp.kernels.bitset import word_count
from visibility_aware_edge_ldp.kernels.tiles import SIDE, WORDS, strip_start
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.simulation.progress import ANSWERS, COUNTING
from visibility_aware_edge_ldp.simulation.run import DEGREES, KINDS, LISTS, PLANES, ROWS, Run
from visibility_aware_edge_ldp.subgraphs.scores import Floats
from visibility_aware_edge_ldp.subgraphs.task_plan import LISTING, seconds_a_triple
from visibility_aware_edge_ldp.subgraphs.triples import TilesInMemory
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

# What an ordinary core does in a second, for deciding whether a closer look is worth it.
USUAL_POSITIONS, USUAL_WORDS, USUAL_TRIPLES, USUAL_LISTED = 1e8, 2e9, 5e4, 2e6
# Of one class, words of users' rows are added rather than compared, so many in the time of one.
ADDED = 16
# Seconds, and octets: what is less is small, and nothing is said of it.
LONG, LARGE = 10.0, 500_000_000
# Sizes of smaller worlds: one for what does not grow, and the next, doubled until it takes so long; each so many times.
TINY, FIRST, LONG_ENOUGH, REPEATS = 64, 512, 0.25, 3
_TRIAL_SIDES = 4


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
class Foretold:
    """Seconds, by phases."""

    answers: float
    counting: float

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.answers + self.counting

    @property
    def phases(self) -> dict[str, float]:
        """As progress wants them."""
        return {ANSWERS: self.answers, COUNTING: self.counting}


def work_of_run(run: Run) -> Work:
    """Positions that answer, words that are compared, and tile triples in which triangles are counted."""
    n, positions = run.n, run.rounds * run.n * (run.n - 1) / 2
    if run.way in (DEGREES, LISTS):
        # Lists are not positions, and a friend takes as long as so many of them.
        return Work(0, (n + run.m) * USUAL_POSITIONS / USUAL_LISTED)
    if run.way == KINDS:
        return replace(_by_kinds(run), positions=positions)
    if run.way == ROWS:
        # Each two users in each two planes of the first answers, and each friend in each plane.
        pairs = n * n / 2 / ADDED if run.planes == 2 else run.planes**2 * n * n / 2
        return Work(n, positions, (pairs + run.planes * run.m) * word_count(n))
    if run.way == PLANES and run.over_pairs:
        return Work(n, positions, run.planes**2 * n * n / 2 * word_count(n))
    return Work(0, positions)


def _by_kinds(run: Run) -> Work:
    """All pairs of rows, or those of a sample and all tile triples, or a share of them."""
    if not run.over_pairs:
        return Work()
    rows, sides = run.worked_rows, ceil(run.n / SIDE)
    if rows == run.n:
        return Work(words=run.n * run.n / 2 * sides * WORDS)
    triples = 0.0 if set(run.statistics) & {"triangles", "transitivity"} == set() else tile_triples(sides)
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
    return times * foretell(run).seconds if is_large(run) or usual > LONG / 4 else usual


def foretell(run: Run) -> Foretold:
    """How long it will take here."""
    work, triple = work_of_run(run), seconds_of_a_triple() if run.way == KINDS and run.over_pairs else 0.0
    points = [small_run(run, nodes) for nodes in _sizes(run)]
    left = [max(seconds - each.triples * triple, 0.1 * seconds) for each, seconds in points]
    terms = np.array([_terms(each) for each, _ in points])
    rates = fitted(terms, np.array(left))
    constant, nodes, positions, words = (rates * _terms(work)).tolist()
    return Foretold(constant + nodes + positions, words + triple * work.triples)


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


def _sizes(run: Run) -> list[int]:
    """Doubling sizes up to half of the run's own, until one takes long enough."""
    sizes, enough = [TINY, min(FIRST, run.n)], max(LONG_ENOUGH, work_of_run(run).usual_seconds / 50)
    while 4 * sizes[-1] <= run.n and (sizes[-1] == FIRST or small_run(run, sizes[-1])[1] < enough):
        sizes.append(2 * sizes[-1])
    return sizes


def small_run(run: Run, nodes: int) -> tuple[Work, float]:
    """The work of a smaller run, and the least seconds that it took of some; each is made once in a process."""
    key = nodes, run.trust, run.statistics, run.rounds, run.dropout, run.estimator, run.hide, run.world.policy.digest
    if key not in _known:
        small = smaller(run, nodes)
        # The first time loads kernels, and compiles them where that was not done yet.
        _known[key] = work_of_run(small), min(_taken(small) for _ in range(REPEATS))
    return _known[key]


_known: dict[tuple[object, ...], tuple[Work, float]] = {}


def smaller(run: Run, nodes: int) -> Run:
    """The same questions to some of the nodes, with as many made-up friends each as there are."""
    if nodes >= run.n:
        return run
    graph = run.world.graph
    names = [graph.names[place] for place in np.linspace(0, graph.n - 1, nodes).astype(int).tolist()]
    edges = powerlaw(nodes, min(ceil(graph.m * nodes / graph.n), nodes * (nodes - 1) // 4), 1).edges
    return replace(run, world=VisibilityAwareGraph(Graph(names, edges), run.world.policy))


def _taken(run: Run) -> float:
    from visibility_aware_edge_ldp.simulation.estimate import estimate

    position = {"rounds": run.rounds, "estimator": run.estimator, "work": run.work} if run.trust == "position" else {}
    dropout = {} if run.trust == "curator" else {"dropout": run.dropout}
    begin = time.perf_counter()
    estimate(run.world, run.trust, 1, run.statistics, hide=run.hide, seed="foretold", **position, **dropout)  # type: ignore[arg-type]
    return time.perf_counter() - begin


@cache
def seconds_of_a_triple() -> float:
    """Of all cores together, on random bits of which a quarter are ones."""
    import os

    generator, cores = np.random.default_rng(1), os.cpu_count() or 1
    shape = (strip_start(_TRIAL_SIDES), SIDE, WORDS)
    one, other = (generator.integers(0, 1 << 63, shape, dtype=np.uint64) for _ in range(2))
    return seconds_a_triple(TilesInMemory(one & other, _TRIAL_SIDES), cores) / cores
