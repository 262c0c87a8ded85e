"""NEIGHBOURHOOD (b): what public hubs are asked, with which noise, at which price.  [HUB.2-5]"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from functools import cache, cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute.exact_products import norm
from visibility_aware_edge_ldp.errors import BadInput, BadPrivacyParameter, ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.power_noise import SmoothPower
from visibility_aware_edge_ldp.privacy.guarantee import Guarantee, OneEdge
from visibility_aware_edge_ldp.privacy.parameters import Number, parse_epsilon
from visibility_aware_edge_ldp.public.layout import LARGEST as LARGEST
from visibility_aware_edge_ldp.public.layout import Layout, Report
from visibility_aware_edge_ldp.public.surveys.base import Content, RosterSurvey, least_loss
from visibility_aware_edge_ldp.public.triangle_assignment import HubPlan, hub_plan
from visibility_aware_edge_ldp.public.trust import NEIGHBOURHOOD
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import DEFAULT_MULTIPLIERS, NON_PUBLIC, Multipliers, Visibility

Ints = npt.NDArray[np.int64]
SHARED, PLAIN = KINDS = ("shared", "plain")
# What each kind asks, and the shares of the loss; "rest" is only asked to bound what "inside" leaves out.
NUMBERS = {
    SHARED: {"all": Fraction(1)},
    PLAIN: {"inside": Fraction(4, 5), "rest": Fraction(1, 5)},
}
# Shares of a number's epsilon that may pay for the movement of its scale; the best one is taken.
_SHARES = tuple(Fraction(1, i) for i in (100, 50, 30, 20, 15, 12, 10, 8, 6, 5, 4))
_UP = Context(prec=40, rounding=ROUND_CEILING)


@dataclass(frozen=True)
class HubSurvey(RosterSurvey):
    """Every reporter of a public plan counts the triangles that belong to it, with noise on a bounded scale.

    ``epsilon`` is the loss per PRIVATE edge against all reports together. ``kind`` is "shared" (every triangle that
    two ends of one territory close) or "plain" (only triangles all of whose non-public sides belong to one hub).
    """

    trust = NEIGHBOURHOOD
    protocol = "hubs"
    plan: HubPlan = field(repr=False)
    kind: str = SHARED
    classes: tuple[Visibility, ...] = NON_PUBLIC
    multipliers: Multipliers = DEFAULT_MULTIPLIERS

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise BadInput(f"{self.kind!r} is not a way of sharing positions; use {' or '.join(KINDS)}.")
        if self.epsilon <= 0:
            raise BadPrivacyParameter(f"epsilon must be above 0; got {self.epsilon}.")

    @cached_property
    def loss(self) -> Fraction:
        """What one edge loses by all reports together, at most."""
        return least_loss(self.epsilon, self.multipliers, self.classes)

    @property
    def numbers(self) -> tuple[str, ...]:
        """The names of the numbers that each reporter sends."""
        return tuple(NUMBERS[self.kind])

    def weights(self, number: str) -> Ints:
        """(groups, groups): the part 1/weight of the number's loss that a position pays at each reporter.  [HUB.2]"""
        reaches, loose = self.plan.reaches, self.plan.loose
        if number == "inside":
            return np.where(loose, 0, 1)
        # A position that no territory holds also pays for being counted as loose.
        return reaches + (loose if number == "all" else 0)

    def largest_weight(self, number: str) -> int:
        """The largest weight of any position."""
        held, loose = self.plan.most_reached(False), self.plan.most_reached(True)
        return {"all": max(held, loose + 1 if loose else 0), "inside": 1, "rest": max(held, loose)}[number] or 1

    @cached_property
    def loose_noise(self) -> DiscreteLaplace | None:
        """The noise on the number of loose edges; none where no position is loose.  [HUB.3]"""
        if not self.plan.loose_positions:
            return None
        parts = self.plan.most_reached(True) + 1
        return DiscreteLaplace(self.loss / parts if self.kind == SHARED else self.loss * NUMBERS[PLAIN]["inside"])

    @cached_property
    def noises(self) -> dict[str, SmoothPower]:
        """The noise of each number; its share minimises the total variance, from public sizes only.  [HUB.4]"""
        return {number: self._noise(number) for number in self.numbers}

    def _noise(self, number: str) -> SmoothPower:
        loss = self.loss * NUMBERS[self.kind][number]
        return _best_noise(loss, self.largest_weight(number), tuple(self.plan.sizes.tolist()))

    def floors(self, number: str) -> Ints:
        """The least scale of each reporter's noise: with it the scale hardly moves, and is known.  [HUB.2, HUB.4]"""
        return _floors(self.noises[number], self.largest_weight(number), self.plan.sizes)

    def price(self, kind: Visibility, round_number: int = 1) -> Guarantee[OneEdge]:
        """What an edge of any class that is asked loses by the reports of all hubs."""
        return Guarantee(OneEdge, self.loss)

    @property
    def _billed(self) -> tuple[Visibility, ...]:
        return self.classes

    def content(self) -> Content:
        return {
            "question": f"triangles of public hubs, {self.kind}",
            "loss": str(self.loss),
            "plan": self.plan.digest,
            "noise": {number: [str(noise.epsilon), str(noise.share)] for number, noise in self.noises.items()},
            "floors": {number: self.floors(number).tolist() for number in self.numbers},
        }


