"""4-cycles and their variance.  [COUNTS.6]"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.plain.bitset import TILE
from visibility_aware_edge_ldp.compute.plain.pair_sums import whole_cycles
from visibility_aware_edge_ldp.compute.reproducible_math import dot
from visibility_aware_edge_ldp.compute.threads import on_cores
from visibility_aware_edge_ldp.counts.plane_products import PlaneMatrix
from visibility_aware_edge_ldp.counts.scores import Floats, Ints, Matrix, Scores, score, spread, square

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.counts.node_groups import GroupScores
    from visibility_aware_edge_ldp.counts.triangles import PairBlock, Sums

Step = Callable[[float], None]
CERTAIN_ROWS = 96
SAMPLED_ROWS = 160
# With known sizes so many do, of which this part evenly; beyond so many nodes half of them: work grows with n².
ROWS_BY_SIZE, EVENLY, MANY_NODES = 128, 0.2, 16384
ROWS_AT_ONCE = 64
# V₁ was found to be off by this part of V₄/n: by 35 on Caltech and Facebook, by 20 to 26 on a power-law graph.
ROUGH = 35.0


def _spread_square(value: Floats) -> Floats:
    return spread(value) * value * value


def _spread_score(value: Floats) -> Floats:
    return spread(value) * value


def _spread_spread(value: Floats) -> Floats:
    return spread(value) ** 2


NAMES = ("count", "two adjacent", "two opposite", "three", "four")
FORMS = (
    (score, score),
    (square, square),
    (spread, spread),
    (square, spread),
    (_spread_score, _spread_score),
    (_spread_square, _spread_square),
    (_spread_square, _spread_spread),
    (_spread_spread, _spread_spread),
)
# Products with others need the first ones pair by pair; of those that stand alone, node sums tell the sum.  [COUNTS.6]
PAIRED, ALONE = FORMS[:5], (FORMS[1], *FORMS[5:])


def cycle_sums(block: PairBlock) -> Sums:
    """The block's part of every sum over pairs that 4-cycles need; names count the noisy sides."""
    scores = block.scores
    if (known := block.sums(PAIRED, ((square, spread),))) is not None:
        alone = np.array([scores.over_node(*form)[block.start : block.stop].sum() for form in ALONE])
        sums = np.concatenate([[known[5] - alone[0]], known[6:], alone[1:]])
        return dict(zip(NAMES, whole_cycles(sums).tolist(), strict=True))
    forms = np.stack([scores.form_weights(left, right) for left, right in FORMS])
    skew = scores.skew_weights(square, spread)
    found = backend.kernels("pair_sums").cycle_sums(block.counts, block.differences, forms, skew)
    return dict(zip(NAMES, found.tolist(), strict=True))


class ScoreMatrix(Protocol):
    """E, the matrix of all scores, a few rows at a time; single precision is enough for a variance."""

    def places(self, chosen: Ints) -> Ints:
        """The columns of these nodes."""

    def by_column(self, by_node: Floats) -> Matrix:
        """A number for each node as one for each column."""

    def rows(self, chosen: Ints) -> Matrix:
        """Rows of E."""

    def two_paths(self, chosen: Ints, rows: Matrix) -> Matrix:
        """Rows of E², from the same rows of E."""

    def times(self, left: Matrix) -> Matrix:
        """left @ E."""


class Rows(NamedTuple):
    """Some nodes, how many rows each stands for, and the sum of the squared two-paths from each to all others."""

    nodes: Ints
    weights: Floats
    squares: Floats


class Parts(NamedTuple):
    """Sums over cycles by how many of their sides are noisy; each contains the later ones several times."""

    one: float
    two: float
    three: float
    four: float


def parts_of(
    scores: Scores | GroupScores,
    sums: Sums,
    known: Rows | None = None,
    step: Step | None = None,
    bipartite: bool = False,
) -> Parts:
    """E one = V₁ + 2V₂ + 3V₃ + 4V₄, E two = V₂ + 3V₃ + 6V₄, E three = V₃ + 4V₄, E four = V₄.

    Two opposite sides are those of two cycles; in a bipartite graph of one.  [BIPARTITE.4]
    """
    positions = scores.n * (scores.n - 1) / 2
    mean_spread = float(scores.node_sums(spread).sum()) / 2 / positions
    two = sums["two adjacent"] + sums["two opposite"] / 2
    two += 0.0 if bipartite else 2 * mean_spread**2 * sums["count"] / 4
    return Parts(_one_noisy_side(scores, known, step), two, sums["three"] / 2, sums["four"] / 4)


