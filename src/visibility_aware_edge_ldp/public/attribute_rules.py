"""Rules over public attributes: "same department is public", "both open is public".  [POSITION.0-1]"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.errors import BadPolicy
from visibility_aware_edge_ldp.public.rules import BoundRule, Classes, Ends, Names, canonical, refuse_strangers
from visibility_aware_edge_ldp.public.visibility import (
    DEFAULT_MULTIPLIERS,
    NON_PUBLIC,
    Multipliers,
    Visibility,
    parse_multiplier,
)

Holds = Callable[[Ends, Ends, int], npt.NDArray[np.bool_]]
"""From the numbers of both ends' values, below 0 for none, and of the given one to where a rule holds."""
KINDS: dict[str, tuple[str, Holds]] = {
    "same": ("both ends have the same value of", lambda a, b, given: (a == b) & (a >= 0)),
    "both": ("both ends have the given value of", lambda a, b, given: (a == given) & (b == given)),
    "any": ("at least one end has the given value of", lambda a, b, given: (a == given) | (b == given)),
    "differ": ("the ends have different values of", lambda a, b, given: (a != b) & (a >= 0) & (b >= 0)),
}


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
