"""Statistics on uploads: the ledger's rows pass with nearly all of their claim shown, and the twins are caught."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from visibility_aware_edge_ldp.campaign.participant.seat import Seat
from visibility_aware_edge_ldp.evaluation.audit.campaign_bytes import (
    AUDITS,
    FRIEND_VISIBLE,
    HIGH,
    LOW,
    PRIVATE,
    TWINS,
    Campaigns,
    audits,
    twins,
)
from visibility_aware_edge_ldp.evaluation.audit.campaign_stage import as_it_is
from visibility_aware_edge_ldp.evaluation.audit.shipped_bytes import fresh_coins
from visibility_aware_edge_ldp.evaluation.audit.statistical import audit


def test_the_real_rows_pass_and_nearly_all_of_the_claim_is_shown() -> None:
    (real,) = audits(100_000)
    finding = real.run()
    assert finding.holds
    assert {loss.kind: loss.claimed for loss in finding.losses} == {"PRIVATE": 1, "FRIEND_VISIBLE": 2}
    for loss in finding.losses:
        assert loss.found >= 0.97 * loss.claimed


@pytest.mark.parametrize("number", range(len(TWINS)), ids=[twin.name for twin in TWINS])
def test_the_twin_is_caught_and_its_worlds_pass_when_it_is_mended(number: int) -> None:
    # Of the runs that are named, a twin takes a quarter.
    twin = twins(400_000 if "1.1" in TWINS[number].name else 80_000)[number]
    assert twin.run().caught
    name, (shipment,), runs = twin.run.args  # type: ignore[attr-defined]
    mended = replace(shipment, reader=as_it_is, coins=fresh_coins, seat=Seat)
    assert mended != shipment
    assert audit(name, [mended], runs).holds


def test_what_is_sent_has_the_law_of_the_chain() -> None:
    sent = Campaigns(PRIVATE, (LOW, HIGH)).send(np.ones(20_000, np.bool_), "law")
    assert sent.shape == (20_000, 2)
    for column, epsilon in zip(sent.T, (0.5, 1.0), strict=True):
        assert column.mean() == pytest.approx(1 / (1 + np.exp(-epsilon)), abs=0.02)
    # The worse answer is made from the better one: they agree more often than two fresh ones do.
    assert (sent[:, 0] == sent[:, 1]).mean() > 0.65


def test_a_campaign_again_hears_the_same_bits() -> None:
    sent = Campaigns(FRIEND_VISIBLE, (LOW, HIGH, LOW)).send(np.arange(500) % 3 == 0, "again")
    assert (sent[:, 0] == sent[:, 2]).all()
    assert (sent[:, 0] != sent[:, 1]).any()


def test_edges_stand_where_they_are_told() -> None:
    edges = np.arange(2000) % 2 == 0
    sent = Campaigns(PRIVATE, (("position", "20"),)).send(edges, "loud")
    assert (sent[:, 0] == edges).mean() > 0.999


def test_names_and_faults() -> None:
    assert [each.name for each in AUDITS] == ["campaign rows"]
    assert all(each.broken.endswith(".") and each.name.startswith("campaign rows, ") for each in TWINS)
