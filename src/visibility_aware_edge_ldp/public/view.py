"""The public view: what everybody knows of every position.  [POSITION.1]"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.errors import BadPolicy
from visibility_aware_edge_ldp.public.positions import TILE, Ints, endpoints, numbers, position_count
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility, times_epsilon

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.public.bound_policy import BoundPolicy
    from visibility_aware_edge_ldp.public.groups import Groups
    from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
    from visibility_aware_edge_ldp.public.rules import Names
    from visibility_aware_edge_ldp.public.scope import Scope

Bits = npt.NDArray[np.bool_]
Octets = npt.NDArray[np.uint8]
# Users are tried against so many others, evenly spread; then those still in doubt against everybody.
PROBES = (4, 64)
# How many positions may be looked at for those still in doubt.
MOST_LOOKED_AT = 1 << 25
_BLOCK = 1 << 22
# So many names are written at a time.
_AT_ONCE = 1 << 16
_DIGITS = re.compile("-?[0-9]+")
OUTSIDE = "outside the scope"
HEAD = ("class", "positions", "share", "loss per edge", "who may know the bit")
KNOWN_BY = {
    Visibility.PUBLIC: "everybody: {edges:,} edges, and that the others are empty",
    Visibility.FRIEND_VISIBLE: "friends of the two ends",
    Visibility.PRIVATE: "the two ends",
}
ADVERSARY = (
    "A secret is the bit of one non-public position: whether there is an edge. What follows from k of them together,",
    "such as a degree, may lose k times as much. The promise holds against somebody who knows the roster, the policy,",
    "every public bit and every other secret, and who sees all reports.",
)


@dataclass(frozen=True)
class Secret:
    """One class of positions: how many, the loss allowed per edge in units of epsilon (0: no promise), who knows."""

    visibility: Visibility | str
    positions: int
    multiplier: Fraction
    known_by: str


def _loss(row: Secret) -> str:
    if row.visibility == OUTSIDE:
        return "nothing"
    return f"at most {times_epsilon(row.multiplier)}" if row.multiplier else "not protected"


@dataclass(frozen=True)
class Secrets:
    """The classes of a policy on a roster, most open first; prints as a table."""

    rows: tuple[Secret, ...]
    assumptions: tuple[str, ...] = ()

    def table(self) -> list[tuple[str, ...]]:
        """(class, positions, share, loss per edge, who may know the bit) as texts."""
        total = sum(row.positions for row in self.rows)
        return [
            (
                str(row.visibility),
                f"{row.positions:,}",
                f"{row.positions / total:.1%}",
                _loss(row),
                row.known_by,
            )
            for row in self.rows
        ]

    def __str__(self) -> str:
        rows = [HEAD, *self.table()]
        widths = [max(len(row[i]) for row in rows) for i in range(len(HEAD))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        lines.insert(1, "-" * max(map(len, lines)))
        return "\n".join([*lines, "", *ADVERSARY, *(f"Assumes that {text}." for text in self.assumptions)])


@dataclass(frozen=True, eq=False)
class PublicView:
    """The roster, the policy, and the edges at public positions; every other public position is empty.

    ``groups`` says which public group every member of the roster is in, where there are groups.
    """

    names: Names = field(repr=False)
    policy: VisibilityPolicy
    edges: npt.NDArray[np.int32] = field(repr=False)
    groups: Groups | None = None

    def __post_init__(self) -> None:
        if len(self.edges) and (self.classes.of(self.edges[:, 0], self.edges[:, 1]) != Visibility.PUBLIC).any():
            raise BadPolicy("A public view may hold edges at PUBLIC positions only.")

    def __getstate__(self) -> dict[str, object]:
        """What it is made of, without what follows from that: for another process."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def users_with(self, classes: Sequence[Visibility]) -> Bits:
        """(classes, n): which users have a position of each class, found without n² work.

        A user may be counted in though it has none, where finding out would take too long: noise is then left in, and
        every estimate stays as true as before.
        """
        wanted = tuple(classes)
        if wanted not in self._users_with:
            found = _users_with(self, wanted)
            found.setflags(write=False)  # everybody who asks is given the same array
            self._users_with[wanted] = found
        return self._users_with[wanted]

    @cached_property
    def _users_with(self) -> dict[tuple[Visibility, ...], Bits]:
        return {}

    @property
    def n(self) -> int:
        return len(self.names)

    @property
    def people(self) -> int | None:
        """How many of the roster are people, where the others are places; None for any other roster."""
        return self.policy.people

    @property
    def positions(self) -> int:
        """How many positions there are, of all classes."""
        return position_count(self.n)

    @cached_property
    def classes(self) -> BoundPolicy:
        """The class of any position."""
        return self.policy.bind(self.names)

    @cached_property
    def present(self) -> frozenset[Visibility]:
        """The classes that positions may have; known from the policy, without looking at every position."""
        return self.policy.rule.present(self.names)

    @property
    def non_public(self) -> tuple[Visibility, ...]:
        """The non-public classes that positions may have: those that a survey asks about."""
        return tuple(kind for kind in NON_PUBLIC if kind in self.present)

    @cached_property
    def class_bits(self) -> dict[Visibility, Octets]:
        """For each class, one packed bit a position: two or three bits a position in all."""
        if self._only is not None:
            return _OneClass(self.positions, self._only)
        return {kind: np.concatenate(part) for kind, part in self._class_parts().items()}

    @property
    def _only(self) -> Visibility | None:
        """The class of all positions, if they have one."""
        return min(self.present) if self.classes.is_constant and self.n > 1 else None

    def _class_parts(self) -> dict[Visibility, list[Octets]]:
        parts: dict[Visibility, list[Octets]] = {kind: [np.empty(0, np.uint8)] for kind in Visibility}
        for start in range(0, self.positions, TILE):
            classes = self.classes.range(start, min(TILE, self.positions - start))
            for kind in Visibility:
                parts[kind].append(np.packbits(classes == kind, bitorder="little"))
        return parts

    @cached_property
    def class_sizes(self) -> dict[Visibility, int]:
        """How many positions each class has."""
        if self._only is not None:
            return {kind: self.positions if kind == self._only else 0 for kind in Visibility}
        # In parts: counting makes an array as large as what is counted.
        parts = {kind: np.split(bits, range(TILE, bits.size, TILE)) for kind, bits in self.class_bits.items()}
        return {kind: sum(int(np.bitwise_count(part).sum()) for part in each) for kind, each in parts.items()}

    @property
    def inside_sizes(self) -> dict[Visibility, int]:
        """How many positions of each class lie inside the policy's scope."""
        return self.class_sizes | {Visibility.PUBLIC: self.class_sizes[Visibility.PUBLIC] - self.outside}

    @cached_property
    def outside(self) -> int:
        """How many positions lie outside the policy's scope; they are among the PUBLIC ones of ``class_sizes``."""
        if self.policy.scope is None:
            return 0
        runs = ((start, min(TILE, self.positions - start)) for start in range(0, self.positions, TILE))
        return sum(int(np.count_nonzero(~self.classes.inside(*endpoints(self.n, *run)))) for run in runs)

    def within(self, scope: Scope) -> PublicView:
        """What everybody knows of the graph inside a scope.  [SCOPE.1]"""
        narrower = PublicView(self.names, self.policy.within(scope), self.edges[:0], self.groups)
        inside = narrower.classes.inside(self.edges[:, 0], self.edges[:, 1])
        return PublicView(self.names, narrower.policy, self.edges[inside], self.groups)

    @cached_property
    def secrets(self) -> Secrets:
        """Which secrets there are, how well the policy guards each, and what everybody knows; print it."""
        known = {kind: text.format(edges=len(self.edges)) for kind, text in KNOWN_BY.items()}
        sizes = {kind: size for kind, size in self.inside_sizes.items() if size}
        rows = [Secret(kind, size, self.policy.multiplier(kind), known[kind]) for kind, size in sizes.items()]
        if self.outside:
            rows.append(Secret(OUTSIDE, self.outside, Fraction(0), "not asked: loses nothing, and is not counted"))
        return Secrets(tuple(rows), self.policy.assumptions)

    @cached_property
    def edge_numbers(self) -> Ints:
        """The numbers of the public edges, sorted."""
        return np.sort(numbers(self.n, self.edges[:, 0], self.edges[:, 1]))

    @cached_property
    def edge_bits(self) -> Octets:
        """The public edges, one packed bit a position."""
        flat = np.zeros((self.positions + 7) // 8, np.uint8)
        np.bitwise_or.at(flat, self.edge_numbers >> 3, np.uint8(1) << (self.edge_numbers & 7).astype(np.uint8))
        return flat

    @cached_property
    def roster_digest(self) -> str:
        """SHA-256 of the node names in order, and of their types."""
        found, names = hashlib.sha256(b"["), self.names
        for start in range(0, len(names), _AT_ONCE):  # the JSON list of all names, a part at a time
            part = json.dumps([_written(name) for name in names[start : start + _AT_ONCE]], ensure_ascii=False)
            found.update((", " * bool(start) + part[1:-1]).encode(errors="surrogatepass"))
        found.update(b"]")
        return found.hexdigest()


def _users_with(view: PublicView, classes: tuple[Visibility, ...]) -> Bits:
    if view.classes.is_constant or view.n < 2:
        there = np.array([view.n > 1 and kind in view.present for kind in classes], np.bool_)
        return np.repeat(there[:, None], view.n, axis=1)
    known = view.classes.by_kinds
    return _by_looking(view, classes) if known is None else _by_kinds(known.kinds, known.table, classes)


def _by_kinds(kinds: Ints, table: npt.NDArray[np.uint8], classes: Sequence[Visibility]) -> Bits:
    others = np.bincount(kinds, minlength=len(table)) - np.eye(len(table), dtype=np.int64)
    has = [((table == kind) & (others > 0)).any(axis=1)[kinds] for kind in classes]
    return np.array(has, np.bool_).reshape(len(classes), kinds.size)


def _by_looking(view: PublicView, classes: Sequence[Visibility]) -> Bits:
    found = np.zeros((len(classes), view.n), np.bool_)
    for probes in (*PROBES, view.n):
        doubtful = np.flatnonzero(~found.all(axis=0))
        if doubtful.size * probes > MOST_LOOKED_AT:
            found[:, doubtful] = True
            break
        others = np.unique(np.linspace(0, view.n - 1, min(probes, view.n)).astype(np.int64))
        step = max(1, _BLOCK // others.size)
        for start in range(0, doubtful.size, step):
            users = doubtful[start : start + step]
            table = view.classes.of(np.repeat(users, others.size), np.tile(others, users.size))
            table, apart = table.reshape(users.size, others.size), users[:, None] != others
            found[:, users] |= np.array([((table == kind) & apart).any(axis=1) for kind in classes])
    return found


class _OneClass(dict[Visibility, Octets]):
    """The bits of each class where all positions have the same, made when they are first asked for."""

    def __init__(self, positions: int, only: Visibility) -> None:
        super().__init__()
        self.positions, self.only = positions, only

    def __missing__(self, kind: Visibility) -> Octets:
        bits = self[kind] = all_or_none(self.positions, kind == self.only)
        return bits


def all_or_none(count: int, every: bool) -> Octets:
    """So many packed bits, all the same."""
    octets = np.full((count + 7) // 8, 255, np.uint8) if every else np.zeros((count + 7) // 8, np.uint8)
    if every and count % 8:
        octets[-1] = (1 << count % 8) - 1
    return octets


def _written(name: Hashable) -> str | list[str]:
    """A name as JSON that tells 1 from "1" and (1,) from "(1,)"; whole numbers and words are written as they are."""
    if isinstance(name, (int, Integral)):  # the first is by far the quicker to tell
        return str(int(name))
    if isinstance(name, str):
        return [name] if _DIGITS.fullmatch(name) else name
    return [type(name).__name__, repr(name)]
