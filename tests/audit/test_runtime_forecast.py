"""How long an audit will take: by its parts, and by how fast this machine is."""

from __future__ import annotations

import pytest

from visibility_aware_edge_ldp.audit import runner
from visibility_aware_edge_ldp.audit.catalogue import Choice, catalogue, chosen
from visibility_aware_edge_ldp.audit.engine.findings import Audit
from visibility_aware_edge_ldp.audit.protocols import histogram
from visibility_aware_edge_ldp.audit.runner import LONG_SECONDS, TRIAL, USUAL, slowness, usable_cores, usual_seconds


def test_every_way_and_every_long_audit_is_there() -> None:
    assert {audit.way for audit in catalogue()} == set(USUAL)
    exact = {audit.name for audit in catalogue() if audit.way == "exact" and not audit.broken}
    assert set(LONG_SECONDS) <= exact
    assert TRIAL in {audit.name for audit in histogram.AUDITS}


def test_the_time_is_that_of_its_parts() -> None:
    choice = Choice("position", "exact")
    parts = sum(usual_seconds(audit, choice.runs) for audit in chosen(choice))
    octets, seconds = runner.runtime_forecast(choice, 0, lambda: 2.0)
    assert seconds == pytest.approx(2 * (runner.START + parts / usable_cores()))
    assert octets > 0


def test_runs_and_repeats_take_time_and_clocks_run_alone() -> None:
    few, many = (
        runner.runtime_forecast(Choice("all", "statistical", runs), 0, lambda: 1.0)[1] for runs in (10**5, 10**6)
    )
    assert many > 3 * few
    assert runner.runtime_forecast(Choice("all", "statistical"), 1000, lambda: 1.0)[1] > many + 10 / usable_cores()
    clocked = chosen(Choice("all", "time"))
    assert runner.runtime_forecast(Choice("all", "time"), 0, lambda: 1.0)[1] > len(clocked) * USUAL["time"][0]


def test_a_short_audit_is_not_tried_out() -> None:
    _, seconds = runner.runtime_forecast(Choice("Hadamard", "exact"), 0, lambda: pytest.fail("it was tried out"))
    assert seconds < runner.SHORT


def test_a_slow_machine_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [10.0]

    def run() -> None:
        clock[0] += 3 * runner.TRIAL_SECONDS

    monkeypatch.setattr(runner.histogram, "AUDITS", (Audit(TRIAL, "exact", run),))  # type: ignore[arg-type]
    monkeypatch.setattr(runner.time, "perf_counter", lambda: clock[0])
    assert slowness() == pytest.approx(3)
