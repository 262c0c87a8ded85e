"""Uploads of real clients are taken, whatever their lists, and have one size; all else is refused.  [CHARTER.6]"""

from __future__ import annotations

import re
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks/ lies beside tests/ and is not installed

from benchmarks.campaign_uploads import microseconds, uploads

from campaign_vectors import CASES, NAMES, charter_for, documents_of, upload
from visibility_aware_edge_ldp.campaign import questions as functions
from visibility_aware_edge_ldp.campaign.charter import Round
from visibility_aware_edge_ldp.campaign.new import charter_of, drafted
from visibility_aware_edge_ldp.campaign.questions import Questions
from visibility_aware_edge_ldp.campaign.upload import SALT, report_in, salted
from visibility_aware_edge_ldp.client.hub import Hub
from visibility_aware_edge_ldp.client.position import Respondent
from visibility_aware_edge_ldp.client.purse import Purse
from visibility_aware_edge_ldp.client.two_hop import two_hop
from visibility_aware_edge_ldp.client.user_degrees import ListHolders
from visibility_aware_edge_ldp.client.user_triangles import FirstRound, RowHolders
from visibility_aware_edge_ldp.client.views import FriendLists, PositionBits
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.entropy import Coins
from visibility_aware_edge_ldp.public import codec, degree_report, hub_report, row_report
from visibility_aware_edge_ldp.public.hub_report import HubReport
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.positions import row_start
from visibility_aware_edge_ldp.public.report import PositionReport
from visibility_aware_edge_ldp.public.transcript import Transcript, holders
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

N = 12
ENOUGH = dict.fromkeys(NON_PUBLIC, Fraction(100))
WORLDS = {case: (charter_for(case, documents_of(case)), documents_of(case).view) for case in CASES}
ASKED = {case: Questions(*world) for case, world in WORLDS.items()}
friends = st.sets(st.integers(0, N - 1), max_size=N)


def coins_of(seed: int) -> Coins:
    return np.random.default_rng(seed).bytes


