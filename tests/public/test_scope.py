"""A scope is a public set of positions, the same for both ends, named by the policy's digest.  [SCOPE.1]"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from visibility_aware_edge_ldp.errors import BadPolicy
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.positions import endpoints
from visibility_aware_edge_ldp.public.scope import (
    Outside,
    PublicPositions,
    SameValue,
    Scope,
    group_scope,
    list_scope,
    named_scope,
    parse_scope,
)
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

N = 90
GRAPH = erdos_renyi(N, 700, seed=5)
EGOS = VisibilityPolicy.from_profiles({name: name in (3, 40, 77) for name in range(N)}, "any")
WORLD = VisibilityAwareGraph(GRAPH, EGOS)
U, V = endpoints(N, 0, N * (N - 1) // 2)
YEARS = {name: None if name % 7 == 0 else name % 3 for name in range(N)}
EDGES = {(int(u), int(v)) for u, v in GRAPH.edges}


def held(scope: Scope, view: PublicView = WORLD.public) -> np.ndarray:
    return scope.holds(U, V, view.classes.of(U, V))


def neighbours(node: int) -> set[int]:
    return {a + b - node for a, b in EDGES if node in (a, b)}


def test_lists_hold_who_stands_in_one_list_together_and_public_positions() -> None:
    lists = [neighbours(ego) | {ego} for ego in (3, 40, 77)]
    expected = [
        any(u in each and v in each for each in lists) or {u, v} & {3, 40, 77} != set()
        for u, v in zip(U.tolist(), V.tolist(), strict=True)
    ]
    assert held(list_scope(WORLD.public)).tolist() == expected
    assert 0 < sum(expected) < U.size


def test_more_lists_than_bits_in_a_word() -> None:
    many = VisibilityAwareGraph(GRAPH, VisibilityPolicy.from_profiles(dict.fromkeys(range(80), True), "any"))
    found = held(list_scope(many.public), many.public)
    lists = [neighbours(ego) | {ego} for ego in range(80)]
    inside = [any(u in each and v in each for each in lists) or u < 80 or v < 80 for u, v in zip(U, V, strict=True)]
    assert found.tolist() == inside


def test_groups_hold_equal_values_and_leave_who_has_none_outside() -> None:
    found = held(group_scope(range(N), "year", YEARS))
    expected = [YEARS[u] is not None and YEARS[u] == YEARS[v] for u, v in zip(U.tolist(), V.tolist(), strict=True)]
    assert found.tolist() == expected


def test_named_positions_are_held_whichever_way_round_they_are_named() -> None:
    found = held(named_scope(range(N), [(5, 2), (2, 5), (80, 81), (4, 4)]))
    assert {(u, v) for u, v in zip(U[found].tolist(), V[found].tolist(), strict=True)} == {(2, 5), (80, 81)}


@pytest.mark.parametrize("joined", ["or", "and", "outside"])
def test_scopes_are_joined_as_sets_are(joined: str) -> None:
    first, second = list_scope(WORLD.public), group_scope(range(N), "year", YEARS)
    a, b = held(first), held(second)
    scope, expected = {"or": (first | second, a | b), "and": (first & second, a & b), "outside": (Outside(first), ~a)}[
        joined
    ]
    assert (held(scope) == expected).all()


def test_both_ends_agree() -> None:
    scopes = [list_scope(WORLD.public), group_scope(range(N), "year", YEARS), named_scope(range(N), [(5, 2)])]
    classes = WORLD.public.classes.of(U, V)
    for scope in scopes:
        assert (scope.holds(U, V, classes) == scope.holds(V, U, classes)).all()


def test_words_are_read_with_and_before_or() -> None:
    made: dict[str, Scope] = {name: SameValue(name, np.zeros(N, np.int64)) for name in ("a", "b")}
    makers = {"group": lambda rest: made[rest], "public": lambda rest: PublicPositions()}
    scope = parse_scope("public | group:a & group:b", makers)
    assert str(scope) == "the position is public or (both ends have the same a and both ends have the same b)"


@pytest.mark.parametrize("text", ["", "list", "lists:3", "group", "group:", "lists |", "lists && public"])
def test_other_words_are_refused_with_what_can_be_said(text: str) -> None:
    with pytest.raises(BadPolicy, match=r"lists, public, group:ATTRIBUTE"):
        WORLD.inside(text, {0: {"year": 1}})


def test_what_a_scope_needs_is_said() -> None:
    nothing = VisibilityAwareGraph(GRAPH, "nothing")
    with pytest.raises(BadPolicy, match="needs public friend lists"):
        nothing.inside("lists")
    with pytest.raises(BadPolicy, match="--attributes FILE"):
        nothing.inside("group:year")
    with pytest.raises(BadPolicy, match=r"no column 'yaer'; it has year. Did you mean 'year'\?"):
        nothing.inside("group:yaer", {name: {"year": 1} for name in range(N)})
    with pytest.raises(BadPolicy, match="No node has a value"):
        nothing.inside("group:year", {name: {"year": None} for name in range(N)})
    with pytest.raises(BadPolicy, match="not in the graph"):
        nothing.inside("group:year", {"stranger": {"year": 1}})


def test_a_missing_value_is_named_in_the_words() -> None:
    table = {name: {"year": name % 3} for name in range(N)}
    world = VisibilityAwareGraph(GRAPH, "nothing").inside("group:year,missing=0", table)
    assert not world.public.classes.inside([0], [3])[0]
    assert world.public.classes.inside([1], [4])[0]


def test_the_view_inside_holds_public_edges_inside_and_counts_what_is_outside() -> None:
    scope = group_scope(range(N), "year", YEARS)
    inside, bits = WORLD.inside(scope).public, held(scope)
    edges = {(int(u), int(v)) for u, v in WORLD.public.edges}
    kept = {(u, v) for u, v in edges if YEARS[u] is not None and YEARS[u] == YEARS[v]}
    assert {(int(u), int(v)) for u, v in inside.edges} == kept
    assert inside.outside == np.count_nonzero(~bits)
    assert sum(inside.inside_sizes.values()) + inside.outside == inside.positions
    assert WORLD.public.within(scope).policy == inside.policy
    assert "outside the scope" in str(inside.secrets)
    classes = WORLD.public.classes.of(U, V)
    assert (inside.classes.of(U, V) == np.where(bits, classes, Visibility.PUBLIC)).all()
    assert (inside.classes.range(0, U.size) == inside.classes.of(U, V)).all()


def test_the_graph_inside_has_the_edges_inside_and_the_clients_hold_the_whole() -> None:
    world = WORLD.inside(group_scope(range(N), "year", YEARS))
    assert 0 < world.graph.m < world.whole.m == GRAPH.m
    assert world.share_inside["edges"] == world.graph.m / GRAPH.m


def test_the_digest_tells_scopes_apart() -> None:
    other = {**YEARS, 1: 2}
    scopes = [
        list_scope(WORLD.public),
        group_scope(range(N), "year", YEARS),
        group_scope(range(N), "year", other),
        group_scope(range(N), "yearn", YEARS),
        named_scope(range(N), [(1, 2)]),
        named_scope(range(N), [(1, 3)]),
        PublicPositions(),
        Outside(PublicPositions()),
        PublicPositions() | named_scope(range(N), [(1, 2)]),
        PublicPositions() & named_scope(range(N), [(1, 2)]),
    ]
    digests = [EGOS.digest, *(EGOS.within(scope).digest for scope in scopes)]
    assert all(a != b for a, b in itertools.combinations(digests, 2))
    assert EGOS.within(group_scope(range(N), "year", dict(YEARS))).digest == digests[2]


def test_a_scope_inside_a_scope_is_both() -> None:
    lists, years = list_scope(WORLD.public), group_scope(range(N), "year", YEARS)
    twice = EGOS.within(lists).within(years).bind(range(N)).inside(U, V)
    assert (twice == held(lists) & held(years)).all()


def test_policies_are_joined_before_they_are_given_a_scope() -> None:
    with pytest.raises(BadPolicy, match="joined before"):
        EGOS.within(PublicPositions()) | EGOS
