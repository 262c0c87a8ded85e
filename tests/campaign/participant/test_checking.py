"""A participant finds its own report in the frozen set, or hears that it is not there."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from benchmarks.campaign_stub import Served

from campaign.participant.conftest import QUICK
from campaign.participant.people import Ask, join, reply, who
from visibility_aware_edge_ldp.campaign.participant import checking
from visibility_aware_edge_ldp.campaign.participant.checking import check
from visibility_aware_edge_ldp.campaign.participant.program import Surroundings
from visibility_aware_edge_ldp.campaign.participant.transport import Declined, Reply, Transport
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation

Change = Callable[[dict[str, Any]], None]


def through(change: Change | None = None, answers: dict[str, Any] | None = None) -> Surroundings:
    """A server whose proofs are changed on the way, and which has these answers."""

    class Changing(Transport):
        def get(self, path: str, most: int = 1 << 28, own: bool = False) -> Reply:
            if path == "/v1/estimates" and answers is None:
                raise Declined(409, "not-ready", "")
            if path == "/v1/estimates":
                return Reply(200, {}, json.dumps(answers).encode())
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


def test_a_report_is_found_by_what_was_sent(ask: Ask, tmp_path: Path) -> None:
    served, home = five_have_answered(ask, tmp_path)
    with pytest.raises(BadInput, match="Round 1 is open"):
        check(home, surroundings=through())
    served.close_first()
    (found,) = check(home, surroundings=through())
    assert (found.round, found.root, found.answers) == (1, served.root, False)
    (counted,) = check(home, surroundings=through(answers={"rounds": [{"root": served.root}, {"root": ""}]}))
    assert counted.answers
    (there,) = check(home, url=served.url, surroundings=through())
    assert there == found


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
    with pytest.raises(ProtocolViolation, match="made from another set of round 1"):
        check(home, surroundings=through(answers={"rounds": [{"root": "0" * 64}]}))
    with pytest.raises(ProtocolViolation, match="do not name the rounds"):
        check(home, surroundings=through(answers={"rounds": "none"}))


def test_a_round_that_is_called_open_for_ever_is_noticed(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that has lost a report might never say that the round is closed."""
    _, home = five_have_answered(ask, tmp_path)
    with pytest.raises(ProtocolViolation, match="calls round 1 open, though its time is over"):
        check(home, surroundings=through(answers={"rounds": [{"root": "0" * 64}, {"root": ""}]}))
    monkeypatch.setattr(checking, "time", SimpleNamespace(time=lambda: 1e12))
    with pytest.raises(ProtocolViolation, match="calls round 1 open, though its time is over"):
        check(home, surroundings=through())


def test_who_has_not_answered_has_nothing_to_check(ask: Ask, tmp_path: Path) -> None:
    served = ask()
    join(served, tmp_path / "home")
    with pytest.raises(BadInput, match="Nothing was answered"):
        check(tmp_path / "home", surroundings=through())
