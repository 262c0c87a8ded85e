"""Releases from one budget cost what it counts; what is drawn again without a charge is seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from visibility_aware_edge_ldp.audit import release_budgets
from visibility_aware_edge_ldp.simulation import publishing


def test_the_real_budget_holds_and_is_used_up() -> None:
    audit, splits = release_budgets.AUDITS
    assert splits.run().holds
    found = audit.run()
    assert found.holds, found.losses
    private = next(loss for loss in found.losses if loss.kind == "PRIVATE")
    assert private.found == pytest.approx(private.claimed)


def test_twins_are_caught() -> None:
    assert all(twin.run().caught for twin in release_budgets.MUTANTS)


def test_a_budget_that_believes_older_copies_or_other_graphs_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publishing, "_refuse_another", lambda *_: None)
    found = release_budgets.audit_budgets("budgets", publishing.publish, "-")
    assert next(loss.found for loss in found.losses if loss.kind == "answered") == 3


def test_a_charge_that_is_never_compared_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publishing.Spending, "refuse_beyond", lambda *_: None)
    found = release_budgets.audit_budgets("budgets", publishing.publish, "-")
    assert next(loss.found for loss in found.losses if loss.kind == "beyond a cap") > 0


def test_what_was_refused_is_told(tmp_path: Path) -> None:
    assert not release_budgets.tried(publishing.publish, [(0, 1)], tmp_path / "release", tmp_path / "none")
