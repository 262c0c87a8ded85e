"""Who has anything to hide: which users have positions of a class. Public knowledge, found without n² work."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.public.policy.node_rules import DrawnProfiles, NodeTypes
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility

Bits = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

# Users are tried against so many others, evenly spread; then those still in doubt against everybody.
PROBES = (4, 64)
# How many positions may be looked at for those still in doubt.
MOST_LOOKED_AT = 1 << 25
_BLOCK = 1 << 22


def users_with(view: PublicView, classes: Sequence[Visibility]) -> Bits:
    """(classes, n): which users have a position of each class.

    A user may be counted in though it has none, where finding out would take too long: noise is then left in, and
    every estimate stays as true as before.
    """
    wanted = tuple(classes)
    if wanted not in view.users_with:
        found = _found(view, wanted)
        found.setflags(write=False)  # everybody who asks is given the same array
        view.users_with[wanted] = found
    return view.users_with[wanted]


def _found(view: PublicView, classes: tuple[Visibility, ...]) -> Bits:
    rule = view.policy.rule
    if view.classes.is_constant or view.n < 2:
        there = np.array([view.n > 1 and kind in view.present for kind in classes], np.bool_)
        return np.repeat(there[:, None], view.n, axis=1)
    if isinstance(rule, (NodeTypes, DrawnProfiles)):
        return _by_types(rule.kinds_of(view.names), np.array(rule.table), classes)
    return _by_looking(view, classes)


def _by_types(kinds: Ints, table: npt.NDArray[np.int64], classes: Sequence[Visibility]) -> Bits:
    others = np.bincount(kinds, minlength=len(table)) - np.eye(len(table), dtype=np.int64)
    has = [((table == kind) & (others > 0)).any(axis=1)[kinds] for kind in classes]
    return np.array(has, np.bool_).reshape(len(classes), kinds.size)


def _by_looking(view: PublicView, classes: Sequence[Visibility]) -> Bits:
    found = np.zeros((len(classes), view.n), np.bool_)
    for probes in (*PROBES, view.n):
        doubtful = np.flatnonzero(~found.all(axis=0))
        if doubtful.size * probes > MOST_LOOKED_AT:
            found[:, doubtful] = True
            break
        others = np.unique(np.linspace(0, view.n - 1, min(probes, view.n)).astype(np.int64))
        step = max(1, _BLOCK // others.size)
        for start in range(0, doubtful.size, step):
            users = doubtful[start : start + step]
            found[:, users] |= _any_of(view, users, others, classes)
    return found


def _any_of(view: PublicView, users: Ints, others: Ints, classes: Sequence[Visibility]) -> Bits:
    """Which of these users have a position of each class with any of those others."""
    found = view.classes.of(np.repeat(users, others.size), np.tile(others, users.size))
    table, apart = found.reshape(users.size, others.size), users[:, None] != others
    return np.array([((table == kind) & apart).any(axis=1) for kind in classes])
