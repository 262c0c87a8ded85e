"""How rounds close, what is estimated from them, and when their reports are erased."""

from __future__ import annotations

import asyncio
import contextlib
import json
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from support.campaign_inside import Answer, Clock, Inside, inside
from support.campaign_lab import FAR, Lab, new_lab, sqlite_url, stub_estimate
from visibility_aware_edge_ldp.campaign.server.app import open_store
from visibility_aware_edge_ldp.campaign.server.stages import PATIENCE
from visibility_aware_edge_ldp.campaign.server.stores.store import StoreDamaged, StoreUnavailable
from visibility_aware_edge_ldp.campaign.wire_format import SALT, part_in
from visibility_aware_edge_ldp.public.transcript import Transcript
from visibility_aware_edge_ldp.public.transcript_parts import read_part


def test_the_clock_closes_a_round(server: Inside) -> None:
    server.put(3)
    server.clock.now = FAR - 1
    assert server.put(4).status == 201
    server.clock.now = FAR
    assert server.put(5).problem == "late"
    assert (server.put(3).status, server.put(3, variant=1).problem) == (200, "conflict")
    server.runner.run(server.app.rounds.check_deadlines())
    status = server.ask("GET", "/v1/rounds/1").content
    assert (status["state"], status["received"]) == ("closed", 2)
    assert server.put(5).problem == "late"
    assert (server.put(3).status, server.put(3, variant=1).problem) == (200, "conflict")


def test_too_few_reports_close_a_round_only_at_its_deadline(tmp_path: Path) -> None:
    lab = new_lab(tmp_path / "lab", 12, "triangles", (FAR, FAR + 100), fewest=3)
    with inside(lab, sqlite_url(tmp_path)) as server:
        server.put(0)
        assert server.operator("/v1/rounds/1/close").problem == "not-ready"
        server.clock.now = FAR
        server.runner.run(server.app.rounds.check_deadlines())
        states = [server.ask("GET", f"/v1/rounds/{number}").content["state"] for number in (1, 2)]
        assert states == ["closed", "waiting"], "nobody is asked again for what will not be estimated"
        assert server.operator("/v1/estimate").problem == "not-ready"


def test_two_rounds_with_a_transcript(triangles: Inside) -> None:
    assert triangles.put(3, 2).problem == "not-open"
    assert triangles.ask("GET", "/v1/rounds/1/transcript").problem == "not-ready"
    for participant in (0, 3, 9):
        assert triangles.put(participant).status == 201
    assert triangles.operator("/v1/estimate").problem == "not-ready"
    closed = triangles.operator("/v1/rounds/1/close").content
    heard = triangles.ask("GET", "/v1/rounds/1/transcript")
    halves = np.frombuffer(heard.body, np.uint8).reshape(2, -1)
    transcript = Transcript(triangles.lab.served.terms.survey.first.identity, *halves)
    assert transcript.digest == heard.headers["transcript-digest"] == closed["transcript"]
    assert np.flatnonzero(transcript.rows_answered(triangles.lab.served.view)).tolist() == [0, 3, 9]
    assert triangles.put(4, 2).problem == "forbidden", "who was not heard is not asked again"
    assert triangles.put(3, 2).status == 201
    wrong = triangles.lab.report(9, 2, transcript="ab" * 32)
    assert triangles.ask("PUT", triangles.lab.path(9, 2), triangles.lab.tokens[9], wrong).problem == "bad-report"
    assert triangles.ask("GET", "/v1/rounds/2").content["asked"] == 3
    triangles.operator("/v1/rounds/2/close")
    assert triangles.operator("/v1/estimate").status == 200


