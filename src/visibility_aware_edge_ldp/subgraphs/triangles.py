"""Triangles, their variance, and their covariance with 2-stars.  [COUNTS.4]"""

from __future__ import annotations

import numpy as np

from visibility_aware_edge_ldp.kernels import choice
from visibility_aware_edge_ldp.subgraphs.pairs import PairBlock, Sums
from visibility_aware_edge_ldp.subgraphs.scores import score, spread, square

NAMES = ("count", "one noisy", "two noisy", "three noisy", "with 2-stars")


def triangle_sums(block: PairBlock) -> Sums:
    """The block's part of every sum that triangles and transitivity need."""
    scores = block.scores
    forms = np.stack([scores.form_weights(each, each) for each in (score, square, spread)])
    own = np.stack([scores.weights(score), scores.weights(spread)])
    ends = scores.node_sums(score)[block.start :]
    found = choice.pair_kernels().triangle_sums(block.counts, forms, block.bits, own, ends)
    return dict(zip(NAMES, found.tolist(), strict=True))


def triangles(sums: Sums) -> tuple[float, float]:
    """The triangle count and its variance, with what a sample of tile triples adds."""
    floor = sums["three noisy"] / 3
    noise = max(sums["one noisy"] + sums["two noisy"] + floor, floor)
    return sums["count"] / 3, noise + sums.get("sampling", 0.0) / 9


def covariance_with_two_stars(sums: Sums) -> float:
    """Covariance of the triangle and 2-star estimates.  [COUNTS.5]"""
    return sums["with 2-stars"] - sums["two noisy"]
