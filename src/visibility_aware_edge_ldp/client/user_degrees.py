"""USER degrees: every holder of a friend list reports how long it is, with noise, once.  [DEGREE.0-3]"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.client.purse import Purse
from visibility_aware_edge_ldp.client.views import FriendLists
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.entropy import Coins
from visibility_aware_edge_ldp.public.degree_report import LARGEST, DegreeReport, degree_report
from visibility_aware_edge_ldp.public.degree_survey import DegreeSurvey
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

Bits = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]


class ListHolders:
    """Users with consecutive numbers: their lists, their purse and what they have answered.

    The purse is about one holder's own reports. An edge stands in two lists, so it loses what both its ends pay.
    """

    def __init__(self, view: FriendLists, public: PublicView, purse: Purse) -> None:
        check_lists(view, public.n)
        self._view, self._public, self._purse = view, public, purse
        self._answers: dict[str, DegreeReport] = {}

    def degrees(self, survey: DegreeSurvey, coins: Coins, present: Bits | None = None) -> DegreeReport:
        """The report; asked again, the same report again, whatever the coins.  [DEGREE.3]

        ``present`` says which users take part; by default all do.
        """
        if survey.identity not in self._answers:
            self._check(survey)
            self._purse.pay({kind: survey.list_price(kind).epsilon for kind in survey.classes})
            self._answers[survey.identity] = self._randomize(survey, coins, present)
        return self._answers[survey.identity]

    def _check(self, survey: DegreeSurvey) -> None:
        """Take nothing on trust: roster, policy, losses and classes must be the ones we know."""
        public = self._public
        if (survey.roster, survey.policy) != (public.roster_digest, public.policy.digest):
            raise ProtocolViolation("The survey is about another roster or another policy than this client's.")
        if survey.multipliers != public.policy.multipliers:
            raise ProtocolViolation(
                f"The survey would cost {survey.multipliers} per edge; "
                f"this client's policy allows {public.policy.multipliers}."
            )
        if survey.classes != tuple(kind for kind in NON_PUBLIC if kind in public.present):
            raise ProtocolViolation("The survey asks about other classes than this client's policy has.")

    def _randomize(self, survey: DegreeSurvey, coins: Coins, present: Bits | None) -> DegreeReport:
        counts = class_counts(self._view, self._public, survey.classes)
        answered = np.ones(self._view.count, np.bool_) if present is None else present
        values = np.empty_like(counts)
        for row, kind in enumerate(survey.classes):
            values[row] = randomize(counts[row], survey.mechanism(kind), coins)
        return degree_report(survey.identity, self._view.start, answered, values)


def randomize(counts: Ints, mechanism: DiscreteLaplace, coins: Coins) -> Ints:
    """Each number plus noise, cut off where 64 bits end: a function of the exact sum.  [DEGREE.1]"""
    noise = mechanism.sample_many(counts.size, coins)
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
