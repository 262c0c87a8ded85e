"""Audits in other worlds than theirs do not ring on the real code."""

from __future__ import annotations

import pytest

from audit import repeats
from visibility_aware_edge_ldp.audit.engine.findings import Finding, Loss


@pytest.mark.parametrize("name", repeats.WAYS)
def test_another_world_does_not_ring(name: str) -> None:
    assert not repeats.rang(name, 1)


def test_a_ring_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def loud(seed: int) -> Finding:
        return Finding("", "exact", (Loss("PRIVATE", 1, 1 + seed % 2),), 1, "")

    monkeypatch.setattr(repeats, "WAYS", {"loud": loud, "quiet": lambda seed: loud(0)})
    assert repeats.main(4) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("loud")
    assert "4 audits, 2 rang [10001, 10003]" in lines[0]
    assert "4 audits, 0 rang" in lines[1]
    assert repeats.main(2, "quiet") == 0
