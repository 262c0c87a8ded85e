"""All graphs of a few users under all policies: the worlds in which the exact audit walks every coin.  [AUDIT.1]

And the largest loss between the exact laws of what neighbouring worlds say, by the class that differs.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise, permutations, product
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.audit.engine import findings
from visibility_aware_edge_ldp.audit.engine.enumerate_randomness import Law
from visibility_aware_edge_ldp.audit.engine.findings import Gaps
from visibility_aware_edge_ldp.client.views import Edges
from visibility_aware_edge_ldp.mechanisms.randomness import IntegerLaw
from visibility_aware_edge_ldp.privacy import Bill
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

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


def largest_gaps(
    pattern: Pattern,
    pairs: Iterable[tuple[World, World, int]],
    speak: Callable[[World], Law],
) -> Gaps:
    """Over these pairs of neighbouring worlds, where ``speak`` gives the law of all that is sent in a world."""
    spoken = cache(lambda world: findings.Spoken(speak(world)))
    gaps: Gaps = {}
    for world, other, place in pairs:
        kind = pattern[place]
        gaps[kind] = gaps.get(kind, findings.NO_GAP) | findings.gap_between(spoken(world), spoken(other))
    return gaps


@dataclass(frozen=True, eq=False)
class ListStage(ABC):
    """A pattern of classes on n users, and a survey of them, to which every user speaks alone, of its own list."""

    pattern: Pattern
    n: int

    @property
    @abstractmethod
    def survey(self) -> Any:
        """What the users are asked."""

    @property
    def setting(self) -> Hashable:
        """All of the stage but where in the pattern which class stands."""
        return replace(self, pattern=tuple(sorted({*self.pattern})))

    @property
    def closed(self) -> bool:
        """Whether beyond what is walked nothing can be lost that is not lost inside it.  [AUDIT.4]"""
        return False

    @abstractmethod
    def agreed(self, kind: Visibility) -> Fraction:
        """What was asked for: what an edge of this class may lose."""


AnyStage = TypeVar("AnyStage", bound=ListStage)
Speak = Callable[[AnyStage, int, Friends], Law]
"""The law of all that one user of a stage sends, by its list."""


def gaps_by_list(stage: AnyStage, speak: Speak[AnyStage]) -> Gaps:
    """The largest gaps where every user speaks alone: an edge loses what both its ends lose.  [AUDIT.6]"""
    spoken = cache(lambda user, held: findings.Spoken(speak(stage, user, held)))
    gaps: Gaps = {}
    for world, other, place in neighbours(stage.pattern):
        kind, both = stage.pattern[place], findings.NO_GAP
        for user in positions(stage.n)[place]:
            both += findings.gap_between(*(spoken(user, friends(graph, stage.n, user)) for graph in (world, other)))
        gaps[kind] = gaps.get(kind, findings.NO_GAP) | both
    return gaps


def audit_lists(name: str, stages: Iterable[AnyStage], about: str, speak: Speak[AnyStage]) -> findings.Finding:
    """All stages together, beside what was asked for and what is billed; the same for real clients and mutants."""

    def losses(stage: AnyStage) -> Iterator[findings.Loss]:
        bill, asked = Bill(stage.survey.releases), {kind: stage.agreed(kind) for kind in NON_PUBLIC}
        claims = {kind: float(epsilon) for kind, epsilon in asked.items()}
        for loss in findings.losses_of(gaps_by_list(stage, speak), claims, stage.closed):
            yield findings.as_asked(loss, asked[Visibility[loss.kind]], bill[loss.kind].epsilon)

    return findings.exact_finding_over(
        name, ((losses(stage), neighbour_count(stage.pattern)) for stage in stages), about
    )


def by_row(speak: Speak[AnyStage]) -> Speak[AnyStage]:
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
    return findings.largest(float(x) + law.outside for x, law in zip(exceeding, (one, other), strict=True))


def least_epsilon(one: Walked, other: Walked, delta: float, most: float) -> float:
    """The least ε beside this δ, up to ``most``; infinite where even that is not enough, NaN if that is unknown."""
    spent = spent_delta(one, other, most)
    if math.isnan(spent) or spent > delta:
        return findings.largest([math.inf, spent])
    low, high = 0.0, most
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if spent_delta(one, other, middle) <= delta else (middle, high)
    return high


N = 12
RING = [(i, (i + step) % N) for i in range(N) for step in (1, 2)]
MIXED = VisibilityPolicy.from_profiles({0: "public", 5: "public"}, rule="both")
DELTA = "1/100"
