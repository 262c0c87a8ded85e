"""The mechanisms: each one value with its promise, its exact law, its sampler, and its estimate with the variance.

A mechanism is added by registering a ``Mechanism`` here. ``problems`` holds any of them to what it says: the exact loss
to the promise, the estimate to its mean and variance, and the sampler to the law. Programs outside this package call
:func:`register`.

Promises are proved one by one: [RR.1], [DL.1], [HADAMARD.1], [CHAIN.3], [CHANGES.1], [SN.1-3], [POWER.1], [BOUND.1].
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from itertools import accumulate, permutations, product
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.mechanisms.chain import Level, chained, loss, step
from visibility_aware_edge_ldp.mechanisms.changes import Changes
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.hadamard import HadamardResponse
from visibility_aware_edge_ldp.mechanisms.noisy_bound import NoisyBound
from visibility_aware_edge_ldp.mechanisms.power_noise import SmoothPower
from visibility_aware_edge_ldp.mechanisms.randomized_response import RESOLUTION, Channel, RandomizedResponse
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes, keyed_random_bytes
from visibility_aware_edge_ldp.mechanisms.smooth_noise import SmoothCauchy, SmoothLaplace, SmoothNoise, SmoothStudentT

Law = Mapping[Any, Fraction]
"""The probability of each output; of a noise without end, those within a window that is the same for every input."""

# Logarithms of exact probabilities are rounded; a loss may exceed its claim by this part of it.
ROUNDING = 1e-9
DRAWS = 1000
# Of so many draws from the law itself, the distribution function is off by more than this once in 10^5 times.
FARTHEST = 2.47 / math.sqrt(DRAWS)


@dataclass(frozen=True)
class Mechanism:
    """What a mechanism promises and does, for any parameters; ``made`` below is one with its parameters.

    Parameters
    ----------
    name
        What it is called, in audits too.
    examples
        Some of them, on which everything here is checked.
    promise
        From ``made`` to the (ε, δ) that neighbouring inputs lose at most.
    inputs
        From ``made`` to some inputs, any two of which are neighbours; those that are the easiest to tell apart.
    law
        From ``made`` and an input to the exact probabilities of what it answers.
    sample
        From ``made``, an input and random bytes to an answer that has this law.
    estimate
        From ``made`` and an answer to an unbiased estimate of the number that the input stands for.
    variance
        From ``made`` and an input to the estimate's variance; infinite where it has none.
    value
        From an input to the number that it stands for.
    rounded
        By how much the standard deviation may differ from what is said, where that is of noise before it is rounded.
    """

    name: str
    examples: tuple[Any, ...]
    promise: Callable[[Any], tuple[Fraction, Fraction]]
    inputs: Callable[[Any], Sequence[Any]]
    law: Callable[[Any, Any], Law]
    sample: Callable[[Any, Any, RandomBytes], Any]
    estimate: Callable[[Any, Any], float]
    variance: Callable[[Any, Any], float]
    value: Callable[[Any], float] = float
    rounded: float = 0.0


MECHANISMS: dict[str, Mechanism] = {}
"""All mechanisms by name."""


def register(known: Mechanism) -> Mechanism:
    """Make a mechanism known by its name; refuses a name that is taken."""
    if known.name in MECHANISMS:
        raise BadInput(f"{known.name!r} cannot be registered: there is a mechanism of that name already.")
    MECHANISMS[known.name] = known
    return known


def exact_loss(known: Mechanism, made: Any) -> tuple[float, float]:
    """The largest log-ratio of an answer's probabilities between neighbours, and the δ that is spent at the promised ε.

    The δ counts all that lies beyond the window.  [AUDIT.5]
    """
    laws = [known.law(made, each) for each in known.inputs(made)]
    epsilon = math.exp(known.promise(made)[0])
    ratio = delta = 0.0
    for one, other in permutations(laws, 2):
        ratio = max([ratio, *(_log_ratio(chance, other.get(answer, 0)) for answer, chance in one.items() if chance)])
        over = (float(chance) - epsilon * float(other.get(answer, 0)) for answer, chance in one.items())
        delta = max(delta, math.fsum(x for x in over if x > 0) + float(1 - sum(one.values())))
    return ratio, delta


def _log_ratio(one: Fraction, other: Fraction | int) -> float:
    if not other:
        return math.inf
    ratio = one / other
    return math.log(ratio.numerator) - math.log(ratio.denominator)


def problems(known: Mechanism) -> list[str]:
    """What is wrong with a mechanism, one sentence each; none where it does what it says on all its examples."""
    return [f"{known.name}, {made}: {text}" for made in known.examples for text in _problems(known, made)]


def _problems(known: Mechanism, made: Any) -> list[str]:
    found, (epsilon, delta), (lost, spent) = [], known.promise(made), exact_loss(known, made)
    if delta == 0 and lost > float(epsilon) * (1 + ROUNDING):
        found.append(f"neighbours lose {lost:.6g}, which is more than the promised {float(epsilon):.6g}.")
    if delta > 0 and spent > float(delta) * (1 + ROUNDING):
        found.append(f"δ = {spent:.6g} is spent, which is more than the promised {float(delta):.6g}.")
    for given in known.inputs(made):
        law, variance = known.law(made, given), known.variance(made, given)
        mean, deviation = _moments(law, lambda answer: known.estimate(made, answer))
        stated, value = math.sqrt(variance), known.value(given)
        # Noise without end is cut off at the window, which is not in the middle for every input.
        if variance < math.inf and abs(mean - value) > (1e-9 + known.rounded / 1000) * stated:
            found.append(f"the estimate's mean is {mean:.6g} and not {value:.6g} for the input {given}.")
        if variance < math.inf and abs(deviation - stated) > known.rounded + 1e-6 * stated:
            found.append(f"the standard deviation is {deviation:.6g} and not {stated:.6g} for the input {given}.")
        if (off := _distance(known, made, given, law)) > FARTHEST:
            found.append(f"draws differ from the law by {off:.3f} for the input {given}, more than chance explains.")
    return found


def _moments(law: Law, estimate: Callable[[Any], float]) -> tuple[float, float]:
    """The mean and the standard deviation of the estimate."""
    pairs = [(float(chance), float(estimate(answer))) for answer, chance in law.items()]
    mean = math.fsum(chance * value for chance, value in pairs)
    return mean, math.sqrt(math.fsum(chance * (value - mean) ** 2 for chance, value in pairs))


def _distance(known: Mechanism, made: Any, given: Any, law: Law) -> float:
    """How far the distribution function of some draws is from the law's, at most."""
    random_bytes = keyed_random_bytes(known.name.encode().ljust(32)[:32])
    drawn = sorted(known.sample(made, given, random_bytes) for _ in range(DRAWS))
    answers = sorted(law)
    below = accumulate(float(law[answer]) for answer in answers)
    return max(abs(bisect_right(drawn, answer) / DRAWS - p) for answer, p in zip(answers, below, strict=True))


