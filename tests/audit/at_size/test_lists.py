"""Degrees and histograms at size: claims are used up, and a wrong bin is noticed."""

from __future__ import annotations

import numpy as np
import pytest

from visibility_aware_edge_ldp.audit.at_size import lists
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.hadamard import HadamardResponse

SETTING = lists.Setting(40, lists.MIXED.guarded("3", "1"))


@pytest.mark.parametrize("audit", [lists.audit_degrees, lists.audit_histogram])
def test_claims_are_used_up(audit: object) -> None:
    finding = audit("lists", [SETTING], "40 users")  # type: ignore[operator]
    assert finding.holds
    assert all(loss.found == pytest.approx(loss.claimed) for loss in finding.losses)


def test_a_wrong_row_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    real = HadamardResponse.randomize
    monkeypatch.setattr(HadamardResponse, "randomize", lambda self, bins, coins: real(self, np.roll(bins, 1), coins))
    with pytest.raises(ProtocolViolation):
        lists.refuse_other_columns(SETTING)
