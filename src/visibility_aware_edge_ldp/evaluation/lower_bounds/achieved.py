"""Achieved errors beside what no protocol of the same trust model can beat; for the laboratory, which has the graph."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.aggregator.answers import number
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.compute.plain.common_neighbours import RisingEdges, triangles
from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.evaluation.lower_bounds.bounds import (
    Floats,
    Ints,
    LowerBound,
    lower_bound,
    matched_bound,
    star_gains,
    unbiased_variance,
)
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.privacy.parameters import Number, parse_epsilon
from visibility_aware_edge_ldp.public.statistic import EDGES, TRIANGLES, star_size
from visibility_aware_edge_ldp.public.statistic import statistic as registered
from visibility_aware_edge_ldp.public.trust import POSITION, USER
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility
from visibility_aware_edge_ldp.truth.graph import Graph

Octets = npt.NDArray[np.uint8]

LOCAL_TRUST = (POSITION.name, USER.name)
HEAD = ("statistic", "± s.e.", "least unbiased here", "least of any on the hardest graph")
OPTIMAL = ("of unbiased estimates of the POSITION model, on this very graph; this estimate has it",)
# How often nodes that are not matched yet are paired anew, and how many neighbour lists are laid side by side.
PASSES = 16
BLOCK = 1 << 21


@dataclass(frozen=True)
class BoundRow:
    """One statistic: what was achieved, the least on this graph, and the least on the hardest graph of its kind."""

    statistic: str
    achieved: float
    here: LowerBound | None
    hardest: LowerBound | None

    def texts(self) -> tuple[str, str, str, str]:
        """As cells of a table."""
        least = ("-" if bound is None else number(bound.standard_error_at_least) for bound in (self.here, self.hardest))
        here, hardest = least
        return self.statistic, number(self.achieved), here, hardest


def bound_rows(
    world: VisibilityAwareGraph,
    answers: Mapping[str, Estimate],
    trust: str,
    epsilon: Number,
    *,
    rounds: int = 1,
    dropout: float = 0.0,
) -> list[BoundRow]:
    """Each scalar statistic's standard error beside its lower bounds.

    Needs the true graph, so it is for the laboratory and not for release. ``rounds`` and ``dropout`` are those that
    the answers were made with.
    """
    if trust not in LOCAL_TRUST:
        raise BadInput(f"Lower bounds are known for the trust models {' and '.join(LOCAL_TRUST)}; {trust} was used.")
    at_its_limit = trust == POSITION.name and rounds == 1 and not dropout
    loss = float(parse_epsilon(epsilon))
    return [
        BoundRow(
            name,
            float(found.standard_error),
            _least_for(world, found, loss, at_its_limit),
            least_on_the_hardest(world, name, loss),
        )
        for name, found in answers.items()
        if not isinstance(found.value, np.ndarray)
    ]


def conditions(rows: Sequence[BoundRow]) -> list[str]:
    """What the two columns of bounds mean, in sentences; with a word on errors that are below one."""
    columns = {HEAD[2]: [row.here for row in rows], HEAD[3]: [row.hardest for row in rows]}
    held = {(name, bound.conditions) for name, bounds in columns.items() for bound in bounds if bound is not None}
    lines = [f"{name.capitalize()}: {'; '.join(texts)}." for name, texts in sorted(held, reverse=True)]
    if easier := [row.statistic for row in rows if _is_below(row, row.hardest)]:
        lines.append(
            f"The error of {', '.join(easier)} is below the last column. That is no contradiction: the column is about "
            "the hardest graph with as many nodes and as high a degree, and this graph is an easier one."
        )
    if lucky := [row.statistic for row in rows if _is_below(row, row.here)]:
        lines.append(
            f"The error of {', '.join(lucky)} is printed below what is possible on this graph: a printed standard "
            "error is an estimate itself, and this one came out small."
        )
    return [*lines, "Bounds are computed from the true graph: for the laboratory, not for release."]


def least_here(world: VisibilityAwareGraph, statistic: str, epsilon: float) -> LowerBound | None:
    """The least variance of an unbiased estimate at this graph, if it is known.  [LIMIT.4]"""
    if star_size(statistic) is None and statistic not in (EDGES.name, TRIANGLES.name):
        return None
    losses = _losses(world, epsilon)
    kinds = world.public.present - {Visibility.PUBLIC}
    if len(kinds) == 1:
        # The heaviest positions are the same for every ε, and all vary alike.
        (kind,), once = kinds, _bound_at_one(world, statistic)
        return replace(once, value=once.value * float(unbiased_variance(losses[kind]) / unbiased_variance(1.0)))
    return _bound(world, statistic, losses)


@lru_cache(maxsize=32)
def _bound_at_one(world: VisibilityAwareGraph, statistic: str) -> LowerBound:
    return _bound(world, statistic, np.ones(len(Visibility)))


def _bound(world: VisibilityAwareGraph, statistic: str, losses: Floats) -> LowerBound:
    u, v, gains, kinds = _hidden_gains(world, statistic)
    return matched_bound(statistic, world.graph.n, u, v, gains, losses[kinds])


@lru_cache(maxsize=16)
def _hidden_gains(world: VisibilityAwareGraph, statistic: str) -> tuple[Ints, Ints, Floats, Octets]:
    """Non-public positions, how much the count changes with each, and their classes: all that ε does not change."""
    graph, k = world.graph, star_size(statistic)
    if statistic == TRIANGLES.name:
        u, v = graph.edges.astype(np.int64).T
        gains = _triangles_on_edges(graph)
    else:
        u, v = _pairs_by_degree(world)
        gains = np.ones(len(u)) if k is None else star_gains(graph.degrees, u, v, _joined(graph, u, v), k)
    kinds = world.public.classes.of(u, v)
    kept = kinds != Visibility.PUBLIC
    return u[kept], v[kept], gains[kept], kinds[kept]


def _triangles_on_edges(graph: Graph) -> Floats:
    """How many triangles stand on each edge."""
    ranks = np.argsort(np.argsort(graph.degrees, kind="stable"), kind="stable")
    rising, counts = RisingEdges.of(graph.edges, ranks), np.zeros(graph.m)
    for sides in triangles(rising, graph.n):
        for side in sides:
            counts += np.bincount(rising.source[side], minlength=graph.m)
    return counts


def least_on_the_hardest(world: VisibilityAwareGraph, statistic: str, epsilon: float) -> LowerBound | None:
    """The least error on the hardest graph of this size and maximum degree, were nothing public.  [LIMIT.2]"""
    n, k = world.graph.n, star_size(statistic)
    degree = min(int(world.graph.degrees.max(initial=0)), n - 1 - n % 2)
    if (k is None and statistic not in (EDGES.name, TRIANGLES.name)) or degree < 1:
        return None
    return lower_bound(statistic, n, degree, float(world.policy.multiplier(Visibility.PRIVATE)) * epsilon)


def edges_optimum(world: VisibilityAwareGraph, epsilon: Number) -> LowerBound:
    """Σσ² over all non-public positions: the exact optimum of the POSITION model, known to everybody.  [LIMIT.5]"""
    losses, sizes = _losses(world, float(parse_epsilon(epsilon))), world.public.class_sizes
    value = math.fsum(sizes[kind] * float(unbiased_variance(losses[kind])) for kind in NON_PUBLIC)
    return LowerBound("edges", value, OPTIMAL)


def visible_gain(world: VisibilityAwareGraph, epsilon: Number) -> float:
    """How many times smaller the policy makes the variance of the edge count in the POSITION model.  [LIMIT.5]"""
    private = float(world.policy.multiplier(Visibility.PRIVATE)) * float(parse_epsilon(epsilon))
    uniform, aware = world.public.positions * float(unbiased_variance(private)), edges_optimum(world, epsilon).value
    return uniform / aware if aware else math.inf


def shared_neighbours(graph: Graph, u: Ints, v: Ints) -> Floats:
    """How many neighbours the ends of each position have in common."""
    ends = np.concatenate([graph.edges, graph.edges[:, ::-1]]).astype(np.int64)
    keys = np.sort(ends[:, 0] * graph.n + ends[:, 1])
    starts = np.concatenate([[0], np.cumsum(graph.degrees)])
    fewer = graph.degrees[u] <= graph.degrees[v]
    walked, looked_up = np.where(fewer, u, v), np.where(fewer, v, u)
    counts = np.zeros(len(u))
    cuts = np.searchsorted(np.cumsum(graph.degrees[walked]), np.arange(BLOCK, graph.degrees[walked].sum(), BLOCK))
    for part in np.split(np.arange(len(u)), cuts):
        lengths = graph.degrees[walked[part]]
        which = np.repeat(np.arange(len(part)), lengths)
        steps = np.arange(len(which)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        wanted = looked_up[part][which] * graph.n + keys[starts[walked[part]][which] + steps] % graph.n
        place = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
        hits = which[keys[place] == wanted] if len(keys) else which[:0]
        counts[part] = np.bincount(hits, minlength=len(part))
    return counts


def _least_for(world: VisibilityAwareGraph, found: Estimate, loss: float, at_its_limit: bool) -> LowerBound | None:
    if not found.unbiased:
        return None
    if at_its_limit and _is_multilinear(found.statistic):
        return LowerBound(found.statistic, float(found.variance), OPTIMAL)
    return least_here(world, found.statistic, loss)


def _is_below(row: BoundRow, bound: LowerBound | None) -> bool:
    return bound is not None and row.achieved < bound.standard_error_at_least * (1 - 1e-9)


def _is_multilinear(statistic: str) -> bool:
    return registered(statistic).sides > 0


def _losses(world: VisibilityAwareGraph, epsilon: float) -> Floats:
    """The loss of an edge, by its class."""
    return np.array([float(world.policy.multiplier(kind)) * epsilon for kind in Visibility])


def _pairs_by_degree(world: VisibilityAwareGraph) -> tuple[Ints, Ints]:
    """Non-public positions that share no node, between nodes of like degree: Σ(a + b)² is largest so."""
    left = np.argsort(-world.graph.degrees, kind="stable")
    found: list[Ints] = []
    for turn in range(PASSES):
        shifted = left[turn % 2 :]
        pairs = shifted[: len(shifted) - len(shifted) % 2].reshape(-1, 2)
        open_ = world.public.classes.of(pairs[:, 0], pairs[:, 1]) == Visibility.PUBLIC
        found.append(np.sort(pairs[~open_], axis=1))
        left = left[~np.isin(left, found[-1])]
        if len(left) < 2:
            break
    matched = np.concatenate([np.empty((0, 2), np.int64), *found])
    return matched[:, 0], matched[:, 1]


def _joined(graph: Graph, u: Ints, v: Ints) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    keys = graph.edges[:, 0].astype(np.int64) * graph.n + graph.edges[:, 1]
    return np.isin(u * graph.n + v, keys)
