"""One pass over a graph for all the sums of a plan, a block of nodes at a time.  [PLAN.2]"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.evaluation.plan.graph_moments import (
    CLASSES,
    Floats,
    Ints,
    Moments,
    Octets,
    Rows,
    even_points,
)
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public.visibility import Visibility

Bits = npt.NDArray[np.bool_]

# Nodes looked at, numbers gathered for them in all, and in one block: beyond that a sample stands for the rest.
ROWS = 8192
# A made-up graph is not worth more nodes than these: it is wrong by more than a sample of them is.
MADE_UP_ROWS = 1024
_WORK = 3_000_000_000
_BLOCK = 1 << 20
_CERTAIN = 128
# Others against whom the classes of a user's friends are looked up, where the policy is not the same everywhere.
_LOOKED_AT = 256
_DRAWN = 512


@dataclass(frozen=True, eq=False)
class Links:
    """Each node's list, one after another; lists may be one-sided."""

    starts: Ints = field(repr=False)
    targets: npt.NDArray[np.int32] = field(repr=False)

    @property
    def n(self) -> int:
        return self.starts.size - 1

    @cached_property
    def lengths(self) -> Ints:
        return np.diff(self.starts)

    @cached_property
    def earlier(self) -> Links:
        """The friends with smaller numbers."""
        return self._kept(self.targets < np.repeat(np.arange(self.n), self.lengths))

    @cached_property
    def later(self) -> Links:
        """The friends with larger numbers."""
        return self._kept(self.targets > np.repeat(np.arange(self.n), self.lengths))

    def _kept(self, mask: Bits) -> Links:
        return Links(np.concatenate([[0], np.cumsum(mask)])[self.starts], self.targets[mask])

    def columns(self, nodes: Ints) -> Rows:
        """(n, nodes): 1 where a node of the column has the row in its list."""
        column, member = self._entries(nodes)
        result = np.zeros((self.n, nodes.size), np.float32)
        result[member, column] = 1
        return result

    def paths(self, nodes: Ints, second: Links) -> Rows:
        """(n, nodes): in how many ways a row is reached by a step of these lists and one of ``second``."""
        column, middle = self._entries(nodes)
        step, end = second._entries(middle)
        counts = np.bincount(end.astype(np.int64) * nodes.size + column[step], minlength=self.n * nodes.size)
        return counts.reshape(self.n, nodes.size).astype(np.float32)

    def times(self, columns: Rows) -> Rows:
        """For each node, the sum over its list of the rows of ``columns``."""
        return backend.list_sums(columns, self.starts, self.targets).astype(np.float32)

    def _entries(self, nodes: npt.NDArray[np.int64] | npt.NDArray[np.int32]) -> tuple[Ints, npt.NDArray[np.int32]]:
        """The lists of these nodes laid end to end: whose entry, and who."""
        lengths = self.lengths[nodes]
        whose = np.repeat(np.arange(nodes.size), lengths)
        steps = np.arange(whose.size) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return whose, self.targets[self.starts[nodes][whose] + steps]


