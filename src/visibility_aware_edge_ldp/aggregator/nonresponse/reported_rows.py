"""Positions in rows: whose rows were reported, and how much a subgraph that needs some of them weighs.  [HOLDERS.1]

A position {u, v}, u < v, is in the row of u, its holder: a row is reported as a whole or not at all. Public positions
are always known.

The leaves of a star are of three kinds: public, later users (the centre holds the position), and earlier users (each
holds its own). So it needs as many holders as it has earlier leaves, and one more if it has a later one.  [HOLDERS.2]
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations_with_replacement
from math import factorial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.plain.bitset import TILE, Words, pack_rows, row_sums, unpack_rows
from visibility_aware_edge_ldp.compute.reproducible_math import dot, powers, product, weighted
from visibility_aware_edge_ldp.counts.scores import Floats, Scores, score, scores_of, spread
from visibility_aware_edge_ldp.errors import BadStatistic
from visibility_aware_edge_ldp.public.transcript import Transcript, holders
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.aggregator.position import PositionCollection

Ints = npt.NDArray[np.int64]
Counts = npt.NDArray[np.int32]
# (public, later, earlier leaves) → weight
Terms = dict[tuple[int, int, int], float]
BLOCK = 256


class Parts(NamedTuple):
    """An estimate and what is known of how it varies.  [HOLDERS.4]

    ``noise`` is the variance of the answers' noise given who answered, which is at least ``floor``. ``pulls`` are the
    subgraphs that each user is needed for as a holder, weighed as in the estimate, and ``pull_noise`` is the noise
    variance of all of these together.
    """

    value: float
    noise: float
    floor: float
    pulls: Floats
    pull_noise: float


@dataclass(frozen=True, eq=False)
class ReportedRows:
    """The scores of the positions that were reported, 0 elsewhere.

    Parameters
    ----------
    public
        How many of the scores' planes are public edges: 0 or 1, and then it is the first.
    asked
        How many users hold a row with something that is not public.
    users
        Those of them who answered in every round.
    """

    scores: Scores = field(repr=False)
    public: int
    asked: int
    users: Ints = field(repr=False)

    @property
    def response_rate(self) -> float:
        """The share of those asked who answered in every round; 1 where nobody was asked."""
        return self.users.size / self.asked if self.asked else 1.0

    def weights(self, most: int) -> Floats:
        """What a subgraph with 0, 1, …, ``most`` holders counts for: one over the chance that all reported.

        [HOLDERS.1]
        """
        reported, least = self.users.size, min(most, self.asked)
        if reported < least:
            raise BadStatistic(f"Only {reported} of {self.asked} users have answered; at least {least} are needed.")
        found = np.zeros(most + 1)  # nobody can need more holders than there are
        found[0] = 1.0
        for number in range(min(most, self.asked)):
            found[number + 1] = found[number] * (self.asked - number) / (self.users.size - number)
        return found

    @cached_property
    def known(self) -> dict[str, Any]:
        """What was worked out for one statistic and others are made from too, by name."""
        return {}

    @cached_property
    def is_public(self) -> Floats:
        """For each plane 1 if it is the public edges, else 0."""
        return (np.arange(len(self.scores.planes)) < self.public).astype(np.float64)

    @cached_property
    def later(self) -> Words:
        """The planes without the columns up to each row's own user: what stands in its own row."""
        found = self.scores.planes.copy()
        for first in range(0, self.scores.n, TILE):
            rows = np.arange(first, min(first + TILE, self.scores.n))
            found[:, first : first + TILE] &= pack_rows(np.arange(self.scores.n) > rows[:, None], self.scores.n)
        return found

    @cached_property
    def own_degrees(self) -> Floats:
        """(K, n): how many ones each user's own row has in each plane."""
        sums = [row_sums(plane) for plane in self.later]
        return np.stack(sums).astype(np.float64) if sums else np.zeros((0, self.scores.n))


def reported_rows(collection: PositionCollection) -> ReportedRows:
    """Whose rows took part in every round; who answered in the first round only is taken as absent.  [HOLDERS.1]"""
    view, survey = collection.view, collection.survey
    if survey.sample is not None:
        raise BadStatistic("A survey of a sample of positions is not held by rows; estimate it with aggregator.sample.")
    complete = collection.complete
    reported = Transcript(survey.identity, complete, collection.transcript.ones & complete).rows_answered(view)
    asked = holders(view)
    groups = [([view.edge_bits], [1.0])] if len(view.edges) else []
    for kind in NON_PUBLIC:
        nested = collection.nested(kind)
        if nested[0].any():
            groups.append((nested, [float(value) for value in survey.channel(kind).scores]))
    public = int(len(view.edges) > 0)
    return ReportedRows(scores_of(groups, view.n), public, int(asked.sum()), np.flatnonzero(reported & asked))


