"""USER degrees: every user reports the length of its friend list, with noise, once.  [DEGREE.0-3]"""

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.client.reporter import Bits, Client, Purse, who_takes_part
from visibility_aware_edge_ldp.client.views import FriendLists
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes
from visibility_aware_edge_ldp.public.groups import Groups
from visibility_aware_edge_ldp.public.surveys.degrees import (
    LARGEST,
    DegreeReport,
    DegreeSurvey,
    degree_report,
    lists_in,
)
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility

Ints = npt.NDArray[np.int64]


class DegreeClient(Client[DegreeSurvey, FriendLists, DegreeReport]):
    """Users with consecutive numbers: their lists, their purse and what they have answered.  [DEGREE.0-3]

    The purse is about one user's own reports. An edge stands in two lists, so it loses what both its ends pay.
    """

    report: ClassVar[type[DegreeReport]] = DegreeReport

    def __init__(self, view: FriendLists, public: PublicView, purse: Purse) -> None:
        check_lists(view, public.n)
        super().__init__(view, public, purse)

    def verify(self, survey: DegreeSurvey, round_number: int) -> DegreeSurvey:
        """Refuse a survey that counts an edge's lists wrongly: it would pay too much.  [BIPARTITE.3]"""
        super().verify(survey, round_number)
        if survey.lists != lists_in(self._public):
            raise ProtocolViolation(f"The survey says that an edge stands in {survey.lists} lists, which it does not.")
        return survey

    def randomize(
        self, survey: DegreeSurvey, round_number: int, random_bytes: RandomBytes, present: Bits | None
    ) -> DegreeReport:
        """Friends per class, each number with its noise.  [DEGREE.1]"""
        counts = self.counts(survey)
        values = np.empty_like(counts)
        for row, kind in enumerate(survey.asked):
            values[row] = randomize(counts[row], survey.mechanism(kind), random_bytes)
        answered = who_takes_part(present, self._view.count) & self.holders
        return degree_report(survey.identity, self._view.start, answered, values, self.report)

    @property
    def holders(self) -> Bits:
        """Which of them hold a list: people; of places nobody does.  [BIPARTITE.3]"""
        people = self._public.n if self._public.people is None else self._public.people
        return np.arange(self._view.start, self._view.start + self._view.count) < people

    def counts(self, survey: DegreeSurvey) -> Ints:
        """(numbers, users): what noise is added to; an edge is in one number of either end.  [DEGREE.1]"""
        return class_counts(self._view, self._public, survey.classes)


def randomize(counts: Ints, mechanism: DiscreteLaplace, random_bytes: RandomBytes) -> Ints:
    """Each number plus noise, cut off where 64 bits end: a function of the exact sum.  [DEGREE.1]"""
    noise = mechanism.sample_many(counts.size, random_bytes)
    return np.clip(counts + np.minimum(noise, LARGEST), -LARGEST, LARGEST)


def class_counts(
    view: FriendLists, public: PublicView, classes: tuple[Visibility, ...], groups: Groups | None = None
) -> Ints:
    """(classes, users): how many friends of each class every user has; with groups, (classes · groups, users)."""
    if public.classes.is_constant and groups is None:
        return np.repeat(np.diff(view.offsets)[None], len(classes), axis=0)
    owners = np.repeat(np.arange(view.start, view.start + view.count), np.diff(view.offsets))
    found, many = public.classes.of(owners, view.neighbours), 1 if groups is None else groups.count
    group = 0 if groups is None else groups.members[view.neighbours]
    cells = (owners - view.start) * many + group
    each = [np.bincount(cells[found == kind], minlength=view.count * many) for kind in classes]
    counts = np.array(each, np.int64).reshape(len(classes), view.count, many)
    return counts.transpose(0, 2, 1).reshape(len(classes) * many, view.count)


def check_lists(view: FriendLists, nodes: int) -> None:
    """One bit is one entry of a list: a friend named twice, or the user itself, would count for more.  [DEGREE.0]"""
    offsets, friends = view.offsets, view.neighbours
    if view.start < 0 or view.start + view.count > nodes or offsets[0] != 0 or offsets[-1] != friends.size:
        raise BadInput(f"These friend lists do not fit a roster of {nodes:,} users; check start and offsets.")
    lengths = np.diff(offsets)
    owners = np.repeat(np.arange(view.start, view.start + view.count, dtype=np.int32), np.maximum(lengths, 0))
    if (lengths < 0).any() or (owners == friends).any() or (friends < 0).any() or (friends >= nodes).any():
        raise BadInput("A friend list names users outside the roster, or its own holder; leave them out.")
    rising = np.diff(friends) > 0
    rising[offsets[1:-1][(offsets[1:-1] > 0) & (offsets[1:-1] < friends.size)] - 1] = True  # a new list may begin lower
    if not rising.all():
        raise BadInput("A friend list must be sorted and name each friend once.")
