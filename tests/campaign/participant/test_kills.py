"""The real program, killed between noise, ledger and sending; ``benchmarks.campaign_participant kills`` does more."""

from __future__ import annotations

import pytest

from campaign.conftest import Ask
from support.campaign_participant_drills import ASKED, contradictions, kills
from visibility_aware_edge_ldp.campaign.wire_format import salted
from visibility_aware_edge_ldp.public.surveys import position as codec


@pytest.mark.long
def test_no_position_has_two_answers() -> None:
    found = kills(15, seed=1, asked=ASKED[1:4])
    assert found.kills >= 15
    assert len(found.points) >= 3
    assert (found.contradictions, found.unanswered) == (0, 0)
    assert kills(4, seed=1, asked=ASKED[1:4], points=["sent"]).contradictions == 0


def test_a_program_that_sends_before_it_commits_is_caught() -> None:
    """Killed after the bytes have left: the honest program's ledger has them then, and the twin's has not."""
    assert kills(4, "send first", seed=1, asked=ASKED[1:4], points=["sent"]).contradictions > 0


def test_one_flipped_bit_is_seen(ask: Ask) -> None:
    """The check itself: two uploads that differ in one answer, and one that was torn off and never completed."""
    served, other = ask(), ask(title="Another name")
    report = salted(
        codec.encode(codec.PositionReport(served.terms.survey.identity, 1, 0, 11, b"\xff\x07", b"\x01\x00"))
    )
    flipped = report[:-2] + b"\x03\x00"
    served.heard.append((1, 0, report))
    other.heard.append((1, 0, report))
    assert contradictions([served, other]) == (0, 0, 0)
    other.heard.append((1, 0, flipped))
    served.torn.append(flipped[:-1])
    assert contradictions([served, other]) == (1, 0, 2)


def test_another_salt_is_another_upload(ask: Ask) -> None:
    served = ask()
    report = codec.encode(codec.PositionReport(served.terms.survey.identity, 1, 0, 11, b"\xff\x07", b"\x01\x00"))
    served.heard += [(1, 0, salted(report))] * 2
    assert contradictions([served]) == (0, 0, 0)
    served.heard.append((1, 0, salted(report)))
    assert contradictions([served]) == (0, 0, 1)
