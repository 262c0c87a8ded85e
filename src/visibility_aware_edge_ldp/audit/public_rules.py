"""The class of every position, and whether it is inside a scope, beside rules written out pair by pair.

Every way in which the software looks classes up is compared; so are the digests by which clients tell policies apart.
What is counted are differences, not ε; 0 is claimed.  [POSITION.0], [SCOPE.1]
"""

from collections.abc import Callable, Hashable, Iterator
from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.audit.engine.findings import Finding, Loss, exact, exact_mutants
from visibility_aware_edge_ldp.privacy import Guarantee, OneEdge, Release
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.positions import TILE
from visibility_aware_edge_ldp.public.rules import ListedPositions
from visibility_aware_edge_ldp.public.scope import Outside, PublicPositions, Scope, group_scope, list_scope, named_scope
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
Pair = Callable[[Any, Any], Any]
# Names of two types: a number is not the word that looks like it.
NAMES: tuple[Hashable, ...] = ("ann", 7, "bob", "cay", "7", "dan", 3, "eve", "fay", 12, "gus")
TOWNS: dict[Hashable, str | None] = dict(zip(NAMES, (*"AABBACC", None, "A", None, "B"), strict=True))
AGES: dict[Hashable, int | None] = dict(zip(NAMES, (30, 30, 40, 30, None, 40, 50, 50, 30, 40, 30), strict=True))
SHOWN = frozenset({"ann", 7, "fay"})
LISTED: list[tuple[Hashable, Hashable]] = [("ann", "bob"), ("bob", "cay"), (3, 12), ("7", "gus")]
SOME: list[tuple[Hashable, Hashable]] = [("cay", "ann"), (7, "dan"), ("gus", "fay"), ("gus", "eve")]
# So many nodes show the shares of a policy that is drawn by a hash; so far from them is never by chance.
MANY, CHANCE = 400, 6.0


# ── the plain rules ──


def _in(pairs: list[Any]) -> Pair:
    named = {frozenset(pair) for pair in pairs}
    return lambda a, b: frozenset((a, b)) in named


def _profiles(rule: str) -> Pair:
    none_one_both = {"both": (PRIVATE, FRIEND_VISIBLE, PUBLIC), "any": (PRIVATE, PUBLIC, PUBLIC)}[rule]
    return lambda a, b: none_one_both[(a in SHOWN) + (b in SHOWN)]


def _attributes(a: Hashable, b: Hashable) -> Visibility:
    """The rules of ``RULES``, the first that holds."""
    town, age = (TOWNS[a], TOWNS[b]), (AGES[a], AGES[b])
    if None not in town and town[0] == town[1]:
        return FRIEND_VISIBLE
    if age == (30, 30):
        return PUBLIC
    if "C" in town:
        return PRIVATE
    return PUBLIC if None not in age and age[0] != age[1] else PRIVATE


RULES: list[dict[str, Any]] = [
    {"same": "town", "class": "friend_visible"},
    {"both": "age", "value": 30, "class": "public"},
    {"any": "town", "value": "C", "class": "private"},
    {"differ": "age", "class": "public"},
]
_TABLE = {name: {"town": TOWNS[name], "age": AGES[name]} for name in NAMES}
_TYPES = {name: town or "none" for name, town in TOWNS.items()}
_CELLS = {
    pair: tuple(Visibility)[place % 3]
    for place, pair in enumerate(combinations_with_replacement(("A", "B", "C", "none"), 2))
}
_PROFILES = dict.fromkeys(SHOWN, "public")
_LISTED, _SOME = _in(LISTED), _in(SOME)


def _both_lists(a: Hashable, b: Hashable) -> Visibility:
    return PUBLIC if _LISTED(a, b) else FRIEND_VISIBLE if _SOME(a, b) else PRIVATE


def policies() -> list[tuple[VisibilityPolicy, Pair]]:
    """Real policies beside plain rules from two names to a class."""
    profiles = [(VisibilityPolicy.from_profiles(_PROFILES, rule), _profiles(rule)) for rule in ("both", "any")]
    positions = VisibilityPolicy.from_positions(LISTED, SOME)
    types = VisibilityPolicy.from_types(_TYPES, _CELLS, "none")
    return [
        (VisibilityPolicy.nothing(), lambda a, b: PRIVATE),
        (VisibilityPolicy(0, 1, 0), lambda a, b: FRIEND_VISIBLE),
        (VisibilityPolicy(1, 0, 0), lambda a, b: PUBLIC),
        *profiles,
        (positions, _both_lists),
        (types, lambda a, b: _CELLS[min(_TYPES[a], _TYPES[b]), max(_TYPES[a], _TYPES[b])]),
        (VisibilityPolicy.from_attributes(_TABLE, RULES), _attributes),
        (profiles[0][0] | positions, lambda a, b: min(_profiles("both")(a, b), _both_lists(a, b))),
    ]


