"""NEIGHBOURHOOD (a): every user reports how many triangles it owns; the question and its price.  [OWNER.1-4]

The public plan says who owns a triangle, and how large everybody's noise is: users are ranked by a public bound on
their degree, and a triangle is counted by its user of highest rank.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, cached_property
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.errors import BadInput, BadPrivacyParameter, TooLarge
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace, variances
from visibility_aware_edge_ldp.mechanisms.randomness import smallest
from visibility_aware_edge_ldp.privacy import Guarantee, Number, OneEdge, parse_epsilon
from visibility_aware_edge_ldp.public.layout import Bits, Ints, Numbers, ValueReport
from visibility_aware_edge_ldp.public.surveys.base import Content, RosterSurvey, least_loss
from visibility_aware_edge_ldp.public.trust import NEIGHBOURHOOD
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import DEFAULT_MULTIPLIERS, NON_PUBLIC, Multipliers, Visibility

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.public.surveys.degrees import DegreeSurvey

Floats = npt.NDArray[np.float64]
BELIEVED, WEIGHTED, CLIPPED = GUARDS = ("believed", "weighted", "clipped")
# What is counted and how it is noised, for a bound b: part of a survey's identity.  [OWNER.2-4]
_RULES = {
    BELIEVED: "all, b",
    WEIGHTED: "the middle weight, 3b/2 + 1/4",
    CLIPPED: "between remembered friends, 2(b - 1)",
}
# Probabilities are worked out in doubles, whose errors this covers many times over.
_ROUNDED_UP = 1 + 1e-9
# With more users the rounding of weights would show.  [OWNER.3]
MOST_USERS = 1 << 19
# Margins above noisy degrees that are tried, and up to how many scales of the noise.
_MARGINS, _MOST_SCALES = 40, 8
# What of epsilon buys the degrees that bound everybody's noise.
FIRST_SHARE = Fraction(1, 4)


@dataclass(frozen=True, eq=False)
class OwnerPlan:
    """A bound on each user's degree, and what keeps the promise where a bound is wrong.

    Parameters
    ----------
    guard
        "believed": nothing does, and ``delta`` pays for it. "weighted": triangles of which two users have more friends
        than their bounds count for less, and the promise is pure. "clipped": users forget friends beyond their bound.
    bounds
        One whole number for each user, at least 1.
    reported
        Whose bound was made from a report of its own.
    first
        The survey of degrees that the bounds were bought with.
    lost
        How many triangles the guard leaves out, at most, on average; infinite where nobody can say.
    """

    guard: str
    bounds: Ints = field(repr=False)
    reported: Bits = field(repr=False)
    first: DegreeSurvey | None = None
    delta: Fraction = Fraction(0)
    lost: float = 0.0

    def __post_init__(self) -> None:
        if self.guard not in GUARDS:
            raise BadInput(f"{self.guard!r} is not a guard; use {', '.join(GUARDS)}.")
        most = max(self.bounds.size, 2)
        if self.bounds.shape != self.reported.shape or ((self.bounds < 1) | (self.bounds > most)).any():
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
        return 1 << (32 * self.bounds.size - 1).bit_length() if self.guard == WEIGHTED else 1

    @property
    def sensitivities(self) -> Ints:
        """How far each user's noise reaches, in units; 0 where its count is 0 whatever the graph.  [OWNER.2-4]"""
        if self.guard == WEIGHTED:
            return (6 * self.bounds + 1) * (self.unit // 4)  # 3/2 of the bound, and 1/4 for rounding
        return self.bounds if self.guard == BELIEVED else 2 * (self.bounds - 1)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all that decides counts and noise."""
        head = f"{self.guard} {self.delta} {self.first.identity if self.first else ''} ".encode()
        return hashlib.sha256(
            head + self.bounds.astype(">i8").tobytes() + np.packbits(self.reported).tobytes()
        ).hexdigest()


def believed_plan(first: DegreeSurvey, noisy: Ints, reported: Bits, delta: Fraction, loss: Fraction) -> OwnerPlan:
    """Bounds that at one of an edge's two ends are so seldom short, and by so little, that delta pays.  [OWNER.2]"""
    if not reported.all():
        raise BadInput(
            f"{int((~reported).sum())} users did not report a degree, so no bound on theirs can be believed; "
            "use a pure plan (delta = 0)."
        )
    return OwnerPlan(BELIEVED, believed_bounds(noisy, believed_margin(first, delta, loss)), reported, first, delta)


def believed_bounds(noisy: Ints, margin: int, nodes: int | None = None) -> Ints:
    """Noisy degrees, at least 0, plus the margin; from 2 to the most common friends that two users can have."""
    most = (noisy.size if nodes is None else nodes) - 2
    bounds: Ints = np.clip(np.maximum(noisy, 0) + margin, 2, max(most, 2))
    return bounds


def weighted_plan(first: DegreeSurvey, noisy: Ints, reported: Bits, loss: Fraction) -> OwnerPlan:
    """Bounds by the margin that balances what is lost above them with the noise, as far as noisy degrees tell."""
    margins = _tried(first)
    lost = _lost(noises_of(first), margins, float(max(noisy[reported].sum(), 0)), reported)
    errors = [
        float(variances(loss, 6 * _padded(noisy + margin, reported) + 1).sum()) / 16 + bias**2
        for margin, bias in zip(margins, lost, strict=True)
    ]
    best = int(np.argmin(errors))
    return OwnerPlan(WEIGHTED, _padded(noisy + margins[best], reported), reported, first, lost=float(lost[best]))


def _lost(noises: tuple[DiscreteLaplace, ...], margins: Ints, friends: float, reported: Bits) -> Floats:
    """What weights leave out for each margin, at most, on average; ``friends``: of all who reported.  [OWNED.4]"""
    n, heard = reported.size, int(reported.sum())
    if n < 3:
        return np.zeros(margins.shape)
    others = max(heard - 1, 0) / (n - 1)  # of a reported user's friends, the share that reported
    mixed = others * (n - heard) / (n - 2)  # half the share of their pairs of which one did
    return friends * (others / 2 * common_overshoots(noises, margins) + mixed * overshoots(noises, margins))


def clipped_plan(nodes: int, cap: int, lost: float = np.inf) -> OwnerPlan:
    """The hard cap of document 004: everybody has the same bound, and nothing is bought.  [OWNER.4]"""
    if cap < 2:
        raise BadInput(f"With a cap of {cap} nobody is in a triangle; use at least 2.")
    return OwnerPlan(
        CLIPPED, np.full(nodes, min(cap, max(nodes - 1, 2)), np.int64), np.ones(nodes, np.bool_), lost=lost
    )


def _padded(wanted: Ints, reported: Bits) -> Ints:
    """Between 2 and what a degree can be; those who did not report come last, and own only what nobody else could."""
    bounds = np.clip(wanted, 2, max(wanted.size - 1, 2))
    return np.where(reported, bounds, max(1, int(bounds[reported].min(initial=2)) - 1))


def _tried(first: DegreeSurvey) -> Ints:
    """Margins worth trying: up to where hardly anybody's degree is above its bound."""
    noises = noises_of(first)
    most = _MOST_SCALES / min(float(noise.rate) for noise in noises) if noises else 0
    return np.unique(np.linspace(0, most, _MARGINS).astype(np.int64))


def noises_of(first: DegreeSurvey) -> tuple[DiscreteLaplace, ...]:
    """The noises in a reported degree, one for each class."""
    return tuple(first.mechanism(kind) for kind in first.classes)


def believed_margin(first: DegreeSurvey, delta: Fraction, loss: Fraction) -> int:
    """The least margin whose shortfalls delta pays for, with counts that cost this loss.  [OWNER.2]"""
    noises = noises_of(first)
    return smallest(lambda m: m >= 0 and paid_by_shortfalls(noises, m, loss) <= float(delta)) if noises else 0


def paid_by_shortfalls(noises: tuple[DiscreteLaplace, ...], margin: int, loss: Fraction) -> float:
    """E(1 − e^{−loss·J/max(margin, 2)}) for the smaller shortfall J of two degrees, rounded up.  [OWNER.2]"""
    rate = float(loss) / max(margin, 2)
    return min(math.expm1(rate) * float(_common(noises, np.array([margin]), math.exp(-rate))[0]), 1.0)


def tails(noises: tuple[DiscreteLaplace, ...], t: npt.ArrayLike) -> Floats:
    """The probability that the noise in a degree is at most −t, t ≥ 1, rounded up.  [OWNER.5]"""
    powers = [weight * root ** np.asarray(t, np.float64) for weight, root in _geometric(noises)]
    return np.asarray(np.minimum(np.sum(powers, axis=0) * _ROUNDED_UP, 1.0), dtype=np.float64)


def overshoots(noises: tuple[DiscreteLaplace, ...], margins: Ints) -> Floats:
    """How far a degree lies above its noisy degree plus m, on average, rounded up.  [OWNER.5]"""
    powers = [weight * root ** (margins + 1.0) / (1 - root) for weight, root in _geometric(noises)]
    return np.asarray(np.sum(powers, axis=0) * _ROUNDED_UP, dtype=np.float64) * np.ones(margins.shape)


def common_overshoots(noises: tuple[DiscreteLaplace, ...], margins: Ints) -> Floats:
    """The smaller of two degrees' overshoots over their noisy degrees plus m, on average, rounded up.  [OWNER.5]"""
    return _common(noises, margins, 1.0)


def _common(noises: tuple[DiscreteLaplace, ...], margins: Ints, factor: float) -> Floats:
    """Σ over j ≥ 1 of factor^j · P(K ≤ −m − j)², rounded up.  [OWNER.5]"""
    pairs = list(product(_geometric(noises), repeat=2))
    powers = [w * v * (r * q) ** (margins + 1.0) * factor / (1 - r * q * factor) for (w, r), (v, q) in pairs]
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


@dataclass(frozen=True)
class NeighbourhoodSurvey(RosterSurvey):
    """Every user counts the triangles that it owns under a public plan, and adds discrete Laplace noise.

    ``epsilon`` is the loss per PRIVATE edge against all reports together; ``classes`` are those that positions may
    have; ``multipliers`` repeats how well the policy guards each.
    """

    trust = NEIGHBOURHOOD
    protocol = "neighbourhood"
    plan: OwnerPlan = field(repr=False)
    classes: tuple[Visibility, ...] = NON_PUBLIC
    multipliers: Multipliers = DEFAULT_MULTIPLIERS

    def __post_init__(self) -> None:
        if self.epsilon <= 0:
            raise BadPrivacyParameter(f"epsilon must be above 0; got {self.epsilon}.")
        if self.plan.bounds.size != self.nodes:
            raise BadInput(f"The plan has bounds for {self.plan.bounds.size} users; the roster has {self.nodes}.")

    @cached_property
    def loss(self) -> Fraction:
        """What one edge loses by all reports together, at most."""
        return least_loss(self.epsilon, self.multipliers, self.classes)

    def price(self, kind: Visibility, round_number: int = 1) -> Guarantee[OneEdge]:
        """What an edge of any class that is asked loses by the reports of all users."""
        return Guarantee(OneEdge, self.loss, self.plan.delta)

    @property
    def _billed(self) -> tuple[Visibility, ...]:
        """Without the survey of degrees that the plan was bought with."""
        return self.classes

    def content(self) -> Content:
        counted = _RULES[self.plan.guard]
        return {"question": "owned triangles", "rule": counted, "loss": str(self.loss), "plan": self.plan.digest}


def neighbourhood_survey(view: PublicView, epsilon: Number, plan: OwnerPlan) -> NeighbourhoodSurvey:
    """A survey of the triangles that each user of a public view owns."""
    policy, classes = view.policy, view.non_public
    loss = parse_epsilon(epsilon)
    return NeighbourhoodSurvey(view.roster_digest, view.n, policy.digest, loss, plan, classes, policy.multipliers)


class NeighbourhoodReport(ValueReport):
    """One noisy integer of each of the users numbered ``start`` and on: how many triangles it owns."""


LAYOUT = Numbers("report of owned triangles", b"VAEN", "start:Q count:Q survey:32s", NeighbourhoodReport)


encode_owned, decode_owned = LAYOUT.encode, LAYOUT.decode
