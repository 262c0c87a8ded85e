"""Groups: every member in one, sorted by name, small ones and gaps among the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.public.groups import MOST, REST, Groups, everybody, exact_by_groups, group_by, groups_of
from visibility_aware_edge_ldp.truth.readers import read_graph

YEARS = {1: 2008, 2: 2007, 3: 2008, 4: None, 5: 2006}


def test_values_become_groups_in_order_and_gaps_the_rest() -> None:
    groups = group_by([1, 2, 3, 4, 5, 6], "year", YEARS)
    assert groups.labels == ("2006", "2007", "2008", REST)
    assert groups.members.tolist() == [2, 1, 2, 3, 0, 3]
    assert groups.sizes.tolist() == [1, 1, 2, 2]
    assert groups.pairs[:3] == [("2006", "2006"), ("2006", "2007"), ("2006", "2008")]
    assert len(groups.pairs) == 10


def test_small_groups_join_the_rest() -> None:
    groups = group_by([1, 2, 3, 4, 5], "year", YEARS, least=2)
    assert groups.labels == ("2008", REST)
    assert groups.members.tolist() == [0, 1, 0, 1, 1]
    with pytest.raises(BadInput, match="has 3 members"):
        group_by([1, 2, 3], "year", YEARS, least=3)


@pytest.mark.parametrize(
    ("labels", "members", "words"),
    [
        ((), [], "from 1 to"),
        (("a", "a"), [0, 1], "name of its own"),
        (("a",), [1], "no name"),
        (("a",), [-1], "no name"),
    ],
)
def test_what_is_no_grouping_is_refused(labels: Any, members: list[int], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        Groups("x", labels, np.array(members, np.int64))
    with pytest.raises(BadInput, match=str(MOST)):
        Groups("x", tuple(map(str, range(MOST + 1))), np.zeros(3, np.int64))


def test_equal_groups_are_equal_and_others_are_not() -> None:
    first, other = (Groups("x", ("a", "b"), np.array(members)) for members in ([0, 1], [1, 0]))
    assert first == Groups("x", ("a", "b"), np.array([0, 1]))
    assert first != other
    assert first != "x"
    assert len({first, Groups("x", ("a", "b"), np.array([0, 1]))}) == 1
    assert str(first) == "2 groups by x"


def test_a_graph_without_groups_is_one_group() -> None:
    graph = read_graph([(1, 2), (2, 3)])
    assert groups_of(graph) == everybody(3)
    assert exact_by_groups("mixing", graph).tolist() == [2.0]
    assert exact_by_groups("group_degrees", graph).tolist() == [pytest.approx(4 / 3)]


def test_entries_are_named_after_groups_and_terms() -> None:
    groups = Groups("ward", ("N", "S"), np.array([0, 1, 1]))
    assert groups.entries_of("mixing") == [("N", "N"), ("N", "S"), ("S", "S")]
    assert groups.entries_of("contacts") == [("N", "N"), ("N", "S"), ("S", "N"), ("S", "S")]
    assert groups.entries_of("coleman") == ["N", "S"]
    assert groups.entries_of("ergm_targets")[:3] == ["edges", "nodematch.ward", "nodematch.ward.N"]
