"""What a ledger notices over time: forged, changed and missing statements, older stores, other logs.  [WITNESS.3]"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from campaign.conftest import KEY, QUICK
from support.campaign_people import Ask, join, reply, who
from support.campaign_stub import Served, Stub
from visibility_aware_edge_ldp.campaign.charter_log import CharterLog
from visibility_aware_edge_ldp.campaign.participant import statements
from visibility_aware_edge_ldp.campaign.participant.enrolment import LEDGER
from visibility_aware_edge_ldp.campaign.participant.ledger import Ledger
from visibility_aware_edge_ldp.campaign.participant.server_checks import INCLUDED, NOT_CLOSED, Checked, check
from visibility_aware_edge_ldp.campaign.signed_documents import fingerprint
from visibility_aware_edge_ldp.campaign.statements import code, receipt_is_signed
from visibility_aware_edge_ldp.errors import ProtocolViolation

OTHER_KEY = bytes(range(1, 33))


def answered(ask: Ask, tmp_path: Path, question: str = "position") -> tuple[Served, Path]:
    """Three people, of whom the second one is looked at."""
    served = ask(question, rounds=2)
    for place in range(3):
        join(served, tmp_path / f"home {place}", who(served, place))
        reply(served, tmp_path / f"home {place}", [who(served, 7)])
    return served, tmp_path / "home 1"


def checked(served: Served, home: Path) -> list[Checked]:
    return check(home, served.campaign.charter.identity, QUICK)


def test_receipts_and_statements_are_kept_with_their_signatures(ask: Ask, tmp_path: Path) -> None:
    served, home = answered(ask, tmp_path)
    served.close_first()
    (found,) = checked(served, home)
    assert (found.standing, found.code) == (INCLUDED, code(served.statement().data))
    context = statements.Ledger(home / LEDGER)
    with context.reading() as page:
        receipts, shown = ([each.content for each in page.entries(kind)] for kind in ("receipt", "signature"))
        assert len(receipts) == len(shown) == 1
        assert receipt_is_signed(fingerprint(served.campaign.key), receipts[0], shown[0])
        (kept,) = page.entries("statement")
        assert kept.content == served.statement().signature + served.statement().data
        assert [entry.content for entry in page.entries("log")] == [served.campaign.log.data]  # type: ignore[union-attr]
    assert checked(served, home) == [found], "and once only"
    with context.reading() as page:
        assert len(page.entries("statement")) == len(page.entries("log")) == 1


def test_an_unsigned_receipt_is_no_receipt(ask: Ask, tmp_path: Path) -> None:
    """The report may be stored; it is sent again, and then acknowledged."""
    served, home = ask(), tmp_path / "home"
    join(served, home)
    honest = served.campaign
    for key in (b"", OTHER_KEY):
        served.campaign = replace(honest, key=key)
        with pytest.raises(ProtocolViolation, match="receipt is not signed with the key"):
            reply(served, home, [])
    served.campaign = honest
    reply(served, home, [])
    assert len({body for _, _, body in served.heard}) == 1
    assert checked(served, home)[0].standing == NOT_CLOSED


def test_an_older_store_is_noticed_while_the_round_is_open(ask: Ask, tmp_path: Path) -> None:
    """The twin: a check of closed rounds alone says nothing."""
    served, home = answered(ask, tmp_path)
    assert checked(served, home)[0].standing == NOT_CLOSED
    kept = dict(served.kept)
    del served.kept[1, 1]
    with pytest.raises(ProtocolViolation, match="does not hold it any more: an older store was brought back") as named:
        checked(served, home)
    assert named.value.exit_code == 3
    reply(served, home, lambda: 1 / 0)
    assert served.kept == kept, "the same bytes, without a look at the list"
    assert checked(served, home)[0].standing == NOT_CLOSED


def test_another_report_in_an_open_round_is_noticed(ask: Ask, tmp_path: Path) -> None:
    served, home = answered(ask, tmp_path)
    served.kept[1, 1] = served.kept[1, 0]
    with pytest.raises(ProtocolViolation, match="receipt is not for what was sent"):
        checked(served, home)


def _forged(served: Served) -> None:
    served.campaign = replace(served.campaign, key=OTHER_KEY)


def _fewer(served: Served) -> None:
    served.lies = {"count": 2}


def _other_root(served: Served) -> None:
    served.lies = {"root": "0f" * 32}


def _other_campaign(served: Served) -> None:
    served.lies = {"campaign": "0f" * 32}


LIES: list[tuple[Callable[[Served], None], str]] = [
    (_forged, "is not signed with the key that the issuer's log names"),
    (_fewer, "states 2 reports of round 1, and proves 3"),
    (_other_root, "is about another root or transcript"),
    (_other_campaign, "is about another root or transcript"),
]


@pytest.mark.parametrize(("lie", "said"), LIES, ids=lambda each: getattr(each, "__name__", ""))
def test_a_false_statement_is_noticed(lie: Callable[[Served], None], said: str, ask: Ask, tmp_path: Path) -> None:
    served, home = answered(ask, tmp_path)
    served.close_first()
    lie(served)
    with pytest.raises(ProtocolViolation, match=said):
        checked(served, home)


def test_a_changed_statement_is_noticed_and_both_are_kept(ask: Ask, tmp_path: Path) -> None:
    served, home = answered(ask, tmp_path)
    served.close_first()
    checked(served, home)
    served.lies = {"closed": 2_001}
    for _ in range(2):  # also when it is asked for again
        with pytest.raises(
            ProtocolViolation, match=r"states two things of round 1 .*: closed 2000 / 2001\. It signed both"
        ):
            checked(served, home)
    with Ledger(home / LEDGER).reading() as page:
        assert len(page.entries("statement")) == 2
    served.lies = {}
    with pytest.raises(ProtocolViolation, match="closed 2001 / 2000"):
        checked(served, home)


def test_a_round_that_was_closed_is_not_open_again(ask: Ask, tmp_path: Path) -> None:
    served, home = answered(ask, tmp_path)
    served.close_first()
    checked(served, home)
    served.states |= {1: "open", 2: "waiting"}
    with pytest.raises(
        ProtocolViolation, match="calls round 1 open, though it signed that it was closed on 1970-01-01"
    ):
        checked(served, home)


def test_round_two_is_answered_about_the_stated_transcript_alone(ask: Ask, tmp_path: Path) -> None:
    served, home = answered(ask, tmp_path, "triangles")
    served.close_first()
    served.lies = {"transcript": "0f" * 32}
    with pytest.raises(ProtocolViolation, match="is about another root or transcript than the one that it shows you"):
        reply(served, home, lambda: 1 / 0)
    assert {number for number, _, _ in served.heard} == {1}


def test_a_transcript_that_only_the_second_round_names_is_bound_too(ask: Ask, tmp_path: Path, stub: Stub) -> None:
    """The statement seals one transcript, the round's state is silent, and another one is served."""
    served, home = answered(ask, tmp_path, "triangles")
    served.close_first()
    served.salt = bytes([1]) * 32
    honest = served.statement()
    served.salt = bytes(32)
    assert honest.data != served.statement().data
    served.statement = lambda: honest  # type: ignore[method-assign]
    with pytest.raises(ProtocolViolation, match="is about another root or transcript"):
        reply(served, home, [])