def sent_by_client(case: str, user: int, listed: set[int], seed: int) -> list[bytes]:
    """All uploads of a client with this friend list, one a round."""
    questions, coins, purse = ASKED[case], coins_of(seed), Purse(ENOUGH)
    view, survey, listed = questions.view, questions.survey, listed - {user}
    if questions.charter.question == "hubs":
        edges = np.array(sorted([min(user, v), max(user, v)] for v in listed), np.int32).reshape(-1, 2)
        whole = np.unique(np.concatenate([view.edges, edges]), axis=0).astype(np.int32)
        return [salted(hub_report.encode_hub(Hub(two_hop(N, whole, user), view, purse).answer(survey, coins)))]
    lists = FriendLists(user, np.array([0, len(listed)]), np.array(sorted(listed), np.int32))
    if questions.charter.question == "degrees":
        return [salted(degree_report.encode(ListHolders(lists, view, purse).degrees(survey, coins)))]
    if questions.charter.question == "position":
        bits = np.isin(np.arange(user + 1, N), sorted(listed))
        respondent = Respondent(PositionBits(row_start(N, user), bits), view, purse)
        return [
            salted(codec.encode(respondent.answer(survey, number, coins))) for number in range(1, survey.rounds + 1)
        ]
    holder = RowHolders(lists, view, purse)
    first = holder.answer(survey, coins)
    heard = FirstRound(survey, view, transcript_with(view, survey.first.identity, first))
    return [salted(codec.encode(first)), salted(row_report.encode_rows(holder.total(survey, heard, coins)))]


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
    questions = ASKED[case]
    user = data.draw(st.sampled_from(np.flatnonzero(questions.asked(1)).tolist()))
    sent = sent_by_client(case, user, data.draw(friends), data.draw(st.integers(0, 1 << 20)))
    for number, upload_ in enumerate(sent, 1):
        assert len(upload_) == questions.upload_size(user, number)
        report = questions.check_upload(user, number, upload_, first=report_in(sent[0]))
        assert report.survey in (questions.survey.identity, questions._row_survey)


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=60)
@given(data=st.data())
def test_bytes_that_are_taken_are_those_that_a_client_writes(case: str, data: st.DataObject) -> None:
    """Change a few bytes: what is still taken encodes to itself and answers for the same positions."""
    questions = ASKED[case]
    number = data.draw(st.integers(1, len(questions.charter.rounds)))
    user = data.draw(st.sampled_from(np.flatnonzero(questions.asked(number)).tolist()))
    honest = upload(questions, user, number)
    spoilt = bytearray(honest)
    for _ in range(data.draw(st.integers(1, 3))):
        spoilt[data.draw(st.integers(0, len(spoilt) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        report = questions.check_upload(user, number, bytes(spoilt))
    except ProtocolViolation:
        return
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
    questions, view = ASKED[case], ASKED[case].view
    asked = questions.asked(1)
    question = questions.charter.question
    if question in ("position", "triangles"):
        assert np.array_equal(asked, holders(view))
        assert not asked[N - 1]
    if question == "hubs":
        assert set(np.flatnonzero(asked)) == set(questions.survey.plan.hubs)
    fresh = Questions(questions.charter, documents_of(case).view)
    for user in range(N):
        assert fresh.asks(user, 1) == asked[user] == questions.asks(user, 1)
        if not asked[user]:
            with pytest.raises(ProtocolViolation, match="not asked"):
                questions.upload_size(user, 1)


@pytest.mark.parametrize("case", ["position, one round", "triangles", "4-cycles"])
def test_a_row_is_found_with_and_without_the_table_of_all_positions(case: str) -> None:
    charter = WORLDS[case][0]
    bare, prepared = (Questions(charter, documents_of(case).view) for _ in range(2))
    prepared.prepared()
    assert "class_bits" in vars(prepared.view)
    for user in np.flatnonzero(prepared.asked(1)).tolist():
        sent = upload(prepared, user, 1)
        assert bare.upload_size(user, 1) == prepared.upload_size(user, 1)
        assert bare.check_upload(user, 1, sent) == prepared.check_upload(user, 1, sent)
    assert "class_bits" not in vars(bare.view)


def test_a_row_that_stays_away_in_part_is_refused() -> None:
    """The twin: a server that only decodes would take it, and spoil everybody's transcript."""
    questions = ASKED["triangles"]
    user = int(np.flatnonzero(questions.asked(1))[0])
    survey, view = questions.survey, questions.view
    bits = PositionBits(row_start(N, user), np.zeros(N - 1 - user, np.bool_))
    here = np.arange(N - 1 - user) > 3
    respondent = Respondent(bits, view, Purse(ENOUGH))
    sent = salted(codec.encode(respondent.answer(survey.first, 1, coins_of(1), here)))
    codec.decode(report_in(sent))
    with pytest.raises(ProtocolViolation, match="as a whole"):
        questions.check_upload(user, 1, sent)


def test_loose_edges_that_are_not_asked_for_are_refused() -> None:
    """One hub knows everybody: no position is loose, and a count of such would say something else."""
    policy = VisibilityPolicy.from_profiles({"Ada": "public"}, rule="any")
    documents = drafted(NAMES, policy, [(0, other) for other in range(1, N)], "epoch")
    rounds = (Round(1, 1),)
    charter = charter_of(documents, "0" * 64, "hubs", 1, ("triangles",), rounds, "one hub", "epoch")
    questions = Questions(charter, documents.view)
    (hub,) = questions.survey.plan.hubs
    reports = (HubReport(questions.survey.identity, 0, (5,), loose) for loose in (0, 1))
    quiet, loud = (salted(hub_report.encode_hub(report)) for report in reports)
    assert questions.check_upload(hub, 1, quiet).digest
    with pytest.raises(ProtocolViolation, match="No loose edges"):
        questions.check_upload(hub, 1, loud)


def test_functions_are_the_same_as_methods() -> None:
    charter, view = WORLDS["degrees"]
    questions = ASKED["degrees"]
    assert functions.survey_of(charter, view).identity == questions.survey.identity
    assert functions.losses(charter, view) == questions.losses
    assert np.array_equal(functions.asked(charter, view, 1), questions.asked(1))
    assert functions.upload_size(charter, view, 3, 1) == questions.upload_size(3, 1)
    sent = upload(questions, 3, 1)
    assert functions.check_upload(charter, view, 3, 1, sent) == questions.check_upload(3, 1, sent)


@pytest.mark.parametrize("number", [0, 3, -1])
def test_rounds_that_do_not_exist(number: int) -> None:
    with pytest.raises(ProtocolViolation, match=re.escape(f"there is no {number}.")):
        ASKED["triangles"].asked(number)


def test_a_check_is_quick() -> None:
    """The benchmark's own uploads are taken, in far less than a server can spend on each."""
    for _, questions, number, data in uploads(1001):
        assert microseconds(questions, number, data, 200) < 1000
