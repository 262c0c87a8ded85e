"""Friendships between groups: the mixing matrix, and what follows from it.  [MIXING.1-7]

The matrix is symmetric, with the friendships inside a group, each once, on the diagonal. A gradient is a matrix too, of
which only the entries (a, b) with a ≤ b are used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute.reproducible_math import dot, weighted
from visibility_aware_edge_ldp.counts.nonresponse import Spread, missing

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Variance = Callable[[Floats], float]
"""From the gradient of a linear function of the matrix to the variance of its estimate."""


def mixing_matrix(members: Ints, groups: int, edges: npt.NDArray[np.int32]) -> Floats:
    """(groups, groups): how many edges join members of each two groups."""
    found = friend_sums(members, groups, edges)
    found[np.diag_indices(groups)] /= 2
    return found


def friend_sums(members: Ints, groups: int, edges: npt.NDArray[np.int32]) -> Floats:
    """(groups, groups): how many friends in group b the members of group a have in all."""
    ends = members[edges].reshape(-1, 2)
    counted = np.bincount(ends[:, 0] * groups + ends[:, 1], minlength=groups**2).reshape(groups, groups)
    return (counted + counted.T).astype(np.float64)


@dataclass(frozen=True, eq=False)
class GroupCounts:
    """What is known of how many friends the members of each group have in each group.

    Parameters
    ----------
    public
        (groups, groups): the friends in b that members of a have in public, in all.
    asked
        How many members of each group hide something.
    counts
        For each group, (answers, groups): what those of its members who answered reported.
    noise
        For each group, the variance of each of the numbers of each answer.
    """

    public: Floats = field(repr=False)
    asked: Ints
    counts: tuple[Floats, ...] = field(repr=False)
    noise: tuple[Floats, ...] = field(repr=False)

    @property
    def answers(self) -> Ints:
        """How many members of each group answered."""
        return np.array([len(each) for each in self.counts], np.int64)

    @property
    def expansion(self) -> Floats:
        """N/R of each group: how many members an answer stands for; 0 where nobody answered."""
        answers = self.answers
        return np.where(answers > 0, self.asked / np.maximum(answers, 1), 0.0)

    @cached_property
    def is_known(self) -> npt.NDArray[np.bool_]:
        """Of which groups enough members answered to tell how members vary: two, or all.  [MIXING.2]"""
        return (self.answers >= 2) | (self.answers >= self.asked)

    @cached_property
    def sums(self) -> Floats:
        """(groups, groups): friends in b of all members of a, by what members of a said.  [MIXING.1]"""
        said = np.array([each.sum(axis=0) for each in self.counts]).reshape(self.public.shape)
        return np.asarray(self.public + self.expansion[:, None] * said)

    @cached_property
    def weights(self) -> Floats:
        """(groups, groups): how much of the sum of a over b goes into their cell.  [MIXING.3]

        By the known noise alone, so that no weight hangs on what was reported; the two weights of a cell add up to 1,
        and half of the sum inside a group is its cell.
        """
        noise = self.expansion**2 * np.array([each.sum() for each in self.noise])
        noise = np.where(self.is_known, noise, math.inf)
        own, other = np.broadcast_arrays(noise[:, None], noise[None])
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(np.isinf(other), 1.0, other / (own + other))
        share = np.where(np.isinf(own), 0.0, share)
        return np.where(own == other, 0.5, share)

    @cached_property
    def cells(self) -> Floats:
        """The mixing matrix, without bias.  [MIXING.3]"""
        found = self.weights * self.sums
        return np.asarray(found + np.where(np.eye(len(found), dtype=np.bool_), 0.0, found.T))

    def factors(self, gradient: Floats) -> Floats:
        """(groups, groups): how much of the sum of a over b is in a linear function of the cells.  [MIXING.3]"""
        upper = np.triu(gradient)
        return np.asarray(self.weights * (upper + np.triu(upper, 1).T))

    def spread(self, gradient: Floats) -> Spread:
        """How a linear function of the cells varies, by noise and by who answered.  [MIXING.2, MIXING.4]"""
        factors, found = self.factors(gradient), Spread(0.0)
        for a in np.flatnonzero((factors != 0).any(axis=1)):
            row, noise, stands_for = factors[a], self.noise[a], float(self.expansion[a])
            if not self.is_known[a]:
                return Spread(math.inf)
            if noise.size:
                square = dot(row, row)
                each = weighted(row, self.counts[a].T)
                found = found.plus(missing(each, square * float(noise.mean()), int(self.asked[a])))
                found = found.plus(Spread(stands_for**2 * square * float(noise.sum())))
        return found

    def variance(self, gradient: Floats) -> float:
        """The variance alone."""
        return self.spread(gradient).variance


@dataclass(frozen=True, eq=False)
class ScoredCells:
    """The mixing matrix as sums of independent scores, one for each position.  [MIXING.7]

    Parameters
    ----------
    cells
        The matrix, without bias.
    noise
        The variance of each cell.
    by_rates
        Relative variance that dividing by observed response rates removes.  [AGGREGATE.5]
    """

    cells: Floats
    noise: Floats
    by_rates: float = 0.0

    @staticmethod
    def of(values: Floats, counts: Floats, by_rates: float = 0.0) -> ScoredCells:
        """From how many positions with each score there are between two groups, (values, groups, groups).

        A cell adds up their scores ê, and its variance ê² − ê, whose mean is the variance of ê.  [CHANNEL.2]
        """
        groups, flat = counts.shape[1], counts.reshape(len(values), counts.shape[1] ** 2)
        sums = (weighted(each, flat).reshape(groups, groups) for each in (values, values * values - values))
        cells, noise = (np.where(np.eye(groups, dtype=np.bool_), each / 2, each) for each in sums)
        return ScoredCells(cells, np.maximum(noise, 0.0), by_rates)

    def spread(self, gradient: Floats) -> Spread:
        """How a linear function of the cells varies: cells have no position in common.  [MIXING.7]"""
        upper = np.triu(gradient)
        variance = float((upper**2 * self.noise).sum())
        saved = float((upper * self.cells).sum()) ** 2 * self.by_rates
        # The saving is itself an estimate; it is never believed to be more than half.
        return Spread(max(variance - saved, variance / 2))

    def variance(self, gradient: Floats) -> float:
        """The variance alone."""
        return self.spread(gradient).variance


# ── what is linear in the cells: gradients, an entry after the other


def cell_gradients(sizes: Ints) -> Iterator[Floats]:
    """Of each cell (a, b) with a ≤ b."""
    for a in range(sizes.size):
        for b in range(a, sizes.size):
            yield _at(sizes.size, (a, b, 1.0))


def contact_gradients(sizes: Ints) -> Iterator[Floats]:
    """Of the mean number of friends in b of a member of a, for all a and b; 0 for a group without members."""
    for a, size in enumerate(sizes.tolist()):
        for b in range(sizes.size):
            yield _at(sizes.size, (min(a, b), max(a, b), (2.0 if a == b else 1.0) / max(size, 1)))


def degree_gradients(sizes: Ints) -> Iterator[Floats]:
    """Of the mean degree of each group's members."""
    for a, size in enumerate(sizes.tolist()):
        yield ends_gradient(sizes.size, a) / max(size, 1)


