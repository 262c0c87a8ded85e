"""All graphs of a few users under all policies: the worlds in which the exact audit walks every coin.  [AUDIT.1]

And the largest loss between the exact laws of what neighbouring worlds say, by the class that differs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import combinations, pairwise, permutations, product
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.audit.engine.enumerate_randomness import Law
from visibility_aware_edge_ldp.audit.engine.findings import (
    Loss,
    largest,
)
from visibility_aware_edge_ldp.client.views import Edges
from visibility_aware_edge_ldp.mechanisms.exact_sampling import IntegerLaw
from visibility_aware_edge_ldp.public.policy.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility

Floats = npt.NDArray[np.float64]
Friends = tuple[int, ...]
Pattern = tuple[Visibility, ...]
"""The class of each position, in the order of :func:`positions`."""
World = tuple[int, ...]
"""The bit of each position, in the same order."""
Guard = tuple[str, str]
"""The loss multipliers of FRIEND_VISIBLE and PRIVATE."""
# Masses are differences of distribution functions; with so many digits they keep 15 far into the tails.
_DIGITS = 45


def positions(n: int) -> list[tuple[int, int]]:
    """All pairs of n users, in the order in which the software numbers them."""
    return list(combinations(range(n), 2))


def patterns(n: int) -> list[Pattern]:
    """Every way to give each position a class: 27 for three users, 729 for four."""
    return list(product(Visibility, repeat=len(positions(n))))


@cache
def patterns_up_to_names(n: int) -> tuple[Pattern, ...]:
    """One pattern of each set that differ by the names of the users only: 66 for four users."""
    chosen: dict[Pattern, Pattern] = {}
    for pattern in patterns(n):
        chosen.setdefault(min(renamings(pattern, n)), pattern)
    return tuple(chosen.values())


def renamings(pattern: Pattern, n: int) -> Iterator[Pattern]:
    """The same pattern under every order of the users' names."""
    return (tuple(pattern[place] for place in order) for order in _orders(n))


def view_of(pattern: Pattern, n: int, guard: Guard = ("2", "1"), public_bit: int = 1) -> PublicView:
    """What everybody knows: the policy of this pattern, and an edge at every public position unless the bit is 0."""
    at = {kind: [p for p, c in zip(positions(n), pattern, strict=True) if c is kind] for kind in Visibility}
    policy = VisibilityPolicy.from_positions(at[Visibility.PUBLIC], at[Visibility.FRIEND_VISIBLE])
    edges = at[Visibility.PUBLIC] if public_bit else []
    return PublicView(range(n), policy.guarded(*guard), np.array(edges, np.int32).reshape(-1, 2))


def worlds(pattern: Pattern, public_bit: int = 1) -> Iterator[World]:
    """All graphs that agree on the public positions; private worlds count up, the last position fastest."""
    yield from product(*((public_bit,) if kind is Visibility.PUBLIC else (0, 1) for kind in pattern))


def flipped(world: World, place: int) -> World:
    """The neighbouring world in which the bit of one position is the other one."""
    return (*world[:place], 1 - world[place], *world[place + 1 :])


def neighbours(pattern: Pattern, public_bit: int = 1) -> Iterator[tuple[World, World, int]]:
    """Every pair of worlds that differ in one bit that is not public, the 0 first, and the place of that bit."""
    for world in worlds(pattern, public_bit):
        for place, kind in enumerate(pattern):
            if kind is not Visibility.PUBLIC and not world[place]:
                yield world, flipped(world, place), place


def neighbour_count(pattern: Pattern) -> int:
    """How many pairs of neighbouring worlds a pattern has: one position differs, the others are anything."""
    secrets = len(pattern) - pattern.count(Visibility.PUBLIC)
    return secrets << secrets >> 1


def neighbours_up_to_names(pattern: Pattern, n: int, public_bit: int = 1) -> list[tuple[World, World, int]]:
    """One pair of each set of pairs that differ by the names of the users only, from as few worlds as can be had."""
    keep_classes = [order for order in _orders(n) if tuple(pattern[place] for place in order) == pattern]
    alike: dict[World, list[tuple[World, World, int]]] = {}
    for world, other, place in neighbours(pattern, public_bit):
        marked = (*world[:place], 2, *world[place + 1 :])
        alike.setdefault(min(tuple(marked[at] for at in order) for order in keep_classes), []).append(
            (world, other, place)
        )
    chosen: list[tuple[World, World, int]] = []
    used: set[World] = set()
    for pairs in alike.values():
        chosen.append(min(pairs, key=lambda pair: len({*pair[:2]} - used)))
        used |= {*chosen[-1][:2]}
    return chosen


@cache
def _orders(n: int) -> tuple[tuple[int, ...], ...]:
    """For every renaming of the users, where each position goes."""
    return tuple(places_of(names) for names in permutations(range(n)))


def places_of(names: tuple[int, ...]) -> tuple[int, ...]:
    """Where each position goes when the users get these names."""
    pairs = positions(len(names))
    at = {pair: place for place, pair in enumerate(pairs)}
    return tuple(at[min(names[u], names[v]), max(names[u], names[v])] for u, v in pairs)


def friends(world: World, n: int, user: int) -> tuple[int, ...]:
    """The friend list of one user, in increasing order."""
    edges = [pair for pair, bit in zip(positions(n), world, strict=True) if bit and user in pair]
    return tuple(u + v - user for u, v in edges)


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
    def logarithms(self) -> Floats:
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

    def _logarithms_of(self, said: list[bytes]) -> Floats:
        logarithms: Floats = np.log(np.array([float(self.law[one]) for one in said]))
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


def edges_of(world: World, n: int) -> Edges:
    """A world as its edges."""
    return np.array([p for p, bit in zip(positions(n), world, strict=True) if bit], np.int32).reshape(-1, 2)


# ── laws of integers on a window, for noises with a delta ──


@dataclass(frozen=True, eq=False)
class Walked:
    """A law on a window of integers, and the probability that lies outside."""

    start: int
    masses: Floats
    outside: float

    def over(self, start: int, stop: int) -> Floats:
        """The probabilities of start … stop − 1, zero outside the window."""
        found = np.zeros(stop - start)
        at = self.start - start
        found[at : at + self.masses.size] = self.masses
        return found


def walked(number: int, law: IntegerLaw, half: int) -> Walked:
    """The exact law of a number plus symmetric noise, up to ``half`` from it."""
    below = [law.cdf(k, _DIGITS) for k in range(-half - 1, half + 1)]
    masses = np.array([float(high - low) for low, high in pairwise(below)])
    return Walked(number - half, masses, float(2 * below[0]))


def spent_delta(one: Walked, other: Walked, epsilon: float) -> float:
    """The least δ beside this ε, in the worse direction; all that was not walked counts in full.  [WALK.4]"""
    start = min(one.start, other.start)
    stop = max(law.start + law.masses.size for law in (one, other))
    p, q = one.over(start, stop), other.over(start, stop)
    exceeding = (np.maximum(a - math.exp(epsilon) * b, 0).sum() for a, b in ((p, q), (q, p)))
    return largest(float(x) + law.outside for x, law in zip(exceeding, (one, other), strict=True))


def least_epsilon(one: Walked, other: Walked, delta: float, most: float) -> float:
    """The least ε beside this δ, up to ``most``; infinite where even that is not enough, NaN if that is unknown."""
    spent = spent_delta(one, other, most)
    if math.isnan(spent) or spent > delta:
        return largest([math.inf, spent])
    low, high = 0.0, most
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if spent_delta(one, other, middle) <= delta else (middle, high)
    return high
