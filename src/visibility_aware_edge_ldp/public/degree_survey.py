"""USER degrees: the public question, its noise and its price.  [DEGREE.1]"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property

from visibility_aware_edge_ldp.errors import BadPrivacyParameter
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.privacy.composition import Release
from visibility_aware_edge_ldp.privacy.guarantee import Guarantee, edge_from_lists
from visibility_aware_edge_ldp.privacy.parameters import Number, exact_epsilon
from visibility_aware_edge_ldp.privacy.relation import OneEdge, OneListEntry
from visibility_aware_edge_ldp.public.survey import stated
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import DEFAULT_MULTIPLIERS, NON_PUBLIC, Multipliers, Visibility

# An edge stands in the lists of both its ends, and both report.
LISTS = 2


@dataclass(frozen=True)
class DegreeSurvey:
    """Every user reports, for each class, how many friends of that class it has, plus discrete Laplace noise.

    ``classes`` are those that positions may have: the others are not asked. ``epsilon`` is the loss per PRIVATE edge
    against both ends' reports together; ``multipliers`` repeats how well the policy guards each class.
    """

    roster: str
    nodes: int
    policy: str
    epsilon: Fraction
    classes: tuple[Visibility, ...] = NON_PUBLIC
    multipliers: Multipliers = DEFAULT_MULTIPLIERS

    def __post_init__(self) -> None:
        if self.epsilon <= 0:
            raise BadPrivacyParameter(f"epsilon must be above 0; got {self.epsilon}.")
        if self.classes != tuple(kind for kind in NON_PUBLIC if kind in self.classes):
            raise BadPrivacyParameter("A survey of degrees asks about FRIEND_VISIBLE and PRIVATE friends, each once.")

    def list_price(self, kind: Visibility) -> Guarantee[OneListEntry]:
        """What one entry of one list loses by its holder's report: half of what the edge may lose.  [DEGREE.1]"""
        return Guarantee(OneListEntry, self.multipliers.of(kind) * self.epsilon / LISTS)

    def price(self, kind: Visibility) -> Guarantee[OneEdge]:
        """What an edge of this class loses by the reports of both its ends.  [DEGREE.2]"""
        return edge_from_lists(self.list_price(kind), LISTS)

    def mechanism(self, kind: Visibility) -> DiscreteLaplace:
        """The noise on the number of friends of this class, the same for every user.  [DEGREE.4]"""
        return _discrete_laplace(self.list_price(kind).epsilon)

    @cached_property
    def identity(self) -> str:
        """SHA-256 of the survey in canonical JSON."""
        content = {
            "format": "va-edge-ldp survey 1",
            "trust": "user",
            "question": "degrees",
            "roster": self.roster,
            "nodes": self.nodes,
            "policy": self.policy,
            "epsilon": str(self.epsilon),
            "discrete Laplace, loss per list entry": {
                str(kind): str(self.list_price(kind).epsilon) for kind in self.classes
            },
            **stated(self.multipliers),
        }
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def releases(self) -> tuple[Release, ...]:
        """What the survey costs: one release, priced per class."""
        return (Release(self.identity, 1, tuple((kind, self.price(kind)) for kind in NON_PUBLIC[::-1])),)


@cache
def _discrete_laplace(epsilon: Fraction) -> DiscreteLaplace:
    """One mechanism for each promise: its table of thresholds takes many digits to compute."""
    return DiscreteLaplace(epsilon)


def degree_survey(view: PublicView, epsilon: Number) -> DegreeSurvey:
    """A survey of the degrees of all users of a public view."""
    classes = tuple(kind for kind in NON_PUBLIC if kind in view.present)
    policy = view.policy
    return DegreeSurvey(view.roster_digest, view.n, policy.digest, exact_epsilon(epsilon), classes, policy.multipliers)
