"""USER groups: the public question who has how many friends in each group, its noise and its price.  [GROUPS.1]"""

from dataclasses import dataclass

import numpy as np

from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.privacy import Number, parse_epsilon
from visibility_aware_edge_ldp.public.groups import Groups, groups_of
from visibility_aware_edge_ldp.public.layout import Numbers
from visibility_aware_edge_ldp.public.surveys.base import Content
from visibility_aware_edge_ldp.public.surveys.degrees import DegreeReport, DegreeSurvey
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility

NOBODY = Groups("nothing", ("nobody",), np.zeros(0, np.int64))


@dataclass(frozen=True)
class GroupSurvey(DegreeSurvey):
    """Every user reports, for each class and group, how many such friends it has, plus discrete Laplace noise.

    An edge is in one count of either end, as it is in one degree of either end: the price is that of degrees, which
    are the case of one group.  [GROUPS.1-2]
    """

    protocol = "groups"
    groups: Groups = NOBODY

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.groups.members.size != self.nodes:
            raise BadInput(f"The groups are of {self.groups.members.size:,} users and the roster has {self.nodes:,}.")

    @property
    def asked(self) -> tuple[Visibility, ...]:
        """The class of each number that a user reports: class by class, and in each group by group."""
        return tuple(kind for kind in self.classes for _ in self.groups.labels)

    @property
    def largest(self) -> tuple[int, ...]:
        """What each of these numbers can be at most: the size of its group."""
        return tuple(self.groups.sizes.tolist()) * len(self.classes)

    def content(self) -> Content:
        return {**super().content(), "question": "friends in each group", "groups": self.groups.describe()}


def group_survey(view: PublicView, epsilon: Number, groups: Groups | None = None) -> GroupSurvey:
    """A survey of the friends of all users in each group, by the public view's groups if no others are given."""
    policy, chosen = view.policy, groups_of(view) if groups is None else groups
    return GroupSurvey(
        view.roster_digest, view.n, policy.digest, parse_epsilon(epsilon), view.non_public, policy.multipliers,
        groups=chosen,
    )  # fmt: skip


class GroupReport(DegreeReport):
    """The noisy counts of the users numbered ``start`` and on: (classes · groups, count) numbers."""


LAYOUT = Numbers("report of groups", b"VAEG", "classes:H start:Q count:Q survey:32s", GroupReport)
encode, decode = LAYOUT.encode, LAYOUT.decode
