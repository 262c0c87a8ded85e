"""Real clients' uploads are taken and have one size, and all else is refused.  [CHARTER.6]"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.campaign_upload_costs import microseconds, uploads
from support.campaign_vectors import CASES, NAMES, charter_for, documents_of, upload
from visibility_aware_edge_ldp.campaign.charter import Round
from visibility_aware_edge_ldp.campaign.directory import charter_of
from visibility_aware_edge_ldp.campaign.documents import drafted
from visibility_aware_edge_ldp.campaign.terms import Terms
from visibility_aware_edge_ldp.campaign.wire_format import SALT, report_in, salted
from visibility_aware_edge_ldp.client.degrees import DegreeClient
from visibility_aware_edge_ldp.client.hubs import HubClient
from visibility_aware_edge_ldp.client.position import PositionClient
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.rows import FirstRound, TwoRoundClient
from visibility_aware_edge_ldp.client.views import FriendLists, PositionBits, two_hop
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.positions import row_start
from visibility_aware_edge_ldp.public.surveys import degrees as degree_report
from visibility_aware_edge_ldp.public.surveys import hubs as hub_report
from visibility_aware_edge_ldp.public.surveys import position as codec
from visibility_aware_edge_ldp.public.surveys import rows as row_report
from visibility_aware_edge_ldp.public.surveys.hubs import HubReport
from visibility_aware_edge_ldp.public.surveys.position import PositionReport
from visibility_aware_edge_ldp.public.transcript import Transcript, holders
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

N = 12
ENOUGH = dict.fromkeys(NON_PUBLIC, Fraction(100))
WORLDS = {case: (charter_for(case, documents_of(case)), documents_of(case).view) for case in CASES}
ASKED = {case: Terms(*world) for case, world in WORLDS.items()}
friends = st.sets(st.integers(0, N - 1), max_size=N)


def random_bytes_of(seed: int) -> RandomBytes:
    return np.random.default_rng(seed).bytes


def sent_by_client(case: str, user: int, listed: set[int], seed: int) -> list[bytes]:
    """All uploads of a client with this friend list, one a round."""
    terms, random_bytes, purse = ASKED[case], random_bytes_of(seed), Purse(ENOUGH)
    view, survey, listed = terms.view, terms.survey, listed - {user}
    if terms.charter.question == "hubs":
        edges = np.array(sorted([min(user, v), max(user, v)] for v in listed), np.int32).reshape(-1, 2)
        whole = np.unique(np.concatenate([view.edges, edges]), axis=0).astype(np.int32)
        return [
            salted(
                hub_report.encode_hub(HubClient(two_hop(N, whole, user), view, purse).answer(survey, 1, random_bytes))
            )
        ]
    lists = FriendLists(user, np.array([0, len(listed)]), np.array(sorted(listed), np.int32))
    if terms.charter.question == "degrees":
        return [salted(degree_report.encode(DegreeClient(lists, view, purse).answer(survey, 1, random_bytes)))]
    if terms.charter.question == "position":
        bits = np.isin(np.arange(user + 1, N), sorted(listed))
        respondent = PositionClient(PositionBits(row_start(N, user), bits), view, purse)
        return [
            salted(codec.encode(respondent.answer(survey, number, random_bytes)))
            for number in range(1, survey.rounds + 1)
        ]
    holder = TwoRoundClient(lists, view, purse)
    first = holder.answer(survey, 1, random_bytes)
    heard = FirstRound(survey, view, transcript_with(view, survey.first.identity, first))
    return [salted(codec.encode(first)), salted(row_report.encode_rows(holder.total(survey, heard, random_bytes)))]


def transcript_with(view: PublicView, survey: str, report: PositionReport) -> Transcript:
    """Everybody answered nothing but noughts, but for one row."""
    answered = view.class_bits[Visibility.FRIEND_VISIBLE] | view.class_bits[Visibility.PRIVATE]
    ones = np.zeros(view.positions, np.bool_)
    said = np.unpackbits(np.frombuffer(report.ones, np.uint8), count=report.count, bitorder="little")
    ones[report.start : report.start + report.count] = said
    return Transcript(survey, answered, np.packbits(ones, bitorder="little"))


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=25)
@given(data=st.data())
def test_clients_are_understood_and_lengths_say_nothing(case: str, data: st.DataObject) -> None:
    terms = ASKED[case]
    user = data.draw(st.sampled_from(np.flatnonzero(terms.asked(1)).tolist()))
    sent = sent_by_client(case, user, data.draw(friends), data.draw(st.integers(0, 1 << 20)))
    for number, upload_ in enumerate(sent, 1):
        assert len(upload_) == terms.upload_size(user, number)
        first = report_in(sent[0])
        report = terms.check_upload(user, number, upload_, first=first)
        terms.refuse_upload(user, number, upload_, first)
        terms.refuse_upload(user, number, upload_)
        assert report.survey in (terms.survey.identity, terms.row_survey.identity)


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=60)
@given(data=st.data())
def test_bytes_that_are_taken_are_those_that_a_client_writes(case: str, data: st.DataObject) -> None:
    """Change a few bytes: what is still taken encodes to itself and answers for the same positions."""
    terms = ASKED[case]
    number = data.draw(st.integers(1, len(terms.charter.rounds)))
    user = data.draw(st.sampled_from(np.flatnonzero(terms.asked(number)).tolist()))
    honest = upload(terms, user, number)
    spoilt = bytearray(honest)
    for _ in range(data.draw(st.integers(1, 3))):
        spoilt[data.draw(st.integers(0, len(spoilt) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        report = terms.check_upload(user, number, bytes(spoilt))
    except ProtocolViolation as reason:
        with pytest.raises(ProtocolViolation, match=re.escape(str(reason))):
            terms.refuse_upload(user, number, bytes(spoilt))
        return
    terms.refuse_upload(user, number, bytes(spoilt))
    encoders = {
        "PositionReport": codec.encode,
        "DegreeReport": degree_report.encode,
        "RowReport": row_report.encode_rows,
        "HubReport": hub_report.encode_hub,
    }
    assert encoders[type(report).__name__](report) == report_in(bytes(spoilt))  # type: ignore[operator]
    fixed = -len(report.ones) if isinstance(report, PositionReport) else SALT + 38
    assert spoilt[SALT:fixed] == honest[SALT:fixed]


@pytest.mark.parametrize("case", CASES)
def test_everybody_who_is_asked_and_nobody_else(case: str) -> None:
    terms, view = ASKED[case], ASKED[case].view
    asked = terms.asked(1)
    question = terms.charter.question
    if question in ("position", "triangles"):
        assert np.array_equal(asked, holders(view))
        assert not asked[N - 1]
    if question == "hubs":
        assert set(np.flatnonzero(asked)) == set(terms.survey.plan.hubs)
    fresh = Terms(terms.charter, documents_of(case).view)
    for user in range(N):
        assert fresh.asks(user, 1) == asked[user] == terms.asks(user, 1)
        if not asked[user]:
            with pytest.raises(ProtocolViolation, match="not asked"):
                terms.upload_size(user, 1)


@pytest.mark.parametrize("case", ["position, one round", "triangles", "4-cycles"])
def test_a_row_is_found_with_and_without_the_table_of_all_positions(case: str) -> None:
    charter = WORLDS[case][0]
    bare, prepared = (Terms(charter, documents_of(case).view) for _ in range(2))
    prepared.prepared()
    assert "class_bits" in vars(prepared.view)
    for user in np.flatnonzero(prepared.asked(1)).tolist():
        sent = upload(prepared, user, 1)
        assert bare.upload_size(user, 1) == prepared.upload_size(user, 1)
        assert bare.check_upload(user, 1, sent) == prepared.check_upload(user, 1, sent)
    assert "class_bits" not in vars(bare.view)


@pytest.mark.parametrize("case", ["position, one round", "triangles"])
def test_every_bit_of_a_row_is_checked_alike_with_and_without_a_report(case: str) -> None:
    """Each bit of an upload turned by itself, one octet more and one less; who is not asked has nothing to send."""
    terms = ASKED[case]
    asked = np.flatnonzero(terms.asked(1))
    for user in asked[[0, asked.size // 2, -1]].tolist():
        good = upload(terms, user, 1)
        spoilt = [bytes(good[:place] + bytes([good[place] ^ 1 << bit]) + good[place + 1 :])
                  for place in range(SALT, len(good)) for bit in range(8)]  # fmt: skip
        verdicts = {check: [_taken(check, user, each) for each in (*spoilt, good + b"\0", good[:-1], good)]
                    for check in (terms.check_upload, terms.refuse_upload)}  # fmt: skip
        first, second = verdicts.values()
        assert first == second
        assert first[-3:] == [False, False, True]
        assert 0 < sum(first[:-3]) < len(spoilt)
    nobody = next(user for user in range(N) if not terms.asked(1)[user])
    assert not _taken(terms.refuse_upload, nobody, good)


def _taken(check: Callable[..., object], user: int, octets: bytes) -> bool:
    try:
        check(user, 1, octets)
    except ProtocolViolation:
        return False
    return True


def test_a_row_that_stays_away_in_part_is_refused() -> None:
    """The twin: a server that only decodes would take it, and spoil everybody's transcript."""
    terms = ASKED["triangles"]
    user = int(np.flatnonzero(terms.asked(1))[0])
    survey, view = terms.survey, terms.view
    bits = PositionBits(row_start(N, user), np.zeros(N - 1 - user, np.bool_))
    here = np.arange(N - 1 - user) > 3
    respondent = PositionClient(bits, view, Purse(ENOUGH))
    sent = salted(codec.encode(respondent.answer(survey.first, 1, random_bytes_of(1), here)))
    codec.decode(report_in(sent))
    with pytest.raises(ProtocolViolation, match="as a whole"):
        terms.check_upload(user, 1, sent)


