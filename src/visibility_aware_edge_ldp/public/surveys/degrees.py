"""USER degrees: the public question, its noise and its price.  [DEGREE.1]"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from visibility_aware_edge_ldp.errors import BadPrivacyParameter
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.privacy import Guarantee, Number, OneEdge, OneListEntry, edge_from_lists, parse_epsilon
from visibility_aware_edge_ldp.public.layout import LARGEST as LARGEST
from visibility_aware_edge_ldp.public.layout import Bits, Ints, Numbers, ValueReport
from visibility_aware_edge_ldp.public.surveys.base import Content, RosterSurvey
from visibility_aware_edge_ldp.public.trust import USER
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import DEFAULT_MULTIPLIERS, NON_PUBLIC, Multipliers, Visibility

# An edge stands in the lists of both its ends, and both report.
LISTS = 2
# Of people and places, it stands in the list of the person alone.
PEOPLE_ALONE = 1
# One mechanism for each promise: its table of thresholds takes many digits to compute.
_discrete_laplace = cache(DiscreteLaplace)


@dataclass(frozen=True)
class DegreeSurvey(RosterSurvey):
    """Every user reports, for each class, how many friends of that class it has, plus discrete Laplace noise.

    ``classes`` are those that positions may have: the others are not asked. ``epsilon`` is the loss per PRIVATE edge
    against both ends' reports together; ``multipliers`` repeats how well the policy guards each class. ``lists`` says
    in how many lists an edge stands: 1 where people alone report, and places hold nothing.  [BIPARTITE.3]
    """

    trust = USER
    protocol = "degrees"
    classes: tuple[Visibility, ...] = NON_PUBLIC
    multipliers: Multipliers = DEFAULT_MULTIPLIERS
    lists: int = LISTS

    def __post_init__(self) -> None:
        if self.epsilon <= 0:
            raise BadPrivacyParameter(f"epsilon must be above 0; got {self.epsilon}.")
        if self.lists not in (LISTS, PEOPLE_ALONE):
            raise BadPrivacyParameter(f"An edge stands in one list or in two; got {self.lists}.")
        if self.classes != tuple(kind for kind in NON_PUBLIC if kind in self.classes):
            raise BadPrivacyParameter("A survey of degrees asks about FRIEND_VISIBLE and PRIVATE friends, each once.")

    def list_price(self, kind: Visibility) -> Guarantee[OneListEntry]:
        """What one entry of one list loses by its holder's report: its part of what the edge may lose.  [DEGREE.1]"""
        return Guarantee(OneListEntry, self.multipliers.of(kind) * self.epsilon / self.lists)

    def price(self, kind: Visibility, round_number: int = 1) -> Guarantee[OneEdge]:
        """What an edge of this class loses by the reports of both its ends.  [DEGREE.2]"""
        return edge_from_lists(self.list_price(kind), self.lists)

    def mechanism(self, kind: Visibility) -> DiscreteLaplace:
        """The noise on the number of friends of this class, the same for every user.  [DEGREE.4]"""
        return _discrete_laplace(self.list_price(kind).epsilon)

    @property
    def asked(self) -> tuple[Visibility, ...]:
        """The class of each number that a user reports."""
        return self.classes

    @property
    def largest(self) -> tuple[int, ...]:
        """What each of these numbers can be at most."""
        return (self.nodes - 1,) * len(self.classes)

    def content(self) -> Content:
        losses = {str(kind): str(self.list_price(kind).epsilon) for kind in self.classes}
        return {
            "question": "degrees",
            "epsilon": str(self.epsilon),
            "discrete Laplace, loss per list entry": losses,
            **({} if self.lists == LISTS else {"lists with an edge": self.lists}),
        }

    def payment(self, round_number: int = 1) -> dict[Visibility, Guarantee[OneListEntry]]:
        """What one user pays: its own list's part of what its edges lose."""
        return {kind: self.list_price(kind) for kind in self.classes}


def degree_survey(view: PublicView, epsilon: Number) -> DegreeSurvey:
    """A survey of the degrees of all users of a public view."""
    policy, classes = view.policy, view.non_public
    return DegreeSurvey(
        view.roster_digest, view.n, policy.digest, parse_epsilon(epsilon), classes, policy.multipliers, lists_in(view)
    )


def lists_in(view: PublicView) -> int:
    """In how many lists an edge stands: of people and places, in that of the person alone."""
    return LISTS if view.people is None else PEOPLE_ALONE


class DegreeReport(ValueReport):
    """The noisy degrees of the users numbered ``start`` and on: (classes, count) numbers."""

    @property
    def classes(self) -> int:
        """How many classes were asked about."""
        return len(self.values)


LAYOUT = Numbers("report of degrees", b"VAED", "classes:B start:Q count:Q survey:32s", DegreeReport)
encode, decode = LAYOUT.encode, LAYOUT.decode


def degree_report(
    survey: str, start: int, answered: Bits, values: Ints, made: type[DegreeReport] = DegreeReport
) -> DegreeReport:
    """The report of these users: (classes, count) numbers, 0 for those who did not answer."""
    return made(survey, start, answered, np.where(answered, values, 0))
