"""A scope: the public set of positions that a survey asks about and counts in.  [SCOPE.1-4]

Positions outside are never asked and lose nothing; every statistic is that of the graph inside. A scope is decided by
public knowledge alone, is the same for both ends of a position, and never takes a bit for every position: it keeps some
numbers for each node.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.errors import BadPolicy
from visibility_aware_edge_ldp.privacy import Number, parse_share
from visibility_aware_edge_ldp.public import rules
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.public.view import PublicView

Bits = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
_WORD = 64
GRAMMAR = "lists, public, group:ATTRIBUTE, group:ATTRIBUTE,missing=VALUE, file:PATH, or several joined by | and &"


class Scope(ABC):
    """A set of positions of one roster, whose nodes are numbered in the roster's order."""

    @abstractmethod
    def holds(self, u: rules.Ends, v: rules.Ends, classes: rules.Classes) -> Bits:
        """Which of the positions {u, v}, of these classes by the policy, lie inside."""

    def grouped(self, policy: rules.ByTable) -> rules.Grouped | None:
        """Groups of nodes, and a table of the groups between which positions lie inside; None if there are too many.

        ``policy`` are the kinds of nodes that decide the policy's classes.
        """
        return None

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """All that decides who is inside, as canonical JSON values, for the digest of a policy."""

    @abstractmethod
    def __str__(self) -> str: ...

    def __or__(self, other: Scope) -> Scope:
        return Either((self, other))

    def __and__(self, other: Scope) -> Scope:
        return Both((self, other))


@dataclass(frozen=True, eq=False)
class SharedList(Scope):
    """Both ends stand in one public friend list; whose list it is stands in it too.

    ``marks`` has a row of 64-bit words for each node: bit k says that the node stands in list k.
    """

    marks: npt.NDArray[np.uint64] = field(repr=False)
    lists: int

    def holds(self, u: rules.Ends, v: rules.Ends, classes: rules.Classes) -> Bits:
        inside = np.zeros(u.shape, np.bool_)
        for word in self.marks.T:
            inside |= (word[u] & word[v]) != 0
        return inside

    def grouped(self, policy: rules.ByTable) -> rules.Grouped | None:
        rows, groups = np.unique(self.marks, axis=0, return_inverse=True)
        if len(rows) > rules.MOST_GROUPS:
            return None
        return groups.ravel(), np.asarray((rows[:, None] & rows[None]).any(axis=-1))

    def describe(self) -> dict[str, Any]:
        return {"kind": "lists", "lists": self.lists, "members": _digest(self.marks.astype("<u8"))}

    def __str__(self) -> str:
        return f"both ends stand in one of {self.lists:,} public friend lists"


@dataclass(frozen=True, eq=False)
class SameValue(Scope):
    """Both ends have the same value of a public attribute; ``values`` has its number for each node, −1 for none."""

    attribute: str
    values: Ints = field(repr=False)

    def holds(self, u: rules.Ends, v: rules.Ends, classes: rules.Classes) -> Bits:
        same: Bits = (self.values[u] == self.values[v]) & (self.values[u] >= 0)
        return same

    def grouped(self, policy: rules.ByTable) -> rules.Grouped | None:
        found, groups = np.unique(self.values, return_inverse=True)
        return None if found.size > rules.MOST_GROUPS else (groups, np.diag(found >= 0))

    def describe(self) -> dict[str, Any]:
        return {"kind": "same value", "attribute": self.attribute, "values": _digest(self.values.astype("<i8"))}

    def __str__(self) -> str:
        return f"both ends have the same {self.attribute}"


class Consenting(SameValue):
    """Both ends consented; ``attribute`` is the digest of the list of those who did.  [CONSENT.1]"""

    @classmethod
    def of(cls, nodes: int, people: Iterable[int], digest: str) -> Consenting:
        values = np.full(nodes, -1, np.int64)
        values[np.fromiter(people, np.int64)] = 0
        return cls(digest, values)

    def describe(self) -> dict[str, Any]:
        return {"kind": "consenting", "list": self.attribute}

    def __str__(self) -> str:
        return f"both ends consented ({self.people:,} of {self.values.size:,} people did)"

    @property
    def people(self) -> int:
        """How many consented."""
        return int((self.values >= 0).sum())


def consenting_in(scope: Scope | None) -> Consenting | None:
    """The consents that a scope keeps to, if it keeps to any."""
    parts = scope.parts if isinstance(scope, Both) else (scope,)
    return next((part for part in parts if isinstance(part, Consenting)), None)


@dataclass(frozen=True, eq=False)
class NamedPositions(Scope):
    """Positions that a public file names; ``codes`` are n·u + v for u < v, sorted."""

    nodes: int
    codes: Ints = field(repr=False)

    def holds(self, u: rules.Ends, v: rules.Ends, classes: rules.Classes) -> Bits:
        if not self.codes.size:
            return np.zeros(u.shape, np.bool_)
        wanted = np.minimum(u, v) * self.nodes + np.maximum(u, v)
        found: Bits = self.codes[np.minimum(np.searchsorted(self.codes, wanted), self.codes.size - 1)] == wanted
        return found

    def describe(self) -> dict[str, Any]:
        return {"kind": "named", "positions": _digest(self.codes.astype("<i8"))}

    def __str__(self) -> str:
        return f"one of {self.codes.size:,} named positions"