def test_two_rounds_with_parts(tmp_path: Path) -> None:
    lab = new_lab(tmp_path / "lab", 12, "triangles", (FAR, FAR + 100), share="0.1")
    terms = lab.served.terms
    with inside(lab, sqlite_url(tmp_path)) as server:
        for participant in (0, 3, 9):
            assert server.put(participant).status == 201
        assert server.ask("GET", "/v1/rounds/1/parts/0").problem == "not-ready"
        closed = server.operator("/v1/rounds/1/close").content
        assert server.ask("GET", "/v1/rounds/1/transcript").problem == "not-found"
        for number in range(terms.survey.parts):
            heard = server.ask("GET", f"/v1/rounds/1/parts/{number}")
            body, root = part_in(heard.body, number, terms.survey.parts)
            assert root == heard.headers["transcript-digest"] == closed["transcript"]
            part = read_part(terms.survey, number, body, root)
            assert np.flatnonzero(part.answered).tolist() == [0, 3, 9]
            assert server.ask("GET", f"/v1/rounds/1/parts/{number}", range="bytes=2-4").body == heard.body[2:5]
        for path in ("/v1/rounds/2/parts/0", f"/v1/rounds/1/parts/{terms.survey.parts}", "/v1/rounds/1/parts/00"):
            assert server.ask("GET", path).problem == "not-found"
        wrong = lab.report(9, 2, transcript="ab" * 32)
        assert server.ask("PUT", lab.path(9, 2), lab.tokens[9], wrong).problem == "bad-report"
        assert server.put(3, 2).status == 201
        before = [server.ask("GET", f"/v1/rounds/1/parts/{number}").body for number in range(3)]
    with inside(lab, sqlite_url(tmp_path)) as again:
        assert before == [again.ask("GET", f"/v1/rounds/1/parts/{number}").body for number in range(3)]
        again.operator("/v1/rounds/2/close")
        assert again.operator("/v1/estimate").status == 200
        assert again.ask("GET", "/v1/rounds/1/parts/0").problem == "erased"


def test_a_second_round_answers_where_the_first_said_one(labs: dict[str, Lab], tmp_path: Path) -> None:
    lab = labs["two rounds"]
    with inside(lab, sqlite_url(tmp_path)) as server:
        for participant in (0, 1):
            server.put(participant)
        server.operator("/v1/rounds/1/close")
        first = lab.report(0)
        second = first[: SALT + 5] + b"\x02" + first[SALT + 6 :]  # the same ones again, as the second round's
        assert server.ask("PUT", lab.path(0, 2), lab.tokens[0], second).status == 201
        everywhere = lab.report(1, 2)
        size = (len(everywhere) - len(lab.report(22)) + 2) // 2
        everywhere = everywhere[:-size] + everywhere[-2 * size : -size]
        assert server.ask("PUT", lab.path(1, 2), lab.tokens[1], everywhere).problem == "bad-report"
        assert server.ask("GET", "/v1/rounds/1/transcript").problem == "not-found"


def test_everything_is_read_the_same_after_the_bodies_have_gone(labs: dict[str, Lab], store_url: str) -> None:
    lab, clock = labs["triangles"], Clock()
    paths = ["/v1/rounds/1", "/v1/rounds/2", "/v1/rounds/1/transcript", "/v1/estimates"]

    def read(server: Inside) -> list[bytes]:
        found = [server.ask("GET", path).body for path in paths]
        own = [lab.path(3), lab.path(3, 2), "/v1/rounds/1/proof/3", "/v1/rounds/2/proof/3"]
        return found + [server.ask("GET", path, lab.tokens[3]).body for path in own]

    with inside(lab, store_url, clock) as server:
        for number in (1, 2):
            for participant in (0, 3, 9):
                assert server.put(participant, number).status == 201
            server.operator(f"/v1/rounds/{number}/close")
        before = server.runner.run(server.app.writer.do(lambda store: (store.bodies(1), store.bodies(2))))
        tag = server.ask("GET", "/v1/rounds/1/transcript").headers["etag"]
        answer = server.operator("/v1/estimate")
        assert answer.body == stub_estimate(None, None, {1: before[0], 2: before[1]})
        assert not server.runner.run(server.app.writer.do(lambda store: store.has_bodies()))
        known = read(server)
        gone = server.ask("GET", "/v1/rounds/1/transcript", if_none_match=tag)
        assert (gone.status, gone.problem) == (410, "erased")
        assert server.ask("GET", "/v1/rounds/1").content["transcript"] == "", "its digest has no salt"
        assert server.operator("/v1/estimate").body == answer.body
        assert (server.put(3).status, server.put(3, variant=5).problem, server.put(5).problem) == (
            200,
            "conflict",
            "late",
        )
    with inside(lab, store_url, clock) as server:
        assert read(server) == known
        assert server.operator("/v1/estimate").body == answer.body
        assert (server.put(3).status, server.put(3, variant=5).problem, server.put(5).problem) == (
            200,
            "conflict",
            "late",
        )


