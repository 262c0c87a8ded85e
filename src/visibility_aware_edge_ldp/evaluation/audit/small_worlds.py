"""All graphs of a few users under all policies: the worlds in which the exact audit walks every coin.  [AUDIT.1]"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import combinations, permutations, product

import numpy as np

from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility

Pattern = tuple[Visibility, ...]
"""The class of each position, in the order of :func:`positions`."""
World = tuple[int, ...]
"""The bit of each position, in the same order."""
Guard = tuple[str, str]
"""The loss multipliers of FRIEND_VISIBLE and PRIVATE."""


def positions(n: int) -> list[tuple[int, int]]:
    """All pairs of n users, in the order in which the software numbers them."""
    return list(combinations(range(n), 2))


def patterns(n: int) -> list[Pattern]:
    """Every way to give each position a class: 27 for three users, 729 for four."""
    return list(product(Visibility, repeat=len(positions(n))))


@cache
def patterns_up_to_names(n: int) -> tuple[Pattern, ...]:
    """One pattern of each set that differ by the names of the users only: 66 for four users."""
    chosen: dict[Pattern, Pattern] = {}
    for pattern in patterns(n):
        chosen.setdefault(min(renamings(pattern, n)), pattern)
    return tuple(chosen.values())


def renamings(pattern: Pattern, n: int) -> Iterator[Pattern]:
    """The same pattern under every order of the users' names."""
    return (tuple(pattern[place] for place in order) for order in _orders(n))


def view_of(pattern: Pattern, n: int, guard: Guard = ("2", "1"), public_bit: int = 1) -> PublicView:
    """What everybody knows: the policy of this pattern, and an edge at every public position unless the bit is 0."""
    at = {kind: [p for p, c in zip(positions(n), pattern, strict=True) if c is kind] for kind in Visibility}
    policy = VisibilityPolicy.from_positions(at[Visibility.PUBLIC], at[Visibility.FRIEND_VISIBLE])
    edges = at[Visibility.PUBLIC] if public_bit else []
    return PublicView(range(n), policy.guarded(*guard), np.array(edges, np.int32).reshape(-1, 2))


def worlds(pattern: Pattern, public_bit: int = 1) -> Iterator[World]:
    """All graphs that agree on the public positions; private worlds count up, the last position fastest."""
    yield from product(*((public_bit,) if kind is Visibility.PUBLIC else (0, 1) for kind in pattern))


def flipped(world: World, place: int) -> World:
    """The neighbouring world in which the bit of one position is the other one."""
    return (*world[:place], 1 - world[place], *world[place + 1 :])


def neighbours(pattern: Pattern, public_bit: int = 1) -> Iterator[tuple[World, World, int]]:
    """Every pair of worlds that differ in one bit that is not public, the 0 first, and the place of that bit."""
    for world in worlds(pattern, public_bit):
        for place, kind in enumerate(pattern):
            if kind is not Visibility.PUBLIC and not world[place]:
                yield world, flipped(world, place), place


def neighbours_up_to_names(pattern: Pattern, n: int, public_bit: int = 1) -> list[tuple[World, World, int]]:
    """One pair of each set of pairs that differ by the names of the users only, from as few worlds as can be had."""
    keep_classes = [order for order in _orders(n) if tuple(pattern[place] for place in order) == pattern]
    alike: dict[World, list[tuple[World, World, int]]] = {}
    for world, other, place in neighbours(pattern, public_bit):
        marked = (*world[:place], 2, *world[place + 1 :])
        alike.setdefault(min(tuple(marked[at] for at in order) for order in keep_classes), []).append(
            (world, other, place)
        )
    chosen: list[tuple[World, World, int]] = []
    used: set[World] = set()
    for pairs in alike.values():
        chosen.append(min(pairs, key=lambda pair: len({*pair[:2]} - used)))
        used |= {*chosen[-1][:2]}
    return chosen


@cache
def _orders(n: int) -> tuple[tuple[int, ...], ...]:
    """For every renaming of the users, where each position goes."""
    return tuple(places_of(names) for names in permutations(range(n)))


def places_of(names: tuple[int, ...]) -> tuple[int, ...]:
    """Where each position goes when the users get these names."""
    pairs = positions(len(names))
    at = {pair: place for place, pair in enumerate(pairs)}
    return tuple(at[min(names[u], names[v]), max(names[u], names[v])] for u, v in pairs)


def friends(world: World, n: int, user: int) -> tuple[int, ...]:
    """The friend list of one user, in increasing order."""
    edges = [pair for pair, bit in zip(positions(n), world, strict=True) if bit and user in pair]
    return tuple(u + v - user for u, v in edges)
