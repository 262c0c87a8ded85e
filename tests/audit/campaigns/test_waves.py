"""Whole histories of a tie lose what was agreed to and what the ledger counts; broken twins are caught."""

from __future__ import annotations

import pytest

from visibility_aware_edge_ldp.audit.campaigns import waves
from visibility_aware_edge_ldp.audit.campaigns.waves import Lives, Series, loss_of, loss_of_lives


def test_two_waves_lose_jointly_what_was_agreed_to() -> None:
    assert loss_of(waves.TWO).found == pytest.approx(1.5, abs=1e-9)


def test_what_a_ledger_tells_of_every_history() -> None:
    lives = Lives(Series(waves=3))
    assert lives.histories[0, 1, 0] == ((0, 0, 0, 0), (1, 0, 0, 1), (2, 1, 1, 0))
    assert lives.loss == pytest.approx(1.5, abs=1e-9)
    assert set(lives.counted) == {waves.TWO.agreed}


@pytest.mark.parametrize("twin", waves.MUTANTS[:2], ids=lambda twin: twin.name)
def test_a_broken_wave_is_caught(twin: waves.findings.Audit) -> None:
    assert twin.run().caught


@pytest.mark.long
@pytest.mark.parametrize("twin", waves.MUTANTS[2:], ids=lambda twin: twin.name)
def test_other_broken_waves_are_caught(twin: waves.findings.Audit) -> None:
    assert twin.run().caught


@pytest.mark.long
def test_twelve_waves_lose_jointly_what_the_ledger_counts() -> None:
    """Equal: the largest joint loss of two histories, the agreed price, and what the ledger counts at the end."""
    lives = Lives(Series(waves=12, most=1))
    assert lives.loss == pytest.approx(1.5, abs=1e-9)
    assert {float(each) for each in lives.counted} == {1.5}
    assert len(lives.histories) == 24


@pytest.mark.long
def test_two_told_changes() -> None:
    found = loss_of_lives(Series(changes=2, waves=5))
    assert found.holds
    assert found.found == pytest.approx(1.5, abs=1e-9)
