"""Rules over nodes: profiles, types and hubs; the same classes by position, by row and by range."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from visibility_aware_edge_ldp.errors import BadPolicy
from visibility_aware_edge_ldp.public.node_rules import (
    ByTable,
    DrawnProfiles,
    NodeTypes,
    OracleHubs,
    profile_rule,
    profile_table,
    resolved,
)
from visibility_aware_edge_ldp.public.positions import endpoints, position_count
from visibility_aware_edge_ldp.public.rules import MostOpen, SameClass
from visibility_aware_edge_ldp.public.visibility import Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
NAMES = tuple(range(9))


def bound(rule: NodeTypes | DrawnProfiles) -> ByTable:
    found = rule.bind(NAMES)
    assert isinstance(found, ByTable)
    return found


@pytest.mark.parametrize(("rule", "one_end"), [("both", FRIEND_VISIBLE), ("any", PUBLIC)])
def test_public_ends_open_a_position(rule: str, one_end: Visibility) -> None:
    classes = bound(profile_rule({0: "public", 1: True, 2: "private"}, rule))
    ends = np.array([(0, 1), (0, 2), (3, 1), (2, 3)]).T
    assert classes(*ends).tolist() == [PUBLIC, one_end, one_end, PRIVATE]


@pytest.mark.parametrize(
    "rule", [profile_rule({0: True, 4: True}, "both"), DrawnProfiles(Fraction(1, 2), profile_table("any"), "s")]
)
def test_ranges_and_rows_say_what_positions_say(rule: NodeTypes | DrawnProfiles) -> None:
    classes, total = bound(rule), position_count(len(NAMES))
    every = classes(*endpoints(len(NAMES), 0, total))
    for start in range(total):
        for count in (0, 1, total - start):
            assert classes.range(start, count).tolist() == every[start : start + count].tolist()
    rows = classes.rows(2, 5)
    for row, u in enumerate(range(2, 5)):
        assert rows[row, u + 1 :].tolist() == classes(np.full(8 - u, u), np.arange(u + 1, 9)).tolist()


def test_classes_that_are_present_are_those_of_some_pair() -> None:
    alone = profile_rule({0: "public"}, "both")
    assert alone.present(NAMES) == {FRIEND_VISIBLE, PRIVATE}  # nobody else is public
    assert profile_rule({0: "public", 1: "public"}, "both").present((0, 1)) == {PUBLIC}


def test_an_oracle_is_resolved_by_degree_also_inside_other_rules() -> None:
    oracle, degrees = OracleHubs(Fraction(2, 9), "any"), np.array([1, 5, 2, 9, 0, 0, 0, 0, 5])
    found = resolved(MostOpen((oracle, SameClass(PRIVATE))), NAMES, degrees)
    assert isinstance(found, MostOpen)
    assert found.rules[0] == profile_rule({3: "public", 1: "public"}, "any")
    assert resolved(SameClass(PUBLIC), NAMES, degrees) == SameClass(PUBLIC)
    with pytest.raises(BadPolicy, match="chosen by true degree"):
        oracle.bind(NAMES)
    assert oracle.present(NAMES) == {PUBLIC, PRIVATE}


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(BadPolicy, match="use 'both' or 'any'"):
        profile_rule({}, "some")
    with pytest.raises(BadPolicy, match="must be 'public' or 'private'"):
        profile_rule({0: "open"}, "any")
    with pytest.raises(BadPolicy, match="square and symmetric"):
        NodeTypes({}, ((PRIVATE, PUBLIC), (PRIVATE, PUBLIC)), "")
    with pytest.raises(BadPolicy, match=r"Node types must be 0\.\.1"):
        NodeTypes({0: 2}, ((PRIVATE, PUBLIC), (PUBLIC, PUBLIC)), "")
