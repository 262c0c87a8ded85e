"""A participant finds its own report in the frozen set, or hears that it is not there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from campaign.conftest import QUICK
from support import campaign_part_vectors as part_vectors
from support.campaign_people import Ask, join, reply, who
from support.campaign_stub import Served, Stub, no_fault, said, stored_and_dropped
from visibility_aware_edge_ldp.campaign.http_client import Declined, NotReached, Reply, Transport
from visibility_aware_edge_ldp.campaign.participant import server_checks
from visibility_aware_edge_ldp.campaign.participant.enrolment import Surroundings
from visibility_aware_edge_ldp.campaign.participant.program import enroll
from visibility_aware_edge_ldp.campaign.participant.reports import part_number
from visibility_aware_edge_ldp.campaign.participant.server_checks import check
from visibility_aware_edge_ldp.campaign.participant.statements import RoundState
from visibility_aware_edge_ldp.campaign.server.estimate_json import FORMAT
from visibility_aware_edge_ldp.campaign.wire_format import Tree, round_root
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation

Change = Callable[[dict[str, Any]], None]


def through(change: Change | None = None, answers: dict[str, Any] | None = None, proves: bool = True) -> Surroundings:
    """A server whose proofs are changed on the way, or refused, and which has these answers."""

    class Changing(Transport):
        def get(self, path: str, most: int = 1 << 28, own: bool = False) -> Reply:
            if path == "/v1/estimates" and answers is None:
                raise Declined(409, "not-ready", "")
            if path == "/v1/estimates":
                return Reply(200, {}, json.dumps(answers).encode())
            if "/proof/" in path and not proves:
                raise Declined(404, "not-found", "")
            found = super().get(path, most, own)
            if change is None or "/proof/" not in path:
                return found
            content = json.loads(found.body)
            change(content)
            return replace(found, body=json.dumps(content).encode())

    return replace(QUICK, transport=Changing)


def five_have_answered(ask: Ask, tmp_path: Path) -> tuple[Served, Path]:
    served = ask(rounds=2)
    for place in range(5):
        home = tmp_path / f"home {place}"
        join(served, home, who(served, place))
        reply(served, home, [who(served, 7)])
    return served, tmp_path / "home 2"


def answers_of(served: Served, root: str = "", answered: int = 5, **other: object) -> dict[str, Any]:
    """The answers of a campaign, from a set of this root."""
    named = {"format": server_checks.ANSWERS_FORMAT, "campaign": served.campaign.charter.identity}
    return {**named, "rounds": [{"root": root or served.root, "answered": answered}, {"root": ""}], **other}


def test_a_report_is_found_by_what_was_sent(ask: Ask, tmp_path: Path) -> None:
    served, home = five_have_answered(ask, tmp_path)
    (early,) = check(home, surroundings=through())
    assert (early.standing, early.root, early.count) == (server_checks.NOT_CLOSED, "", 0)
    served.close_first()
    (found,) = check(home, surroundings=through())
    assert (found.standing, found.root, found.count, found.answers) == (server_checks.INCLUDED, served.root, 5, False)
    (counted,) = check(home, surroundings=through(answers=answers_of(served)))
    assert counted == replace(found, answers=True)


def test_every_answered_round_is_told_of(ask: Ask, tmp_path: Path) -> None:
    served, home = five_have_answered(ask, tmp_path)
    served.close_first()
    reply(served, home, [])
    first, second = check(home, surroundings=through())
    assert [first.standing, second.standing] == [server_checks.INCLUDED, server_checks.NOT_CLOSED]
    assert (second.round, second.root, second.count) == (2, "", 0)


def test_what_was_never_acknowledged_is_told_of(ask: Ask, stub: Stub, tmp_path: Path) -> None:
    """While the round is open it can be sent again; afterwards it is in the set or was not counted."""
    served, home = ask(rounds=2), tmp_path / "home"
    join(served, home)
    impatient = replace(QUICK, patience=replace(QUICK.patience, total=0.0))
    stub.faults = [no_fault, no_fault, stored_and_dropped]  # the round, one's own receipt, the upload
    with pytest.raises(NotReached):
        reply(served, home, [], impatient)
    (open_still,) = check(home, surroundings=through())
    assert open_still.standing == server_checks.UNACKNOWLEDGED
    served.close_first()
    assert check(home, surroundings=through())[0].standing == server_checks.INCLUDED
    assert check(home, surroundings=through(proves=False))[0].standing == server_checks.LEFT_OUT


def test_the_token_is_shown_to_the_enrolled_server_alone(ask: Ask, tmp_path: Path) -> None:
    """A server that moved is named by enrolling again; it is shown the token once its charter's signature has held."""
    served, home = five_have_answered(ask, tmp_path)
    asked: list[tuple[str, bool]] = []
    moved, name = served.url.replace("127.0.0.1", "localhost"), who(served, 2)
    around = replace(QUICK, transport=_noting(asked))
    with pytest.raises(ProtocolViolation, match="not signed by the issuer"):
        enroll(moved, name, served.tokens[name], "ab" * 32, home, surroundings=around)
    assert asked
    assert not any(own for _, own in asked), "another issuer's server is not shown it"
    enroll(moved, name, served.tokens[name], served.issuer, home, surroundings=around)
    served.close_first()
    assert check(home, surroundings=around)[0].standing == server_checks.INCLUDED
    assert {place.split(":")[0] for place, own in asked if own} == {"localhost"}


