"""4-cycles over rows: each counted by its vertices that come before both their neighbours in it.  [ROWS.3]

User i with j and k in its list closes the 4-cycle i-j-l-k through ê_jl ê_lk. If l too comes before j and k, it counts
the same cycle, and each counts half.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.plain.bitset import pack_rows, unpack_rows
from visibility_aware_edge_ldp.compute.threads import on_cores
from visibility_aware_edge_ldp.counts.plane_products import joined
from visibility_aware_edge_ldp.counts.rows import Bits, Earlier, Integers, Members, Pulls
from visibility_aware_edge_ldp.counts.scores import Floats, Matrix, Scores, score

BLOCK = 64


@dataclass(frozen=True)
class Rates:
    """How likely the holders of a path's two positions answered; scores are divided by ``one`` already.

    Parameters
    ----------
    one, two
        The chances that one other user, and that two others, answered.
    public
        How many of the first planes hold public edges, which nobody is asked for.
    """

    one: float = 1.0
    two: float = 1.0
    public: int = 0

    def weights(self, planes: int) -> tuple[Floats, Floats]:
        """For planes a and b: the weight of a path, and what is added where its middle comes before both ends."""
        whole, early = np.ones((planes, planes)), np.full((planes, planes), -0.5)
        answered = slice(self.public, None)
        whole[answered, answered] = self.one**2 / self.two
        # The user in the middle holds both positions: one answer, not two, had to arrive.  [ROWS.3]
        early[answered, answered] = self.one / 2 - self.one**2 / self.two
        return whole, early


EVERYBODY = Rates()


def path_scores(scores: Scores, rates: Rates = EVERYBODY) -> Matrix:
    """H_jk = Σ over l of ê_jl ê_lk, halved for l before both: a fixed public matrix with an empty diagonal."""
    earlier, paths = Earlier(scores, np.arange(scores.n)), np.zeros((scores.n, scores.n), np.float32)
    starts = range(0, scores.n, BLOCK)
    list(on_cores(partial(_fill, earlier, rates, paths), starts))
    np.fill_diagonal(paths, 0)
    return paths


def _fill(earlier: Earlier, rates: Rates, paths: Matrix, start: int) -> None:
    """The rows from ``start`` on, right of the diagonal, and their mirror image."""
    scores = earlier.scores
    stop, weights = min(start + BLOCK, scores.n), scores.weights(score)
    whole, added = rates.weights(len(weights))
    here = np.zeros((stop - start, scores.n - start))
    for a in range(len(weights)):
        for b in range(len(weights)):
            early = earlier.joining(a, b, start, stop)
            found = whole[a, b] * joined(scores, a, b, slice(start, stop), start) + added[a, b] * early
            here += weights[a] * weights[b] * found
    _mirror(paths, slice(start, stop), here)


def _mirror(paths: Matrix, rows: slice, here: Floats) -> None:
    """Write some rows from the diagonal on, and their mirror image."""
    upper = np.triu(here, 1)
    paths[rows, rows.start :] += upper
    paths[rows.start :, rows] += upper.T


def part_paths(scores: Scores, middles: Integers, factor: float, rates: Rates = EVERYBODY) -> Matrix:
    """As ``path_scores``, of the paths over some nodes alone, times a factor.  [PARTS.9]"""
    planes = range(len(scores.planes))
    narrow = [pack_rows(unpack_rows(scores.planes[a], scores.n)[:, middles] > 0, middles.size) for a in planes]
    early = pack_rows(middles[None, :] < np.arange(scores.n)[:, None], middles.size)
    values, paths = scores.weights(score), np.zeros((scores.n, scores.n), np.float32)
    each = np.outer(values, values) * factor
    whole, added = (each * weights for weights in rates.weights(len(values)))

    def fill(start: int) -> None:
        rows = slice(start, min(start + BLOCK, scores.n))
        here = np.zeros((rows.stop - start, scores.n - start))
        for a in planes:
            before = narrow[a][rows] & early[rows]
            for b in planes:
                here += whole[a, b] * backend.shared_counts(narrow[a][rows], narrow[b][start:])
                here += added[a, b] * backend.shared_counts(before, narrow[b][start:])
        _mirror(paths, rows, here)

    list(on_cores(fill, range(0, scores.n, BLOCK)))
    np.fill_diagonal(paths, 0)
    return paths


def through_users(scores: Scores, users: Integers, factors: Floats, lists: Bits, rates: Rates = EVERYBODY) -> Floats:
    """What the paths over each of these users themselves are of ``part_paths``, to each x from all of their friends."""
    through = _through(scores.rows(users).astype(np.float64), lists)
    if rates.one < 1:
        through -= (1 - rates.one) * _through(scores.rows(users, rates.public).astype(np.float64), lists)
    found: Floats = through * factors[:, None]
    return found


def cycle_pulls(paths: Matrix, rates: Rates = EVERYBODY) -> Pulls:
    """D_i(x) = Σ over k in i's list of H_kx without the paths through i itself."""

    def pulls(scores: Scores, start: int, offsets: Integers, members: Members, lists: Bits) -> Floats:
        users = start + np.arange(len(lists))
        through = through_users(scores, users, np.ones(users.size), lists, rates)
        total: Floats = backend.list_sums(paths, offsets, members) - through
        return total

    return pulls


def _through(own: Floats, lists: Bits) -> Floats:
    """Half the paths from x over the user itself to its friends."""
    inside = np.where(lists, own, 0.0)
    through: Floats = own * (inside.sum(axis=1)[:, None] - inside) / 2
    return through


def largest_path(paths: Matrix, scores: Scores, factor: float = 1.0) -> float:
    """M: no two of a user's friends are joined by more than this; ``factor`` is that of the paths."""
    largest = float(np.abs(paths).max(initial=0.0)) + factor * float((scores.values**2).max(initial=0.0)) / 2
    return largest * (1 + 1e-6)  # a user's own scores come in single precision