def moments_of(world: VisibilityAwareGraph, cycles: bool = False, rows: int = ROWS) -> Moments:
    """All sums of a world, from so many nodes at most; those that only 4-cycles need where ``cycles``."""
    chosen, weights = _chosen(world, cycles, rows)
    found = Moments(world, cycles, chosen, weights)
    links = Links(*world.graph.neighbours)
    friends = _friends_by_class(found, links)
    width = max(1, min(256, _BLOCK // found.n))
    for start in range(0, chosen.size, width):
        block = _Block(found, links, slice(start, min(start + width, chosen.size)))
        _add(block, friends)
        if cycles:
            _add_cycles(block)
            _add_looked_at(block, friends)
    return found


def numbers_of(n: int, m: int, cycles: bool) -> int:
    """How many numbers are gathered for each node that is looked at."""
    return 2 * m * (7 if cycles else 3) + 4 * n


def rows_of(n: int, m: int, cycles: bool, rows: int) -> int:
    """How many nodes are looked at."""
    return min(n, max(min(_WORK // max(numbers_of(n, m, cycles), 1), rows), 2 * _CERTAIN))


def _chosen(world: VisibilityAwareGraph, cycles: bool, rows: int) -> tuple[Ints, Floats]:
    """All nodes; where that takes too long the largest, and every so many of the rest by degree."""
    n, room = world.graph.n, rows_of(world.graph.n, world.graph.m, cycles, rows)
    if n <= room:
        return np.arange(n), np.ones(n)
    order = np.argsort(-world.graph.degrees, kind="stable")
    rest = room - _CERTAIN
    places = _CERTAIN + ((np.arange(rest) + 0.5) * (n - _CERTAIN) / rest).astype(np.int64)
    chosen = np.concatenate([order[:_CERTAIN], order[places]])
    weights = np.concatenate([np.ones(_CERTAIN), np.full(rest, (n - _CERTAIN) / rest)])
    return chosen, weights


@dataclass(frozen=True, eq=False)
class _Block:
    """Some of the chosen nodes, called users; all arrays are (nodes, users)."""

    found: Moments
    links: Links
    place: slice

    @cached_property
    def users(self) -> Ints:
        return self.found.chosen[self.place]

    @cached_property
    def numbers(self) -> Ints:
        return np.arange(self.found.n)[:, None]

    @cached_property
    def lists(self) -> Rows:
        return self.links.columns(self.users)

    @cached_property
    def after(self) -> Rows:
        """The later friends of each user."""
        return np.where(self.numbers > self.users, self.lists, 0).astype(np.float32)

    @cached_property
    def kinds(self) -> Octets:
        return _classes(self.found, self.users)

    @cached_property
    def weights(self) -> Rows:
        """How many positions each stands for; a node has none with itself."""
        return np.where(self.numbers != self.users, self.found.weights[self.place], 0.0).astype(np.float32)

    @cached_property
    def shared(self) -> Rows:
        """Common friends."""
        return self._apart(self.links.paths(self.users, self.links))

    @cached_property
    def before(self) -> Rows:
        """Common friends before both."""
        return self._apart(self.links.earlier.paths(self.users, self.links.later))

    @cached_property
    def pulls(self) -> Rows:
        """How many of a user's later friends know x."""
        return self.links.later.paths(self.users, self.links)

    @cached_property
    def asked(self) -> Bits:
        """Later positions that can change: PRIVATE ones where a user has any, and else FRIEND_VISIBLE ones."""
        later = self.numbers > self.users
        private = (self.kinds == Visibility.PRIVATE) & later
        chosen: Bits = np.where(private.any(axis=0), private, (self.kinds == Visibility.FRIEND_VISIBLE) & later)
        return chosen

    def _apart(self, paths: Rows) -> Rows:
        paths[self.users, np.arange(self.users.size)] = 0
        return paths

    def by_class(self, values: Rows) -> Floats:
        """Sums over positions, each met at both its ends."""
        weighted = values * self.weights
        return np.array([weighted.sum(where=self.kinds == kind, dtype=np.float64) for kind in range(CLASSES)]) / 2


def _add(block: _Block, friends: list[Rows]) -> None:
    found, place, users = block.found, block.place, block.users
    degrees = found.world.graph.degrees.astype(np.float32)
    for kind in range(CLASSES):
        found.node_classes[place, kind] = ((block.kinds == kind) & (block.weights > 0)).sum(axis=0)
    found.shared_squares += block.by_class(block.shared**2)
    found.shared_ends += block.by_class(block.shared * (degrees[:, None] + degrees[users] - 2 * block.lists))
    _add_at_edges(block, degrees)
    found.earlier_squares += block.by_class(block.before**2)
    found.triangle_pulls.add(place, block.pulls, block.asked)
    found.hidden_friends[place] = _hidden_friends(block, friends)


def _add_at_edges(block: _Block, degrees: Rows) -> None:
    """What samples need besides: sums over edges alone, and triangles by node.  [PLAN.13-14]"""
    found, users, inside = block.found, block.users, block.shared * block.lists
    found.shared_sums += block.by_class(block.shared)
    found.edge_squares += block.by_class(block.shared * inside)
    found.edge_ends += block.by_class(inside * (degrees[:, None] + degrees[users] - 2))
    found.node_triangles[block.place] = inside.sum(axis=0, dtype=np.float64) / 2


def _add_cycles(block: _Block) -> None:
    found, place, users, links = block.found, block.place, block.users, block.links
    degrees = found.world.graph.degrees.astype(np.float32)
    closing = links.times(links.paths(users, links)) - block.lists * (degrees[:, None] + degrees[users] - 1)
    found.closing_squares += block.by_class(closing**2)
    found.edge_closing_squares += block.by_class(closing**2 * block.lists)
    found.opposite_squares += block.by_class(np.square(block.shared * (block.shared - 1))) / 4
    found.node_cycles[place] = (block.shared * (block.shared - 1)).sum(axis=0, dtype=np.float64) / 2
    if not found.constant:
        found.heavy_wedges += _heavy_wedges(block)
    # What a user's list and the scores of others' positions would add, but for their noise.  [ROWS.3]
    early, after = links.earlier, block.after
    half = early.times(links.later.paths(users, early))
    own_paths = after * (degrees - early.lengths / 2)[:, None] + after * (after.sum(axis=0) - 1) / 2
    found.cycle_pulls.add(place, links.times(block.pulls) - half / 2 - own_paths, block.asked)
    found.around_squares[place] = (block.pulls.astype(np.float64) ** 2).sum(axis=0)
    paths = np.bincount(np.maximum(block.shared - block.before / 2, 0).astype(np.int64).ravel())
    size = max(paths.size, found.path_counts.size)
    found.path_counts = np.pad(found.path_counts, (0, size - found.path_counts.size))
    found.path_counts[: paths.size] += paths


def _add_looked_at(block: _Block, friends: list[Rows]) -> None:
    """What a policy that is not the same everywhere does to the noise in 4-cycles' pulls.  [PLAN.6]"""
    found, some = block.found, _some(block.found)
    if found.constant:
        return
    if not found.looked_kinds.size:
        found.looked_kinds = _classes(found, some)[some]
        found.friends_there = np.array(friends)[:, found.chosen]
        found.asked_there = np.zeros((found.chosen.size, some.size), np.bool_)
    found.asked_there[block.place] = block.asked[some].T


def _classes(found: Moments, nodes: Ints) -> Octets:
    if found.constant:
        return np.full((found.n, nodes.size), found.only, np.uint8)
    u, v = np.broadcast_arrays(np.arange(found.n)[:, None], nodes)
    return found.world.public.classes.of(u.ravel(), v.ravel()).reshape(u.shape)


def _friends_by_class(found: Moments, links: Links) -> list[Rows]:
    """By class, how many later friends of everybody have such a position with each of some evenly spread nodes."""
    if found.constant:
        return []
    kinds = _classes(found, _some(found))
    return [links.later.times((kinds == kind).astype(np.float32)) for kind in range(CLASSES)]


def _some(found: Moments) -> Ints:
    return np.unique(np.linspace(0, found.n - 1, _LOOKED_AT).astype(np.int64))


def _hidden_friends(block: _Block, friends: list[Rows]) -> Floats:
    """(users, classes): of a user's list, how many have positions of each class with an x that can change."""
    found, users = block.found, block.users
    if found.constant:
        return np.outer(block.links.later.lengths[users], np.arange(CLASSES) == found.only).astype(np.float64)
    seen = block.asked[_some(found)].T.astype(np.float64)
    sums = np.array([(each[users] * seen).sum(axis=1) for each in friends])
    return np.asarray(sums.T / np.maximum(seen.sum(axis=1), 1)[:, None], dtype=np.float64)


def _heavy_wedges(block: _Block) -> Floats:
    """Σ c²_uv by the classes of {u, w} and {w, v}, for a w anywhere; from pairs drawn in proportion to c²."""
    found, classes = block.found, block.found.world.public.classes
    mass = np.cumsum((block.shared**2 * block.weights).ravel(), dtype=np.float64)
    if not mass[-1]:
        return np.zeros((CLASSES, CLASSES))
    place = np.searchsorted(mass, (np.arange(_DRAWN) + 0.5) / _DRAWN * mass[-1])
    v, column = np.divmod(np.minimum(place, mass.size - 1), block.users.size)
    u, w = block.users[column], (even_points(1, _DRAWN)[0] * found.n).astype(np.int64)
    kept = (w != u) & (w != v)
    flat = classes.of(u[kept], w[kept]).astype(np.int64) * CLASSES + classes.of(w[kept], v[kept])
    shares = np.bincount(flat, minlength=CLASSES**2) / max(flat.size, 1)
    return np.asarray((mass[-1] / 2 * shares).reshape(CLASSES, CLASSES), dtype=np.float64)