def test_bodies_are_kept_for_as_long_as_the_charter_says(tmp_path: Path) -> None:
    lab = new_lab(tmp_path / "lab", 12, "position", (FAR,), retention=100)
    with inside(lab, sqlite_url(tmp_path)) as server:
        server.put(0)
        server.operator("/v1/rounds/1/close")
        server.operator("/v1/estimate")
        kept = lambda: server.runner.run(server.app.writer.do(lambda store: store.has_bodies()))  # noqa: E731
        server.clock.now += 99
        server.runner.run(server.app.rounds.check_deadlines())
        assert kept()
        server.clock.now += 1
        server.runner.run(server.app.rounds.check_deadlines())
        assert not kept()


def _holds(server: Inside) -> bool:
    server.runner.run(server.app.rounds.check_deadlines())
    return server.runner.run(server.app.writer.do(lambda store: store.has_bodies()))


@pytest.mark.parametrize("kind", ["triangles", "position"])
def test_nothing_is_left_that_first_reports_can_be_made_from(kind: str, tmp_path: Path) -> None:
    """Neither in the store nor in memory, before and after a restart; also where nobody but us hears the first."""
    lab, clock, url = new_lab(tmp_path / "lab", 12, kind, (FAR, FAR + 100)), Clock(), sqlite_url(tmp_path)
    with inside(lab, url, clock) as server:
        for number in (1, 2):
            for participant in (0, 3, 9):
                assert server.put(participant, number).status == 201
            server.operator(f"/v1/rounds/{number}/close")
        assert server.runner.run(server.app.writer.do(lambda store: store.transcript(1)))
        assert server.app.rounds.broadcast is not None
        digest = server.app.rounds.stages[1].transcript
        assert digest
        assert server.operator("/v1/estimate").status == 200
        assert (server.app.rounds.broadcast, server.app.rounds.stages[1].transcript) == (None, "")
    # Of three people, whoever has the digest of their first answers together finds these by trying.
    octets = b"".join(each.read_bytes() for each in tmp_path.glob("*.db*"))
    assert server.app.rounds.stages[1].root.encode() in octets, "the search must find what is there"
    assert digest.encode() not in octets
    with inside(lab, url, clock) as server:
        assert server.app.rounds.broadcast is None
        assert server.runner.run(server.app.writer.do(lambda store: store.transcript(1))) == b""
        assert server.app.rounds.stages[1].transcript == ""
        assert server.ask("GET", "/v1/rounds/2").content["asked"] == 3
        assert server.ask("GET", "/v1/rounds/1/transcript").problem == (
            "erased" if kind == "triangles" else "not-found"
        )


def test_a_kill_between_the_mark_and_the_erasing_is_no_damage(tmp_path: Path) -> None:
    clock, url = Clock(), sqlite_url(tmp_path)
    lab = new_lab(tmp_path / "lab", 12, "triangles", (FAR, FAR + 100), retention=50)
    with inside(lab, url, clock) as server:
        for number in (1, 2):
            for participant in (0, 3, 9):
                server.put(participant, number)
            server.operator(f"/v1/rounds/{number}/close")
        server.operator("/v1/estimate")
        assert _holds(server)
    clock.now += 50
    store = open_store(url, lab.served.charter.identity, 2)
    store._mark_erased(int(clock.now))  # type: ignore[attr-defined]
    store.database.erase("bodies")  # type: ignore[attr-defined]
    store.close()
    with inside(lab, url, clock) as server:
        assert server.ask("GET", "/v1/rounds/1/transcript").problem == "erased"
        assert not _holds(server)


@pytest.mark.parametrize("kind", ["position", "triangles"])
def test_too_few_reports_are_not_kept_for_ever(kind: str, tmp_path: Path) -> None:
    closes = (FAR, FAR + 100) if kind == "triangles" else (FAR,)
    lab = new_lab(tmp_path / "lab", 12, kind, closes, fewest=3, retention=70)
    with inside(lab, sqlite_url(tmp_path)) as server:
        server.put(0)
        server.clock.now = FAR + 69
        assert _holds(server)
        assert server.app.rounds.broadcast is None, "what few people said is not broadcast"
        if kind == "triangles":
            assert server.ask("GET", "/v1/rounds/1/transcript").problem == "not-ready"
        server.clock.now = FAR + 70
        assert not _holds(server)
        assert server.operator("/v1/estimate").problem == "not-ready"
        assert server.put(0).status == 200, "the receipt stays"


