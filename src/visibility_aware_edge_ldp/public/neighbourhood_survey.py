"""NEIGHBOURHOOD (a): every user reports how many triangles it owns; the question and its price.  [OWNER.1-4]"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from visibility_aware_edge_ldp.errors import BadInput, BadPrivacyParameter
from visibility_aware_edge_ldp.privacy.composition import Release
from visibility_aware_edge_ldp.privacy.guarantee import Guarantee
from visibility_aware_edge_ldp.privacy.parameters import Number, exact_epsilon
from visibility_aware_edge_ldp.privacy.relation import OneEdge
from visibility_aware_edge_ldp.public.owner_plan import OwnerPlan
from visibility_aware_edge_ldp.public.survey import stated
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import DEFAULT_MULTIPLIERS, NON_PUBLIC, Multipliers, Visibility


def least_loss(epsilon: Fraction, multipliers: Multipliers, classes: Iterable[Visibility]) -> Fraction:
    """The loss that every non-public edge may have: that of the best guarded class which the policy has.

    A triangle's sides may be of several classes. The noise is made for the strictest; looser classes lose less than
    they may.
    """
    allowed = [multipliers.of(kind) for kind in classes if kind in NON_PUBLIC]
    if not allowed:
        raise BadInput("Every position is PUBLIC, so there is nothing to ask: count the public edges.")
    return epsilon * min(allowed)


@dataclass(frozen=True)
class NeighbourhoodSurvey:
    """Every user counts the triangles that it owns under a public plan, and adds discrete Laplace noise.

    ``epsilon`` is the loss per PRIVATE edge against all reports together; ``classes`` are those that positions may
    have; ``multipliers`` repeats how well the policy guards each.
    """

    roster: str
    nodes: int
    policy: str
    epsilon: Fraction
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

    @property
    def price(self) -> dict[Visibility, Guarantee[OneEdge]]:
        """What an edge of each class loses by the reports of all users."""
        return {kind: Guarantee(OneEdge, self.loss, self.plan.delta) for kind in self.classes}

    @cached_property
    def identity(self) -> str:
        """SHA-256 of the survey in canonical JSON."""
        content = {
            "format": "va-edge-ldp survey 1",
            "trust": "neighbourhood",
            "question": "owned triangles",
            "roster": self.roster,
            "nodes": self.nodes,
            "policy": self.policy,
            "loss": str(self.loss),
            "plan": self.plan.digest,
            **stated(self.multipliers),
        }
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def releases(self) -> tuple[Release, ...]:
        """What the survey costs, without the survey of degrees that its plan was bought with."""
        return (Release(self.identity, 1, tuple(reversed(list(self.price.items())))),)


def neighbourhood_survey(view: PublicView, epsilon: Number, plan: OwnerPlan) -> NeighbourhoodSurvey:
    """A survey of the triangles that each user of a public view owns."""
    policy, classes = view.policy, tuple(kind for kind in NON_PUBLIC if kind in view.present)
    loss = exact_epsilon(epsilon)
    return NeighbourhoodSurvey(view.roster_digest, view.n, policy.digest, loss, plan, classes, policy.multipliers)