def test_loose_edges_that_are_not_asked_for_are_refused() -> None:
    """One hub knows everybody: no position is loose, and a count of such would say something else."""
    policy = VisibilityPolicy.from_profiles({"Ada": "public"}, rule="any")
    documents = drafted(NAMES, policy, [(0, other) for other in range(1, N)], "epoch")
    rounds = (Round(1, 1),)
    charter = charter_of(documents, "0" * 64, "hubs", 1, ("triangles",), rounds, "one hub", "epoch")
    terms = Terms(charter, documents.view)
    (hub,) = terms.survey.plan.hubs
    reports = (HubReport(terms.survey.identity, 0, (5,), loose) for loose in (0, 1))
    quiet, loud = (salted(hub_report.encode_hub(report)) for report in reports)
    assert terms.check_upload(hub, 1, quiet).digest
    with pytest.raises(ProtocolViolation, match="No loose edges"):
        terms.check_upload(hub, 1, loud)


@pytest.mark.parametrize("number", [0, 3, -1])
def test_rounds_that_do_not_exist(number: int) -> None:
    with pytest.raises(ProtocolViolation, match=re.escape(f"there is no {number}.")):
        ASKED["triangles"].asked(number)


def test_a_check_is_quick() -> None:
    """The benchmark's own uploads are taken, in far less than a server can spend on each."""
    for _, terms, number, data in uploads(1001):
        assert microseconds(terms, number, data, 200) < 1000
