"""The application: what each request is answered with, and what is stored."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable

import apsw
import pytest

from support.campaign_inside import Answer, Inside, raw
from support.campaign_lab import Lab
from visibility_aware_edge_ldp.campaign import wire_format
from visibility_aware_edge_ldp.campaign.charter import SignedCharter
from visibility_aware_edge_ldp.campaign.documents import NAMED
from visibility_aware_edge_ldp.campaign.server.page import page
from visibility_aware_edge_ldp.campaign.server.stores.store import StoreUnavailable
from visibility_aware_edge_ldp.campaign.wire_format import Receipt


def test_an_upload_is_stored_once_and_acknowledged_alike(server: Inside) -> None:
    first, again, other = server.put(3), server.put(3), server.put(3, variant=1)
    assert (first.status, again.status, other.status) == (201, 200, 409)
    assert other.problem == "conflict"
    body = server.lab.report(3)
    expected = Receipt(server.lab.served.charter.identity, 1, 3, hashlib.sha256(body).hexdigest())
    assert first.body == again.body == expected.to_bytes()
    assert server.ask("GET", server.lab.path(3), server.lab.tokens[3]).body == first.body
    assert server.rows() == 1


def test_documents_are_served_as_they_were_signed(server: Inside) -> None:
    answer = server.ask("GET", "/v1/charter")
    signed = SignedCharter.from_hex(answer.body, answer.headers["charter-signature"])
    assert signed.opened(server.lab.served.charter.issuer) == server.lab.served.charter
    for name in ("charter", "roster", "policy", "edges"):
        token = server.lab.tokens[0] if name in NAMED else ""
        answer = server.ask("GET", f"/v1/{name}", token)
        assert answer.body == (server.lab.directory / f"{name}.json").read_bytes()
        assert answer.headers["etag"] == f'"{hashlib.sha256(answer.body).hexdigest()}"'
        kept = server.ask("GET", f"/v1/{name}", token, if_none_match=answer.headers["etag"])
        assert (kept.status, kept.body) == (304, b"")
        assert server.ask("HEAD", f"/v1/{name}", token).body == b""
        assert answer.headers["cache-control"].startswith("private" if token else "public")


@pytest.mark.parametrize("name", sorted(NAMED))
def test_names_are_for_whoever_has_a_token(server: Inside, name: str) -> None:
    held = (server.lab.directory / f"{name}.json").read_bytes()
    for token in (server.lab.tokens[3], server.lab.operator):
        assert server.ask("GET", f"/v1/{name}", token).body == held
    etag = server.ask("GET", f"/v1/{name}", server.lab.operator).headers["etag"]
    for token in ("", "x" * 43):
        assert server.ask("GET", f"/v1/{name}", token).problem == "unauthorized"
        assert server.ask("GET", f"/v1/{name}", token, if_none_match=etag).problem == "unauthorized"
        assert server.ask("HEAD", f"/v1/{name}", token).status == 401


def test_an_observer_without_a_token_reads_no_name(server: Inside) -> None:
    """And still finds all that the answers rest on: the charter, each round's root and count, and the estimates."""
    names = [str(name) for name in server.lab.served.campaign.documents.roster]
    for participant in range(5):
        server.put(participant)
    server.operator("/v1/rounds/1/close")
    server.operator("/v1/estimate")
    paths = ("/v1/charter", "/v1/edges", "/v1/rounds/1", "/v1/estimates", "/v1/amendments", "/v1/openapi.json")
    for path in (*paths, "/metrics", "/healthz"):
        answer = server.ask("GET", path)
        assert answer.status == 200
        assert not any(f'"{name}"' in answer.body.decode() for name in names), path
    shown, _ = page(server.app.rounds)
    assert not any(f">{name}<" in shown.decode() for name in names)
    leaves = server.runner.run(server.app.writer.do(lambda store: store.leaves(1)))
    root = wire_format.round_root([(who, digest) for who, digest in leaves])
    assert server.ask("GET", "/v1/rounds/1").content["root"] == root, "numbers and digests are all that it is made of"


def test_64_identical_uploads_at_once(server: Inside) -> None:
    async def all_at_once() -> list[Answer]:
        return await asyncio.gather(*(server.putting(0) for _ in range(64)))

    answers = server.runner.run(all_at_once())
    assert sorted(answer.status for answer in answers) == [200] * 63 + [201]
    assert len({answer.body for answer in answers}) == 1
    assert server.rows() == 1


def test_64_differing_uploads_at_once(server: Inside) -> None:
    bodies = {server.lab.report(0, variant=variant) for variant in range(64)}
    assert len(bodies) == 64

    async def all_at_once() -> list[Answer]:
        return await asyncio.gather(*(server.putting(0, variant=variant) for variant in range(64)))

    answers = server.runner.run(all_at_once())
    assert sorted(answer.status for answer in answers) == [201] + [409] * 63
    assert {answer.problem for answer in answers if answer.status == 409} == {"conflict"}
    stored = next(answer for answer in answers if answer.status == 201)
    assert server.ask("GET", server.lab.path(0), server.lab.tokens[0]).body == stored.body
    assert server.rows() == 1


