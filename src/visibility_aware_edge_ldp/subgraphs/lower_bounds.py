"""What no local protocol can beat: on the hardest graphs, and by unbiased estimates on a given graph.  [LIMIT.1-5]"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.errors import BadPrivacyParameter
from visibility_aware_edge_ldp.privacy.relation import OneEdge, OneListEntry, Relation
from visibility_aware_edge_ldp.subgraphs.hard_graphs import hard_gains

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

LOCAL = "every message depends on its sender's own friend list, fresh coins and earlier messages; δ = 0"
ANY_ROUNDS = "any number of rounds, ε per edge against all messages"
ONE_ROUND = "one round, both ends of an edge answer at ε each"


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
    return np.asarray(np.exp(-loss) / np.expm1(-loss) ** 2, dtype=np.float64)


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
