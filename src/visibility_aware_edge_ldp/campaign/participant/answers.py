"""Each question's report, made by the project's clients from the ledger's answers.  [LEDGER.1]"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.campaign.participant.accounts import Account, Request
from visibility_aware_edge_ldp.campaign.participant.rosters import Bits
from visibility_aware_edge_ldp.campaign.participant.seat import Seat
from visibility_aware_edge_ldp.client.hub import Hub
from visibility_aware_edge_ldp.client.position import check_question, randomize
from visibility_aware_edge_ldp.client.purse import Purse
from visibility_aware_edge_ldp.client.two_hop import two_hop
from visibility_aware_edge_ldp.client.user_degrees import ListHolders
from visibility_aware_edge_ldp.client.user_triangles import FirstRound, RowHolders
from visibility_aware_edge_ldp.client.views import FriendLists
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.chain import Level, chained
from visibility_aware_edge_ldp.mechanisms.entropy import Coins
from visibility_aware_edge_ldp.public import codec, degree_report, hub_report, row_report
from visibility_aware_edge_ldp.public.degree_survey import DegreeSurvey
from visibility_aware_edge_ldp.public.hub_survey import HubSurvey
from visibility_aware_edge_ldp.public.positions import row_start
from visibility_aware_edge_ldp.public.report import PositionReport, pack, part_of
from visibility_aware_edge_ldp.public.survey import PositionSurvey
from visibility_aware_edge_ldp.public.transcript import Transcript
from visibility_aware_edge_ldp.public.triangle_survey import TriangleSurvey
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility
from visibility_aware_edge_ldp.public.wire import octets

Asked = TypeVar("Asked", PositionSurvey, DegreeSurvey, TriangleSurvey, HubSurvey)


@dataclass(frozen=True, eq=False)
class Made:
    """The report that will leave, and the chained answers in it that the ledger must keep."""

    report: bytes = field(repr=False)
    levels: tuple[Level, ...] = field(default=(), repr=False)


def chained_row(seat: Seat, request: Request, account: Account, friends: Bits, coins: Coins) -> Made:
    """Round 1 of rows: every non-public position answers at its class's threshold, chained to what it said before.

    [CHAIN.2]
    """
    survey = _row_survey(seat)
    check_question(survey, seat.view, 1, False)
    row, said, levels = slice(seat.number + 1, None), np.zeros(seat.view.n, np.bool_), []
    before = [Level(level.threshold, level.known[row], level.ones[row]) for level in account.levels]
    for threshold in sorted(set(request.thresholds.values())):
        places = _asked_at(request, threshold)
        if not places.any():
            continue  # a class that this row does not have, as everybody knows
        drawn = np.zeros_like(said)
        drawn[row] = chained(threshold, friends[row], before, coins)
        said |= drawn & places
        levels.append(Level(threshold, places, drawn & places))
    return Made(codec.encode(_report(seat, survey, 1, said[row])), tuple(levels))


def second_row(seat: Seat, first: bytes, friends: Bits, coins: Coins) -> Made:
    """Round 2 of POSITION: once more, where round 1 said 1.  [POSITION.1]"""
    survey = _row_survey(seat)
    check_question(survey, seat.view, 2, True)
    before = codec.decode(first)
    places, row = seat.request(2).places, slice(seat.number + 1, None)
    asked = np.frombuffer(before.ones, np.uint8)
    due = {kind: np.frombuffer(pack(places[kind][row]), np.uint8) & asked for kind in NON_PUBLIC}
    ones = randomize(np.frombuffer(pack(friends[row]), np.uint8), due, survey, 2, coins)
    report = PositionReport(survey.identity, 2, before.start, before.count, before.answered, ones.tobytes())
    return Made(codec.encode(report))


def row_sum(seat: Seat, first: bytes, transcript: bytes, friends: Bits, coins: Coins) -> Made:
    """Round 2 of USER triangles, on a transcript that holds this participant's own row unchanged.  [TRIANGLE.1]"""
    survey, heard = _as(seat, TriangleSurvey), own_transcript(seat, first, transcript)
    # The ledger has already agreed; the clients' purse is filled for this one round.
    users = RowHolders(_own_list(seat, friends), seat.view, Purse({k: survey.second_price(k) for k in NON_PUBLIC}))
    users.recall(survey, codec.decode(first))
    return Made(row_report.encode_rows(users.total(survey, _first_round(survey, seat.view, heard), coins)))


