"""The public plan of NEIGHBOURHOOD (a): who owns a triangle, and how large everybody's noise is.  [OWNER.1-4]

Users are ranked by a public bound on their degree; a triangle is counted by its user of highest rank.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.errors import BadInput, BadPolicy, BadPrivacyParameter, TooLarge
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace, variances
from visibility_aware_edge_ldp.mechanisms.exact_sampling import smallest
from visibility_aware_edge_ldp.public.policy.private_members import users_with
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.public.surveys.degrees import DegreeSurvey

Bits = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
BELIEVED, WEIGHTED, CLIPPED = GUARDS = ("believed", "weighted", "clipped")
# Probabilities are worked out in doubles, whose errors this covers many times over.
_ROUNDED_UP = 1 + 1e-9
# With more users the rounding of weights would show.  [OWNER.3]
MOST_USERS = 1 << 19
# Margins above noisy degrees that are tried.
_MARGINS = 40
MOST_HUBS = 16
# A bit of a signed 64-bit mark for each reporter.
_HUBS_THAT_FIT = 62
# In how many territories a node stays: more leave less out and spread a position over more reporters.
KEEP = 3


@dataclass(frozen=True, eq=False)
class OwnerPlan:
    """A bound on each user's degree, and what keeps the promise where a bound is wrong.

    Parameters
    ----------
    guard
        "believed": nothing does, and ``delta`` pays for it. "weighted": triangles at a user with more friends than
        its bound count for less, and the promise is pure. "clipped": users forget friends beyond their bound.
    bounds
        One whole number for each user, at least 1.
    heard
        Whose bound was made from a report of its own.
    first
        The survey of degrees that the bounds were bought with.
    lost
        How many triangles the guard leaves out, at most, on average; infinite where nobody can say.
    """

    guard: str
    bounds: Ints = field(repr=False)
    heard: Bits = field(repr=False)
    first: DegreeSurvey | None = None
    delta: Fraction = Fraction(0)
    lost: float = 0.0

    def __post_init__(self) -> None:
        if self.guard not in GUARDS:
            raise BadInput(f"{self.guard!r} is not a guard; use {', '.join(GUARDS)}.")
        most = max(self.bounds.size, 2)
        if self.bounds.shape != self.heard.shape or ((self.bounds < 1) | (self.bounds > most)).any():
            raise BadInput(f"A plan has one bound for each user, from 1 to {most}, the number of users.")
        if self.bounds.size > MOST_USERS:
            raise TooLarge(f"Counts of owned triangles are made for at most {MOST_USERS:,} users.")
        if (self.guard == BELIEVED) != (self.delta > 0):
            raise BadPrivacyParameter("Bounds that are believed need a delta above 0; the other guards are pure.")

    @cached_property
    def ranks(self) -> Ints:
        """Everybody's rank: by bound, equal bounds by number. Noise grows with rank.  [OWNER.1]"""
        ranks = np.empty(self.bounds.size, np.int64)
        ranks[np.argsort(self.bounds, kind="stable")] = np.arange(self.bounds.size)
        return ranks

    @property
    def unit(self) -> int:
        """Counts are reported in parts of this size: weighted ones are not whole numbers.  [OWNER.3]"""
        return 1 << (8 * self.bounds.size - 1).bit_length() if self.guard == WEIGHTED else 1

    @property
    def sensitivities(self) -> Ints:
        """How far each user's noise reaches, in units; 0 where its count is 0 whatever the graph.  [OWNER.2-4]"""
        scaled = {BELIEVED: self.bounds, WEIGHTED: 2 * self.bounds + 1, CLIPPED: 3 * (self.bounds - 1)}
        return scaled[self.guard] * self.unit

    @property
    def margin(self) -> int:
        """What a believed bound is above the noisy degree."""
        return 0 if self.first is None or self.guard != BELIEVED else believed_margin(self.first, self.delta)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all that decides counts and noise."""
        head = f"{self.guard} {self.delta} {self.first.identity if self.first else ''} ".encode()
        return hashlib.sha256(
            head + self.bounds.astype(">i8").tobytes() + np.packbits(self.heard).tobytes()
        ).hexdigest()


def believed_plan(first: DegreeSurvey, noisy: Ints, heard: Bits, delta: Fraction) -> OwnerPlan:
    """Bounds that hold for the two ends of an edge together, except with probability delta.  [OWNER.2]"""
    if not heard.all():
        raise BadInput(
            f"{int((~heard).sum())} users did not report a degree, so no bound on theirs can be believed; "
            "use a pure plan (delta = 0)."
        )
    bounds = np.clip(noisy + believed_margin(first, delta), 2, max(noisy.size - 2, 2))
    return OwnerPlan(BELIEVED, bounds, heard, first, delta)


def weighted_plan(first: DegreeSurvey, noisy: Ints, heard: Bits, loss: Fraction) -> OwnerPlan:
    """Bounds by the margin that balances what is lost above them with the noise, as far as noisy degrees tell."""
    margins = _tried(first)
    friends = float(np.maximum(noisy[heard].sum(), 0)) * heard.size / max(int(heard.sum()), 1)
    lost = overshoots(noises_of(first), margins) * friends / 2
    errors = [
        float(variances(loss, 2 * _padded(noisy + margin, heard) + 1).sum()) + bias**2
        for margin, bias in zip(margins, lost, strict=True)
    ]
    best = int(np.argmin(errors))
    return OwnerPlan(WEIGHTED, _padded(noisy + margins[best], heard), heard, first, lost=float(lost[best]))


def clipped_plan(nodes: int, cap: int, lost: float = np.inf) -> OwnerPlan:
    """The hard cap of document 004: everybody has the same bound, and nothing is bought.  [OWNER.4]"""
    if cap < 2:
        raise BadInput(f"With a cap of {cap} nobody is in a triangle; use at least 2.")
    return OwnerPlan(
        CLIPPED, np.full(nodes, min(cap, max(nodes - 1, 2)), np.int64), np.ones(nodes, np.bool_), lost=lost
    )


def _padded(wanted: Ints, heard: Bits) -> Ints:
    """Between 2 and what a degree can be; those not heard come last, and own only what nobody else could."""
    bounds = np.clip(wanted, 2, max(wanted.size - 1, 2))
    return np.where(heard, bounds, max(1, int(bounds[heard].min(initial=2)) - 1))


def _tried(first: DegreeSurvey) -> Ints:
    """Margins worth trying: up to where hardly anybody's degree is above its bound."""
    noises = noises_of(first)
    most = 12 / min(float(noise.rate) for noise in noises) if noises else 0
    return np.unique(np.linspace(0, most, _MARGINS).astype(np.int64))