@dataclass(frozen=True)
class PublicPositions(Scope):
    """The policy makes the position PUBLIC."""

    def holds(self, u: rules.Ends, v: rules.Ends, classes: rules.Classes) -> Bits:
        public: Bits = classes == Visibility.PUBLIC
        return public

    def grouped(self, policy: rules.ByTable) -> rules.Grouped | None:
        return policy.kinds, policy.table == Visibility.PUBLIC

    def describe(self) -> dict[str, Any]:
        return {"kind": "public"}

    def __str__(self) -> str:
        return "the position is public"


@dataclass(frozen=True)
class Either(Scope):
    """The position lies in at least one of these scopes."""

    parts: tuple[Scope, ...]

    def holds(self, u: rules.Ends, v: rules.Ends, classes: rules.Classes) -> Bits:
        return reduce(np.logical_or, (part.holds(u, v, classes) for part in self.parts))

    def grouped(self, policy: rules.ByTable) -> rules.Grouped | None:
        return rules.joined_groups([part.grouped(policy) for part in self.parts], np.logical_or)

    def describe(self) -> dict[str, Any]:
        return {"kind": "either", "parts": [part.describe() for part in self.parts]}

    def __str__(self) -> str:
        return " or ".join(f"({part})" if isinstance(part, Both) else str(part) for part in self.parts)


@dataclass(frozen=True)
class Both(Scope):
    """The position lies in every one of these scopes."""

    parts: tuple[Scope, ...]

    def holds(self, u: rules.Ends, v: rules.Ends, classes: rules.Classes) -> Bits:
        return reduce(np.logical_and, (part.holds(u, v, classes) for part in self.parts))

    def grouped(self, policy: rules.ByTable) -> rules.Grouped | None:
        return rules.joined_groups([part.grouped(policy) for part in self.parts], np.logical_and)

    def describe(self) -> dict[str, Any]:
        return {"kind": "both", "parts": [part.describe() for part in self.parts]}

    def __str__(self) -> str:
        return " and ".join(f"({part})" if isinstance(part, Either) else str(part) for part in self.parts)


@dataclass(frozen=True)
class Outside(Scope):
    """The position lies outside a scope."""

    scope: Scope

    def holds(self, u: rules.Ends, v: rules.Ends, classes: rules.Classes) -> Bits:
        return ~self.scope.holds(u, v, classes)

    def grouped(self, policy: rules.ByTable) -> rules.Grouped | None:
        found = self.scope.grouped(policy)
        return None if found is None else (found[0], ~found[1])

    def describe(self) -> dict[str, Any]:
        return {"kind": "outside", "scope": self.scope.describe()}

    def __str__(self) -> str:
        return f"it is not so that {self.scope}"


def list_scope(view: PublicView) -> Scope:
    """From what everybody knows to the scope of its public friend lists: both ends in one list, or public.

    A friend list is public where every position of its owner is PUBLIC.
    """
    found = public_lists(view)
    if not found.lists:
        raise BadPolicy(
            "The scope 'lists' needs public friend lists, and this policy makes none; use one that does, such as "
            "profiles:0.1, or the scope group:ATTRIBUTE."
        )
    return found | PublicPositions()


def public_lists(view: PublicView) -> SharedList:
    """From what everybody knows to who stands in which public friend list; there may be none."""
    public = ~np.asarray(view.users_with(NON_PUBLIC).any(axis=0))
    ends = np.concatenate([view.edges, view.edges[:, ::-1]]).astype(np.int64)
    ends = ends[public[ends[:, 0]]]
    owners, lists = np.unique(ends[:, 0], return_inverse=True)
    marks = np.zeros((view.n, -(-owners.size // _WORD)), np.uint64)
    for nodes, held in ((ends[:, 1], lists.ravel()), (owners, np.arange(owners.size))):
        bits = np.uint64(1) << (held % _WORD).astype(np.uint64)
        np.bitwise_or.at(marks, (nodes, held // _WORD), bits)
    return SharedList(marks, int(owners.size))


def group_scope(names: rules.Names, attribute: str, values: Mapping[Hashable, Hashable]) -> Scope:
    """From a public attribute of each node to the scope of equal values; nodes without a value are outside."""
    rules.refuse_strangers(values, names)
    given = [values.get(name) for name in names]
    place = {value: i for i, value in enumerate(dict.fromkeys(each for each in given if each is not None))}
    if not place:
        raise BadPolicy(f"No node has a value of {attribute!r}, which the scope goes by; check its spelling.")
    return SameValue(attribute, np.array([place.get(each, -1) for each in given], np.int64))


def named_scope(names: rules.Names, pairs: Iterable[tuple[Hashable, Hashable]]) -> Scope:
    """From public pairs of names to the scope of these positions, edges or not."""
    listed, place, n = list(pairs), {name: i for i, name in enumerate(names)}, len(names)
    rules.refuse_strangers({end: 0 for pair in listed for end in pair}, names)
    ends = np.array([[place[a], place[b]] for a, b in listed], np.int64).reshape(-1, 2)
    ends = ends[ends[:, 0] != ends[:, 1]]
    return NamedPositions(n, np.unique(ends.min(axis=1, initial=n) * n + ends.max(axis=1, initial=0)))


def drawn_consents(names: rules.Names, share: Number) -> Scope:
    """From a share to the scope of those who would consent, were they drawn by a hash of their names: for plans."""
    part = parse_share(share, "the share of people who consent")
    least = np.uint64(min(int(part * 2**64), 2**64 - 1))
    return Consenting.of(
        len(names), np.flatnonzero(rules.mixed(rules.node_keys(names, "consent")) <= least), f"drawn: {part}"
    )


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


def _digest(array: npt.NDArray[Any]) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