class Zone:
    """How many third users in one zone each pair of users shares through every two planes."""

    def __init__(self, counts: Counts) -> None:
        self.counts = counts
        self.known: dict[bytes, Floats] = {}

    @staticmethod
    def of(left: Words, right: Words) -> Zone:
        """Of the pairs of users with these rows of all planes."""
        if not len(left):
            return Zone(np.zeros((0, 0, left.shape[1], right.shape[1]), np.int32))
        return Zone(np.stack([[backend.shared_counts(a, b) for b in right] for a in left]))

    def less(self, other: Zone) -> Zone:
        """The third users of this zone who are not in the other, which lies in it."""
        return Zone(self.counts - other.counts)

    def form(self, left: Floats, right: Floats) -> Floats:
        """Σ over third users of a function of the position with one end times a function of the one with the other."""
        weights = np.outer(left, right)
        key = weights.tobytes()
        if key not in self.known:  # the estimate and its pulls want the same ones
            found = np.zeros(self.counts.shape[2:])
            for place in np.argwhere(weights).tolist():
                found += weights[tuple(place)] * self.counts[tuple(place)]
            found.setflags(write=False)
            self.known[key] = found
        return self.known[key]


def matrix_of(planes: Words, weights: Floats, n: int) -> Floats:
    """(n, n): the weighted sum of the planes' bits, a few rows at a time."""
    found = np.zeros((n, n))
    for plane, weight in zip(planes, weights.tolist(), strict=True):
        if weight:
            for start in range(0, n, BLOCK):
                found[start : start + BLOCK] += weight * unpack_rows(plane[start : start + BLOCK], n)
    return found


def star_parts(rows: ReportedRows, k: int) -> Parts:
    """The number of k-stars and how it varies.  [HOLDERS.2], [HOLDERS.4]"""
    leaves, terms = Leaves.of(rows, 2 * k), _Terms.of(rows.weights(k), k)
    whole, own = leaves.sums(terms.all), leaves.sums(terms.own)
    noise = whole**2 - leaves.squares(terms.all)
    pull_noise = own**2 - leaves.squares(terms.own)
    pulls = own.copy()
    for symbol in range(rows.public, rows.scores.values.size):
        value = float(rows.scores.values[symbol])
        at_end = leaves.without(value, "earlier")
        centre, end = leaves.without(value, "later").sums(terms.by_later), at_end.sums(terms.by_earlier)
        ends = _later_sums(rows, symbol, end)
        shared = 2 * float(spread(np.array(value))) * centre * ends
        noise += shared
        pull_noise += shared
        pulls += value * ends
        pull_noise += _later_sums(rows, symbol, (value * end) ** 2 - value * at_end.squares(terms.by_earlier))
    # The term in which all k sides are noisy; the whole variance is at least that.
    floor = Leaves.of(rows, k, spread(rows.scores.values)).sums({key: w**2 for key, w in terms.all.items()})
    return Parts(float(whole.sum()), float(noise.sum()), float(floor.sum()), pulls, float(pull_noise.sum()))


@dataclass(frozen=True)
class _Terms:
    """Weights of a centre's stars, of those it holds a part of, and of both without one later or earlier leaf."""

    all: Terms
    own: Terms
    by_later: Terms
    by_earlier: Terms

    @staticmethod
    def of(weights: Floats, k: int) -> _Terms:
        every = {key: float(weights[key[2] + (key[1] > 0)]) for key in _leaves(k)}
        by_earlier = {key: float(weights[key[2] + 1 + (key[1] > 0)]) for key in _leaves(k - 1)}
        by_later = {key: float(weights[key[2] + 1]) for key in _leaves(k - 1)}
        return _Terms(every, {key: weight for key, weight in every.items() if key[1]}, by_later, by_earlier)


def _leaves(k: int) -> list[tuple[int, int, int]]:
    return [(i, j, k - i - j) for i in range(k + 1) for j in range(k + 1 - i)]


