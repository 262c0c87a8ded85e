"""The hardest graphs of the lower bounds, built: what each bit of a matching adds can be counted on them.  [LIMIT.2]"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.evaluation.lower_bounds import check_family, twin_degree

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
    check_family(statistic, nodes, max_degree)
    even = nodes - nodes % 2
    if statistic != "triangles":
        factors = [_factor(even, number) for number in range(max_degree)]
        return Cube(nodes, np.concatenate([np.empty((0, 2), np.int64), *factors[:-1]]), factors[-1])
    twins = np.arange(even).reshape(-1, 2)
    outline = _nearly_regular(even // 2, twin_degree(even, max_degree))
    ends = [(2 * outline[:, 0] + a, 2 * outline[:, 1] + b) for a in (0, 1) for b in (0, 1)]
    return Cube(nodes, np.concatenate([np.stack(pair, axis=1) for pair in ends]), twins)


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