def _noting(asked: list[tuple[str, bool]]) -> type[Transport]:
    """A server without answers that notes where each request goes."""

    class Noting(Transport):
        def get(self, path: str, most: int = 1 << 28, own: bool = False) -> Reply:
            asked.append((self._url.netloc, own))
            if path == "/v1/estimates":
                raise Declined(409, "not-ready", "")
            return super().get(path, most, own)

    return Noting


def _sibling(said: dict[str, Any]) -> None:
    said["proof"][0] = said["proof"][0][::-1]


def _shorter(said: dict[str, Any]) -> None:
    said["proof"].pop()


def _place(said: dict[str, Any]) -> None:
    said["index"] += 1


def _number(said: dict[str, Any]) -> None:
    said["count"] += 4


@pytest.mark.parametrize("change", [_sibling, _shorter, _place, _number])
def test_a_tampered_proof_does_not_verify(change: Change, ask: Ask, tmp_path: Path) -> None:
    served, home = five_have_answered(ask, tmp_path)
    served.close_first()
    with pytest.raises(ProtocolViolation, match="is NOT in the frozen set") as refused:
        check(home, surroundings=through(change))
    assert refused.value.exit_code == 3


def test_another_report_under_the_own_name_does_not_verify(ask: Ask, tmp_path: Path) -> None:
    """The server's own proof for it is sound; what it proves is not what was sent."""
    served, home = five_have_answered(ask, tmp_path)
    served.kept[1, 2] = served.kept[1, 2][:-1] + bytes([served.kept[1, 2][-1] ^ 1])
    served.close_first()
    with pytest.raises(ProtocolViolation, match="is NOT in the frozen set"):
        check(home, surroundings=through())


def test_answers_from_another_set_are_noticed(ask: Ask, tmp_path: Path) -> None:
    served, home = five_have_answered(ask, tmp_path)
    served.close_first()
    for other in (answers_of(served, "0" * 64), answers_of(served, answered=6)):
        with pytest.raises(ProtocolViolation, match="The answers name another set of round 1 than"):
            check(home, surroundings=through(answers=other))
    with pytest.raises(ProtocolViolation, match="do not name the rounds"):
        check(home, surroundings=through(answers=answers_of(served, rounds="none")))


def test_answers_of_another_campaign_or_version_are_noticed(ask: Ask, tmp_path: Path) -> None:
    served, home = five_have_answered(ask, tmp_path)
    served.close_first()
    with pytest.raises(ProtocolViolation, match="name another campaign"):
        check(home, surroundings=through(answers=answers_of(served, campaign="0" * 64)))
    with pytest.raises(ProtocolViolation, match="are written as"):
        check(home, surroundings=through(answers=answers_of(served, format="va-edge-ldp estimates 77")))
    assert server_checks.ANSWERS_FORMAT == FORMAT, "what servers write"


