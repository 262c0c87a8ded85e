"""The plain program keeps the participant's duties: commit before send, one answer, chains, caps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from campaign.conftest import QUICK
from plain_client.canonical import Refused
from plain_client.client import Participant, Reply, Server
from support.campaign_amending import Issuer
from support.campaign_answer_vectors import Counted, key
from support.campaign_people import Ask, join, reply, who
from support.campaign_stub import Served
from support.campaign_vectors import KEY, OTHER_KEY
from visibility_aware_edge_ldp.campaign.amendments import SignedAmendment
from visibility_aware_edge_ldp.campaign.signed_documents import token_hash
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy

FRIENDS = ["person 03", "person 07", "person 08"]
MIXED = VisibilityPolicy("1/5", "3/10", salt="duties")


def coins(label: str) -> Callable[[], Counted]:
    return lambda: Counted(key("duties", label))


def person(served: Served, home: Path, place: int = 0) -> Participant:
    home.mkdir(exist_ok=True)
    name = who(served, place)
    return Participant(served.url, name, served.tokens[name], served.issuer, home)


def kept(served: Served, number: int = 1) -> bytes:
    """The report that stands at the server, without its salt."""
    return served.kept[number, 0][32:]


def test_what_was_answered_is_sent_again_as_it_was(ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    served = ask()
    own, sent = person(served, tmp_path / "home"), Server.ask

    def torn(server: Server, method: str, path: str, most: int, *more: Any, **options: Any) -> Reply:
        if method == "PUT":
            raise ConnectionResetError
        return sent(server, method, path, most, *more, **options)

    monkeypatch.setattr(Server, "ask", torn)
    with pytest.raises(ConnectionResetError):
        own.answer(FRIENDS, coins("first"))
    monkeypatch.setattr(Server, "ask", sent)
    before = own.ledger.upload(own.campaign.identity, 1)
    assert before is not None
    assert before[1] is None
    assert not served.kept
    again = person(served, tmp_path / "home")
    assert again.answer([], coins("second"))
    assert served.kept[1, 0] == before[0]


def test_a_ledger_that_lacks_an_answer_is_not_used(ask: Ask, tmp_path: Path) -> None:
    served = ask()
    person(served, tmp_path / "home").answer(FRIENDS)
    with pytest.raises(Refused, match="this ledger does not know"):
        person(served, tmp_path / "another").answer(FRIENDS)
    assert len(served.heard) == 1


@pytest.mark.parametrize("question", ["position", "degrees"])
def test_what_costs_more_than_the_cap_is_declined_before_the_list_is_read(
    ask: Ask, tmp_path: Path, question: str
) -> None:
    served = ask(question, epsilon="11/10")
    with pytest.raises(Refused, match="more than the cap of the epoch"):
        person(served, tmp_path / "home").answer(1 / 0 for _ in [0])  # type: ignore[arg-type, misc]
    assert not served.heard


def test_epochs_add_up_to_a_lifetime(ask: Ask, tmp_path: Path) -> None:
    for number in range(4):
        person(ask(epoch=f"epoch {number}"), tmp_path / "home").answer(FRIENDS)
    with pytest.raises(Refused, match="more than the cap of a lifetime"):
        person(ask(epoch="one more", epsilon="1/100"), tmp_path / "home").answer(FRIENDS)


def test_answers_of_one_epoch_are_one_chain_as_in_the_packages_program(ask: Ask, tmp_path: Path) -> None:
    """Three campaigns about one epoch: alike, byte by byte, and at the price of the dearest."""
    reports: dict[str, list[bytes]] = {"plain": [], "package": []}
    for program in reports:
        for number, epsilon in enumerate((Fraction(1, 2), Fraction(1), Fraction(1, 3), Fraction(1))):
            served = ask(epsilon=epsilon, policy=MIXED, title=f"Survey {number}")
            if program == "plain":
                person(served, tmp_path / "plain").answer(FRIENDS, coins(str(number)))
            else:
                join(served, tmp_path / "package")
                drawn = coins(str(number))
                reply(served, tmp_path / "package", FRIENDS, replace(QUICK, random_bytes=drawn))
            reports[program].append(kept(served))
    assert reports["plain"] == reports["package"]
    assert reports["plain"][1] == reports["plain"][3]


def test_a_question_that_was_answered_is_answered_alike_under_another_title(ask: Ask, tmp_path: Path) -> None:
    first, second = ask("degrees"), ask("degrees", title="The same again")
    for served, label in ((first, "a"), (second, "b")):
        person(served, tmp_path / "home").answer(FRIENDS, coins(label))
    assert kept(first) == kept(second)
    assert first.kept[1, 0][:32] != second.kept[1, 0][:32]


def test_what_others_answer_is_charged_to_whom_nothing_is_asked_too(ask: Ask, tmp_path: Path) -> None:
    """The last one of the roster holds no row, and the others answer about it at the full price of an epoch."""
    rows, degrees, last = ask(epsilon=1), ask("degrees", epsilon="1/100"), 11
    name = who(rows, last)
    for served in (rows, degrees):
        home = tmp_path / "home"
        home.mkdir(exist_ok=True)
        own = Participant(served.url, name, served.tokens[name], served.issuer, home)
        if served is rows:
            assert own.answer(FRIENDS) is None
        else:
            with pytest.raises(Refused, match="more than the cap of the epoch"):
                own.answer(FRIENDS)
    assert not rows.heard
    assert not degrees.heard


def test_a_token_is_shown_only_after_the_charters_signature_held(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served, sent, shown = ask(), Server.ask, list[tuple[str, bool]]()

    def noted(server: Server, method: str, path: str, *more: Any, own: bool = False, **options: Any) -> Reply:
        shown.append((path, own))
        return sent(server, method, path, *more, own=own, **options)

    monkeypatch.setattr(Server, "ask", noted)
    name = who(served, 0)
    with pytest.raises(Refused):
        Participant(served.url, name, served.tokens[name], "ab" * 32, tmp_path)
    assert shown == [("/v1/charter", False)]
    person(served, tmp_path / "home")
    assert [path for path, own in shown if own] == ["/v1/roster", "/v1/policy"]


def test_a_receipt_that_is_not_signed_is_not_kept_and_the_same_is_sent_again(ask: Ask, tmp_path: Path) -> None:
    served = ask()
    own, honest = person(served, tmp_path / "home"), served.campaign
    for wrong in (b"", OTHER_KEY):
        served.campaign = replace(honest, key=wrong)
        with pytest.raises(Refused):
            own.answer(FRIENDS)
        found = own.ledger.upload(own.campaign.identity, 1)
        assert found is not None
        assert found[1] is None
    served.campaign = honest
    assert own.answer([])
    assert len({body for _, _, body in served.heard}) == 1


@pytest.mark.parametrize(
    ("lies", "said"),
    [
        ({"count": 9}, "as many as are stated"),
        ({"root": "0f" * 32}, "another round or root"),
        ({"campaign": "0f" * 32}, "another round or root"),
        ({"transcript": "0f" * 32}, "another transcript"),
        ({"closed": 2_001}, "two statements"),
    ],
    ids=lambda each: next(iter(each)) if isinstance(each, dict) else "",
)
def test_a_false_statement_of_round_1_is_not_answered(
    ask: Ask, tmp_path: Path, lies: dict[str, Any], said: str
) -> None:
    served = ask("triangles" if "transcript" in lies else "position", rounds=2)
    own = person(served, tmp_path / "home")
    own.answer(FRIENDS)
    served.close_first()
    if "closed" in lies:
        own._stated(own.state(1))
    served.lies = lies
    with pytest.raises(Refused, match=said):
        own.answer(FRIENDS)
    served.lies = {}
    if "closed" in lies:  # both are in the ledger, and the lie stays one
        with pytest.raises(Refused, match=said):
            own.answer(FRIENDS)
    assert len(served.heard) == 1


def test_a_round_that_was_stated_to_be_closed_is_not_open_again(ask: Ask, tmp_path: Path) -> None:
    served = ask(rounds=2)
    own = person(served, tmp_path / "home")
    own.answer(FRIENDS)
    served.close_first()
    own.answer(FRIENDS)
    served.states[1] = "open"
    with pytest.raises(Refused, match="open again"):
        own.answer(FRIENDS)
    assert len(served.heard) == 2


def test_a_log_that_shrinks_vanishes_or_names_another_past_is_noticed(ask: Ask, tmp_path: Path) -> None:
    served, later, home = ask(), ask(title="Another"), tmp_path / "home"
    honest, served.log = served.log, later.log
    person(served, home)
    for log, said in ((honest, "an older log"), (None, "not shown any more")):
        served.log = log
        for _ in range(2):
            with pytest.raises(Refused, match=said):
                person(served, home)
    assert later.log is not None
    entry = replace(later.log.entries[0], epoch="another")
    served.log = replace(later.log, entries=(entry, *later.log.entries[1:]))
    with pytest.raises(Refused):
        person(served, home)


def test_a_round_is_answered_after_its_deadline_only_if_a_later_one_is_signed(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = ask()
    own, charter = person(served, tmp_path / "home"), served.campaign.charter
    closes = charter.rounds[0].closes
    monkeypatch.setattr("plain_client.client.time.time", lambda: closes + 3_601)
    forger, issuer = Issuer(charter, OTHER_KEY), Issuer(charter, KEY)
    forged = SignedAmendment.of(forger.amended.next("deadline", round=1, closes=closes + 9), OTHER_KEY)
    for shown in (b"[]", b"[%s]" % forged.data):
        served.amendments = shown
        with pytest.raises(Refused):
            own.answer(FRIENDS)
    issuer.signs("deadline", round=1, closes=closes + 9)
    served.amendments = issuer.amended.data
    assert own.answer(FRIENDS)


def test_a_token_for_a_ledger_that_was_handed_over_is_not_answered_with(ask: Ask, tmp_path: Path) -> None:
    served = ask()
    own, issuer = person(served, tmp_path / "home"), Issuer(served.campaign.charter, KEY)
    issuer.signs("device", 0, token=token_hash(own.token), ledger="ab" * 32)
    served.amendments = issuer.amended.data
    with pytest.raises(Refused, match="ledger of another program"):
        own.answer(FRIENDS)
    served.amendments = b"[]"
    with pytest.raises(Refused, match="not shown any more"):
        own.answer(FRIENDS)
    assert not served.heard