def scoped() -> Iterator[tuple[VisibilityPolicy, Pair, Pair]]:
    """The same inside scopes, beside plain rules for class and for being inside."""
    for policy, rule in policies():
        for scope, inside in scopes(policy, rule):
            yield policy.within(scope), _only(inside, rule), inside


def _only(inside: Pair, rule: Pair) -> Pair:
    return lambda a, b: rule(a, b) if inside(a, b) else PUBLIC


def scopes(policy: VisibilityPolicy, rule: Pair) -> Iterator[tuple[Scope, Pair]]:
    """Real scopes beside plain rules from two names to whether their position is inside."""
    towns, named = (
        group_scope(NAMES, "town", {name: town for name, town in TOWNS.items() if town}),
        named_scope(NAMES, SOME),
    )

    def same(a: Hashable, b: Hashable) -> bool:
        return TOWNS[a] is not None and TOWNS[a] == TOWNS[b]

    yield towns, same
    yield named, _SOME
    yield towns | named, lambda a, b: same(a, b) or _SOME(a, b)
    yield towns & named, lambda a, b: same(a, b) and _SOME(a, b)
    yield Outside(towns), lambda a, b: not same(a, b)
    yield towns | PublicPositions(), lambda a, b: same(a, b) or rule(a, b) is PUBLIC
    shown = [name for name in NAMES if all(rule(name, other) is PUBLIC for other in NAMES if other != name)]
    known = [
        (a, b) for i, (a, b) in enumerate(combinations(NAMES, 2)) if i % 3 and rule(a, b) is PUBLIC
    ]  # some of the public positions hold an edge
    lists = [{name, *(end for pair in known if name in pair for end in pair)} for name in shown]
    lists = [each for each in lists if len(each) > 1]
    if lists:
        edges = [(NAMES.index(a), NAMES.index(b)) for a, b in known]
        view = PublicView(NAMES, policy, np.array(edges, np.int32))
        yield list_scope(view), lambda a, b: rule(a, b) is PUBLIC or any({a, b} <= each for each in lists)


# ── classes, by every way in which they are looked up ──


def ways(policy: VisibilityPolicy) -> Iterator[np.ndarray]:
    """The class of every position, as a matrix of which the upper half is filled, by each way to look it up."""
    view, n = PublicView(NAMES, policy, np.zeros((0, 2), np.int32)), len(NAMES)
    u, v = np.triu_indices(n, 1)
    bound = view.classes
    yield bound.of(u, v)
    yield bound.of(v, u)
    yield bound.range(0, u.size)
    yield np.concatenate([bound.range(start, min(7, u.size - start)) for start in range(0, u.size, 7)])
    yield np.concatenate([bound.rows(start, start + 1) for start in range(n)])[u, v]
    for table in (bound.by_kinds, bound.by_groups):
        if table is not None:
            yield table.table[table.kinds[u], table.kinds[v]]
    bits = view.class_bits
    yield sum(int(kind) * np.unpackbits(bits[kind], count=u.size, bitorder="little") for kind in Visibility)  # type: ignore[misc]


def class_differences(policy: VisibilityPolicy, rule: Pair, inside: Pair = lambda a, b: True) -> tuple[int, int]:
    """How many classes, and what is made of them, differ from the plain rule; and how many were compared."""
    pairs = list(combinations(NAMES, 2))
    plain = np.array([int(rule(a, b)) for a, b in pairs])
    view = PublicView(NAMES, policy, np.zeros((0, 2), np.int32))
    different, looked = 0, 0
    for found in ways(policy):
        different, looked = different + int((found != plain).sum()), looked + plain.size
    u, v = np.triu_indices(len(NAMES), 1)
    within = np.array([bool(inside(a, b)) for a, b in pairs])
    different += int((view.classes.inside(u, v) != within).sum()) + int((view.classes.inside(v, u) != within).sum())
    different += sum(view.class_sizes[kind] != int((plain == kind).sum()) for kind in Visibility)
    different += int(view.outside != int((~within).sum()))
    different += len({Visibility(int(each)) for each in plain} - view.present)
    has = np.zeros((len(Visibility), len(NAMES)), np.bool_)
    has[plain, u] = has[plain, v] = True
    different += int((has & ~view.users_with(tuple(Visibility))).sum())
    return different, looked + 2 * plain.size


def drawn_differences() -> tuple[int, int]:
    """Policies that are drawn by a hash: their shares, from both ends, and that a public list is public as a whole."""
    names, (u, v) = range(MANY), np.triu_indices(MANY, 1)
    different = 0
    shares = (0.2, 0.3, 0.5)
    classes = VisibilityPolicy("0.2", "0.3", "0.5").bind(names)
    found = classes.of(u, v)
    different += int((found != classes.of(v, u)).sum())
    for kind, share in zip(Visibility, shares, strict=True):
        different += int(abs((found == kind).sum() - share * u.size) > CHANCE * (u.size * share * (1 - share)) ** 0.5)
    for rule in ("both", "any"):
        bound = VisibilityPolicy.public_profiles("0.3", rule).bind(names)
        square = np.full((MANY, MANY), PRIVATE, np.int64)
        square[u, v] = square[v, u] = bound.of(u, v)
        open_to_all = np.array([(np.delete(row, i) < PRIVATE).all() for i, row in enumerate(square)])
        ends = open_to_all[u].astype(int) + open_to_all[v]
        different += int((square[u, v] != np.array({"both": (2, 1, 0), "any": (2, 0, 0)}[rule])[ends]).sum())
        different += int(abs(open_to_all.sum() - 0.3 * MANY) > CHANCE * (MANY * 0.21) ** 0.5)
    return different, 3 * u.size