def test_answers_that_are_too_long_are_not_read(ask: Ask, stub: Stub, tmp_path: Path) -> None:
    """Twelve people's answers have no millions of octets."""
    served, home = five_have_answered(ask, tmp_path)
    served.close_first()
    for size, why in ((1_000_000, "are written as"), (2_000_000, "expected at most")):
        stub.faults = [no_fault, said(b'{"words":"' + b"x" * size + b'"}')]  # the round, the answers
        with pytest.raises(ProtocolViolation, match=why):
            check(home, surroundings=QUICK)


def test_a_round_that_is_called_open_for_ever_is_noticed(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that has lost a report might never say that the round is closed."""
    served, home = five_have_answered(ask, tmp_path)
    with pytest.raises(ProtocolViolation, match="calls round 1 open, though its time is over"):
        check(home, surroundings=through(answers=answers_of(served, "0" * 64)))
    monkeypatch.setattr(server_checks, "time", SimpleNamespace(time=lambda: 1e12))
    with pytest.raises(ProtocolViolation, match="calls round 1 open, though its time is over"):
        check(home, surroundings=through())


def test_who_has_not_answered_has_nothing_to_check(ask: Ask, tmp_path: Path) -> None:
    served = ask()
    join(served, tmp_path / "home")
    with pytest.raises(BadInput, match="Nothing was answered"):
        check(tmp_path / "home", surroundings=through())


class Broadcasting:
    """A server that answers round 2 of a campaign with parts, and proves that round 1 was counted, or does not."""

    def __init__(self, person: int, root: str, data: bytes, proves: bool = True) -> None:
        self.root, self.data, self.asked = root, data, list[tuple[str, int]]()
        self.uploads = {each: bytes(32) + made for each, made in part_vectors.first_reports(CASE).items()}
        digests = [(each, hashlib.sha256(made).digest()) for each, made in self.uploads.items()]
        self.tree, self.state = Tree.of(digests), RoundState(1, "closed", round_root(digests), root)
        self.person, self.proves = person, proves

    def get(self, path: str, most: int = 1 << 28, own: bool = False) -> Reply:
        self.asked.append((path, most))
        if "/proof/" not in path:
            return Reply(200, {}, self.data)
        found = self.tree.proof(self.person if self.proves else (self.person + 1) % 3)
        assert found is not None
        return Reply(
            200, {}, json.dumps({"index": found.index, "count": found.count, "proof": found.siblings}).encode()
        )


CASE = "nothing is public"


def on_part(server: Broadcasting, monkeypatch: pytest.MonkeyPatch) -> server_checks.Task:
    """Round 2, as the server begins it."""
    for name, found in (("round_state", server.state), ("keep_stated", None)):
        monkeypatch.setattr(server_checks, name, lambda *given, found=found: found)
    making = part_vectors.second(CASE, server.person)
    return server_checks.second_task(server, None, making.context, server.uploads[server.person])  # type: ignore[arg-type]


def test_the_own_part_is_fetched_and_is_the_one_that_the_round_names(monkeypatch: pytest.MonkeyPatch) -> None:
    making, root = part_vectors.second(CASE, 2), part_vectors.broadcast(CASE).digest
    server = Broadcasting(2, root, making.transcript)
    task = on_part(server, monkeypatch)
    number = part_number(making.context)
    assert server.asked[0] == (f"/v1/rounds/1/parts/{number}", len(making.transcript))
    assert (task.round, task.transcript, task.transcript_digest) == (2, making.transcript, root)
    with pytest.raises(ProtocolViolation, match="not the one that the closed round names"):
        on_part(Broadcasting(2, "ab" * 32, making.transcript), monkeypatch)
    with pytest.raises(ProtocolViolation, match="closed round does not hold your first answers"):
        on_part(Broadcasting(2, root, making.transcript, proves=False), monkeypatch)
