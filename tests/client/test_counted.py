"""Users whose lists were counted answer as they do with their lists; what lists alone tell is refused."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from visibility_aware_edge_ldp.client.counted import CountedDegreeClient, CountedGroupClient
from visibility_aware_edge_ldp.client.views import ListCounts
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation, Refused
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_random_bytes, seeded_key
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.surveys.degrees import degree_survey
from visibility_aware_edge_ldp.public.surveys.groups import group_survey
from visibility_aware_edge_ldp.simulation.simulate import exact_purse, reports
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

GRAPH = erdos_renyi(40, 120)
WORLD = VisibilityAwareGraph(GRAPH).grouped({name: "ab"[name % 2] for name in GRAPH.names})


def key() -> bytes:
    return seeded_key(5, "degrees", 0)


def test_the_same_bytes_as_from_the_lists() -> None:
    survey = degree_survey(WORLD.public, 1)
    client = CountedDegreeClient(ListCounts(0, GRAPH.degrees[None]), WORLD.public, exact_purse(survey))
    (expected,) = reports(WORLD, survey, 5)
    sent = client.answer(survey, 1, keyed_random_bytes(key()))
    assert sent.layout.encode(sent) == expected.layout.encode(expected)
    assert client.answer(survey, 1, keyed_random_bytes(bytes(32))) == sent  # the first answer stands
    starts, friends = GRAPH.neighbours
    by_group = np.array([np.bincount(friends[a:b] % 2, minlength=2) for a, b in pairwise(starts)])
    asked = group_survey(WORLD.public, 1)
    grouped = CountedGroupClient(ListCounts(0, by_group.T.astype(np.int64)), WORLD.public, exact_purse(asked))
    (expected,) = reports(WORLD, asked, 5)
    sent = grouped.answer(asked, 1, keyed_random_bytes(seeded_key(5, "groups", 0)))
    assert sent.layout.encode(sent) == expected.layout.encode(expected)


def test_refusals_are_those_of_every_client() -> None:
    survey, dear = degree_survey(WORLD.public, 1), degree_survey(WORLD.public, 2)
    client = CountedDegreeClient(ListCounts(0, GRAPH.degrees[None]), WORLD.public, exact_purse(survey))
    with pytest.raises(Refused):
        client.answer(dear, 1, keyed_random_bytes(key()))
    other = VisibilityAwareGraph(erdos_renyi(41, 120))
    with pytest.raises(ProtocolViolation):
        client.answer(degree_survey(other.public, 1), 1, keyed_random_bytes(key()))


@pytest.mark.parametrize("counts", [[[40]], [[-1]], [[20, 0], [20, 0]]])
def test_numbers_that_no_list_has_are_refused(counts: list[list[int]]) -> None:
    with pytest.raises(BadInput, match="more friends than there are others"):
        CountedDegreeClient(ListCounts(0, np.array(counts)), WORLD.public, exact_purse(degree_survey(WORLD.public, 1)))


def test_several_classes_take_the_lists() -> None:
    world = VisibilityAwareGraph(GRAPH, VisibilityPolicy(0.2, 0.3, 0.5))
    with pytest.raises(BadInput, match="several classes"):
        CountedDegreeClient(
            ListCounts(0, GRAPH.degrees[None]), world.public, exact_purse(degree_survey(WORLD.public, 1))
        )
