"""Noise on smooth bounds, for the worst pair of bounds: exact masses, and the limit beyond them.  [AUDIT.7-8]"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property, partial
from itertools import product

from visibility_aware_edge_ldp.evaluation.audit.exact_words import drawn_as_stated
from visibility_aware_edge_ldp.evaluation.audit.finding import Audit, Finding, Loss, largest
from visibility_aware_edge_ldp.evaluation.audit.noise_loss import exact_finding, spent_delta, walked
from visibility_aware_edge_ldp.mechanisms.power_noise import SmoothPower
from visibility_aware_edge_ldp.mechanisms.smooth_noise import SmoothCauchy, SmoothLaplace, SmoothNoise, SmoothStudentT
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC

Student = SmoothStudentT | SmoothCauchy
Pure = Student | SmoothPower


@dataclass(frozen=True)
class WorstPair:
    """Two worlds as far apart as a smooth bound allows: the wider noise is shifted by all that the narrower allows."""

    noise: SmoothNoise
    weight: int
    bound: int
    part: Decimal

    @cached_property
    def bounds(self) -> tuple[Decimal, Decimal]:
        with localcontext(prec=80):
            return Decimal(self.bound), self.bound * (self.part * self.weight * self.noise.beta).exp()

    @property
    def shift(self) -> int:
        return self.weight * self.bound

    @property
    def as_drawn(self) -> bool:
        """Whether both samplers change from one integer to the next where their laws say."""
        laws = [self.noise.law(bound) for bound in self.bounds]
        places = (-3 * self.bound, -1, 0, 1, 5 * self.bound)
        return all(drawn_as_stated(law.sample, law.cdf, k) for law in laws for k in places)


def pure_loss(pair: WorstPair) -> float:
    """The largest log-ratio over all integers up to where only the tails are left, and the limit there.  [AUDIT.7]"""
    if not pair.as_drawn:
        return math.inf
    reach = last_turn(pair) + 2
    with localcontext(prec=60):
        narrow, wide = (
            _masses(pair.noise, bound, centre, reach)
            for bound, centre in zip(pair.bounds, (0, pair.shift), strict=True)
        )
        inside = largest(abs(float((p / q).ln())) for p, q in zip(narrow, wide, strict=True))
        return largest([inside, tail_power(pair.noise) * float((pair.bounds[1] / pair.bounds[0]).ln())])


def _masses(noise: SmoothNoise, bound: Decimal, centre: int, reach: int) -> list[Decimal]:
    """The probabilities of −reach … reach, with the noise about ``centre``; from the left, where no digit is lost."""
    law = noise.law(bound)
    left = [law.cdf(-k, 50) for k in range(reach + abs(centre) + 2)]
    return [left[abs(y - centre)] - left[abs(y - centre) + 1] for y in range(-reach, reach + 1)]


def tail_power(noise: SmoothNoise) -> float:
    """The power by which the chance of more than x falls with x."""
    return float(noise.alpha) if isinstance(noise, SmoothPower) else degrees_of(noise)


def degrees_of(noise: SmoothNoise) -> int:
    """The degrees of freedom of Student-t noise, of which Cauchy noise is the first."""
    return noise.degrees if isinstance(noise, SmoothStudentT) else 1


def last_turn(pair: WorstPair) -> int:
    """Beyond this output the ratio of the two densities only moves towards its limit.  [AUDIT.7]"""
    narrow, wide = (float(pair.noise.scale(bound)) for bound in pair.bounds)
    if isinstance(pair.noise, SmoothPower):
        return math.ceil(max(narrow, wide + pair.shift))
    shrink, shift, degrees = (narrow / wide) ** 2, pair.shift / narrow, degrees_of(pair.noise)
    middle = degrees * (1 - shrink) + shrink * shift**2
    root = middle + math.sqrt(middle**2 + 4 * degrees * (shrink * shift) ** 2)
    return math.ceil(narrow * root / (2 * shrink * shift))


def audit_pure_noise(name: str, noises: Iterable[Pure], about: str) -> Finding:
    """Noises with a pure promise."""
    losses, cases = [], 0
    for noise in noises:
        for pair in _pairs(noise):
            loss, _ = noise.price(pair.weight)
            losses.append(Loss(_kind(pair.weight), float(loss), pure_loss(pair)))
            cases += 1
    return exact_finding(name, losses, cases, about)


def audit_smooth_laplace(name: str, noises: Iterable[SmoothLaplace], about: str) -> Finding:
    """Noise with a delta: what is missing at the claimed ε, with all that lies beyond the window.  [AUDIT.8]"""
    losses, cases = [], 0
    for noise in noises:
        for pair in _pairs(noise):
            loss, delta = noise.price(pair.weight)
            half = int(30 * noise.scale(pair.bounds[1]))
            narrow, wide = (
                walked(centre, noise.law(bound), half)
                for bound, centre in zip(pair.bounds, (0, pair.shift), strict=True)
            )
            found = spent_delta(narrow, wide, float(loss)) if pair.as_drawn else 1.0
            losses.append(Loss(_kind(pair.weight), float(loss), float(loss), float(delta), found))
            cases += 1
    return exact_finding(name, losses, cases, about)


def _pairs(noise: SmoothNoise) -> Iterator[WorstPair]:
    """For each class: no dilation, half of it, all of it; for a small bound and a larger one."""
    for weight, bound, part in product((1, 2), (1, 16), map(Decimal, ("0", "0.5", "1"))):
        yield WorstPair(noise, weight, bound, part)


def _kind(weight: int) -> str:
    return str(NON_PUBLIC[::-1][weight - 1])


class TooNarrow(SmoothPower):
    """A broken twin: four fifths of the scale that the promise needs."""

    @property
    def shift(self) -> Decimal:
        return super().shift / Decimal("0.8")


class UnsmoothLaplace(SmoothLaplace):
    """A broken twin: the bound may move five times as far as was made for."""

    @property
    def beta(self) -> Decimal:
        return 5 * super().beta


STUDENTS = (SmoothStudentT(Fraction(1)), SmoothStudentT(Fraction(1, 2), 3, Fraction(2, 3)))
CAUCHYS = (SmoothCauchy(Fraction(1)), SmoothCauchy(Fraction(2), Fraction(3, 4)))
POWERS = (SmoothPower(Fraction(1)), SmoothPower(Fraction(3), Fraction(1, 3)))
LAPLACES = (
    SmoothLaplace(Fraction(1), Fraction(1, 1000)),
    SmoothLaplace(Fraction(2), Fraction(1, 10**6), Fraction(1, 3)),
)
_WALKED = "two noises, two bounds, both classes, three dilations; all integers up to the tails, and their limit"
_SUMMED = "two noises, two bounds, both classes, three dilations; δ at the claimed ε, the tails in full"

AUDITS = (
    Audit("Student-t noise", "exact", partial(audit_pure_noise, "Student-t noise", STUDENTS, _WALKED)),
    Audit("Cauchy noise", "exact", partial(audit_pure_noise, "Cauchy noise", CAUCHYS, _WALKED)),
    Audit("power noise", "exact", partial(audit_pure_noise, "power noise", POWERS, _WALKED)),
    Audit("smooth Laplace noise", "exact", partial(audit_smooth_laplace, "smooth Laplace noise", LAPLACES, _SUMMED)),
)


def _narrow_power() -> Finding:
    return audit_pure_noise("power noise, a fifth too narrow", [TooNarrow(Fraction(1))], _NARROW)


def _unsmooth_laplace() -> Finding:
    noises = [UnsmoothLaplace(Fraction(1), Fraction(1, 1000))]
    return audit_smooth_laplace("smooth Laplace noise, bound not smooth", noises, _UNSMOOTH)


_NARROW = "The noise has four fifths of the scale that its promise needs."
_UNSMOOTH = "The bound moves five times as much between neighbours as the noise was made for."
TWINS = (
    Audit("power noise, a fifth too narrow", "exact", _narrow_power, _NARROW),
    Audit("smooth Laplace noise, bound not smooth", "exact", _unsmooth_laplace, _UNSMOOTH),
)
