"""The audit of a centre that publishes: answer and bound together, and the twins that it must catch.  [WALK.11]"""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from visibility_aware_edge_ldp.audit.engine.findings import Audit
from visibility_aware_edge_ldp.audit.protocols.published import (
    AUDITS,
    MUTANTS,
    PublishedQuestion,
    audit_published,
    questions,
    told_loss,
)
from visibility_aware_edge_ldp.mechanisms.noisy_bound import NO_NOISE
from visibility_aware_edge_ldp.public.visibility import Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility


@pytest.mark.parametrize("delta", ["0", "1e-6"])
@pytest.mark.parametrize("statistic", ["triangles", "stars:2"])
def test_answer_and_bound_together_keep_the_claim(statistic: str, delta: str) -> None:
    finding = audit_published(statistic, questions(statistic, delta)[::5])
    assert finding.holds
    for loss in finding.losses:
        if not loss.claimed_delta:
            # Nothing is given away: the pair loses all that is claimed.
            assert loss.found == pytest.approx(loss.claimed, rel=1e-6)


def test_what_nothing_can_move_loses_nothing() -> None:
    """No edge at the public positions: the friend-visible one can never close a triangle."""
    question = PublishedQuestion((FRIEND_VISIBLE, PUBLIC, PUBLIC), 3, "stars:2")
    assert question.told((0, 1, 1))[0] != NO_NOISE
    assert told_loss((NO_NOISE, math.inf), (NO_NOISE, math.inf)) == 0
    assert told_loss((NO_NOISE, math.inf), (3, 0.1)) == math.inf
    assert told_loss((3, 0.1), (5, 0.1)) == pytest.approx(0.2)


def test_the_price_is_that_of_the_answer_and_of_the_bound() -> None:
    question = PublishedQuestion((PRIVATE,) * 6, 4, "triangles")
    assert question.bills[PRIVATE].epsilon == 1
    assert question.bills[FRIEND_VISIBLE].epsilon == 2
    assert question.survey.bounds[0].price(PRIVATE).epsilon == Fraction(1, 5)


@pytest.mark.parametrize("audit", MUTANTS, ids=lambda audit: f"{audit.name}: {audit.broken}")
def test_every_twin_is_caught(audit: Audit) -> None:
    assert not audit.run().holds


@pytest.mark.long
@pytest.mark.parametrize("audit", AUDITS, ids=lambda audit: audit.name)
def test_every_audit_holds(audit: Audit) -> None:
    assert audit.run().holds