@lru_cache(maxsize=1)
def _first_round(survey: TriangleSurvey, view: PublicView, heard: Transcript) -> FirstRound:
    """What a transcript says, which is public and the same for everybody who answers from this process."""
    return FirstRound(survey, view, heard).prepared()


@lru_cache(maxsize=1)
def _transcript(survey: str, octets_of_both: bytes) -> Transcript:
    halves = np.frombuffer(octets_of_both, np.uint8)
    return Transcript(survey, halves[: halves.size // 2], halves[halves.size // 2 :])


def own_transcript(seat: Seat, first: bytes, transcript: bytes) -> Transcript:
    """The broadcast first answers; refuses them if this participant's are not among them as they were sent."""
    size = octets(seat.view.positions)
    if len(transcript) != 2 * size:
        raise ProtocolViolation(f"The transcript has {len(transcript):,} bytes; {2 * size:,} are expected.")
    heard = _transcript(_as(seat, TriangleSurvey).first.identity, transcript)
    sent = codec.decode(first)
    for whole, own in ((heard.answered, sent.answered), (heard.ones, sent.ones)):
        if part_of(whole, sent.start, sent.count).tobytes() != own:
            raise ProtocolViolation(
                "The transcript does not hold your first answers as you sent them; do not answer it."
            )
    return heard


def degrees(seat: Seat, friends: Bits, coins: Coins) -> Made:
    """How many friends of each class, with noise.  [DEGREE.1]"""
    survey = _as(seat, DegreeSurvey)
    holder = ListHolders(
        _own_list(seat, friends), seat.view, Purse({kind: survey.list_price(kind).epsilon for kind in survey.classes})
    )
    return Made(degree_report.encode(holder.degrees(survey, coins)))


def hub_counts(seat: Seat, pairs: npt.NDArray[np.int32], coins: Coins) -> Made:
    """The triangles of a hub's territory, with noise.  [HUB.2]

    What is public is taken from the documents, whatever the hub itself gave.
    """
    survey, view = _as(seat, HubSurvey), seat.view
    hidden = view.classes.of(pairs[:, 0], pairs[:, 1]) != Visibility.PUBLIC if len(pairs) else np.zeros(0, np.bool_)
    edges = np.unique(np.concatenate([pairs[hidden], view.edges.reshape(-1, 2)]), axis=0).astype(np.int32)
    purse = Purse({kind: price.epsilon for kind, price in survey.price.items()})
    return Made(hub_report.encode_hub(Hub(two_hop(view.n, edges, seat.number), view, purse).answer(survey, coins)))


def as_public_knows(seat: Seat, friends: Bits) -> Bits:
    """At public positions what everybody knows, elsewhere the list."""
    return np.where(seat.classes == Visibility.PUBLIC, seat.public_friends, friends)


def _report(seat: Seat, survey: PositionSurvey, round_number: int, said: Bits) -> PositionReport:
    asked = seat.classes[seat.number + 1 :] != Visibility.PUBLIC
    start = row_start(seat.view.n, seat.number)
    return PositionReport(survey.identity, round_number, start, said.size, pack(asked), pack(said))


def _asked_at(request: Request, threshold: int) -> Bits:
    """Which positions answer at this threshold: those of one class, or of both."""
    asked: Bits = np.logical_or.reduce([request.places[k] for k, own in request.thresholds.items() if own == threshold])
    return asked


def _own_list(seat: Seat, friends: Bits) -> FriendLists:
    neighbours = np.flatnonzero(friends).astype(np.int32)
    return FriendLists(seat.number, np.array([0, neighbours.size], np.int64), neighbours)


def _row_survey(seat: Seat) -> PositionSurvey:
    survey = seat.questions.survey
    return survey.first if isinstance(survey, TriangleSurvey) else _as(seat, PositionSurvey)


def _as(seat: Seat, kind: type[Asked]) -> Asked:
    survey = seat.questions.survey
    if not isinstance(survey, kind):
        raise ProtocolViolation(f"The campaign's question is {seat.charter.question!r}; this is not an answer to it.")
    return survey
