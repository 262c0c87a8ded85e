"""The tables: one row a mechanism and class, a mark that tells, and failures in sentences."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from visibility_aware_edge_ldp.audit.catalogue import Choice
from visibility_aware_edge_ldp.audit.engine.findings import Finding, Loss
from visibility_aware_edge_ldp.audit.leakage import Leak
from visibility_aware_edge_ldp.audit.runner import Audited, Outcome
from visibility_aware_edge_ldp.audit.statistical.audits import FalseAlarms
from visibility_aware_edge_ldp.audit.tables import (
    NO,
    YES,
    alarms_table,
    claims_table,
    failures,
    leak_table,
    number,
    tables,
    times_table,
    twins_table,
    verdict,
    worst,
)


def outcome(name: str, way: str, *losses: Loss, broken: str = "", twin_of: str = "", trouble: str = "") -> Outcome:
    finding = None if trouble else Finding(name, way, losses, 1200, "medians 3.0 and 3.1 µs")
    return Outcome(name, way, broken, twin_of, finding, trouble, 1.25)


def audited(*outcomes: Outcome, alarms: tuple[FalseAlarms, ...] = ()) -> Audited:
    return Audited(Choice(), outcomes, alarms, 12.0, 2)


EXACT = outcome("position, one round", "exact", Loss("PRIVATE", 1, 1.0), Loss("FRIEND_VISIBLE", 2, 2.0))
SHOWN = outcome("position, one round", "statistical", Loss("PRIVATE", 1, 0.98765), Loss("FRIEND_VISIBLE", 4, 3.9))
CURATOR = outcome("curator", "exact", Loss("PRIVATE", 1, 0.75, 1e-6, 8e-12))
ASKED_TWICE = outcome("position, asked twice", "statistical", Loss("PRIVATE", 1, 0.5))
TOO_MUCH = outcome("leaky", "statistical", Loss("PRIVATE", 1, 1.2))
TIMED = outcome("position", "time", Loss("time", 4.5, 0.756), Loss("slowest", 4, 0.5), Loss("length", 0, 0))
TWIN = outcome("hubs", "exact", Loss("PRIVATE", 1, math.inf), broken="hubs are exact.", twin_of="hubs")
ESCAPED = outcome("loud", "exact", Loss("PRIVATE", 1, 0.9), broken="Too loud", twin_of="position")
RAISED = outcome("broken", "exact", trouble="ProtocolViolation: Coins came late.")


def test_ways_stand_beside_each_other_and_families_together() -> None:
    assert claims_table([EXACT, CURATOR, SHOWN, ASKED_TWICE]).rows == (
        ("position, one round", "PRIVATE", "1", "1", "0.9877", "-", YES),
        ("position, one round", "FRIEND_VISIBLE", "4", "2 of 2", "3.9", "-", YES),
        ("position, asked twice", "PRIVATE", "1", "-", "0.5", "-", YES),
        ("curator", "PRIVATE", "1\nδ 1e-06", "0.75\nδ 8e-12", "-", "-", YES),
    )


def test_a_broken_claim_is_marked_where_it_was_found() -> None:
    assert claims_table([TOO_MUCH]).rows == (("leaky", "PRIVATE", "1", "-", f"1.2 {NO}", "-", NO),)
    delta = outcome("curator", "exact", Loss("PRIVATE", 1, 1.0, 1e-6, 1e-5))
    assert claims_table([delta]).rows[0][3:] == (f"1\nδ 1e-05 {NO}", "-", "-", NO)


def test_an_audit_that_raised_has_its_sentence_in_the_table() -> None:
    row = ("broken: ProtocolViolation: Coins came late.", "-", "-", "error", "-", "-", NO)
    assert claims_table([RAISED]).rows == (row,)


def test_twins_say_what_caught_them() -> None:
    raised = outcome("loud", "exact", broken="Too loud", twin_of="position", trouble="TypeError: no.")
    assert twins_table([TWIN, ESCAPED, raised]).rows == (
        ("Hubs are exact", "hubs", "1", "∞", f"exact {YES}", "1.2"),
        ("Too loud", "position", "1", "0.9", f"not caught {NO}", "1.2"),
        ("Too loud: TypeError: no.", "position", "-", "error", f"not caught {NO}", "1.2"),
    )


def test_twins_of_time_and_length_have_their_units() -> None:
    slow = outcome("slow", "time", Loss("time", 4.5, 112.94), Loss("length", 0, 0), broken="Slow")
    long = outcome("long", "time", Loss("time", 4.5, 1.0), Loss("length", 0, 356), broken="Long")
    assert [row[2:4] for row in twins_table([slow, long]).rows] == [("|t| < 4.5", "112.9"), ("0 bytes", "356")]


def test_times() -> None:
    assert times_table([TIMED]).rows == (("position", "0.76", "0.3", "0", "1,200", "3.0 and 3.1 µs", YES),)
    assert "at most 4.5, which equal times exceed at most 2.2 times in 10,000" in times_table([TIMED]).note
    late = Loss("time", 4.5, 1.0), Loss("slowest", 4, 0.5), Loss("overruns", 4, 5.1), Loss("length", 0, 0)
    (row,) = times_table([outcome("hub", "time", *late)]).rows
    assert (row[2], row[-1]) == ("8e-06", NO)
    assert failures(audited(outcome("hub", "time", *late))) == ["hub, time: found 8e-06, claimed chance ≥ 0.0001"]
    raised = outcome("hub", "time", trouble="OSError: no clock")
    assert times_table([raised]).rows[0][0] == "hub: OSError: no clock"
    assert times_table([raised]).rows[0][-1] == NO


def test_false_alarms() -> None:
    table = alarms_table([FalseAlarms("Laplace", 0.001, 1000, 1, 0.01), FalseAlarms("Laplace", 0.001, 1000, 20, 0.04)])
    assert table.rows == (
        ("Laplace", "0.001", "1,000", "1", "0.10%", YES),
        ("Laplace", "0.001", "1,000", "20", "2.00%", NO),
    )


def test_every_row_is_as_long_as_its_head_and_empty_tables_are_left_out() -> None:
    every = tables(audited(EXACT, RAISED, TWIN, TIMED, alarms=(FalseAlarms("Laplace", 0.001, 10, 0, 0.5),)))
    assert len(every) == 5
    assert all(len(row) == len(table.head) for table in every for row in table.rows)
    assert [table.head[0] for table in tables(audited(TIMED))] == ["client"]


def test_the_verdict_counts() -> None:
    assert verdict(audited(EXACT, RAISED)) == "1 of 2 audits of the real code found no more than is claimed."
    assert verdict(audited(EXACT, TWIN, ESCAPED)).endswith("; 1 of 2 broken twins were caught.")


def test_failures_are_sentences() -> None:
    rings = FalseAlarms("Laplace", 0.001, 1000, 20, 0.04)
    assert failures(audited(EXACT, TWIN, SHOWN)) == []
    assert failures(audited(TOO_MUCH, ESCAPED, RAISED, alarms=(rings,))) == [
        "leaky, statistical: found 1.2, claimed 1",
        "the twin of position (Too loud), exact: found 0.9, claimed 1, not caught",
        "broken, exact: ProtocolViolation: Coins came late.",
        "the auditor rang on Laplace in 20 of 1,000 audits at α = 0.001",
    ]


@pytest.mark.parametrize(
    ("losses", "place"),
    [
        ((Loss("PRIVATE", 1, 0.9), Loss("FRIEND_VISIBLE", 2, 1.9)), 1),
        ((Loss("PRIVATE", 1, 1.0, 0.0, 0.5), Loss("FRIEND_VISIBLE", 2, 2.0)), 0),
        ((Loss("time", 4.5, 4.4), Loss("length", 0, 1)), 1),
        ((Loss("time", 4.5, 4.4), Loss("length", 0, 0)), 0),
        ((Loss("PRIVATE", 1, math.inf), Loss("FRIEND_VISIBLE", 2, math.nan)), 1),
        ((Loss("PRIVATE", 1, math.nan), Loss("FRIEND_VISIBLE", 2, 1.0)), 0),
    ],
    ids=["closest", "delta", "length", "nothing", "NaN last", "NaN first"],
)
def test_the_worst_loss(losses: tuple[Loss, Loss], place: int) -> None:
    assert worst(losses) is losses[place]


def test_numbers() -> None:
    assert [number(value) for value in (1.0, 0.98765, 1 / 3, math.inf)] == ["1", "0.9877", "0.3333", "∞"]
    assert number(math.nan) == "not a number"


def test_a_leak_is_told_in_words() -> None:
    leak = Leak("the class", 0.9, (0.88, 0.92), 0.7, 0.6, 0.005, 1.0, 10**9, "the class", "flagged", "No.")
    told = dict(leak_table(leak).rows)
    assert told["its AUC (0.5 tells nothing)"] == "0.900 (0.880 to 0.920)"
    assert told["verdict"] == "flagged"
    assert told["ways to exchange them"] == "1,000,000,000 or more"
    few = dict(leak_table(replace(leak, deals=12, verdict="could not be tested")).rows)
    assert (few["ways to exchange them"], few["verdict"]) == ("12", "could not be tested")