def noises_of(first: DegreeSurvey) -> tuple[DiscreteLaplace, ...]:
    """The noises in a reported degree, one for each class."""
    return tuple(first.mechanism(kind) for kind in first.classes)


def believed_margin(first: DegreeSurvey, delta: Fraction) -> int:
    """The least m such that two degrees both have a noise below −m with probability at most delta.  [OWNER.2]"""
    noises = noises_of(first)
    return smallest(lambda m: m >= 0 and float(tails(noises, m + 1)) ** 2 <= float(delta)) if noises else 0


def tails(noises: tuple[DiscreteLaplace, ...], t: npt.ArrayLike) -> Floats:
    """The probability that the noise in a degree is at most −t, t ≥ 1, rounded up.  [OWNER.5]"""
    powers = [weight * root ** np.asarray(t, np.float64) for weight, root in _geometric(noises)]
    return np.asarray(np.minimum(np.sum(powers, axis=0) * _ROUNDED_UP, 1.0), dtype=np.float64)


def overshoots(noises: tuple[DiscreteLaplace, ...], margins: Ints) -> Floats:
    """How far a degree lies above its noisy degree plus m, on average, rounded up.  [OWNER.5]"""
    powers = [weight * root ** (margins + 1.0) / (1 - root) for weight, root in _geometric(noises)]
    return np.asarray(np.sum(powers, axis=0) * _ROUNDED_UP, dtype=np.float64) * np.ones(margins.shape)


@cache
def _geometric(noises: tuple[DiscreteLaplace, ...]) -> tuple[tuple[float, float], ...]:
    """Weights w and roots r such that the noise is at most −t with probability Σ w·r^t.  [OWNER.5]"""
    if len(noises) < 2:
        return tuple((1 / (1 + noise.alpha), noise.alpha) for noise in noises)
    rates = sorted(float(noise.rate) for noise in noises)
    if rates[1] < rates[0] * (1 + 1e-6):
        rates[0] *= 1 - 1e-6  # equal roots need another formula; a little more noise is an upper bound
    a, b = (math.exp(-rate) for rate in rates)
    share, both = (1 - a) * (1 - b) / ((1 + a) * (1 + b)), a * b / (1 - a * b)
    return ((share * (both + a / (a - b)) / (1 - a), a), (share * (both - b / (a - b)) / (1 - b), b))