def _authorizations(lab: Lab) -> dict[str, tuple[str, int]]:
    good, other = lab.tokens[3], lab.tokens[4]
    return {
        "none": ("", 401),
        "not bearer": (f"Basic {good}", 401),
        "no token": ("Bearer ", 401),
        "unknown": (f"Bearer {'A' * 43}", 401),
        "cut": (f"Bearer {good[:-1]}", 401),
        "longer": (f"Bearer {good}A", 401),
        "two": (f"Bearer {good} {good}", 401),
        "its hash": (f"Bearer {hashlib.sha256(good.encode()).hexdigest()}", 401),
        "another's": (f"Bearer {other}", 403),
        "the operator's": (f"Bearer {lab.operator}", 403),
    }


def test_nobody_uploads_for_another(server: Inside) -> None:
    body = server.lab.report(3)
    for header, status in _authorizations(server.lab).values():
        for answer in (
            server.ask("PUT", server.lab.path(3), "", body, authorization=header),
            server.ask("GET", server.lab.path(3), authorization=header),
            server.ask("GET", "/v1/rounds/1/proof/3", authorization=header),
        ):
            assert answer.status == status, header
            assert answer.problem == {401: "unauthorized", 403: "forbidden"}[status]
            assert ("www-authenticate" in answer.headers) == (status == 401)
    assert server.rows() == 0
    assert server.put(3).status == 201


def test_only_the_operator_closes_and_estimates(server: Inside) -> None:
    for path in ("/v1/rounds/1/close", "/v1/estimate"):
        assert server.ask("POST", path).problem == "unauthorized"
        assert server.ask("POST", path, server.lab.tokens[0]).problem == "forbidden"
    assert server.ask("GET", "/v1/rounds/1").content["state"] == "open"


def test_heads_are_refused_before_a_body_is_read(server: Inside) -> None:
    lab, body = server.lab, server.lab.report(3)
    gzip = {"content_encoding": "gzip"}
    cases = [
        ({"content_length": ""}, "length-required"),
        ({"transfer_encoding": "chunked"}, "length-required"),
        (gzip, "media-type"),
        ({"content_type": "application/json"}, "media-type"),
        ({"content_type": ""}, "media-type"),
        ({"content_length": str(1 << 40)}, "too-large"),
        ({"content_length": str(len(body) + 1)}, "too-large"),
        ({"content_length": "9" * 400}, "too-large"),
        ({"content_length": "1"}, "bad-report"),
    ]

    async def asked(headers: dict[str, str]) -> Answer:
        sent = {"authorization": f"Bearer {lab.tokens[3]}", "content_type": "application/octet-stream"}
        sent |= {"content_length": str(len(body))} | headers
        listed = [(name.replace("_", "-").encode(), value.encode()) for name, value in sent.items() if value]

        async def never() -> dict[str, object]:
            raise AssertionError("the body was read")

        sent_back: list[dict[str, object]] = []

        async def send(message: dict[str, object]) -> None:
            sent_back.append(message)

        await server.app({"type": "http", "method": "PUT", "path": lab.path(3), "headers": listed}, never, send)
        head = {name.decode(): value.decode() for name, value in sent_back[0]["headers"]}  # type: ignore[attr-defined]
        return Answer(sent_back[0]["status"], head, sent_back[1]["body"])  # type: ignore[arg-type]

    for headers, problem in cases:
        assert server.runner.run(asked(headers)).problem == problem, headers
    assert server.rows() == 0


def test_bodies_that_are_not_reports_are_refused(server: Inside) -> None:
    lab, good = server.lab, server.lab.report(3)
    cases = [bytes(len(good)), good[:-1] + bytes([good[-1] | 0x80]), b"\xff" * len(good), lab.report(2)[: len(good)]]
    for body in cases:
        answer = server.ask("PUT", lab.path(3), lab.tokens[3], body)
        assert answer.problem == "bad-report", body
    assert server.rows() == 0
    assert server.put(3).status == 201


def test_a_body_may_come_in_parts(server: Inside) -> None:
    lab, body = server.lab, server.lab.report(3)
    headers = [
        (b"authorization", f"Bearer {lab.tokens[3]}".encode()),
        (b"content-type", b"application/octet-stream"),
        (b"content-length", str(len(body)).encode()),
    ]
    parts = [body[:10], b"", body[10:]]
    assert server.runner.run(raw(server.app, "PUT", lab.path(3), headers, [*parts, b"x"])).problem == "too-large"
    assert server.rows() == 0
    assert server.runner.run(raw(server.app, "PUT", lab.path(3), headers, parts)).status == 201
    with pytest.raises(IndexError):  # whoever hangs up half way is not answered
        server.runner.run(raw(server.app, "PUT", lab.path(4), _for(headers, lab.tokens[4]), []))
    assert server.rows() == 1


def _for(headers: list[tuple[bytes, bytes]], token: str) -> list[tuple[bytes, bytes]]:
    return [(b"authorization", f"Bearer {token}".encode()), *headers[1:]]


