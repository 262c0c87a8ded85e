"""POSITION in a campaign: estimates from rows where some users did not report.  [HOLDERS.1-8]"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from visibility_aware_edge_ldp.aggregator.collection import estimate as everybody_answered
from visibility_aware_edge_ldp.aggregator.derived import linear, ratios, with_derived
from visibility_aware_edge_ldp.aggregator.estimate import (
    MOST_SKEW,
    Estimate,
    cube_root_interval,
    estimate_of,
    largest_seen,
    ratio_of,
    unknown_share,
    with_large_absent,
)
from visibility_aware_edge_ldp.aggregator.nonresponse.reported_cycles import cycle_parts
from visibility_aware_edge_ldp.aggregator.nonresponse.reported_rows import (
    Leaves,
    Parts,
    ReportedRows,
    edge_parts,
    reported_rows,
    star_parts,
)
from visibility_aware_edge_ldp.aggregator.nonresponse.reported_triangles import (
    ByPosition,
    Together,
    triangle_parts,
    triangles_and_wedges,
)
from visibility_aware_edge_ldp.compute.plain.bitset import group_masks, sums_by_group, sums_within
from visibility_aware_edge_ldp.compute.reproducible_math import weighted
from visibility_aware_edge_ldp.counts.mixing import LINEAR, RATIOS
from visibility_aware_edge_ldp.counts.nonresponse import Spread, missing
from visibility_aware_edge_ldp.counts.scores import Floats, Ints, score, spread
from visibility_aware_edge_ldp.errors import BadStatistic
from visibility_aware_edge_ldp.public.groups import Groups, groups_of
from visibility_aware_edge_ldp.public.statistic import (
    FOUR_CYCLES,
    STATISTICS,
    TRANSITIVITY,
    check_statistics,
    sources_of,
    star_size,
)

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.aggregator.position import PositionCollection
    from visibility_aware_edge_ldp.aggregator.score_estimates import WorkBudget

# Of fewer answers, intervals of ratios hold less often than they say, and say so.  [HOLDERS.6]
_FEW = 100
# Why the others cannot be told.  [HOLDERS.7]
_UNKNOWN = "their later friends are known to nobody"
_WHY = {
    "degrees": _UNKNOWN,
    "max_degree": f"{_UNKNOWN}, and one of them may have the most",
    "degree_histogram": f"{_UNKNOWN}, and how sure the others' histogram would be is not known well enough",
}


class Transitivity(NamedTuple):
    """Triangles T and 2-stars S of the rows that were reported."""

    wedges: Parts
    together: Together

    @staticmethod
    def of(rows: ReportedRows) -> Transitivity:
        """Both, with what they have in common; worked out once for all statistics of these rows."""
        if TRANSITIVITY.name not in rows.known:
            together = triangles_and_wedges(rows, by_position(rows))
            rows.known[TRANSITIVITY.name] = Transitivity(star_parts(rows, 2), together)
        found: Transitivity = rows.known[TRANSITIVITY.name]
        return found

    @property
    def scale(self) -> float:
        """What makes a share of it."""
        return 3 / self.wedges.value if self.wedges.value > 0 else 0.0

    @property
    def parts(self) -> Parts:
        """3T/S and how it varies, to first order; without bound where there seem to be no 2-stars.  [HOLDERS.6]"""
        if not self.scale:
            return Parts(0.0, math.inf, math.inf, np.zeros_like(self.wedges.pulls), 0.0)
        value = self.scale * self.together.triangles.value
        return self.less(value)._replace(value=value)

    def less(self, share: float) -> Parts:
        """3T/S less a share: to first order a sum over subgraphs, whose mean is 0 for the true share.  [HOLDERS.6]"""
        triangles, wedges, scale, ratio = self.together.triangles, self.wedges, self.scale, share / 3
        return Parts(
            scale * (triangles.value - ratio * wedges.value),
            self.noise(share),
            scale**2 * triangles.floor,
            scale * (triangles.pulls - ratio * wedges.pulls),
            self._of(triangles.pull_noise, self.together.pull_noise, wedges.pull_noise, ratio),
        )

    def noise(self, share: float) -> float:
        """The noise variance of 3T/S less a share, alone."""
        return self._of(self.together.triangles.noise, self.together.noise, self.wedges.noise, share / 3)

    def _of(self, one: float, shared: float, other: float, ratio: float) -> float:
        return self.scale**2 * (one - 2 * ratio * shared + ratio**2 * other)


def transitivity_parts(rows: ReportedRows) -> Parts:
    """3T/S and how it varies, to first order.  [HOLDERS.6]"""
    return Transitivity.of(rows).parts


def by_position(rows: ReportedRows) -> ByPosition:
    """How the number of 2-stars changes with each score.  [HOLDERS.6]"""
    _, one, two = rows.weights(2).tolist()
    public, later, earlier = (each[1] for each in Leaves.of(rows, 1))
    first, second = one * (public + later) + two * earlier, one * public + two * (later + earlier)
    return ByPosition(np.asarray(first), np.asarray(second), one + two, later)


def estimate(
    collection: PositionCollection, statistics: Sequence[str], effort: WorkBudget | None = None
) -> dict[str, Estimate]:
    """Estimates of these statistics where each user answers for its whole row, or not at all.  [HOLDERS.1-8]

    With everybody present they are those of POSITION. Where somebody is absent, edges, stars:K, triangles and
    4-cycles are unbiased, transitivity is a ratio of two of them, and the other statistics are refused.
    """
    wanted = check_statistics(statistics, collection.view.n)
    rows = reported_rows(collection)
    if rows.users.size == rows.asked:
        return everybody_answered(collection, wanted, effort)
    releases = collection.releases
    needed = dict.fromkeys(each for name in wanted for each in _needed(rows, name))
    whole = TRANSITIVITY.name in needed
    found = {name: _one(rows, name, whole) for name in needed if name not in LINEAR and name not in RATIOS}
    if grouped := [name for name in needed if name not in found]:
        found |= _by_groups(rows, groups_of(collection.view), grouped)
    return {
        name: replace(each, releases=releases) for name, each in with_derived(found, wanted, collection.view.n).items()
    }


def needed_in_all(rows: ReportedRows, statistic: str) -> float:
    """How much of the estimate rests on somebody's answers, counted once for each holder.  [HOLDERS.4]"""
    return float(parts_of(rows, statistic)[0].pulls.sum())