@dataclass(frozen=True, eq=False)
class HubPlan:
    """Reporters in their public order, and for each node the territories that hold it.

    ``marks`` has bit h set where the territory of reporter h holds the node, and is 0 for nodes that hide nothing.
    """

    hubs: tuple[int, ...]
    keep: int
    marks: Ints = field(repr=False)
    hiding: Bits = field(repr=False)

    @cached_property
    def sizes(self) -> Ints:
        """How many nodes each territory has."""
        return np.array([np.count_nonzero(self.marks >> h & 1) for h in range(len(self.hubs))], np.int64)

    @cached_property
    def groups(self) -> tuple[Ints, Ints]:
        """The different marks of nodes that hide something, and for each node the number of its own (0 for others)."""
        values = np.unique(self.marks[self.hiding])
        return values, np.minimum(np.searchsorted(values, self.marks), max(values.size - 1, 0))

    @cached_property
    def reaches(self) -> Ints:
        """(groups, groups): how many reporters a position may reach, by the groups of its ends.  [HUB.1]"""
        values, _ = self.groups
        both, either = values[:, None] & values, values[:, None] | values
        lowest = both & -both
        # From the first reporter that holds both ends on, no other can be first; -1 is every bit.
        counts: Ints = np.bitwise_count(either & np.where(both > 0, 2 * lowest - 1, -1)).astype(np.int64)
        return counts

    @cached_property
    def loose(self) -> Bits:
        """(groups, groups): whether no territory holds both ends."""
        values, _ = self.groups
        found: Bits = (values[:, None] & values) == 0
        return found

    @cached_property
    def _pairs(self) -> Ints:
        """(groups, groups): how many pairs of nodes."""
        sizes = np.bincount(self.groups[1][self.hiding], minlength=self.groups[0].size)
        return np.outer(sizes, sizes) - np.diag(sizes)

    def most_reached(self, loose: bool) -> int:
        """The most reporters that any position reaches, among those that some territory holds, or that none does."""
        return int(self.reaches[(self._pairs > 0) & (self.loose == loose)].max(initial=0))

    @property
    def loose_positions(self) -> int:
        """How many positions no territory holds, at most, and some reporter sees."""
        return int(self._pairs[self.loose & (self.reaches > 0)].sum()) // 2

    @property
    def unseen_positions(self) -> int:
        """How many positions no reporter sees, at most: those between nodes in no territory."""
        outside = int((self.hiding & (self.marks == 0)).sum())
        return outside * (outside - 1) // 2

    @property
    def can_miss_triangles(self) -> bool:
        """Whether three nodes can be such that no territory holds two of them."""
        apart = (self.loose & (self._pairs > 0)).astype(np.int64)
        return bool(((apart @ apart) * apart).any())

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all that decides who counts what."""
        head = f"{self.keep} {self.hubs} ".encode()
        return hashlib.sha256(head + self.marks.astype(">i8").tobytes() + self.hiding.tobytes()).hexdigest()


def hubs_see_everybody(view: PublicView) -> bool:
    """Whether everybody who hides something is in some hub's list: what hubs miss is then small."""
    hiding: Bits = np.any(users_with(view, NON_PUBLIC), axis=0)
    return bool(choose_hubs(view, hiding, 1)) and not hub_plan(view).unseen_positions


def hub_plan(view: PublicView, hubs: Sequence[int] | None = None, keep: int = KEEP) -> HubPlan:
    """The plan for these reporters; by default for public nodes that together hold as many nodes as they can."""
    hiding: Bits = np.any(users_with(view, NON_PUBLIC), axis=0)
    chosen = choose_hubs(view, hiding) if hubs is None else tuple(int(hub) for hub in hubs)
    if not chosen or len(set(chosen)) < len(chosen) or len(chosen) > _HUBS_THAT_FIT:
        raise BadPolicy(
            "Public hubs need 1 to 62 different nodes all of whose positions are PUBLIC and who have friends; "
            "make some profiles public with rule='any'."
        )
    if min(chosen) < 0 or max(chosen) >= view.n or hiding[list(chosen)].any():
        raise BadPolicy("A hub must be a node all of whose positions are PUBLIC: only then its friend list is public.")
    return HubPlan(chosen, keep, _marks(view, chosen, hiding, keep), hiding)


def choose_hubs(view: PublicView, hiding: Bits, most: int = MOST_HUBS) -> tuple[int, ...]:
    """Public nodes, each the one whose list holds most nodes that no earlier list holds; from public data only."""
    ends = np.concatenate([view.edges, view.edges[:, ::-1]])
    ends = ends[~hiding[ends[:, 0]] & hiding[ends[:, 1]]]
    chosen: list[int] = []
    for _ in range(most):
        if not len(ends):
            break
        hub = int(np.bincount(ends[:, 0]).argmax())
        chosen.append(hub)
        held = np.zeros(view.n, np.bool_)
        held[ends[ends[:, 0] == hub, 1]] = True
        ends = ends[~held[ends[:, 1]]]
    return tuple(chosen)


def _marks(view: PublicView, hubs: tuple[int, ...], hiding: Bits, keep: int) -> Ints:
    """One bit for each territory that holds a node, of the first ``keep`` lists that do."""
    marks, room = np.zeros(view.n, np.int64), np.where(hiding, keep, 0)
    for h, hub in enumerate(hubs):
        at_hub = view.edges[(view.edges == hub).any(axis=1)]
        held = np.zeros(view.n, np.bool_)
        held[at_hub.ravel()] = True
        held &= room > 0
        marks[held] |= 1 << h
        room[held] -= 1
    return marks
