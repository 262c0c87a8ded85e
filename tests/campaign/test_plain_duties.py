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
from support.campaign_answer_vectors import Counted, key
from support.campaign_people import Ask, join, reply, who
from support.campaign_stub import Served
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
