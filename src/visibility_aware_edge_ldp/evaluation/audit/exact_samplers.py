"""Every mechanism alone, its sampler tried word by word, its loss from what was counted.  [AUDIT.3-5]"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import pairwise, product

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.evaluation.audit.coin_walk import Law, ScriptedCoins, column_coin, flip_coin, walk
from visibility_aware_edge_ldp.evaluation.audit.exact_loss import Spoken, gap_between
from visibility_aware_edge_ldp.evaluation.audit.exact_words import (
    NUMBERS,
    WORDS,
    Sampler,
    flipping_words,
    measured_edges,
    tail_is_geometric,
)
from visibility_aware_edge_ldp.evaluation.audit.finding import Audit, Finding, Loss, largest
from visibility_aware_edge_ldp.evaluation.audit.noise_loss import exact_finding
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.entropy import Coins
from visibility_aware_edge_ldp.mechanisms.hadamard import HadamardResponse
from visibility_aware_edge_ldp.mechanisms.many_laplaces import sample_each
from visibility_aware_edge_ldp.mechanisms.randomized_response import RandomizedResponse
from visibility_aware_edge_ldp.public.visibility import DEFAULT_MULTIPLIERS, NON_PUBLIC

EPSILONS = tuple(map(Fraction, ("1", "1/10", "1/2", "2", "4", "8")))


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
    zero, one = (flipping_words(mechanism, bit) for bit in (0, 1))
    chances = [(zero, WORDS - one), (WORDS - zero, one)]
    if any(0 in pair for pair in chances):
        return math.inf
    return largest(abs(math.log(Fraction(p, q))) for p, q in chances)


# ── discrete Laplace noise ──


def audit_discrete_laplace(name: str, sampler: Callable[[DiscreteLaplace], Sampler], about: str) -> Finding:
    """The loss of every shift up to the sensitivity, by the numbers that give each integer."""
    losses, cases = [], 0
    for epsilon, sensitivity in (("1", 1), ("4", 1), ("2", 3), ("1/2", 4)):
        for kind, loss in _classes(Fraction(epsilon)):
            mechanism = DiscreteLaplace(loss, sensitivity)
            window = max(sensitivity, math.floor(15 / mechanism.rate))
            edges = measured_edges(sampler(mechanism), mechanism.cdf, -window, window)
            closed = tail_is_geometric(mechanism, window, sensitivity, sampler(mechanism))
            outside = (edges[0] + NUMBERS - edges[-1]) / NUMBERS
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


def one_by_one(mechanism: DiscreteLaplace) -> Sampler:
    """The sampler of single draws."""
    return mechanism.sample


def all_at_once(mechanism: DiscreteLaplace) -> Sampler:
    """The sampler of many draws at once, given one number."""
    sensitivities = np.array([mechanism.sensitivity], dtype=np.int64)
    return lambda coins: int(sample_each(mechanism.epsilon, sensitivities, coins)[0])


# ── Hadamard response ──


def audit_hadamard(name: str, randomize: Callable[[HadamardResponse, int, Coins], int], about: str) -> Finding:
    """Every column and every sign, for any two bins."""
    losses, cases = [], 0
    for epsilon, size in product((Fraction(1), Fraction(1, 10), Fraction(3)), (2, 3, 4, 7, 20)):
        mechanism = HadamardResponse(epsilon, size)
        spoken = [Spoken(_answers(mechanism, partial(randomize, mechanism, place))) for place in range(size)]
        gaps = [gap_between(one, other) for one, other in product(spoken, repeat=2)]
        losses.append(Loss("PRIVATE", float(epsilon), largest(gap.epsilon for gap in gaps)))
        cases += len(gaps)
    return exact_finding(name, losses, cases, about)


def _answers(mechanism: HadamardResponse, randomize: Callable[[Coins], int]) -> Law:
    def play(coins: ScriptedCoins) -> bytes:
        coins.offer([[column_coin(mechanism.columns)], [flip_coin(mechanism.sign)]])
        return randomize(coins).to_bytes(4)

    return walk(play)


def hadamard_answer(mechanism: HadamardResponse, place: int, coins: Coins) -> int:
    """The answer of the real mechanism."""
    return int(mechanism.randomize(np.array([place]), coins)[0])


def _audit(name: str, run: Callable[..., Finding], real: object, about: str) -> Audit:
    return Audit(name, "exact", partial(run, name, real, about))


AUDITS = (
    _audit(
        "randomized response",
        audit_randomized_response,
        RandomizedResponse,
        "all first bytes, every tie bisected; six epsilons, both bits",
    ),
    _audit(
        "discrete Laplace",
        audit_discrete_laplace,
        one_by_one,
        "the words of every integer in a window, and the tails by proof; eight pairs of ε and Δ",
    ),
    _audit(
        "many Laplace noises",
        audit_discrete_laplace,
        all_at_once,
        "as for the discrete Laplace, by the sampler of many numbers at once",
    ),
    _audit(
        "Hadamard response",
        audit_hadamard,
        hadamard_answer,
        "every column and every sign; 2 to 20 bins, any two of them, three epsilons",
    ),
)


class LowThreshold(RandomizedResponse):
    """A broken twin: the integer that coins are compared with is 2 % too small."""

    @property
    def threshold(self) -> int:
        return super().threshold * 98 // 100


class TieKept(RandomizedResponse):
    """A broken twin: a tied first byte never flips, as if one byte were all of the threshold."""

    def flips(self, count: int, coins: Coins) -> npt.NDArray[np.bool_]:
        return np.frombuffer(coins(count), np.uint8) < self.threshold >> 56


def _twin(name: str, run: Callable[..., Finding], twin: object, broken: str) -> Audit:
    return Audit(name, "exact", partial(run, name, twin, broken), broken)


TWINS = (
    _twin(
        "randomized response, threshold 2 % off",
        audit_randomized_response,
        LowThreshold,
        "Coins are compared with an integer that is 2 % too small.",
    ),
    _twin(
        "randomized response, ties never flip",
        audit_randomized_response,
        TieKept,
        "Only the first byte of the threshold is used; what is left of it is lost.",
    ),
)
