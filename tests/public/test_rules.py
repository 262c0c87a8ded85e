"""Rules one by one: bound to a roster, they answer for any position, the same from both ends."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest

from visibility_aware_edge_ldp.errors import BadPolicy
from visibility_aware_edge_ldp.public.node_rules import DrawnProfiles, NodeTypes
from visibility_aware_edge_ldp.public.rules import KeyedHash, ListedPositions, MostOpen, Rule, SameClass
from visibility_aware_edge_ldp.public.visibility import Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
TABLE = ((PRIVATE, FRIEND_VISIBLE), (FRIEND_VISIBLE, PUBLIC))
NAMES = ("ann", "bob", "cem", "dua", 5)


def look_up(rule: Rule, names: tuple[object, ...] = NAMES) -> dict[frozenset[object], Visibility]:
    bound = rule.bind(names)  # type: ignore[arg-type]
    pairs = list(combinations(range(len(names)), 2))
    u, v = np.array(pairs).T
    return {frozenset((names[a], names[b])): Visibility(kind) for (a, b), kind in zip(pairs, bound(u, v), strict=True)}


RULES: dict[str, Rule] = {
    "same": SameClass(FRIEND_VISIBLE),
    "hash": KeyedHash(Fraction(1, 3), Fraction(1, 3), "salt"),
    "drawn profiles": DrawnProfiles(Fraction(1, 2), ((PRIVATE, FRIEND_VISIBLE), (FRIEND_VISIBLE, PUBLIC)), "salt"),
    "types": NodeTypes({"ann": 1, 5: 1}, TABLE, "two public"),
    "listed": ListedPositions({frozenset(("ann", "bob")): PUBLIC, frozenset((5, "dua")): FRIEND_VISIBLE}),
    "most open": MostOpen((SameClass(FRIEND_VISIBLE), NodeTypes({"ann": 1, 5: 1}, TABLE, ""))),
}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_both_ends_agree(rule: Rule) -> None:
    bound = rule.bind(NAMES)
    u, v = np.array(list(permutations(range(5), 2))).T
    classes = bound(u, v)
    assert classes.dtype == np.uint8
    assert np.array_equal(classes, bound(v, u))


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_names_decide_and_not_their_order(rule: Rule) -> None:
    expected = look_up(rule)
    for shuffled in (NAMES[::-1], NAMES[2:] + NAMES[:2]):
        assert look_up(rule, shuffled) == expected


@pytest.mark.parametrize("rule", [rule for kind, rule in RULES.items() if kind != "same"])
def test_not_every_position_is_alike(rule: Rule) -> None:
    """Without this, the two tests above could hold for a rule that looks at nothing."""
    assert len(set(look_up(rule).values())) > 1


def test_same_class() -> None:
    assert set(look_up(SameClass(PUBLIC)).values()) == {PUBLIC}
    assert str(SameClass(PRIVATE)) == "every position is PRIVATE"


@pytest.mark.parametrize("kind", list(Visibility))
def test_all_of_one_class_by_hash(kind: Visibility) -> None:
    rule = KeyedHash(Fraction(kind is PUBLIC), Fraction(kind is FRIEND_VISIBLE), "any")
    assert set(look_up(rule).values()) == {kind}


def test_the_hash_is_pinned() -> None:
    """Both sides of a survey, on any machine, must draw the same positions."""
    bound = KeyedHash(Fraction(1, 3), Fraction(1, 3), "va-edge-ldp").bind(range(7))
    u, v = np.triu_indices(7, 1)
    assert "".join(map(str, bound(u, v))) == "211011020011020010211"


def test_a_larger_share_only_opens_positions() -> None:
    few, more = (KeyedHash(Fraction(p, 10), Fraction(0), "s").bind(range(60)) for p in (2, 5))
    u, v = np.triu_indices(60, 1)
    assert (more(u, v) <= few(u, v)).all()
    assert (more(u, v) < few(u, v)).any()


def test_drawn_profiles_are_decided_by_nodes() -> None:
    """About the share asked for, and a position's class follows from its two ends by the table."""
    n, drawn = 4000, DrawnProfiles(Fraction(3, 10), TABLE, "s").bind(range(4000))
    others = np.arange(2, n)
    from_zero, from_one = (drawn(np.full_like(others, end), others) for end in (0, 1))
    is_open = from_zero < from_zero.max()
    assert np.array_equal(is_open, from_one < from_one.max())
    sigma = (len(others) * 0.3 * 0.7) ** 0.5
    assert abs(is_open.sum() - 0.3 * len(others)) < 6.2 * sigma
    assert abs(is_open.sum() - 0.4 * len(others)) > 6.2 * sigma


