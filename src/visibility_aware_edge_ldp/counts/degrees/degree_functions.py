"""Sums over all users of any function of the degree, from one noisy degree a user.  [DEGREESUM.1-5]"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.counts.nonresponse import Spread, missing
from visibility_aware_edge_ldp.errors import BadStatistic

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bits = npt.NDArray[np.bool_]
DegreeFunction = Callable[[Ints], npt.NDArray[np.float64 | np.bool_]]

_SHIFTS = (-2, -1, 0, 1, 2)
# Squares of anything larger, times the correction's constants, would not fit a floating-point number.
_LARGEST = 1e140
# Noise that is rarer than this is not looked for.
_NEVER = 1e-9
# Noise of a larger c (ε below 0.01) reaches so far that no user is away from a threshold.
_WIDE = 1e4


class Stratum(NamedTuple):
    """Users who answer alike: who of those who answered is one of them, and how many were asked.  [DEGREESUM.8]"""

    answers: Bits
    asked: int

    @property
    def size(self) -> int:
        """How many of them answered."""
        return int(self.answers.sum())

    @property
    def expansion(self) -> float:
        """How many users each of these answers stands for."""
        return self.asked / self.size


@dataclass(frozen=True, eq=False)
class NoisyDegrees:
    """All that is known of everybody's degree.

    Parameters
    ----------
    nodes
        How many users there are; no degree exceeds ``nodes - 1``.
    certain
        The degrees of those who hide nothing.
    noisy, public
        Of those who answered: the public degree plus what was reported, and the public degree alone.
    first, second
        Of those who answered: c₁ + c₂ and c₁·c₂ of the noises in ``noisy``; c₂ = 0 where there is one.  [DL.2]
    absent
        The public degrees of those who hide something and did not answer.
    kinds, absent_kinds
        Of those who answered, and of the absent: a number for each kind of users that answer alike; empty where all do.
        Of every kind somebody answered.
    """

    nodes: int
    certain: Ints = field(repr=False)
    noisy: Ints = field(repr=False)
    public: Ints = field(repr=False)
    first: Floats = field(repr=False)
    second: Floats = field(repr=False)
    absent: Ints = field(repr=False)
    kinds: Ints = field(repr=False, default_factory=lambda: np.zeros(0, np.int64))
    absent_kinds: Ints = field(repr=False, default_factory=lambda: np.zeros(0, np.int64))

    def __post_init__(self) -> None:
        if self.absent.size and not self.noisy.size:
            raise BadStatistic("Nobody has answered yet, so nothing can be estimated.")

    @property
    def asked(self) -> int:
        """N: how many hide something."""
        return self.noisy.size + self.absent.size

    @property
    def expansion(self) -> float:
        """N/R: how many users each answer stands for."""
        return self.asked / self.noisy.size if self.noisy.size else 1.0

    @property
    def strata(self) -> list[Stratum]:
        """The kinds of users, each with its own chance to answer; one where all answer alike.  [DEGREESUM.8]"""
        if not self.kinds.size:
            return [Stratum(np.ones(self.noisy.size, np.bool_), self.asked)] if self.noisy.size else []
        found = []
        for kind in np.unique(self.kinds).tolist():
            answers = self.kinds == kind
            found.append(Stratum(answers, int(answers.sum()) + int((self.absent_kinds == kind).sum())))
        return found

    @property
    def most_absent(self) -> float:
        """The largest chance of a user of any kind to be absent."""
        return max(((each.asked - each.size) / each.asked for each in self.strata), default=0.0)

    @property
    def most_expansion(self) -> float:
        """How many users an answer stands for at most."""
        return max((each.expansion for each in self.strata), default=1.0)

    def spread_out(self, noise: Floats) -> float:
        """The variance that these noises give to a sum over all users."""
        return sum(each.expansion**2 * float(noise[each.answers].sum()) for each in self.strata)

    @property
    def noise(self) -> Floats:
        """The variance of each noisy degree."""
        return 2 * self.first


def corrected(degrees: NoisyDegrees, shifted: list[Floats]) -> Floats:
    """g − (c₁ + c₂) Dg + c₁c₂ D²g for each answer, from g at x − 2 … x + 2; D is the second difference.  [DL.2]"""
    two_below, below, here, above, two_above = shifted
    once = above - 2 * here + below
    twice = two_above - 4 * above + 6 * here - 4 * below + two_below
    result: Floats = here - degrees.first * once + degrees.second * twice
    return result


def total(degrees: NoisyDegrees, function: DegreeFunction, clamped: bool = False) -> tuple[float, Spread]:
    """Σ g(d) over all users without bias, and how it varies.  [DEGREESUM.1-3]

    ``clamped`` extends the function beyond the possible degrees by its values at the ends; it must be left out for
    polynomials, which extend themselves.
    """
    each, noise = per_answer(degrees, function, clamped)
    start = _float(function(degrees.public))
    known = sum(float(_float(function(d)).sum()) for d in (degrees.certain, degrees.absent)) + float(start.sum())
    found, spread = expanded(degrees, each - start, noise)
    return known + found, spread


def per_answer(degrees: NoisyDegrees, function: DegreeFunction, clamped: bool = False) -> tuple[Floats, Floats]:
    """g(d) of each user who answered, without bias, and its variance without bias.  [DEGREESUM.3]"""
    shifted = [_float(function(clamp(degrees, shift) if clamped else degrees.noisy + shift)) for shift in _SHIFTS]
    each = corrected(degrees, shifted)
    return each, each**2 - corrected(degrees, [g**2 for g in shifted])


def clamp(degrees: NoisyDegrees, shift: int) -> Ints:
    """The shifted noisy degrees, moved to the nearest possible degree."""
    return np.clip(degrees.noisy + shift, degrees.public, degrees.nodes - 1)


def expanded(degrees: NoisyDegrees, each: Floats, noise: Floats) -> tuple[float, Spread]:
    """A sum over all who hide something from those who answered, and how it varies.  [DEGREESUM.2, DEGREESUM.8]"""
    value, spread = 0.0, Spread(0.0)
    for answers, asked in (strata := degrees.strata):
        own = each[answers] if len(strata) > 1 else each
        spread = spread.plus(missing(own, float(noise[answers].mean()), asked))
        value += asked / own.size * float(own.sum())
    return value, spread.plus(Spread(degrees.spread_out(noise)))


def edges(degrees: NoisyDegrees) -> tuple[float, Spread]:
    """The number of edges: half the sum of all degrees."""
    return total(degrees, lambda d: d / 2)


def stars(degrees: NoisyDegrees, k: int) -> tuple[float, Spread]:
    """The number of k-stars: the sum of C(d, k)."""
    return total(degrees, lambda d: binomial(d, k))


def tail(degrees: NoisyDegrees, threshold: int) -> tuple[float, Spread]:
    """How many users have at least this degree."""
    return total(degrees, lambda d: d >= threshold, clamped=True)


def least_tail_noise(degrees: NoisyDegrees, threshold: int, times: Ints | None = None) -> float:
    """What the noise of a tail count varies at least, by the answers near the threshold; never below 0.  [DEGREESUM.7]

    Three times the mean of Var g̃ over the degrees that each answer may come from, and at most what four users add.
    ``times`` says how often each of the answers came, where each is listed once.
    """
    if not degrees.noisy.size or degrees.first.max() > _WIDE:
        return 0.0  # everybody is near
    total_noise, largest, one = 0.0, 0.0, degrees.first**2 - 4 * degrees.second
    larger = (degrees.first + np.sqrt(np.maximum(one, 0.0))) / 2
    pairs = np.stack([larger, degrees.first - larger], axis=1)
    for constants in np.unique(pairs, axis=0):
        mine = (pairs == constants).all(axis=1) & (degrees.public < threshold)
        law, smoothed = _tail_laws(*constants.tolist())
        reach = len(smoothed) // 2
        offset = degrees.noisy[mine] - threshold
        near = np.abs(offset) <= reach
        each = smoothed[offset[near] + reach]
        total_noise += float((each if times is None else each * times[mine][near]).sum())
        largest = max(largest, float(law.max()))
    return degrees.most_expansion**2 * min(3 * total_noise, 4 * largest)


def _tail_laws(larger: float, smaller: float) -> tuple[Floats, Floats]:
    """Var g̃ by the degree's distance from the threshold, and its mean by the noisy degree's; 0 is in the middle."""
    one, two = _noise_law(larger), _noise_law(smaller)
    noise = _smoothed(np.pad(one, 2 * (len(two) // 2)), two)
    reach = len(noise) // 2
    at = np.arange(-2 * reach - 4, 2 * reach + 5)
    here, moved = (at >= 0).astype(np.float64), [(at + shift >= 0).astype(np.float64) for shift in _SHIFTS]
    once = moved[3] - 2 * here + moved[1]
    twice = moved[4] - 4 * moved[3] + 6 * here - 4 * moved[1] + moved[0]
    each = here - (larger + smaller) * once + larger * smaller * twice
    law = np.maximum(_smoothed(each**2, noise) - here[reach : len(here) - reach], 0.0)
    return law, _smoothed(np.pad(law, reach), noise)


def _smoothed(values: Floats, noise: Floats) -> Floats:
    """Means of values under a symmetric law, where it lies within them; added in one order on every machine."""
    found = np.zeros(len(values) - len(noise) + 1)
    for place, chance in enumerate(noise.tolist()):
        found += chance * values[place : place + found.size]
    return found


def _noise_law(constant: float) -> Floats:
    """The chances of discrete Laplace noise whose c is this, from the least that matters to the largest.  [DL.2]"""
    if constant <= 0:
        return np.ones(1)
    # c = r/(1 − r)² for chances in proportion to r^|x|.
    ratio = 2 * constant / (2 * constant + 1 + np.sqrt(4 * constant + 1))
    reach = int(np.ceil(np.log(_NEVER) / np.log(ratio))) if ratio > _NEVER else 1
    above = np.cumprod(np.full(reach, ratio))
    return np.asarray((1 - ratio) / (1 + ratio) * np.concatenate([above[::-1], [1.0], above]))


def binomial(degrees: Ints, k: int) -> Floats:
    """C(d, k) = d(d − 1)…(d − k + 1)/k!, a polynomial: also for negative d."""
    result = np.ones(degrees.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        for i in range(k):
            result = result * (degrees - i) / (i + 1)
    if not (np.abs(result) <= _LARGEST).all():
        raise BadStatistic(f"The number of {k}-stars is beyond what can be calculated with; choose a smaller K.")
    return result


def _float(values: npt.NDArray[np.float64 | np.bool_]) -> Floats:
    return np.asarray(values, dtype=np.float64)
