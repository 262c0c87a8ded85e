"""Every question's upload: degrees, hubs, and lengths that say nothing."""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from campaign.conftest import QUICK, STATISTICS, TOWN
from plain_client.campaign import open_charter
from plain_client.canonical import Refused as PlainlyRefused
from support import campaign_part_vectors as part_vectors
from support.campaign_people import PRIVATE, Ask, join, reply, who
from support.campaign_stub import Served
from support.campaign_vectors import NAMES, stored
from visibility_aware_edge_ldp.campaign.charter import Round, SignedCharter
from visibility_aware_edge_ldp.campaign.directory import charter_of
from visibility_aware_edge_ldp.campaign.documents import drafted
from visibility_aware_edge_ldp.campaign.http_client import Reply, Transport
from visibility_aware_edge_ldp.campaign.participant.accounts import account_of
from visibility_aware_edge_ldp.campaign.participant.answering import memo_key
from visibility_aware_edge_ldp.campaign.participant.friend_lists import Friends
from visibility_aware_edge_ldp.campaign.participant.program import enroll
from visibility_aware_edge_ldp.campaign.participant.reports import (
    Making,
    ParticipantContext,
    degrees,
    heard,
    own_part,
    pace_of,
    part_sum,
    rehearsed,
)
from visibility_aware_edge_ldp.campaign.participant.server_checks import status
from visibility_aware_edge_ldp.campaign.wire_format import report_in
from visibility_aware_edge_ldp.client.position import verify_round
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.rows import FirstRound, TwoRoundClient
from visibility_aware_edge_ldp.client.views import FriendLists
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation, Refused
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_random_bytes, seeded_key
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.transcript import Transcript
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility


def test_degrees_are_answered_once_for_all_campaigns_with_that_survey(ask: Ask, tmp_path: Path) -> None:
    first, second, third = ask("degrees"), ask("degrees", title="Again"), ask("degrees", epsilon="1/2")
    home = tmp_path / "home"
    for served in (first, second, third):
        join(served, home, caps={PRIVATE: "3/2"})
        reply(served, home, [who(served, 1)])
    assert report_in(first.kept[1, 0]) == report_in(second.kept[1, 0])
    assert first.kept[1, 0] != second.kept[1, 0]  # another salt: digests do not tell that it is the same report
    assert status(home)[0].lost[PRIVATE] == Fraction(3, 2)
    fourth = ask("degrees", epsilon="1/4")
    join(fourth, home)
    with pytest.raises(Refused, match=r"lost ε = 1\.75"):
        reply(fourth, home)


def test_degrees_and_positions_add_up(ask: Ask, tmp_path: Path) -> None:
    home = tmp_path / "home"
    for served in (ask("degrees", epsilon="1/2"), ask("position", epsilon="1/2")):
        join(served, home)
        reply(served, home)
    assert {each.lost[PRIVATE] for each in status(home)} == {Fraction(1)}


def test_parts_are_cut_and_summed_as_the_vectors_say() -> None:
    assert part_vectors.parts() == stored(part_vectors.FILE)


def test_a_program_that_knows_no_parts_says_so() -> None:
    vector = stored(part_vectors.FILE)[0]
    with pytest.raises(PlainlyRefused, match="first answers in parts, over which this program does not sum"):
        open_charter(vector["charter"].encode(), vector["signature"], vector["pinned"])
    assert SignedCharter.from_hex(vector["charter"].encode(), vector["signature"]).opened(vector["pinned"]).parts


