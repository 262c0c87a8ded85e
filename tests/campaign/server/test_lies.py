"""Drills, small: a split transcript, an older store and two charters are named, and each twin misses its own."""

from __future__ import annotations

import pytest

from support.campaign_server_lies import rolled_back, split, two_charters


@pytest.mark.long
def test_two_transcripts_under_one_root_are_noticed() -> None:
    found = split(1)
    assert found.met, found


@pytest.mark.long
def test_an_older_store_is_noticed_by_those_whom_it_forgot() -> None:
    found = rolled_back(3)
    assert found.met, found


@pytest.mark.long
def test_two_charters_for_one_public_are_noticed() -> None:
    found = two_charters()
    assert found.met, found
