"""Where scopes come from: public friend lists, a public attribute, named positions, and words for them.  [SCOPE.1]"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping

import numpy as np

from visibility_aware_edge_ldp.errors import BadPolicy
from visibility_aware_edge_ldp.public.policy.rules import Names, refuse_strangers
from visibility_aware_edge_ldp.public.scope import (
    Both,
    Either,
    NamedPositions,
    PublicPositions,
    SameValue,
    Scope,
    SharedList,
)
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC

GRAMMAR = "lists, public, group:ATTRIBUTE, group:ATTRIBUTE,missing=VALUE, file:PATH, or several joined by | and &"
_WORD = 64


def list_scope(view: PublicView) -> Scope:
    """From what everybody knows to the scope of its public friend lists: both ends in one list, or public.

    A friend list is public where every position of its owner is PUBLIC.
    """
    public = ~np.asarray(view.users_with(NON_PUBLIC).any(axis=0))
    ends = np.concatenate([view.edges, view.edges[:, ::-1]]).astype(np.int64)
    ends = ends[public[ends[:, 0]]]
    owners, lists = np.unique(ends[:, 0], return_inverse=True)
    if not owners.size:
        raise BadPolicy(
            "The scope 'lists' needs public friend lists, and this policy makes none; use one that does, such as "
            "profiles:0.1, or the scope group:ATTRIBUTE."
        )
    marks = np.zeros((view.n, -(-owners.size // _WORD)), np.uint64)
    for nodes, held in ((ends[:, 1], lists.ravel()), (owners, np.arange(owners.size))):
        bits = np.uint64(1) << (held % _WORD).astype(np.uint64)
        np.bitwise_or.at(marks, (nodes, held // _WORD), bits)
    return SharedList(marks, int(owners.size)) | PublicPositions()


def group_scope(names: Names, attribute: str, values: Mapping[Hashable, Hashable]) -> Scope:
    """From a public attribute of each node to the scope of equal values; nodes without a value are outside."""
    refuse_strangers(values, names)
    given = [values.get(name) for name in names]
    place = {value: i for i, value in enumerate(dict.fromkeys(each for each in given if each is not None))}
    if not place:
        raise BadPolicy(f"No node has a value of {attribute!r}, which the scope goes by; check its spelling.")
    return SameValue(attribute, np.array([place.get(each, -1) for each in given], np.int64))


def named_scope(names: Names, pairs: Iterable[tuple[Hashable, Hashable]]) -> Scope:
    """From public pairs of names to the scope of these positions, edges or not."""
    listed, place, n = list(pairs), {name: i for i, name in enumerate(names)}, len(names)
    refuse_strangers({end: 0 for pair in listed for end in pair}, names)
    ends = np.array([[place[a], place[b]] for a, b in listed], np.int64).reshape(-1, 2)
    ends = ends[ends[:, 0] != ends[:, 1]]
    return NamedPositions(n, np.unique(ends.min(axis=1, initial=n) * n + ends.max(axis=1, initial=0)))


def parse_scope(text: str, makers: Mapping[str, Callable[[str], Scope]]) -> Scope:
    """From words such as ``lists | group:year`` to a scope; & binds before |.

    ``makers`` has for each kind of scope a function from what stands behind its colon.
    """
    alternatives = [[_atom(word, text, makers) for word in part.split("&")] for part in text.split("|")]
    parts = [Both(tuple(each)) if len(each) > 1 else each[0] for each in alternatives]
    return Either(tuple(parts)) if len(parts) > 1 else parts[0]


def _atom(word: str, text: str, makers: Mapping[str, Callable[[str], Scope]]) -> Scope:
    kind, colon, rest = word.strip().partition(":")
    needs_more = kind in ("group", "file")
    if kind not in makers or bool(colon and rest) != needs_more:
        raise BadPolicy(f"{word.strip()!r} in the scope {text!r} is not known; use {GRAMMAR}.")
    return makers[kind](rest)