@pytest.mark.parametrize("case", part_vectors.POLICIES)
def test_a_part_without_the_own_answers_is_declined(case: str) -> None:
    people = part_vectors.first_reports(case)
    for person in people:
        making = part_vectors.second(case, person)
        part = own_part(making.context, making.first, making.transcript)
        assert part.digest == part_vectors.broadcast(case).digest
        assert heard(making.context, making.first, making.transcript).digest == part.digest
        silent = bytearray(making.transcript)
        silent[person >> 3] ^= 1 << person % 8
        with pytest.raises(ProtocolViolation, match="does not hold your first answers"):
            part_sum(replace(making, transcript=bytes(silent)))
        with pytest.raises(ProtocolViolation, match="bytes"):
            own_part(making.context, making.first, making.transcript[1:])
    # Of whom a group has two, one answer is turned over; the others do not notice, whose it is not.
    noticed = 0
    for person in people:
        making = part_vectors.second(case, person)
        own = own_part(making.context, making.first, making.transcript)
        for bit in range(own.packed.size * 8):
            data = bytearray(making.transcript)
            data[2 + bit // 8] ^= 1 << bit % 8
            try:
                own_part(making.context, making.first, bytes(data))
            except ProtocolViolation:
                noticed += 1
    survey, users = making.context.terms.survey, np.arange(len(NAMES))
    held = 0
    for person in people:
        groups = survey.group_of(np.full(users.shape, int(survey.part_of(np.array([person]))[0])), users)
        held += int((groups[person + 1 :] == groups[person]).sum())
    assert noticed == held > 0


def test_the_consent_screen_says_which_part_is_downloaded() -> None:
    (words,) = part_vectors.making("nothing is public", 0, 1).context.part_lines
    assert words.startswith("Downloads  1/5 of the first answers")
    assert at_edges("triangles", slice(2)).part_lines == []


def hub_town(ask: Ask, names: list[str] = TOWN) -> Served:
    """The first name's friends are public; it has four of them."""
    policy = VisibilityPolicy.from_profiles({names[0]: "public"}, "any")
    return ask("hubs", names=names, policy=policy, edges=[(0, other) for other in range(1, 5)])


def test_hubs(ask: Ask, tmp_path: Path) -> None:
    served, home = hub_town(ask), tmp_path / "home"
    join(served, home, TOWN[0])
    place = [str(name) for name in served.campaign.documents.roster].index(TOWN[0])
    reply(served, home, [(TOWN[1], TOWN[2]), (TOWN[2], TOWN[3])])
    assert (1, place) in served.kept
    assert status(home)[0].lost[PRIVATE] == served.terms.losses[PRIVATE]
    again = ask("hubs", epsilon="1/10", policy=served.campaign.documents.policy, edges=[(0, 1), (0, 2)])
    join(again, home, TOWN[0])
    with pytest.raises(Refused, match="in this epoch, and you allowed 1"):
        reply(again, home, [])


THIRD_PUBLIC = VisibilityPolicy("1/3", "0", salt="s")


def at_edges(question: str, chosen: slice) -> ParticipantContext:
    """A context in a campaign where some of the public positions are edges."""
    classes, pairs = THIRD_PUBLIC.bind(TOWN), np.transpose(np.triu_indices(len(TOWN), 1))
    public = pairs[classes.of(pairs[:, 0], pairs[:, 1]) == Visibility.PUBLIC]
    documents = drafted(TOWN, THIRD_PUBLIC, public[chosen], "spring")
    rounds = tuple(Round(4_000_000_000 + number, 1) for number in range(2 if question == "triangles" else 1))
    charter = charter_of(documents, "ab" * 32, question, 1, STATISTICS[question], rounds, "A survey", "spring")
    return ParticipantContext.of(charter, documents, TOWN[0])


def test_other_public_edges_are_another_question_where_the_answer_follows_from_them() -> None:
    few, many = (at_edges("triangles", slice(end)) for end in (2, 9))
    assert few.terms.survey.identity == many.terms.survey.identity
    assert memo_key(few, 2, "x" * 64) != memo_key(many, 2, "x" * 64)
    assert memo_key(few, 2, "x" * 64) == memo_key(at_edges("triangles", slice(2)), 2, "x" * 64)


def test_degrees_do_not_follow_from_public_edges() -> None:
    """So one answer serves all, and another would only cost more."""
    few, many = (at_edges("degrees", slice(end)) for end in (2, 9))
    friends = np.arange(len(TOWN)) != few.number
    made = [
        degrees(
            Making(
                each,
                account_of([], each.names),
                Friends(friends, ()),
                keyed_random_bytes(seeded_key("degrees", 1)),
            )
        ).report
        for each in (few, many)
    ]
    assert (few.public_friends != many.public_friends).any()
    assert made[0] == made[1]
    assert memo_key(few, 1) == memo_key(many, 1)


def test_hubs_with_other_public_edges_pay_again(ask: Ask, tmp_path: Path) -> None:
    """A chord between two of a hub's friends is no triangle more or less in its plan, and one more in its count."""
    policy, home = VisibilityPolicy.from_profiles({TOWN[0]: "public", TOWN[1]: "public"}, "any"), tmp_path / "home"
    lists = [(0, other) for other in range(1, 5)]
    served = [ask("hubs", epsilon="1/2", policy=policy, edges=each) for each in (lists, [*lists, (1, 2)], lists)]
    for each in served:
        join(each, home, TOWN[0])
        reply(each, home, [])
    assert max(each.lost[PRIVATE] for each in status(home)) == 2 * served[0].terms.losses[PRIVATE]


@pytest.mark.parametrize("question", ["position", "degrees", "triangles", "hubs"])
def test_the_length_is_the_same_for_every_list(question: str, ask: Ask, tmp_path: Path) -> None:
    served = hub_town(ask) if question == "hubs" else ask(question)
    place = list(map(str, served.campaign.documents.roster)).index(TOWN[0]) if question == "hubs" else 0
    own, everybody = who(served, place), [name for name in TOWN if name != who(served, place)]
    full = [(a, b) for a in TOWN for b in TOWN if a < b] if question == "hubs" else everybody
    lengths = set()
    for number, friends in enumerate(([], full)):
        home = tmp_path / f"home {number}"
        join(served, home, own)
        served.kept.clear()
        served.states[1] = "open"
        reply(served, home, friends)
        if question == "triangles":
            served.close_first()
            reply(served, home, friends)
        lengths.add(tuple(len(served.kept[key]) for key in sorted(served.kept)))
    assert len(lengths) == 1


def test_the_pace_follows_from_public_numbers(ask: Ask, tmp_path: Path) -> None:
    served, home = ask("triangles"), tmp_path / "home"
    join(served, home)
    context = enroll(
        served.url, who(served), served.tokens[who(served)], served.issuer, home, surroundings=QUICK
    ).context
    assert 0.5 < pace_of(context, 0.0) < pace_of(context, 0.05) < 1
    assert pace_of(context, 4.0) > 3 * 4.0, "a machine that gets busier while the answer is made is still in time"


@pytest.mark.parametrize("question", ["triangles", "position", "degrees"])
def test_the_longest_list_is_tried_before_any_list_is_read(ask: Ask, question: str, tmp_path: Path) -> None:
    """And what it made is thrown away: nothing is written down, and the answer is made from the real list."""
    served, home = ask(question), tmp_path / "home"
    join(served, home)
    context = enroll(
        served.url, who(served), served.tokens[who(served)], served.issuer, home, surroundings=QUICK
    ).context
    assert 0 < rehearsed(context, 1, b"", b"") < 60
    assert not served.kept


def test_an_answer_waits_for_the_public_pace(ask: Ask, tmp_path: Path) -> None:
    """For every list, and for a list that is refused."""
    served, home, moments = ask(), tmp_path / "home", list[float]()

    def consent(lines: list[str]) -> bool:
        moments.append(time.perf_counter())
        return True

    class Watched(Transport):
        def put(self, path: str, body: bytes) -> Reply:
            moments.append(time.perf_counter())
            return super().put(path, body)

    join(served, home)
    slow = replace(QUICK, pace=0.4, transport=Watched)
    with pytest.raises(BadInput, match="own holder"):
        reply(served, home, [who(served)], slow, consent=consent)
    assert time.perf_counter() - moments[0] >= 0.4
    reply(served, home, [], slow, consent=consent)
    assert moments[2] - moments[1] >= 0.4


def test_a_report_recalled_is_as_good_as_one_that_was_just_given(ask: Ask) -> None:
    """The sum of a client that was started again is that of one that never stopped, coin for coin."""
    served = ask("triangles", names=TOWN[:6])
    view, survey = served.campaign.documents.view, served.terms.survey
    lists = FriendLists(0, np.array([0, 3]), np.array([1, 2, 4], np.int32))
    purse = {kind: Fraction(5) for kind in NON_PUBLIC}
    stayed, restarted = (TwoRoundClient(lists, view, Purse(purse)) for _ in range(2))
    first = stayed.answer(survey, 1, keyed_random_bytes(seeded_key("recall", 1)))
    size = (view.positions + 7) // 8
    octets = [np.zeros(size, np.uint8) for _ in range(2)]
    for flat, packed in zip(octets, (first.answered, first.ones), strict=True):
        flat[: len(packed)] = np.frombuffer(packed, np.uint8)
    heard = FirstRound(survey, view, Transcript(survey.first.identity, *octets))
    with pytest.raises(ProtocolViolation, match="before round 1 was answered"):
        restarted.total(survey, heard, keyed_random_bytes(seeded_key("recall", 2)))
    restarted.recall(survey, first)
    sums = [
        users.total(survey, heard, keyed_random_bytes(seeded_key("recall", 2))).digest for users in (stayed, restarted)
    ]
    assert sums[0] == sums[1]
    with pytest.raises(ProtocolViolation, match="another survey or of other users"):
        restarted.recall(survey, replace(first, start=first.start + 1))
    # Another survey with the same first round hears the recalled answer: no bit is randomized anew.
    again = restarted._row_bits.answer(survey.first, 1, _no_random_bytes)
    assert again == first


def _no_random_bytes(count: int) -> bytes:
    raise AssertionError("random bytes were drawn")


def test_a_round_that_a_survey_does_not_have_is_refused_by_itself(ask: Ask) -> None:
    """Beside the charter's own check: the client's rule, for whoever calls it."""
    survey = ask().terms.row_survey
    assert survey.rounds == 1
    verify_round(survey, 1, False)
    for number in (0, 2, 3):
        with pytest.raises(ProtocolViolation, match=f"no round {number}"):
            verify_round(survey, number, True)
