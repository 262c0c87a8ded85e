"""Every protocol has a collection, and it answers the statistics that the protocol names."""

from __future__ import annotations

from visibility_aware_edge_ldp.aggregator import COLLECTIONS
from visibility_aware_edge_ldp.public.protocol import PROTOCOLS
from visibility_aware_edge_ldp.public.statistic import STATISTICS

# A centre's answers are estimates by themselves.
WITHOUT = {"curator"}


def test_every_protocol_has_a_collection() -> None:
    assert set(COLLECTIONS) == set(PROTOCOLS) - WITHOUT


def test_a_collection_answers_what_its_protocol_says() -> None:
    for name, collection in COLLECTIONS.items():
        # A list of a sample has neither 4-cycles nor what takes all positions; the same reports in planes have.
        missing = PROTOCOLS[name].statistics - set(collection.estimators)
        complete = {each.name for each in STATISTICS.values() if each.complete}
        assert missing == ({"four_cycles", *complete} if name == "sample" else set())
        # What graphs of people and places have besides comes from the same reports.
        sided = {each.name for each in STATISTICS.values() if each.bipartite}
        assert set(collection.estimators) - sided <= PROTOCOLS[name].statistics
