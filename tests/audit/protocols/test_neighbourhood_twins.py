"""Mutants of the client that counts what it owns: each is caught."""

from __future__ import annotations

import numpy as np

from visibility_aware_edge_ldp.audit.protocols import neighbourhood_stage as twins
from visibility_aware_edge_ldp.audit.protocols.neighbourhood_stage import OwnedStage, plan_of, sent_counts
from visibility_aware_edge_ldp.client.neighbourhood import NeighbourhoodClient
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.views import TwoHop
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_random_bytes, seeded_key
from visibility_aware_edge_ldp.public.surveys.neighbourhood import WEIGHTED
from visibility_aware_edge_ldp.public.visibility import Visibility


def test_friends_are_counted_from_both_ends() -> None:
    """What two of the twins go by: the users of a part of the roster, and their own degrees."""
    stage = OwnedStage((Visibility.PRIVATE,) * 6, 4, plan_of(WEIGHTED, 3, 3, 3, 3), "", "1")
    edges = np.array([[0, 1], [0, 2], [1, 2]], np.int32)
    client = NeighbourhoodClient(TwoHop(0, edges, 4), stage.view, Purse({}))
    assert twins.own_friends(client).tolist() == [2, 2, 2, 0]


def test_who_has_no_friends_is_the_only_one_without_noise() -> None:
    """In the twin that is sure of those who are alone; the real client adds noise for everybody."""
    stage = OwnedStage((Visibility.PRIVATE,) * 6, 4, plan_of(WEIGHTED, 3, 3, 3, 3), "", "1", twins.SureAlone)
    edges = np.array([[0, 1], [0, 2], [1, 2]], np.int32)
    sent = [
        [sent_counts(stage.survey, stage.view, edges, keyed_random_bytes(seeded_key(i)), each)[3] for i in range(20)]
        for each in (twins.SureAlone, NeighbourhoodClient)
    ]
    assert set(sent[0]) == {0}
    assert len(set(sent[1])) > 1
