"""Time and length: the real clients pass, the twins are caught, and the measurement itself is honest.  [PACE.2-5]"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from visibility_aware_edge_ldp.audit.engine.findings import Audit, Finding, Loss
from visibility_aware_edge_ldp.audit.timing import clients
from visibility_aware_edge_ldp.audit.timing.clients import Act
from visibility_aware_edge_ldp.audit.timing.measure import (
    AUDITS,
    LIMIT,
    MUTANTS,
    SURPRISE,
    Timings,
    Wrap,
    at_a_pace,
    find,
    measure,
    until_caught,
    welch,
)
from visibility_aware_edge_ldp.client.pace import Paced
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes

NONE = frozenset({1})
CLIENTS = {
    "position": clients.positions(),
    "degrees, mixed": clients.degrees("mixed"),
    "histogram": clients.bins,
    "row answers": clients.row_answers,
    "row sums": clients.row_sums,
    "owned": clients.owned,
}


CAUGHT_BY = {
    "position, branchy": {"time": 10, "slowest": SURPRISE},
    "position, now and then again": {"slowest": SURPRISE},
    "user degrees' noise, as soon as drawn": {"time": LIMIT},
    "neighbourhood, as soon as counted": {"time": LIMIT, "slowest": SURPRISE},
    "neighbourhood, a rest in place of a pace": {"time": LIMIT},
    "neighbourhood, a pace for short lists": {"overruns": SURPRISE},
    "user triangles, a byte for each friend": {"length": 0},
}


def test_audits_and_twins_are_told_apart() -> None:
    names = [audit.name for audit in (*AUDITS, *MUTANTS)]
    assert len(set(names)) == len(names)
    assert {audit.way for audit in (*AUDITS, *MUTANTS)} == {"time"}
    assert not any(audit.broken for audit in AUDITS)
    assert all(twin.broken for twin in MUTANTS)


@pytest.mark.parametrize("name", ["position", "histogram", "row answers"])
def test_clients_that_are_constant_by_themselves(name: str) -> None:
    finding = find(name, CLIENTS[name], 500)
    assert finding.holds, finding
    assert [loss.kind for loss in finding.losses] == ["time", "slowest", "length"]


@pytest.mark.parametrize(("name", "runs"), [("degrees, mixed", 60), ("row sums", 60), ("owned", 25)])
def test_clients_that_are_constant_at_a_pace(name: str, runs: int) -> None:
    finding = find(name, CLIENTS[name], runs, at_a_pace)
    assert finding.holds, finding
    assert [loss.kind for loss in finding.losses] == ["time", "slowest", "overruns", "length"]
    assert "overruns" in finding.about


@pytest.mark.long
@pytest.mark.parametrize("twin", MUTANTS, ids=[twin.name for twin in MUTANTS])
def test_twins_are_caught(twin: Audit) -> None:
    finding = twin.run()
    found = {loss.kind: loss.found for loss in finding.losses}
    assert finding.caught, finding
    assert {kind: found[kind] > least for kind, least in CAUGHT_BY[twin.name].items()} == dict.fromkeys(
        CAUGHT_BY[twin.name], True
    ), finding


def test_a_twin_is_measured_until_it_is_caught_and_at_most_three_times() -> None:
    def after(misses: int) -> tuple[Finding, int]:
        made = list[Finding]()

        def run() -> Finding:
            made.append(Finding("twin", "time", (Loss("time", LIMIT, LIMIT + len(made) - misses + 0.5),), 1, ""))
            return made[-1]

        return until_caught(run), len(made)

    assert [(found.caught, made) for found, made in map(after, range(5))] == [
        (True, 1),
        (True, 2),
        (True, 3),
        (False, 3),
        (False, 3),
    ]


def test_a_longer_report_is_caught_by_its_length_alone() -> None:
    """Its pace hides that it takes longer."""
    (twin,) = (twin for twin in MUTANTS if twin.name == "user triangles, a byte for each friend")
    assert [loss.kind for loss in twin.run().losses if loss.exceeds] == ["length"]


def test_welch_is_the_textbooks() -> None:
    stats = pytest.importorskip("scipy.stats")
    draw = np.random.default_rng(1)
    first, second = draw.normal(10, 1, 40), draw.normal(10.4, 3, 90)
    assert welch(first, second) == pytest.approx(stats.ttest_ind(second, first, equal_var=False).statistic)
    assert welch(first, second[:2]) == float("inf")
    assert welch(np.ones(5), np.ones(5)) == 0
    assert welch(np.ones(5), np.full(5, 2.0)) == float("inf")
    assert welch(np.full(5, 2.0), np.ones(5)) == -float("inf")
    assert Timings(np.ones(9), np.full(9, 2.0), NONE).t == float("inf")


def test_the_crop_is_the_same_for_both_sides_and_outliers_do_not_decide() -> None:
    draw = np.random.default_rng(2)
    first, second = draw.normal(100, 1, (2, 1000))
    quiet = Timings(first, second, NONE)
    first[:30] *= 50  # the machine did something else
    assert Timings(first, second, NONE).t < LIMIT
    assert quiet.t < LIMIT
    assert Timings(first, second + 1, NONE).t > 10
    assert replace(quiet, second=second * 3).t > 10


def test_false_alarms_of_the_statistic() -> None:
    """2,000 pairs of equal sides with heavy tails: the limit is never reached, and 3.0 rarely."""
    draw = np.random.default_rng(3)
    found = np.array([Timings(*draw.lognormal(0, 0.5, (2, 60)), NONE).t for _ in range(2000)])
    assert found.max() < LIMIT
    assert (found > 3).mean() < 0.02
    assert (found > 1).mean() > 0.2


def test_what_both_crops_leave_out_is_found_by_its_side() -> None:
    """Twice as slow in 18 of 100 pairs is less than a tenth of all measurements."""
    first, second = np.random.default_rng(4).normal(100, 3, (2, 100))
    assert Timings(first, second, NONE).slowest < 2
    second[:18] *= 2
    found = Timings(first, second, NONE)
    assert found.t < LIMIT
    assert found.slowest > SURPRISE
    first[50:68] *= 2  # as many on the other side: the machine's own
    assert Timings(first, second, NONE).slowest < 2


def test_overruns_are_counted_by_side() -> None:
    times, late, never = np.ones((2, 100)), np.arange(100) < 18, np.zeros(100, np.bool_)
    assert Timings(*times, NONE, (never, late)).overruns == pytest.approx(17 * np.log10(2))
    assert Timings(*times, NONE, (late, never)).overruns > SURPRISE
    assert Timings(*times, NONE, (late, late)).overruns == 0
    assert Timings(*times, NONE, (np.roll(late, 50), late)).overruns == 0
    assert Timings(*times, NONE).overruns == 0


def test_overruns_of_one_side_fail_a_paced_finding() -> None:
    """18 of 100 long answers take one beat more; no other time and no length differs."""
    made = iter(range(10**6))

    def prepare(side: int, coins: RandomBytes) -> Act:
        # The warm-up makes eight of each side before the pace is known.
        late = side == 1 and (next(made) - 8) % 50 < 9
        return lambda: b"late" if late else b"soon"

    def pace(seconds: float) -> Wrap:
        return lambda act: lambda: Paced(act(), 2 if act() == b"late" else 1)

    finding = find("late now and then", prepare, 100, pace)
    (overruns,) = (loss for loss in finding.losses if loss.kind == "overruns")
    assert not finding.holds
    assert overruns.exceeds
    assert finding.about.endswith("overruns 0 and 18")


def test_the_real_pace_tells_of_its_overruns() -> None:
    def wait() -> bytes:
        end = time.perf_counter() + 0.002
        while time.perf_counter() < end:
            pass
        return b"1"

    assert all(side.all() for side in measure(lambda *_: wait, 3, at_a_pace(0.001)).overran)
    assert not any(side.any() for side in measure(lambda *_: wait, 3, at_a_pace(0.5)).overran)
    assert not any(side.any() for side in measure(lambda *_: wait, 3).overran)


def test_a_difference_of_a_few_microseconds_is_found() -> None:
    def prepare(side: int, coins: RandomBytes) -> Act:
        def act() -> bytes:
            end = time.perf_counter_ns() + 100_000 + 20_000 * side
            while time.perf_counter_ns() < end:
                pass
            return b"1"

        return act

    assert measure(prepare, 300).t > 10
