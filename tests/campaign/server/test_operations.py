"""Amendments at a server: applied as a whole or not at all, whatever the store; who is away; what operators did."""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.campaign_amending import Issuer
from support.campaign_inside import Answer, Clock, Inside, inside
from support.campaign_lab import FAR, Lab, Running, new_lab, sqlite_url
from support.campaign_server_wire import ask_once
from visibility_aware_edge_ldp.campaign.amendments import Amended, Person, SignedAmendment
from visibility_aware_edge_ldp.campaign.server import operations
from visibility_aware_edge_ldp.campaign.server.page import page
from visibility_aware_edge_ldp.campaign.server.stores.store import Upload
from visibility_aware_edge_ldp.campaign.signed_documents import new_key, token_hash

Served = tuple[Inside, Issuer]


def post(server: Inside, signed: SignedAmendment | bytes, token: str | None = None) -> Answer:
    data = signed if isinstance(signed, bytes) else signed.data
    return server.ask("POST", "/v1/amendments", server.lab.operator if token is None else token, data)


@contextmanager
def opened(lab: Lab, store_url: str, clock: Clock | None = None) -> Iterator[Served]:
    with inside(lab, store_url, clock) as server:
        yield server, Issuer.of(lab.served.charter, lab.directory)


@pytest.fixture
def town(labs: dict[str, Lab], store_url: str) -> Iterator[Served]:
    with opened(labs["position"], store_url) as found:
        yield found


def test_a_lost_token_is_replaced_and_the_old_one_refused(town: Served) -> None:
    server, issuer = town
    assert server.put(3).status == 201
    signed, token = issuer.replaces_token(3)
    assert post(server, signed).status == 201
    assert server.put(3).problem == "unauthorized", "the old token is nobody's"
    own = {"path": server.lab.path(3), "token": token}
    receipt = server.ask("GET", **own)
    assert receipt.status == 200, "what was stored stays"
    assert server.ask("PUT", body=server.lab.report(3), **own).body == receipt.body
    assert server.ask("PUT", body=server.lab.report(3, variant=1), **own).problem == "conflict", "one answer a number"
    assert server.rows() == 1


def test_a_withdrawal_removes_reports_and_takes_no_more(town: Served) -> None:
    server, issuer = town
    for participant in (3, 4, 5):
        assert server.put(participant).status == 201
    assert post(server, issuer.signs("withdrawal", 4)).status == 201
    assert server.rows() == 2
    assert server.ask("GET", "/v1/rounds/1").content["received"] == 2
    assert server.put(4).problem == "withdrawn"
    assert server.ask("GET", server.lab.path(4), server.lab.tokens[4]).problem == "not-found"
    assert server.operator("/v1/rounds/1/close").status == 200
    leaves, bodies = server.runner.run(server.app.writer.do(lambda store: (store.leaves(1), store.bodies(1))))
    assert [who for who, _ in leaves] == list(bodies) == [3, 5]
    assert "1 person withdrew" in page(server.app.rounds)[0].decode()


def test_what_waits_for_the_disk_is_not_stored_after_a_withdrawal(town: Served) -> None:
    """An upload that was admitted before the amendment, and is written after it."""
    server, issuer = town
    signed = issuer.signs("withdrawal", 4)

    async def both() -> tuple[Answer, Any]:
        writer, upload = server.app.writer, Upload.of(1, 4, server.lab.report(4))
        amending = asyncio.ensure_future(server.asked("POST", "/v1/amendments", server.lab.operator, signed.data))
        while not server.app.rounds.turn.locked():
            await asyncio.sleep(0)
        return (await amending), await writer.put(upload)

    answer, outcome = server.runner.run(both())
    assert (answer.status, outcome.name, server.rows()) == (201, "WITHDRAWN", 0)


def test_amendments_stay_when_the_server_starts_again(labs: dict[str, Lab], store_url: str) -> None:
    with opened(labs["position"], store_url) as (server, issuer):
        server.put(1)
        signed, token = issuer.replaces_token(2)
        for each in (signed, issuer.signs("withdrawal", 1), issuer.signs("deadline", round=1, closes=FAR + 50)):
            assert post(server, each).status == 201
        shown = server.ask("GET", "/v1/amendments").body
    with opened(labs["position"], store_url, Clock(FAR + 10.0)) as (server, _):
        assert server.ask("GET", "/v1/amendments").body == shown
        assert Amended.from_bytes(server.lab.served.charter, shown).head == issuer.amended.head
        assert server.put(1).problem == "withdrawn"
        assert server.put(2).problem == "unauthorized"
        path, body = server.lab.path(2), server.lab.report(2)
        assert server.ask("PUT", path, token, body).status == 201, "the longer deadline holds"


