"""Triangles, their variance, and their covariance with 2-stars.  [COUNTS.4]"""

from __future__ import annotations

from visibility_aware_edge_ldp.subgraphs.pairs import PairBlock, Sums, inner
from visibility_aware_edge_ldp.subgraphs.scores import Floats, score, spread


def square(value: Floats) -> Floats:
    """ê²."""
    return value * value


def triangle_sums(block: PairBlock) -> Sums:
    """The block's part of every sum that triangles and transitivity need."""
    here, noise = block.at(score), block.at(spread)
    paths, squares, noisy_paths = (
        block.form(score, score),
        block.form(square, square),
        block.form(spread, spread),
    )
    ends = block.scores.node_sums(score)
    others = ends[block.start : block.stop, None] + ends[None, block.start :] - 2 * here
    return {
        "count": inner(here, paths),
        "one noisy": inner(noise, paths * paths + paths - squares),
        "two noisy": inner(here, noisy_paths),
        "three noisy": inner(noise, noisy_paths),
        "with 2-stars": inner(noise, paths * others),
    }


def triangles(sums: Sums) -> tuple[float, float]:
    """The triangle count and its variance."""
    floor = sums["three noisy"] / 3
    return sums["count"] / 3, max(sums["one noisy"] + sums["two noisy"] + floor, floor)


def covariance_with_two_stars(sums: Sums) -> float:
    """Covariance of the triangle and 2-star estimates.  [COUNTS.5]"""
    return sums["with 2-stars"] - sums["two noisy"]
