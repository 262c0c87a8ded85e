"""Rules from what is public about nodes: profiles, types, attributes ("same department is public").  [POSITION.0-1]"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.errors import BadPolicy
from visibility_aware_edge_ldp.public.rules import (
    BoundRule,
    ByTable,
    Classes,
    Ends,
    MostOpen,
    Names,
    Rule,
    canonical,
    classes_in_table,
    mixed,
    node_keys,
    refuse_strangers,
)
from visibility_aware_edge_ldp.public.visibility import (
    DEFAULT_MULTIPLIERS,
    NON_PUBLIC,
    Multipliers,
    Visibility,
    parse_multiplier,
)

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
AGREED = "those who were chosen as hubs had agreed to publish their friend lists, and everybody knew the rule"
TABLES = {
    # rule -> class by how many of the two ends are public: none, one, both
    "both": ((PRIVATE, FRIEND_VISIBLE), (FRIEND_VISIBLE, PUBLIC)),
    "any": ((PRIVATE, PUBLIC), (PUBLIC, PUBLIC)),
}
Holds = Callable[[Ends, Ends, int], npt.NDArray[np.bool_]]
"""From the numbers of both ends' values, below 0 for none, and of the given one to where a rule holds."""
KINDS: dict[str, tuple[str, Holds]] = {
    "same": ("both ends have the same value of", lambda a, b, given: (a == b) & (a >= 0)),
    "both": ("both ends have the given value of", lambda a, b, given: (a == given) & (b == given)),
    "any": ("at least one end has the given value of", lambda a, b, given: (a == given) | (b == given)),
    "differ": ("the ends have different values of", lambda a, b, given: (a != b) & (a >= 0) & (b >= 0)),
}


@dataclass(frozen=True)
class OracleHubs:
    """The nodes of highest true degree are public. Uses private data: for simulations only."""

    fraction: Fraction
    rule: str

    def bind(self, names: Names) -> BoundRule:
        raise BadPolicy("Public hubs are chosen by true degree: make a VisibilityAwareGraph with this policy first.")

    def present(self, names: Names) -> frozenset[Visibility]:
        return frozenset(cell for row in TABLES[self.rule] for cell in row)

    def describe(self) -> dict[str, Any]:
        return {"kind": "oracle hubs", "fraction": str(self.fraction), "rule": self.rule}

    def __str__(self) -> str:
        return f"the {float(self.fraction):.1%} of nodes with the highest true degree are public (rule {self.rule!r})"


def profile_rule(profiles: Mapping[Hashable, str | bool], rule: str) -> "NodeTypes":
    """Two kinds of nodes and the table of a rule; nodes that are not named are private."""
    types = {name: _is_public(name, word) for name, word in profiles.items()}
    return NodeTypes(types, profile_table(rule), f"{sum(types.values()):,} public profiles (rule {rule!r})")


def profile_table(rule: str) -> tuple[tuple[Visibility, Visibility], tuple[Visibility, Visibility]]:
    """The classes by how many of the two ends are public."""
    if rule not in TABLES:
        raise BadPolicy(f"{rule!r} is not a rule for profiles; use 'both' or 'any'.")
    return TABLES[rule]


def resolved(rule: Rule, names: Names, degrees: npt.NDArray[np.int64]) -> Rule:
    """The rule with an oracle's choice made; other rules stay as they are."""
    if isinstance(rule, MostOpen):
        return MostOpen(tuple(resolved(part, names, degrees) for part in rule.rules))
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


@dataclass(frozen=True)
class DrawnProfiles:
    """A fraction of all nodes, drawn by a hash under a public salt, has public profiles."""

    fraction: Fraction
    table: tuple[tuple[Visibility, Visibility], tuple[Visibility, Visibility]]
    salt: str

    def bind(self, names: Names) -> BoundRule:
        return ByTable(self.kinds_of(names), np.array(self.table, dtype=np.uint8))

    def kinds_of(self, names: Names) -> Ends:
        return (mixed(node_keys(names, self.salt)) < int(self.fraction * 2**64)).astype(np.int64)

    def present(self, names: Names) -> frozenset[Visibility]:
        return classes_in_table(self.table, self.kinds_of(names))

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

    def bind(self, names: Names) -> BoundRule:
        refuse_strangers(self.types, names)
        return ByTable(self.kinds_of(names), np.array(self.table, dtype=np.uint8))

    def kinds_of(self, names: Names) -> Ends:
        return np.fromiter((self.types.get(name, self.otherwise) for name in names), np.int64, len(names))

    def present(self, names: Names) -> frozenset[Visibility]:
        return classes_in_table(self.table, self.kinds_of(names))

    def describe(self) -> dict[str, Any]:
        return {
            "kind": "types",
            "types": dict(sorted((canonical(name), kind) for name, kind in self.types.items())),
            "table": [[str(cell) for cell in row] for row in self.table],
            "otherwise": self.otherwise,
        }

    def __str__(self) -> str:
        return self.words


