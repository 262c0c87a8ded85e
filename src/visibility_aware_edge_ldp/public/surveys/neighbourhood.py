"""NEIGHBOURHOOD (a): every user reports how many triangles it owns; the question and its price.  [OWNER.1-4]"""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from visibility_aware_edge_ldp.errors import BadInput, BadPrivacyParameter
from visibility_aware_edge_ldp.privacy.guarantee import Guarantee, OneEdge
from visibility_aware_edge_ldp.privacy.parameters import Number, parse_epsilon
from visibility_aware_edge_ldp.public.layout import Bits, Ints, NumberReport, Numbers
from visibility_aware_edge_ldp.public.surveys.base import Content, RosterSurvey, least_loss
from visibility_aware_edge_ldp.public.triangle_assignment import OwnerPlan
from visibility_aware_edge_ldp.public.trust import NEIGHBOURHOOD
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import DEFAULT_MULTIPLIERS, NON_PUBLIC, Multipliers, Visibility

# What of epsilon buys the degrees that bound everybody's noise.
FIRST_SHARE = Fraction(1, 4)


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
        return {"question": "owned triangles", "loss": str(self.loss), "plan": self.plan.digest}


def neighbourhood_survey(view: PublicView, epsilon: Number, plan: OwnerPlan) -> NeighbourhoodSurvey:
    """A survey of the triangles that each user of a public view owns."""
    policy, classes = view.policy, view.non_public
    loss = parse_epsilon(epsilon)
    return NeighbourhoodSurvey(view.roster_digest, view.n, policy.digest, loss, plan, classes, policy.multipliers)


@dataclass(frozen=True, eq=False)
class NeighbourhoodReport(NumberReport):
    """One noisy integer of each of the users numbered ``start`` and on: how many triangles it owns."""

    survey: str
    start: int
    answered: Bits = field(repr=False)
    values: Ints = field(repr=False)


LAYOUT = Numbers("report of owned triangles", b"VAEN", "start:Q count:Q survey:32s", NeighbourhoodReport)


encode_owned, decode_owned = LAYOUT.encode, LAYOUT.decode
