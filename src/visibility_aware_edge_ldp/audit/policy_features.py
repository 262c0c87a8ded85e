"""What anybody can read off a policy about a position, to guess from: its class, its ends, their company.  [LEAK.3]"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.public.bound_policy import BoundPolicy
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.rules import Classes, Names
from visibility_aware_edge_ldp.public.visibility import Visibility

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

# Users are told apart by how many open positions they have, in at most so many kinds.
KINDS_OF_USERS = 16
CELLS = len(Visibility) * KINDS_OF_USERS**2
_AT_ONCE = 256
_OPEN = (Visibility.PUBLIC, Visibility.FRIEND_VISIBLE)


@dataclass(frozen=True, eq=False)
class PolicyFeatures:
    """The classes among some users, and for each open class one packed row a user: with whom it has such a position.

    Users are numbered from 0 in the order of ``users``, which holds their numbers in the roster.
    """

    policy: BoundPolicy
    users: Ints = field(repr=False)
    rows: dict[Visibility, Words] = field(repr=False)
    sizes: dict[Visibility, Ints] = field(repr=False)

    @property
    def names(self) -> list[str]:
        """Of the scores, in their order."""
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
    return PolicyFeatures(bound, chosen, rows, sizes)


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
