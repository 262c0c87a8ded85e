"""Every client: refuses what it does not know, pays before it randomizes, and answers once.  [POSITION.2-3]"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from support.protocol_subjects import ENOUGH, SUBJECTS, VIEW, Subject, no_bytes
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.errors import ProtocolViolation, Refused
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_random_bytes
from visibility_aware_edge_ldp.public.protocol import PROTOCOLS
from visibility_aware_edge_ldp.public.visibility import Visibility

KEYS = (bytes(32), bytes(31) + b"1")
EVERY = [(name, sentence) for name, subject in SUBJECTS.items() for sentence in subject.foreign]


def cost(subject: Subject) -> dict[Visibility, Fraction]:
    """What a client pays for all rounds."""
    rounds = [subject.survey.payment(number) for number in range(1, subject.survey.rounds + 1)]
    return {kind: sum((each[kind].epsilon for each in rounds), Fraction(0)) for kind in rounds[0]}


@pytest.mark.parametrize(("name", "sentence"), EVERY)
def test_a_foreign_survey_is_refused_and_costs_nothing(name: str, sentence: str) -> None:
    subject = SUBJECTS[name]
    client = subject.client(name, Purse(cost(subject), Fraction(1, 2)))
    with pytest.raises(ProtocolViolation, match=sentence):
        subject.ask(client, subject.other(subject.foreign[sentence]), subject.asked[0], no_bytes)
    for number in subject.asked:
        subject.ask(client, subject.survey, number, keyed_random_bytes(KEYS[0]))


@pytest.mark.parametrize("name", PROTOCOLS)
def test_it_refuses_another_roster_and_another_policy(name: str) -> None:
    assert {"another roster", "another policy"} <= SUBJECTS[name].foreign.keys()
    if SUBJECTS[name].survey.multipliers is not None:
        assert "would cost" in SUBJECTS[name].foreign


@pytest.mark.parametrize("name", PROTOCOLS)
@pytest.mark.parametrize("kind", VIEW.non_public)
def test_a_purse_that_is_too_small_answers_nothing(name: str, kind: Visibility) -> None:
    subject = SUBJECTS[name]
    caps = cost(subject)
    caps[kind] -= Fraction(1, 10**9)
    client, last = subject.client(name, Purse(caps, Fraction(1, 2))), subject.asked[-1]
    for number in subject.asked[:-1]:
        subject.ask(client, subject.survey, number, keyed_random_bytes(KEYS[0]))
    for _ in range(2):
        with pytest.raises(Refused, match="nothing was answered"):
            subject.ask(client, subject.survey, last, no_bytes)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_it_answers_once_and_pays_once(name: str) -> None:
    subject = SUBJECTS[name]
    client = subject.client(name, Purse(cost(subject), Fraction(1, 2)))
    first = [subject.ask(client, subject.survey, number, keyed_random_bytes(KEYS[0])) for number in subject.asked]
    for _ in range(2):
        again = [subject.ask(client, subject.survey, number, no_bytes) for number in subject.asked]
        assert all(one is other for one, other in zip(first, again, strict=True))


@pytest.mark.parametrize("name", PROTOCOLS)
def test_random_bytes_decide_the_report_and_nothing_else_does(name: str) -> None:
    subject = SUBJECTS[name]
    sent = [
        subject.ask(subject.client(name, ENOUGH), subject.survey, subject.asked[0], keyed_random_bytes(key)).digest
        for key in (KEYS[0], KEYS[0], KEYS[1])
    ]
    assert sent[0] == sent[1] != sent[2]


@pytest.mark.parametrize("beside", [-1, 1])
@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_round_that_the_survey_does_not_have_is_refused_and_costs_nothing(name: str, beside: int) -> None:
    """One more "round" would be one more answer with fresh noise."""
    subject = SUBJECTS[name]
    client = subject.client(name, Purse(cost(subject), Fraction(1, 2)))
    number = min(subject.asked) - 1 if beside < 0 else max(subject.asked) + 1
    for wrong in (number, number + 10 * beside):
        with pytest.raises(ProtocolViolation, match="was asked for"):
            client.answer(subject.survey, wrong, no_bytes)
    for number in subject.asked:
        subject.ask(client, subject.survey, number, keyed_random_bytes(KEYS[0]))
        with pytest.raises(ProtocolViolation, match="was asked for"):
            client.answer(subject.survey, max(subject.asked) + 1, no_bytes)


@pytest.mark.parametrize("name", [name for name in PROTOCOLS if name in ("degrees", "histogram", "neighbourhood")])
def test_what_was_sent_stays_as_it_was_sent(name: str) -> None:
    """Neither who said who takes part nor who received the report can change what is stored."""
    subject = SUBJECTS[name]
    client = subject.client(name, Purse(cost(subject), Fraction(1, 2)))
    present = np.ones(client._view.count, np.bool_)
    present[-1] = False
    first = client.answer(subject.survey, 1, keyed_random_bytes(KEYS[0]), present)
    octets = PROTOCOLS[name].layout().encode(first)
    present[:] = ~present
    again = client.answer(subject.survey, 1, no_bytes)
    assert PROTOCOLS[name].layout().encode(again) == octets
    with pytest.raises(ValueError, match="read-only"):
        first.answered[0] = False
