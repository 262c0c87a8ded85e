"""A user's second numbers, worked out once for all cases that are the same to it.  [WALK.8]

Under two policies and transcripts a user may see the same; then the numbers of the first are recalled for the second.
What is the same to a client is an assumption, so of whatever is recalled some is worked out again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cache, lru_cache
from itertools import permutations
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from visibility_aware_edge_ldp.client.user_triangles import FirstRound
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.evaluation.audit.row_stage import Friends, Stage
from visibility_aware_edge_ldp.evaluation.audit.small_worlds import places_of
from visibility_aware_edge_ldp.public.transcript import pair_rate, response_rate
from visibility_aware_edge_ldp.public.visibility import Visibility

Numbers = TypeVar("Numbers")
Heard = tuple[int, ...]
"""For each position what everybody knows of it: nothing, a public edge, or the answer and the class that gave it."""
Labels = tuple[tuple[int, ...], ...]
"""For each position what a user's numbers may depend on."""
NOTHING, EDGE = 0, 1
Second = Callable[[Stage, int, Friends, FirstRound], Numbers]


class Case(NamedTuple):
    """All that a user's numbers may depend on but its list."""

    known: Hashable
    user: int
    labels: Labels


class Recall(Generic[Numbers]):
    """The same function of what a user sees, worked out as seldom as that allows.

    Parameters
    ----------
    second
        The client's second numbers, for a stage, a user, its list and the first round.
    same
        Whether two of them are the same up to the rounding of doubles, which depends on the order of summands.
    anew
        Works a recalled case out again, if that can be done faster.
    every
        So many-th recalled cases are worked out again; and of every kind of case the first that is recalled because
        nothing in it differs for the user, and the first because names alone do.
    """

    def __init__(
        self,
        second: Second[Numbers],
        same: Callable[[Numbers, Numbers], bool],
        anew: Second[Numbers] | None = None,
        every: int = 1000,
    ) -> None:
        self._second, self._same, self._anew, self._every = second, same, anew or second, every
        self._by_case: dict[tuple[Case, Friends], Case] = {}
        self._by_sight: dict[Case, Numbers] = {}
        self._largest: dict[Hashable, float] = {}
        self._case = lru_cache(maxsize=1)(self._case_of)
        self._checked: set[tuple[Case, bool]] = set()
        self.recalls = self.checks = 0

    def __call__(self, stage: Stage, user: int, friends: Friends, first: FirstRound) -> Numbers:
        """The numbers of this case.

        Raises
        ------
        ProtocolViolation
            When a case that is worked out again has other numbers: the client looks at more than is believed.
        """
        case = self._case(stage, user, first)
        known = (case, friends) in self._by_case
        if not known:
            self._by_case[case, friends] = case._replace(labels=_least_names(stage, case, friends))
        sight = self._by_case[case, friends]
        if sight not in self._by_sight:
            self._by_sight[sight] = self._second(stage, user, friends, first)
        elif self._is_to_be_checked(sight, known):
            self._check(self._by_sight[sight], self._anew(stage, user, friends, first))
        return self._by_sight[sight]

    @property
    def worked_out(self) -> int:
        """How many cases differ by more than names."""
        return len(self._by_sight)

    def _is_to_be_checked(self, sight: Case, known: bool) -> bool:
        """The first recall of each kind, and some of the others; ``known`` says that not even names differ."""
        self.recalls += 1
        first = (sight, known) not in self._checked
        self._checked.add((sight, known))
        return first or self.recalls % self._every == 0

    def _check(self, recalled: Numbers, anew: Numbers) -> None:
        self.checks += 1
        if not self._same(recalled, anew):
            raise ProtocolViolation("A client makes other numbers of what the audit believes to be the same to it.")

    def _case_of(self, stage: Stage, user: int, first: FirstRound) -> Case:
        heard, users = _heard(stage, first)
        rates = (rate(len(stage.asked), users) for rate in (response_rate, pair_rate))
        known = (stage.n, stage.split, stage.guard, *rates)
        if not _of_triangles(stage):
            return Case(known, user, _labels(stage, user, heard))
        # The largest score of all is the only thing that a sum over triangles takes from the other rows.
        alike = (known, frozenset(heard))
        if alike not in self._largest:
            self._largest[alike] = first.largest
        return Case((known, self._largest[alike]), user, _labels(stage, user, heard))


def _of_triangles(stage: Stage) -> bool:
    return stage.split.statistic == "triangles"


def _labels(stage: Stage, user: int, heard: Heard) -> Labels:
    """The classes of the own row; and what was heard, of triangles from later users alone."""
    found = zip(stage.positions, stage.pattern, heard, strict=True)
    everything = not _of_triangles(stage)
    return tuple(
        ((int(kind),) if u == user else ()) + ((said,) if everything or u > user else ())
        for (u, _), kind, said in found
    )


def _least_names(stage: Stage, case: Case, friends: Friends) -> Labels:
    """The labels with the list, under the least of the names that the later users might have as well."""
    listed = tuple(
        (*label, int(x in friends)) if u == case.user else label
        for (u, x), label in zip(stage.positions, case.labels, strict=True)
    )
    return min(tuple(listed[place] for place in order) for order in _orders(stage.n, case.user, _of_triangles(stage)))


@cache
def _orders(n: int, user: int, any_later: bool) -> list[tuple[int, ...]]:
    """Where positions go when later users change names: all of them, or the last two."""
    free = n - 1 - user if any_later else min(2, n - 1 - user)
    return [places_of((*range(n - free), *names)) for names in permutations(range(n - free, n))]


@lru_cache(maxsize=4096)
def _heard(stage: Stage, first: FirstRound) -> tuple[Heard, int]:
    """What everybody knows of each position, and how many users were heard."""
    answered, ones = (
        np.unpackbits(octets, bitorder="little", count=len(stage.pattern)).tolist()
        for octets in (first.transcript.answered, first.transcript.ones)
    )
    edge = EDGE if stage.public_bit else NOTHING
    heard = tuple(
        edge if kind is Visibility.PUBLIC else 2 * int(kind) + one if here else NOTHING
        for kind, here, one in zip(stage.pattern, answered, ones, strict=True)
    )
    return heard, len({u for (u, _), here in zip(stage.positions, answered, strict=True) if here})
