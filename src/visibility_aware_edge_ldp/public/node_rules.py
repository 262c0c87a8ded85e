"""Public and private profiles: rules that make a public node's positions more open."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.errors import BadPolicy
from visibility_aware_edge_ldp.public import rules
from visibility_aware_edge_ldp.public.positions import row_of, row_start
from visibility_aware_edge_ldp.public.rules import Classes, Ends, Names
from visibility_aware_edge_ldp.public.visibility import Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
AGREED = "those who were chosen as hubs had agreed to publish their friend lists, and everybody knew the rule"
TABLES = {
    # rule -> class by how many of the two ends are public: none, one, both
    "both": ((PRIVATE, FRIEND_VISIBLE), (FRIEND_VISIBLE, PUBLIC)),
    "any": ((PRIVATE, PUBLIC), (PUBLIC, PUBLIC)),
}


@dataclass(frozen=True)
class OracleHubs:
    """The nodes of highest true degree are public. Uses private data: for simulations only."""

    fraction: Fraction
    rule: str

    def bind(self, names: Names) -> rules.BoundRule:
        raise BadPolicy("Public hubs are chosen by true degree: make a VisibilityAwareGraph with this policy first.")

    def present(self, names: Names) -> frozenset[Visibility]:
        return frozenset(cell for row in TABLES[self.rule] for cell in row)

    def describe(self) -> dict[str, Any]:
        return {"kind": "oracle hubs", "fraction": str(self.fraction), "rule": self.rule}

    def __str__(self) -> str:
        return f"the {float(self.fraction):.1%} of nodes with the highest true degree are public (rule {self.rule!r})"


def profile_rule(profiles: Mapping[Hashable, str | bool], rule: str) -> NodeTypes:
    """Two kinds of nodes and the table of a rule; nodes that are not named are private."""
    types = {name: _is_public(name, word) for name, word in profiles.items()}
    return NodeTypes(types, profile_table(rule), f"{sum(types.values()):,} public profiles (rule {rule!r})")


def profile_table(rule: str) -> tuple[tuple[Visibility, Visibility], tuple[Visibility, Visibility]]:
    """The classes by how many of the two ends are public."""
    if rule not in TABLES:
        raise BadPolicy(f"{rule!r} is not a rule for profiles; use 'both' or 'any'.")
    return TABLES[rule]


def resolved(rule: rules.Rule, names: Names, degrees: npt.NDArray[np.int64]) -> rules.Rule:
    """The rule with an oracle's choice made; other rules stay as they are."""
    if isinstance(rule, rules.MostOpen):
        return rules.MostOpen(tuple(resolved(part, names, degrees) for part in rule.rules))
    if not isinstance(rule, OracleHubs):
        return rule
    order = np.argsort(-degrees, kind="stable")[: round(rule.fraction * len(names))]
    return profile_rule({names[i]: "public" for i in order}, rule.rule)


def _is_public(name: Hashable, word: str | bool) -> int:
    if isinstance(word, (bool, np.bool_)):
        return int(word)
    if word not in ("public", "private"):
        raise BadPolicy(f"Node {name!r} has the profile {word!r}; it must be 'public' or 'private'.")
    return int(word == "public")


@dataclass(frozen=True, eq=False)
class ByTable:
    """A bound rule: the class of two kinds of node."""

    kinds: Ends = field(repr=False)
    table: Classes

    def __call__(self, u: Ends, v: Ends) -> Classes:
        return self.table.ravel().take(self.kinds.take(u) * len(self.table) + self.kinds.take(v))

    def rows(self, start: int, stop: int) -> Classes:
        """(rows, n): the classes of all positions of these nodes; what stands at a node itself means nothing."""
        return self._by_kind[self.kinds[start:stop]]

    def range(self, start: int, count: int) -> Classes:
        """The classes of the positions numbered start … start + count − 1: a slice of each row."""
        n, parts = self.kinds.size, [np.empty(0, np.uint8)]
        u = row_of(n, start) if count else 0
        v = u + 1 + start - row_start(n, u)
        while count > 0:
            parts.append(self._by_kind[self.kinds[u], v : v + min(count, n - v)])
            count -= n - v
            u, v = u + 1, u + 2
        return np.concatenate(parts)

    @cached_property
    def _by_kind(self) -> Classes:
        return np.ascontiguousarray(self.table[:, self.kinds])


def _in_table(table: Sequence[Sequence[Visibility]], kinds: Ends) -> frozenset[Visibility]:
    """The classes of pairs of different nodes with these types."""
    counts = np.bincount(kinds, minlength=len(table))
    pairs = ((a, b) for a in range(len(table)) for b in range(a + 1))
    return frozenset(table[a][b] for a, b in pairs if (counts[a] > 1 if a == b else counts[a] and counts[b]))


@dataclass(frozen=True)
class DrawnProfiles:
    """A fraction of all nodes, drawn by a hash under a public salt, has public profiles."""

    fraction: Fraction
    table: tuple[tuple[Visibility, Visibility], tuple[Visibility, Visibility]]
    salt: str

    def bind(self, names: Names) -> rules.BoundRule:
        return ByTable(self.kinds_of(names), np.array(self.table, dtype=np.uint8))

    def kinds_of(self, names: Names) -> Ends:
        return (rules._mix(rules._node_keys(names, self.salt)) < int(self.fraction * 2**64)).astype(np.int64)

    def present(self, names: Names) -> frozenset[Visibility]:
        return _in_table(self.table, self.kinds_of(names))

    def describe(self) -> dict[str, Any]:
        return {
            "kind": "drawn profiles",
            "fraction": str(self.fraction),
            "table": [[str(cell) for cell in row] for row in self.table],
            "salt": self.salt,
        }

    def __str__(self) -> str:
        one = self.table[0][1]
        what = "friend lists" if one is Visibility.PUBLIC else f"profiles (a position with one public end is {one})"
        share = f"{float(self.fraction):.1%} of the users"
        return f"{share} have public {what}, drawn by a hash under the public salt {self.salt!r}"


@dataclass(frozen=True)
class NodeTypes:
    """A type for each node and a class for each pair of types: two numbers a node, one table."""

    types: Mapping[Hashable, int] = field(repr=False)
    table: tuple[tuple[Visibility, ...], ...]
    words: str
    otherwise: int = 0

    def __post_init__(self) -> None:
        rows = self.table
        if any(len(row) != len(rows) for row in rows) or any(
            rows[a][b] != rows[b][a] for a in range(len(rows)) for b in range(a)
        ):
            raise BadPolicy("A table of classes must be square and symmetric: both ends must agree.")
        if any(not 0 <= kind < len(rows) for kind in {*self.types.values(), self.otherwise}):
            raise BadPolicy(f"Node types must be 0..{len(rows) - 1}, the rows of the table of classes.")

    def bind(self, names: Names) -> rules.BoundRule:
        rules.refuse_strangers(self.types, names)
        return ByTable(self.kinds_of(names), np.array(self.table, dtype=np.uint8))

    def kinds_of(self, names: Names) -> Ends:
        return np.fromiter((self.types.get(name, self.otherwise) for name in names), np.int64, len(names))

    def present(self, names: Names) -> frozenset[Visibility]:
        return _in_table(self.table, self.kinds_of(names))

    def describe(self) -> dict[str, Any]:
        return {
            "kind": "types",
            "types": dict(sorted((rules.canonical(name), kind) for name, kind in self.types.items())),
            "table": [[str(cell) for cell in row] for row in self.table],
            "otherwise": self.otherwise,
        }

    def __str__(self) -> str:
        return self.words
