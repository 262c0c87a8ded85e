"""What no local protocol can beat: on the hardest graphs, and by unbiased estimates on a given graph.  [LIMIT.1-5]"""

import math
from dataclasses import dataclass
from math import comb

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute.functions import exp, expm1
from visibility_aware_edge_ldp.errors import BadPrivacyParameter, BadStatistic
from visibility_aware_edge_ldp.privacy.guarantee import OneEdge, OneListEntry, Relation

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
LOCAL = "every message depends on its sender's own friend list, fresh coins and earlier messages; δ = 0"
ANY_ROUNDS = "any number of rounds, ε per edge against all messages"
ONE_ROUND = "one round, both ends of an edge answer at ε each"
Pairs = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Cube:
    """All graphs made of ``base`` and some of the edges of ``matching``, which share no node."""

    nodes: int
    base: Pairs
    matching: Pairs

    def graph(self, chosen: npt.ArrayLike) -> Pairs:
        """The edges u < v, sorted, with those of the matching that are chosen."""
        picked = self.matching[np.asarray(chosen, dtype=np.bool_)]
        edges = np.sort(np.concatenate([self.base, picked]).reshape(-1, 2), axis=1)
        order: Pairs = edges[np.lexsort((edges[:, 1], edges[:, 0]))]
        return order


def hard_cube(statistic: str, nodes: int, max_degree: int) -> Cube:
    """The cube that the lower bound of this statistic is about; no degree in it exceeds ``max_degree``."""
    _check(statistic, nodes, max_degree)
    even = nodes - nodes % 2
    if statistic != "triangles":
        factors = [_factor(even, number) for number in range(max_degree)]
        return Cube(nodes, np.concatenate([np.empty((0, 2), np.int64), *factors[:-1]]), factors[-1])
    twins = np.arange(even).reshape(-1, 2)
    outline = _nearly_regular(even // 2, _twin_degree(even, max_degree))
    ends = [(2 * outline[:, 0] + a, 2 * outline[:, 1] + b) for a in (0, 1) for b in (0, 1)]
    return Cube(nodes, np.concatenate([np.stack(pair, axis=1) for pair in ends]), twins)


def hard_gains(statistic: str, nodes: int, max_degree: int) -> list[tuple[int, int]]:
    """What each edge of the matching adds to the count, as (how many edges, gain): known without the graph."""
    _check(statistic, nodes, max_degree)
    pairs = nodes // 2
    if statistic == "edges":
        return [(pairs, 1)]
    k = _star_size(statistic)
    if k is not None:
        return [(pairs, 2 * comb(max_degree - 1, k - 1))]
    degree = _twin_degree(2 * pairs, max_degree)
    if degree % 2 and pairs % 2:
        return [(pairs - 1, 2 * degree), (1, 2 * (degree - 1))]
    return [(pairs, 2 * degree)]


def _twin_degree(even: int, max_degree: int) -> int:
    """How many pairs of twins a pair of twins is joined to: two friends each, one degree kept for the matching."""
    return min((max_degree - 1) // 2, even // 2 - 1)


def _factor(even: int, number: int) -> Pairs:
    """One day of a round-robin tournament: a perfect matching; those of different days share no edge."""
    circle, steps = even - 1, np.arange(1, even // 2)
    pairs = np.stack([(number + steps) % circle, (number - steps) % circle], axis=1)
    return np.concatenate([[[number, circle]], pairs])


def _nearly_regular(size: int, degree: int) -> Pairs:
    """A graph of this degree at every node; at all but one where degree and size are both odd."""
    nodes, first = np.arange(size), 2 if degree % 2 and size % 2 else 1
    offsets = range(first, degree // 2 + first)
    rings = [np.stack([nodes, (nodes + offset) % size], axis=1) for offset in offsets]
    if degree % 2 and size % 2:
        rings.append(np.arange(size - 1).reshape(-1, 2))
    elif degree % 2:
        rings.append(np.stack([nodes[: size // 2], nodes[size // 2 :]], axis=1))
    return np.concatenate([np.empty((0, 2), np.int64), *rings])


def _check(statistic: str, nodes: int, max_degree: int) -> None:
    if statistic not in ("edges", "triangles") and _star_size(statistic) is None:
        raise BadStatistic(f"Lower bounds are known for edges, triangles and stars:K; {statistic} was asked for.")
    if nodes < 2 or not 1 <= max_degree <= nodes - 1 - nodes % 2:
        raise BadStatistic(
            f"A lower bound needs two nodes or more and a maximum degree from 1 to {max(nodes - 1 - nodes % 2, 1)}; "
            f"got {nodes} and {max_degree}."
        )


def _star_size(statistic: str) -> int | None:
    """k of "stars:k"; None for other statistics."""
    head, _, tail = statistic.partition(":")
    return int(tail) if head == "stars" and tail.isdecimal() else None


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