class Leaves(NamedTuple):
    """(order + 1, n) each: e_0, e_1, … of every centre's scores with its public, later and earlier leaves."""

    public: Floats
    later: Floats
    earlier: Floats

    @staticmethod
    def of(rows: ReportedRows, order: int, values: Floats | None = None) -> Leaves:
        """Of the scores, or of other values in their place."""
        scores = rows.scores
        later = product(scores.symbol_weights.T, rows.own_degrees)
        earlier, mine = scores.symbol_counts - later, scores.values if values is None else values
        public, hidden = slice(0, rows.public), slice(rows.public, None)
        return Leaves(
            _symmetric(mine[public], scores.symbol_counts[public], order),
            _symmetric(mine[hidden], later[hidden], order),
            _symmetric(mine[hidden], earlier[hidden], order),
        )

    def without(self, value: float, kind: str) -> Leaves:
        """The same with one score of this value taken away."""
        less = np.ones_like(self.later)
        for j, all_of_them in enumerate(getattr(self, kind)[1:], start=1):
            less[j] = all_of_them - value * less[j - 1]
        return Leaves(self.public, less, self.earlier) if kind == "later" else Leaves(self.public, self.later, less)

    def sums(self, terms: Terms) -> Floats:
        """For each centre, the weighted sum over sets of its leaves of the products of their scores."""
        found = np.zeros(self.later.shape[1])
        for (i, j, m), weight in terms.items():
            found += weight * self.public[i] * self.later[j] * self.earlier[m]
        return found

    def squares(self, terms: Terms) -> Floats:
        """Unbiased estimates of the squares of what ``sums`` estimates: products with no score squared.  [COUNTS.3]"""
        found, known = np.zeros(self.later.shape[1]), [self._products(part) for part in self]
        for (left, weight), (right, other) in combinations_with_replacement(terms.items(), 2):
            public, later, earlier = (part[i, j] for part, i, j in zip(known, left, right, strict=True))
            found += (1 if left == right else 2) * weight * other * public * later * earlier
        return found

    @staticmethod
    def _products(symmetric: Floats) -> dict[tuple[int, int], Floats]:
        """C(d, i)·C(d, j) without bias, for all i and j up to half the order."""
        orders = range((len(symmetric) + 1) // 2)
        return {(i, j): _both(symmetric, i, j) for i in orders for j in orders}


def _both(symmetric: Floats, i: int, j: int) -> Floats:
    """C(d, i)·C(d, j) without bias: by the size of the union of an i-set and a j-set.  [COUNTS.3]"""
    sizes = range(max(i, j), i + j + 1)
    ways = [factorial(m) / (factorial(m - i) * factorial(m - j) * factorial(i + j - m)) for m in sizes]
    found: Floats = sum(way * symmetric[m] for way, m in zip(ways, sizes, strict=True))
    return found


def _symmetric(values: Floats, counts: Floats, order: int) -> Floats:
    """(order + 1, n): elementary symmetric polynomials of so many of each value, by Newton's identities."""
    sums = [weighted(each, counts) for each in powers(values, order)]
    found = np.zeros((order + 1, counts.shape[1]))
    found[0] = 1
    for j in range(1, order + 1):
        found[j] = sum((-1) ** (i - 1) * found[j - i] * sums[i] for i in range(1, j + 1)) / j
    return found


def _later_sums(rows: ReportedRows, symbol: int, vector: Floats) -> Floats:
    """For each user, the sum of the vector over the later users with which it has this symbol."""
    n, found = rows.scores.n, np.zeros(rows.scores.n)
    for plane, weight in zip(rows.later, rows.scores.symbol_weights[:, symbol], strict=True):
        if weight:
            for first in range(0, n, BLOCK):
                # Added up by NumPy, whose order does not depend on threads.
                found[first : first + BLOCK] += weight * np.where(
                    unpack_rows(plane[first : first + BLOCK], n), vector, 0
                ).sum(axis=1)
    return found


def edge_parts(rows: ReportedRows) -> Parts:
    """The number of edges and how it varies.  [HOLDERS.1], [HOLDERS.4]"""
    weight, scores = float(rows.weights(1)[1]), rows.scores
    own = rows.own_degrees
    pulls = weight * weighted(scores.weights(score) - rows.is_public, own)
    noise = weight**2 * dot(scores.weights(spread), own.sum(axis=1))
    return Parts(dot(rows.is_public, own.sum(axis=1)) + float(pulls.sum()), noise, noise, pulls, noise)
