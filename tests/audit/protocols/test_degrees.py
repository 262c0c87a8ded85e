"""The audit of degrees holds for the real client and for no twin; truncation is accounted for.  [AUDIT.4-6]

All of it, pattern by pattern, is in ``tests/client/test_degrees_exact.py``.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from visibility_aware_edge_ldp.audit.engine.findings import Audit, Spoken
from visibility_aware_edge_ldp.audit.engine.small_worlds import audit_lists, by_row, patterns_up_to_names
from visibility_aware_edge_ldp.audit.protocols.degrees import AUDITS, MUTANTS, Stage, report_law
from visibility_aware_edge_ldp.client import degrees as user_degrees
from visibility_aware_edge_ldp.client.degrees import DegreeClient
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.randomness import Integers, RandomBytes
from visibility_aware_edge_ldp.privacy import Guarantee, OneListEntry
from visibility_aware_edge_ldp.public.surveys.degrees import DegreeSurvey
from visibility_aware_edge_ldp.public.visibility import Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
audit_degrees = partial(audit_lists, speak=report_law)


def test_the_real_client_holds_and_uses_its_claim_up() -> None:
    stages = [Stage(pattern, 3, "4", 1) for pattern in patterns_up_to_names(3)]
    finding = audit_degrees("real", stages, "three users")
    assert finding.holds
    for loss in finding.losses:
        assert loss.found >= 0.999 * loss.claimed
        assert loss.found_delta == 0
    assert finding.losses == audit_degrees("real", stages, "three users", speak=by_row(report_law)).losses


@pytest.mark.parametrize("audit", MUTANTS, ids=lambda audit: audit.name)
def test_every_twin_is_caught(audit: Audit) -> None:
    assert audit.broken
    assert not audit.run().holds


def test_the_audits_are_named() -> None:
    assert [(audit.name, audit.way, audit.broken) for audit in AUDITS] == [("user degrees", "exact", "")]


def test_the_law_of_a_report_leaves_out_what_was_not_walked() -> None:
    stage = Stage((PRIVATE,) * 3, 3, "4", 2)
    unwalked = Spoken(report_law(stage, 0, (1,))).unwalked
    assert float(unwalked) == pytest.approx(2 * float(stage.survey.mechanism(PRIVATE).cdf(-3)), rel=1e-12)


class CutNoise(DiscreteLaplace):
    """A broken twin: right in any window up to 20; rarer noises are cut off, and so tell what they are added to."""

    def sample(self, coins: RandomBytes) -> int:
        return max(-20, min(super().sample(coins), 20))

    def sample_many(self, count: int, coins: RandomBytes) -> Integers:
        return super().sample_many(count, coins).clip(-20, 20)


class CutSurvey(DegreeSurvey):
    def mechanism(self, kind: Visibility) -> DiscreteLaplace:
        return CutNoise(self.list_price(kind).epsilon)


def cut(survey: DegreeSurvey) -> DegreeSurvey:
    return CutSurvey(**{name: getattr(survey, name) for name in survey.__dataclass_fields__})


def test_a_tail_that_is_not_closed_is_told_as_delta() -> None:
    """The window sees nothing wrong; the claim fails all the same, by the probability that was not walked."""
    stage = Stage((PRIVATE,) * 3, 3, "4", 2, client=DegreeClient, question=cut)
    finding = audit_degrees("cut", [stage], "")
    assert not stage.closed
    assert finding.losses[0].found == pytest.approx(4)
    assert 0 < finding.losses[0].found_delta < 0.1
    assert not finding.holds


def test_the_client_broken_by_a_doubled_list_price_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = DegreeSurvey.list_price
    doubled = lambda self, kind: Guarantee(OneListEntry, 2 * honest(self, kind).epsilon)  # noqa: E731
    monkeypatch.setattr(DegreeSurvey, "list_price", doubled)
    assert not audit_degrees("broken", [Stage((PRIVATE,) * 3, 3, "4", 1)], "").holds


def test_the_client_broken_where_a_user_has_no_friends_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = user_degrees.randomize
    broken = lambda counts, *rest: np.where(counts == 0, 0, honest(counts, *rest))  # noqa: E731
    monkeypatch.setattr(user_degrees, "randomize", broken)
    assert not audit_degrees("broken", [Stage((PRIVATE,) * 3, 3, "4", 1)], "").holds