@cache
def _best_noise(loss: Fraction, weight: int, sizes: tuple[int, ...]) -> SmoothPower:
    """The search for the best share, once for each promise: every hub makes the survey anew from its own plan."""
    choices = [_noise(loss, share) for share in _SHARES]
    spread = [n.standard_deviation(1) * norm(_floors(n, weight, np.array(sizes))) for n in choices]
    return choices[int(np.argmin(spread))]


@cache
def _noise(loss: Fraction, share: Fraction) -> SmoothPower:
    """One mechanism for each promise."""
    return SmoothPower(loss, share)


def _floors(noise: SmoothPower, weight: int, sizes: Ints) -> Ints:
    least = int(_UP.divide(weight**2, noise.beta).to_integral_value(ROUND_CEILING))
    return np.maximum(least, sizes // 2 + 1)


def hub_survey(view: PublicView, epsilon: Number, kind: str = SHARED, plan: HubPlan | None = None) -> HubSurvey:
    """A survey of the triangles that public hubs see."""
    policy, classes = view.policy, view.non_public
    chosen = hub_plan(view) if plan is None else plan
    exact = parse_epsilon(epsilon)
    return HubSurvey(view.roster_digest, view.n, policy.digest, exact, chosen, kind, classes, policy.multipliers)


@dataclass(frozen=True)
class HubReport(Report):
    """The noisy numbers of one reporter, in the survey's order, then its noisy count of loose edges.

    ``hub`` is the reporter's place in the plan. The count of loose edges is 0 where none is asked for.
    """

    survey: str
    hub: int
    values: tuple[int, ...]
    loose: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.hub < 256 or not 1 <= len(self.values) < 256:
            raise ProtocolViolation("A hub's report names a reporter of the plan and carries its numbers.")
        self.layout.refuse_beyond(min(self.loose, *self.values), max(self.loose, *self.values))

    @property
    def count(self) -> int:
        """How many numbers it has, without that of loose edges."""
        return len(self.values)


class _HubNumbers(Layout[HubReport]):
    """Signed 64-bit integers, highest byte first: the numbers, then the loose edges."""

    def _sizes(self, head: Mapping[str, int]) -> tuple[int, ...]:
        return (8 * head["count"] + 8,)

    def _body(self, report: HubReport) -> Iterable[bytes]:
        return (np.array([*report.values, report.loose], ">i8").tobytes(),)

    def _report(self, head: dict[str, Any], parts: list[bytes]) -> HubReport:
        *values, loose = np.frombuffer(parts[0], ">i8").tolist()
        return HubReport(head["survey"], head["hub"], tuple(values), loose)


LAYOUT = _HubNumbers("hub's report", b"VAEB", "hub:B count:B survey:32s", HubReport)
encode_hub, decode_hub = LAYOUT.encode, LAYOUT.decode