@dataclass(frozen=True)
class AttributeRule:
    """One line of a policy: when ``kind`` holds for ``column`` (and ``value``), the class is ``visibility``.

    ``loss`` is what an edge of that class may lose, in units of epsilon; left out, it is the usual one.
    """

    kind: str
    column: str
    visibility: Visibility
    value: Hashable = None
    loss: Fraction | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise BadPolicy(f"{self.kind!r} is not a kind of rule; use one of {', '.join(KINDS)}.")
        if isinstance(self.value, (list, dict)):
            raise BadPolicy(f"A rule compares with one number or text; got {self.value!r}.")
        if self.loss is not None and self.visibility is Visibility.PUBLIC:
            raise BadPolicy("A PUBLIC position is not protected, so a rule that makes it has no loss to state.")

    def __str__(self) -> str:
        tail = f" = {self.value}" if self.kind in ("both", "any") else ""
        return f"{self.visibility} when {KINDS[self.kind][0]} {self.column}{tail}"


@dataclass(frozen=True)
class Attributes:
    """The first rule that holds decides; a missing value (None) never matches."""

    table: Mapping[Hashable, Mapping[str, Hashable]] = field(repr=False)
    rules: tuple[AttributeRule, ...]
    otherwise: Visibility = Visibility.PRIVATE

    def bind(self, names: Names) -> BoundRule:
        refuse_strangers(self.table, names)
        codes = {rule.column: self._codes(rule.column, names) for rule in self.rules}
        for rule in self.rules:
            self._refuse_unknown(rule, codes[rule.column][1])

        def classes(u: Ends, v: Ends) -> Classes:
            result = np.full(u.shape, self.otherwise, dtype=np.uint8)
            # Backwards, so that the first rule that holds has the last word.
            for rule in reversed(self.rules):
                numbered, place = codes[rule.column]
                holds = KINDS[rule.kind][1](numbered[u], numbered[v], place.get(rule.value, -2))
                result[holds] = rule.visibility
            return result

        return classes

    def present(self, names: Names) -> frozenset[Visibility]:
        return frozenset({self.otherwise, *(rule.visibility for rule in self.rules)})

    def _codes(self, column: str, names: Names) -> tuple[npt.NDArray[np.int64], dict[Hashable, int]]:
        values = [self.table.get(name, {}).get(column) for name in names]
        if all(value is None for value in values):
            raise BadPolicy(f"No node has a value in the column {column!r} that a rule of the policy uses.")
        place = {value: i for i, value in enumerate(dict.fromkeys(v for v in values if v is not None))}
        return np.array([place.get(value, -1) for value in values], dtype=np.int64), place

    def _refuse_unknown(self, rule: AttributeRule, place: Mapping[Hashable, int]) -> None:
        """A text that no node has is a misspelt one, far more often than not."""
        if rule.kind in ("both", "any") and isinstance(rule.value, str) and rule.value not in place:
            some = ", ".join(map(repr, list(place)[:5]))
            raise BadPolicy(
                f"No node has {rule.value!r} in the column {rule.column!r}, which has {some}; check the spelling."
            )

    def describe(self) -> dict[str, Any]:
        columns = sorted({rule.column for rule in self.rules})
        rows = {canonical(name): [canonical(row.get(column)) for column in columns] for name, row in self.table.items()}
        return {
            "kind": "attributes",
            "columns": columns,
            "rows": dict(sorted(rows.items())),
            "rules": [[rule.kind, rule.column, canonical(rule.value), str(rule.visibility)] for rule in self.rules],
            "otherwise": str(self.otherwise),
        }

    def __str__(self) -> str:
        return "; ".join(map(str, self.rules)) + f"; otherwise {self.otherwise}"


def parse_rules(lines: Sequence[AttributeRule | Mapping[str, Any]]) -> tuple[AttributeRule, ...]:
    """Rules from tables such as ``{"same": "department", "class": "public"}``."""
    if not lines:
        raise BadPolicy(
            "A policy over attributes needs at least one rule, such as {'same': 'school', 'class': 'public'}."
        )
    return tuple(line if isinstance(line, AttributeRule) else _parse(line) for line in lines)


def _parse(line: Mapping[str, Any]) -> AttributeRule:
    kinds = [kind for kind in KINDS if kind in line]
    if len(kinds) != 1 or "class" not in line:
        raise BadPolicy(f"The rule {dict(line)!r} needs one of {', '.join(KINDS)} and a class.")
    unknown = line.keys() - {kinds[0], "class", "value", "loss"}
    if unknown:
        raise BadPolicy(
            f"The rule {dict(line)!r} has {min(map(str, unknown))!r}, which no rule knows; check its spelling."
        )
    loss = parse_multiplier(line["loss"], "The loss of a rule") if "loss" in line else None
    return AttributeRule(kinds[0], str(line[kinds[0]]), Visibility.of(line["class"]), line.get("value"), loss)


def stated_losses(attributes: Attributes) -> Multipliers:
    """How well each class is guarded, as the rules state it. A class has one loss, the usual one if none is stated."""
    lines = [*((rule.visibility, rule.loss) for rule in attributes.rules), (attributes.otherwise, None)]
    given = {kind: {_or_usual(loss, kind) for other, loss in lines if other is kind} for kind in NON_PUBLIC}
    for kind, losses in given.items():
        if len(losses) > 1:
            raise BadPolicy(
                f"The rules give {kind} positions the losses {' and '.join(map(str, sorted(losses)))} "
                f"(none stated means {DEFAULT_MULTIPLIERS.of(kind)}); there are two non-public classes, "
                "so state one loss for each."
            )
    return Multipliers(*(_or_usual(next(iter(given[kind]), None), kind) for kind in NON_PUBLIC))


def _or_usual(loss: Fraction | None, kind: Visibility) -> Fraction:
    return DEFAULT_MULTIPLIERS.of(kind) if loss is None else loss
