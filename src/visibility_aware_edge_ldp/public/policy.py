"""The visibility policy: which positions are public, decided from public metadata.  [POSITION.0]"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.errors import BadPolicy, BadPrivacyParameter
from visibility_aware_edge_ldp.privacy import Bill, Number, Release, parse_share
from visibility_aware_edge_ldp.public import node_rules
from visibility_aware_edge_ldp.public.bound_policy import BoundPolicy, InsideRule, between_rule, inside_rule
from visibility_aware_edge_ldp.public.rules import KeyedHash, ListedPositions, MostOpen, Names, Rule, SameClass
from visibility_aware_edge_ldp.public.scope import Outside, Scope
from visibility_aware_edge_ldp.public.visibility import (
    DEFAULT_MULTIPLIERS,
    Multipliers,
    Visibility,
    parse_multiplier,
    parsed,
)

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
DEFAULT_SALT = "va-edge-ldp"
_share = partial(parsed, parse_share)


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
    assumptions: tuple[str, ...] = ()
    multipliers: Multipliers = DEFAULT_MULTIPLIERS
    paid: tuple[Release, ...] = ()

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
        self.rule = KeyedHash(public, min(friends, 1 - public), salt)

    @classmethod
    def of(
        cls,
        rule: Rule,
        assumptions: tuple[str, ...] = (),
        multipliers: Multipliers = DEFAULT_MULTIPLIERS,
        paid: tuple[Release, ...] = (),
    ) -> VisibilityPolicy:
        """A policy with this rule, what it assumes, how well it guards, and the releases that it was made from."""
        policy = cls.__new__(cls)
        policy.rule, policy.assumptions, policy.multipliers, policy.paid = rule, assumptions, multipliers, paid
        return policy

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
        return cls.of(node_rules.profile_rule(profiles, rule), tuple(assumptions))

    @classmethod
    def public_profiles(cls, fraction: Number, rule: str = "any", *, salt: str = DEFAULT_SALT) -> VisibilityPolicy:
        """A fraction of the users, drawn by a hash under a public salt whatever their degree, is public.

        ``rule`` is as in :meth:`from_profiles`.
        """
        return cls.of(node_rules.DrawnProfiles(_share(fraction, "fraction"), node_rules.profile_table(rule), salt))

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
        return cls.of(node_rules.NodeTypes(numbered, cells, f"node types {', '.join(kinds)}", place[otherwise]))

    @classmethod
    def from_attributes(
        cls,
        table: Mapping[Hashable, Mapping[str, Hashable]],
        rules: Sequence[node_rules.AttributeRule | Mapping[str, Any]],
        otherwise: Visibility | str = PRIVATE,
    ) -> VisibilityPolicy:
        """From rules over public attributes, such as ``{"same": "department", "class": "public"}``.

        A rule may state the ``loss`` per edge of its class in units of epsilon; see :meth:`guarded`.
        """
        rule = node_rules.Attributes(table, node_rules.parse_rules(rules), Visibility.of(otherwise))
        return cls.of(rule, multipliers=node_rules.stated_losses(rule))

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
        if by != "degree" or rule not in node_rules.TABLES:
            raise BadPolicy("Public hubs can be chosen by='degree' with rule='any' or rule='both'.")
        return cls.of(
            node_rules.OracleHubs(_share(fraction, "fraction"), rule), ("it is public knowledge who the hubs are",)
        )

    def guarded(self, friend_visible: Number | None = None, private: Number | None = None) -> VisibilityPolicy:
        """The same policy with other losses per edge, in units of epsilon; usually 2 if friend-visible, 1 if private.

        They say how well each kind of secret is guarded: 3 allows three times the loss of 1. They are public,
        and part of what the policy's digest names.
        """
        given = {"friend_visible": friend_visible, "private": private}
        losses = {
            name: parse_multiplier(loss, f"The loss multiplier {name}")
            for name, loss in given.items()
            if loss is not None
        }
        return type(self).of(self.rule, self.assumptions, replace(self.multipliers, **losses), self.paid)

    def within(self, scope: Scope) -> VisibilityPolicy:
        """The same policy inside a scope: positions outside are neither asked nor counted.  [SCOPE.1]"""
        return type(self).of(inside_rule(self.rule, scope), self.assumptions, self.multipliers, self.paid)

    def between(self, people: int) -> VisibilityPolicy:
        """The same policy for a roster of so many people, and places after them.  [BIPARTITE.1]"""
        return type(self).of(between_rule(self.rule, people), self.assumptions, self.multipliers, self.paid)

    @property
    def people(self) -> int | None:
        """How many of the roster are people, where the others are places; None for any other roster."""
        return getattr(self.without_scope.rule, "people", None)

    @property
    def scope(self) -> Scope | None:
        """The set of positions that is asked about and counted in; None where all are."""
        return self.rule.scope if isinstance(self.rule, InsideRule) else None

    @property
    def without_scope(self) -> VisibilityPolicy:
        """The same policy for all positions."""
        rule = self.rule.rule if isinstance(self.rule, InsideRule) else self.rule
        return type(self).of(rule, self.assumptions, self.multipliers, self.paid)

    @property
    def outside(self) -> VisibilityPolicy:
        """The same policy for the positions outside its scope, and nothing inside."""
        if not isinstance(self.rule, InsideRule):
            raise BadPolicy(
                "Every position is asked, and nothing lies outside; give the policy a scope (--scope) first."
            )
        return self.without_scope.within(Outside(self.rule.scope))

    @property
    def paid_epsilon(self) -> Fraction:
        """What choosing the policy has cost a PRIVATE edge already, in units of its multiplier.  [HUBS.2]"""
        found = Bill(self.paid)
        private = Visibility.PRIVATE
        return found[private].epsilon / self.multiplier(private) if private in found else Fraction(0)

    def left_of(self, epsilon: Fraction) -> Fraction:
        """What a collection may spend, so that choosing the policy and the collection cost this epsilon together."""
        if epsilon <= self.paid_epsilon:
            raise BadPrivacyParameter(
                f"Choosing the policy has cost ε = {float(self.paid_epsilon):g}, which leaves nothing of ε = "
                f"{float(epsilon):g}; take a larger one."
            )
        return epsilon - self.paid_epsilon

    def multiplier(self, kind: Visibility) -> Fraction:
        """The loss that is allowed per edge of this class, in units of epsilon; 0 for PUBLIC, which has no claim."""
        return self.multipliers.of(kind)

    def resolved(self, names: Names, degrees: npt.NDArray[np.int64]) -> VisibilityPolicy:
        """The policy with an oracle's choice made; other policies stay as they are."""
        return type(self).of(
            node_rules.resolved(self.rule, names, degrees), self.assumptions, self.multipliers, self.paid
        )

    @property
    def is_oracle(self) -> bool:
        """Whether the choice used private data without paying for it, which a real survey must not do."""
        return any(text != node_rules.AGREED for text in self.assumptions)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all that decides the classes and how well they are guarded: both sides can compare it."""
        content = self.rule.describe()
        if not self.multipliers.is_default:
            content = {"kind": "guarded", "rule": content, "multipliers": self.multipliers.describe()}
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def bind(self, names: Names) -> BoundPolicy:
        """The policy for this roster of nodes."""
        return BoundPolicy(
            len(names), self.rule.bind(names), isinstance(self.rule, SameClass), frozenset(self.rule.present(names))
        )

    def __or__(self, other: VisibilityPolicy) -> VisibilityPolicy:
        if any(each is not None for policy in (self, other) for each in (policy.scope, policy.people)):
            raise BadPolicy("Policies are joined before they are given a scope or places; join the ones without.")
        if self.multipliers != other.multipliers:
            raise BadPolicy(
                "Policies that guard their positions differently cannot be combined: one class has one loss. "
                f"Give both the same with .guarded(…); these have {self.multipliers} and {other.multipliers}."
            )
        paid = tuple(dict.fromkeys(self.paid + other.paid))
        rules = MostOpen((self.rule, other.rule))
        return type(self).of(rules, self.assumptions + other.assumptions, self.multipliers, paid)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VisibilityPolicy) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    @property
    def words(self) -> str:
        """The policy in words, without its scope."""
        return str(self.without_scope.rule) + (
            "" if self.multipliers.is_default else f"; loss per edge: {self.multipliers}"
        )

    def __str__(self) -> str:
        return self.words + ("" if self.scope is None else f"; inside the scope where {self.scope}")

    def __repr__(self) -> str:
        return f"<VisibilityPolicy: {self}>"
