"""Every broken twin is caught by the audit that its real code passes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from visibility_aware_edge_ldp.audit.engine.enumerate_randomness import fresh_coins
from visibility_aware_edge_ldp.audit.engine.findings import Audit
from visibility_aware_edge_ldp.audit.protocols.chain import as_it_is
from visibility_aware_edge_ldp.audit.protocols.hubs import ExactHub
from visibility_aware_edge_ldp.audit.protocols.mechanisms import LowThreshold
from visibility_aware_edge_ldp.audit.statistical.lower_bound import audit
from visibility_aware_edge_ldp.audit.statistical.mutants import (
    HIGH,
    LOW,
    MUTANTS,
    Campaigns,
    campaign_audits,
    float_laplace,
    low_bits,
    mutants,
)
from visibility_aware_edge_ldp.audit.statistical.shipped_counts import Hubs, Owned
from visibility_aware_edge_ldp.audit.statistical.shipped_lists import (
    PRIVATE,
    Pairs,
    Positions,
    degrees,
    one_degree,
    one_round,
)
from visibility_aware_edge_ldp.campaign.participant.reports import ParticipantContext
from visibility_aware_edge_ldp.client.hubs import HubClient
from visibility_aware_edge_ldp.client.neighbourhood import NeighbourhoodClient
from visibility_aware_edge_ldp.client.position import PositionClient
from visibility_aware_edge_ldp.mechanisms.randomized_response import RandomizedResponse
from visibility_aware_edge_ldp.public.visibility import Visibility

# A difference of 2 % needs the whole million; the others are caught long before.
RUNS = {"threshold 2 % off": 10**6, "epsilon × 1.1": 200_000, "campaign rows, ε × 1.1": 400_000}


def named(name: str, runs: int) -> Audit:
    return next(each for each in mutants(runs) if each.name == name)


@pytest.mark.parametrize("name", [each.name for each in MUTANTS])
def test_the_twin_is_caught(name: str) -> None:
    finding = named(name, RUNS.get(name, 100_000)).run()
    assert not finding.holds


@pytest.mark.parametrize("name", [each.name for each in MUTANTS])
def test_the_same_worlds_pass_with_nothing_broken(name: str) -> None:
    """The claim is right and the audit is fair: mended, every shipment holds."""
    _, shipments, runs = named(name, 400_000 if name == "campaign rows, ε × 1.1" else 100_000).run.args  # type: ignore[attr-defined]
    mended = []
    for shipment in shipments:
        if isinstance(shipment, Positions):
            surveys = one_round if isinstance(shipment.surveys, partial) else shipment.surveys
            mended.append(replace(shipment, surveys=surveys, client=PositionClient, coins=fresh_coins))
        elif isinstance(shipment, Pairs):
            mended.append(replace(shipment, holders=degrees))
        elif isinstance(shipment, Campaigns):
            mended.append(replace(shipment, reader=as_it_is, coins=fresh_coins, context=ParticipantContext))
            assert mended[-1] != shipment
        else:
            mended.append(replace(shipment, client=HubClient if isinstance(shipment, Hubs) else NeighbourhoodClient))
    assert audit(name, mended, runs).holds


def test_twins_say_what_is_broken() -> None:
    assert all(each.broken.endswith(".") for each in MUTANTS)
    assert sum("document 00" in each.broken for each in MUTANTS) >= 3


def test_the_low_threshold_is_two_percent_low() -> None:
    honest = RandomizedResponse(one_round_price())
    assert LowThreshold(one_round_price()).threshold == honest.threshold * 98 // 100
    assert LowThreshold(one_round_price()).flip < honest.flip


def one_round_price():  # type: ignore[no-untyped-def]
    return Positions(PRIVATE, one_round).claimed.epsilon


def test_an_exact_hub_says_the_count() -> None:
    assert Hubs(client=ExactHub).send(np.array([False, True]), "test").ravel().tolist() == [2, 4]


def test_the_float_noise_is_laplace() -> None:
    """The twin's fault is in its low bits alone: its law is right."""
    noise = float_laplace(2.0, 200_000, fresh_coins("float"))
    assert abs(noise.mean()) < 0.03
    assert noise.var() == pytest.approx(8, rel=0.03)


def test_low_bits() -> None:
    read = low_bits(np.array([1.0, 6.0, 0.75, -0.375, 3 + 2.0**-40]))
    assert read[:, 0].tolist() == [1, 6, 0, -1, 3]
    assert read[:, 1].tolist() == [0, 1, -2, -3, -40]


def test_whole_numbers_have_no_low_bits_that_tell() -> None:
    """The reading that catches doubles finds nothing in the integers of the real client."""

    def read(lists, public, purse):  # type: ignore[no-untyped-def]
        answer = degrees(lists, public, purse)
        return lambda survey, coins: low_bits(answer(survey, coins)[:, 0].astype(np.float64))

    assert audit("user degrees", [Pairs(PRIVATE, one_degree, read)], 100_000).holds


def test_every_twin_of_a_position_differs_from_the_real_code_in_one_thing() -> None:
    for each in MUTANTS:
        for shipment in each.run.args[1]:  # type: ignore[attr-defined]
            if isinstance(shipment, Positions):
                changed = (
                    isinstance(shipment.surveys, partial),
                    shipment.client is not PositionClient,
                    shipment.coins is not fresh_coins,
                )
                assert sum(changed) == 1
            if isinstance(shipment, Owned):
                assert shipment.client is not NeighbourhoodClient


# ── Uploads of campaigns ──


def test_the_real_rows_pass_and_nearly_all_of_the_claim_is_shown() -> None:
    (real,) = campaign_audits(100_000)
    finding = real.run()
    assert finding.holds
    assert {loss.kind: loss.claimed for loss in finding.losses} == {"PRIVATE": 1, "FRIEND_VISIBLE": 2}
    for loss in finding.losses:
        assert loss.found >= 0.97 * loss.claimed


def test_what_is_sent_has_the_law_of_the_chain() -> None:
    sent = Campaigns(PRIVATE, (LOW, HIGH)).send(np.ones(20_000, np.bool_), "law")
    assert sent.shape == (20_000, 2)
    for column, epsilon in zip(sent.T, (0.5, 1.0), strict=True):
        assert column.mean() == pytest.approx(1 / (1 + np.exp(-epsilon)), abs=0.02)
    # The worse answer is made from the better one: they agree more often than two fresh ones do.
    assert (sent[:, 0] == sent[:, 1]).mean() > 0.65


def test_a_campaign_again_hears_the_same_bits() -> None:
    sent = Campaigns(Visibility.FRIEND_VISIBLE, (LOW, HIGH, LOW)).send(np.arange(500) % 3 == 0, "again")
    assert (sent[:, 0] == sent[:, 2]).all()
    assert (sent[:, 0] != sent[:, 1]).any()


def test_edges_stand_where_they_are_told() -> None:
    edges = np.arange(2000) % 2 == 0
    sent = Campaigns(PRIVATE, (("position", "20"),)).send(edges, "loud")
    assert (sent[:, 0] == edges).mean() > 0.999


def test_names_and_faults() -> None:
    assert [each.name for each in campaign_audits(1000)] == ["campaign rows"]
    assert sum(each.broken.endswith(".") and each.name.startswith("campaign rows, ") for each in MUTANTS) == 3
