"""Two people lay side by side what they were shown: equal, or the first difference in a sentence.  [WITNESS.4]"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from campaign.conftest import KEY, QUICK
from support.campaign_people import Ask, join, reply, who
from support.campaign_stub import Served
from visibility_aware_edge_ldp.campaign.charter_log import CharterLog
from visibility_aware_edge_ldp.campaign.http_client import Transport
from visibility_aware_edge_ldp.campaign.participant import comparison
from visibility_aware_edge_ldp.campaign.participant.comparison import Shown, compare, compared, export, observed, shown
from visibility_aware_edge_ldp.campaign.participant.server_checks import check
from visibility_aware_edge_ldp.campaign.signed_documents import encode, fingerprint
from visibility_aware_edge_ldp.campaign.statements import code
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation


def homes(served: Served, tmp_path: Path, count: int = 2, friends: tuple[str, ...] = ()) -> list[Path]:
    """People who have answered the first round."""
    found = [tmp_path / f"home {who(served, place)}" for place in range(count)]
    for place, home in enumerate(found):
        join(served, home, who(served, place))
        reply(served, home, friends)
    return found


def seen_by(served: Served, home: Path) -> Shown:
    """What a check leaves in the ledger."""
    check(home, served.campaign.charter.identity, QUICK)
    found = shown(home, served.campaign.charter.identity)
    assert found is not None
    return found


def test_equal_statements_are_said_to_be_equal(ask: Ask, tmp_path: Path) -> None:
    served = ask(rounds=2)
    ann, bob = homes(served, tmp_path)
    served.close_first()
    mine, theirs = seen_by(served, ann), seen_by(served, bob)
    assert compared(mine, theirs) == (
        f"Both were shown the same: round 1, code {code(served.statement().data)}; and one log, of 1 charter."
    )
    export(theirs, tmp_path / "bob.json")
    assert compare(mine, tmp_path / "bob.json") == compared(mine, theirs)
    assert mine.codes == {1: code(served.statement().data)}


def test_the_file_holds_nothing_about_whoever_wrote_it(ask: Ask, tmp_path: Path) -> None:
    served = ask(rounds=2)
    ann, bob = homes(served, tmp_path)
    served.close_first()
    assert seen_by(served, ann).data == seen_by(served, bob).data


def test_two_transcripts_under_one_root_are_noticed(ask: Ask, tmp_path: Path) -> None:
    """The twin, a comparison of roots, sees nothing."""
    served = ask("triangles", rounds=2)
    ann, bob = homes(served, tmp_path)
    served.close_first()
    mine = seen_by(served, ann)
    served.salt = bytes([1]) * 32
    theirs = seen_by(served, bob)
    assert mine.statements[0].root == theirs.statements[0].root
    assert mine.codes != theirs.codes
    with pytest.raises(
        ProtocolViolation, match=r"two things of round 1 \(to you / to the other\): transcript"
    ) as named:
        compared(mine, theirs)
    assert named.value.exit_code == 3


def test_two_logs_are_noticed(ask: Ask, tmp_path: Path) -> None:
    """One charter for ann and one for bob: each ledger counts one, and the edge between them pays in both."""
    one, two = ask(epoch="spring a"), ask(epoch="spring b")
    charter = two.campaign.charter
    two.log = CharterLog(charter.issuer).extended(charter, fingerprint(two.campaign.key), KEY)
    (ann,), (bob,) = homes(one, tmp_path / "one", 1), homes(two, tmp_path / "two", 1)
    mine, theirs = seen_by(one, ann), seen_by(two, bob)
    with pytest.raises(ProtocolViolation, match=r"two logs: its charter number 1 is .* about 'spring a'\s+to you"):
        compared(mine, theirs)


def test_two_charters_in_one_log_are_told_of(ask: Ask, tmp_path: Path) -> None:
    one, two = ask(epoch="spring a"), ask(epoch="spring b")
    (ann,), (bob,) = homes(one, tmp_path / "one", 1), homes(two, tmp_path / "two", 1)
    with pytest.raises(BadInput, match=r"about the campaign .* \('spring b'\), and yours is .* \('spring a'\)"):
        compared(seen_by(one, ann), seen_by(two, bob))
    own = seen_by(two, bob)
    assert comparison.charters_line(own, two.campaign.charter) == (
        "The issuer's log names 2 charters, 1 about 'spring b'."
    )


def test_before_anything_is_closed_only_the_logs_are_compared(ask: Ask, tmp_path: Path) -> None:
    served = ask()
    ann, bob = homes(served, tmp_path)
    with pytest.raises(BadInput, match="One log; but no round was closed"):
        compared(seen_by(served, ann), seen_by(served, bob))


def test_an_observer_sees_what_participants_see(ask: Ask, tmp_path: Path) -> None:
    served = ask(rounds=2)
    (ann,) = homes(served, tmp_path, 1)
    transport = Transport(served.url, patience=QUICK.patience)
    served.close_first()
    served.states[2] = "waiting"
    mine = seen_by(served, ann)
    found = observed(transport, served.campaign.charter)
    assert found == mine
    served.log = None
    assert observed(transport, served.campaign.charter) is None


def _statement(content: dict[str, Any]) -> None:
    content["statements"][0]["statement"]["count"] = 9


def _no_signature(content: dict[str, Any]) -> None:
    content["statements"][0]["signature"] = "none"


def _no_statement(content: dict[str, Any]) -> None:
    content["statements"][0] = "none"


def _no_log(content: dict[str, Any]) -> None:
    del content["log"]


def _more(content: dict[str, Any]) -> None:
    content["more"] = 1


def _version(content: dict[str, Any]) -> None:
    content["format"] = "va-edge-ldp shown 9"


def _campaign(content: dict[str, Any]) -> None:
    content["campaign"] = "0f" * 32


FORGED = [_statement, _no_signature, _no_statement, _no_log, _more, _version, _campaign]


@pytest.mark.parametrize("change", FORGED, ids=lambda each: each.__name__)
def test_a_forged_file_is_noticed(change: Callable[[dict[str, Any]], None], ask: Ask, tmp_path: Path) -> None:
    served = ask(rounds=2)
    (ann,) = homes(served, tmp_path, 1)
    served.close_first()
    mine = seen_by(served, ann)
    content = json.loads(mine.data)
    change(content)
    (tmp_path / "bob.json").write_bytes(encode(content))
    with pytest.raises(ProtocolViolation):
        compare(mine, tmp_path / "bob.json")


def test_what_cannot_be_compared_is_said(ask: Ask, tmp_path: Path) -> None:
    served = ask(rounds=2)
    (ann,) = homes(served, tmp_path, 1)
    mine = seen_by(served, ann)
    for work, why in (
        (lambda: compare(None, tmp_path / "x"), "signs nothing"),
        (lambda: export(None, tmp_path / "x"), "signs nothing"),
        (lambda: compare(mine, tmp_path / "nowhere"), "cannot be read"),
        (lambda: export(mine, tmp_path / "nowhere" / "x"), "cannot be written"),
        (lambda: compared(replace(mine, campaign="0f" * 32), mine), "does not name the campaign"),
        (lambda: Shown.from_bytes(mine.data, "0f" * 32), "another issuer's campaigns"),
    ):
        with pytest.raises((BadInput, ProtocolViolation), match=why):
            work()
