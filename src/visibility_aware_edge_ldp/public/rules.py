"""Rules that give every position a class, from public metadata alone.

A rule is stored compactly (never an n × n array) and is bound to a roster of node names before
use. A bound rule answers for any position, edge or not, the same from both ends.
"""

import hashlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, reduce
from numbers import Integral
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.errors import BadPolicy
from visibility_aware_edge_ldp.public.positions import row_of, row_start
from visibility_aware_edge_ldp.public.visibility import Visibility

Classes = npt.NDArray[np.uint8]
Ends = npt.NDArray[np.int64]
Names = Sequence[Hashable]
BoundRule = Callable[[Ends, Ends], Classes]
Bits = npt.NDArray[np.bool_]
Grouped = tuple[Ends, Bits]
"""Groups of nodes, and which pairs of groups hold."""
# With more groups of nodes their tables take more work than the counting that they save.
MOST_GROUPS = 256


class Rule(Protocol):
    """What decides a position's class."""

    def bind(self, names: Names) -> BoundRule:
        """For this roster: a function from arrays of ends to an array of classes."""

    def present(self, names: Names) -> frozenset[Visibility]:
        """The classes that positions of this roster may have, without looking at every position."""

    def describe(self) -> dict[str, Any]:
        """All that decides the classes, as canonical JSON values: its digest names the policy."""

    def __str__(self) -> str: ...


@dataclass(frozen=True)
class SameClass:
    """Every position has the same class."""

    visibility: Visibility

    def bind(self, names: Names) -> BoundRule:
        return lambda u, v: np.full(u.shape, self.visibility, dtype=np.uint8)

    def present(self, names: Names) -> frozenset[Visibility]:
        return frozenset({self.visibility})

    def describe(self) -> dict[str, Any]:
        return {"kind": "same", "class": str(self.visibility)}

    def __str__(self) -> str:
        return f"every position is {self.visibility}"


@dataclass(frozen=True)
class KeyedHash:
    """Fractions of all positions, drawn by a hash under a public salt."""

    public: Fraction
    friend_visible: Fraction
    salt: str

    def bind(self, names: Names) -> BoundRule:
        keys = node_keys(names, self.salt)
        public, friends = (int(share * 2**64) for share in (self.public, self.public + self.friend_visible))

        def classes(u: Ends, v: Ends) -> Classes:
            # The sum is the same from both ends; the node keys are 64-bit digests, so sums do not collide.
            drawn = mixed(keys[u] + keys[v])
            return (drawn >= public).astype(np.uint8) + (drawn >= friends).astype(np.uint8)

        return classes

    def present(self, names: Names) -> frozenset[Visibility]:
        return frozenset(kind for kind, share in self._shares.items() if share)

    @property
    def _shares(self) -> dict[Visibility, Fraction]:
        shares = (self.public, self.friend_visible, 1 - self.public - self.friend_visible)
        return dict(zip(Visibility, shares, strict=True))

    def describe(self) -> dict[str, Any]:
        return {
            "kind": "hash",
            "public": str(self.public),
            "friend_visible": str(self.friend_visible),
            "salt": self.salt,
        }

    def __str__(self) -> str:
        text = ", ".join(f"{float(share):.1%} {kind}" for kind, share in self._shares.items() if share)
        return f"{text} of all positions, by a hash under the public salt {self.salt!r}"


@dataclass(frozen=True)
class ListedPositions:
    """Explicit public lists of positions; all others have one class."""

    listed: Mapping[frozenset[Hashable], Visibility] = field(repr=False)
    otherwise: Visibility = Visibility.PRIVATE

    def bind(self, names: Names) -> BoundRule:
        refuse_strangers({end: 0 for pair in self.listed for end in pair}, names)
        place, n = {name: i for i, name in enumerate(names)}, len(names)
        codes = np.array([_pair_code(pair, place, n) for pair in self.listed], dtype=np.int64)
        classes = np.array(list(self.listed.values()), dtype=np.uint8)
        order = np.argsort(codes)
        codes, classes = codes[order], classes[order]

        def look_up(u: Ends, v: Ends) -> Classes:
            found = np.full(u.shape, self.otherwise, dtype=np.uint8)
            if len(codes):
                wanted = np.minimum(u, v) * n + np.maximum(u, v)
                at = np.minimum(np.searchsorted(codes, wanted), len(codes) - 1)
                hit = codes[at] == wanted
                found[hit] = classes[at[hit]]
            return found

        return look_up

    def present(self, names: Names) -> frozenset[Visibility]:
        complete = len(self.listed) == len(names) * (len(names) - 1) // 2
        return frozenset(self.listed.values()) | (frozenset() if complete else {self.otherwise})

    def describe(self) -> dict[str, Any]:
        rows = sorted([*sorted(map(canonical, pair)), str(kind)] for pair, kind in self.listed.items())
        return {"kind": "listed", "positions": rows, "otherwise": str(self.otherwise)}

    def __str__(self) -> str:
        return f"{len(self.listed):,} listed positions, all others {self.otherwise}"