def _needed(rows: ReportedRows, name: str) -> tuple[str, ...]:
    """What it is made from; of several the shared errors are not known where somebody is absent."""
    if len(sources := sources_of(name)) > 1:
        silent = rows.asked - rows.users.size
        raise BadStatistic(
            f"{name} cannot be estimated from rows while {silent} of {rows.asked} users are absent: how the errors of "
            f"{' and '.join(sources)} go together is not known then. Ask for these by themselves."
        )
    return sources


@dataclass(frozen=True, eq=False)
class RowCells:
    """The mixing matrix from the rows that were reported.  [MIXING.8]

    ``sums`` (n, groups) are the later friends of each user in each group, weighed for those away; ``noise`` is the
    variance of their sums over the members of each group, and ``public`` the same sums of public edges.
    """

    rows: ReportedRows
    members: Ints
    sums: Floats
    noise: Floats
    public: Floats

    @staticmethod
    def of(rows: ReportedRows, groups: Groups) -> RowCells:
        """From what every row has with each group."""
        weight, scores, masks = float(rows.weights(1)[1]), rows.scores, group_masks(groups.members, groups.count)
        ones = np.array([sums_within(plane, masks) for plane in rows.later]).reshape(len(rows.later), -1)
        own = weight * weighted(scores.weights(score) - rows.is_public, ones)
        noise, public = (
            sums_by_group(weighted(each, ones).reshape(-1, groups.count), groups.members, groups.count)
            for each in (scores.weights(spread), rows.is_public)
        )
        return RowCells(rows, groups.members, own.reshape(-1, groups.count), weight**2 * noise, public)

    @cached_property
    def cells(self) -> Floats:
        """The matrix, without bias: an edge is told by the earlier of its two ends."""
        found: Floats = self.public + sums_by_group(self.sums, self.members, len(self.public))
        return np.asarray(found + np.where(np.eye(len(found), dtype=np.bool_), 0.0, found.T))

    def parts(self, gradient: Floats) -> Parts:
        """What is known of how a linear function of the cells varies.  [HOLDERS.4]"""
        upper = np.triu(gradient)
        both = upper + np.triu(upper, 1).T
        noise = float((both**2 * self.noise).sum())
        pulls = weighted(np.ones(len(both)), (both[self.members] * self.sums).T)
        return Parts(float((upper * self.cells).sum()), noise, noise, pulls, noise)

    def spread(self, gradient: Floats) -> Spread:
        """How a linear function of the cells varies, by noise and by who answered."""
        nonresponse, noise = _spreads(self.rows, self.parts(gradient))
        return nonresponse.plus(Spread(noise))

    def variance(self, gradient: Floats) -> float:
        """The variance alone."""
        return self.spread(gradient).variance

    def allowing(self, found: Estimate, gradient: Floats) -> Estimate:
        """The estimate of a sum over edges, allowing for somebody large who is absent.  [ABSENT.3]"""
        return _allowing(self.rows, self.parts(gradient), found)


def _by_groups(rows: ReportedRows, groups: Groups, names: Sequence[str]) -> dict[str, Estimate]:
    """Statistics that follow from the mixing matrix.  [MIXING.8]"""
    known = RowCells.of(rows, groups)
    return {
        name: linear(known, groups, STATISTICS[name], known.allowing)
        if name in LINEAR
        else _of_few(known.rows, ratios(known, groups, STATISTICS[name]))
        for name in names
    }


def _of_few(rows: ReportedRows, ratio: Estimate) -> Estimate:
    """The same ratio, which says so where so few users answered that its interval holds less often.  [HOLDERS.6]"""
    answers = rows.users.size
    if answers >= _FEW:
        return ratio
    told = (
        f"the {answers} users who answered are like the others; with so few, 95 % intervals of ratios held the truth "
        "88 to 95 % of the time"
    )
    return replace(ratio, holds_if=told)


