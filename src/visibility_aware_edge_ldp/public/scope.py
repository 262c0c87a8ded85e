"""A scope: the public set of positions that a survey asks about and counts in.  [SCOPE.1-4]

Positions outside are never asked and lose nothing; every statistic is that of the graph inside. A scope is decided by
public knowledge alone, is the same for both ends of a position, and never takes a bit for every position: it keeps some
numbers for each node.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.public.policy.node_rules import ByTable
from visibility_aware_edge_ldp.public.policy.rules import (
    BoundRule,
    Classes,
    Ends,
    Names,
    Rule,
    SameClass,
)
from visibility_aware_edge_ldp.public.visibility import Visibility

Bits = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
# With more groups of nodes their tables take more work than the counting that they save.
MOST_GROUPS = 256
Grouped = tuple[Ints, Bits]


class Scope(ABC):
    """A set of positions of one roster, whose nodes are numbered in the roster's order."""

    @abstractmethod
    def holds(self, u: Ends, v: Ends, classes: Classes) -> Bits:
        """Which of the positions {u, v}, of these classes by the policy, lie inside."""

    def grouped(self, policy: ByTable) -> Grouped | None:
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

    def holds(self, u: Ends, v: Ends, classes: Classes) -> Bits:
        inside = np.zeros(u.shape, np.bool_)
        for word in self.marks.T:
            inside |= (word[u] & word[v]) != 0
        return inside

    def grouped(self, policy: ByTable) -> Grouped | None:
        rows, groups = np.unique(self.marks, axis=0, return_inverse=True)
        if len(rows) > MOST_GROUPS:
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

    def holds(self, u: Ends, v: Ends, classes: Classes) -> Bits:
        same: Bits = (self.values[u] == self.values[v]) & (self.values[u] >= 0)
        return same

    def grouped(self, policy: ByTable) -> Grouped | None:
        found, groups = np.unique(self.values, return_inverse=True)
        return None if found.size > MOST_GROUPS else (groups, np.diag(found >= 0))

    def describe(self) -> dict[str, Any]:
        return {"kind": "same value", "attribute": self.attribute, "values": _digest(self.values.astype("<i8"))}

    def __str__(self) -> str:
        return f"both ends have the same {self.attribute}"


@dataclass(frozen=True, eq=False)
class NamedPositions(Scope):
    """Positions that a public file names; ``codes`` are n·u + v for u < v, sorted."""

    nodes: int
    codes: Ints = field(repr=False)

    def holds(self, u: Ends, v: Ends, classes: Classes) -> Bits:
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

    def holds(self, u: Ends, v: Ends, classes: Classes) -> Bits:
        public: Bits = classes == Visibility.PUBLIC
        return public

    def grouped(self, policy: ByTable) -> Grouped | None:
        return policy.kinds, policy.table == Visibility.PUBLIC

    def describe(self) -> dict[str, Any]:
        return {"kind": "public"}

    def __str__(self) -> str:
        return "the position is public"


@dataclass(frozen=True)
class Either(Scope):
    """The position lies in at least one of these scopes."""

    parts: tuple[Scope, ...]

    def holds(self, u: Ends, v: Ends, classes: Classes) -> Bits:
        return reduce(np.logical_or, (part.holds(u, v, classes) for part in self.parts))

    def grouped(self, policy: ByTable) -> Grouped | None:
        return _joined([part.grouped(policy) for part in self.parts], np.logical_or)

    def describe(self) -> dict[str, Any]:
        return {"kind": "either", "parts": [part.describe() for part in self.parts]}

    def __str__(self) -> str:
        return " or ".join(f"({part})" if isinstance(part, Both) else str(part) for part in self.parts)


@dataclass(frozen=True)
class Both(Scope):
    """The position lies in every one of these scopes."""

    parts: tuple[Scope, ...]

    def holds(self, u: Ends, v: Ends, classes: Classes) -> Bits:
        return reduce(np.logical_and, (part.holds(u, v, classes) for part in self.parts))

    def grouped(self, policy: ByTable) -> Grouped | None:
        return _joined([part.grouped(policy) for part in self.parts], np.logical_and)

    def describe(self) -> dict[str, Any]:
        return {"kind": "both", "parts": [part.describe() for part in self.parts]}

    def __str__(self) -> str:
        return " and ".join(f"({part})" if isinstance(part, Either) else str(part) for part in self.parts)


@dataclass(frozen=True)
class Outside(Scope):
    """The position lies outside a scope."""

    scope: Scope

    def holds(self, u: Ends, v: Ends, classes: Classes) -> Bits:
        return ~self.scope.holds(u, v, classes)

    def grouped(self, policy: ByTable) -> Grouped | None:
        found = self.scope.grouped(policy)
        return None if found is None else (found[0], ~found[1])

    def describe(self) -> dict[str, Any]:
        return {"kind": "outside", "scope": self.scope.describe()}

    def __str__(self) -> str:
        return f"it is not so that {self.scope}"


@dataclass(frozen=True)
class InsideRule:
    """A policy's rule inside a scope: outside, nothing is asked, nothing is counted, and there is nothing to protect.

    Positions outside get the class PUBLIC and hold no edge of the graph inside.  [SCOPE.1]
    """

    rule: Rule
    scope: Scope

    def bind(self, names: Names) -> BoundInside:
        return BoundInside(self.rule.bind(names), self.scope, isinstance(self.rule, SameClass))

    def present(self, names: Names) -> frozenset[Visibility]:
        return self.rule.present(names) | {Visibility.PUBLIC}

    def describe(self) -> dict[str, Any]:
        return {"kind": "inside", "rule": self.rule.describe(), "scope": self.scope.describe()}


@dataclass(frozen=True)
class BoundInside:
    """A rule inside a scope on a roster."""

    rule: BoundRule
    scope: Scope
    is_constant: bool = False

    def __call__(self, u: Ends, v: Ends) -> Classes:
        classes = self.rule(u, v)
        return np.where(self.scope.holds(u, v, classes), classes, np.uint8(Visibility.PUBLIC))

    def holds(self, u: Ends, v: Ends) -> Bits:
        """Which of the positions {u, v} lie inside."""
        return self.scope.holds(u, v, self.rule(u, v))

    def by_groups(self, policy: ByTable) -> ByTable | None:
        """Groups of nodes and the class between each two of them; ``policy`` are those of the rule without a scope."""
        found = self.scope.grouped(policy)
        pairs = _joined([found, (policy.kinds, np.ones(policy.table.shape, np.bool_))], np.logical_and)
        if pairs is None:
            return None
        groups, inside = pairs
        kinds = np.zeros(len(inside), np.int64)
        kinds[groups] = policy.kinds
        return ByTable(groups, np.where(inside, policy.table[np.ix_(kinds, kinds)], np.uint8(Visibility.PUBLIC)))


def inside_rule(rule: Rule, scope: Scope) -> InsideRule:
    """The rule inside a scope; a rule that has one already keeps to both."""
    return InsideRule(rule.rule, rule.scope & scope) if isinstance(rule, InsideRule) else InsideRule(rule, scope)


def _joined(parts: list[Grouped | None], join: Callable[[Bits, Bits], Bits]) -> Grouped | None:
    """Groups that tell apart what any of the parts does, and their tables joined."""
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    rows, groups = np.unique(np.stack([part[0] for part in known], axis=1), axis=0, return_inverse=True)
    if len(rows) > MOST_GROUPS:
        return None
    tables = (table[np.ix_(column, column)] for column, (_, table) in zip(rows.T, known, strict=True))
    return groups.ravel(), reduce(join, tables)


def _digest(array: npt.NDArray[Any]) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