def test_a_deadline_is_extended_until_it_has_come(labs: dict[str, Lab], store_url: str) -> None:
    clock = Clock(FAR - 10.0)
    with opened(labs["position"], store_url, clock) as (server, issuer):
        assert post(server, issuer.signs("deadline", round=1, closes=FAR + 100)).status == 201
        clock.now = FAR + 50.0
        server.runner.run(server.app.rounds.check_deadlines())
        assert server.put(1).status == 201
        late = issuer.signs("deadline", round=1, closes=FAR + 200)
        clock.now = FAR + 100.0
        assert post(server, late).problem == "late", "its time is over, though nobody has closed it yet"
        server.runner.run(server.app.rounds.check_deadlines())
        assert server.ask("GET", "/v1/rounds/1").content["state"] == "closed"
        assert post(server, late).problem == "late"


def test_a_deadline_that_has_gone_by_is_refused(labs: dict[str, Lab], tmp_path: Path) -> None:
    with opened(labs["two rounds"], sqlite_url(tmp_path), Clock(FAR + 50.0)) as (server, issuer):
        assert post(server, issuer.signs("deadline", round=1, closes=FAR + 60)).problem == "late"
        again = Issuer(issuer.charter, issuer.key)
        assert post(server, again.signs("deadline", round=2, closes=FAR + 150)).status == 201


def test_forged_replayed_and_unordered_ones_change_nothing(town: Served) -> None:
    server, issuer = town
    amendment, person = issuer.drafted("withdrawal", 4)
    assert post(server, SignedAmendment.of(amendment, new_key(), person)).problem == "bad-amendment"
    first = issuer.signs("withdrawal", 4)
    second = issuer.signs("withdrawal", 5)
    assert post(server, second).problem == "out-of-order"
    assert post(server, first).status == 201
    assert post(server, first).status == 200, "the answer may have been lost; nothing is done twice"
    assert post(server, second).status == 201
    fork = Issuer(issuer.charter, issuer.key)
    assert post(server, fork.signs("withdrawal", 6)).problem == "out-of-order"
    assert len(json.loads(server.ask("GET", "/v1/amendments").body)) == 2
    assert server.put(6).status == 201


@pytest.mark.parametrize("data", [b"{}", b"[]", b"\xff", b'{"amendment":1,"signature":""}'])
def test_what_is_no_amendment_is_a_typed_problem(town: Served, data: bytes) -> None:
    assert post(town[0], data).problem == "bad-amendment"


def test_too_much_is_refused_unread(town: Served) -> None:
    assert post(town[0], b"{" * 5_000).problem == "too-large"
    assert town[0].ask("POST", "/v1/amendments", town[0].lab.operator).problem == "length-required"


def test_only_the_operator_hands_amendments_in(town: Served) -> None:
    server, issuer = town
    signed = issuer.signs("withdrawal", 4)
    assert post(server, signed, "").problem == "unauthorized"
    assert post(server, signed, server.lab.tokens[4]).problem == "forbidden"
    assert server.ask("GET", "/v1/amendments").body == b"[]"


def _without_person(issuer: Issuer, server: Inside) -> SignedAmendment:
    amendment, _ = issuer.drafted("withdrawal", 4)
    return SignedAmendment.of(amendment, issuer.key)


def _another_person(issuer: Issuer, server: Inside) -> SignedAmendment:
    amendment, _ = issuer.drafted("withdrawal", 4)
    return SignedAmendment.of(amendment, issuer.key, Person(5))


def _nobody(issuer: Issuer, server: Inside) -> SignedAmendment:
    return issuer.signs("withdrawal", 24)


def _anothers_token(issuer: Issuer, server: Inside) -> SignedAmendment:
    return issuer.signs("token", 4, token=token_hash(server.lab.tokens[5]))


def _the_operators_token(issuer: Issuer, server: Inside) -> SignedAmendment:
    return issuer.signs("token", 4, token=token_hash(server.lab.operator))


@pytest.mark.parametrize("make", [_without_person, _another_person, _nobody, _anothers_token, _the_operators_token])
def test_wrong_people_and_tokens_are_refused(
    labs: dict[str, Lab], tmp_path: Path, make: Callable[[Issuer, Inside], SignedAmendment]
) -> None:
    with opened(labs["position"], sqlite_url(tmp_path)) as (server, issuer):
        assert post(server, make(issuer, server)).problem == "bad-amendment"
        assert server.ask("GET", "/v1/amendments").body == b"[]"