def test_headers_that_stand_twice_are_refused(server: Inside) -> None:
    token = f"Bearer {server.lab.tokens[3]}".encode()
    listed = [(b"authorization", token), (b"authorization", token)]
    answer = server.runner.run(raw(server.app, "GET", server.lab.path(3), listed, [b""]))
    assert (answer.status, answer.problem) == (400, "bad-request")


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/v1",
        "/v1/rounds/0",
        "/v1/rounds/2",
        "/v1/rounds/01",
        "/v1/rounds/1/reports/24",
        "//",
        "/v1/rounds/1/",
        "/v1/rounds/1/reports/-1",
        "/v1/rounds/1/reports/1e1",
        "/v1/rounds/١/reports/1",
        "/v1/rounds/1/reports/" + "9" * 99,
    ],
)
def test_what_is_not_there_is_not_found(server: Inside, path: str) -> None:
    answer = server.ask("GET", path, server.lab.tokens[3])
    assert (answer.status, answer.problem) == (404, "not-found")


def test_other_methods_are_not_allowed(server: Inside) -> None:
    for method, path in (("POST", "/v1/charter"), ("DELETE", server.lab.path(1)), ("PUT", "/v1/rounds/1/close")):
        answer = server.ask(method, path)
        assert (answer.status, answer.problem) == (405, "method-not-allowed")
        assert method not in answer.headers["allow"]


def test_who_has_nothing_to_hide_is_not_asked(server: Inside) -> None:
    last = server.lab.served.charter.nodes - 1
    answer = server.ask("PUT", server.lab.path(last), server.lab.tokens[last], b"anything")
    assert answer.problem == "forbidden"
    assert server.rows() == 0


def test_a_closed_round_proves_what_is_in_it(server: Inside) -> None:
    people = [1, 4, 7, 11, 12]
    for participant in people:
        server.put(participant)
    assert server.ask("GET", "/v1/rounds/1/proof/4", server.lab.tokens[4]).problem == "not-ready"
    server.operator("/v1/rounds/1/close")
    root = bytes.fromhex(server.ask("GET", "/v1/rounds/1").content["root"])
    leaves = [wire_format.leaf(p, hashlib.sha256(server.lab.report(p)).hexdigest()) for p in people]
    assert root == wire_format.root(leaves)
    for place, participant in enumerate(people):
        proof = server.ask("GET", f"/v1/rounds/1/proof/{participant}", server.lab.tokens[participant]).content
        siblings = [bytes.fromhex(each) for each in proof["proof"]]
        assert siblings == wire_format.proof(leaves, place)
        assert wire_format.verify(root, leaves[place], proof["index"], proof["count"], siblings)
    assert server.ask("GET", "/v1/rounds/1/proof/2", server.lab.tokens[2]).problem == "not-found"


def test_a_store_that_fails_is_said_to_fail(server: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(uploads: object) -> None:
        raise StoreUnavailable("away")

    monkeypatch.setattr(server.app.writer._store, "put", fails)
    answer = server.put(3)
    assert (answer.status, answer.problem, answer.headers["retry-after"]) == (503, "store-unavailable", "1")
    monkeypatch.undo()
    assert server.put(3).status == 201


def test_a_server_that_cannot_write_is_not_healthy(server: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading from a full disk works; the cause is told, and once there is room, all is well again."""
    database = server.app.writer._store.database

    def runs(statement: str, *values: object, real: Callable[..., object] = database.run) -> object:
        if statement.startswith("INSERT"):
            raise apsw.FullError("database or disk is full")
        return real(statement, *values)

    monkeypatch.setattr(database, "run", runs)
    answer = server.ask("GET", "/healthz")
    assert (answer.status, answer.problem) == (503, "store-unavailable")
    assert "FullError: the disk is full" in answer.content["detail"]
    monkeypatch.undo()
    assert server.ask("GET", "/healthz").status == 200
    # Asked again at once, it is only read.
    monkeypatch.setattr(database, "run", runs)
    assert server.ask("GET", "/healthz").status == 200


def test_metrics_health_and_description(server: Inside) -> None:
    server.put(3)
    assert server.ask("GET", "/healthz").content == {"status": "ok"}
    text = server.ask("GET", "/metrics").body.decode()
    assert 'va_edge_ldp_campaign_replies_total{route="report",status="201"} 1' in text
    assert 'va_edge_ldp_campaign_received{round="1"} 1' in text
    assert 'va_edge_ldp_campaign_store_seconds_bucket{le="+Inf"} 1' in text
    described = server.ask("GET", "/v1/openapi.json").content
    assert described["paths"]["/v1/rounds/{round}/reports/{participant}"].keys() == {"put", "get"}


def test_roots_are_of_participants_and_digests() -> None:
    leaves = [(1, b"\1" * 32), (2, b"\2" * 32)]
    assert wire_format.round_root(leaves) != wire_format.round_root([(1, b"\2" * 32), (2, b"\1" * 32)])
    assert wire_format.round_root([]) == wire_format.root([]).hex()
