"""The runner: every audit once, in its order; trouble is a sentence; clocks run alone and last."""

from __future__ import annotations

import json
import math
from concurrent.futures import Future
from typing import Any, ClassVar

import pytest

from visibility_aware_edge_ldp.audit import runner
from visibility_aware_edge_ldp.audit.catalogue import Choice, chosen
from visibility_aware_edge_ldp.audit.engine.findings import Audit, Finding, Loss
from visibility_aware_edge_ldp.audit.runner import Audited, Outcome, measured, run, wanted_repeats
from visibility_aware_edge_ldp.audit.statistical.audits import FalseAlarms
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.presentation.files import finite


def found(epsilon: float, name: str = "thing", way: str = "exact") -> Finding:
    return Finding(name, way, (Loss("PRIVATE", 1, epsilon),), 3, "all of it")


def audit_of(epsilon: float, broken: str = "") -> Audit:
    return Audit("thing", "exact", lambda: found(epsilon), broken)


def raising() -> Finding:
    raise ProtocolViolation("Coins were drawn\nin another order.")


@pytest.mark.parametrize(
    ("epsilon", "broken", "passed"),
    [(1.0, "", True), (1.1, "", False), (1.1, "too loud", True), (1.0, "too loud", False), (math.inf, "bare", True)],
)
def test_real_code_passes_when_it_holds_and_a_twin_when_it_does_not(epsilon: float, broken: str, passed: bool) -> None:
    outcome = measured(audit_of(epsilon, broken))
    assert outcome.passed is passed
    assert Audited(Choice(), (outcome,), (), 1.0, 1).passed is passed


@pytest.mark.parametrize("broken", ["", "too loud"])
@pytest.mark.parametrize("losses", [(math.nan,), (0.5, math.nan), (math.nan, 0.5)], ids=str)
def test_what_is_not_a_number_never_passes(losses: tuple[float, ...], broken: str) -> None:
    finding = Finding("thing", "exact", tuple(Loss(str(i), 1, loss) for i, loss in enumerate(losses)), 3, "all of it")
    outcome = measured(Audit("thing", "exact", lambda: finding, broken))
    assert not outcome.passed
    assert [loss["infinite"] for loss in outcome.as_dict()["losses"]] == [math.isnan(loss) for loss in losses]


@pytest.mark.parametrize("broken", ["", "too loud"])
@pytest.mark.parametrize(("losses", "cases"), [((), 3), ((Loss("PRIVATE", 1, 0.5),), 0), ((Loss("P", 1, 9.0),), 0)])
def test_an_audit_of_nothing_never_passes(losses: tuple[Loss, ...], cases: int, broken: str) -> None:
    outcome = measured(Audit("thing", "time", lambda: Finding("thing", "time", losses, cases, ""), broken))
    assert not outcome.passed
    assert "nothing to look at" in outcome.trouble


@pytest.mark.parametrize("broken", ["", "too loud"])
def test_trouble_is_a_sentence_and_never_passes(broken: str) -> None:
    outcome = measured(Audit("thing", "exact", raising, broken))
    assert outcome.trouble == "ProtocolViolation: Coins were drawn in another order."
    assert outcome.finding is None
    assert not outcome.passed


def test_a_keystroke_is_no_trouble_of_the_audit() -> None:
    def stopped() -> Finding:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measured(Audit("thing", "exact", stopped))


def test_json_has_finite_numbers_only_and_says_infinity() -> None:
    outcomes = (measured(audit_of(math.inf, "bare")), measured(Audit("thing", "exact", raising)))
    told = finite(Audited(Choice(), outcomes, (), 1.0, 2).as_dict())
    text = json.dumps(told, allow_nan=False)
    (twin,) = json.loads(text)["broken_twins"]
    assert twin["losses"] == [
        {
            "kind": "PRIVATE",
            "claimed": 1,
            "found": None,
            "claimed_delta": 0,
            "found_delta": 0,
            "visible": 0,
            "infinite": True,
        }
    ]
    assert twin["caught"] is True
    assert json.loads(text)["findings"][0]["trouble"].startswith("ProtocolViolation")


@pytest.mark.long
def test_a_run_in_processes_gives_what_a_run_here_gives() -> None:
    choice, steps = Choice("Hadamard", "exact"), list[int]()
    audited = run(choice, 0, steps.append, cores=1)
    here = [measured(audit) for audit in chosen(choice)]
    assert [outcome.finding for outcome in audited.outcomes] == [outcome.finding for outcome in here]
    assert sum(steps) == len(here)
    assert audited.passed


class Here:
    """A pool that works at once and remembers what it was given, and which pool it was."""

    made: ClassVar[list[tuple[int, list[str]]]] = []

    def __init__(self, workers: int, *_: Any) -> None:
        self.given: list[str] = []
        Here.made.append((workers, self.given))

    def submit(self, task: Any, *values: Any, **more: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.given.append("alarms" if task is runner.false_alarms else chosen(values[0])[values[1]].way)
        if task is runner.false_alarms:
            future.set_result((FalseAlarms("thing", more["alpha"], values[0], 0, 0.1),))
        elif self.given[-1] == "one run":
            future.set_exception(MemoryError("no room"))
        else:
            future.set_result(measured(audit_of(1.1 if chosen(values[0])[values[1]].broken else 1.0)))
        return future

    def shutdown(self, **_: Any) -> None:
        return


@pytest.mark.long
def test_clocks_run_alone_and_last_and_a_lost_process_is_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "ProcessPoolExecutor", Here)
    monkeypatch.setattr(Here, "made", [])
    choice = Choice("position", runs=1000)
    audited = run(choice, 7, cores=3)
    (many, others), (one, clocked) = Here.made
    assert (many, one) == (3, 1)
    assert "time" not in others
    assert set(clocked) == {"time"}
    assert others.count("alarms") == len(audited.alarms) == 2
    assert [outcome.trouble for outcome in audited.outcomes if not outcome.finding] == ["MemoryError: no room"] * 2
    assert len(audited.outcomes) == len(chosen(choice))
    assert not audited.passed


def test_alarms_that_cannot_be_counted_are_trouble() -> None:
    task: Future[tuple[FalseAlarms, ...]] = Future()
    task.set_exception(MemoryError("no room"))
    counted, troubles = runner._counted([task])
    assert counted == ()
    assert [outcome.trouble for outcome in troubles] == ["MemoryError: no room"]
    assert isinstance(troubles[0], Outcome)


def test_an_auditor_that_rings_too_often_fails() -> None:
    rings = FalseAlarms("thing", 0.001, 1000, 20, 0.03)
    assert not Audited(Choice(), (measured(audit_of(1.0)),), (rings,), 1.0, 1).passed


@pytest.mark.parametrize(
    ("choice", "many", "repeats"),
    [
        (Choice(), False, 100),
        (Choice(way="statistical"), False, 100),
        (Choice(way="exact"), False, 0),
        (Choice("hub"), False, 0),
        (Choice("hub"), True, 1000),
    ],
    ids=str,
)
def test_how_often_false_alarms_are_counted(choice: Choice, many: bool, repeats: int) -> None:
    assert wanted_repeats(choice, many) == repeats
