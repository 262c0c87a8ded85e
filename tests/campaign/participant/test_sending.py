"""Sending: lost receipts, servers that are away or lie, late answers, and what the program loads."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from campaign.conftest import QUICK
from support.campaign_people import Ask, join, reply, who
from support.campaign_stub import Stub, no_fault, refused_with, said, stored_and_dropped
from visibility_aware_edge_ldp.campaign.http_client import Declined, NotReached
from visibility_aware_edge_ldp.campaign.participant.ledger import UnusableLedger
from visibility_aware_edge_ldp.campaign.participant.server_checks import status
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation


def test_a_receipt_lost_on_the_way_is_fetched_by_sending_again(ask: Ask, stub: Stub, tmp_path: Path) -> None:
    served, home = ask(), tmp_path / "home"
    join(served, home)
    stub.faults = [no_fault, no_fault, stored_and_dropped]  # the round, one's own receipt, the upload
    reply(served, home)
    assert len(served.heard) == 2
    assert len(set(served.heard)) == 1


def test_a_server_that_is_away_gets_the_same_bytes_later(ask: Ask, stub: Stub, tmp_path: Path) -> None:
    served, home = ask(), tmp_path / "home"
    join(served, home)
    impatient = replace(QUICK, patience=replace(QUICK.patience, total=0.0))
    stub.faults = [no_fault, no_fault, refused_with("store-unavailable")]
    with pytest.raises(NotReached):
        reply(served, home, [who(served, 1)], impatient)
    assert not served.kept
    assert status(home)[0].answered == (1,)
    assert status(home)[0].acknowledged == ()
    reply(served, home, lambda: 1 / 0)
    assert status(home)[0].acknowledged == (1,)


def test_a_receipt_for_something_else_is_refused(ask: Ask, stub: Stub, tmp_path: Path) -> None:
    served, home = ask(), tmp_path / "home"
    other = ask(epsilon="1/2")
    join(served, home)
    join(other, home)
    reply(other, home)
    receipt = b'{"campaign":"%s","digest":"%s","participant":0,"round":1}' % (b"0" * 64, b"1" * 64)
    stub.faults = [no_fault, no_fault, said(receipt)]
    with pytest.raises(ProtocolViolation, match="not for what was sent"):
        reply(served, home)


def test_an_answer_that_the_ledger_does_not_know_stops_everything(ask: Ask, tmp_path: Path) -> None:
    """A whole home restored from an old backup: only the server can tell."""
    served, home, copy = ask(), tmp_path / "home", tmp_path / "copy"
    join(served, home)
    subprocess.run(["cp", "-r", str(home), str(copy)], check=True)
    reply(served, home, [who(served, 1)])
    with pytest.raises(UnusableLedger, match="an older copy, or somebody else has your token"):
        reply(served, copy, [])
    assert len(served.heard) == 1


def test_a_late_answer_is_said_to_be_late(ask: Ask, stub: Stub, tmp_path: Path) -> None:
    served, home = ask(), tmp_path / "home"
    join(served, home)
    served.states[1] = "closed"
    with pytest.raises(BadInput, match="No round is open now: round 1 is closed"):
        reply(served, home)
    served.states[1] = "open"
    stub.faults = [no_fault, no_fault, refused_with("late")]
    with pytest.raises(Declined, match="409, late"):
        reply(served, home)


def test_importing_the_program_loads_no_other_side() -> None:
    package = "visibility_aware_edge_ldp"
    code = f"import {package}.campaign.participant.program, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    tops = {name.split(".")[0] for name in loaded}
    own = {name.split(".")[1] for name in loaded if name.startswith(f"{package}.")}
    assert not tops & {"scipy", "matplotlib", "uvicorn", "apsw", "psycopg", "networkx", "pandas"}
    assert not own & {"aggregator", "truth", "simulation", "evaluation", "model", "dataset"}
    assert f"{package}.campaign.server" not in loaded
