"""What no local protocol can beat: on the hardest graphs, and by unbiased estimates on a given graph.  [LIMIT.1-5]"""

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute.reproducible_math import exp, expm1
from visibility_aware_edge_ldp.counts.exact import triangles_on_edges
from visibility_aware_edge_ldp.errors import BadPrivacyParameter, BadStatistic
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.privacy import Number, OneEdge, OneListEntry, Relation, parse_epsilon
from visibility_aware_edge_ldp.public.statistic import EDGES, TRIANGLES, star_size
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility
from visibility_aware_edge_ldp.truth.graph import Graph

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
LOCAL = "every message depends on its sender's own friend list, fresh coins and earlier messages; δ = 0"
ANY_ROUNDS = "any number of rounds, ε per edge against all messages"
ONE_ROUND = "one round, both ends of an edge answer at ε each"
Octets = npt.NDArray[np.uint8]

OPTIMAL = ("of unbiased estimates of the POSITION model, on this very graph; this estimate has it",)
# How often nodes that are not matched yet are paired anew.
PASSES = 16


def hard_gains(statistic: str, nodes: int, max_degree: int) -> list[tuple[int, int]]:
    """What each edge of the matching adds to the count, as (how many edges, gain): known without the graph."""
    check_family(statistic, nodes, max_degree)
    pairs = nodes // 2
    if statistic == "edges":
        return [(pairs, 1)]
    k = star_size(statistic)
    if k is not None:
        return [(pairs, 2 * math.comb(max_degree - 1, k - 1))]
    degree = twin_degree(2 * pairs, max_degree)
    if degree % 2 and pairs % 2:
        return [(pairs - 1, 2 * degree), (1, 2 * (degree - 1))]
    return [(pairs, 2 * degree)]