def cycles(
    scores: Scores | GroupScores,
    sums: Sums,
    known: Rows | None = None,
    step: Step | None = None,
    bipartite: bool = False,
) -> tuple[float, float]:
    """The number of 4-cycles and its variance, V₁ + V₂ + V₃ + V₄ and what a sample of rows adds.

    ``step`` hears which share of the work is done since the last time.
    """
    if scores.n < 4:
        return 0.0, 0.0
    one, two, three, four = parts_of(scores, sums, known, step, bipartite)
    return sums["count"] / 4, max(one - two + three - four, four) + sums.get("sampling", 0.0) / 16


def one_side_alone(scores: Scores, sums: Sums) -> tuple[float, float]:
    """V₁, what cycles with one noisy side add, without bias, and about its standard error."""
    one, two, three, four = parts_of(scores, sums)
    return one - 2 * two + 3 * three - 4 * four, ROUGH * four / scores.n


def _is_noisy(value: Floats) -> Floats:
    noisy: Floats = (spread(value) != 0).astype(np.float64)
    return noisy


def _one_noisy_side(scores: Scores | GroupScores, known: Rows | None, step: Step | None = None) -> float:
    """Σ over positions of their spread times the squared number of 3-paths that close them.

    A dense product; beyond a few hundred nodes a systematic sample of rows stands for the rest, in proportion to
    their squared two-paths where these are known. The sample is a function of the scores: a repeated estimate is the
    same number.
    """
    matrix: ScoreMatrix = PlaneMatrix(scores) if isinstance(scores, Scores) else scores.matrix
    noisy = scores.node_sums(_is_noisy) > 0
    if known is None or (isinstance(scores, Scores) and int(noisy.sum()) <= CERTAIN_ROWS + SAMPLED_ROWS):
        rows, weights = _sampled_rows(scores.node_sums(score), np.flatnonzero(noisy))
    else:
        rows, weights = _rows_by_size(known, noisy)
    sums = scores.node_sums(square)
    own = matrix.by_column(sums)

    def tell(done: int) -> None:
        if step is not None:
            step(done / (2 * len(rows)))

    def part(first: int) -> float:
        chosen = rows[first : first + at_once]
        here = matrix.rows(chosen)
        paths = matrix.two_paths(chosen, here)
        tell(len(chosen))
        paths = matrix.times(paths)
        tell(len(chosen))
        paths -= here * (sums[chosen].astype(np.float32)[:, None] + own - here * here)
        paths[np.arange(len(chosen)), matrix.places(chosen)] = 0
        paths *= paths
        paths *= here * here - here  # their spread
        return dot(weights[first : first + at_once], paths.sum(axis=1, dtype=np.float64))

    if isinstance(scores, Scores):  # its products use all cores by themselves
        at_once = TILE
        return sum(map(part, range(0, len(rows), at_once))) / 2
    at_once = ROWS_AT_ONCE
    return sum(on_cores(part, range(0, len(rows), at_once))) / 2


def _sampled_rows(degrees: Floats, noisy: Ints) -> tuple[Ints, Floats]:
    """Rows of users with noisy positions, the others add nothing; and how many rows each stands for."""
    order = noisy[np.argsort(-degrees[noisy], kind="stable")]
    n, share = len(noisy), len(noisy) / len(degrees)
    certain, sampled = ceil(CERTAIN_ROWS * share), ceil(SAMPLED_ROWS * share)
    if n <= CERTAIN_ROWS + SAMPLED_ROWS:
        return order, np.ones(n)
    places = certain + ((np.arange(sampled) + 0.5) * (n - certain) / sampled).astype(np.int64)
    weights = np.concatenate([np.ones(certain), np.full(sampled, (n - certain) / sampled)])
    return np.concatenate([order[:certain], order[places]]), weights


def _rows_by_size(known: Rows, noisy: npt.NDArray[np.bool_]) -> tuple[Ints, Floats]:
    """A systematic sample of the noisy rows, mostly in proportion to squared two-paths; and what each stands for.

    What a row adds grows with its squared two-paths, so that fewer rows do than of a sample that goes by degree alone.
    """
    kept = noisy[known.nodes]
    nodes, weights, sizes = known.nodes[kept], known.weights[kept], known.squares[kept] * known.weights[kept]
    rows = ROWS_BY_SIZE if len(noisy) <= MANY_NODES else ROWS_BY_SIZE // 2
    if len(nodes) <= rows:
        return nodes, weights
    chance = (1 - EVENLY) * sizes / sizes.sum() + EVENLY * weights / weights.sum()
    order = np.argsort(chance, kind="stable")
    # How often each is taken, once or more where its chance is large.
    turns = np.diff(np.floor(np.cumsum(chance[order]) * rows + 0.5), prepend=0.0)
    taken = order[turns > 0]
    return nodes[taken], weights[taken] * turns[turns > 0] / (rows * chance[taken])
