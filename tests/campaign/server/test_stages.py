"""How many reports came when: counts alone, in the report's own transaction, on the page as a picture and as words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from campaign.server.conftest import Opener
from support.campaign_inside import Clock, Inside, inside
from support.campaign_lab import FAR, Lab, sqlite_url
from visibility_aware_edge_ldp.campaign.server.stages import FEWEST, MOST_SLOTS, WEEK, Arrived, Slot, slot_length
from visibility_aware_edge_ldp.campaign.server.stores import sql
from visibility_aware_edge_ldp.campaign.server.stores import store as migrations
from visibility_aware_edge_ldp.campaign.server.stores.store import Outcome, StoreUnavailable, Upload

HOUR = 3_600


FIRST, SECOND = Slot(7 * HOUR, HOUR), Slot(9 * HOUR, HOUR)


@pytest.mark.parametrize(
    ("left", "seconds"),
    [
        (-5, 60),
        (60 * 60, 60),
        (60 * 60 + 1, 300),
        (14 * 86_400, 21_600),
        (60 * 86_400, 86_400),
        (60 * WEEK + 1, 2 * WEEK),
    ],
)
def test_a_round_has_few_slots(left: int, seconds: int) -> None:
    assert slot_length(left) == seconds
    assert left <= MOST_SLOTS * seconds


def test_new_reports_are_counted_once_and_copies_are_not(opener: Opener) -> None:
    store = opener()
    store.put([Upload.of(1, 1, b"a", FIRST), Upload.of(1, 2, b"b", FIRST), Upload.of(1, 1, b"a", FIRST)])
    assert store.put([Upload.of(1, 2, b"other", SECOND)]) == [Outcome.OTHER]
    assert store.arrivals() == [Arrived(1, FIRST, 2)]
    store.put([Upload.of(1, 3, b"c", FIRST), Upload.of(1, 4, b"d", SECOND)])
    assert opener().arrivals() == [Arrived(1, FIRST, 3), Arrived(1, SECOND, 1)]


def test_a_count_is_on_disk_with_its_report_or_not_at_all(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    store = opener()
    with monkeypatch.context() as broken:
        broken.setattr(sql, "_COUNT", "INSERT INTO nowhere VALUES (?, ?, ?, ?)")
        with pytest.raises(StoreUnavailable):
            store.put([Upload.of(1, 1, b"a", FIRST)])
    assert (store.received(), store.arrivals()) == ({}, [])
    assert store.put([Upload.of(1, 1, b"a", FIRST)]) == [Outcome.STORED]
    assert (store.received(), store.arrivals()) == ({1: 1}, [Arrived(1, FIRST, 1)])


def test_a_group_is_counted_by_one_statement(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    store, said = opener(), list[str]()
    run = store.database.run  # type: ignore[attr-defined]

    def heard(statement: str, *values: object) -> Any:
        said.append(statement)
        return run(statement, *values)

    monkeypatch.setattr(store.database, "run", heard)  # type: ignore[attr-defined]
    store.put([Upload.of(1, number, b"a", FIRST) for number in range(200)])
    assert sum("INTO arrivals" in statement for statement in said) == 1


def test_counts_go_with_the_reports(opener: Opener) -> None:
    store = opener(rounds=1)
    store.put([Upload.of(1, 1, b"a", FIRST)])
    store.freeze(1, lambda leaves: "0" * 64)
    store.settle(1, b"heard", "d", opens_next=False)
    assert store.arrivals()
    store.forget_bodies(1)
    assert (store.has_bodies(), store.arrivals()) == (False, [])


def test_no_table_holds_a_participant_and_a_time() -> None:
    tables = [statement for step in (migrations.TABLES, *migrations.STEPS) for statement in step]
    assert [table for table in tables if "participant" in table and ("since" in table or "made" in table)] == []
    assert sum("since" in table for table in tables if table.startswith("CREATE TABLE")) == 1


def counts(server: Inside) -> Any:
    return server.ask("GET", "/v1/rounds/1").content["arrivals"]


def test_the_server_says_how_many_came_when_also_after_it_was_started_again(
    labs: dict[str, Lab], tmp_path: Path
) -> None:
    lab, url, clock = labs["degrees"], sqlite_url(tmp_path), Clock(FAR - 50 * HOUR)
    with inside(lab, url, clock) as server:
        assert counts(server) == {"seconds": 0, "counts": []}
        for participant in (0, 1, 2, 3, 4, 4):
            server.put(lab.asked[participant])
        clock.now += 2 * HOUR
        since = (FAR - 50 * HOUR) // HOUR * HOUR
        for participant in range(5, 5 + FEWEST):
            server.put(lab.asked[participant])
            alone = {"seconds": 4 * HOUR, "counts": [[since, participant + 1]]}
            assert participant == 4 + FEWEST or counts(server) == alone, "nobody stands alone in a slot"
        said = counts(server)
    assert said == {"seconds": HOUR, "counts": [[since, 5], [since + 2 * HOUR, FEWEST]]}
    clock.now = FAR - 60  # of a round that has begun, slots keep their length
    with inside(lab, url, clock) as server:
        assert counts(server) == said
        server.put(lab.asked[10])
        assert counts(server)["seconds"] % HOUR == 0
        assert sum(reports for _, reports in counts(server)["counts"]) == 11