def twin_degree(even: int, max_degree: int) -> int:
    """How many pairs of twins a pair of twins is joined to: two friends each, one degree kept for the matching."""
    return min((max_degree - 1) // 2, even // 2 - 1)


def has_bounds(statistic: str) -> bool:
    """Whether lower bounds are known: for edges, triangles and stars."""
    return statistic in (EDGES.name, TRIANGLES.name) or star_size(statistic) is not None


def check_family(statistic: str, nodes: int, max_degree: int) -> None:
    if not has_bounds(statistic):
        raise BadStatistic(f"Lower bounds are known for edges, triangles and stars:K; {statistic} was asked for.")
    if nodes < 2 or not 1 <= max_degree <= nodes - 1 - nodes % 2:
        raise BadStatistic(
            f"A lower bound needs two nodes or more and a maximum degree from 1 to {max(nodes - 1 - nodes % 2, 1)}; "
            f"got {nodes} and {max_degree}."
        )


@dataclass(frozen=True)
class LowerBound:
    """The expected squared error is at least ``value``, under these conditions."""

    statistic: str
    value: float
    conditions: tuple[str, ...]

    @property
    def standard_error_at_least(self) -> float:
        """The root of the mean squared error is at least this."""
        return math.sqrt(self.value)


def lower_bound(
    statistic: str, nodes: int, max_degree: int, epsilon: float, relation: type[Relation] = OneEdge
) -> LowerBound:
    """On some graph with so many nodes and no higher degree, every local protocol errs by at least this.  [LIMIT.2-3]

    Parameters
    ----------
    statistic
        "edges", "triangles" or "stars:K".
    nodes, max_degree
        The family of graphs. Of an odd number of nodes, one is left alone.
    epsilon, relation
        With ``OneEdge`` the loss per edge against all messages of all rounds. With ``OneListEntry`` the loss per
        entry of each list, for protocols of one round in which both ends answer: the literature's edge-LDP.
    """
    gains = hard_gains(statistic, nodes, max_degree)
    value = math.fsum(count * float(gain) ** 2 for count, gain in gains) * bit_variance(epsilon, relation)
    family = f"for some graph with {nodes:,} nodes and degrees up to {max_degree:,}, others may be easier"
    rounds = ONE_ROUND if relation is OneListEntry else ANY_ROUNDS
    return LowerBound(statistic, value, (family, "were nothing public", rounds, LOCAL))


def bit_variance(epsilon: float, relation: type[Relation] = OneEdge) -> float:
    """What is left of the variance ¼ of a fair bit when all messages are known: at least this.  [LIMIT.1]"""
    if epsilon <= 0:
        raise BadPrivacyParameter(f"epsilon must be above 0; got {epsilon}.")
    x = math.exp(-epsilon)
    if relation is OneListEntry:
        return (x / 2 + x * x / (1 + x * x)) / (1 + x) ** 2
    return x / (1 + x) ** 2


def unbiased_variance(epsilon: npt.ArrayLike) -> Floats:
    """e^ε/(e^ε − 1)²: the least variance of an unbiased estimate of one bit; randomized response has it.  [LIMIT.4]"""
    loss = np.asarray(epsilon, dtype=np.float64)
    return np.asarray(exp(-loss) / expm1(-loss) ** 2, dtype=np.float64)


def star_gains(degrees: Ints, u: Ints, v: Ints, joined: npt.NDArray[np.bool_], k: int) -> Floats:
    """How many k-stars stand on each of these positions: C(d, k − 1) at both ends, the position itself left out."""
    table = np.array([float(math.comb(d, k - 1)) for d in range(int(degrees.max(initial=0)) + 1)])
    return np.asarray(table[degrees[u] - joined] + table[degrees[v] - joined], dtype=np.float64)


def heavy_matching(n: int, u: Ints, v: Ints, weights: Floats) -> Ints:
    """Which of these positions to take so that no two share a node: heaviest first, at least half of the best."""
    order = np.argsort(-weights, kind="stable")
    taken: list[Ints] = []
    while order.size:
        place, first = np.arange(order.size), np.full(n, order.size)
        for ends in (u[order], v[order]):
            np.minimum.at(first, ends, place)
        # A position that is the heaviest at both its ends is taken, and its ends are done.
        best = (first[u[order]] == place) & (first[v[order]] == place)
        taken.append(order[best])
        busy = np.zeros(n, dtype=np.bool_)
        busy[u[order[best]]] = busy[v[order[best]]] = True
        order = order[~(busy[u[order]] | busy[v[order]])]
    return np.concatenate([np.empty(0, np.int64), *taken])


def matched_bound(statistic: str, n: int, u: Ints, v: Ints, gains: Floats, losses: Floats) -> LowerBound:
    """At this very graph, an unbiased estimate varies by at least this.  [LIMIT.4]

    ``u`` and ``v`` are the ends of some non-public positions, ``gains`` how much the count changes with each bit, and
    ``losses`` the ε of each. Those that share a node are not counted together.
    """
    weights = gains**2 * unbiased_variance(losses)
    value = float(weights[heavy_matching(n, u, v, weights)].sum())
    return LowerBound(statistic, value, ("of unbiased estimates, on this very graph", ANY_ROUNDS, LOCAL))


def least_here(world: VisibilityAwareGraph, statistic: str, epsilon: float) -> LowerBound | None:
    """The least variance of an unbiased estimate at this graph, if it is known.  [LIMIT.4]"""
    if not has_bounds(statistic):
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
        gains = triangles_on_edges(graph).astype(np.float64)
    else:
        u, v = _pairs_by_degree(world)
        gains = np.ones(len(u)) if k is None else star_gains(graph.degrees, u, v, _joined(graph, u, v), k)
    kinds = world.public.classes.of(u, v)
    kept = kinds != Visibility.PUBLIC
    return u[kept], v[kept], gains[kept], kinds[kept]


def least_on_the_hardest(world: VisibilityAwareGraph, statistic: str, epsilon: float) -> LowerBound | None:
    """The least error on the hardest graph of this size and maximum degree, were nothing public.  [LIMIT.2]"""
    n = world.graph.n
    degree = min(int(world.graph.degrees.max(initial=0)), n - 1 - n % 2)
    if not has_bounds(statistic) or degree < 1:
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
