"""One plan of owned triangles: both rounds, what users say together and alone, and what counts tell."""

from __future__ import annotations

import numpy as np
import pytest

from visibility_aware_edge_ldp.audit.engine.enumerate_randomness import no_noise
from visibility_aware_edge_ldp.audit.engine.small_worlds import edges_of
from visibility_aware_edge_ldp.audit.protocols.neighbourhood_stage import (
    OwnedPair,
    OwnedStage,
    Spoken,
    losses_between,
    plan_of,
    real_users,
)
from visibility_aware_edge_ldp.client.neighbourhood import NeighbourhoodClient
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.views import two_hop
from visibility_aware_edge_ldp.public.surveys.neighbourhood import WEIGHTED
from visibility_aware_edge_ldp.public.visibility import Visibility

PRIVATE = Visibility.PRIVATE


def test_both_rounds_are_in_the_sum() -> None:
    stage = OwnedStage((PRIVATE,) * 6, 4, plan_of(WEIGHTED, 3, 3, 3, 3), "1/4", "3/4")
    first, second = stage.first_losses(0), stage.second_losses(0)
    assert first == pytest.approx(np.full(32, 0.25))
    assert 0 < second.max() < 0.75
    assert stage.asked(PRIVATE) == stage.billed(PRIVATE) == 1


def test_one_call_for_all_says_what_separate_users_say() -> None:
    """Each with the two steps that it sees alone."""
    stage = OwnedStage((PRIVATE,) * 10, 5, plan_of(WEIGHTED, 1, 2, 2, 3, 4))
    purse = {kind: price.epsilon for kind, price in stage.survey.payment().items()}
    for world in stage.worlds[::37]:
        edges = edges_of(world, 5)
        together = real_users(stage.survey, stage.view, edges).counts
        for user in range(5):
            alone = NeighbourhoodClient(two_hop(5, edges, user), stage.view, Purse(purse)).answer(
                stage.survey, 1, no_noise
            )
            assert alone.values.tolist() == [together[user]]


def test_counts_without_noise_or_with_other_noise_tell_everything() -> None:
    stage = OwnedStage((PRIVATE,) * 6, 4, plan_of(WEIGHTED, 2, 2, 3, 3), "", "1")
    scales = stage.plan.sensitivities
    one = Spoken(np.array([0, 1, 0, 0]), scales)
    moved, bare = replace_count(one, 1, scales), replace_count(one, 1, np.where(np.arange(4) == 1, 0, scales))
    assert losses_between(stage.survey, one, one) == 0
    assert losses_between(stage.survey, one, moved) == pytest.approx(float(stage.survey.loss) / scales[1])
    assert losses_between(stage.survey, one, bare) == np.inf
    assert losses_between(stage.survey, bare, replace_count(bare, 1, bare.scales)) == np.inf


def replace_count(spoken: Spoken, user: int, scales: np.ndarray) -> Spoken:
    """The same counts, but for one user, who counts one more."""
    return Spoken(spoken.counts + (np.arange(4) == user), scales)


def test_two_graphs_differ_in_one_edge() -> None:
    pair = OwnedPair((PRIVATE,) * 10, 5, plan_of(WEIGHTED, 4, 4, 4, 4, 4), edges=((0, 1), (0, 2)), changed=(1, 2))
    without, with_it = pair.worlds
    assert [place for place, (a, b) in enumerate(zip(without, with_it, strict=True)) if a != b] == pair.places
    assert pair.second_losses(pair.places[0]).max() > 0
