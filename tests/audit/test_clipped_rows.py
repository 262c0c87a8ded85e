"""Double clipping holds with its δ, and twins that claim pure ε or add less noise are caught.  [CLIP.1-3]"""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from visibility_aware_edge_ldp.audit import clipped_rows
from visibility_aware_edge_ldp.audit.clipped_rows import ClippedStage, PaperSurvey, pure_loss, spent_delta


def test_the_real_clients_hold() -> None:
    (audit,) = clipped_rows.AUDITS
    found = audit.run()
    assert found.holds
    assert found.cases == 192


@pytest.mark.parametrize("mutant", clipped_rows.MUTANTS, ids=lambda audit: audit.broken)
def test_twins_are_caught(mutant: clipped_rows.Audit) -> None:
    assert mutant.run().caught


def test_pure_epsilon_fails_by_as_much_as_one_more_friend_moves_others() -> None:
    """Two friends before the third have one noisy triangle more each: twice the noise would be needed."""
    paper = ClippedStage(PaperSurvey, Fraction(0))
    assert 3.5 < pure_loss(paper) < 4
    assert pure_loss(ClippedStage()) <= 3


def test_a_small_epsilon_takes_a_large_delta() -> None:
    stage = ClippedStage()
    case = (1, 2, 3), (1, 2), (1, 1, 1)
    deltas = [spent_delta(stage, *case, epsilon) for epsilon in (0.0, 1.0, 2.0, 3.0)]
    assert deltas == sorted(deltas, reverse=True)
    assert deltas[0] > math.tanh(0.5)  # what the answer in the first round tells alone
    assert deltas[-1] < 1e-12


def test_a_client_that_sends_something_else_stops_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ClippedStage, "total", lambda *case: 10**6)
    with pytest.raises(clipped_rows.ProtocolViolation, match="other numbers"):
        ClippedStage().check_client((1, 2), (1, 1, 1))
