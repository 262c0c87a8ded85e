"""USER transitivity: triangles from rows over 2-stars from degrees, and how the two vary together.  [RATIO.1-2]"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from visibility_aware_edge_ldp.aggregator.estimate import Estimate, ratio_of, share_limits, unknown_share
from visibility_aware_edge_ldp.aggregator.rows import needed, owned_triangles
from visibility_aware_edge_ldp.counts.degrees import degree_functions
from visibility_aware_edge_ldp.counts.nonresponse import Spread, missing

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.aggregator.degrees import DegreeCollection
    from visibility_aware_edge_ldp.aggregator.rows import RowCollection
    from visibility_aware_edge_ldp.counts.degrees.degree_functions import Bits, Floats, Ints
    from visibility_aware_edge_ldp.privacy import Release


def transitivity(
    triangle: Estimate, wedge: Estimate, rows: RowCollection | None = None, degrees: DegreeCollection | None = None
) -> Estimate:
    """3T/S₂; given the two collections, users who are missed in both are missed together.  [RATIO.1-2]"""
    releases = tuple(dict.fromkeys((*triangle.releases, *wedge.releases)))
    stars = float(wedge.value)
    if stars <= 0 or not math.isfinite(float(triangle.variance) + float(wedge.variance)):
        return unknown_share("transitivity", releases)
    value, doubt = 3 * float(triangle.value) / stars, float(triangle.variance) * math.sqrt(2 / triangle.freedom)
    whole = Spread(float(triangle.variance), doubt, triangle.skew * float(triangle.variance) ** 1.5)
    away = None if rows is None or degrees is None else Missed.of(rows, degrees)
    if away is None:
        return _by_noise(triangle, wedge, releases)
    by_noise = whole.less(away.triangles).times(3 / stars)
    return ratio_of(
        "transitivity",
        value,
        lambda share: away.missing(share).times(1 / stars),
        lambda share: by_noise.plus(Spread((share / stars) ** 2 * away.wedge_noise)),
        releases,
    )


def _by_noise(triangle: Estimate, wedge: Estimate, releases: tuple[Release, ...]) -> Estimate:
    """The same where everybody answered: the two noises have nothing in common."""
    stars = float(wedge.value)
    value = 3 * float(triangle.value) / stars

    def variance(share: float) -> float:
        """Of the error, if this were the truth."""
        return (9 * float(triangle.variance) + share**2 * float(wedge.variance)) / stars**2

    def error(share: float) -> Estimate:
        """What lies between the estimate and this share; so much of it are the triangles, which lean."""
        here = variance(share)
        of_triangles = min(9 * float(triangle.variance) / (stars**2 * here), 1.0) if here else 0.0
        return replace(found, value=value - share, variance=here, skew=triangle.skew * of_triangles**1.5)

    found = Estimate("transitivity", value, variance(value), releases, unbiased=False, freedom=triangle.freedom)
    return replace(found, limits=partial(share_limits, found, error))


class Missed(NamedTuple):
    """What each user is needed for: triangles, and 2-stars beyond the public ones.  [RATIO.1]

    Parameters
    ----------
    needed, told
        Triangles of everybody, and of whom they are known.
    wedges, answered
        2-stars of everybody, and of whom they are known.
    noise, each_noise
        The mean variance of a number of triangles, and the variance of each of the 2-stars'.
    triangles, wedge_noise
        How the number of triangles varies with who answered, and the 2-stars' with noise.
    """

    asked: int
    needed: Floats
    told: Bits
    noise: float
    wedges: Floats
    answered: Bits
    each_noise: Floats
    triangles: Spread
    wedge_noise: float

    @staticmethod
    def of(rows: RowCollection, degrees: DegreeCollection) -> Missed | None:
        """From both collections; None where nobody is absent."""
        hides, known = degrees.hiding.any(axis=0), degrees.noisy_degrees()
        told = hides & (rows.answered | ~rows.asked)
        if (told & degrees.answered).sum() == hides.sum():
            return None
        triangles, wedges, noise = (np.zeros(hides.size) for _ in range(3))
        found = needed(rows, owned_triangles(rows))
        triangles[rows.answered] = found.each
        each, noise[degrees.answered] = degree_functions.per_answer(known, two_stars)
        wedges[degrees.answered] = each - two_stars(known.public)
        return Missed(
            int(hides.sum()), triangles, told, found.noise / int(told.sum()), wedges, degrees.answered, noise,
            found.missing, known.expansion**2 * float(noise.sum()),
        )  # fmt: skip

    def missing(self, share: float) -> Spread:
        """How 3T − share·S₂ varies with who answered.  [RATIO.1]"""
        both = self.told & self.answered
        sizes = int(self.told.sum()), int(self.answered.sum())
        # The odds that two sums have in common, and those that each has alone.
        common = self.asked * int(both.sum()) / (sizes[0] * sizes[1]) - 1
        odds = [self.asked / size - 1 - common for size in sizes]
        residuals = 3 * self.needed[both] - share * self.wedges[both]
        noise = 9 * self.noise + share**2 * float(self.each_noise[both].mean())
        found = missing(residuals, noise, self.asked, common)
        found = found.plus(missing(3 * self.needed[self.told], 9 * self.noise, self.asked, odds[0]))
        alone = missing(self.wedges[self.answered], float(self.each_noise[self.answered].mean()), self.asked, odds[1])
        return found.plus(alone.times(share))


def two_stars(degrees: Ints) -> Floats:
    """C(d, 2) of each degree."""
    return degree_functions.binomial(degrees, 2)
