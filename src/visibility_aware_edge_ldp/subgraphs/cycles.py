"""4-cycles and their variance.  [COUNTS.6]"""

from __future__ import annotations

from itertools import product
from math import ceil
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.kernels import choice
from visibility_aware_edge_ldp.kernels.bitset import TILE
from visibility_aware_edge_ldp.subgraphs.dense import times
from visibility_aware_edge_ldp.subgraphs.pairs import PairBlock, Sums, joined
from visibility_aware_edge_ldp.subgraphs.scores import Floats, Scores, score, spread, square

CERTAIN_ROWS = 96
SAMPLED_ROWS = 160
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


def cycle_sums(block: PairBlock) -> Sums:
    """The block's part of every sum over pairs that 4-cycles need; names count the noisy sides."""
    scores = block.scores
    forms = np.stack([scores.form_weights(left, right) for left, right in FORMS])
    skew = scores.skew_weights(square, spread)
    found = choice.pair_kernels().cycle_sums(block.counts, block.differences, forms, skew)
    return dict(zip(NAMES, found.tolist(), strict=True))


class Parts(NamedTuple):
    """Sums over cycles by how many of their sides are noisy; each contains the later ones several times."""

    one: float
    two: float
    three: float
    four: float


def parts_of(scores: Scores, sums: Sums) -> Parts:
    """E one = V₁ + 2V₂ + 3V₃ + 4V₄, E two = V₂ + 3V₃ + 6V₄, E three = V₃ + 4V₄, E four = V₄."""
    positions = scores.n * (scores.n - 1) / 2
    mean_spread = float(scores.node_sums(spread).sum()) / 2 / positions
    two = sums["two adjacent"] + sums["two opposite"] / 2 + 2 * mean_spread**2 * sums["count"] / 4
    return Parts(_one_noisy_side(scores), two, sums["three"] / 2, sums["four"] / 4)


def four_cycles(scores: Scores, sums: Sums) -> tuple[float, float]:
    """The number of 4-cycles and its variance, V₁ + V₂ + V₃ + V₄."""
    if scores.n < 4:
        return 0.0, 0.0
    one, two, three, four = parts_of(scores, sums)
    return sums["count"] / 4, max(one - two + three - four, four)


def one_side_alone(scores: Scores, sums: Sums) -> tuple[float, float]:
    """V₁, what cycles with one noisy side add, without bias, and about its standard error."""
    one, two, three, four = parts_of(scores, sums)
    return one - 2 * two + 3 * three - 4 * four, ROUGH * four / scores.n


def _one_noisy_side(scores: Scores) -> float:
    """Σ over positions of their spread times the squared number of 3-paths that close them.

    A dense product; beyond a few hundred nodes a systematic sample of rows, ordered by degree, stands for
    the rest. The sample is a function of the scores: a repeated estimate is the same number.
    """
    noisy = scores.plane_degrees[scores.weights(spread) != 0]
    rows, weights = _sampled_rows(scores.node_sums(score), np.flatnonzero((noisy > 0).any(axis=0)))
    own = scores.node_sums(square)
    total = 0.0
    for first in range(0, len(rows), TILE):
        chosen = rows[first : first + TILE]
        here = scores.rows(chosen)
        paths = times(scores, _two_paths(scores, chosen))
        paths -= here * (own[chosen][:, None] + own[None, :]) - here**3
        paths[np.arange(len(chosen)), chosen] = 0
        total += float(weights[first : first + TILE] @ (spread(here.astype(np.float64)) * paths**2).sum(axis=1))
    return total / 2


def _sampled_rows(degrees: Floats, noisy: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], Floats]:
    """Rows of users with noisy positions, the others add nothing; and how many rows each stands for."""
    order = noisy[np.argsort(-degrees[noisy], kind="stable")]
    n, share = len(noisy), len(noisy) / len(degrees)
    certain, sampled = ceil(CERTAIN_ROWS * share), ceil(SAMPLED_ROWS * share)
    if n <= CERTAIN_ROWS + SAMPLED_ROWS:
        return order, np.ones(n)
    places = certain + ((np.arange(sampled) + 0.5) * (n - certain) / sampled).astype(np.int64)
    weights = np.concatenate([np.ones(certain), np.full(sampled, (n - certain) / sampled)])
    return np.concatenate([order[:certain], order[places]]), weights


def _two_paths(scores: Scores, chosen: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
    """These rows of E², E being the matrix of all scores."""
    weights, total = scores.weights(score), np.zeros((len(chosen), scores.n))
    for a, b in product(range(len(weights)), repeat=2):
        total += weights[a] * weights[b] * joined(scores, a, b, chosen)
    return total.astype(np.float32)
