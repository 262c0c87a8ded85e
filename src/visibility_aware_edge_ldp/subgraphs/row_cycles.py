"""4-cycles over rows: each counted by its vertices that come before both their neighbours in it.  [ROWS.3]

User i with j and k in its list closes the 4-cycle i-j-l-k through ê_jl ê_lk. If l too comes before j and k, it counts
the same cycle, and each counts half.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.kernels import choice
from visibility_aware_edge_ldp.kernels.bitset import Words
from visibility_aware_edge_ldp.subgraphs.pairs import joined
from visibility_aware_edge_ldp.subgraphs.rows import Bits, Integers, Members, Pulls, earlier_only, joined_before
from visibility_aware_edge_ldp.subgraphs.scores import Floats, Scores, score

Matrix = npt.NDArray[np.float32]
BLOCK = 64


def path_scores(scores: Scores) -> Matrix:
    """H_jk = Σ over l of ê_jl ê_lk, halved for l before both: a fixed public matrix with an empty diagonal."""
    before, paths = earlier_only(scores), np.zeros((scores.n, scores.n), np.float32)
    choice.kernels()
    starts = range(0, scores.n, BLOCK)
    with ThreadPoolExecutor(max_workers=max(1, min(os.cpu_count() or 1, len(starts)))) as pool:
        list(pool.map(partial(_fill, scores, before, paths), starts))
    np.fill_diagonal(paths, 0)
    return paths


def _fill(scores: Scores, before: Words, paths: Matrix, start: int) -> None:
    """The rows from ``start`` on, right of the diagonal, and their mirror image."""
    stop, weights = min(start + BLOCK, scores.n), scores.weights(score)
    here = np.zeros((stop - start, scores.n - start))
    for a in range(len(weights)):
        for b in range(len(weights)):
            early = joined_before(scores, before, a, b, start, stop)
            here += weights[a] * weights[b] * (joined(scores, a, b, start, stop) - early / 2)
    upper = np.triu(here, 1)
    paths[start:stop, start:] += upper
    paths[start:, start:stop] += upper.T


def cycle_pulls(paths: Matrix) -> Pulls:
    """D_i(x) = Σ over k in i's list of H_kx without the paths through i itself."""

    def pulls(scores: Scores, start: int, offsets: Integers, members: Members, lists: Bits) -> Floats:
        own = scores.rows(slice(start, start + len(lists))).astype(np.float64)
        inside = np.where(lists, own, 0.0)
        through = own * (inside.sum(axis=1)[:, None] - inside) / 2
        total: Floats = choice.list_sums()(paths, offsets, members) - through
        return total

    return pulls


def largest_path(paths: Matrix, scores: Scores) -> float:
    """M: no two of a user's friends are joined by more than this."""
    largest = float(np.abs(paths).max(initial=0.0)) + float((scores.values**2).max(initial=0.0)) / 2
    return largest * (1 + 1e-6)  # a user's own scores come in single precision
