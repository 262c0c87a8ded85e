"""Policies: every kind is symmetric, decided for non-edges, named by a digest, and never an n × n array."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from visibility_aware_edge_ldp.errors import BadPolicy
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.positions import position_count
from visibility_aware_edge_ldp.public.visibility import Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
SIZE = 40
NAMES = tuple(f"n{i}" for i in range(SIZE))
DEGREES = np.array([i % 7 for i in range(SIZE)])
COLOURS = ("red", "green", None)
TABLE = {name: {"colour": COLOURS[i % 3], "open": i % 4 == 0} for i, name in enumerate(NAMES)}
TYPE_TABLE = {("a", "a"): "public", ("a", "b"): FRIEND_VISIBLE, ("b", "b"): "private"}

KINDS: dict[str, VisibilityPolicy] = {
    "fractions": VisibilityPolicy(0.15, 0.35, 0.5),
    "nothing": VisibilityPolicy.nothing(),
    "profiles, both": VisibilityPolicy.from_profiles(dict.fromkeys(NAMES[::3], "public")),
    "profiles, any": VisibilityPolicy.from_profiles(dict.fromkeys(NAMES[::3], True), rule="any"),
    "drawn profiles": VisibilityPolicy.public_profiles(0.5, "both"),
    "types": VisibilityPolicy.from_types(dict.fromkeys(NAMES[::2], "a"), TYPE_TABLE, otherwise="b"),
    "attributes": VisibilityPolicy.from_attributes(
        TABLE, [{"same": "colour", "class": "public"}, {"any": "open", "value": True, "class": "friend_visible"}]
    ),
    "positions": VisibilityPolicy.from_positions([("n0", "n1"), ("n9", "n3")], [("n2", "n1")]),
    "hubs": VisibilityPolicy.public_hubs(0.2).resolved(NAMES, DEGREES),
    "joined": VisibilityPolicy(0.2) | VisibilityPolicy.from_profiles({"n1": "public"}),
}
every_kind = pytest.mark.parametrize("policy", KINDS.values(), ids=KINDS)


def by_name(policy: VisibilityPolicy, names: tuple[str, ...]) -> dict[frozenset[str], int]:
    u, v = np.triu_indices(len(names), 1)
    classes = policy.bind(names).of(u, v)
    return {frozenset((names[a], names[b])): int(kind) for a, b, kind in zip(u, v, classes, strict=True)}


@every_kind
def test_both_ends_agree(policy: VisibilityPolicy) -> None:
    u, v = np.triu_indices(SIZE, 1)
    bound = policy.bind(NAMES)
    assert np.array_equal(bound.of(u, v), bound.of(v, u))


@every_kind
def test_every_position_is_decided_edge_or_not(policy: VisibilityPolicy) -> None:
    classes = policy.bind(NAMES).range(0, position_count(SIZE))
    assert classes.dtype == np.uint8
    assert len(classes) == position_count(SIZE)
    assert set(classes.tolist()) <= {0, 1, 2}


@every_kind
def test_a_run_of_positions_is_the_same_as_its_ends(policy: VisibilityPolicy) -> None:
    bound = policy.bind(NAMES)
    expected = bound.of(*np.triu_indices(SIZE, 1))
    assert np.array_equal(bound.range(0, expected.size), expected)
    assert np.array_equal(bound.range(123, 77), expected[123:200])
    assert bound.range(5, 0).size == 0


@every_kind
def test_names_decide_and_not_their_order(policy: VisibilityPolicy) -> None:
    order = np.argsort([(17 * i) % SIZE for i in range(SIZE)])
    assert by_name(policy, tuple(NAMES[i] for i in order)) == by_name(policy, NAMES)


def test_the_twin_by_index_depends_on_order() -> None:
    """A policy over indices, which the test above must be able to tell from one over names."""
    forward = {frozenset((NAMES[a], NAMES[b])): (a + b) % 3 for a, b in combinations(range(SIZE), 2)}
    turned = NAMES[::-1]
    backward = {frozenset((turned[a], turned[b])): (a + b) % 3 for a, b in combinations(range(SIZE), 2)}
    assert forward != backward


def deviations(policy: VisibilityPolicy, shares: tuple[float, ...], n: int) -> list[float]:
    """How many standard deviations each class is away from its share of all positions."""
    total = position_count(n)
    found = np.bincount(policy.bind(range(n)).range(0, total), minlength=3)
    return [abs(count - total * p) / (total * p * (1 - p)) ** 0.5 for count, p in zip(found, shares, strict=True)]


@pytest.mark.parametrize("salt", ["va-edge-ldp", "other"])
def test_fractions_are_of_all_positions(salt: str) -> None:
    policy = VisibilityPolicy(0.15, 0.35, 0.5, salt=salt)
    assert max(deviations(policy, (0.15, 0.35, 0.5), 1500)) < 6.2
    assert max(deviations(policy, (0.16, 0.34, 0.5), 1500)) > 6.2


def test_another_salt_draws_other_positions() -> None:
    u, v = np.triu_indices(300, 1)
    one, same, other = (VisibilityPolicy(0.5, salt=salt).bind(range(300)).of(u, v) for salt in ("a", "a", "b"))
    assert np.array_equal(one, same)
    agree = (one == other).mean()
    assert 0.45 < agree < 0.55


def test_drawn_positions_are_spread_over_nodes() -> None:
    """Each node has its share of public positions: the hash of a pair is not the fate of one of its ends."""
    n = 600
    u, v = np.triu_indices(n, 1)
    public = VisibilityPolicy(0.3).bind(range(n)).of(u, v) == PUBLIC
    per_node = np.bincount(np.concatenate([u[public], v[public]]), minlength=n)
    sigma = ((n - 1) * 0.3 * 0.7) ** 0.5
    assert np.abs(per_node - 0.3 * (n - 1)).max() < 7 * sigma
    by_one_end = np.bincount(u, minlength=n)  # the twin: row u decides alone
    assert np.abs(by_one_end - 0.3 * (n - 1)).max() > 7 * sigma


@pytest.mark.parametrize(
    "fractions",
    [
        (1 / 3, 1 / 3, 1 / 3),
        (0.333333333, 0.333333333, 0.333333334),
        ("1/3", "1/3", "1/3"),
        (0.1, 0.2, 0.7),
        (0.331, 0, 0.669),
        (1, 0, 0),
        (0, 0, 1),
        (0.4,),
        (0.4, 0.6),
        (),
    ],
)
def test_fractions_that_sum_to_one(fractions: tuple[Any, ...]) -> None:
    bound = VisibilityPolicy(*fractions).bind(range(30))
    assert bound.range(0, 435).size == 435


@pytest.mark.parametrize(
    "fractions",
    [
        (0.5, 0.6),
        (0.5, 0.5, 0.5),
        (0.3, 0.3, 0.3),
        (0, 0, 0),
        (0.15, 0.35, 0.4999),
        (-0.1, 0.6, 0.5),
        (1.5,),
        ("x",),
        (float("nan"),),
        (float("inf"),),
        (True,),
        (None,),
    ],
)
def test_other_fractions_are_refused(fractions: tuple[Any, ...]) -> None:
    with pytest.raises(BadPolicy):
        VisibilityPolicy(*fractions)


def test_the_refusal_says_the_sum() -> None:
    with pytest.raises(BadPolicy, match=r"these sum to 1\.2\."):
        VisibilityPolicy(0.5, 0.6, 0.1)
    with pytest.raises(BadPolicy, match=r"these sum to 1\.1\."):
        VisibilityPolicy(0.5, 0.6)


def test_nothing_is_public_in_the_baseline() -> None:
    assert set(VisibilityPolicy.nothing().bind(NAMES).range(0, 100).tolist()) == {PRIVATE}


def test_profiles() -> None:
    both = by_name(VisibilityPolicy.from_profiles({"n0": "public", "n1": "public", "n2": "private"}), NAMES)
    some = by_name(VisibilityPolicy.from_profiles({"n0": True, "n1": np.bool_(True)}, "any"), NAMES)
    for ends, classes in {
        ("n0", "n1"): (PUBLIC, PUBLIC),
        ("n0", "n2"): (FRIEND_VISIBLE, PUBLIC),
        ("n2", "n3"): (PRIVATE, PRIVATE),
    }.items():
        assert (both[frozenset(ends)], some[frozenset(ends)]) == classes


def test_types() -> None:
    classes = by_name(KINDS["types"], NAMES)
    assert classes[frozenset(("n0", "n2"))] == PUBLIC
    assert classes[frozenset(("n0", "n1"))] == FRIEND_VISIBLE
    assert classes[frozenset(("n1", "n3"))] == PRIVATE


def test_listed_positions() -> None:
    classes = by_name(KINDS["positions"], NAMES)
    assert classes.pop(frozenset(("n0", "n1"))) == classes.pop(frozenset(("n3", "n9"))) == PUBLIC
    assert classes.pop(frozenset(("n1", "n2"))) == FRIEND_VISIBLE
    assert set(classes.values()) == {PRIVATE}


def test_a_position_on_both_lists_is_public() -> None:
    policy = VisibilityPolicy.from_positions([("n0", "n1")], [("n1", "n0")])
    assert by_name(policy, NAMES)[frozenset(("n0", "n1"))] == PUBLIC


@pytest.mark.parametrize(
    "make",
    [
        lambda: VisibilityPolicy.from_profiles({}, rule="none"),
        lambda: VisibilityPolicy.from_profiles({"n0": "open"}),
        lambda: VisibilityPolicy.from_profiles({"n0": 1}),  # type: ignore[dict-item]
        lambda: VisibilityPolicy.from_types({"n0": "a"}, {("a", "a"): "public"}, otherwise="b"),
        lambda: VisibilityPolicy.from_types({"n0": "a"}, {("a", "a"): "open"}, otherwise="a"),
        lambda: VisibilityPolicy.from_attributes(TABLE, []),
        lambda: VisibilityPolicy.from_attributes(TABLE, [{"same": "colour", "class": "x"}]),
        lambda: VisibilityPolicy.from_positions(otherwise="x"),
        lambda: VisibilityPolicy.public_profiles(1.5),
        lambda: VisibilityPolicy.public_profiles(0.5, rule="none"),
        lambda: VisibilityPolicy.public_hubs(1.5),
        lambda: VisibilityPolicy.public_hubs(0.5, by="age"),
        lambda: VisibilityPolicy.public_hubs(0.5, rule="none"),
    ],
)
def test_contradictory_policies_are_refused(make: Callable[[], VisibilityPolicy]) -> None:
    with pytest.raises(BadPolicy):
        make()


@pytest.mark.parametrize(
    "policy",
    [
        VisibilityPolicy.from_profiles({"n0": "public", "nobody": "public"}),
        VisibilityPolicy.from_types({"nobody": "a"}, TYPE_TABLE, otherwise="b"),
        VisibilityPolicy.from_attributes({"nobody": {"colour": "red"}}, [{"same": "colour", "class": "public"}]),
        VisibilityPolicy.from_positions([("n0", "nobody")]),
        VisibilityPolicy(0.5) | VisibilityPolicy.from_profiles({"nobody": "public"}),
    ],
)
def test_unknown_nodes_are_refused(policy: VisibilityPolicy) -> None:
    with pytest.raises(BadPolicy, match="'nobody'"):
        policy.bind(NAMES)


def test_hubs_are_an_oracle_and_say_so() -> None:
    policy = VisibilityPolicy.public_hubs("0.1")
    assert policy.is_oracle
    assert policy.assumptions == ("it is public knowledge who the hubs are",)
    with pytest.raises(BadPolicy, match="VisibilityAwareGraph"):
        policy.bind(NAMES)
    made = policy.resolved(NAMES, DEGREES)
    assert made.is_oracle
    assert made.assumptions == policy.assumptions


def test_hubs_are_the_nodes_of_highest_degree() -> None:
    classes = by_name(KINDS["hubs"], NAMES)  # 8 of 40; 5 nodes have degree 6, the first 3 of degree 5 come next
    hubs = {name for name in NAMES if all(classes[frozenset((name, o))] == PUBLIC for o in NAMES if o != name)}
    assert hubs == {"n6", "n13", "n20", "n27", "n34", "n5", "n12", "n19"}
    rest = [classes[frozenset(pair)] for pair in combinations(sorted(set(NAMES) - hubs), 2)]
    assert set(rest) == {PRIVATE}


def test_other_policies_are_no_oracles_and_stay_as_they_are() -> None:
    for kind, policy in KINDS.items():
        if kind != "hubs":
            assert not policy.is_oracle
            assert policy.resolved(NAMES, DEGREES) == policy


def test_joining_takes_the_more_open_class() -> None:
    first, second = KINDS["fractions"], KINDS["attributes"]
    u, v = np.triu_indices(SIZE, 1)
    a, b, both = (policy.bind(NAMES).of(u, v) for policy in (first, second, first | second))
    assert np.array_equal(both, np.minimum(a, b))
    assert not np.array_equal(both, a)
    assert not np.array_equal(both, b)


def test_joining_keeps_assumptions() -> None:
    assert (VisibilityPolicy(0.5) | KINDS["hubs"]).is_oracle
    assert (KINDS["hubs"] | VisibilityPolicy(0.5)).assumptions == KINDS["hubs"].assumptions


def test_a_joined_oracle_is_resolved_too() -> None:
    made = (VisibilityPolicy.public_hubs(0.2) | VisibilityPolicy(0.1)).resolved(NAMES, DEGREES)
    assert (by_name(made, NAMES)[frozenset(("n6", "n0"))]) == PUBLIC


DIFFERENT: list[VisibilityPolicy] = [
    *KINDS.values(),
    VisibilityPolicy(0.15, 0.34, 0.51),
    VisibilityPolicy(0.16, 0.34, 0.5),
    VisibilityPolicy(0.15, 0.35, 0.5, salt="another"),
    VisibilityPolicy(0, 0, 1),
    VisibilityPolicy.from_profiles(dict.fromkeys(NAMES[::3], "public"), rule="any")
    | VisibilityPolicy.from_profiles({}),
    VisibilityPolicy.from_profiles(dict.fromkeys(NAMES[::4], "public")),
    VisibilityPolicy.from_types(dict.fromkeys(NAMES[::2], "a"), TYPE_TABLE, otherwise="a"),
    VisibilityPolicy.from_types(dict.fromkeys(NAMES[::2], "a"), {**TYPE_TABLE, ("b", "b"): PUBLIC}, otherwise="b"),
    VisibilityPolicy.from_attributes(TABLE, [{"same": "colour", "class": "public"}]),
    VisibilityPolicy.from_attributes(TABLE, [{"differ": "colour", "class": "public"}]),
    VisibilityPolicy.from_attributes(TABLE, [{"same": "colour", "class": "friend_visible"}]),
    VisibilityPolicy.from_attributes(TABLE, [{"same": "open", "class": "public"}]),
    VisibilityPolicy.from_attributes(TABLE, [{"any": "open", "value": True, "class": "public"}]),
    VisibilityPolicy.from_attributes(TABLE, [{"any": "open", "value": False, "class": "public"}]),
    VisibilityPolicy.from_attributes(TABLE, [{"same": "colour", "class": "public"}], "friend_visible"),
    VisibilityPolicy.from_attributes(
        {**TABLE, "n0": {"colour": "green", "open": True}}, [{"same": "colour", "class": "public"}]
    ),
    VisibilityPolicy.from_positions([("n0", "n1")]),
    VisibilityPolicy.from_positions([], [("n0", "n1")]),
    VisibilityPolicy.from_positions([("n0", "n1")], otherwise="friend_visible"),
    VisibilityPolicy.public_profiles(0.5),
    VisibilityPolicy.public_profiles(0.51, "both"),
    VisibilityPolicy.public_profiles(0.5, "both", salt="another"),
    VisibilityPolicy.public_hubs(0.2),
    VisibilityPolicy.public_hubs(0.21),
    VisibilityPolicy.public_hubs(0.2, rule="both"),
]  # fmt: skip


def test_the_digest_changes_when_anything_changes() -> None:
    digests = [policy.digest for policy in DIFFERENT]
    assert all(len(digest) == 64 for digest in digests)
    assert len(set(digests)) == len(digests)
    assert all(a != b for a, b in combinations(DIFFERENT, 2))


@pytest.mark.parametrize(
    ("one", "same"),
    [
        (VisibilityPolicy(0.1, 0.2), VisibilityPolicy("1/10", "0.2", 0.7)),
        (
            VisibilityPolicy.from_profiles({"n0": "public", "n1": "private"}),
            VisibilityPolicy.from_profiles({"n1": False, "n0": True}),
        ),
        (
            VisibilityPolicy.from_positions([("n0", "n1"), ("n2", "n3")]),
            VisibilityPolicy.from_positions([("n3", "n2"), ("n1", "n0")]),
        ),
    ],
)
def test_the_same_policy_written_otherwise_has_the_same_digest(one: VisibilityPolicy, same: VisibilityPolicy) -> None:
    assert one.digest == same.digest
    assert one == same
    assert hash(one) == hash(same)


@pytest.mark.parametrize(("left", "right"), [(None, "None"), (1, "1")])
def test_values_of_unlike_types_have_unlike_digests(left: Any, right: Any) -> None:
    one, other = (
        VisibilityPolicy.from_attributes({"n0": {"c": value}, "n1": {"c": right}}, [{"same": "c", "class": "public"}])
        for value in (left, right)
    )
    assert by_name(one, NAMES) != by_name(other, NAMES)
    assert one.digest != other.digest


def test_the_digest_of_the_default_policy_is_pinned() -> None:
    assert VisibilityPolicy(0.15, 0.35, 0.5).digest == (
        "401f27ce8767c4a1caa70d7d0b0a701dadf8c367c28a57467783ccfec93aa93d"
    )


def peak_of_binding(policy: VisibilityPolicy, names: Any) -> int:
    """The most bytes in use while a policy is bound and asked about a thousand positions."""
    n = len(names)
    u = np.arange(1000) % (n - 1)
    tracemalloc.start()
    try:
        policy.bind(names).of(u, u + 1)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.long
@pytest.mark.parametrize("kind", ["hash", "types"])
def test_two_hundred_thousand_nodes_take_memory_in_proportion(kind: str) -> None:
    """A bit for each position would be 2.5 GB; the limit is 250 bytes a node."""
    n = 200_000
    names = range(n)
    policy = {
        "hash": VisibilityPolicy(0.2, 0.3),
        "types": VisibilityPolicy.from_profiles(dict.fromkeys(range(0, n, 5), "public")),
    }[kind]
    assert peak_of_binding(policy, names) < 250 * n < n * n // 8


@every_kind
def test_a_thousand_nodes_never_take_a_square(policy: VisibilityPolicy) -> None:
    names = NAMES + tuple(f"more {i}" for i in range(1000 - SIZE))
    assert peak_of_binding(policy, names) < 1000 * 1000 // 2


def test_the_twin_that_writes_the_square_down_is_caught() -> None:
    class Square(VisibilityPolicy):
        def bind(self, names: Any) -> Any:
            matrix = np.zeros((len(names), len(names)), np.uint8)
            return type("Bound", (), {"of": staticmethod(lambda u, v: matrix[u, v])})

    assert peak_of_binding(Square(0.5), range(1000)) > 1000 * 1000 // 2


def test_it_reads_aloud() -> None:
    assert str(VisibilityPolicy(0.15, 0.35)) == (
        "15.0% PUBLIC, 35.0% FRIEND_VISIBLE, 50.0% PRIVATE of all positions, "
        "by a hash under the public salt 'va-edge-ldp'"
    )
    assert repr(VisibilityPolicy.nothing()) == "<VisibilityPolicy: every position is PRIVATE>"
    assert str(KINDS["profiles, both"]) == "14 public profiles (rule 'both')"
    assert str(VisibilityPolicy.public_hubs(Fraction(1, 5))).startswith(
        "the 20.0% of nodes with the highest true degree"
    )
    assert str(KINDS["joined"]).startswith("the most open of: 20.0% PUBLIC")


def test_a_policy_is_not_equal_to_other_things() -> None:
    assert VisibilityPolicy.nothing() != "nothing"
    assert len({VisibilityPolicy(0.1), VisibilityPolicy(0.1), VisibilityPolicy(0.2)}) == 2


@pytest.mark.parametrize("name", KINDS)
def test_rows_are_the_classes_of_positions_with_later_nodes(name: str) -> None:
    bound = KINDS[name].bind(NAMES)
    for start, stop in [(0, SIZE), (3, 9), (SIZE - 1, SIZE), (4, 4)]:
        rows = bound.rows(start, stop)
        assert rows.shape == (stop - start, SIZE)
        for u, row in enumerate(rows, start):
            later = np.arange(u + 1, SIZE)
            assert np.array_equal(row[u + 1 :], bound.of(np.full(later.size, u), later)) or not later.size
