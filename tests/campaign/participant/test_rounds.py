"""Second rounds: answered once, and only where the server counts what was said in the first."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaign.conftest import TOWN
from support.campaign_people import PRIVATE, Ask, bits, join, reply, who
from support.campaign_stub import Served, Stub
from visibility_aware_edge_ldp.campaign.participant.server_checks import status
from visibility_aware_edge_ldp.campaign.wire_format import report_in
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.public.surveys import rows


def test_both_rounds_of_positions(ask: Ask, stub: Stub, tmp_path: Path) -> None:
    served, home = ask(rounds=2), tmp_path / "home"
    join(served, home)
    other = tmp_path / "other"
    join(served, other, who(served, 1))
    friends = [who(served, place) for place in range(2, 12)]
    reply(served, home, friends)
    reply(served, other, [])
    served.close_first()
    reply(served, home, friends)
    assert not (bits(served, 2) & ~bits(served, 1)).any()
    assert status(home)[0].lost[PRIVATE] == 1
    assert status(home)[0].acknowledged == (1, 2)


def test_a_second_round_without_ones_own_first_answers_is_refused(ask: Ask, tmp_path: Path) -> None:
    served, home = ask(rounds=2), tmp_path / "home"
    join(served, home)
    reply(served, home)
    served.close_first()
    served.root = "0" * 64
    with pytest.raises(ProtocolViolation, match="does not hold your first answers"):
        reply(served, home)
    assert status(home)[0].answered == (1,)


def triangle_town(ask: Ask, tmp_path: Path) -> tuple[Served, Path]:
    """Everybody has answered round 1, and the first participant is about to answer round 2."""
    served = ask("triangles", names=TOWN[:6])
    for place in range(5):
        home = tmp_path / f"home {place}"
        join(served, home, who(served, place))
        reply(served, home, [who(served, each) for each in range(place + 1, 6)])
    served.close_first()
    return served, tmp_path / "home 0"


def test_both_rounds_of_triangles(ask: Ask, tmp_path: Path) -> None:
    served, home = triangle_town(ask, tmp_path)
    reply(served, home, [who(served, place) for place in range(1, 6)])
    report = rows.decode_rows(report_in(served.kept[2, 0]))
    assert report.transcript == served.transcript_digest
    assert status(home)[0].lost[PRIVATE] == 1
    again = reply(served, home, lambda: 1 / 0)
    assert again.round == 2
    assert len({body for number, _, body in served.heard if number == 2}) == 1


def test_a_transcript_with_ones_own_row_changed_is_refused(ask: Ask, tmp_path: Path) -> None:
    served, home = triangle_town(ask, tmp_path)
    octets = bytearray(served.transcript)
    octets[len(octets) // 2] ^= 1
    served.transcript = bytes(octets)
    with pytest.raises(ProtocolViolation, match="as you sent them"):
        reply(served, home)
    assert status(home)[0].answered == (1,)


def test_a_transcript_that_the_round_does_not_name_is_refused(ask: Ask, tmp_path: Path) -> None:
    served, home = triangle_town(ask, tmp_path)
    served.transcript_digest = "0" * 64
    with pytest.raises(ProtocolViolation, match="not the one that the closed round names"):
        reply(served, home)
    octets = bytearray(served.transcript)
    octets[-1] ^= 2  # another one's answer
    served.transcript = bytes(octets)
    with pytest.raises(ProtocolViolation, match="not the one that the closed round names"):
        reply(served, home)
    served.transcript = b""
    with pytest.raises(ProtocolViolation, match="bytes"):
        reply(served, home)


def test_another_transcript_later_does_not_change_the_answer(ask: Ask, tmp_path: Path) -> None:
    """Round 2 is answered once, ever: what a server shows afterwards is not even looked at."""
    served, home = triangle_town(ask, tmp_path)
    reply(served, home)
    first = served.kept[2, 0]
    served.transcript, served.transcript_digest = b"", ""
    del served.kept[2, 0]
    reply(served, home, lambda: 1 / 0)
    assert served.kept[2, 0] == first
