"""Campaigns through the participant's ledger: the real one holds, twins that forget do not.  [LEDGER.2]"""

from __future__ import annotations

import math

import numpy as np
import pytest

from visibility_aware_edge_ldp.campaign.participant import answers
from visibility_aware_edge_ldp.campaign.participant.answering import Task, standing
from visibility_aware_edge_ldp.campaign.participant.friends import Friends
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.evaluation.audit.campaign_stage import answered, forgets_worse, new_ledger, seats
from visibility_aware_edge_ldp.evaluation.audit.exact_campaign import (
    AUDITS,
    FRIEND_VISIBLE,
    HIGH,
    LOW,
    MIDDLE,
    ONE_OF_TWO,
    ONE_PRIVATE,
    ONE_VISIBLE,
    PRIVATE,
    TRIANGLES,
    TWINS,
    Stage,
    audit_campaigns,
    conversation,
    read,
)
from visibility_aware_edge_ldp.evaluation.audit.shipped_bytes import fresh_coins
from visibility_aware_edge_ldp.mechanisms.chain import chained
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy


@pytest.mark.parametrize(
    "stage",
    [
        Stage(ONE_PRIVATE, (LOW, HIGH, MIDDLE)),
        Stage(ONE_VISIBLE, (MIDDLE, LOW, MIDDLE)),
        Stage((PRIVATE, FRIEND_VISIBLE), (LOW, HIGH)),
        Stage(ONE_OF_TWO, (LOW, TRIANGLES[0], HIGH)),
    ],
    ids=["private", "friend-visible", "two classes", "triangles"],
)
def test_the_real_ledger_holds_and_uses_its_claim_up(stage: Stage) -> None:
    finding = audit_campaigns("real", [stage], "")
    assert finding.holds
    assert len(finding.losses) == len({*stage.row} & {PRIVATE, FRIEND_VISIBLE})
    for loss in finding.losses:
        assert loss.found >= 0.999999 * loss.claimed


def test_the_ledger_tells_its_owner_what_is_claimed() -> None:
    stage = Stage(ONE_PRIVATE, (LOW, HIGH, MIDDLE))
    with new_ledger() as ledger:
        for seat in stage.seats:
            answered(ledger, Task(seat, 1), _nobody(2), fresh_coins("standing", seat.charter.title))
        with ledger.reading() as page:
            told = float(standing(page, stage.seats[0])[PRIVATE])
    assert stage.claims == {PRIVATE: 1, FRIEND_VISIBLE: 2}
    assert told == pytest.approx(stage.claims[PRIVATE])


def test_laws_are_whole() -> None:
    stage = Stage((PRIVATE, FRIEND_VISIBLE), (LOW,))
    assert [sum(conversation(stage, world).values()) for world in ((0, 1), (1, 1))] == [1, 1]
    assert len(conversation(stage, (0, 1))) == 4


def test_the_audits_are_named() -> None:
    assert [audit.name for audit in AUDITS] == ["campaign rows", "campaign triangles, round 1"]
    assert {audit.way for audit in (*AUDITS, *TWINS)} == {"exact"}


def test_the_twins_lose_what_they_must() -> None:
    findings = {audit.name: audit.run() for audit in TWINS}
    assert all(finding.caught for finding in findings.values())
    found = {name: finding.losses[0].found for name, finding in findings.items()}
    assert found == {
        "campaign rows, one uniform for all": math.inf,
        "campaign rows, re-asked edges": pytest.approx(1.5),
        "campaign rows, worse neighbour forgotten": pytest.approx(1.75),
        "campaign triangles, round 1, re-asked edges": pytest.approx(1.25 + first_share()),
    }


def first_share() -> float:
    """What the first round of triangles costs by itself."""
    return Stage(ONE_OF_TWO, TRIANGLES[:1]).claims[PRIVATE]


def test_forgetting_what_is_worse_does_no_harm_from_the_dearest_on() -> None:
    assert audit_campaigns("downwards", [Stage(ONE_PRIVATE, (HIGH, MIDDLE, LOW), forgets_worse)], "").holds


@pytest.mark.parametrize("fault", ["no levels", "another threshold", "the bit", "a constant"])
def test_a_program_that_draws_otherwise_than_was_measured_is_refused(
    fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Coins are those of the real chain; whoever does something else with them must not pass as harmless."""
    faults = {
        "no levels": lambda threshold, bits, levels, coins: chained(threshold, bits, [], coins),
        "another threshold": lambda threshold, bits, levels, coins: chained(threshold - 2**40, bits, levels, coins),
        "the bit": lambda threshold, bits, levels, coins: bits | (coins(8 * bits.size) == b""),
        "a constant": lambda threshold, bits, levels, coins: np.zeros_like(bits) | (coins(8 * bits.size) == b""),
    }
    monkeypatch.setattr(answers, "chained", faults[fault])
    with pytest.raises(ProtocolViolation, match="otherwise"):
        audit_campaigns(fault, [Stage(ONE_PRIVATE, (LOW, HIGH))], "")


def test_only_rows_are_read() -> None:
    (seat,) = seats(range(4), VisibilityPolicy.nothing(), [("degrees", "1")])
    with new_ledger() as ledger:
        upload = answered(ledger, Task(seat, 1), _nobody(4), fresh_coins("degrees"))
    with pytest.raises(ProtocolViolation, match="row"):
        read(seat, upload)


def _nobody(count: int) -> Friends:
    return Friends(np.zeros(count, np.bool_), ())