def _pure(made: Any) -> tuple[Fraction, Fraction]:
    return made.epsilon, Fraction(0)


RANDOMIZED_RESPONSE = register(
    Mechanism(
        "randomized response",
        tuple(RandomizedResponse(Fraction(each)) for each in ("1", "1/10", "4")),
        _pure,
        lambda made: (0, 1),
        lambda made, bit: {answer: made.likelihood(answer, bit) for answer in (0, 1)},
        lambda made, bit, random_bytes: int(made.randomize(np.array([bit], np.bool_), random_bytes)[0]),
        lambda made, answer: made.channel.scores[answer],
        lambda made, bit: made.channel.variance(bit),
    )
)


def _shifted(made: DiscreteLaplace, number: int) -> Law:
    far = made.sensitivity + math.ceil(60 / made.rate)
    return {k: Fraction(made.pmf(k - number)) for k in range(-far, far + 1)}


DISCRETE_LAPLACE = register(
    Mechanism(
        "discrete Laplace",
        (DiscreteLaplace(Fraction(1)), DiscreteLaplace(Fraction(1, 2), 3)),
        _pure,
        lambda made: range(made.sensitivity + 1),
        _shifted,
        lambda made, number, random_bytes: number + made.sample(random_bytes),
        lambda made, answer: answer,
        lambda made, number: made.variance,
    )
)

# What is estimated is how many users there are in the first bin.
HADAMARD_RESPONSE = register(
    Mechanism(
        "Hadamard response",
        (HadamardResponse(Fraction(1), 3), HadamardResponse(Fraction(1, 2), 6)),
        _pure,
        lambda made: range(made.size),
        lambda made, place: {answer: made.likelihood(answer, place) for answer in range(made.columns)},
        lambda made, place, random_bytes: int(made.randomize(np.array([place]), random_bytes)[0]),
        lambda made, answer: made.counts(np.array([answer]))[0],
        lambda made, place: made.variances(np.array([float(place == 0)]), 1)[0],
        value=lambda place: float(place == 0),
    )
)


def _joint_law(thresholds: tuple[int, ...], bit: int) -> Law:
    """From the best answer to the worst, each differs from the one before with the chance of a step.  [CHAIN.1]"""
    found = {}
    for answers in product((0, 1), repeat=len(thresholds)):
        chance, last, before = Fraction(1), bit, Fraction(0)
        for threshold, answer in sorted(zip(thresholds, answers, strict=True)):
            here = Fraction(threshold, RESOLUTION)
            flip = step(before, here)
            chance, last, before = chance * (flip if answer != last else 1 - flip), answer, here
        found[answers] = chance
    return found


