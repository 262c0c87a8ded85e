"""The published OpenAPI description says what the server answers: every route, reply and problem, and no other."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from support.campaign_amending import Issuer
from support.campaign_inside import Clock, Inside, inside, raw
from support.campaign_lab import FAR, Lab, Running, new_lab, running, sqlite_url
from support.openapi_document import REFERENCE, Description, schema_file
from visibility_aware_edge_ldp.campaign.amendments import SignedAmendment
from visibility_aware_edge_ldp.campaign.charter_log import LOG, SERVER_KEY
from visibility_aware_edge_ldp.campaign.consents import word
from visibility_aware_edge_ldp.campaign.directory import ServedCampaign
from visibility_aware_edge_ldp.campaign.documents import NAMED
from visibility_aware_edge_ldp.campaign.server.messages import described, problem_reply
from visibility_aware_edge_ldp.campaign.server.stores.store import StoreUnavailable, TooManyWaiting
from visibility_aware_edge_ldp.campaign.wire_format import PROBLEMS

SIGNED = ("charter-2", "roster-1", "policy-1", "edges-1")
REPLIES = (
    *("amendments", "consent", "consents", "estimates", "flagged", "health", "log", "operations", "own-amendments"),
    *("problem", "proof", "receipt", "round", "statement", "unanswered"),
)
OWN = [*SIGNED, *(f"reply-{name}-1" for name in REPLIES)]


class Compared:
    """Requests to an application, each reply compared with the description."""

    def __init__(self, server: Inside, page: Description) -> None:
        self.server, self.page = server, page

    def ask(self, method: str, path: str, token: str = "", body: bytes | None = None, **headers: str) -> Any:
        found = self.server.ask(method, path, token, body, **headers)
        self.page.check(method, path, found.status, found.headers, found.body)
        return found

    def put(self, participant: int, number: int = 1, variant: int = 0, **options: Any) -> Any:
        heard, lab = self.server.app.rounds.broadcast, self.server.lab
        body = lab.report(participant, number, variant, heard.digest if heard else "")
        return self.ask("PUT", lab.path(participant, number), lab.tokens[participant], body, **options)


@pytest.fixture(scope="module")
def page() -> Description:
    return Description()


def test_the_description_and_the_server_name_the_same_operations(page: Description) -> None:
    own = json.loads(described(2, 12))["paths"]
    assert page.operations == {(path, method) for path in own for method in own[path]} | {("/v1/openapi.json", "get")}
    for path, method in page.operations - {("/v1/openapi.json", "get")}:
        short = {status for status in own[path][method]["responses"] if status < "4"}
        assert short == {status for status in page.responses(path, method) if status < "4"}, path
        published = page.content["paths"][path][method]
        assert bool(published.get("security")) == bool(own[path][method].get("security")), path
    assert page.common | {name for *_, name in page.problems} - {""} == set(PROBLEMS)


def test_everything_that_it_refers_to_is_there(page: Description) -> None:
    text = (REFERENCE / "openapi.json").read_text(encoding="utf-8")
    for part in json.loads(json.dumps(_references(page.content))):
        if part.startswith("#"):
            assert part.rpartition("/")[2] in page.content["components"]["responses"]
        else:
            assert (REFERENCE / part).is_file(), part
    assert text.count("operationId") == len(page.operations)
    assert page.content["openapi"] == "3.1.0"


def _references(part: Any) -> list[str]:
    if isinstance(part, list):
        return [found for each in part for found in _references(each)]
    if isinstance(part, dict):
        return [part["$ref"]] if "$ref" in part else [found for each in part.values() for found in _references(each)]
    return []


@pytest.mark.parametrize("name", OWN)
def test_a_schema_of_a_reply_explains_its_fields(name: str) -> None:
    schema = schema_file(f"{name}.schema.json")
    Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"urn:va-edge-ldp:schema:{name.rpartition('-')[0]}:{name.rpartition('-')[2]}"
    for field in schema.get("properties", {}).values():
        assert field.get("description") or "$ref" in field
    # What is signed, and what a receipt names, is exact; replies may grow.
    exact = name in ("charter-2", "policy-1", "reply-log-1", "reply-receipt-1", "reply-statement-1")
    exact = exact or name in ("reply-consent-1", "reply-consents-1")
    assert (schema.get("additionalProperties") is False) == exact
    for wrong in (None, 3, {"more": 1}):
        assert not Draft202012Validator(schema).is_valid(wrong)


def test_the_answers_have_the_schema_that_commands_print_them_with() -> None:
    printed, kept = (schema_file(f"{name}-1.schema.json") for name in ("campaign-estimate", "reply-estimates"))
    assert kept["properties"] == {key: each for key, each in printed["properties"].items() if key != "schema"}
    assert kept["required"] == [key for key in printed["required"] if key != "schema"]


def test_the_problems_are_those_of_the_server() -> None:
    assert schema_file("reply-problem-1.schema.json")["properties"]["type"]["enum"] == sorted(
        problem.type for problem in PROBLEMS.values()
    )


@pytest.fixture
def compared(tmp_path: Path, page: Description) -> Iterator[Callable[..., Compared]]:
    with contextlib.ExitStack() as stack:

        def make(question: str = "triangles", signs: bool = True, **options: Any) -> Compared:
            place = tmp_path / str(len(list(tmp_path.iterdir())))
            place.mkdir()
            lab = new_lab(place / "lab", 8, question, **options)
            if not signs:  # a campaign of before servers signed
                for name in (LOG, SERVER_KEY):
                    (lab.directory / name).unlink()
                lab = Lab(lab.directory, ServedCampaign.read(lab.directory))
            return Compared(stack.enter_context(inside(lab, sqlite_url(place), Clock())), page)

        yield make


def _answers(charter: Any, view: Any, reports: Any) -> bytes:
    from visibility_aware_edge_ldp.campaign.server.estimate_json import estimate_bytes

    return estimate_bytes(charter, view, reports)


def test_every_listed_reply_is_given_and_no_other(compared: Callable[..., Compared], page: Description) -> None:
    two = compared(closes=(FAR, FAR + 100), fewest=5, retention=50)
    two.server.app._estimate_bytes = two.server.app.rounds._estimate_bytes = _answers
    lab, asked = two.server.lab, two.server.lab.asked
    first, other = asked[0], asked[1]
    for name in ("charter", "roster", "policy", "edges"):
        token = lab.tokens[first] if name in NAMED else ""
        tag = two.ask("GET", f"/v1/{name}", token).headers["etag"]
        two.ask("GET", f"/v1/{name}", token, if_none_match=tag)
        two.ask("HEAD", f"/v1/{name}", lab.operator if name in NAMED else "")
        assert two.ask("GET", f"/v1/{name}").status == (401 if name in NAMED else 200)
    for path in ("/v1/openapi.json", "/healthz", "/metrics", "/v1/rounds/1", "/v1/rounds/9", "/v1/nothing", "/v1/log"):
        two.ask("GET", path)
    _reports(two, first, other)
    _before_closing(two, first)
    for participant in asked:
        two.put(participant)
    two.ask("POST", "/v1/rounds/1/close", lab.operator)
    _after_closing(two, first)
    for participant in asked:
        two.put(participant, 2)
    two.ask("POST", "/v1/rounds/2/close", lab.operator)
    assert two.ask("GET", "/v1/flagged", lab.operator).status == 200
    two.ask("GET", "/v1/estimates")
    assert two.ask("POST", "/v1/estimate", lab.operator).status == 200
    two.ask("GET", "/v1/estimates")
    two.server.clock.now += 200
    two.server.runner.run(two.server.app.rounds.check_deadlines())
    two.ask("GET", "/v1/rounds/1/transcript")
    assert two.ask("GET", "/v1/flagged", lab.operator).problem == "erased"
    assert "transcript-salt" not in two.ask("GET", "/v1/rounds/1/statement").headers
    _troubles(compared("degrees"))
    _amendments(compared("degrees", closes=(FAR,)))
    _unsigned(compared("degrees", signs=False))
    _consents(compared("degrees", consent=FAR - 1))
    for path in ("/v1/consents", "/v1/consents/0"):
        for method in ("GET", "POST") if path == "/v1/consents" else ("GET", "PUT"):
            two.ask(method, path, lab.operator)
    _parts(compared(closes=(FAR, FAR + 100), share="0.125"))
    _failures(compared("degrees"), compared(closes=(FAR, FAR + 100)))
    missing = {each for each in page.problems - page.seen if each[0] != "/"}
    assert missing == set(), "these are published and were not seen"
    assert {name for *_, name in page.seen} >= page.common - {"deadline", "header-too-large"}


def _reports(two: Compared, first: int, other: int) -> None:
    lab = two.server.lab
    path, body, token = lab.path(first), lab.report(first), lab.tokens[first]
    two.ask("GET", path, token)
    two.ask("PUT", path, "", body)
    two.ask("PUT", path, lab.tokens[other], body)
    two.ask("PUT", lab.path(99), token, body)
    two.ask("PUT", lab.path(first, 2), token, body)
    for options in (
        {"content_length": ""},
        {"content_type": "text/plain"},
        {"content_length": str(len(body) + 1)},
        {"content_length": "1"},
    ):
        two.ask("PUT", path, token, body, **options)
    two.ask("PUT", path, token, bytes(len(body)))
    stored = two.put(first)
    assert (stored.status, two.put(first).status, two.put(first, variant=1).status) == (201, 200, 409)
    assert len(stored.headers["receipt-signature"]) == 208
    for shown in ("", lab.tokens[other], token):
        two.ask("GET", path, shown)


def _before_closing(two: Compared, first: int) -> None:
    lab = two.server.lab
    for shown in ("", lab.operator, lab.tokens[first]):
        two.ask("GET", f"/v1/rounds/1/proof/{first}", shown)
    for path in ("/v1/rounds/1/close", "/v1/estimate"):
        for shown in ("", lab.tokens[first], lab.operator):
            two.ask("POST", path, shown)
            if path == "/v1/estimate":
                two.ask("DELETE", path, shown)
    two.ask("POST", "/v1/rounds/7/close", lab.operator)
    for path in ("/v1/rounds/1/transcript", "/v1/rounds/2/transcript", "/v1/estimates", "/v1/rounds/1/statement"):
        two.ask("GET", path)
    two.ask("GET", "/v1/rounds/7/statement")
    for number in (1, 2, 7):
        two.ask("GET", f"/v1/rounds/{number}/unanswered", lab.operator)
    for path in ("/v1/rounds/1/unanswered", "/v1/operations", "/v1/flagged"):
        for shown in ("", lab.tokens[first]):
            two.ask("GET", path, shown)
    two.ask("GET", "/v1/flagged", lab.operator)


def _after_closing(two: Compared, first: int) -> None:
    lab = two.server.lab
    for number in (first, lab.served.charter.nodes - 1):
        two.ask("GET", f"/v1/rounds/1/proof/{number}", lab.tokens[number])
    transcript = two.ask("GET", "/v1/rounds/1/transcript")
    two.ask("GET", "/v1/rounds/1/transcript", if_none_match=transcript.headers["etag"])
    two.ask("GET", "/v1/rounds/1/transcript", range="bytes=1-")
    two.ask("GET", "/v1/rounds/1")
    assert "transcript-salt" in two.ask("GET", "/v1/rounds/1/statement").headers
    assert len(two.ask("GET", "/v1/operations", lab.operator).content["operations"]) >= 3


def _parts(two: Compared) -> None:
    """Where people read parts: before they are there, while they are, and once they are erased."""
    lab, path = two.server.lab, "/v1/rounds/1/parts/0"
    two.server.app._estimate_bytes = two.server.app.rounds._estimate_bytes = _answers
    two.ask("GET", path)
    for participant in lab.asked:
        two.put(participant)
    two.ask("POST", "/v1/rounds/1/close", lab.operator)
    tag = two.ask("GET", path).headers["etag"]
    assert two.ask("GET", path, if_none_match=tag).status == 304
    assert two.ask("GET", path, range="bytes=1-").status == 206
    assert two.ask("GET", "/v1/rounds/1/parts/8").status == two.ask("GET", "/v1/rounds/1/transcript").status == 404
    for participant in lab.asked:
        two.put(participant, 2)
    two.ask("POST", "/v1/rounds/2/close", lab.operator)
    two.ask("POST", "/v1/estimate", lab.operator)
    assert two.ask("GET", path).status == 410


def _troubles(one: Compared) -> None:
    lab, rounds = one.server.lab, one.server.app.rounds
    one.ask("DELETE", "/v1/rounds/1")
    name = b"host"
    for headers in ([(name, b"a"), (name, b"b")], [(b"x", b"y" * 20_000)]):
        found = one.server.runner.run(raw(one.server.app, "GET", "/v1/rounds/1", headers, [b""]))
        one.page.check("GET", "/v1/rounds/1", found.status, found.headers, found.body)
    for participant in lab.asked[1:]:
        one.put(participant)
    put = rounds.put
    for failure in (TooManyWaiting("Too many wait."), StoreUnavailable("The disk is full."), RuntimeError("a fault")):

        async def fails(upload: Any, failure: Exception = failure) -> Any:
            raise failure

        rounds.put = fails  # type: ignore[method-assign]
        one.put(lab.asked[0])
    rounds.put = put  # type: ignore[method-assign]
    one.server.clock.now = FAR + 1
    one.server.runner.run(rounds.check_deadlines())
    one.put(lab.asked[0])
    one.server.runner.run(rounds._forget_if_due(lambda clock, moment: True))
    one.ask("POST", "/v1/estimate", lab.operator)


def _amendments(one: Compared) -> None:
    """Every kind is handed in and shown, and every refusal of one is met."""
    lab, path = one.server.lab, "/v1/amendments"
    issuer = Issuer.of(lab.served.charter, lab.directory)

    def hands_in(signed: SignedAmendment, token: str = lab.operator) -> int:
        return int(one.ask("POST", path, token, signed.data).status)

    one.ask("GET", path)
    token, new = issuer.replaces_token(0)
    assert [hands_in(token, shown) for shown in ("", lab.tokens[1], lab.operator, lab.operator)] == [401, 403, 201, 200]
    device, _ = issuer.replaces_token(1, "device", ledger="ab" * 32)
    withdrawal, deadline = issuer.signs("withdrawal", 2), issuer.signs("deadline", round=1, closes=FAR + 9)
    assert [hands_in(each) for each in (withdrawal, device, withdrawal, deadline)] == [409, 201, 201, 201]
    assert one.put(2).problem == "withdrawn"
    assert [each["amendment"]["kind"] for each in one.ask("GET", path).content] == [
        "token",
        "device",
        "withdrawal",
        "deadline",
    ]
    for participant, shown in ((0, new), (0, ""), (3, lab.tokens[4]), (99, lab.operator)):
        one.ask("GET", f"{path}/{participant}", shown)
    for body, options in ((b"{}", {}), (b"{}", {"content_length": ""}), (bytes(5_000), {})):
        one.ask("POST", path, lab.operator, body, **options)
    one.put(4)
    one.ask("POST", "/v1/rounds/1/close", lab.operator)
    assert hands_in(issuer.signs("withdrawal", 4)) == 409


def _consents(one: Compared) -> None:
    lab, path = one.server.lab, "/v1/consents"
    charter = lab.served.charter
    for shown in ("", lab.tokens[0], lab.operator):
        one.ask("GET", path, shown)
    for shown in ("", lab.tokens[1], lab.tokens[0]):
        one.ask("GET", f"{path}/0", shown)
        one.ask("PUT", f"{path}/0", shown, word(charter, 0, True))
    for body, options in ((b"{}", {}), (b"{}", {"content_length": ""}), (bytes(2_000), {})):
        one.ask("PUT", f"{path}/0", lab.tokens[0], body, **options)
    issuer = Issuer.of(charter, lab.directory)
    one.ask("POST", "/v1/amendments", lab.operator, issuer.signs("withdrawal", 3).data)
    assert one.ask("PUT", f"{path}/3", lab.tokens[3], word(charter, 3, True)).problem == "withdrawn"
    for shown in ("", lab.tokens[0], lab.operator):
        one.ask("POST", path, shown)
    assert one.ask("GET", path, lab.tokens[1]).content["people"] == [0]
    assert one.ask("PUT", f"{path}/0", lab.tokens[0], word(charter, 0, False)).problem == "late"
    one.server.clock.now = FAR + 1
    one.server.runner.run(one.server.app.rounds.check_deadlines())
    assert "consents" in one.ask("GET", "/v1/rounds/1/statement").content


def _unsigned(one: Compared) -> None:
    """What a server does not sign it does not show, and its receipts have the same octets."""
    assert [one.ask("GET", path).status for path in ("/v1/log", "/v1/rounds/1/statement")] == [404, 404]
    assert "receipt-signature" not in one.put(one.server.lab.asked[0]).headers


def _failures(one: Compared, two: Compared) -> None:
    """A fault while a round is closed or answers are made; and reports that are not on the disk as they were stored."""
    rounds = one.server.app.rounds
    for each in (one, two):
        each.put(each.server.lab.asked[0])
    for path, name in (("/v1/rounds/1/close", "close"), ("/v1/estimate", "estimate")):
        works = getattr(rounds, name)

        async def fails(*ignored: int) -> Any:
            raise RuntimeError("a fault")

        setattr(rounds, name, fails)
        assert one.ask("POST", path, one.server.lab.operator).problem == "internal"
        setattr(rounds, name, works)
    operations, noted = one.server.app.operations, one.server.app.operations.note
    operations.note = fails  # type: ignore[method-assign]
    assert one.ask("GET", "/v1/flagged", one.server.lab.operator).problem == "internal"
    operations.note = noted  # type: ignore[method-assign]
    one.ask("POST", "/v1/rounds/1/close", one.server.lab.operator)
    change = "UPDATE bodies SET body = zeroblob(length(body))"
    for each, path in ((one, "/v1/estimate"), (two, "/v1/rounds/1/close")):
        each.server.runner.run(each.server.app.writer.do(lambda store: store.database.run(change)))  # type: ignore[attr-defined]
        assert each.ask("POST", path, each.server.lab.operator).problem == "damaged"
    assert one.ask("GET", "/v1/flagged", one.server.lab.operator).problem == "damaged"


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("published")
    with running(new_lab(folder / "lab", 6, "degrees"), sqlite_url(folder)) as found:
        yield found


@pytest.mark.parametrize(
    ("sent", "name"),
    [
        (b"GET / HTTP/1.1\r\nHost: here\r\n\r\n", ""),
        (b"nonsense\r\n\r\n", "bad-request"),
        (b"GET /healthz HTTP/1.1\r\nX: " + b"y" * 40_000, "header-too-large"),
    ],
)
def test_what_the_connection_itself_answers(real: Running, page: Description, sent: bytes, name: str) -> None:
    with socket.create_connection((real.host, real.port), timeout=20) as connection:
        connection.sendall(sent)
        head, body = _reply(connection)
    status, *lines = head.split("\r\n")
    headers = {key.lower(): value for key, value in (line.split(": ", 1) for line in lines)}
    path = "/healthz" if b"healthz" in sent else "/"
    page.check("GET", path, int(status.split()[1]), headers, body)
    assert ("/" if not name else path, "get", int(status.split()[1]), name) in page.seen


def test_a_request_that_takes_too_long_is_answered_as_published(page: Description) -> None:
    """When that happens is a test of the limits; here it is what is said then."""
    said = problem_reply(PROBLEMS["deadline"], "It took over 20 s to arrive.")
    headers = {name.decode(): value.decode() for name, value in said.head}
    page.check("GET", "/healthz", said.status, headers, said.body)
    assert ("/healthz", "get", 408, "deadline") in page.seen


def _reply(connection: socket.socket) -> tuple[str, bytes]:
    """One reply's head and body."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65_536)
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    while len(body) < length:
        body += connection.recv(65_536)
    return head.decode(), body
