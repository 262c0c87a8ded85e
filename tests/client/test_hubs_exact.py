"""The whole protocol (b) on small worlds: no transcript of all hubs tells more than was promised.  [HUB.2, HUB.5]

The machinery is the audit's own (``audit/protocols/hubs.py``): the real hubs answer in every private graph.
"""

from __future__ import annotations

import math

import pytest

from visibility_aware_edge_ldp.audit.protocols.hubs import (
    SETTINGS,
    ExactHub,
    RecordingSurvey,
    Setting,
    WithoutFloors,
    WithoutWeights,
    all_said,
    losses_of,
    real_hub,
    recording,
)
from visibility_aware_edge_ldp.client.hubs import HubClient
from visibility_aware_edge_ldp.public.surveys.hubs import hub_plan, hub_survey
from visibility_aware_edge_ldp.public.visibility import Visibility

# A large epsilon makes the floors small, so that small graphs reach the moving part of the scale.
EPSILON = 4


def largest_loss(setting: Setting, survey: RecordingSurvey, client: type[HubClient] = HubClient) -> float:
    """Over all classes: they are all promised the same."""
    return max(loss for _, loss in losses_of(setting, survey, all_said(setting, survey, client)))


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("kind", ["shared", "plain"])
def test_every_private_graph_keeps_the_promise(name: str, kind: str) -> None:
    setting = SETTINGS[name]
    loss = largest_loss(setting, setting.survey(EPSILON, kind))
    assert 0.1 * EPSILON < loss <= EPSILON * (1 + 1e-9)


def test_the_scale_moves_in_one_of_these_worlds() -> None:
    """Otherwise the test above would say nothing about noise that follows private data."""
    setting = SETTINGS["many public friends"]
    survey = setting.survey(EPSILON, "shared")
    said = (real_hub(survey, setting.view, setting.whole(world), 0) for world in setting.worlds())
    assert len({each.numbers[0].bound for each in said}) > 1


def test_friend_visible_positions_lose_no_more_than_private_ones() -> None:
    """Three classes: hubs' positions are public, two others friend-visible; all losses stay at the strictest."""
    setting = SETTINGS["two classes"]
    survey = setting.survey(EPSILON, "shared")
    assert setting.view.present == set(Visibility)
    assert survey.price(Visibility.FRIEND_VISIBLE) == survey.price(Visibility.PRIVATE)
    assert largest_loss(setting, survey) <= EPSILON * (1 + 1e-9)


def test_a_hub_that_answers_exactly_is_caught() -> None:
    """Document 004: public nodes do not add noise."""
    setting = SETTINGS["one hub of four"]
    survey = recording(hub_survey(setting.view, EPSILON, "shared", hub_plan(setting.view, setting.hubs)))
    assert largest_loss(setting, survey, ExactHub) == math.inf


def test_noise_at_the_own_sensitivity_without_a_floor_is_caught() -> None:
    """c = 1 and c = 2 without smoothing: the scale doubles with one edge."""
    setting = SETTINGS["one hub of four"]
    assert largest_loss(setting, setting.survey(1, "shared"), WithoutFloors) > 1.2


def test_all_reporters_at_full_epsilon_is_caught() -> None:
    """Positions that two territories share pay twice where weights are left out."""
    setting = SETTINGS["two hubs sharing two"]
    assert largest_loss(setting, setting.survey(EPSILON, "shared"), WithoutWeights) > 1.05 * EPSILON
