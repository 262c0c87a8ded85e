"""The sums over a graph and its policy that every predicted variance is made of.  [PLAN.2]

They do not depend on ε, so that one pass serves all. Classes are kept apart: what is summed over positions is summed
for PUBLIC, FRIEND_VISIBLE and PRIVATE ones.
"""

from dataclasses import dataclass, field
from functools import cached_property
from math import comb

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute.plain.common_neighbours import RisingEdges, triangles
from visibility_aware_edge_ldp.counts.degrees.degree_functions import binomial
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public.statistic import DEGREES, FOUR_CYCLES, TRANSITIVITY, TRIANGLES, exact
from visibility_aware_edge_ldp.public.statistic import statistic as registered
from visibility_aware_edge_ldp.public.visibility import Visibility

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Octets = npt.NDArray[np.uint8]
CLASSES = len(Visibility)
# Users whose smooth bounds are worked out, those of them who are taken whatever the stride, and triangles looked at.
_SOME_USERS, _CERTAIN = 640, 128
_SOME_TRIANGLES = 1 << 17
POINTS = 1 << 18
Rows = npt.NDArray[np.float32]
# Bins of pulls: four for each doubling.
BINS = 96


def even_points(dimensions: int, points: int = POINTS) -> Floats:
    """(dimensions, points): multiples of powers of the root of x^(d + 1) = x + 1, without their whole parts."""
    root = 2.0
    for _ in range(60):
        root = (1 + root) ** (1 / (dimensions + 1))
    steps = root ** -np.arange(1.0, dimensions + 1)
    return np.asarray((0.5 + np.outer(steps, np.arange(1, points + 1))) % 1)


def spread_evenly(n: int, corners: int) -> Ints:
    """(corners, points): nodes for the corners of a shape."""
    return np.minimum(even_points(corners) * n, n - 1).astype(np.int64)


def heavy_pairs(weights: Floats) -> tuple[Ints, Ints, float]:
    """Pairs of different nodes in proportion to the product of their weights, and the sum over all ordered pairs."""
    mass = np.cumsum(weights)
    if not (weights.size > 1 and mass[-1] > 0):
        return np.empty(0, np.int64), np.empty(0, np.int64), 0.0
    drawn = np.searchsorted(mass, even_points(2) * mass[-1]).clip(max=weights.size - 1)
    apart = drawn[0] != drawn[1]
    return drawn[0][apart], drawn[1][apart], float(mass[-1] ** 2 - (weights**2).sum())


@dataclass(eq=False)
class Pulls:
    """For each chosen user, how its possible friends x are spread by what they would add: counts and sums by bin."""

    counts: Floats
    sums: Floats

    @classmethod
    def empty(cls, users: int) -> "Pulls":
        return cls(np.zeros((users, BINS)), np.zeros((users, BINS)))

    def add(self, users: slice, pulls: Rows, asked: npt.NDArray[np.bool_]) -> None:
        """Take in some users' pulls, (nodes, users), where ``asked``."""
        width = pulls.shape[1]
        bins = np.minimum(4 * np.log2(1 + np.maximum(pulls, 0)), BINS - 1).astype(np.int64)
        flat = (bins + BINS * np.arange(width))[asked]
        for target, weights in ((self.counts, None), (self.sums, pulls[asked].astype(np.float64))):
            target[users] = np.bincount(flat, weights, minlength=BINS * width).reshape(width, BINS)

    @property
    def means(self) -> Floats:
        return self.sums / np.maximum(self.counts, 1)


