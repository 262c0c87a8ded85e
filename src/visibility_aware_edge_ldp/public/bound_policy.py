"""A policy on a roster: the class of any position, and a rule inside a scope.  [SCOPE.1]"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.public import rules
from visibility_aware_edge_ldp.public.positions import endpoints, row_start
from visibility_aware_edge_ldp.public.visibility import Visibility

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.public.scope import Scope

Bits = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class InsideRule:
    """A policy's rule inside a scope: outside, nothing is asked, nothing is counted, and there is nothing to protect.

    Positions outside get the class PUBLIC and hold no edge of the graph inside.  [SCOPE.1]
    """

    rule: rules.Rule
    scope: Scope

    def bind(self, names: rules.Names) -> BoundInside:
        return BoundInside(self.rule.bind(names), self.scope, isinstance(self.rule, rules.SameClass))

    def present(self, names: rules.Names) -> frozenset[Visibility]:
        return self.rule.present(names) | {Visibility.PUBLIC}

    def describe(self) -> dict[str, Any]:
        return {"kind": "inside", "rule": self.rule.describe(), "scope": self.scope.describe()}


@dataclass(frozen=True)
class BoundInside:
    """A rule inside a scope on a roster."""

    rule: rules.BoundRule
    scope: Scope
    is_constant: bool = False

    def __call__(self, u: rules.Ends, v: rules.Ends) -> rules.Classes:
        classes = self.rule(u, v)
        return np.where(self.scope.holds(u, v, classes), classes, np.uint8(Visibility.PUBLIC))

    def holds(self, u: rules.Ends, v: rules.Ends) -> Bits:
        """Which of the positions {u, v} lie inside."""
        return self.scope.holds(u, v, self.rule(u, v))

    def by_groups(self, unscoped: rules.ByTable) -> rules.ByTable | None:
        """Groups of nodes and the class between each two of them, from those that the rule has without the scope."""
        found = self.scope.grouped(unscoped)
        pairs = rules.joined_groups([found, (unscoped.kinds, np.ones(unscoped.table.shape, np.bool_))], np.logical_and)
        if pairs is None:
            return None
        groups, inside = pairs
        kinds = np.zeros(len(inside), np.int64)
        kinds[groups] = unscoped.kinds
        return rules.ByTable(
            groups, np.where(inside, unscoped.table[np.ix_(kinds, kinds)], np.uint8(Visibility.PUBLIC))
        )


def inside_rule(rule: rules.Rule, scope: Scope) -> InsideRule:
    """The rule inside a scope; a rule that has one already keeps to both."""
    return InsideRule(rule.rule, rule.scope & scope) if isinstance(rule, InsideRule) else InsideRule(rule, scope)


def between_rule(rule: rules.Rule, people: int) -> rules.Rule:
    """The rule for so many people, and places after them, inside the same scope; one that has places already stays."""
    if isinstance(rule, InsideRule):
        return InsideRule(between_rule(rule.rule, people), rule.scope)
    return rule if isinstance(rule, rules.PeopleAndPlaces) else rules.PeopleAndPlaces(rule, people)


@dataclass(frozen=True)
class BoundPolicy:
    """A policy on a roster of n nodes: classes for any positions, computed when asked."""

    n: int
    rule: rules.BoundRule
    is_constant: bool = False
    present: frozenset[Visibility] = frozenset(Visibility)
    """The classes that positions may have."""

    def of(self, u: npt.ArrayLike, v: npt.ArrayLike) -> rules.Classes:
        """The classes of the positions (u, v)."""
        return self.rule(np.atleast_1d(np.asarray(u, dtype=np.int64)), np.atleast_1d(np.asarray(v, dtype=np.int64)))

    def inside(self, u: npt.ArrayLike, v: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Which of the positions (u, v) lie in the policy's scope; all of them where it has none."""
        ends = (np.atleast_1d(np.asarray(end, dtype=np.int64)) for end in (u, v))
        if isinstance(self.rule, BoundInside):
            return self.rule.holds(*ends)
        return np.ones(next(ends).shape, np.bool_)

    def range(self, start: int, count: int) -> rules.Classes:
        """The classes of the positions numbered start … start + count − 1."""
        if self.is_constant and self.n > 1:
            return np.full(count, self.of([0], [1])[0], dtype=np.uint8)
        if self._table is not None:
            return self._table.range(start, count)
        return self.rule(*endpoints(self.n, start, count))

    @property
    def _table(self) -> rules.ByTable | None:
        """Groups of nodes and the class between each two of them, where that is all there is to know."""
        return self.rule if isinstance(self.rule, rules.ByTable) else self.by_groups

    @cached_property
    def by_kinds(self) -> rules.ByTable | None:
        """The kinds of nodes that decide the classes, numbered without gaps; None where it takes more than kinds."""
        if self.is_constant and self.n > 1:
            return rules.ByTable(np.zeros(self.n, np.int64), self.of([0], [1])[:, None])
        if not isinstance(self.rule, rules.ByTable):
            return None
        present, kinds = np.unique(self.rule.kinds, return_inverse=True)
        return rules.ByTable(kinds, self.rule.table[np.ix_(present, present)])

    @cached_property
    def by_groups(self) -> rules.ByTable | None:
        """As ``by_kinds``, but also for a policy with a scope, whose groups are finer; None where they are too many."""
        if not isinstance(self.rule, BoundInside):
            return self.by_kinds
        inner = BoundPolicy(self.n, self.rule.rule, self.rule.is_constant).by_kinds
        return None if inner is None else self.rule.by_groups(inner)

    def rows(self, start: int, stop: int) -> rules.Classes:
        """(rows, n): the classes of the positions of these nodes with later ones; other entries mean nothing."""
        if self._table is not None:
            return self._table.rows(start, stop)
        classes = np.zeros((stop - start, self.n), np.uint8)
        first, last = row_start(self.n, start), row_start(self.n, stop)
        classes[np.arange(self.n) > np.arange(start, stop)[:, None]] = self.range(first, last - first)
        return classes