def _one(rows: ReportedRows, statistic: str, with_transitivity: bool = False) -> Estimate:
    if statistic == TRANSITIVITY.name:
        return _ratio(statistic, rows, Transitivity.of(rows))
    return _estimate(statistic, rows, *parts_of(rows, statistic, with_transitivity))


def parts_of(rows: ReportedRows, statistic: str, with_transitivity: bool = False) -> tuple[Parts, int]:
    """A statistic's estimate with how it varies, and how many sides its subgraphs have, 0 for a ratio.  [HOLDERS.6]

    Where transitivity is needed too, triangles and 2-stars are parts of it.
    """
    k, known = star_size(statistic), with_transitivity or TRANSITIVITY.name in rows.known
    if k is not None or statistic in _PARTS:
        sides = STATISTICS[statistic].sides if k is None else k
        if known and statistic in _IN_TRANSITIVITY:
            return _IN_TRANSITIVITY[statistic](Transitivity.of(rows)), sides
        return _PARTS[statistic](rows) if k is None else star_parts(rows, k), sides
    complete = statistic in STATISTICS and STATISTICS[statistic].complete
    alone = "it is worked out where everybody reported alone" if complete else _UNKNOWN
    why, silent = _WHY.get(statistic, alone), rows.asked - rows.users.size
    raise BadStatistic(
        f"{statistic} cannot be estimated from rows while {silent} of {rows.asked} users are absent: {why}. "
        f"Ask for edges, stars:K, triangles, {FOUR_CYCLES.name} or transitivity."
    )


_PARTS: dict[str, Callable[[ReportedRows], Parts]] = {
    "edges": edge_parts,
    "triangles": triangle_parts,
    FOUR_CYCLES.name: cycle_parts,
    TRANSITIVITY.name: transitivity_parts,
}


_IN_TRANSITIVITY: dict[str, Callable[[Transitivity], Parts]] = {
    "triangles": lambda found: found.together.triangles,
    "stars:2": lambda found: found.wedges,
}


def _spreads(rows: ReportedRows, parts: Parts) -> tuple[Spread, float]:
    """What nonresponse adds, and the variance of the noise.  [HOLDERS.4]"""
    return _nonresponse(rows, parts), max(parts.noise, parts.floor, 0.0)


def _nonresponse(rows: ReportedRows, parts: Parts) -> Spread:
    rate = rows.response_rate
    needed = parts.pulls[rows.users] * rate
    return missing(needed, parts.pull_noise * rate**2 / max(needed.size, 1), rows.asked)


def _ratio(statistic: str, rows: ReportedRows, found: Transitivity) -> Estimate:
    """A share, with all the shares that it may be an estimate of.  [HOLDERS.6]"""
    if not found.scale:
        return unknown_share(statistic)
    parts = found.parts
    floor = max(parts.floor, 0.0)
    share = ratio_of(
        statistic,
        parts.value,
        lambda share: _nonresponse(rows, found.less(share)),
        lambda share: Spread(max(found.noise(share), floor)),
    )
    return _of_few(rows, share)


def _estimate(statistic: str, rows: ReportedRows, parts: Parts, sides: int) -> Estimate:
    """Noise, and what nonresponse adds; ``sides`` is how many positions a subgraph has.  [HOLDERS.4], [ABSENT.3]"""
    return _allowing(rows, parts, _without_large_absent(statistic, rows, parts, sides))


def _allowing(rows: ReportedRows, parts: Parts, found: Estimate) -> Estimate:
    """The same, allowing for somebody large who is absent.  [ABSENT.3]"""
    rate = rows.response_rate
    noise = parts.pull_noise * rate**2 / max(rows.users.size, 1)
    return with_large_absent(found, 1 - rate, largest_seen(parts.pulls[rows.users] * rate, noise))


def _without_large_absent(statistic: str, rows: ReportedRows, parts: Parts, sides: int) -> Estimate:
    nonresponse, noise = _spreads(rows, parts)
    found = nonresponse.plus(Spread(noise))
    if math.isfinite(found.variance):
        third = found.third + _leaning(parts, nonresponse.variance, noise, sides)
        if statistic == FOUR_CYCLES.name:  # a bend for large skews, too  [HOLDERS.8]
            whole = estimate_of(statistic, parts.value, found._replace(third=third))
            return replace(whole, limits=lambda level: cube_root_interval(whole, level))
        found = found._replace(third=max(min(third, MOST_SKEW * found.variance**1.5), found.third))
    return estimate_of(statistic, parts.value, found)


def _leaning(parts: Parts, nonresponse: float, noise: float, sides: int) -> float:
    """The variance rises and falls with the estimate: a subgraph of many answers is missed with each.  [HOLDERS.5]"""
    variance = nonresponse + noise
    # An estimate below two standard errors says nothing of how the variance moves with it.
    level = max(parts.value, 2 * math.sqrt(variance))
    if not level:
        return 0.0
    needed = max(float(parts.pulls.sum()) / level, 1.0)
    moving = (1 - 1 / needed) * nonresponse + (1 - 1 / sides) * (noise - parts.floor)
    return 2 * moving * variance / level
