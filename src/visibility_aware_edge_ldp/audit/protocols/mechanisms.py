"""Every mechanism alone, its sampler tried word by word, its loss from what was counted.  [AUDIT.3-5]

Noise on smooth bounds, for the worst pair of bounds: exact masses, and the limit beyond them.  [AUDIT.7-8]
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property, partial
from itertools import pairwise, product
from operator import attrgetter

import numpy as np

from visibility_aware_edge_ldp.audit.engine import enumerate_randomness as randomness
from visibility_aware_edge_ldp.audit.engine import findings
from visibility_aware_edge_ldp.audit.engine.findings import Finding, Loss, exact_finding, largest
from visibility_aware_edge_ldp.audit.engine.small_worlds import spent_delta, walked
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace, sample_each
from visibility_aware_edge_ldp.mechanisms.hadamard import HadamardResponse
from visibility_aware_edge_ldp.mechanisms.power_noise import SmoothPower
from visibility_aware_edge_ldp.mechanisms.randomized_response import RandomizedResponse
from visibility_aware_edge_ldp.mechanisms.randomness import Integers, RandomBytes
from visibility_aware_edge_ldp.mechanisms.smooth_noise import SmoothCauchy, SmoothLaplace, SmoothNoise, SmoothStudentT
from visibility_aware_edge_ldp.public.visibility import DEFAULT_MULTIPLIERS, NON_PUBLIC

EPSILONS = tuple(map(Fraction, ("1", "1/10", "1/2", "2", "4", "8")))
Pure = SmoothStudentT | SmoothCauchy | SmoothPower


def _classes(epsilon: Fraction) -> Iterator[tuple[str, Fraction]]:
    """Each class and what its edges may lose."""
    for kind in NON_PUBLIC:
        yield str(kind), DEFAULT_MULTIPLIERS.of(kind) * epsilon


# ── randomized response ──


def audit_randomized_response(name: str, make: Callable[[Fraction], RandomizedResponse], about: str) -> Finding:
    """The loss of what is really sampled, from the number of words that flip a 0 and that flip a 1."""
    asked = [(kind, loss) for epsilon in EPSILONS for kind, loss in _classes(epsilon)]
    losses = [Loss(kind, float(loss), response_loss(make(loss))) for kind, loss in asked]
    return exact_finding(name, losses, len(losses), about)


def response_loss(mechanism: RandomizedResponse) -> float:
    """The larger log-ratio of both answers."""
    zero, one = (randomness.flipping_words(mechanism, bit) for bit in (0, 1))
    chances = [(zero, randomness.WORDS - one), (randomness.WORDS - zero, one)]
    if any(0 in pair for pair in chances):
        return math.inf
    return largest(abs(math.log(Fraction(p, q))) for p, q in chances)


# ── discrete Laplace noise ──


def audit_discrete_laplace(name: str, sampler: Callable[[DiscreteLaplace], randomness.Sampler], about: str) -> Finding:
    """The loss of every shift up to the sensitivity, by the numbers that give each integer."""
    losses, cases = [], 0
    for epsilon, sensitivity in (("1", 1), ("4", 1), ("2", 3), ("1/2", 4)):
        for kind, loss in _classes(Fraction(epsilon)):
            mechanism = DiscreteLaplace(loss, sensitivity)
            window = max(sensitivity, math.floor(15 / mechanism.rate))
            edges = randomness.measured_edges(sampler(mechanism), mechanism.cdf, -window, window)
            closed = randomness.tail_is_geometric(mechanism, window, sensitivity, sampler(mechanism))
            outside = (edges[0] + randomness.NUMBERS - edges[-1]) / randomness.NUMBERS
            losses.append(Loss(kind, float(loss), shift_loss(edges, sensitivity), 0.0, 0.0 if closed else outside))
            cases += sensitivity
    return exact_finding(name, losses, cases, about)


def shift_loss(edges: list[int], most: int) -> float:
    """The largest log-ratio between a noise and the same noise shifted by at most so much."""
    numbers = [high - low for low, high in pairwise(edges)]
    if 0 in numbers:
        return math.inf
    logarithms = np.log(np.array(numbers, dtype=np.float64))
    return largest(float(np.abs(logarithms[shift:] - logarithms[:-shift]).max()) for shift in range(1, most + 1))


def all_at_once(mechanism: DiscreteLaplace) -> randomness.Sampler:
    """The sampler of many draws at once, given one number."""
    sensitivities = np.array([mechanism.sensitivity], dtype=np.int64)
    return lambda coins: int(sample_each(mechanism.epsilon, sensitivities, coins)[0])


# ── Hadamard response ──


def audit_hadamard(name: str, randomize: Callable[..., Integers], about: str) -> Finding:
    """Every column and every sign, for any two bins."""
    losses, cases = [], 0
    for epsilon, size in product((Fraction(1), Fraction(1, 10), Fraction(3)), (2, 3, 4, 7, 20)):
        mechanism = HadamardResponse(epsilon, size)
        answers = (partial(randomize, mechanism, np.array([place])) for place in range(size))
        spoken = [findings.Spoken(_answers(mechanism, each)) for each in answers]
        gaps = [findings.gap_between(one, other) for one, other in product(spoken, repeat=2)]
        losses.append(Loss("PRIVATE", float(epsilon), largest(gap.epsilon for gap in gaps)))
        cases += len(gaps)
    return exact_finding(name, losses, cases, about)


def _answers(mechanism: HadamardResponse, randomize: Callable[[RandomBytes], Integers]) -> randomness.Law:
    def play(coins: randomness.ScriptedCoins) -> bytes:
        coins.offer([[randomness.column_coin(mechanism.columns)], [randomness.flip_coin(mechanism.sign)]])
        return int(randomize(coins)[0]).to_bytes(4)

    return randomness.walk(play)


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
        return all(randomness.drawn_as_stated(law.sample, law.cdf, k) for law in laws for k in places)


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
    """The power by which the chance of more than x falls with x: of Student-t noise its degrees, of Cauchy noise 1."""
    if isinstance(noise, SmoothPower):
        return float(noise.alpha)
    return noise.degrees if isinstance(noise, SmoothStudentT) else 1


def last_turn(pair: WorstPair) -> int:
    """Beyond this output the ratio of the two densities only moves towards its limit.  [AUDIT.7]"""
    narrow, wide = (float(pair.noise.scale(bound)) for bound in pair.bounds)
    if isinstance(pair.noise, SmoothPower):
        return math.ceil(max(narrow, wide + pair.shift))
    shrink, shift, degrees = (narrow / wide) ** 2, pair.shift / narrow, tail_power(pair.noise)
    middle = degrees * (1 - shrink) + shrink * shift**2
    root = middle + math.sqrt(middle**2 + 4 * degrees * (shrink * shift) ** 2)
    return math.ceil(narrow * root / (2 * shrink * shift))


def _audit_noise(
    name: str, noises: Iterable[SmoothNoise], about: str, found: Callable[[WorstPair, Fraction], tuple[float, float]]
) -> Finding:
    """What is found of every pair of worlds, an ε and a δ, beside what the noise costs there."""
    losses = []
    for noise in noises:
        for pair in _pairs(noise):
            claimed, delta = noise.price(pair.weight)
            epsilon, spent = found(pair, claimed)
            kind = NON_PUBLIC[::-1][pair.weight - 1]
            losses.append(Loss(str(kind), float(claimed), epsilon, float(delta), spent))
    return exact_finding(name, losses, len(losses), about)


def audit_pure_noise(name: str, noises: Iterable[Pure], about: str) -> Finding:
    """Noises with a pure promise."""
    return _audit_noise(name, noises, about, lambda pair, _: (pure_loss(pair), 0.0))


def audit_smooth_laplace(name: str, noises: Iterable[SmoothLaplace], about: str) -> Finding:
    """Noise with a delta: what is missing at the claimed ε, with all that lies beyond the window.  [AUDIT.8]"""

    def found(pair: WorstPair, claimed: Fraction) -> tuple[float, float]:
        half = int(30 * pair.noise.scale(pair.bounds[1]))
        laws = zip((0, pair.shift), map(pair.noise.law, pair.bounds), strict=True)
        narrow, wide = (walked(centre, law, half) for centre, law in laws)
        return float(claimed), spent_delta(narrow, wide, float(claimed)) if pair.as_drawn else 1.0

    return _audit_noise(name, noises, about, found)


def _pairs(noise: SmoothNoise) -> Iterator[WorstPair]:
    """For each class: no dilation, half of it, all of it; for a small bound and a larger one."""
    for weight, bound, part in product((1, 2), (1, 16), map(Decimal, ("0", "0.5", "1"))):
        yield WorstPair(noise, weight, bound, part)


STUDENTS = (SmoothStudentT(Fraction(1)), SmoothStudentT(Fraction(1, 2), 3, Fraction(2, 3)))
CAUCHYS = (SmoothCauchy(Fraction(1)), SmoothCauchy(Fraction(2), Fraction(3, 4)))
POWERS = (SmoothPower(Fraction(1)), SmoothPower(Fraction(3), Fraction(1, 3)))
LAPLACES = (
    SmoothLaplace(Fraction(1), Fraction(1, 1000)),
    SmoothLaplace(Fraction(2), Fraction(1, 10**6), Fraction(1, 3)),
)
_WALKED = "two noises, two bounds, both classes, three dilations; all integers up to the tails, and their limit"
_SUMMED = "two noises, two bounds, both classes, three dilations; δ at the claimed ε, the tails in full"
# The name, how it is audited, what is audited, and what that covers.
_REAL: tuple[tuple[str, Callable[..., Finding], object, str], ...] = (
    (
        "randomized response",
        audit_randomized_response,
        RandomizedResponse,
        "all first bytes, every tie bisected; six epsilons, both bits",
    ),
    (
        "discrete Laplace",
        audit_discrete_laplace,
        attrgetter("sample"),
        "the words of every integer in a window, and the tails by proof; eight pairs of ε and Δ",
    ),
    (
        "many Laplace noises",
        audit_discrete_laplace,
        all_at_once,
        "as for the discrete Laplace, by the sampler of many numbers at once",
    ),
    (
        "Hadamard response",
        audit_hadamard,
        HadamardResponse.randomize,
        "every column and every sign; 2 to 20 bins, any two of them, three epsilons",
    ),
    ("Student-t noise", audit_pure_noise, STUDENTS, _WALKED),
    ("Cauchy noise", audit_pure_noise, CAUCHYS, _WALKED),
    ("power noise", audit_pure_noise, POWERS, _WALKED),
    ("smooth Laplace noise", audit_smooth_laplace, LAPLACES, _SUMMED),
)
AUDITS = tuple(findings.exact(name, run, real, about) for name, run, real, about in _REAL)

LowThreshold = findings.replaced(
    RandomizedResponse, threshold=property(lambda response: RandomizedResponse(response.epsilon).threshold * 98 // 100)
)
TieKept = findings.replaced(
    RandomizedResponse,
    flips=lambda response, count, coins: np.frombuffer(coins(count), np.uint8) < response.threshold >> 56,
)
TooNarrow = findings.replaced(
    SmoothPower, shift=property(lambda noise: findings.recast(SmoothPower, noise).shift / Decimal("0.8"))
)
UnsmoothLaplace = findings.replaced(
    SmoothLaplace, beta=property(lambda noise: 5 * findings.recast(SmoothLaplace, noise).beta)
)
# The name, how it is audited, what is audited, and what is wrong with it.
_MUTANTS: tuple[tuple[str, Callable[..., Finding], object, str], ...] = (
    (
        "randomized response, threshold 2 % off",
        audit_randomized_response,
        LowThreshold,
        "Coins are compared with an integer that is 2 % too small.",
    ),
    (
        "randomized response, ties never flip",
        audit_randomized_response,
        TieKept,
        "Only the first byte of the threshold is used; what is left of it is lost.",
    ),
    (
        "power noise, a fifth too narrow",
        audit_pure_noise,
        [TooNarrow(Fraction(1))],
        "The noise has four fifths of the scale that its promise needs.",
    ),
    (
        "smooth Laplace noise, bound not smooth",
        audit_smooth_laplace,
        [UnsmoothLaplace(Fraction(1), Fraction(1, 1000))],
        "The bound moves five times as much between neighbours as the noise was made for.",
    ),
)
MUTANTS = tuple(findings.exact(name, run, broken, about, broken=about) for name, run, broken, about in _MUTANTS)
