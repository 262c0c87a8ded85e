"""Chained answers, alone: in any order the real sampler loses what its best answer may; its twins more.  [CHAIN.3]"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from visibility_aware_edge_ldp.audit.engine.enumerate_randomness import NUMBERS
from visibility_aware_edge_ldp.audit.protocols import chain
from visibility_aware_edge_ldp.audit.protocols.chain import (
    AUDITS,
    EPSILONS,
    MUTANTS,
    NO_MATTER,
    ORDERS,
    Stage,
    answer_coin,
    audit_chain,
    better_alone,
    conversation,
)
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.chain import chained, flip_given
from visibility_aware_edge_ldp.mechanisms.randomized_response import RandomizedResponse

HIGH, MIDDLE, LOW = (RandomizedResponse(each).threshold for each in EPSILONS)


def test_the_real_chain_holds_and_uses_its_claim_up() -> None:
    (audit,) = AUDITS
    finding = audit.run()
    assert finding.holds
    assert finding.cases == 2 * len(ORDERS) == 12
    (loss,) = finding.losses
    assert (loss.kind, loss.claimed) == ("PRIVATE", 2)
    assert loss.found >= 0.999999 * loss.claimed


def test_every_order_has_the_same_law() -> None:
    laws = []
    for order in ORDERS:
        law = conversation(Stage(order), True).law
        places = [order.index(epsilon) for epsilon in EPSILONS]
        laws.append({bytes(said[place] for place in places): chance for said, chance in law.items()})
        assert sum(law.values()) == 1
    for law in laws[1:]:
        assert law.keys() == laws[0].keys()
        assert max(abs(law[said] - laws[0][said]) for said in law) < Fraction(1, 1 << 120)


@pytest.mark.parametrize("agree", [False, True])
def test_coins_are_measured_as_the_law_says(agree: bool) -> None:
    change, other = answer_coin(MIDDLE, True, {HIGH: True, LOW: agree})
    law = flip_given(MIDDLE, HIGH, LOW, agree)
    assert abs(Fraction(change.numbers, NUMBERS) - law) <= Fraction(1, NUMBERS)
    assert change.numbers + other.numbers == NUMBERS


def test_an_answer_that_was_given_needs_no_coin() -> None:
    assert answer_coin(LOW, True, {LOW: False}) is NO_MATTER


def test_a_sampler_whose_answer_changes_back_is_not_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    def both_ends(threshold, bits, levels, coins):  # type: ignore[no-untyped-def]
        words = np.frombuffer(coins(8 * bits.size), ">u8").astype(np.uint64)
        return bits ^ ((words < threshold // 2) | (words >= np.uint64(2**64 - threshold // 2)))

    monkeypatch.setattr(chain, "chained", both_ends)
    with pytest.raises(ProtocolViolation, match="more than once"):
        answer_coin(LOW - 1, True, {})
    monkeypatch.setattr(chain, "chained", chained)
    assert len(answer_coin(LOW - 1, True, {})) == 2


def test_the_twins_lose_what_they_must() -> None:
    findings = {audit.name: audit.run() for audit in MUTANTS}
    assert all(finding.caught for finding in findings.values())
    assert {name: finding.losses[0].found for name, finding in findings.items()} == {
        "chained answers, one uniform at three ε": math.inf,
        "chained answers, fresh every time": pytest.approx(3.5),
        "chained answers, worse neighbour forgotten": pytest.approx(3.5),
    }


def test_forgetting_what_is_worse_does_no_harm_from_the_best_on() -> None:
    assert audit_chain("downwards", [Stage(EPSILONS, better_alone)], "").holds
    assert not audit_chain("upwards", [Stage(EPSILONS[::-1], better_alone)], "").holds
