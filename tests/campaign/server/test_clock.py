"""Deadlines by a clock that jumps: nothing is closed and nothing is erased before its time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from support.campaign_inside import Inside, inside
from support.campaign_lab import FAR, new_lab, sqlite_url
from support.campaign_server_faults import jumps
from visibility_aware_edge_ldp.campaign.server.clock import GRACE, ORDINARY, SteadyClock, has_passed, running_time

DAY = 86_400


@dataclass
class Machine:
    """A machine whose clock somebody may set."""

    clock: float
    running: float = 1000.0

    def go_on(self, seconds: float) -> None:
        self.clock += seconds
        self.running += seconds

    def steady(self, grace: float = GRACE) -> SteadyClock:
        return SteadyClock(lambda: self.clock, lambda: self.running, grace)


def test_a_clock_that_nobody_sets() -> None:
    machine = Machine(FAR)
    clock = machine.steady()
    machine.go_on(GRACE - 1)
    assert clock() == FAR + GRACE - 1
    assert not clock.has_passed(FAR)
    machine.go_on(1)
    assert clock.has_passed(FAR)
    assert clock.has_passed(FAR + GRACE)
    assert not clock.has_passed(FAR + GRACE + 1)
    assert clock.jumped == 0


@pytest.mark.parametrize("jump", [DAY, -DAY])
def test_a_jump_and_back(jump: float, caplog: pytest.LogCaptureFixture) -> None:
    machine = Machine(FAR)
    clock = machine.steady(0)
    machine.clock += jump
    machine.go_on(2)
    assert clock() == FAR + 2 + min(jump, 0)
    assert not clock.has_passed(FAR + 3)
    assert clock.jumped == jump
    machine.clock -= jump
    assert (clock(), clock.jumped) == (FAR + 2, 0)
    assert clock.has_passed(FAR + 2)
    assert [record.message for record in caplog.records] == ["clock jumped"] * 2


def test_a_clock_that_was_ahead_at_the_start_is_set_right() -> None:
    machine = Machine(FAR + DAY)
    clock = machine.steady()
    machine.go_on(10)
    assert not clock.has_passed(FAR + DAY), "nobody knows yet"
    machine.clock -= DAY
    machine.go_on(2 * GRACE)
    assert clock() == FAR + 10 + 2 * GRACE
    assert not clock.has_passed(FAR + DAY)


def test_ordinary_steps_are_no_jump() -> None:
    machine = Machine(FAR)
    clock = machine.steady()
    machine.clock += ORDINARY
    assert clock.jumped == 0


def test_the_machines_own_time_runs() -> None:
    first = running_time()
    assert running_time() >= first
    assert abs(SteadyClock().jumped) == 0
    assert has_passed(lambda: 5.0, 5.0)
    assert not has_passed(lambda: 5.0, 5.1)


def _state(server: Inside) -> str:
    server.runner.run(server.app.rounds.check_deadlines())
    return str(server.ask("GET", "/v1/rounds/1").content["state"])


@pytest.mark.parametrize("steady", [True, False])
def test_two_seconds_of_a_clock_a_day_ahead(tmp_path: Path, steady: bool) -> None:
    """They close no round and erase no report; by the machine's clock alone, the twin, they do both."""
    lab = new_lab(tmp_path / "lab", 12, "degrees", (FAR,), fewest=5)
    machine = Machine(FAR - 100)
    with inside(lab, sqlite_url(tmp_path), machine.steady() if steady else lambda: machine.clock) as server:
        server.put(3)
        machine.go_on(90)
        machine.clock += DAY
        machine.go_on(2)
        state, taken = _state(server), server.put(4).status
        machine.clock -= DAY
        assert (state, taken, server.app.rounds.erased) == (("open", 201, False) if steady else ("closed", 409, True))
        if steady:
            machine.go_on(8)
            assert (_state(server), server.app.rounds.erased) == ("closed", True), "with too few, at its deadline"


@pytest.mark.long
def test_a_server_whose_machine_is_a_day_wrong_and_a_twin_that_believes_it(tmp_path: Path) -> None:
    """The drill of ``python -m benchmarks.campaign_server clock``: real processes, their clocks set by a file."""
    found = jumps(tmp_path / "steady")
    assert (found.closed, found.refused, found.lost) == (0, 0, 0)
    assert {round(each / DAY) for each in found.jumps_told} == {-1, 0, 1}
    twin = jumps(tmp_path / "twin", "--twin", "believes-the-clock")
    assert twin.closed > 0
    assert twin.lost > 0
