"""Campaigns through the participant's ledger: the real one holds, mutants do not.  [LEDGER.2], [CHARTER.6]"""

from __future__ import annotations

import math

import numpy as np
import pytest

from visibility_aware_edge_ldp.audit.engine.enumerate_randomness import fresh_coins
from visibility_aware_edge_ldp.audit.protocols import campaign
from visibility_aware_edge_ldp.audit.protocols.campaign import (
    AUDITS,
    DEGREES,
    FRIEND_VISIBLE,
    HIGH,
    LOW,
    MIDDLE,
    MUTANTS,
    ONE_OF_TWO,
    ONE_PRIVATE,
    ONE_VISIBLE,
    PRIVATE,
    TRIANGLES,
    WORDS,
    Stage,
    audit_campaigns,
    conversation,
    uploads,
)
from visibility_aware_edge_ldp.audit.protocols.chain import ROUNDS, answered, contexts, forgets_worse, new_ledger, read
from visibility_aware_edge_ldp.campaign.participant import reports
from visibility_aware_edge_ldp.campaign.participant.answering import Task, standing
from visibility_aware_edge_ldp.campaign.participant.friend_lists import Friends
from visibility_aware_edge_ldp.campaign.questions import QUESTIONS
from visibility_aware_edge_ldp.campaign.wire_format import report_in
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.chain import chained
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.surveys import degrees as degree_wire


@pytest.mark.long
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
        for context in stage.contexts:
            answered(ledger, Task(context, 1), _nobody(2), fresh_coins("standing", context.charter.title))
        with ledger.reading() as page:
            told = float(standing(page, stage.contexts[0])[PRIVATE])
    assert stage.claims == {PRIVATE: 1, FRIEND_VISIBLE: 2}
    assert told == pytest.approx(stage.claims[PRIVATE])


def test_laws_are_whole() -> None:
    stage = Stage((PRIVATE, FRIEND_VISIBLE), (LOW,))
    assert [sum(conversation(stage, world).values()) for world in ((0, 1), (1, 1))] == [1, 1]
    assert len(conversation(stage, (0, 1))) == 4


def test_the_audits_are_named() -> None:
    assert [audit.name for audit in AUDITS] == ["campaign rows", "campaign triangles, round 1", "campaign uploads"]
    assert {audit.way for audit in (*AUDITS, *MUTANTS)} == {"exact"}


def test_the_twins_lose_what_they_must() -> None:
    findings = {audit.name: audit.run() for audit in MUTANTS}
    assert all(finding.caught for finding in findings.values())
    found = {name: finding.losses[0].found for name, finding in findings.items()}
    assert found == {
        "campaign rows, one uniform for all": math.inf,
        "campaign rows, re-asked edges": pytest.approx(1.5),
        "campaign rows, worse neighbour forgotten": pytest.approx(1.75),
        "campaign triangles, round 1, re-asked edges": pytest.approx(1.25 + first_share()),
        "campaign uploads, a byte for each friend": DEGREES[-1],
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
    monkeypatch.setattr(reports, "chained", faults[fault])
    with pytest.raises(ProtocolViolation, match="otherwise"):
        audit_campaigns(fault, [Stage(ONE_PRIVATE, (LOW, HIGH))], "")


def test_only_rows_are_read() -> None:
    (context,) = contexts(range(4), VisibilityPolicy.nothing(), [("degrees", "1")])
    with new_ledger() as ledger:
        upload = answered(ledger, Task(context, 1), _nobody(4), fresh_coins("degrees"))
    with pytest.raises(ProtocolViolation, match="row"):
        read(context, upload)


def _nobody(count: int) -> Friends:
    return Friends(np.zeros(count, np.bool_), ())


# ── Uploads have one length, whatever the list and the noise ──


def test_every_question_and_round_is_looked_at() -> None:
    *_, audit = AUDITS
    finding = audit.run()
    assert finding.holds
    assert finding.cases == sum(ROUNDS.values()) * len(DEGREES) * len(WORDS)
    assert {campaign._context(each).charter.question for each in ROUNDS} == set(QUESTIONS)


def test_the_twin_is_caught_by_the_longest_list() -> None:
    *_, twin = MUTANTS
    assert twin.run().caught
    assert twin.run().losses[0].found == DEGREES[-1]


def test_degrees_are_what_they_say() -> None:
    context, sent = campaign._context("degrees"), {}
    for degree in DEGREES:
        ((_, upload),) = uploads(context, degree, WORDS[0])
        sent[degree] = int(degree_wire.decode(report_in(upload)).values[0, 0])
    assert all(abs(value - degree) <= 1 for degree, value in sent.items())


def test_far_noise_is_far() -> None:
    ((_, near),), ((_, far),) = (uploads(campaign._context("degrees"), 0, word) for word in (WORDS[0], WORDS[2]))
    assert degree_wire.decode(report_in(far)).values[0, 0] - degree_wire.decode(report_in(near)).values[0, 0] > 10
    assert len(far) == len(near)
