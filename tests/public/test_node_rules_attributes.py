"""Rules over public attributes, checked against their meaning in words."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from visibility_aware_edge_ldp.errors import BadPolicy
from visibility_aware_edge_ldp.public.node_rules import KINDS, AttributeRule, Attributes, parse_rules
from visibility_aware_edge_ldp.public.visibility import Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
TABLE: dict[Any, dict[str, Any]] = {
    "ann": {"school": "x", "open": True},
    "bob": {"school": "x", "open": False},
    "cem": {"school": "y", "open": True},
    "dua": {"school": None, "open": True},
    "eli": {"school": None},
}
NAMES = (*TABLE, "fay")  # nobody knows anything about fay
MEANING: dict[str, Callable[[Any, Any], bool]] = {
    "same": lambda a, b: a is not None and a == b,
    "differ": lambda a, b: a is not None and b is not None and a != b,
    "both": lambda a, b: a == b == "x",
    "any": lambda a, b: "x" in (a, b),
}


def classes(rules: Attributes) -> dict[tuple[str, str], Visibility]:
    u, v = np.array(list(permutations(range(len(NAMES)), 2))).T
    found = rules.bind(NAMES)(u, v)
    return {(NAMES[a], NAMES[b]): Visibility(kind) for a, b, kind in zip(u, v, found, strict=True)}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_means_what_it_says(kind: str) -> None:
    rule = AttributeRule(kind, "school", PUBLIC, "x" if kind in ("both", "any") else None)
    found = classes(Attributes(TABLE, (rule,)))
    expected = {
        (a, b): PUBLIC if MEANING[kind](TABLE.get(a, {}).get("school"), TABLE.get(b, {}).get("school")) else PRIVATE
        for a, b in found
    }
    assert found == expected
    assert set(found.values()) == {PUBLIC, PRIVATE}
    assert all(found[a, b] == found[b, a] for a, b in found)


def test_missing_values_never_match() -> None:
    found = classes(Attributes(TABLE, (AttributeRule("same", "school", PUBLIC),)))
    assert found["dua", "eli"] is PRIVATE
    both = classes(Attributes(TABLE, (AttributeRule("both", "school", PUBLIC, None),)))
    assert set(both.values()) == {PRIVATE}


def test_a_number_that_nobody_has_matches_nobody() -> None:
    found = classes(Attributes(TABLE, (AttributeRule("any", "school", PUBLIC, 12345),)))
    assert set(found.values()) == {PRIVATE}


@pytest.mark.parametrize("kind", ["any", "both"])
def test_a_text_that_nobody_has_is_a_slip(kind: str) -> None:
    with pytest.raises(BadPolicy, match=r"No node has 'z' in the column 'school', which has .*check the spelling"):
        classes(Attributes(TABLE, (AttributeRule(kind, "school", PUBLIC, "z"),)))


def test_the_first_rule_that_holds_decides() -> None:
    first, second = AttributeRule("same", "school", FRIEND_VISIBLE), AttributeRule("any", "open", PUBLIC, True)
    one, other = classes(Attributes(TABLE, (first, second))), classes(Attributes(TABLE, (second, first)))
    assert one["ann", "bob"] is FRIEND_VISIBLE
    assert other["ann", "bob"] is PUBLIC
    assert one["bob", "cem"] is other["bob", "cem"] is PUBLIC
    assert one["eli", "fay"] is PRIVATE


def test_otherwise_may_be_open() -> None:
    found = classes(Attributes(TABLE, (AttributeRule("both", "open", PRIVATE, False),), FRIEND_VISIBLE))
    assert set(found.values()) == {FRIEND_VISIBLE}


def test_strangers_and_unknown_columns_are_refused() -> None:
    rule = AttributeRule("same", "school", PUBLIC)
    with pytest.raises(BadPolicy, match="such as 'zoe'"):
        Attributes({"zoe": {"school": "x"}}, (rule,)).bind(NAMES)
    with pytest.raises(BadPolicy, match="column 'colour'"):
        Attributes(TABLE, (AttributeRule("same", "colour", PUBLIC),)).bind(NAMES)


def test_rules_from_tables() -> None:
    lines = [
        {"same": "school", "class": "public"},
        {"both": "open", "value": True, "class": "friend-visible"},
        AttributeRule("differ", "school", PRIVATE),
    ]
    assert parse_rules(lines) == (
        AttributeRule("same", "school", PUBLIC),
        AttributeRule("both", "open", FRIEND_VISIBLE, True),
        AttributeRule("differ", "school", PRIVATE),
    )


@pytest.mark.parametrize(
    "line",
    [
        {},
        {"same": "school"},
        {"class": "public"},
        {"same": "a", "both": "b", "class": "public"},
        {"alike": "a", "class": "public"},
    ],
)
def test_half_a_rule_is_refused(line: dict[str, str]) -> None:
    with pytest.raises(BadPolicy, match="needs one of same, both, any, differ and a class"):
        parse_rules([line])


def test_no_rules_unknown_kinds_and_unknown_classes_are_refused() -> None:
    with pytest.raises(BadPolicy, match="at least one rule"):
        parse_rules([])
    with pytest.raises(BadPolicy, match="'alike' is not a kind of rule"):
        AttributeRule("alike", "school", PUBLIC)
    with pytest.raises(BadPolicy, match="not a visibility class"):
        parse_rules([{"same": "school", "class": "open"}])


def test_it_reads_aloud() -> None:
    rules = parse_rules(
        [{"same": "school", "class": "public"}, {"any": "open", "value": True, "class": "friend_visible"}]
    )
    assert str(Attributes(TABLE, rules)) == (
        "PUBLIC when both ends have the same value of school; "
        "FRIEND_VISIBLE when at least one end has the given value of open = True; otherwise PRIVATE"
    )


def test_attributes_are_not_printed() -> None:
    assert "ann" not in repr(Attributes(TABLE, (AttributeRule("same", "school", PUBLIC),)))
