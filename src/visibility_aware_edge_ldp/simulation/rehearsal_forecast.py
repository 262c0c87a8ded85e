"""How long a rehearsal will take, by a trial: a few of its people take their turns before the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Announce = Callable[[float], None]
"""Hears once, early, how many seconds are left."""
# Of each process one person finds out how it goes, and some more are timed; with fewer people it is over soon anyway.
_TIMED, _SHARE = 6, 4
# A second round takes longer than a first one: what was heard of the first is fetched and checked.
_SECOND = 1.3


@dataclass(frozen=True)
class Trial:
    """Those who go first, ``first`` of all one of each process, and then those who are ``timed``."""

    first: list[int]
    timed: list[int]

    @classmethod
    def of(cls, present: Ints, processes: int) -> Trial:
        """From all over the roster, since whoever is listed early answers for more; nobody where few are there."""
        shares = [present[present % processes == place] for place in range(processes)]
        if min(share.size for share in shares) < _SHARE * (_TIMED + 1):
            return cls([], [])
        chosen = [share[np.linspace(0, share.size - 1, _TIMED + 1).astype(int)] for share in shares]
        middle = _TIMED // 2
        return cls(
            [int(people[middle]) for people in chosen],
            [int(person) for people in chosen for person in np.delete(people, middle)],
        )

    @property
    def people(self) -> list[int]:
        return [*self.first, *self.timed]


def seconds_left(enrolling: float, answering: float, people: int, answers: Sequence[float]) -> float:
    """With so many seconds a person, for those who are still to enrol, and to answer in each round."""
    later = sum(answers[1:]) * _SECOND
    return enrolling * people + answering * (answers[0] + later)
