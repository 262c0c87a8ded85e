"""What a server signs: every receipt, and each closed round once and for all.  [WITNESS.1]"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from support.campaign_inside import Inside, inside
from support.campaign_lab import FAR, Lab, new_lab, sqlite_url
from visibility_aware_edge_ldp.campaign.directory import ServedCampaign
from visibility_aware_edge_ldp.campaign.server.statements import codes, new_seal, stated
from visibility_aware_edge_ldp.campaign.signed_documents import fingerprint
from visibility_aware_edge_ldp.campaign.statements import (
    SignedStatement,
    Statement,
    code,
    receipt_is_signed,
    sealed,
)
from visibility_aware_edge_ldp.errors import BadInput

PATH = "/v1/rounds/{}/statement"


def shown(server: Inside, number: int = 1) -> tuple[Statement, dict[str, str]]:
    answer = server.ask("GET", PATH.format(number))
    assert answer.status == 200, answer
    signed = SignedStatement(answer.body, bytes.fromhex(answer.headers["statement-signature"]))
    return signed.opened(fingerprint(server.lab.served.campaign.key)), answer.headers


def through_two_rounds(server: Inside) -> None:
    for number in (1, 2):
        for participant in (0, 3, 9):
            assert server.put(participant, number).status == 201
        assert server.operator(f"/v1/rounds/{number}/close").status == 200
        server.clock.now += 50


def test_receipts_are_signed_and_as_they_were(server: Inside) -> None:
    answers = [server.put(3), server.put(3), server.ask("GET", server.lab.path(3), server.lab.tokens[3])]
    assert len({each.body for each in answers}) == 1
    for each in answers:
        shown = bytes.fromhex(each.headers["receipt-signature"])
        assert receipt_is_signed(fingerprint(server.lab.served.campaign.key), each.body, shown)


def test_a_statement_binds_root_count_times_and_transcript(triangles: Inside) -> None:
    begun = int(triangles.clock())
    assert triangles.ask("GET", PATH.format(1)).problem == "not-ready"
    triangles.clock.now += 100
    through_two_rounds(triangles)
    (first, headers), (second, _) = shown(triangles), shown(triangles, 2)
    state = triangles.ask("GET", "/v1/rounds/1").content
    assert (first.root, first.count, first.campaign) == (state["root"], 3, triangles.lab.served.charter.identity)
    assert (first.opened, first.closed, second.opened, second.closed) == (begun, begun + 100, begun + 100, begun + 150)
    assert sealed(state["transcript"], bytes.fromhex(headers["transcript-salt"])) == first.transcript
    assert (second.before, second.transcript) == (first.digest, "")


def test_a_statement_outlives_a_restart_and_the_reports(labs: dict[str, Lab], store_url: str) -> None:
    with inside(labs["triangles"], store_url) as server:
        through_two_rounds(server)
        before = [shown(server, number)[0] for number in (1, 2)]
    with inside(labs["triangles"], store_url) as server:
        assert [shown(server, number)[0] for number in (1, 2)] == before
        assert server.operator("/v1/estimate").status == 200
        assert server.ask("GET", "/v1/rounds/1/transcript").problem == "erased"
        (first, headers), (second, _) = shown(server), shown(server, 2)
        assert [first, second] == before
        assert "transcript-salt" not in headers
        assert not server.runner.run(server.app.writer.do(lambda store: store.stages()))[0].salt, "erased, not hidden"


def test_salts_are_new_and_nothing_is_sealed_of_nothing() -> None:
    assert new_seal("") == ("", b"")
    (one, salt), (other, _) = new_seal("ab" * 32), new_seal("ab" * 32)
    assert one != other
    assert sealed("ab" * 32, salt) == one


def test_the_log_is_served_as_the_issuer_wrote_it(server: Inside) -> None:
    assert server.ask("GET", "/v1/log").body == (server.lab.directory / "log.json").read_bytes()


def test_codes_are_of_closed_rounds(triangles: Inside) -> None:
    served = triangles.lab.served
    assert codes(served, triangles.app.rounds.stages) == {}
    through_two_rounds(triangles)
    stages = triangles.app.rounds.stages
    assert codes(served, stages) == {n: code(stated(served, stages, n).data) for n in (1, 2)}
    assert codes(replace(served, campaign=replace(served.campaign, key=b"")), stages) == {}


def test_a_campaign_of_before_is_served_and_signs_nothing(tmp_path: Path) -> None:
    lab = new_lab(tmp_path / "lab", 12, "degrees", (FAR,))
    for name in ("log.json", "server.key"):
        (lab.directory / name).unlink()
    old = Lab(lab.directory, ServedCampaign.read(lab.directory))
    with inside(old, sqlite_url(tmp_path)) as server:
        answer = server.put(3)
        assert answer.status == 201
        assert "receipt-signature" not in answer.headers
        server.operator("/v1/rounds/1/close")
        assert [server.ask("GET", path).problem for path in (PATH.format(1), "/v1/log")] == ["not-found"] * 2


def test_half_of_what_signs_is_refused(tmp_path: Path) -> None:
    lab = new_lab(tmp_path / "lab", 12, "degrees", (FAR,))
    shutil.copy(new_lab(tmp_path / "other", 12, "degrees", (FAR,)).directory / "server.key", lab.directory)
    with pytest.raises(BadInput, match=r"does not name server\.key"):
        ServedCampaign.read(lab.directory)
    (lab.directory / "server.key").unlink()
    with pytest.raises(BadInput, match="go together"):
        ServedCampaign.read(lab.directory)
