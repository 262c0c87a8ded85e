"""Public and private profiles: rules that make a public node's positions more open."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.errors import BadPolicy
from visibility_aware_edge_ldp.public.rules import BoundRule, MostOpen, Names, NodeTypes, Rule
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

    def bind(self, names: Names) -> BoundRule:
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