def test_after_round_two_another_transcript_is_another_statement(ask: Ask, tmp_path: Path) -> None:
    served, home = answered(ask, tmp_path, "triangles")
    served.close_first()
    reply(served, home, [who(served, 7)])
    assert checked(served, home)[0].standing == INCLUDED
    served.salt = bytes([1]) * 32
    with pytest.raises(ProtocolViolation, match="states two things of round 1"):
        checked(served, home)


# ── the issuer's log ──


def test_a_log_that_grows_is_taken(ask: Ask, tmp_path: Path) -> None:
    first, home = ask(), tmp_path / "home"
    join(first, home)
    reply(first, home)
    second = ask(title="Another")
    join(second, home)
    first.log = second.log
    checked(first, home)
    with Ledger(home / LEDGER).reading() as page:
        log = statements.kept_log(page, first.campaign.charter)
    assert log is not None
    assert len(log.entries) == 2


def test_a_server_with_the_older_log_of_its_own_day_is_no_liar(ask: Ask, tmp_path: Path) -> None:
    first, second, home = ask(), ask(title="Another"), tmp_path / "home"
    for served in (second, first):
        join(served, home)
    assert len(first.log.entries) < len(second.log.entries)  # type: ignore[union-attr]


def test_a_log_that_shrinks_or_vanishes_is_noticed(ask: Ask, tmp_path: Path) -> None:
    older, served, home = ask(), ask(title="Another"), tmp_path / "home"
    join(served, home)
    reply(served, home)
    for log, why in (
        (older.log, "an older log was brought back"),
        (None, "does not show the issuer's log any more"),
    ):
        served.log = log
        with pytest.raises(ProtocolViolation, match=why):
            checked(served, home)


def test_a_log_that_shrinks_is_noticed_as_often_as_it_is_shown(ask: Ask, tmp_path: Path) -> None:
    """Also where the older log names the campaign."""
    served, home = ask(), tmp_path / "home"
    join(served, home)
    reply(served, home)
    older, served.log = served.log, ask(title="Another").log
    checked(served, home)
    served.log = older
    for _ in range(3):
        with pytest.raises(ProtocolViolation, match="shows 1 charters of the issuer's log; it showed 2 before"):
            checked(served, home)


def test_a_log_with_another_past_is_noticed(ask: Ask, tmp_path: Path) -> None:
    """Also by another campaign's server: an issuer has one log."""
    first, second, home = ask(), ask(title="Another", epoch="summer"), tmp_path / "home"
    join(first, home)
    charter = second.campaign.charter
    second.log = CharterLog(charter.issuer).extended(charter, fingerprint(second.campaign.key), KEY)
    with pytest.raises(ProtocolViolation, match=r"entry 1 named the campaign .* about 'spring', and names .* 'summer'"):
        join(second, home, new_epoch=True)


def test_a_campaign_that_the_log_does_not_name_is_not_enrolled_in(ask: Ask, tmp_path: Path) -> None:
    first, second = ask(), ask(title="Another")
    second.log = first.log
    with pytest.raises(ProtocolViolation, match="does not name this campaign"):
        join(second, tmp_path / "home")


def test_a_campaign_of_before_is_answered_and_checked(ask: Ask, tmp_path: Path) -> None:
    served, home = ask(rounds=2), tmp_path / "home"
    served.log, served.campaign = None, replace(served.campaign, key=b"", log=None)
    join(served, home, who(served))
    reply(served, home, [])
    assert checked(served, home)[0].standing == NOT_CLOSED
    served.close_first()
    (found,) = checked(served, home)
    assert (found.standing, found.code) == (INCLUDED, "")
