"""The curve of arrivals, drawn and in words."""

from __future__ import annotations

from pathlib import Path

from support.campaign_lab import FAR
from support.campaign_onlooker import look, send, showing
from support.campaign_town import new_town
from visibility_aware_edge_ldp.campaign.server.page_progress import Curve, length, short
from visibility_aware_edge_ldp.campaign.server.stages import MOST_SLOTS, WEEK, Arrived, Slot

HOUR = 3_600
FIRST, SECOND = Slot(7 * HOUR, HOUR), Slot(9 * HOUR, HOUR)


def test_slots_without_reports_are_drawn_and_old_ones_are_cut() -> None:
    found = Curve.of((Arrived(1, FIRST, 2), Arrived(1, SECOND, 5)), 11 * HOUR + 59)
    assert (found.first, found.counts, found.peak) == (7 * HOUR, (2, 0, 5, 0, 0), 2)
    clock_was_wrong = Curve.of((Arrived(1, Slot(0, 60), 1), Arrived(1, Slot(60 * 10**7, 60), 1)), 0)
    assert len(clock_was_wrong.counts) == MOST_SLOTS + 2
    assert [length(each) for each in (60, 900, HOUR, 6 * HOUR, WEEK, 2 * WEEK)] == [
        "minute", "15 minutes", "hour", "6 hours", "week", "14 days",
    ]  # fmt: skip
    assert (short(0, HOUR), short(0, WEEK)) == ("1 Jan 00:00", "1 Jan 1970")


def test_the_page_shows_the_curve_and_says_it_in_words(tmp_path: Path) -> None:
    with showing(new_town(tmp_path / "town", "degrees"), tmp_path, FAR - 50 * HOUR) as server:
        assert not [each for each in look(server).all("svg") if each.get("class") == "times"]
        send(server, 6)
        server.clock.now += 3 * HOUR
        for participant in server.lab.asked[6:11]:
            server.put(participant)
        read = look(server)
        drawn = [each for each in read.all("svg") if each.get("class") == "times"]
    assert len(drawn) == 1
    assert "11 in all, most from" in drawn[0]["aria-label"]
    assert drawn[0]["aria-label"].endswith(", 6")
    assert "Reports per hour, UTC." in read.text
    assert "who sent one when is not" in read.text
    assert any("Reports of round 1 per hour" in each.get("aria-label", "") for each in read.all("div"))
