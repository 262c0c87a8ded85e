"""POSITION in a campaign: positions held by rows, whoever stayed away.  [HOLDERS.1-8]"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from visibility_aware_edge_ldp.aggregator.collection import PositionCollection
from visibility_aware_edge_ldp.aggregator.cube_interval import cube_interval
from visibility_aware_edge_ldp.aggregator.effort import AUTOMATIC, Effort
from visibility_aware_edge_ldp.aggregator.estimate import Estimate, estimate_of, share_limits
from visibility_aware_edge_ldp.aggregator.heard_cycles import cycle_parts
from visibility_aware_edge_ldp.aggregator.heard_rows import HeardRows, Parts, heard_rows
from visibility_aware_edge_ldp.aggregator.heard_stars import star_parts
from visibility_aware_edge_ldp.aggregator.heard_transitivity import Transitivity, transitivity_parts
from visibility_aware_edge_ldp.aggregator.heard_triangles import triangle_parts
from visibility_aware_edge_ldp.aggregator.position import estimate as everybody_answered
from visibility_aware_edge_ldp.errors import BadStatistic
from visibility_aware_edge_ldp.kernels.bitset import row_sums
from visibility_aware_edge_ldp.subgraphs.absence import Spread, missing
from visibility_aware_edge_ldp.subgraphs.scores import score, spread
from visibility_aware_edge_ldp.subgraphs.statistic import check_statistics, star_size

# Beyond this the correction for skew, which is one for small skews, makes intervals far too long.  [HOLDERS.5]
MOST_SKEW = 0.4
# Why the others cannot be told.  [HOLDERS.7]
_UNKNOWN = "their later friends are known to nobody"
_WHY = {
    "degrees": _UNKNOWN,
    "max_degree": f"{_UNKNOWN}, and one of them may have the most",
    "degree_histogram": f"{_UNKNOWN}, and how sure the others' histogram would be is not known well enough",
}


def estimate(
    collection: PositionCollection, statistics: Sequence[str], effort: Effort = AUTOMATIC
) -> dict[str, Estimate]:
    """Estimates of these statistics where each user answers for its row, or stays away as a whole.  [HOLDERS.1-8]

    With everybody present they are those of POSITION. Where somebody is absent, edges, stars:K, triangles and
    4-cycles are unbiased, transitivity is a ratio of two of them, and the other statistics are refused.
    """
    wanted = check_statistics(statistics, collection.view.n)
    rows = heard_rows(collection)
    if rows.users.size == rows.asked:
        return everybody_answered(collection, wanted, effort)
    releases = collection.releases
    return {name: replace(_one(rows, name), releases=releases) for name in wanted}


def needed_in_all(rows: HeardRows, statistic: str) -> float:
    """How much of the estimate rests on somebody's answers, counted once for each holder.  [HOLDERS.4]"""
    return float(parts_of(rows, statistic)[0].pulls.sum())


def _one(rows: HeardRows, statistic: str) -> Estimate:
    if statistic == "transitivity":
        return _ratio(statistic, rows, Transitivity.of(rows))
    return _estimate(statistic, rows, *parts_of(rows, statistic))


def parts_of(rows: HeardRows, statistic: str) -> tuple[Parts, int]:
    """A statistic's estimate with how it varies, and how many sides its subgraphs have, 0 for a ratio.  [HOLDERS.6]"""
    k = star_size(statistic)
    if k is not None:
        return star_parts(rows, k), k
    if statistic == "triangles":
        return triangle_parts(rows), 3
    if statistic == "four_cycles":
        return cycle_parts(rows), 4
    if statistic == "transitivity":
        return transitivity_parts(rows), 0
    if statistic == "edges":
        return edge_parts(rows), 1
    raise BadStatistic(
        f"{statistic} cannot be estimated from rows while {rows.asked - rows.users.size} of {rows.asked} users are "
        f"absent: {_WHY.get(statistic, _UNKNOWN)}. Ask for edges, stars:K, triangles, four_cycles or transitivity."
    )


def edge_parts(rows: HeardRows) -> Parts:
    """The number of edges and how it varies.  [HOLDERS.1], [HOLDERS.4]"""
    weight, scores = float(rows.weights(1)[1]), rows.scores
    own = np.stack([row_sums(plane) for plane in rows.later]) if len(rows.later) else np.zeros((0, scores.n))
    pulls = weight * ((scores.weights(score) - rows.is_public) @ own)
    noise = weight**2 * float(scores.weights(spread) @ own.sum(axis=1))
    return Parts(float(rows.is_public @ own.sum(axis=1) + pulls.sum()), noise, noise, pulls, noise)


def _spreads(rows: HeardRows, parts: Parts) -> tuple[Spread, float]:
    """What who stayed away adds, and the variance of the noise.  [HOLDERS.4]"""
    rate = rows.response_rate
    needed = parts.pulls[rows.users] * rate
    absence = missing(needed, parts.pull_noise * rate**2 / max(needed.size, 1), rows.asked)
    return absence, max(parts.noise, parts.floor, 0.0)


def _ratio(statistic: str, rows: HeardRows, found: Transitivity) -> Estimate:
    """A share, with all the shares that it may be an estimate of; where nothing is known, all are.  [HOLDERS.6]"""
    value, (absence, noise) = found.parts.value, _spreads(rows, found.parts)
    first = replace(estimate_of(statistic, value, absence.plus(Spread(noise))), unbiased=False)
    # So much of the error, in standard errors, is who stayed away.
    drawn = math.sqrt(absence.variance / first.variance) if 0 < first.variance < math.inf else 0.0

    def error(share: float) -> Estimate:
        absence, _ = _spreads(rows, found.less(share + drawn * (value - share)))
        _, noise = _spreads(rows, found.less(share))
        return estimate_of(statistic, value - share, absence.plus(Spread(noise)))

    return replace(first, limits=partial(share_limits, first, error))


def _estimate(statistic: str, rows: HeardRows, parts: Parts, sides: int) -> Estimate:
    """Noise, and what who stayed away adds; ``sides`` is how many positions a subgraph has.  [HOLDERS.4]"""
    absence, noise = _spreads(rows, parts)
    found = absence.plus(Spread(noise))
    if math.isfinite(found.variance):
        third = found.third + _leaning(parts, absence.variance, noise, sides)
        if statistic == "four_cycles":  # a bend for large skews, too  [HOLDERS.8]
            whole = estimate_of(statistic, parts.value, found._replace(third=third))
            return replace(whole, limits=lambda level: cube_interval(whole, level))
        found = found._replace(third=max(min(third, MOST_SKEW * found.variance**1.5), found.third))
    return estimate_of(statistic, parts.value, found)


def _leaning(parts: Parts, absence: float, noise: float, sides: int) -> float:
    """The variance rises and falls with the estimate: a subgraph of many answers is missed with each.  [HOLDERS.5]"""
    variance = absence + noise
    # An estimate below two standard errors says nothing of how the variance moves with it.
    level = max(parts.value, 2 * math.sqrt(variance))
    if not level:
        return 0.0
    needed = max(float(parts.pulls.sum()) / level, 1.0)
    moving = (1 - 1 / needed) * absence + (1 - 1 / sides) * (noise - parts.floor)
    return 2 * moving * variance / level
