"""Enrolling: nothing is believed that the pinned issuer did not sign or that does not follow."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from campaign.conftest import KEY, QUICK
from support.campaign_people import PRIVATE, Ask, join, reply, who
from support.campaign_stub import Served, Stub, no_fault, said
from support.command import run_main
from visibility_aware_edge_ldp.campaign.charter import SignedCharter
from visibility_aware_edge_ldp.campaign.participant.enrolment import OtherVersion, load
from visibility_aware_edge_ldp.campaign.participant.ledger import UnusableLedger
from visibility_aware_edge_ldp.campaign.participant.program import enroll
from visibility_aware_edge_ldp.campaign.participant.server_checks import of_other_versions, status
from visibility_aware_edge_ldp.campaign.signed_documents import encode, sign
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation, Refused


def test_a_charter_of_another_issuer_is_refused(ask: Ask, stub: Stub, tmp_path: Path) -> None:
    served = ask()
    with pytest.raises(ProtocolViolation, match="not signed by the issuer that was pinned"):
        enroll(served.url, who(served), served.tokens[who(served)], "ab" * 32, tmp_path / "home", surroundings=QUICK)
    assert not (tmp_path / "home").exists()


def test_documents_that_the_charter_does_not_name_are_refused(ask: Ask, stub: Stub, tmp_path: Path) -> None:
    served = ask()
    stub.faults = [no_fault, said(b'["somebody else"]')]
    with pytest.raises(ProtocolViolation, match="roster document is not the one"):
        join(served, tmp_path / "home")


def test_integers_that_do_not_follow_are_refused(ask: Ask, stub: Stub, tmp_path: Path) -> None:
    """A threshold of another epsilon, signed by the issuer itself."""
    served = ask()
    honest, other = served.campaign.charter, ask(epsilon=3).campaign.charter
    lying = SignedCharter.of(replace(honest, mechanisms=other.mechanisms), KEY)
    stub.faults = [said(lying.data, headers={"Charter-Signature": lying.signature.hex()})]
    with pytest.raises(ProtocolViolation, match="does not follow from its epsilon"):
        join(served, tmp_path / "home")


def test_a_name_outside_the_roster_is_refused(ask: Ask, tmp_path: Path) -> None:
    served = ask()
    with pytest.raises(BadInput, match="not in the campaign's roster"):
        enroll(served.url, "nobody", "token", served.issuer, tmp_path / "home", surroundings=QUICK)


def test_a_new_epoch_needs_a_word(ask: Ask, tmp_path: Path) -> None:
    home = tmp_path / "home"
    join(ask(), home)
    later = ask(epoch="summer")
    with pytest.raises(Refused, match="only if your list is of another time"):
        join(later, home, who(later))
    join(later, home, who(later), new_epoch=True)
    reply(later, home)
    assert {each.epoch: each.lost[PRIVATE] for each in status(home)} == {"spring": 0, "summer": 1}


def test_what_is_kept_is_checked_whenever_it_is_opened(ask: Ask, tmp_path: Path) -> None:
    served, home = ask(), tmp_path / "home"
    folder = home / "campaigns" / join(served, home)
    for name in ("charter.json", "charter.sig", "roster.json", "policy.json", "edges.json"):
        kept = (folder / name).read_bytes()
        (folder / name).write_bytes(kept.replace(b"1", b"2").replace(b"[]", b"[[0,1]]").replace(b"a", b"b"))
        with pytest.raises((ProtocolViolation, BadInput)):
            reply(served, home, lambda: 1 / 0)
        (folder / name).write_bytes(kept)
    (folder / "edges.json").unlink()
    with pytest.raises(BadInput, match="enrol again"):
        reply(served, home)
    join(served, home)
    assert not served.heard


def of_another_version(served: Served, home: Path) -> str:
    """The same campaign as an earlier program wrote and signed it, in a folder of its own."""
    content = json.loads(served.campaign.charter.data)
    data = encode({**content, "format": "va-edge-ldp charter 1"})
    folder = home / "campaigns" / hashlib.sha256(data).hexdigest()
    shutil.copytree(home / "campaigns" / served.campaign.charter.identity, folder)
    (folder / "charter.json").write_bytes(data)
    (folder / "charter.sig").write_text(sign(KEY, data).hex())
    return folder.name


def test_a_campaign_of_another_version_does_not_hide_the_others(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    served, home = ask(), tmp_path / "home"
    known = join(served, home)
    older = of_another_version(served, home)
    with pytest.raises(OtherVersion, match="answer it with that one"):
        load(home, older)
    assert ([each.campaign for each in status(home)], of_other_versions(home)) == ([known], [older])
    run = partial(run_main, monkeypatch, capsys, "campaign", "status", "--home", str(home))
    said = run()
    assert (said.code, known[:12] in said.out) == (0, True)
    assert [line for line in said.out.splitlines() if older[:12] in line] == [
        f"{older[:12]} is of another version of this program; what it has cost still counts."
    ]
    assert run("--json").json["campaigns"][1] == {"campaign": older, "other_version": True}


def test_what_the_issuer_did_not_sign_is_not_another_version(ask: Ask, tmp_path: Path) -> None:
    served, home = ask(), tmp_path / "home"
    join(served, home)
    older = of_another_version(served, home)
    (home / "campaigns" / older / "charter.sig").write_text("00" * 64)
    with pytest.raises(ProtocolViolation, match="not signed"):
        status(home)


def test_only_its_owner_may_read_the_token(ask: Ask, tmp_path: Path) -> None:
    served, home = ask(), tmp_path / "home"
    folder = home / "campaigns" / join(served, home)
    assert {each.stat().st_mode & 0o77 for each in (home, folder, *folder.iterdir())} == {0}
    assert served.tokens[who(served)] not in repr(load(home))


def test_a_campaign_is_named_where_there_are_several(ask: Ask, tmp_path: Path) -> None:
    first, second, home = ask(), ask(title="Another"), tmp_path / "home"
    with pytest.raises(BadInput, match="none; enrol first"):
        load(home)
    join(first, home)
    assert load(home).identity == load(home, first.campaign.charter.identity[:10]).identity
    join(second, home)
    with pytest.raises(BadInput, match="Say which campaign is meant"):
        load(home)


def test_an_epoch_that_was_never_agreed_to_is_not_answered(ask: Ask, tmp_path: Path) -> None:
    """A campaign's folder that was put there by hand."""
    first, later, home, other = ask(), ask(epoch="summer"), tmp_path / "home", tmp_path / "other"
    join(first, home)
    identity = join(later, other)
    shutil.copytree(other / "campaigns" / identity, home / "campaigns" / identity)
    with pytest.raises(Refused, match="have not agreed"):
        reply(later, home, lambda: 1 / 0)
    assert not later.heard


@pytest.mark.parametrize("token", ["", "two words", "umläut", "new\nline"])
def test_tokens_that_cannot_be_sent(ask: Ask, tmp_path: Path, token: str) -> None:
    served = ask()
    with pytest.raises(BadInput, match="A token is one word"):
        enroll(served.url, who(served), token, served.issuer, tmp_path / "home", surroundings=QUICK)


def test_a_lost_ledger_is_not_begun_anew_by_enrolling(ask: Ask, tmp_path: Path) -> None:
    first, second, home = ask(), ask(title="Another"), tmp_path / "home"
    join(first, home)
    (home / "ledger.db").unlink()
    (home / "ledger.mark").unlink()
    with pytest.raises(UnusableLedger, match="There is no ledger"):
        join(second, home)


def test_one_name_in_one_epoch(ask: Ask, tmp_path: Path) -> None:
    first, second, home = ask(), ask(title="Another"), tmp_path / "home"
    join(first, home)
    with pytest.raises(Refused, match="under a second name"):
        join(second, home, who(second, 1))
    join(second, home, who(first))
