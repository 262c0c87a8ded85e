"""Every broken twin is caught by the audit that its real code passes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from visibility_aware_edge_ldp.client.hub import Hub
from visibility_aware_edge_ldp.client.neighbourhood import Neighbourhoods
from visibility_aware_edge_ldp.client.position import Respondent
from visibility_aware_edge_ldp.evaluation.audit.finding import Audit
from visibility_aware_edge_ldp.evaluation.audit.shipped_bytes import Pairs, Positions, degrees, fresh_coins
from visibility_aware_edge_ldp.evaluation.audit.shipped_counts import Hubs, Owned
from visibility_aware_edge_ldp.evaluation.audit.statistical import audit
from visibility_aware_edge_ldp.evaluation.audit.statistical_audits import PRIVATE, one_degree, one_round
from visibility_aware_edge_ldp.evaluation.audit.statistical_twins import (
    TWINS,
    ExactHub,
    LowThreshold,
    float_laplace,
    low_bits,
    twins,
)
from visibility_aware_edge_ldp.mechanisms.randomized_response import RandomizedResponse

# A difference of 2 % needs the whole million; the others are caught long before.
RUNS = {"threshold 2 % off": 10**6, "epsilon × 1.1": 200_000}


def named(name: str, runs: int) -> Audit:
    return next(each for each in twins(runs) if each.name == name)


@pytest.mark.parametrize("name", [each.name for each in TWINS])
def test_the_twin_is_caught(name: str) -> None:
    finding = named(name, RUNS.get(name, 100_000)).run()
    assert not finding.holds


@pytest.mark.parametrize("name", [each.name for each in TWINS])
def test_the_same_worlds_pass_with_nothing_broken(name: str) -> None:
    """The claim is right and the audit is fair: mended, every shipment holds."""
    _, shipments, runs = named(name, 100_000).run.args  # type: ignore[attr-defined]
    mended = []
    for shipment in shipments:
        if isinstance(shipment, Positions):
            surveys = one_round if isinstance(shipment.surveys, partial) else shipment.surveys
            mended.append(replace(shipment, surveys=surveys, client=Respondent, coins=fresh_coins))
        elif isinstance(shipment, Pairs):
            mended.append(replace(shipment, holders=degrees))
        else:
            mended.append(replace(shipment, client=Hub if isinstance(shipment, Hubs) else Neighbourhoods))
    assert audit(name, mended, runs).holds


def test_twins_say_what_is_broken() -> None:
    assert all(each.broken.endswith(".") for each in TWINS)
    assert sum("document 00" in each.broken for each in TWINS) >= 3


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
    for each in TWINS:
        for shipment in each.run.args[1]:  # type: ignore[attr-defined]
            if isinstance(shipment, Positions):
                changed = (
                    isinstance(shipment.surveys, partial),
                    shipment.client is not Respondent,
                    shipment.coins is not fresh_coins,
                )
                assert sum(changed) == 1
            if isinstance(shipment, Owned):
                assert shipment.client is not Neighbourhoods