@pytest.mark.parametrize(("share", "kind"), [(0, PRIVATE), (1, PUBLIC)])
def test_no_profile_or_every_profile(share: int, kind: Visibility) -> None:
    assert set(look_up(DrawnProfiles(Fraction(share), TABLE, "s")).values()) == {kind}


def test_types_by_table() -> None:
    found = look_up(RULES["types"])
    assert found[frozenset(("ann", 5))] is PUBLIC
    assert found[frozenset(("ann", "bob"))] is FRIEND_VISIBLE
    assert found[frozenset(("bob", "cem"))] is PRIVATE


@pytest.mark.parametrize(
    "table",
    [((PRIVATE, PUBLIC), (PRIVATE, PUBLIC)), ((PRIVATE, PUBLIC),), ((PRIVATE,), (PRIVATE, PUBLIC))],
)
def test_a_table_on_which_the_ends_disagree_is_refused(table: tuple[tuple[Visibility, ...], ...]) -> None:
    with pytest.raises(BadPolicy, match="square and symmetric"):
        NodeTypes({}, table, "")


@pytest.mark.parametrize(("types", "otherwise"), [({"ann": 2}, 0), ({"ann": -1}, 0), ({}, 2), ({}, -1)])
def test_types_outside_the_table_are_refused(types: dict[str, int], otherwise: int) -> None:
    with pytest.raises(BadPolicy, match=r"must be 0\.\.1"):
        NodeTypes(types, TABLE, "", otherwise)


def test_listed_positions_and_all_others() -> None:
    found = look_up(RULES["listed"])
    assert found.pop(frozenset(("ann", "bob"))) is PUBLIC
    assert found.pop(frozenset((5, "dua"))) is FRIEND_VISIBLE
    assert set(found.values()) == {PRIVATE}
    assert set(look_up(ListedPositions({}, PUBLIC)).values()) == {PUBLIC}


@pytest.mark.parametrize("ends", [("ann",), ("ann", "bob", "cem")])
def test_a_position_has_two_ends(ends: tuple[str, ...]) -> None:
    with pytest.raises(BadPolicy, match="two different nodes"):
        ListedPositions({frozenset(ends): PUBLIC}).bind(NAMES)


@pytest.mark.parametrize(
    "rule",
    [
        NodeTypes({"eve": 1}, TABLE, ""),
        ListedPositions({frozenset(("ann", "eve")): PUBLIC}),
        MostOpen((SameClass(PRIVATE), NodeTypes({"eve": 1}, TABLE, ""))),
    ],
)
def test_strangers_are_refused_by_name(rule: Rule) -> None:
    with pytest.raises(BadPolicy, match="1 nodes that are not in the graph, such as 'eve'"):
        rule.bind(NAMES)


def test_the_most_open_class_wins() -> None:
    rules = [KeyedHash(Fraction(1, 3), Fraction(1, 3), salt) for salt in "abc"]
    bounds = [rule.bind(range(40)) for rule in rules]
    u, v = np.triu_indices(40, 1)
    joined = MostOpen(tuple(rules)).bind(range(40))(u, v)
    assert np.array_equal(joined, np.minimum.reduce([bound(u, v) for bound in bounds]))
    assert not np.array_equal(joined, bounds[0](u, v))


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_description_says_its_kind_and_prints(rule: Rule) -> None:
    assert rule.describe()["kind"] in {"same", "hash", "drawn profiles", "types", "listed", "most open"}
    assert str(rule)


def test_no_ends_no_classes() -> None:
    nobody = np.empty(0, np.int64)
    assert [rule.bind(NAMES)(nobody, nobody).size for rule in RULES.values()] == [0] * len(RULES)