def target_gradients(sizes: Ints) -> Iterator[Floats]:
    """Of ERGM's terms: edges, nodematch, nodematch and nodefactor of each group, nodemix in R's order."""
    n = sizes.size
    yield np.triu(np.ones((n, n)))
    yield np.eye(n)
    yield from (_at(n, (a, a, 1.0)) for a in range(n))
    yield from (ends_gradient(n, a) for a in range(n))
    yield from (_at(n, (a, b, 1.0)) for b in range(n) for a in range(b + 1))


def target_names(attribute: str, labels: tuple[str, ...]) -> list[str]:
    """ERGM's names of these terms."""
    return [
        "edges",
        f"nodematch.{attribute}",
        *(f"nodematch.{attribute}.{label}" for label in labels),
        *(f"nodefactor.{attribute}.{label}" for label in labels),
        *(f"mix.{attribute}.{labels[a]}.{labels[b]}" for b in range(len(labels)) for a in range(b + 1)),
    ]


LINEAR: dict[str, Callable[[Ints], Iterator[Floats]]] = {
    "mixing": cell_gradients,
    "contacts": contact_gradients,
    "group_degrees": degree_gradients,
    "ergm_targets": target_gradients,
}
"""From the sizes of the groups to the gradients of each statistic's entries."""


def linear_values(name: str, cells: Floats, sizes: Ints) -> Floats:
    """The entries of a statistic that is linear in the cells."""
    return np.array([float((np.triu(gradient) * cells).sum()) for gradient in LINEAR[name](sizes)])


# ── homophily: ratios


