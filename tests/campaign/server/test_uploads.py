"""Uploads that are taken as they come: the same replies as the application's, and nothing that it would not take."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.campaign_inside import Inside
from support.campaign_lab import FAR, Running, new_lab, running, sqlite_url
from support.campaign_server_wire import Wire, ask
from visibility_aware_edge_ldp.campaign.browser_page import WithBrowserPage
from visibility_aware_edge_ldp.campaign.server.campaigns import Campaigns
from visibility_aware_edge_ldp.campaign.server.messages import HEAD, Reply
from visibility_aware_edge_ldp.campaign.server.stores.store import Outcome, StoreUnavailable
from visibility_aware_edge_ldp.campaign.server.stores.turns import OutdatedProcess
from visibility_aware_edge_ldp.campaign.server.uploads import Receipts, expected
from visibility_aware_edge_ldp.campaign.signed_documents import fingerprint, new_key
from visibility_aware_edge_ldp.campaign.statements import SALT, SIGNATURE, receipt_is_signed
from visibility_aware_edge_ldp.campaign.wire_format import PROBLEMS

# A header that changes nothing, and with which an upload goes the ordinary way.
ORDINARY = b"Content-Encoding: identity\r\nContent-Type"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("uploads")
    with running(new_lab(folder / "lab", 60, "position", (FAR,)), sqlite_url(folder), "--seconds", "1") as found:
        yield found


def ordinary(request: bytes) -> bytes:
    return request.replace(b"Content-Type", ORDINARY)


def test_both_ways_give_the_same_octets(served: Running) -> None:
    """New, sent again and in conflict: the head line by line and the body, but for date and signature."""
    key = fingerprint(served.lab.served.campaign.key)

    def lines(request: bytes) -> tuple[int, list[bytes], bytes]:
        answer, others = ask(served, request), list[bytes]()
        for line in answer.head.split(b"\r\n"):
            name, _, value = line.partition(b": ")
            if name == b"receipt-signature":
                assert receipt_is_signed(key, answer.body, bytes.fromhex(value.decode()))
            others += [name if name in (b"date", b"receipt-signature") else line]
        return answer.status, others, answer.body

    lab = served.lab
    first, again = lab.request(1, lab.report(1)), lab.request(2, lab.report(2))
    (status, head, body), (other_status, other_head, other_body) = lines(first), lines(ordinary(again))
    assert status == other_status == 201
    assert len(head) == len(other_head)
    for name in (b"receipt-signature", b"access-control-allow-origin", b"content-type", b"x-content-type-options"):
        assert any(line.startswith(name) for line in head)
    assert [line.partition(b":")[0] for line in head] == [line.partition(b":")[0] for line in other_head]
    assert lines(first) == lines(ordinary(first))
    assert lines(first)[0] == 200
    assert lines(first)[2] == body != other_body
    conflict = lab.request(1, lab.report(1, variant=1))
    assert lines(conflict) == lines(ordinary(conflict))
    assert lines(conflict)[0] == 409


def test_a_connection_that_is_to_be_closed_is_closed(served: Running) -> None:
    request = served.lab.request(3, served.lab.report(3)).replace(b"Host", b"Connection: close\r\nHost")
    with socket.create_connection((served.host, served.port), 10) as line:
        line.sendall(request)
        heard = b"".join(iter(lambda: line.recv(65_536), b""))
    assert heard.startswith(b"HTTP/1.1 201 Created\r\n")
    assert heard.count(b"connection: close\r\n") == 1


def test_octets_that_come_one_after_the_other_and_a_report_that_is_none(served: Running) -> None:
    lab = served.lab

    async def slowly() -> list[int]:
        wire = Wire(served.host, served.port)
        for octet in lab.request(4, lab.report(4)):
            await wire.send(bytes([octet]))
        first, good = await wire.answer(), lab.report(5)
        # The same connection goes on after a refusal.
        others = [await wire.ask(lab.request(5, body)) for body in (bytes(len(good)), good)]
        wire.close()
        return [answer.status for answer in (first, *others)]

    assert asyncio.run(slowly()) == [201, 422, 201]


def test_who_hangs_up_before_the_answer_disturbs_nobody(served: Running) -> None:
    lab = served.lab
    for number in range(10, 40):
        with socket.create_connection((served.host, served.port), 10) as line:
            request = lab.request(number, lab.report(number))
            line.sendall(request if number % 2 else request[:-1])
    assert ask(served, lab.request(41, lab.report(41))).status == 201
    assert ask(served, lab.request(11, lab.report(11))).status in (200, 201)
    assert ask(served, lab.request(12, lab.report(12))).status == 201


def head_of(server: Inside, participant: int = 3, **changed: bytes) -> dict[str, Any]:
    """What a connection asks with; a header that is changed to nothing is left out."""
    named = {
        "host": b"here",
        "authorization": b"Bearer " + server.lab.tokens[participant].encode(),
        "content-type": b"application/octet-stream",
        "content-length": b"%d" % len(server.lab.report(participant)),
    } | {name.replace("_", "-"): value for name, value in changed.items()}
    headers = [(name.encode(), value) for name, value in named.items() if value]
    return {"type": "http", "method": "PUT", "path": server.lab.path(participant), "headers": headers}


@pytest.mark.parametrize(
    "changed",
    [
        {"authorization": b""},
        {"authorization": b"Bearer " + b"x" * 43},
        {"content_length": b""},
        {"content_length": b"7"},
        {"content_type": b"text/plain"},
        {"content_encoding": b"gzip"},
        {"transfer_encoding": b"chunked"},
        {"expect": b"100-continue"},
        {"x": b"y" * HEAD},
    ],
)
def test_what_is_not_surely_in_order_is_left_to_the_application(server: Inside, changed: dict[str, bytes]) -> None:
    assert expected(server.app, head_of(server)) is not None
    assert expected(server.app, head_of(server, **changed)) is None


def test_other_paths_methods_and_people_are_left_to_it(server: Inside) -> None:
    head = head_of(server)
    others = [
        {"method": "GET"},
        {"method": "POST"},
        {"path": "/v1/rounds/1/reports/4"},  # with another's token
        {"path": "/v1/rounds/1/reports/03"},
        {"path": "/v1/rounds/1/reports/24"},
        {"path": "/v1/rounds/2/reports/3"},
        {"path": "/v1/rounds/1/proof/3"},
        {"path": "/v1/rounds/1/reports/3/"},
        {"headers": [*head["headers"], (b"x", b"1"), (b"x", b"2")]},
    ]
    assert [expected(server.app, head | other) for other in others] == [None] * len(others)
    server.put(3)
    assert server.operator("/v1/rounds/1/close").status == 200
    assert expected(server.app, head) is None


def told(server: Inside, participant: int, body: bytes) -> list[Reply | None] | None:
    """What becomes of an upload whose head was in order; nothing if its octets were not."""

    async def put() -> list[Reply | None] | None:
        heard = asyncio.get_running_loop().create_future()
        found = expected(server.app, head_of(server, participant))
        assert found is not None
        if not found.put(body, lambda reply: heard.set_result(reply)):
            return None
        return [await heard]

    return server.runner.run(put())


def test_octets_that_are_no_report_are_left_to_it(server: Inside) -> None:
    good = server.lab.report(3)
    for body in (bytes(len(good)), good[:-1] + bytes([good[-1] | 0x80]), good[:-1], server.lab.report(2)):
        assert told(server, 3, body) is None
    assert server.rows() == 0
    (reply,) = told(server, 3, good) or [None]
    assert reply is not None
    assert (reply.status, bytes(reply.body)) == (201, server.put(3).body)
    assert server.app.rounds.received[1] == 1
    assert b'replies_total{route="report",status="201"} 1' in server.ask("GET", "/metrics").body


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (Outcome.SAME, 200),
        (Outcome.OTHER, 409),
        (Outcome.LATE, PROBLEMS["late"].status),
        (Outcome.WITHDRAWN, PROBLEMS["withdrawn"].status),
        (StoreUnavailable("away"), 503),
        (ZeroDivisionError(), 500),
    ],
)
def test_every_outcome_has_its_reply(
    server: Inside, monkeypatch: pytest.MonkeyPatch, outcome: Outcome | Exception, status: int
) -> None:
    monkeypatch.setattr(server.app.writer, "hand", lambda upload, tell: tell(outcome))
    (reply,) = told(server, 3, server.lab.report(3)) or [None]
    assert reply is not None
    usual = server.ask("PUT", server.lab.path(3), server.lab.tokens[3], server.lab.report(3))
    assert (reply.status, bytes(reply.body)) == (usual.status, usual.body)
    assert reply.status == status


def test_what_another_process_has_changed_is_looked_at_by_the_application(
    server: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server.app.writer, "hand", lambda upload, tell: tell(OutdatedProcess("again")))
    assert told(server, 3, server.lab.report(3)) == [None]


def test_a_campaign_is_found_by_its_path_and_pages_may_read(server: Inside) -> None:
    app, head = server.app, head_of(server)
    identity = app.served.charter.identity
    several = Campaigns({identity: app, "other": app}, lambda each: WithBrowserPage(each, None, ("https://page",)))
    inside = head | {"path": f"/c/{identity}{head['path']}"}
    assert several.expects(head) is None  # nobody is named
    assert several.expects(inside | {"path": f"/c/nobody{head['path']}"}) is None
    found = several.expects(inside | {"headers": [*head["headers"], (b"origin", b"https://page")]})
    assert found is not None
    assert (b"access-control-allow-origin", b"https://page") in found.more
    other = several.expects(inside | {"headers": [*head["headers"], (b"origin", b"https://other")]})
    assert other is not None
    assert other.more == ((b"vary", b"origin"),)


def test_the_other_way_is_there_without_the_quick_parser(tmp_path: Path) -> None:
    with running(new_lab(tmp_path / "lab", 20, "position", (FAR,)), sqlite_url(tmp_path), "--plain") as plain:
        assert ask(plain, plain.lab.request(1, plain.lab.report(1))).status == 201


def told_together(key: bytes, receipts: list[bytes]) -> list[Reply]:
    async def main() -> list[Reply]:
        found, made = list[Reply](), Receipts(key)
        for receipt in receipts:
            made.tell(receipt, 201, found.append)
        assert not found
        await asyncio.sleep(0)
        made.tell(receipts[0], 200, lambda reply: 1 // 0)  # of one: others are told all the same
        made.tell(receipts[1], 200, found.append)
        await asyncio.sleep(0)
        return found

    return asyncio.run(main())


def test_receipts_of_one_moment_have_one_signature_and_each_its_own_way() -> None:
    key, receipts = new_key(), [b"receipt %d" % number for number in range(7)]
    *together, later = told_together(key, receipts)
    assert [(each.status, each.body) for each in together] == [(201, receipt) for receipt in receipts]
    assert (later.status, later.body) == (200, receipts[1])
    shown = [bytes.fromhex(dict(each.headers)[b"receipt-signature"].decode()) for each in (*together, later)]
    assert len({each[:SIGNATURE] for each in shown}) == 2
    assert len({each[SIGNATURE : SIGNATURE + SALT] for each in shown}) == 8
    for place, each in enumerate(shown):
        signed = [receipt_is_signed(fingerprint(key), receipt, each) for receipt in receipts]
        assert signed == [number == (place if place < 7 else 1) for number in range(7)]


def test_who_has_no_key_signs_no_receipt_and_a_key_that_is_none_is_named_to_everybody() -> None:
    assert [each.headers for each in told_together(b"", [b"one", b"two"])] == [(), (), ()]
    assert [each.status for each in told_together(b"short", [b"one", b"two"])] == [500, 500, 500]
