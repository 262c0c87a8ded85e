"""The largest loss between the exact laws of what neighbouring worlds say, by the class that differs.  [AUDIT.1]"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.evaluation.audit.coin_walk import Law
from visibility_aware_edge_ldp.evaluation.audit.finding import Loss, largest
from visibility_aware_edge_ldp.evaluation.audit.small_worlds import Pattern, World, friends, neighbours, positions
from visibility_aware_edge_ldp.public.visibility import Visibility

Friends = tuple[int, ...]


@dataclass(frozen=True)
class Gap:
    """How far two laws are apart: the largest log-ratio, and the chance of what was not compared.  [AUDIT.5]"""

    epsilon: float
    delta: float = 0.0

    def __add__(self, other: Gap) -> Gap:
        return Gap(self.epsilon + other.epsilon, self.delta + other.delta)

    def __or__(self, other: Gap) -> Gap:
        return Gap(largest([self.epsilon, other.epsilon]), largest([self.delta, other.delta]))


Gaps = dict[Visibility, Gap]
NO_GAP = Gap(0.0)


@dataclass(frozen=True)
class Spoken:
    """A law with what comparing it again and again needs: the logarithms, in the order of what is said."""

    law: Law

    @cached_property
    def said(self) -> list[bytes]:
        return sorted(self.law)

    @cached_property
    def logarithms(self) -> npt.NDArray[np.float64]:
        return self._logarithms_of(self.said)

    @cached_property
    def unwalked(self) -> Fraction:
        return 1 - sum(self.law.values(), Fraction(0))

    def only(self, other: Spoken) -> Fraction:
        """The chance of what the other never says, as far as it was walked."""
        return sum((self.law[said] for said in self.law.keys() - other.law.keys()), Fraction(0))

    def largest_log_ratio(self, other: Spoken) -> float:
        """Over all that both may say: found among floats, told from the exact quotient."""
        if self.said == other.said:
            said, apart = self.said, self.logarithms - other.logarithms
        else:
            said = sorted(self.law.keys() & other.law.keys())
            apart = self._logarithms_of(said) - other._logarithms_of(said)
        if not said:
            return 0.0
        worst = said[int(np.abs(apart).argmax())]
        return abs(math.log(self.law[worst] / other.law[worst]))

    def _logarithms_of(self, said: list[bytes]) -> npt.NDArray[np.float64]:
        logarithms: npt.NDArray[np.float64] = np.log(np.array([float(self.law[one]) for one in said]))
        return logarithms


def gap_between(one: Spoken, other: Spoken) -> Gap:
    """The gap of two laws: of what both say, and of what one says and the other only where it was not walked."""
    alone = [(one.only(other), other.unwalked), (other.only(one), one.unwalked)]
    hidden = (_least_log_ratio(only, missing) for only, missing in alone)
    return Gap(
        largest([one.largest_log_ratio(other), *hidden]), largest(float(only + missing) for only, missing in alone)
    )


def _least_log_ratio(said: Fraction, missing: Fraction) -> float:
    """What is lost at least when one law says with this chance what the other can say with no more than that."""
    if not said:
        return 0.0
    return math.log(said / missing) if missing else math.inf


def largest_gaps(
    pattern: Pattern,
    pairs: Iterable[tuple[World, World, int]],
    speak: Callable[[World], Law],
) -> Gaps:
    """Over these pairs of neighbouring worlds, where ``speak`` gives the law of all that is sent in a world."""
    spoken = cache(lambda world: Spoken(speak(world)))
    gaps: Gaps = {}
    for world, other, place in pairs:
        kind = pattern[place]
        gaps[kind] = gaps.get(kind, NO_GAP) | gap_between(spoken(world), spoken(other))
    return gaps


def largest_gaps_by_list(pattern: Pattern, n: int, speak: Callable[[int, Friends], Law]) -> Gaps:
    """The same where every user speaks alone, of its own list: an edge loses what both its ends lose.  [AUDIT.6]"""
    spoken = cache(lambda user, held: Spoken(speak(user, held)))
    gaps: Gaps = {}
    for world, other, place in neighbours(pattern):
        kind, both = pattern[place], NO_GAP
        for user in positions(n)[place]:
            before, after = (spoken(user, friends(graph, n, user)) for graph in (world, other))
            both += gap_between(before, after)
        gaps[kind] = gaps.get(kind, NO_GAP) | both
    return gaps


class ListStage(Protocol):
    """What the stages of protocols of users have in common."""

    @property
    def pattern(self) -> Pattern: ...
    @property
    def n(self) -> int: ...
    @property
    def setting(self) -> Hashable:
        """All of the stage but where in the pattern which class stands."""


AnyStage = TypeVar("AnyStage", bound=ListStage)


def by_row(speak: Callable[[AnyStage, int, Friends], Law]) -> Callable[[AnyStage, int, Friends], Law]:
    """Keeps a user's law for its row of classes and its list: other users' classes are not asked of it.

    All lists of a row are walked in the first pattern that has it, so that their reports name the same survey.
    """
    kept: dict[Hashable, Law] = {}

    def recall(stage: AnyStage, user: int, held: Friends) -> Law:
        row = tuple(kind for pair, kind in zip(positions(stage.n), stage.pattern, strict=True) if user in pair)
        key = (stage.setting, user, row, held)
        if key not in kept:
            kept[key] = speak(stage, user, held)
        return kept[key]

    return recall


def losses_of(gaps: Gaps, claims: Mapping[Visibility, float], closed: bool = True) -> list[Loss]:
    """Gaps beside what was claimed; where the tails are closed, what was not compared costs nothing.  [AUDIT.4]"""
    return [Loss(str(kind), claims[kind], gap.epsilon, 0.0, 0.0 if closed else gap.delta) for kind, gap in gaps.items()]
