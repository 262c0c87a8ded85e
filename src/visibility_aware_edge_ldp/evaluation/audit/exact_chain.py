"""Chained answers of one bit, by the real sampler, in every order of asking: together they lose what the best one does.

The real :func:`chained` is run once for every outcome of its coins. Where a coin's outcome changes is found on it by
halving, among numbers of 128 bits; what the chain's law says of it is not believed.  [CHAIN.3, AUDIT.3]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from itertools import pairwise, permutations

import numpy as np

from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.evaluation.audit.campaign_stage import with_words_again
from visibility_aware_edge_ldp.evaluation.audit.coin_walk import Coin, Outcome, ScriptedCoins, walk
from visibility_aware_edge_ldp.evaluation.audit.exact_loss import Spoken, gap_between
from visibility_aware_edge_ldp.evaluation.audit.exact_words import NUMBERS, WORDS, words_of, words_then
from visibility_aware_edge_ldp.evaluation.audit.finding import Audit, Finding, Loss
from visibility_aware_edge_ldp.evaluation.audit.noise_loss import exact_finding
from visibility_aware_edge_ldp.mechanisms.chain import Level, chained
from visibility_aware_edge_ldp.mechanisms.randomized_response import RandomizedResponse

EPSILONS = (Fraction(2), Fraction(1), Fraction(1, 2))
Said = dict[int, bool]
"""What was said so far, at which threshold."""
Memory = Callable[[int, Said], Said]
"""What of it is looked at when the next answer is drawn, at a threshold."""

# Words of which the first two bytes are all there are: between them the answer may change once, and not again.
_HEADS = np.arange(1 << 16, dtype=np.uint64) << np.uint64(48)
NO_MATTER: Coin = (Outcome(bytes(8), b"", 1, 0),)
"""A word that decides nothing."""


def everything(threshold: int, said: Said) -> Said:
    """The real chain looks at all of it."""
    return said


def nothing(threshold: int, said: Said) -> Said:
    """A broken twin: every answer is the first."""
    return {}


def better_alone(threshold: int, said: Said) -> Said:
    """A broken twin: blind for answers that are less accurate."""
    return {each: value for each, value in said.items() if each <= threshold}


def levels_of(said: Said, count: int = 1) -> list[Level]:
    """The same said of so many positions."""
    return [Level(each, np.ones(count, np.bool_), np.full(count, value)) for each, value in said.items()]


def answer_coin(threshold: int, bit: bool, said: Said) -> Coin:
    """The coin of one chained answer: two words beside the place where the answer changes, as measured."""
    return _measured_coin(threshold, bit, tuple(sorted(said.items())))


@cache
def _measured_coin(threshold: int, bit: bool, said: tuple[tuple[int, bool], ...]) -> Coin:
    levels, count = levels_of(dict(said)), _HEADS.size
    grid = iter([_HEADS.astype(">u8").tobytes()])
    many = chained(threshold, np.full(count, bit), levels_of(dict(said), count), lambda size: next(grid, bytes(size)))

    def says(number: int) -> bool:
        return bool(chained(threshold, np.array([bit]), levels, words_then(words_of(number, 128)))[0])

    first, last = says(0), says(NUMBERS - 1)
    changes = np.count_nonzero(np.diff(np.append(many, last)))
    if many[0] != first or changes != (first != last):
        raise ProtocolViolation("A chained answer changes more than once with its word; its coin cannot be walked.")
    if first == last:
        return NO_MATTER
    low, high = 0, NUMBERS - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if says(middle) == first else (low, middle)
    tie = high // WORDS
    return Outcome((tie - 1).to_bytes(8), b"", high, 128), Outcome((tie + 1).to_bytes(8), b"", NUMBERS - high, 128)


@cache
def words_coin(*thresholds: int) -> Coin:
    """One word that is compared with several thresholds."""
    edges = [0, *sorted(thresholds), WORDS]
    return tuple(Outcome(((a + b) // 2).to_bytes(8), b"", b - a, 64) for a, b in pairwise(edges))


@dataclass(frozen=True)
class Stage:
    """Answers to be walked: at which epsilons, in their order, one of them perhaps again.

    ``memory`` and ``one_word`` are the twins': what is looked at, and whether one word is drawn for all answers.
    """

    order: tuple[Fraction, ...]
    memory: Memory = everything
    one_word: bool = False

    @property
    def thresholds(self) -> tuple[int, ...]:
        return tuple(RandomizedResponse(epsilon).threshold for epsilon in self.order)

    def coin(self, threshold: int, bit: bool, said: Said) -> Coin:
        """The coin that is due."""
        if self.one_word:
            return words_coin(*dict.fromkeys(self.thresholds))
        return answer_coin(threshold, bit, self.memory(threshold, said))


def conversation(stage: Stage, bit: bool) -> Spoken:
    """The law of all answers together."""

    def play(coins: ScriptedCoins) -> bytes:
        source, said, heard = with_words_again(coins) if stage.one_word else coins, Said(), []
        for threshold in stage.thresholds:
            coins.offer([[stage.coin(threshold, bit, said)]])
            levels = levels_of(stage.memory(threshold, said))
            said[threshold] = bool(chained(threshold, np.array([bit]), levels, source)[0])
            heard.append(said[threshold])
        return bytes(heard)

    return Spoken(walk(play))


def audit_chain(name: str, stages: Iterable[Stage], about: str) -> Finding:
    """The loss of each order beside what its best answer may lose; the same for the real chain and for twins."""
    losses = [
        Loss(
            "PRIVATE",
            float(max(stage.order)),
            gap_between(*(conversation(stage, bit) for bit in (False, True))).epsilon,
        )
        for stage in stages
    ]
    return exact_finding(name, losses, len(losses), about)


ORDERS = tuple(permutations(EPSILONS))


def _every_order() -> Finding:
    stages = [Stage(order) for order in ORDERS] + [Stage((*order, order[0])) for order in ORDERS]
    about = "ε = 2, 1 and 1/2 in all six orders, and the first of them asked again; every coin walked"
    return audit_chain("chained answers", stages, about)


def _twin(name: str, broken: str, *stages: Stage) -> Audit:
    return Audit(name, "exact", partial(audit_chain, name, stages, broken), broken)


AUDITS = (Audit("chained answers", "exact", _every_order),)
TWINS = (
    _twin(
        "chained answers, one uniform at three ε",
        "One uniform number is compared with all thresholds; where two answers differ, the better one is the bit.",
        *(Stage(order, nothing, one_word=True) for order in ORDERS),
    ),
    _twin(
        "chained answers, fresh every time",
        "Every answer is drawn anew, as if nothing had been said.",
        *(Stage(order, nothing) for order in ORDERS),
    ),
    _twin(
        "chained answers, worse neighbour forgotten",
        "A better answer is drawn without a look at the worse one that was given before.",
        *(Stage(order, better_alone) for order in ORDERS),
    ),
)