def test_nobody_withdraws_twice_or_after_the_end(town: Served) -> None:
    server, issuer = town
    for participant in range(3):
        server.put(participant)
    assert post(server, issuer.signs("withdrawal", 4)).status == 201
    again = Issuer(issuer.charter, issuer.key)
    again.amended = issuer.amended
    assert post(server, again.signs("withdrawal", 4)).problem == "bad-amendment"
    assert server.operator("/v1/rounds/1/close").status == 200
    assert post(server, issuer.signs("withdrawal", 1)).problem == "late"
    assert server.rows() == 3


def test_a_withdrawal_in_round_2_leaves_the_frozen_first_round(labs: dict[str, Lab], tmp_path: Path) -> None:
    with opened(labs["triangles"], sqlite_url(tmp_path)) as (server, issuer):
        people = server.lab.asked[:4]
        for participant in people:
            assert server.put(participant).status == 201
        assert server.operator("/v1/rounds/1/close").status == 200
        before = server.ask("GET", "/v1/rounds/1").body, server.ask("GET", "/v1/rounds/1/transcript").body
        assert server.put(people[1], 2).status == 201
        assert post(server, issuer.signs("withdrawal", people[1])).status == 201
        assert before == (server.ask("GET", "/v1/rounds/1").body, server.ask("GET", "/v1/rounds/1/transcript").body)
        assert server.put(people[1], 2).problem == "withdrawn"
        assert server.put(people[1], 1).status == 200, "its first report is in the frozen set still"
        for participant in (people[0], people[2]):
            assert server.put(participant, 2).status == 201
        assert server.operator("/v1/rounds/2/close").content["received"] == 2
        assert server.operator("/v1/estimate").status == 200


def test_who_an_amendment_is_about_only_that_person_reads(town: Served) -> None:
    server, issuer = town
    signed, token = issuer.replaces_token(3)
    post(server, signed)
    post(server, issuer.signs("withdrawal", 4))
    said = server.ask("GET", "/v1/amendments/4", server.lab.tokens[4]).content["amendments"]
    assert [each["number"] for each in said] == [2]
    shown = Person(4, bytes.fromhex(said[0]["salt"])).hidden(issuer.charter.identity)
    assert shown == list(issuer.amended.amendments)[1].person
    assert server.ask("GET", "/v1/amendments/3", server.lab.tokens[4]).problem == "forbidden"
    assert server.ask("GET", "/v1/amendments/3", server.lab.operator).problem == "forbidden"
    assert server.ask("GET", "/v1/amendments/24", server.lab.tokens[4]).problem == "not-found"
    public = server.ask("GET", "/v1/amendments").body.decode()
    assert "salt" not in public
    assert "participant" not in public
    assert server.ask("GET", "/v1/amendments/3", token).content["amendments"][0]["number"] == 1


def test_who_has_not_answered_only_the_operator_hears(town: Served) -> None:
    server, issuer = town
    asked = server.lab.asked
    for participant in asked[:20]:
        server.put(participant)
    post(server, issuer.signs("withdrawal", asked[20]))
    found = server.ask("GET", "/v1/rounds/1/unanswered", server.lab.operator).content
    assert found == {"round": 1, "unanswered": asked[21:], "withdrawals": 1}
    assert server.ask("GET", "/v1/rounds/1/unanswered").problem == "unauthorized"
    assert server.ask("GET", "/v1/rounds/1/unanswered", server.lab.tokens[1]).problem == "forbidden"


def test_round_2_waits_for_those_of_round_1(triangles: Inside) -> None:
    people, path = triangles.lab.asked[:5], "/v1/rounds/2/unanswered"
    assert triangles.ask("GET", path, triangles.lab.operator).problem == "not-ready"
    for participant in people:
        triangles.put(participant)
    triangles.operator("/v1/rounds/1/close")
    triangles.put(people[0], 2)
    assert triangles.ask("GET", path, triangles.lab.operator).content["unanswered"] == people[1:]


def test_what_operators_did_is_a_chain(labs: dict[str, Lab], store_url: str) -> None:
    with opened(labs["position"], store_url, Clock(1_000.0)) as (server, issuer):
        server.operator("/v1/rounds/1/close")
        server.put(1)
        post(server, issuer.signs("withdrawal", 2))
        server.ask("GET", "/v1/rounds/1/unanswered", server.lab.operator)
        server.operator("/v1/rounds/1/close")
        server.operator("/v1/estimate")
        assert server.ask("GET", "/v1/operations").problem == "unauthorized"
        assert server.ask("GET", "/v1/operations", server.lab.tokens[0]).problem == "forbidden"
    with opened(labs["position"], store_url) as (server, _):
        lines = server.ask("GET", "/v1/operations", server.lab.operator).content["operations"]
    first = next(iter(issuer.amended.amendments)).digest
    assert [each["what"] for each in lines] == [
        "close round 1",
        f"amendment 1 (withdrawal) {first}",
        "who has not answered round 1",
        "close round 1",
        "estimate",
    ]
    head = bytes(32)
    for number, each in enumerate(lines, 1):
        head = operations.line_head(head, each["number"], each["made"], each["what"])
        assert (each["number"], each["made"], each["head"]) == (number, 1_000, head.hex())