def _one_after_the_other(thresholds: tuple[int, ...], bit: int, random_bytes: RandomBytes) -> tuple[int, ...]:
    levels = list[Level]()
    for threshold in thresholds:
        said = chained(threshold, np.array([bit], np.bool_), levels, random_bytes)
        levels.append(Level(threshold, np.ones(1, np.bool_), said))
    return tuple(int(level.ones[0]) for level in levels)


def _best(thresholds: tuple[int, ...]) -> Channel:
    flip = Fraction(min(thresholds), RESOLUTION)
    return Channel((1 - flip, flip), (flip, 1 - flip))


_MILD, _USUAL, _STRONG = (RandomizedResponse(Fraction(each)).threshold for each in ("2", "1", "1/2"))
# Of several answers for one bit, the best one is the estimate's.
CHAINED_ANSWERS = register(
    Mechanism(
        "chained answers",
        ((_STRONG, _MILD), (_USUAL, _STRONG, _MILD)),
        lambda thresholds: (loss(min(thresholds)), Fraction(0)),
        lambda thresholds: (0, 1),
        _joint_law,
        _one_after_the_other,
        lambda thresholds, answers: float(_best(thresholds).scores[answers[thresholds.index(min(thresholds))]]),
        lambda thresholds, bit: float(_best(thresholds).variance(bit)),
    )
)


def _given(channel: Channel, bit: int) -> tuple[Fraction, ...]:
    return channel.given_one if bit else channel.given_zero


# Flags of one bit's life, of which so many are raised at most as the mechanism tells; estimated is how many are.
TOLD_CHANGES = register(
    Mechanism(
        "told changes",
        (Changes(Fraction(1), 1), Changes(Fraction(2), 2)),
        _pure,
        lambda made: [flags for flags in product((0, 1), repeat=2 * made.most) if sum(flags) <= made.most],
        lambda made, flags: {
            said: math.prod(
                (_given(made.channel, flag)[one] for one, flag in zip(said, flags, strict=True)), start=Fraction(1)
            )
            for said in product((0, 1), repeat=2 * made.most)
        },
        lambda made, flags, coins: tuple(map(int, made.told(np.array(flags, np.bool_), coins))),
        lambda made, said: sum(made.channel.scores[one] for one in said),
        lambda made, flags: sum(made.channel.variance(flag) for flag in flags),
        value=lambda flags: float(sum(flags)),
    )
)

_BOUND, _WINDOW, _DIGITS = Decimal(4), 1500, 30


def _worst_pair(noise: SmoothNoise) -> tuple[tuple[int, Decimal], ...]:
    """A number with its smooth bound, and the farthest neighbour: shifted by the bound, which is dilated by e^β."""
    context = Context(prec=60)
    return (0, _BOUND), (int(_BOUND), context.multiply(_BOUND, context.exp(noise.beta)))


def _rounded_law(noise: SmoothNoise, given: tuple[int, Decimal]) -> Law:
    number, cdf = given[0], noise.law(given[1]).cdf
    # From the left on both sides, where no digit is lost.
    left = [Fraction(cdf(-k, _DIGITS + 10)) for k in range(_WINDOW + number + 2)]
    return {k: left[abs(k - number)] - left[abs(k - number) + 1] for k in range(-_WINDOW, _WINDOW + 1)}


for _name, _examples in {
    "smooth Laplace noise": (SmoothLaplace(Fraction(1), Fraction(1, 1000)),),
    "Student-t noise": (SmoothStudentT(Fraction(1)),),
    "Cauchy noise": (SmoothCauchy(Fraction(1)),),
    "power noise": (SmoothPower(Fraction(1)),),
}.items():
    register(
        Mechanism(
            _name,
            _examples,
            lambda noise: noise.price(),
            _worst_pair,
            _rounded_law,
            lambda noise, given, random_bytes: given[0] + noise.sample(given[1], random_bytes),
            lambda noise, answer: answer,
            lambda noise, given: noise.standard_deviation(given[1]) ** 2,
            value=lambda given: float(given[0]),
            rounded=0.5,
        )
    )

# A bound within each step; what is estimated is the number of steps of its logarithm.
NOISY_BOUND = register(
    Mechanism(
        "noisy bound",
        (NoisyBound(SmoothPower(Fraction(4, 5), Fraction(1, 16)), Fraction(1, 5)),),
        _pure,
        lambda made: range(made.steps + 1),
        lambda made, steps: _shifted(made.told_noise, steps),
        lambda made, steps, coins: made.tell(Context(prec=60).exp(made.step * steps - made.step / 2), coins),
        lambda made, answer: answer,
        lambda made, steps: made.told_noise.variance,
    )
)
BUILT_IN = frozenset(MECHANISMS)
"""The names of the package's own mechanisms."""
