"""What anybody can read off a policy about a position, to guess from: its class, its ends, their company.  [LEAK.3]

A scope is read as a policy too, and what may have decided it is worked out from public edges.  [LEAK.5]
"""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.public.bound_policy import BoundPolicy
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.rules import BoundRule, Classes, Names, Rule
from visibility_aware_edge_ldp.public.scope import Scope, SharedList, public_lists
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

# Users are told apart by how many open positions they have, in at most so many kinds.
KINDS_OF_USERS = 16
CELLS = len(Visibility) * KINDS_OF_USERS**2
_AT_ONCE = 256
_OPEN = (Visibility.PUBLIC, Visibility.FRIEND_VISIBLE)


@dataclass(frozen=True)
class AskedRule:
    """A scope as a rule, for the leak check alone: positions inside are FRIEND_VISIBLE, those outside PRIVATE."""

    rule: Rule

    def bind(self, names: Names) -> BoundRule:
        bound = BoundPolicy(len(names), self.rule.bind(names))
        asked, left_alone = np.uint8(Visibility.FRIEND_VISIBLE), np.uint8(Visibility.PRIVATE)
        return lambda u, v: np.where(bound.inside(u, v), asked, left_alone)

    def present(self, names: Names) -> frozenset[Visibility]:
        return frozenset({Visibility.FRIEND_VISIBLE, Visibility.PRIVATE})

    def describe(self) -> dict[str, Any]:
        return {"kind": "asked", "rule": self.rule.describe()}


def scope_grounds(
    policy: VisibilityPolicy, names: Names, edges: npt.NDArray[np.int32]
) -> dict[Hashable, dict[str, Hashable]]:
    """For each user what a scope may go by besides attributes: its kind in the policy, and its public friend lists.

    In whose lists a user stands is worked out anew from the edges at positions that the policy itself makes PUBLIC:
    a scope made of other lists does not explain itself.  [LEAK.5]
    """
    bare = policy.without_scope
    bound = bare.bind(names)
    public = edges[bound.of(edges[:, 0], edges[:, 1]) == Visibility.PUBLIC]
    kinds = bound.by_kinds
    columns = {} if kinds is None else {"kind": kinds.kinds.tolist()}
    if policy.scope is not None and _goes_by_lists(policy.scope):
        columns["lists"] = [row.tobytes() for row in public_lists(PublicView(names, bare, public)).marks]
    return {name: {key: column[i] for key, column in columns.items()} for i, name in enumerate(names)}


def _goes_by_lists(scope: Scope) -> bool:
    parts = [*getattr(scope, "parts", ()), *([scope.scope] if hasattr(scope, "scope") else [])]
    return isinstance(scope, SharedList) or any(map(_goes_by_lists, parts))


@dataclass(frozen=True, eq=False)
class PolicyFeatures:
    """The classes among some users, and for each open class one packed row a user: with whom it has such a position.

    Users are numbered from 0 in the order of ``users``, which holds their numbers in the roster.
    """

    policy: BoundPolicy
    users: Ints = field(repr=False)
    rows: dict[Visibility, Words] = field(repr=False)
    sizes: dict[Visibility, Ints] = field(repr=False)
    of_scope: bool = False

    @property
    def names(self) -> list[str]:
        """Of the scores, in their order."""
        if self.of_scope:
            return ["whether the position is asked", "asked positions of the two ends", "asked company in common"]
        each = [(f"{kind} positions of the two ends", f"{kind} company in common") for kind in self.rows]
        return ["the position's class", *(name for pair in each for name in pair)]

    def classes(self, u: Ints, v: Ints) -> Classes:
        """The classes of positions."""
        return self.policy.of(self.users[u], self.users[v])

    @cached_property
    def kinds(self) -> Ints:
        """A kind for each user, from 0 on: users with about as many open positions are of one kind."""
        kinds = np.zeros(self.users.size, np.int64)
        steps = KINDS_OF_USERS if len(self.sizes) < 2 else 4
        for sizes in self.sizes.values():
            limits = np.unique(np.quantile(sizes, np.arange(1, steps) / steps, method="lower"))
            kinds = kinds * steps + np.searchsorted(limits, sizes, side="left")
        return kinds

    def cells(self, u: Ints, v: Ints, classes: Classes) -> Ints:
        """Positions of one class between users of the same two kinds are in one cell."""
        low, high = np.minimum(self.kinds[u], self.kinds[v]), np.maximum(self.kinds[u], self.kinds[v])
        return np.asarray((classes.astype(np.int64) * KINDS_OF_USERS + low) * KINDS_OF_USERS + high)

    def scores(self, u: Ints, v: Ints, classes: Classes) -> Iterator[Ints]:
        """For each predictor one number a position: larger, or smaller, where an edge is more likely."""
        yield -classes.astype(np.int64)
        for kind, rows in self.rows.items():
            # The position's own class is a predictor of its own.
            own = (classes == kind).astype(np.int64)
            yield self.sizes[kind][u] + self.sizes[kind][v] - 2 * own
            yield np.bitwise_count(rows[u] & rows[v]).sum(axis=1, dtype=np.int64)


def policy_features(policy: VisibilityPolicy, names: Names, users: Ints | None = None) -> PolicyFeatures:
    """All that the predictors need of a policy among these users, by default all; needs no bit of any position."""
    bound, chosen = policy.bind(names), np.arange(len(names)) if users is None else users
    kinds = [kind for kind in _OPEN if kind in policy.rule.present(names)]
    parts = [
        _packed(bound, chosen[start : start + _AT_ONCE], chosen, kinds) for start in range(0, chosen.size, _AT_ONCE)
    ]
    rows = {kind: np.concatenate([part[kind] for part in parts]) for kind in kinds}
    sizes = {kind: np.bitwise_count(each).sum(axis=1, dtype=np.int64) for kind, each in rows.items()}
    return PolicyFeatures(bound, chosen, rows, sizes, isinstance(policy.rule, AskedRule))


def _packed(bound: BoundPolicy, users: Ints, others: Ints, kinds: list[Visibility]) -> dict[Visibility, Words]:
    u, v = np.repeat(users, others.size), np.tile(others, users.size)
    classes = bound.of(u, v).reshape(users.size, others.size)
    classes[users[:, None] == others] = Visibility.PRIVATE  # nobody has a position with itself
    return {kind: _words(classes == kind) for kind in kinds}


def _words(bits: npt.NDArray[np.bool_]) -> Words:
    octets = np.packbits(bits, axis=1, bitorder="little")
    padded = np.zeros((len(bits), -(-octets.shape[1] // 8) * 8), np.uint8)
    padded[:, : octets.shape[1]] = octets
    return padded.view(np.uint64)
