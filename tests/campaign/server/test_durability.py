"""Small versions of ``python -m benchmarks.campaign_server``: kills, power, rounds, takeover, each with its twin."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.campaign_lab import sqlite_url
from support.campaign_postgres_here import postgres_here
from support.campaign_server_kills import kills
from support.campaign_server_power import power
from support.campaign_server_rounds import rounds
from support.campaign_server_takeover import LONGEST, sieges, takeovers


def test_kills_lose_nothing_that_was_acknowledged() -> None:
    tally = kills(4, people=2_000)
    assert tally.clean, tally
    assert tally.kills == 4
    assert tally.acknowledged > 50


def test_acknowledging_first_is_caught() -> None:
    """Whether a kill comes between a receipt and its commit is chance: if it does in none of many, nothing is lost."""
    sieges = (kills(3, seed, 2_000, sqlite_url, "--twin", "acknowledges-first") for seed in range(8))
    assert any(tally.lost > 0 for tally in sieges)


def test_losing_power_loses_nothing_that_was_acknowledged() -> None:
    losses = power(40)
    assert losses.lost == 0
    assert losses.acknowledged > 1_000


def test_syncing_less_is_caught() -> None:
    assert power(10, "NORMAL").lost > 0


@pytest.mark.long
def test_a_kill_anywhere_changes_neither_root_nor_answers() -> None:
    assert all(rounds(("between", "freeze", "settle", "estimating"), people=8).values())


@pytest.mark.long
def test_answers_that_depend_on_the_day_are_caught() -> None:
    assert rounds(("between",), people=5, twin="salted") == {"between": False}


@pytest.mark.long
def test_another_process_takes_over_and_whoever_comes_back_changes_nothing(tmp_path: Path) -> None:
    with postgres_here() as postgres:
        found = takeovers(postgres, tmp_path / "honest", 1)
        assert found.longest <= LONGEST
        assert found.changed == 0
        assert takeovers(postgres, tmp_path / "twin", 1, "--twin", "unfenced").changed == 1


@pytest.mark.long
def test_killing_either_of_two_processes_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    with postgres_here() as postgres:
        assert sieges(postgres, tmp_path, 2, 1_000).clean
