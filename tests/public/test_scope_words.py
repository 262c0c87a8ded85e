"""A scope in words with its tables is the scope that the words mean, wherever they are read.  [SCOPE.1]"""

from __future__ import annotations

import numpy as np
import pytest

from visibility_aware_edge_ldp.errors import BadPolicy
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.positions import endpoints
from visibility_aware_edge_ldp.public.scope import group_scope, list_scope, named_scope
from visibility_aware_edge_ldp.public.scope_words import ScopeWords
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

N = 40
VIEW = VisibilityAwareGraph(
    erdos_renyi(N, 200, seed=1), VisibilityPolicy.from_profiles({1: True, 7: True}, "any")
).public
U, V = endpoints(N, 0, VIEW.positions)
WARDS = {name: name % 3 for name in range(N) if name % 5}
PAIRS = [(0, 3), (9, 2)]
WORDS = ScopeWords("lists & group:ward,missing=9 | file:pairs.csv", {"ward,missing=9": WARDS}, {"pairs.csv": PAIRS})


def test_words_and_tables_make_the_scope() -> None:
    expected = list_scope(VIEW) & group_scope(VIEW.names, "ward", WARDS) | named_scope(VIEW.names, PAIRS)
    classes = VIEW.classes.of(U, V)
    assert (WORDS.scope(VIEW).holds(U, V, classes) == expected.holds(U, V, classes)).all()
    assert 0 < np.count_nonzero(WORDS.scope(VIEW).holds(U, V, classes)) < U.size


def test_what_the_words_need() -> None:
    assert WORDS.needs() == ({"ward,missing=9"}, {"pairs.csv"})
    assert ScopeWords("lists | public").needs() == (set(), set())
    with pytest.raises(BadPolicy, match="use lists"):
        ScopeWords("lists | nobody").needs()


def test_names_are_those_of_the_roster_that_are_written_alike() -> None:
    texts = ScopeWords("group:ward", {"ward": {str(name): ward for name, ward in WARDS.items()}})
    assert texts.for_roster(range(N)).columns["ward"] == WARDS
    with pytest.raises(BadPolicy, match="not in the roster"):
        texts.for_roster(range(30))
