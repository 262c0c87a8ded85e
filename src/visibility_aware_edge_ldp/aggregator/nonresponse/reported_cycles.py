"""4-cycles from the rows that were reported.  [HOLDERS.8]

The lowest user of a 4-cycle has two of its sides: a *fork* to x < y, both held by that user. It is closed by another
fork, from a user before x, with one holder; or by a path x-z-y with z after x, whose sides have two. Public sides need
nobody.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.aggregator.nonresponse.reported_rows import Parts, ReportedRows, Zone, matrix_of
from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.plain.bitset import unpack_rows
from visibility_aware_edge_ldp.compute.plain.pair_sums import upper
from visibility_aware_edge_ldp.compute.reproducible_math import dot, product
from visibility_aware_edge_ldp.counts.rows import on_all_cores
from visibility_aware_edge_ldp.counts.scores import Floats, score, spread, square
from visibility_aware_edge_ldp.errors import BadStatistic

BLOCK = 48
# So many octets are taken for each pair of users, and for the pairs of no more users than this.
OCTETS, MOST = 80, 10_000
# Rows at a time, so that what is made of them is little beside the matrices.
ROWS = 256


class Closings(NamedTuple):
    """(n, n) each, for x < y: what closes a cycle, weighed; 0 elsewhere, but ``closing`` is both ways.

    ``first`` and ``second`` are forks from users before x, for cycles with one and with two holders besides;
    ``closing`` is all that closes a fork to x and y which is not public, and ``chain`` all that closes x-m-y with
    x < m < y.
    """

    first: Floats
    second: Floats
    closing: Floats
    chain: Floats

    @staticmethod
    def empty(n: int) -> Closings:
        """About to be filled, block by block."""
        return Closings(*(np.zeros((n, n)) for _ in range(4)))

    def put(self, start: int, inside: npt.NDArray[np.bool_], *parts: Floats) -> None:
        """The pairs of a block of rows, with the columns from its first row on."""
        rows = slice(start, start + len(inside))
        for whole, part in zip(self, parts, strict=True):
            whole[rows, start:] = part * inside

    def both_ways(self) -> None:
        """Closings are found for x < y; forks take them in either order."""
        for start in range(0, len(self.closing), ROWS):
            self.closing[start:, start : start + ROWS] += np.triu(self.closing[start : start + ROWS, start:], 1).T


class Slopes(NamedTuple):
    """Z₁ of the estimate, each user's pull (see ``Parts``), and Z₁ of all pulls at their users' positions.

    [COUNTS.7]
    """

    noise: float
    pulls: Floats
    pull_noise: float


def slopes_of(rows: ReportedRows, closings: Closings) -> Slopes:
    """All of them, a few rows at a time: with the closings 48·n² octets, and a part more.  [HOLDERS.8]"""
    n, known = rows.scores.n, rows.is_public
    hidden, public = (matrix_of(rows.later, weights, n) for weights in (rows.scores.weights(score) - known, known))
    closings.both_ways()
    squares = np.array([dot(row, row) for row in hidden])
    parts = [_rows(rows, closings, hidden, public, squares, start) for start in range(0, n, ROWS)]
    noise, again = (float(sum(part[i] for part in parts)) for i in (0, 1))
    return Slopes(noise, np.concatenate([part[2] for part in parts]) if parts else np.zeros(0), noise + again)


def _rows(
    rows: ReportedRows, closings: Closings, hidden: Floats, public: Floats, squares: Floats, start: int
) -> tuple[float, float, Floats]:
    """Of a tile of rows: both parts of Z₁, and the pulls. Users before the first of them are left out of products."""
    _, _, two, three = rows.weights(3).tolist()
    stop = start + ROWS
    here, below = slice(start, stop), slice(start, None)
    s, p = hidden[here, below], public[here, below]
    y = s + p
    forked = product(y, closings.closing[below, below])
    sides = _sides(hidden, closings.second, start)
    if rows.public:
        sides += _sides(public, closings.first, start)
    every = (y**2).sum(axis=1)
    slope = forked - two * s * (every[:, None] - s**2) + sides
    again = product(closings.chain[here, below], hidden[below, below].T) - three * s * squares[below]
    pulls = (y * forked).sum(axis=1) / 2 + (s * sides).sum(axis=1) - two * (every**2 - ((y**2) ** 2).sum(axis=1)) / 2
    if rows.public:
        edges = p.sum(axis=1)
        pulls -= (p * product(p, closings.closing[below, below])).sum(axis=1) / 2 - two * (edges**2 - edges) / 2
    noise = s**2 - s
    return float((noise * slope**2).sum()), float((noise * again**2).sum()), pulls


def _sides(bits: Floats, forks: Floats, start: int) -> Floats:
    """Cycles in which a position of these rows is no side of the lowest user, the other free side being of ``bits``."""
    stop, below = start + ROWS, slice(start, None)
    mine, later = forks[start:stop, below], bits[below, below]
    found = product(mine, later) + product(mine, later.T)
    found += product(bits[:stop, start:stop].T, forks[:stop, below])
    found += product(forks[:stop, start:stop].T, bits[:stop, below])
    return found


def cycle_parts(rows: ReportedRows) -> Parts:
    """The number of 4-cycles and how it varies.  [HOLDERS.8]"""
    n = rows.scores.n
    if n > MOST:
        raise BadStatistic(
            f"4-cycles of {n:,} users, some of them absent, would take {OCTETS * n**2 / 1e9:,.0f} GB of memory; "
            f"they are counted for up to {MOST:,}. Ask for triangles."
        )
    sums = _Sums(rows)
    closings = Closings.empty(n)
    backend.kernels("bitset")  # chosen once, before the threads start
    parts = on_all_cores(lambda start: sums.block(start, closings), range(0, n, BLOCK))
    value, noise, floor, pull_noise = np.sum([np.zeros(4), *parts], axis=0).tolist()
    slopes = slopes_of(rows, closings)
    return Parts(value, slopes.noise + noise, floor, slopes.pulls, slopes.pull_noise + pull_noise)


def _one_spread(rows: ReportedRows) -> float:
    """The spread of every position that was reported if all are of one class and none is public, else 0."""
    scores, positions = rows.scores, int((rows.scores.n - 1 - rows.users).sum())
    if rows.public or not positions or int(scores.plane_degrees[0].sum()) != 2 * positions:
        return 0.0
    return float(scores.node_sums(spread).sum()) / (2 * positions)


class _Functions:
    """Functions of a score, as weights of planes.

    ``y`` is the score, ``p`` what of it is public, and ``s = y − p``; ``v`` is the score's spread. Letters that stand
    together are multiplied: ``vss`` is v·s². ``one``, ``two``, ``three`` are the weights of what has so many holders.
    """

    def __init__(self, rows: ReportedRows) -> None:
        _, self.one, self.two, self.three = rows.weights(3).tolist()
        of, self.p = rows.scores.weights, rows.is_public
        self.y, self.yy, self.v = of(score), of(square), of(spread)
        self.s, self.ss = self.y - self.p, self.yy - self.p
        self.sss, self.ssss = of(lambda v: v * square(v)) - self.p, of(lambda v: square(square(v))) - self.p
        self.vs, self.vss = of(lambda value: spread(value) * value), of(lambda value: spread(value) * value**2)
        self.vv = of(lambda value: spread(value) ** 2)
        # What a side weighs that has a holder of its own beside one or two others, and the square of the latter.
        self.beside_one = self.one * self.p + self.two * self.s
        self.beside_two = self.two * self.p + self.three * self.s
        self.square_beside_two = self.two**2 * self.p + self.three**2 * self.ss
        # The same with each square counted once for each holder.
        self.squares_beside_two = 2 * self.two**2 * self.p + 3 * self.three**2 * self.ss


class _Sums:
    """Sums over pairs x < y of what third users add: earlier ones, those between the two, and later ones."""

    def __init__(self, rows: ReportedRows) -> None:
        self.n, self.planes, self.later = rows.scores.n, rows.scores.planes, rows.later
        self.earlier = self.planes ^ self.later
        self.f = _Functions(rows)
        self.one_spread = _one_spread(rows)

    def block(self, start: int, closings: Closings) -> Floats:
        """The pairs with x in a block of rows."""
        stop = min(start + BLOCK, self.n)
        inside = upper(stop - start, self.n - start)
        diagonals = np.zeros(inside.shape)
        for weight, plane in zip((self.one_spread * self.f.v).tolist(), self.planes, strict=True):
            diagonals += weight * unpack_rows(plane[start:stop], self.n, start)
        before = Zone.of(self.earlier[:, start:stop], self.planes[:, start:])
        after = Zone.of(self.later[:, start:stop], self.planes[:, start:])
        last = Zone.of(self.planes[:, start:stop], self.later[:, start:])
        between = after.less(last)
        pairs = _Pairs(self.f, before, between, last, after)
        closings.put(start, inside, pairs.first, pairs.second, pairs.closing, pairs.chain)
        terms = pairs.value(), *pairs.noise(diagonals), pairs.pull_noise()
        return np.array([float((term * inside).sum()) for term in terms])


class _Pairs:
    """What is summed over the pairs of a block.

    ``known`` and ``fork`` are forks from earlier users, of public sides alone and others; ``first`` and ``second`` all
    of them, weighed beside one or two more holders. ``closing`` closes a fork that is not public, ``chain`` two sides
    x-m-y with x < m < y, and ``top`` those with m > y; no user is left out of them.
    """

    def __init__(self, f: _Functions, before: Zone, between: Zone, last: Zone, after: Zone) -> None:
        self.f, self.before, self.between, self.last, self.after = f, before, between, last, after
        self.known = before.form(f.p, f.p)
        self.fork = before.form(f.y, f.y) - self.known
        self.path = after.form(f.p, f.beside_one) + after.form(f.s, f.beside_two)
        self.first, self.second = (
            less * self.known + more * self.fork for less, more in ((f.one, f.two), (f.two, f.three))
        )
        self.closing = self.first + self.path
        self.chain = self.second + after.form(f.y, f.beside_two)
        self.top = self.second + between.form(f.y, f.beside_two) + f.two * last.form(f.y, f.y)
        self.squares = before.form(f.yy, f.yy) - self.known

    def value(self) -> Floats:
        """Forks closed by forks, and by paths."""
        f, known, fork = self.f, self.known, self.fork
        public = self.after.form(f.p, f.p + f.one * f.s) + self.after.form(f.s, f.beside_one)
        two_forks = (known**2 - known) / 2 + f.one * known * fork + f.two * (fork**2 - self.squares) / 2
        found: Floats = two_forks + known * public + fork * self.path
        return found

    def noise(self, diagonals: Floats) -> tuple[Floats, Floats]:
        """−Z₂ + Z₃ − Z₄, and Z₄; ``diagonals`` are the spreads of xy times that of the cycle's other diagonal."""
        f = self.f
        three, four, opposite = self._whole_cycles(f.two**2, f.three**2, f.square_beside_two)
        crossed = f.two * f.three * self.fork * self.after.form(f.y, f.y)
        crossed += f.three**2 * (self.fork**2 - self.squares) / 2
        return three - four - opposite - self._adjacent(1, 1, 1) - 2 * diagonals * crossed, four

    def _whole_cycles(self, two: float, three: float, side: Floats) -> tuple[Floats, Floats, Floats]:
        """Cycles with three, with four and with two opposite noisy sides; their weights, and those of a last side."""
        f, before, after = self.f, self.before, self.after
        noisy, path = before.form(f.v, f.v), after.form(f.v, f.v)
        left, right = before.form(f.v, f.yy), before.form(f.yy, f.v)
        there, back = after.form(f.v, side), after.form(side, f.v)
        same = before.form(f.vv, f.vss) + before.form(f.vss, f.vv)
        triple = two * (noisy * (left + right) - same) + three * (left + right) * path + noisy * (there + back)
        all_four = two * (noisy**2 - before.form(f.vv, f.vv)) / 2 + three * noisy * path
        opposite = two * (left * right - before.form(f.vss, f.vss)) + left * back + right * there
        return triple, all_four, opposite

    def _adjacent(self, fork: float, chain: float, top: float) -> Floats:
        """Z₂ of two adjacent sides, the middle user first, between, and last."""
        f = self.f
        sides = (f.v, f.vs, f.vss)
        found = fork * self._without(self.before, self.closing, f.two, sides, sides)
        found += chain * self._without(self.between, self.chain, f.three, sides, sides)
        found += top * self._without(self.last, self.top, f.two, sides, sides)
        return found

    @staticmethod
    def _without(
        zone: Zone, whole: Floats, weight: float, left: tuple[Floats, ...], right: tuple[Floats, ...]
    ) -> Floats:
        """Σ over third users of a function of both positions times the square of the whole without that user."""
        none, once, twice = (zone.form(a, b) for a, b in zip(left, right, strict=True))
        return whole**2 * none - 2 * weight * whole * once + weight**2 * twice

    def pull_noise(self) -> Floats:
        """What pairs add to the noise of pulls."""
        f = self.f
        three, four, opposite = self._whole_cycles(2 * f.two**2, 3 * f.three**2, f.squares_beside_two)
        return self._others() - self._adjacent(1, 2, 2) - self._fourth() - opposite + three - four

    def _others(self) -> Floats:
        """Z₁ at positions of which the user is no end: next to x or to y, squared one by one."""
        f, before, between, last = self.f, self.before, self.between, self.last
        lower = self.after.form(f.s, f.beside_two) ** 2
        lower_top = (between.form(f.s, f.beside_two) + f.two * last.form(f.s, f.y)) ** 2
        upper_end = last.form(f.y, f.s) ** 2
        own, other = (f.ss, f.sss, f.ssss), (f.v, f.vs, f.vss)
        found: Floats = lower * (before.form(f.yy, f.v) + between.form(f.p, f.v)) + lower_top * last.form(f.p, f.v)
        found += self._without(between, self.chain, f.three, own, other)
        found += self._without(last, self.top, f.two, own, other) + self._without(last, self.top, f.two, other, own)
        found += upper_end * (f.two**2 * last.form(f.v, f.p) + between.form(f.v, f.square_beside_two))
        found += last.form(f.beside_two, f.s) ** 2 * before.form(f.v, f.yy)
        return found

    def _fourth(self) -> Floats:
        """Z₂ of two adjacent sides in the pulls of users that hold another side."""
        f, before, between, last = self.f, self.before, self.between, self.last
        fork, chain, top = before.form(f.v, f.v), between.form(f.v, f.v), last.form(f.v, f.v)
        ends = self.after.form(f.s, f.beside_two) ** 2 + last.form(f.beside_two, f.s) ** 2
        ends += f.two**2 * self.squares + between.form(f.square_beside_two, f.ss)
        middle = f.three**2 * (self.squares + between.form(f.yy, f.ss))
        found: Floats = fork * ends - f.two**2 * before.form(f.vss, f.vss)
        found += chain * (middle + f.three**2 * last.form(f.y, f.s) ** 2) - f.three**2 * between.form(f.vss, f.vss)
        found += top * middle
        return found
