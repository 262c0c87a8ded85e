"""USER triangles by double clipping, for comparison: what is clipped, by how much, and its price.  [CLIP.1-3]"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute.reproducible_math import exp, log, weighted
from visibility_aware_edge_ldp.errors import BadPrivacyParameter
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import variances
from visibility_aware_edge_ldp.privacy import Guarantee, OneEdge
from visibility_aware_edge_ldp.public.layout import Ints
from visibility_aware_edge_ldp.public.surveys.base import Content
from visibility_aware_edge_ldp.public.surveys.rows import RowSurvey
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

Floats = npt.NDArray[np.float64]
# Rounding of doubles may not make a threshold smaller than it has to be.
_LARGER = 1 + 1e-9
# Exponents of the bound on a tail that are tried: the largest, and how many, each a part of the one before.
_STEEPEST, _STEP, _TRIED = 40.0, 2.0**-0.25, 96


@dataclass(frozen=True)
class ClippedRowSurvey(RowSurvey):
    """As ``RowSurvey``, but a user clips its list and the noisy triangles at each friend, and then adds Laplace noise.

    ``reach`` pays for the noisy length of the list, ``total`` for the sum; ``share`` is not used. It holds with a
    ``delta``, and only if all others answered the first round honestly.  [CLIP.1]
    """

    clip: ClassVar[str] = "double"
    delta: Fraction = Fraction(1, 10**6)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.statistic != "triangles":
            raise BadPrivacyParameter("Double clipping is for triangles alone.")
        if not 0 < self.delta < 1:
            raise BadPrivacyParameter(
                f"Double clipping needs a delta above 0 and below 1, such as 1e-6; got {self.delta}."
            )

    def price(self, kind: Visibility, round_number: int = 1) -> Guarantee[OneEdge]:
        """What an edge of this class loses in one of the two rounds; the second has a delta.  [CLIP.1]"""
        if round_number == 1:
            return super().price(kind, 1)
        return Guarantee(OneEdge, self.second_price(kind), self.delta)

    def content(self) -> Content:
        return {**super().content(), "clip": self.clip, "delta": str(self.delta)}

    @property
    def margin(self) -> int:
        """What is added to a noisy length so that half of δ pays for lists that are longer still.  [CLIP.1]"""
        alpha, rate = self.reach_noise.alpha, float(self.reach_noise.rate)
        return max(1, math.ceil(-math.log(float(self.delta) / 2 * (1 + alpha)) / rate + 1e-9))

    def kept(self, lengths: Ints) -> Ints:
        """How many friends users with these noisy lengths keep at most."""
        return np.clip(lengths + self.margin, 0, self.nodes - 1)

    def thresholds(self, kept: Ints) -> Floats:
        """What no sum of scores over so many friends exceeds, but for half of δ, whatever the edges.  [CLIP.1]"""
        scores = [self.first.channel(kind).scores for kind in NON_PUBLIC]
        largest = max(abs(float(value)) for values in scores for value in values)
        slopes = _STEEPEST / largest * _STEP ** np.arange(_TRIED)
        count = kept.astype(np.float64)
        rare = log(4 * (2 * count + 1) / float(self.delta))
        found = np.zeros(kept.shape)
        for growth in self._growths(slopes):
            ends = (np.multiply.outer(growth, count) + rare) / slopes[:, None]
            found = np.maximum(found, ends.min(axis=0))
        return np.minimum(found, count * largest) * _LARGER

    def _growths(self, slopes: Floats) -> tuple[Floats, Floats]:
        """ln E e^(tŷ) at an edge, and ln E e^(−tŷ) at a non-edge: of the class where it is largest."""
        above, below = np.zeros(slopes.size), np.zeros(slopes.size)
        for kind in NON_PUBLIC:
            channel = self.first.channel(kind)
            scores = np.array([float(each) for each in channel.scores])
            one, zero = (np.array([float(p) for p in chances]) for chances in (channel.given_one, channel.given_zero))
            above = np.maximum(above, log(weighted(one, exp(np.multiply.outer(scores, slopes)))))
            below = np.maximum(below, log(weighted(zero, exp(np.multiply.outer(-scores, slopes)))))
        return above, below

    def sensitivities(self, kept: Ints) -> Ints:
        """By how many units a sum of users who keep so many is taken to move."""
        return np.ceil(self.thresholds(kept) * 2.0**self.fineness).astype(np.int64) + 2

    def noise_variances(self, kept: Ints) -> Floats:
        """The variance of the noise on each sum, in triangles."""
        return variances(self.total_epsilon, self.sensitivities(kept)) / 4.0**self.fineness

    @property
    def total_epsilon(self) -> Fraction:
        """What the sum costs at a PRIVATE position."""
        return self.multipliers.private * self.total


def clipped(survey: RowSurvey, delta: Fraction) -> ClippedRowSurvey:
    """The same survey by double clipping: a third of the second round's epsilon for the length of a list."""
    second = survey.reach + survey.total
    return ClippedRowSurvey(
        survey.first, second / 3, 2 * second / 3, survey.share, survey.fineness, survey.statistic, delta
    )