class Ratio(NamedTuple):
    """A numerator and a denominator, with their gradients; and what the ratio becomes, by where 0 and 1 are put."""

    above: float
    below: float
    above_gradient: Floats
    below_gradient: Floats
    expected: float | None = None

    @property
    def value(self) -> float:
        """The ratio; 0 where there is nothing to compare with."""
        return self.above / self.below if self.below else 0.0

    def scaled(self, value: float) -> float:
        """Coleman's scale: 0 where the ratio is what it is by chance, 1 and −1 at its ends.  [MIXING.6]"""
        chance = self.expected
        if chance is None:
            return value
        over = value - chance
        most = 1 - chance if over > 0 else chance
        return over / most if most > 0 else 0.0

    def slope(self, value: float) -> float:
        """The derivative of the scale."""
        chance = self.expected
        most = 1.0 if chance is None else 1 - chance if value > chance else chance
        return 1 / most if most > 0 else 0.0


def no_variance(gradient: Floats) -> float:
    """Of a matrix that is known."""
    return 0.0


def assortativity(cells: Floats, sizes: Ints, variance: Variance = no_variance) -> list[Ratio]:
    """Newman's coefficient (4mT − Q)/(4m² − Q), T edges inside groups, Q the sum of squared degree sums.  [MIXING.5]

    The squares of estimates are too large by their variances, which are taken off.
    """
    n = sizes.size
    edges, inside = np.triu(np.ones((n, n))), np.eye(n)
    m, t, degrees = float(np.triu(cells).sum()), float(np.trace(cells)), _degree_sums(cells)
    square = dot(degrees, degrees) - sum(variance(ends_gradient(n, a)) for a in range(n))
    both = (variance(edges + inside) - variance(edges - inside)) / 4
    of_square = 2 * (degrees[:, None] + degrees[None])
    return [
        Ratio(
            4 * (m * t - both) - square,
            4 * (m * m - variance(edges)) - square,
            np.triu(4 * t * edges + 4 * m * inside - of_square),
            np.triu(8 * m * edges - of_square),
        )
    ]


def ei_index(cells: Floats, sizes: Ints, variance: Variance = no_variance) -> list[Ratio]:
    """(edges between groups − edges inside) / all edges.  [MIXING.5]"""
    n = sizes.size
    edges, inside = np.triu(np.ones((n, n))), np.eye(n)
    m, t = float(np.triu(cells).sum()), float(np.trace(cells))
    return [Ratio(m - 2 * t, m, edges - 2 * inside, edges)]


def coleman(cells: Floats, sizes: Ints, variance: Variance = no_variance) -> list[Ratio]:
    """For each group the share of its members' friends who are members too, on Coleman's scale.  [MIXING.6]"""
    n, others = sizes.size, max(int(sizes.sum()) - 1, 1)
    degrees = _degree_sums(cells)
    return [
        Ratio(
            2 * float(cells[a, a]),
            float(degrees[a]),
            _at(n, (a, a, 2.0)),
            ends_gradient(n, a),
            max(size - 1, 0) / others,
        )
        for a, size in enumerate(sizes.tolist())
    ]


RATIOS: dict[str, Callable[..., list[Ratio]]] = {
    "assortativity": assortativity,
    "ei_index": ei_index,
    "coleman": coleman,
}
"""From the cells, the groups' sizes and the variance of linear functions to each statistic's ratios."""


def exact(name: str, cells: Floats, sizes: Ints) -> float | Floats:
    """The true value of a statistic of groups, from the true mixing matrix."""
    if name in LINEAR:
        return linear_values(name, cells, sizes)
    values = [each.scaled(each.value) if each.below else 0.0 for each in RATIOS[name](cells, sizes)]
    return np.array(values) if name == "coleman" else values[0]


def ends_gradient(groups: int, a: int) -> Floats:
    """Of the sum of the degrees of a group's members: a cell counts once, and twice inside the group."""
    gradient = np.zeros((groups, groups))
    gradient[a, a:] = 1.0
    gradient[: a + 1, a] = 1.0
    gradient[a, a] = 2.0
    return gradient


def _degree_sums(cells: Floats) -> Floats:
    return np.asarray(cells.sum(axis=1) + np.diagonal(cells))


def _at(groups: int, *entries: tuple[int, int, float]) -> Floats:
    gradient = np.zeros((groups, groups))
    for a, b, value in entries:
        gradient[a, b] = value
    return gradient