@dataclass(frozen=True)
class MostOpen:
    """Several rules at once: a position gets the most open class that any of them gives."""

    rules: tuple[Rule, ...]

    def bind(self, names: Names) -> BoundRule:
        bound = [rule.bind(names) for rule in self.rules]
        return lambda u, v: reduce(np.minimum, (rule(u, v) for rule in bound))

    def present(self, names: Names) -> frozenset[Visibility]:
        return frozenset().union(*(rule.present(names) for rule in self.rules))

    def describe(self) -> dict[str, Any]:
        return {"kind": "most open", "rules": [rule.describe() for rule in self.rules]}

    def __str__(self) -> str:
        return "the most open of: " + "; ".join(map(str, self.rules))


@dataclass(frozen=True)
class PeopleAndPlaces:
    """A policy's rule for people and places: two people, or two places, are PUBLIC and empty.  [BIPARTITE.0-1]

    The first ``people`` nodes of the roster are people, the others places. A position of both has the class that
    ``rule`` gives it.
    """

    rule: Rule
    people: int

    def bind(self, names: Names) -> BoundRule:
        places = (np.arange(len(names)) >= self.people).astype(np.int64)
        inner = self.rule.bind(names)
        if isinstance(self.rule, SameClass):
            inner = ByTable(np.zeros(len(names), np.int64), np.array([[self.rule.visibility]], np.uint8))
        if not isinstance(inner, ByTable):
            return lambda u, v: _between(places, inner(u, v), u, v)
        # Every kind of node twice: as people, and as places.
        side, kind = np.divmod(np.arange(2 * len(inner.table)), len(inner.table))
        table = np.where(side[:, None] == side, np.uint8(Visibility.PUBLIC), inner.table[np.ix_(kind, kind)])
        return ByTable(places * len(inner.table) + inner.kinds, table)

    def present(self, names: Names) -> frozenset[Visibility]:
        bound = self.bind(names)
        if isinstance(bound, ByTable):
            table = [[Visibility(int(cell)) for cell in row] for row in bound.table]
            return classes_in_table(table, bound.kinds)
        return self.rule.present(names) | {Visibility.PUBLIC}

    def describe(self) -> dict[str, Any]:
        return {"kind": "between people and places", "people": self.people, "rule": self.rule.describe()}

    def __str__(self) -> str:
        return f"{self.rule}, between people and places alone"


def _between(places: Ends, classes: Classes, u: Ends, v: Ends) -> Classes:
    return np.where(places[u] == places[v], np.uint8(Visibility.PUBLIC), classes)


def _pair_code(pair: frozenset[Hashable], place: Mapping[Hashable, int], n: int) -> int:
    if len(pair) != 2:
        raise BadPolicy(f"A position needs two different nodes; got {sorted(map(str, pair))}.")
    low, high = sorted(place[end] for end in pair)
    return low * n + high


def canonical(value: Hashable) -> str:
    """A name or value as text that tells 1 from "1" and nothing from "None", whatever library the number is from."""
    if isinstance(value, Integral):
        return f"number {int(value)}"
    return f"text {value}" if isinstance(value, str) else repr(value)


def refuse_strangers(named: Mapping[Hashable, Any], names: Names) -> None:
    strangers = named.keys() - set(names)
    if strangers:
        shown = ", ".join(sorted(map(repr, strangers))[:3])
        raise BadPolicy(
            f"The policy names {len(strangers):,} nodes that are not in the graph, such as {shown}. "
            "Check that both use the same node names; people without any edge belong into the graph's roster, which "
            "read_graph(…, nodes=…) takes."
        )


def node_keys(names: Names, salt: str) -> npt.NDArray[np.uint64]:
    key = hashlib.sha256(salt.encode()).digest()
    digests = (hashlib.blake2b(str(name).encode(), digest_size=8, key=key).digest() for name in names)
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def mixed(word: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The words, mixed in place by the finalizer of SplitMix64 (Steele, Lea and Flood 2014).

    Every input bit reaches every output bit.
    """
    word ^= word >> np.uint64(30)
    word *= np.uint64(0xBF58476D1CE4E5B9)
    word ^= word >> np.uint64(27)
    word *= np.uint64(0x94D049BB133111EB)
    word ^= word >> np.uint64(31)
    return word


@dataclass(frozen=True, eq=False)
class ByTable:
    """A bound rule that is a table: a position's class follows from the kinds of its two nodes."""

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


def classes_in_table(table: Sequence[Sequence[Visibility]], kinds: Ends) -> frozenset[Visibility]:
    """The classes of pairs of different nodes with these types."""
    counts = np.bincount(kinds, minlength=len(table))
    pairs = ((a, b) for a in range(len(table)) for b in range(a + 1))
    return frozenset(table[a][b] for a, b in pairs if (counts[a] > 1 if a == b else counts[a] and counts[b]))


def joined_groups(parts: list[Grouped | None], join: Callable[[Bits, Bits], Bits]) -> Grouped | None:
    """Groups that tell apart what any of the parts does, and their tables joined."""
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    rows, groups = np.unique(np.stack([part[0] for part in known], axis=1), axis=0, return_inverse=True)
    if len(rows) > MOST_GROUPS:
        return None
    tables = (table[np.ix_(column, column)] for column, (_, table) in zip(rows.T, known, strict=True))
    return groups.ravel(), reduce(join, tables)
