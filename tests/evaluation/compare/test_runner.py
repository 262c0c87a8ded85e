"""Trials in this process and in others: the same numbers, and trouble that is told."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from support.comparisons import finished, same, small
from visibility_aware_edge_ldp.errors import BadInput, TooLarge
from visibility_aware_edge_ldp.evaluation.compare import runner
from visibility_aware_edge_ldp.evaluation.compare.comparison import compared
from visibility_aware_edge_ldp.evaluation.compare.design import (
    Cell,
)
from visibility_aware_edge_ldp.evaluation.compare.runner import Checkpoint
from visibility_aware_edge_ldp.simulation.memory import BASE


@pytest.mark.long
def test_other_processes_give_the_same_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "ALONE_SECONDS", 0.0)
    monkeypatch.setattr(runner, "run_cell", None)  # nothing runs here
    steps: list[int] = []
    before = dict(os.environ)
    design = small(trust="all")
    with runner.Workers(design, 2, steps.append) as workers:
        trials = workers.run(Checkpoint(tmp_path, design))
    assert dict(os.environ) == before
    monkeypatch.undo()
    assert len(steps) == len(design.cells)
    assert same(compared(design, trials), finished(small(trust="all")))
    assert len(Checkpoint(tmp_path, design).trials) == len(design.cells)


def test_a_changed_design_runs_in_the_same_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "ALONE_SECONDS", 0.0)
    design, changes = small(), {"seed": "another"}
    changed = replace(design, **changes)
    with runner.Workers(design, 2) as workers:
        plain, other = workers.run(Checkpoint(None, design)), workers.run(Checkpoint(None, changed), **changes)
    assert same(compared(design, plain), finished(design))
    assert same(compared(changed, other), finished(changed))
    assert not same(compared(design, plain), compared(changed, other))


def test_trouble_elsewhere_is_trouble_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "ALONE_SECONDS", 0.0)
    with pytest.raises(BadInput, match="too small"):
        finished(small(epsilons=("1e-30",)), cores=2)


def test_a_process_that_is_ended_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "ALONE_SECONDS", 0.0)
    monkeypatch.setattr(runner, "_run_there", end_at_once)
    with pytest.raises(TooLarge, match="finished trials are kept"):
        finished(small(), cores=2)


def end_at_once(_changes: bytes, _cell: Cell) -> None:
    os._exit(9)


def test_as_many_processes_as_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "largest_need", lambda _: 100)
    for free, fitting in ((350, 3), (100, 1), (10, 1)):
        monkeypatch.setattr(runner, "available_bytes", lambda free=free: free)
        assert runner.fitting(small()) == fitting


def test_the_largest_trial_says_what_is_needed() -> None:
    both, alone = (runner.largest_need(small(trust=trust)) for trust in (["position", "curator"], "curator"))
    assert both > alone
    memory, seconds, processes = runner.forecast(small(), 2, 1)
    assert (memory, processes) == (runner.largest_need(small()), 1)
    assert 0 < seconds < 1


def test_processes_side_by_side_share_the_time_and_add_up_their_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "seconds_of", lambda _run, times: 10.0 * times)
    design = small()
    memory, seconds, processes = runner.forecast(design, 4, 2)
    assert (seconds, processes) == (20.0, 3)
    assert memory == BASE + 2 * runner.largest_need(design)
