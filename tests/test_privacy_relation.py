"""Relations are types, and each says in words what it is about."""

from __future__ import annotations

import pytest

from visibility_aware_edge_ldp.privacy import OneDegree, OneEdge, OneListEntry, Relation


@pytest.mark.parametrize(
    ("relation", "begins"), [(OneEdge, "per edge:"), (OneListEntry, "per list:"), (OneDegree, "per degree:")]
)
def test_every_relation_says_what_it_is_about(relation: type[Relation], begins: str) -> None:
    assert issubclass(relation, Relation)
    assert relation.words.startswith(begins)


def test_the_two_relations_are_unlike() -> None:
    assert not issubclass(OneEdge, OneListEntry)
    assert not issubclass(OneListEntry, OneEdge)
    assert OneEdge.words != OneListEntry.words


def test_one_edge_is_against_everybody_who_sees_everything() -> None:
    assert "every report of every round of every user" in OneEdge.words


def test_the_root_promises_nothing() -> None:
    assert not hasattr(Relation, "words")
