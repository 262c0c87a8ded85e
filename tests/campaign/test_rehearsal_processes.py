"""The processes of a rehearsal: what they are told and tell, and that none is left."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.campaign_rehearsed import processes_about, world
from visibility_aware_edge_ldp.campaign import rehearsal_processes
from visibility_aware_edge_ldp.campaign.http_client import Reply, Transport
from visibility_aware_edge_ldp.campaign.rehearsal import rehearse
from visibility_aware_edge_ldp.campaign.rehearsal_processes import Done, Person, Plan, RehearsalFailed, Shared, Workers

PLAN = Plan("http://here", "ab" * 32, {"PRIVATE": "1/3"}, [Person(7, "né", "token", "home", "friends.csv")])


def test_plans_and_turns_survive_the_pipe() -> None:
    assert Plan.from_text(PLAN.to_text()) == PLAN
    done = Done(3, 10, 20, bytes(range(256)))
    assert Done.from_text(done.to_text()) == done
    assert "\n" not in done.to_text(), "one line for each"


def test_what_a_person_was_told_is_raised_here() -> None:
    with pytest.raises(RehearsalFailed, match="né: The round is over"):
        Done.from_text('{"error": "né: The round is over"}')


def test_only_what_never_changes_is_shared_and_all_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def get(transport: Transport, path: str, most: int = 0, own: bool = False) -> Reply:
        asked.append(path)
        head = {"cache-control": "public, max-age=9, immutable"} if path == "/v1/roster" else {}
        return Reply(200, head, b"12345")

    monkeypatch.setattr(Transport, "get", get)
    monkeypatch.setattr(Shared, "_kept", {})
    for participant in (1, 2):
        done = Done(participant)
        shared = Shared(done, "http://127.0.0.1:1")
        for path in ("/v1/roster", "/v1/rounds/1"):
            assert shared.get(path).body == b"12345"
        assert done.received == 10
    assert asked == ["/v1/roster", "/v1/rounds/1", "/v1/rounds/1"]


def test_a_worker_that_cannot_start_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal_processes, "_WORKER", "visibility_aware_edge_ldp.nothing")
    with Workers(tmp_path, [PLAN]) as workers, pytest.raises(RehearsalFailed, match="No module named"):
        list(workers.run("enrol", [0]))
    assert (tmp_path / "worker-0.json").stat().st_mode & 0o777 == 0o600, "it holds tokens"
    assert processes_about(tmp_path) == []


@pytest.mark.parametrize("part", ["_SERVER", "_WORKER"])
def test_a_process_that_ends_is_said_and_nothing_is_left(
    part: str, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rehearsal_processes, part, "visibility_aware_edge_ldp.nothing")
    with pytest.raises(RehearsalFailed, match="No module named"):
        rehearse(world(20, 40), "degrees", processes=1)
    assert list(temporary.iterdir()) == []
    assert processes_about(temporary) == []
