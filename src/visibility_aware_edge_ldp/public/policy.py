"""The visibility policy: which positions are public, decided from public metadata."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.errors import BadPolicy, BadPrivacyParameter
from visibility_aware_edge_ldp.privacy.parameters import Number, exact_share
from visibility_aware_edge_ldp.public.attribute_rules import AttributeRule, Attributes, parse_rules
from visibility_aware_edge_ldp.public.positions import endpoints
from visibility_aware_edge_ldp.public.rules import (
    BoundRule,
    Classes,
    DrawnProfiles,
    KeyedHash,
    ListedPositions,
    MostOpen,
    Names,
    NodeTypes,
    Rule,
    SameClass,
)
from visibility_aware_edge_ldp.public.visibility import Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
DEFAULT_SALT = "va-edge-ldp"
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


class VisibilityPolicy:
    """Which positions are public, friend-visible or private.

    The constructor takes fractions **of all positions**, whether or not an edge is there, and draws
    them by a hash under a public salt. See the class methods for other policies; ``a | b`` gives each
    position the more open of two classes.

    Parameters
    ----------
    public_fraction, friend_visible_fraction, private_fraction
        Must sum to 1. Leave ``private_fraction`` out to make everything else private.
    salt
        Public text that decides which positions are drawn.
    """

    rule: Rule
    assumptions: tuple[str, ...]

    def __init__(
        self,
        public_fraction: Number = 0,
        friend_visible_fraction: Number = 0,
        private_fraction: Number | None = None,
        *,
        salt: str = DEFAULT_SALT,
    ) -> None:
        if not isinstance(salt, str):
            raise BadPolicy(f"A salt is a text; got {salt!r}. Put it between quotes.")
        public = _share(public_fraction, "public_fraction")
        friends = _share(friend_visible_fraction, "friend_visible_fraction")
        private = 1 - public - friends if private_fraction is None else _share(private_fraction, "private_fraction")
        total = public + friends + private
        if private < 0 or abs(total - 1) > Fraction(1, 10**9):
            shown = float(total if private >= 0 else public + friends)
            raise BadPolicy(f"The fractions of a policy must sum to 1; these sum to {shown:g}. Change one of them.")
        # Fractions such as 0.331 + 0.669 are exact; thirds typed as decimals leave a billionth, given to PRIVATE.
        self._set(KeyedHash(public, min(friends, 1 - public), salt), ())

    def _set(self, rule: Rule, assumptions: tuple[str, ...]) -> VisibilityPolicy:
        self.rule, self.assumptions = rule, assumptions
        return self

    @classmethod
    def of(cls, rule: Rule, assumptions: tuple[str, ...] = ()) -> VisibilityPolicy:
        """A policy with this rule."""
        return cls.__new__(cls)._set(rule, assumptions)

    @classmethod
    def nothing(cls) -> VisibilityPolicy:
        """Nothing is public: uniform edge-LDP, the baseline."""
        return cls.of(SameClass(PRIVATE))

    @classmethod
    def from_profiles(
        cls, profiles: Mapping[Hashable, str | bool], rule: str = "both", *, assumptions: Iterable[str] = ()
    ) -> VisibilityPolicy:
        """From public and private profiles; nodes that are not named count as private.

        Parameters
        ----------
        profiles
            For each node "public" or "private" (or True, False).
        rule
            "both": two public ends make a position PUBLIC, one FRIEND_VISIBLE, none PRIVATE.
            "any": a public node's whole friend list is public.
        """
        if rule not in TABLES:
            raise BadPolicy(f"{rule!r} is not a rule for profiles; use 'both' or 'any'.")
        types = {name: _is_public(name, word) for name, word in profiles.items()}
        words = f"{sum(types.values()):,} public profiles (rule {rule!r})"
        return cls.of(NodeTypes(types, TABLES[rule], words), tuple(assumptions))

    @classmethod
    def public_profiles(cls, fraction: Number, rule: str = "any", *, salt: str = DEFAULT_SALT) -> VisibilityPolicy:
        """A fraction of the users, drawn by a hash under a public salt whatever their degree, is public.

        ``rule`` is as in :meth:`from_profiles`.
        """
        if rule not in TABLES:
            raise BadPolicy(f"{rule!r} is not a rule for profiles; use 'both' or 'any'.")
        return cls.of(DrawnProfiles(_share(fraction, "fraction"), TABLES[rule], salt))

    @classmethod
    def from_types(
        cls, types: Mapping[Hashable, str], table: Mapping[tuple[str, str], Visibility | str], otherwise: str
    ) -> VisibilityPolicy:
        """From a type for each node and a class for each pair of types; unnamed nodes have type ``otherwise``."""
        kinds = sorted({*types.values(), otherwise})
        missing = [(a, b) for a in kinds for b in kinds if (a, b) not in table and (b, a) not in table]
        if missing:
            raise BadPolicy(f"The table gives no class for {missing[0]}; add it.")
        cells = tuple(tuple(Visibility.of(table.get((a, b), table.get((b, a), ""))) for b in kinds) for a in kinds)
        place = {kind: i for i, kind in enumerate(kinds)}
        numbered = {name: place[kind] for name, kind in types.items()}
        return cls.of(NodeTypes(numbered, cells, f"node types {', '.join(kinds)}", place[otherwise]))

    @classmethod
    def from_attributes(
        cls,
        table: Mapping[Hashable, Mapping[str, Hashable]],
        rules: Sequence[AttributeRule | Mapping[str, Any]],
        otherwise: Visibility | str = PRIVATE,
    ) -> VisibilityPolicy:
        """From rules over public attributes, such as ``{"same": "department", "class": "public"}``."""
        return cls.of(Attributes(table, parse_rules(rules), Visibility.of(otherwise)))

    @classmethod
    def from_positions(
        cls,
        public: Iterable[tuple[Hashable, Hashable]] = (),
        friend_visible: Iterable[tuple[Hashable, Hashable]] = (),
        otherwise: Visibility | str = PRIVATE,
    ) -> VisibilityPolicy:
        """From explicit public lists of positions, edges or not. A list of true edges would itself be a release."""
        listed = dict.fromkeys(map(frozenset, friend_visible), FRIEND_VISIBLE)
        listed.update(dict.fromkeys(map(frozenset, public), PUBLIC))
        return cls.of(ListedPositions(listed, Visibility.of(otherwise)))

    @classmethod
    def public_hubs(cls, fraction: Number, by: str = "degree", rule: str = "any") -> VisibilityPolicy:
        """The nodes of highest **true** degree are public: an oracle, allowed in simulations only."""
        if by != "degree" or rule not in TABLES:
            raise BadPolicy("Public hubs can be chosen by='degree' with rule='any' or rule='both'.")
        return cls.of(OracleHubs(_share(fraction, "fraction"), rule), ("it is public knowledge who the hubs are",))

    def resolved(self, names: Names, degrees: npt.NDArray[np.int64]) -> VisibilityPolicy:
        """The policy with an oracle's choice made; other policies stay as they are."""
        return type(self).of(_resolved(self.rule, names, degrees), self.assumptions)

    @property
    def is_oracle(self) -> bool:
        """Whether the choice used private data, which a real survey must not do."""
        return bool(self.assumptions)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all that decides the classes: both sides can check that they mean the same policy."""
        text = json.dumps(self.rule.describe(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def bind(self, names: Names) -> BoundPolicy:
        """The policy for this roster of nodes."""
        return BoundPolicy(len(names), self.rule.bind(names), isinstance(self.rule, SameClass))

    def __or__(self, other: VisibilityPolicy) -> VisibilityPolicy:
        return type(self).of(MostOpen((self.rule, other.rule)), self.assumptions + other.assumptions)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VisibilityPolicy) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __str__(self) -> str:
        return str(self.rule)

    def __repr__(self) -> str:
        return f"<VisibilityPolicy: {self}>"


@dataclass(frozen=True)
class BoundPolicy:
    """A policy on a roster of n nodes: classes for any positions, computed when asked."""

    n: int
    rule: BoundRule
    is_constant: bool = False

    def of(self, u: npt.ArrayLike, v: npt.ArrayLike) -> Classes:
        """The classes of the positions (u, v)."""
        return self.rule(np.atleast_1d(np.asarray(u, dtype=np.int64)), np.atleast_1d(np.asarray(v, dtype=np.int64)))

    def range(self, start: int, count: int) -> Classes:
        """The classes of the positions numbered start … start + count − 1."""
        if self.is_constant and self.n > 1:
            return np.full(count, self.of([0], [1])[0], dtype=np.uint8)
        return self.rule(*endpoints(self.n, start, count))


def _resolved(rule: Rule, names: Names, degrees: npt.NDArray[np.int64]) -> Rule:
    if isinstance(rule, MostOpen):
        return MostOpen(tuple(_resolved(part, names, degrees) for part in rule.rules))
    if not isinstance(rule, OracleHubs):
        return rule
    order = np.argsort(-degrees, kind="stable")[: round(rule.fraction * len(names))]
    return VisibilityPolicy.from_profiles({names[i]: "public" for i in order}, rule.rule).rule


def _share(value: Number, what: str) -> Fraction:
    try:
        return exact_share(value, what)
    except BadPrivacyParameter as error:
        raise BadPolicy(str(error)) from error


def _is_public(name: Hashable, word: str | bool) -> int:
    if isinstance(word, (bool, np.bool_)):
        return int(word)
    if word not in ("public", "private"):
        raise BadPolicy(f"Node {name!r} has the profile {word!r}; it must be 'public' or 'private'.")
    return int(word == "public")