def test_a_second_round_with_too_few_reports_ends_at_its_own_deadline(tmp_path: Path) -> None:
    lab = new_lab(tmp_path / "lab", 12, "triangles", (FAR, FAR + 100), fewest=2, retention=70)
    with inside(lab, sqlite_url(tmp_path)) as server:
        server.put(0)
        server.put(1)
        server.clock.now = FAR
        server.runner.run(server.app.rounds.check_deadlines())
        assert server.put(0, 2).status == 201
        server.clock.now = FAR + 169
        assert _holds(server)
        server.clock.now = FAR + 170
        assert not _holds(server)
        assert server.ask("GET", "/v1/rounds/1/transcript").problem == "erased"


def test_an_estimate_that_nobody_asks_for_is_made_before_reports_go(tmp_path: Path) -> None:
    lab = new_lab(tmp_path / "lab", 12, "position", (FAR,), retention=70)
    with inside(lab, sqlite_url(tmp_path)) as server:
        server.put(0)
        server.clock.now = FAR + PATIENCE + 69
        assert _holds(server)
        assert server.ask("GET", "/v1/estimates").problem == "not-ready"
        server.clock.now = FAR + PATIENCE + 70
        assert _holds(server), "from the estimate on they have their time"
        assert server.ask("GET", "/v1/estimates").status == 200
        server.clock.now += 70
        assert not _holds(server)


def test_what_cannot_be_estimated_in_all_that_time_goes_too(tmp_path: Path) -> None:
    def fails(*given: object) -> bytes:
        raise ZeroDivisionError

    lab = new_lab(tmp_path / "lab", 12, "position", (FAR,), retention=70)
    with inside(lab, sqlite_url(tmp_path), None, fails) as server:
        server.put(0)
        server.clock.now = FAR + PATIENCE + 70
        assert not _holds(server)
        assert server.operator("/v1/estimate").problem == "erased"


async def pauses_after(server: Inside, failures: int) -> list[float]:
    """How long it waits before each new attempt, and after one that went well."""
    rounds, paused, outcomes = server.app.rounds, list[float](), iter([True] * failures)

    async def check_deadlines() -> None:
        if next(outcomes, False):
            raise StoreUnavailable("Somebody reads the store.")

    async def sleep(seconds: float) -> None:
        paused.append(seconds)
        if len(paused) > failures:
            raise asyncio.CancelledError

    ended = contextlib.suppress(asyncio.CancelledError)
    with patch.object(rounds, "check_deadlines", check_deadlines), patch.object(asyncio, "sleep", sleep), ended:
        await rounds._keep_deadlines()
    return paused


def test_what_fails_is_tried_less_and_less_often(server: Inside) -> None:
    paused = server.runner.run(pauses_after(server, 9))
    assert paused == [1, 2, 4, 8, 16, 32, 60, 60, 60, 0.5]


def test_a_damaged_store_is_not_estimated_from(labs: dict[str, Lab], tmp_path: Path) -> None:
    with inside(labs["position"], sqlite_url(tmp_path)) as server:
        server.put(3)
        server.put(4)
        server.operator("/v1/rounds/1/close")
        change = "UPDATE bodies SET body = zeroblob(length(body)) WHERE participant = 4"
        server.runner.run(server.app.writer.do(lambda store: store.database.run(change)))  # type: ignore[attr-defined]
        with pytest.raises(StoreDamaged):
            server.runner.run(server.app.rounds.estimate())
        told = server.operator("/v1/estimate")
        assert told.problem == "damaged"
        assert told.content["detail"] == (
            "Round 1: of participants number 4 the report is not as acknowledged. Restore the store from a copy."
        )
        assert server.ask("GET", "/v1/estimates").problem == "not-ready"


def test_two_estimates_at_once_are_made_once(labs: dict[str, Lab], tmp_path: Path) -> None:
    made = []

    def counted(*args: object) -> bytes:
        made.append(args)
        return stub_estimate(*args)

    with inside(labs["position"], sqlite_url(tmp_path), estimate_bytes=counted) as server:
        server.put(3)
        server.operator("/v1/rounds/1/close")

        async def both() -> list[Answer]:
            ask = server.asked
            return await asyncio.gather(*(ask("POST", "/v1/estimate", server.lab.operator) for _ in range(2)))

        first, second = server.runner.run(both())
        assert first.body == second.body
        assert len(made) == 1
        assert json.loads(first.body)