def test_an_operator_who_cannot_be_noted_does_nothing(
    labs: dict[str, Lab], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(labs["position"], sqlite_url(tmp_path)) as (server, _):
        server.put(1)

        def full(*_: object) -> None:
            raise OSError("the disk is full")

        monkeypatch.setattr(operations, "note", full)
        assert server.operator("/v1/rounds/1/close").status >= 500
        assert server.ask("GET", "/v1/rounds/1").content["state"] == "open"


def test_an_amendment_that_cannot_be_kept_changes_nothing(
    labs: dict[str, Lab], store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The report is removed in the transaction that keeps the amendment, or neither is done."""
    with opened(labs["position"], store_url) as (server, issuer):
        server.put(4)
        signed = issuer.signs("withdrawal", 4)

        def fails(*_: object) -> None:
            raise OSError("the disk is full")

        monkeypatch.setattr(operations, "note", fails)
        assert post(server, signed).problem == "store-unavailable"
        assert server.rows() == 1
        assert server.ask("GET", "/v1/amendments").body == b"[]"
        monkeypatch.undo()
        assert server.put(4).status == 200, "nobody has withdrawn"
        assert post(server, signed).status == 201
        assert server.rows() == 0


def test_a_store_of_the_version_before_gets_the_tables(tmp_path: Path) -> None:
    import apsw

    lab = new_lab(tmp_path / "town", 8)
    with inside(lab, sqlite_url(tmp_path)) as server:
        server.put(1)
    with apsw.Connection(str(tmp_path / "store.db")) as old:
        for statement in (
            "DROP TABLE amendments",
            "DROP TABLE operations",
            *(f"ALTER TABLE rounds DROP COLUMN {column}" for column in ("opened", "closed", "sealed")),
            "UPDATE meta SET value = '6' WHERE name = 'version'",
        ):
            old.execute(statement)
    with opened(lab, sqlite_url(tmp_path)) as (server, issuer):
        assert server.rows() == 1
        assert post(server, issuer.signs("withdrawal", 1)).status == 201
        assert server.rows() == 0


def test_of_a_withdrawn_report_the_file_holds_nothing(tmp_path: Path) -> None:
    """The twin: before the withdrawal the bytes are found there."""
    lab = new_lab(tmp_path / "town", 200)
    body = lab.report(3)

    def found() -> bool:
        return any(body[:32] in path.read_bytes() for path in tmp_path.glob("store.db*"))

    with opened(lab, sqlite_url(tmp_path)) as (server, issuer):
        server.put(3)
        assert found()
        post(server, issuer.signs("withdrawal", 3))
        assert not found()
    shutil.rmtree(lab.directory)


def handed_in(lab: Lab, signed: SignedAmendment) -> bytes:
    """A whole POST, as it goes over the wire."""
    head = f"POST /v1/amendments HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {lab.operator}\r\n"
    return f"{head}Content-Length: {len(signed.data)}\r\n\r\n".encode() + signed.data


@pytest.mark.long
def test_a_kill_leaves_the_amendment_and_its_effect_or_neither(tmp_path: Path) -> None:
    """Killed while amendments are handed in: what was acknowledged is kept; whose is kept has no report, and all
    others have theirs."""
    lab, draws = new_lab(tmp_path / "town", 24), random.Random(5)
    issuer, url, people = Issuer.of(lab.served.charter, lab.directory), sqlite_url(tmp_path), lab.asked[:18]
    with inside(lab, url) as before:
        assert {before.put(participant).status for participant in people} == {201}
    waiting, acknowledged = [issuer.signs("withdrawal", participant) for participant in people], 0
    for _ in range(3):
        server = Running(lab, url)
        death = threading.Timer(draws.uniform(0.0, 0.03), server.process.kill)
        death.start()
        for place, signed in enumerate(waiting, 1):
            answer = asyncio.run(ask_once(server.host, server.port, handed_in(lab, signed)))
            if answer is None:
                break
            assert answer.status in (200, 201)
            acknowledged = max(acknowledged, place)
        death.join()
        server.kill()
        with inside(lab, url) as after:
            kept = len(after.app.rounds.amended.signed)
            assert kept >= acknowledged
            stored = after.runner.run(after.app.writer.do(lambda store: (store.leaves(1), store.bodies(1))))
            assert [who for who, _ in stored[0]] == list(stored[1]) == people[kept:]
            assert after.ask("GET", "/v1/rounds/1").content["received"] == len(people) - kept