@dataclass(eq=False)
class Moments:
    """All sums of one world; ``weights`` says how many nodes each chosen one stands for."""

    world: VisibilityAwareGraph
    cycles: bool
    chosen: Ints
    weights: Floats
    shared_squares: Floats = field(default_factory=lambda: np.zeros(CLASSES))
    shared_ends: Floats = field(default_factory=lambda: np.zeros(CLASSES))
    shared_sums: Floats = field(default_factory=lambda: np.zeros(CLASSES))
    edge_squares: Floats = field(default_factory=lambda: np.zeros(CLASSES))
    edge_ends: Floats = field(default_factory=lambda: np.zeros(CLASSES))
    edge_closing_squares: Floats = field(default_factory=lambda: np.zeros(CLASSES))
    earlier_squares: Floats = field(default_factory=lambda: np.zeros(CLASSES))
    closing_squares: Floats = field(default_factory=lambda: np.zeros(CLASSES))
    opposite_squares: Floats = field(default_factory=lambda: np.zeros(CLASSES))
    heavy_wedges: Floats = field(default_factory=lambda: np.zeros((CLASSES, CLASSES)))
    path_counts: Ints = field(default_factory=lambda: np.zeros(1, np.int64))
    values: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        users = self.chosen.size
        self.triangle_pulls, self.cycle_pulls = Pulls.empty(users), Pulls.empty(users if self.cycles else 0)
        self.hidden_friends = np.zeros((users, CLASSES))
        self.around_squares = np.zeros(users)
        self.node_classes = np.zeros((users, CLASSES))
        self.node_triangles, self.node_cycles = np.zeros(users), np.zeros(users)
        # Where the policy is not the same everywhere: the classes among some nodes, and those of everybody's list.
        self.looked_kinds = np.zeros((0, 0), np.uint8)
        self.friends_there = np.zeros((CLASSES, users, 0), np.float32)
        self.asked_there = np.zeros((users, 0), np.bool_)

    @property
    def n(self) -> int:
        return self.world.graph.n

    @property
    def m(self) -> int:
        return self.world.graph.m

    @property
    def constant(self) -> bool:
        """Whether every position has the same class."""
        return self.world.public.classes.is_constant

    @cached_property
    def edge_classes(self) -> Octets:
        u, v = self.world.graph.edges.astype(np.int64).T
        return self.world.public.classes.of(u, v) if u.size else np.empty(0, np.uint8)

    @cached_property
    def positions(self) -> Floats:
        """How many positions each class has."""
        return self.weights @ self.node_classes / 2

    @cached_property
    def degrees_by_class(self) -> Floats:
        """(classes, n): each node's true degree in each class."""
        ends = self.world.graph.edges.astype(np.int64)
        return np.array(
            [np.bincount(ends[self.edge_classes == kind].ravel(), minlength=self.n) for kind in range(CLASSES)], float
        )

    @cached_property
    def list_lengths(self) -> Floats:
        """How many later friends each chosen user has."""
        return np.bincount(self.world.graph.edges[:, 0], minlength=self.n)[self.chosen].astype(np.float64)

    @cached_property
    def some_users(self) -> tuple[Ints, Floats]:
        """Places among the chosen, and weights: those with the largest pulls, and every so many of the rest."""
        asked = np.flatnonzero(self.triangle_pulls.counts.any(axis=1))
        if asked.size <= _SOME_USERS:
            return asked, self.weights[asked]
        order = asked[np.lexsort((self.list_lengths[asked], self.triangle_pulls.means.max(axis=1)[asked]))[::-1]]
        certain, rest = order[:_CERTAIN], order[_CERTAIN:]
        strides = ((np.arange(_SOME_USERS - _CERTAIN) + 0.5) * rest.size / (_SOME_USERS - _CERTAIN)).astype(np.int64)
        weights = self.weights[rest[strides]]
        weights = weights * (self.weights[rest].sum() / weights.sum())
        return np.concatenate([certain, rest[strides]]), np.concatenate([self.weights[certain], weights])

    @cached_property
    def some_triangles(self) -> tuple[Ints, float]:
        """(triangles, 3) nodes of triangles that are not all public, and how many each row stands for."""
        ranks = np.argsort(np.argsort(self.world.graph.degrees, kind="stable"))
        node, rising = np.argsort(ranks), RisingEdges.of(self.world.graph.edges, ranks)
        hidden = (self.edge_classes != Visibility.PUBLIC)[rising.source]
        parts, stride = [np.empty((0, 3), np.int64)], max(1, int(self.triangles) // _SOME_TRIANGLES)
        count = 0
        for ab, ac, bc in triangles(rising, self.n):
            kept = np.flatnonzero(hidden[ab] | hidden[ac] | hidden[bc])
            some = kept[(-count) % stride :: stride]
            parts.append(np.stack([rising.low[ab[some]], rising.high[ab[some]], rising.high[ac[some]]], axis=1))
            count += kept.size
        found = node[np.concatenate(parts)]
        return found, count / max(len(found), 1)

    @cached_property
    def edge_counts(self) -> Floats:
        """How many edges each class has."""
        return np.bincount(self.edge_classes, minlength=CLASSES).astype(np.float64)

    def edge_star_products(self, k: int) -> Floats:
        """The part of ``star_products`` that is at edges."""
        degrees, (u, v) = self.world.graph.degrees, self.world.graph.edges.astype(np.int64).T
        inside = binomial(degrees[u] - 1, k - 1) * binomial(degrees[v] - 1, k - 1)
        return np.bincount(self.edge_classes, inside, minlength=CLASSES).astype(np.float64)

    def star_products(self, k: int) -> Floats:
        """Σ over positions of h_u·h_v by class, h = C(degree without the position, k − 1).  [PLAN.3]"""
        degrees, (u, v) = self.world.graph.degrees, self.world.graph.edges.astype(np.int64).T
        whole = binomial(degrees, k - 1)
        products = self.edge_star_products(k)
        products -= np.bincount(self.edge_classes, whole[u] * whole[v], minlength=CLASSES)
        if self.constant:
            products[self.only] += (whole.sum() ** 2 - (whole**2).sum()) / 2
            return products
        a, b, mass = heavy_pairs(whole)
        return products + mass / 2 * self._shares(self.world.public.classes.of(a, b))

    @property
    def only(self) -> int:
        return int(self.world.public.classes.of([0], [1])[0])

    def _shares(self, kinds: Octets) -> Floats:
        return np.bincount(kinds, minlength=CLASSES) / max(kinds.size, 1)

    def shape_shares(self, sides: tuple[tuple[int, int], ...], joined: bool = False) -> Floats:
        """How the classes of a shape's sides fall, over all places, or where corners 0 and 1 are friends.

        For 4-cycles with sides (0, 1), (1, 2), … an array with one axis a side, that sums to 1.
        """
        if self.constant:
            return _all_at(self.only, len(sides))
        corners = spread_evenly(self.n, 1 + max(max(side) for side in sides))
        if joined:
            rows = np.arange(corners.shape[1]) * self.m // corners.shape[1]
            corners[:2] = self.world.graph.edges[rows].T
        apart = np.array([a != b for i, a in enumerate(corners) for b in corners[:i]]).all(axis=0)
        kinds = [self.world.public.classes.of(corners[a][apart], corners[b][apart]) for a, b in sides]
        flat = np.ravel_multi_index(tuple(kinds), (CLASSES,) * len(sides))
        counts = np.bincount(flat, minlength=CLASSES ** len(sides))
        return (counts / max(flat.size, 1)).reshape((CLASSES,) * len(sides))

    @cached_property
    def triples(self) -> Floats:
        return self.shape_shares(((0, 1), (1, 2), (2, 0)))

    @cached_property
    def wedges_at_edges(self) -> Floats:
        return self.shape_shares(((0, 2), (2, 1)), joined=True)

    @cached_property
    def quads(self) -> Floats:
        return self.shape_shares(((0, 1), (1, 2), (2, 3), (3, 0)))

    @cached_property
    def paths_at_edges(self) -> Floats:
        return self.shape_shares(((0, 2), (2, 3), (3, 1)), joined=True)

    def value(self, statistic: str) -> float:
        """What the assumed graph has; for degrees and groups their mean, and NaN for other arrays."""
        if statistic not in self.values:
            self.values[statistic] = self._counted(statistic)
        return self.values[statistic]

    def _counted(self, statistic: str) -> float:
        if statistic == DEGREES.name:
            return 2 * self.m / self.n
        if statistic == TRANSITIVITY.name:
            return 3 * self.triangles / self.two_stars if self.two_stars else 0.0
        found = exact(self.world.graph, statistic)
        is_mean = np.ndim(found) == 0 or registered(statistic).by_groups
        return float(np.mean(found)) if is_mean else float("nan")

    @property
    def triangles(self) -> float:
        return self.value(TRIANGLES.name)

    @cached_property
    def two_stars(self) -> float:
        return float(binomial(self.world.graph.degrees, 2).sum())

    @property
    def cycles_on_four(self) -> float:
        return self.value(FOUR_CYCLES.name)

    @property
    def disjoint_edges(self) -> float:
        """Pairs of edges that share no node."""
        return comb(self.m, 2) - self.two_stars


def _all_at(kind: int, sides: int) -> Floats:
    shares = np.zeros((CLASSES,) * sides)
    shares[(kind,) * sides] = 1
    return shares