def tile_differences() -> tuple[int, int]:
    """Classes that are kept as bits for all positions, beyond one tile of them, beside those of each position."""
    n = int((2 * TILE) ** 0.5) + 80
    view = PublicView(range(n), VisibilityPolicy("0.2", "0.3", "0.5"), np.zeros((0, 2), np.int32))
    found = view.classes.of(*np.triu_indices(n, 1))
    bits = {kind: np.unpackbits(view.class_bits[kind], count=found.size, bitorder="little") for kind in Visibility}
    different = sum(int(((found == kind) != bits[kind]).sum()) for kind in Visibility)
    return different, found.size


def multiplier_differences() -> int:
    """How often a policy guards a class otherwise than it was told to."""
    plain, different = VisibilityPolicy.nothing(), 0
    for friends, own in (("2", "1"), ("3", "1/2"), ("5/2", "2")):
        told = {PUBLIC: Fraction(0), FRIEND_VISIBLE: Fraction(friends), PRIVATE: Fraction(own)}
        guarded = plain.guarded(friends, own)
        different += sum(guarded.multiplier(kind) != told[kind] for kind in Visibility)
        different += sum(guarded.multipliers.of(kind) != told[kind] for kind in Visibility)
    losses = [{**RULES[0], "loss": "7/2"}, *RULES[1:]]
    stated = VisibilityPolicy.from_attributes(_TABLE, losses)
    return different + int(stated.multiplier(FRIEND_VISIBLE) != Fraction(7, 2))


def shared_digests() -> int:
    """How many different policies, rosters and multipliers have the digest of another; surveys are told apart by it."""
    every = [policy for policy, _ in policies()] + [policy for policy, *_ in scoped()]
    every += [each.guarded(*guard) for each in every[:4] for guard in (("3", "1"), ("2", "1/2"))]
    classes = {(next(ways(each)).tobytes(), each.multipliers, each.scope is None): each.digest for each in every}
    rosters = [NAMES, tuple(map(str, NAMES)), NAMES[::-1], NAMES[:-1]]
    named = {
        PublicView(names, VisibilityPolicy.nothing(), np.zeros((0, 2), np.int32)).roster_digest for names in rosters
    }
    return len(classes) - len(set(classes.values())) + len(rosters) - len(named)


def forgotten_payments() -> int:
    """How many ways to make a policy of another one forget what choosing it has cost.  [HUBS.2]"""
    paid = (Release("0" * 64, 1, ((PRIVATE, Guarantee(OneEdge, Fraction(1, 3))),)),)
    bought = VisibilityPolicy.of(VisibilityPolicy.nothing().rule, paid=paid)
    scoped = bought.within(named_scope(NAMES, LISTED))
    other, degrees = VisibilityPolicy.from_positions(LISTED), np.zeros(len(NAMES), np.int64)
    made = (scoped, scoped.outside, scoped.without_scope, bought.guarded("3", "1"), bought | other, other | bought)
    return sum(each.paid != paid for each in (*made, bought.resolved(NAMES, degrees)))


Change = Callable[[VisibilityPolicy], VisibilityPolicy]


def audit_classes(name: str, change: Change, about: str) -> Finding:
    """How often the software gives a position another class than the rule says."""
    found = [class_differences(change(policy), rule) for policy, rule in policies()]
    found += [class_differences(change(policy), rule, inside) for policy, rule, inside in scoped()]
    found += [drawn_differences(), (shared_digests(), 1), (multiplier_differences(), 1), (forgotten_payments(), 7)]
    found.append(tile_differences())
    losses = (Loss("otherwise", 0, sum(different for different, _ in found)),)
    return Finding(name, "exact", losses, sum(looked for _, looked in found), about)


def as_it_is(policy: VisibilityPolicy) -> VisibilityPolicy:
    """The real policy."""
    return policy


def _more_open(policy: VisibilityPolicy) -> VisibilityPolicy:
    """A mutant: positions that a list makes FRIEND_VISIBLE are PUBLIC."""
    if not isinstance(policy.rule, ListedPositions):
        return policy
    return VisibilityPolicy.from_positions(LISTED + SOME)


AUDITS = (
    exact(
        "classes",
        audit_classes,
        as_it_is,
        "positions, not ε: nine policies and their scopes, by every way to look a class up, beside plain rules",
    ),
)
MUTANTS = exact_mutants(
    audit_classes, [("classes, more open", "FRIEND_VISIBLE positions of a list are PUBLIC.", _more_open)]
)
