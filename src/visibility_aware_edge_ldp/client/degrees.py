"""USER degrees: every user reports the length of its friend list, with noise, once.  [DEGREE.0-3]"""

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.client.reporter import Bits, Client, Purse, who_takes_part
from visibility_aware_edge_ldp.client.views import FriendLists
from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes
from visibility_aware_edge_ldp.public.surveys.degrees import LARGEST, DegreeReport, DegreeSurvey, degree_report
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility

Ints = npt.NDArray[np.int64]


class DegreeClient(Client[DegreeSurvey, FriendLists, DegreeReport]):
    """Users with consecutive numbers: their lists, their purse and what they have answered.  [DEGREE.0-3]

    The purse is about one user's own reports. An edge stands in two lists, so it loses what both its ends pay.
    """

    def __init__(self, view: FriendLists, public: PublicView, purse: Purse) -> None:
        check_lists(view, public.n)
        super().__init__(view, public, purse)

    def randomize(
        self, survey: DegreeSurvey, round_number: int, random_bytes: RandomBytes, present: Bits | None
    ) -> DegreeReport:
        """Friends per class, each number with its noise.  [DEGREE.1]"""
        counts = class_counts(self._view, self._public, survey.classes)
        values = np.empty_like(counts)
        for row, kind in enumerate(survey.classes):
            values[row] = randomize(counts[row], survey.mechanism(kind), random_bytes)
        return degree_report(survey.identity, self._view.start, who_takes_part(present, self._view.count), values)


def randomize(counts: Ints, mechanism: DiscreteLaplace, random_bytes: RandomBytes) -> Ints:
    """Each number plus noise, cut off where 64 bits end: a function of the exact sum.  [DEGREE.1]"""
    noise = mechanism.sample_many(counts.size, random_bytes)
    return np.clip(counts + np.minimum(noise, LARGEST), -LARGEST, LARGEST)


def class_counts(view: FriendLists, public: PublicView, classes: tuple[Visibility, ...]) -> Ints:
    """(classes, users): how many friends of each class every user has."""
    if public.classes.is_constant:
        return np.repeat(np.diff(view.offsets)[None], len(classes), axis=0)
    owners = np.repeat(np.arange(view.start, view.start + view.count), np.diff(view.offsets))
    found = public.classes.of(owners, view.neighbours)
    counts = np.empty((len(classes), view.count), np.int64)
    for row, kind in enumerate(classes):
        before = np.concatenate([[0], np.cumsum(found == kind)])
        counts[row] = np.diff(before[view.offsets])
    return counts


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
