"""Clients to be timed: for each one a short list and a long one, fresh for every measurement.  [PACE.2]"""

import time
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.audit.engine.enumerate_randomness import beginning
from visibility_aware_edge_ldp.audit.engine.findings import replaced
from visibility_aware_edge_ldp.client.degrees import DegreeClient
from visibility_aware_edge_ldp.client.histogram import HistogramClient
from visibility_aware_edge_ldp.client.hubs import HubClient
from visibility_aware_edge_ldp.client.neighbourhood import NeighbourhoodClient
from visibility_aware_edge_ldp.client.position import PositionClient
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.rows import FirstRound, TwoRoundClient
from visibility_aware_edge_ldp.client.views import FriendLists, PositionBits, TwoHop
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes, keyed_random_bytes, seeded_key
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.surveys import degrees as degree_report
from visibility_aware_edge_ldp.public.surveys import histogram as histogram_report
from visibility_aware_edge_ldp.public.surveys import neighbourhood as surveys
from visibility_aware_edge_ldp.public.surveys import position
from visibility_aware_edge_ldp.public.surveys.degrees import degree_survey
from visibility_aware_edge_ldp.public.surveys.histogram import histogram_survey
from visibility_aware_edge_ldp.public.surveys.hubs import encode_hub, hub_survey
from visibility_aware_edge_ldp.public.surveys.neighbourhood import clipped_plan
from visibility_aware_edge_ldp.public.surveys.position import PositionReport, PositionSurvey, position_survey
from visibility_aware_edge_ldp.public.surveys.rows import RowSurvey, encode_rows, triangle_survey
from visibility_aware_edge_ldp.public.transcript import Transcript
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC

# One survey for all measurements: its name and its noise are worked out before the clock starts.
_positions, _degrees, _histogram = cache(position_survey), cache(degree_survey), cache(histogram_survey)
_triangles, _hub = cache(triangle_survey), cache(hub_survey)
Act = Callable[[], bytes]
Prepare = Callable[[int, RandomBytes], Act]
"""A side, 0 or 1, and coins: a client whose secret is that side's, ready to answer; what it sends are bytes."""

USERS = 400
FRIENDS = (4, 360)
"""How many friends the user has on either side; so many are ones of as many bits, too."""
# With so many users the arrays of a second round are below 1 MiB with the first list, and above it with the second.
NEAR, NEAR_FRIENDS = 2040, (4, 1800)
# Seconds that a mutant's long list takes: far more than a short one takes on any machine.
HELD = 0.06


def _purse() -> Purse:
    return Purse(dict.fromkeys(NON_PUBLIC, Fraction(1000)))


@cache
def public_view(name: str) -> PublicView:
    """400 users: nothing public, a mix of three classes, or user 0 with a public list of everybody."""
    hub = VisibilityPolicy.from_profiles({0: "public"}, rule="any")
    policy = {"nothing": VisibilityPolicy.nothing(), "mixed": VisibilityPolicy("0.2", "0.4", "0.4"), "hub": hub}[name]
    star = [(0, v) for v in range(1, USERS)] if name == "hub" else []
    view = PublicView(range(USERS), policy, np.array(star, dtype=np.int32).reshape(-1, 2))
    _ = view.classes, view.class_bits, view.roster_digest, view.edge_bits
    return view


@cache
def _capped(view: PublicView) -> surveys.NeighbourhoodSurvey:
    return surveys.neighbourhood_survey(view, 1, clipped_plan(USERS, 50))


def friend_list(side: int) -> FriendLists:
    """User 0's list: its friends are spread over the roster."""
    friends = np.unique(np.linspace(1, USERS - 1, FRIENDS[side]).astype(np.int32))
    return FriendLists(0, np.array([0, friends.size]), friends)


def positions(client: type[PositionClient] = PositionClient) -> Prepare:
    """POSITION: 400 reporters with zeros, or with ones."""

    def prepare(side: int, coins: RandomBytes) -> Act:
        view = public_view("mixed")
        survey, reporters = _positions(view, 1), client(PositionBits(0, np.full(USERS, bool(side))), view, _purse())
        return lambda: position.encode(reporters.answer(survey, 1, coins))

    return prepare


def degrees(policy: str) -> Prepare:
    """USER degrees: a short list, or a long one; the noise is held still, so that only the list can show."""

    def prepare(side: int, coins: RandomBytes) -> Act:
        return _degree(policy, side, beginning(1 << 63, coins))

    return prepare


def _degree(policy: str, side: int, coins: RandomBytes, epsilon: Fraction = Fraction(1)) -> Act:
    view = public_view(policy)
    survey, client = _degrees(view, epsilon), DegreeClient(friend_list(side), view, _purse())
    return lambda: degree_report.encode(client.answer(survey, 1, coins))


def bins(side: int, coins: RandomBytes) -> Act:
    """USER histogram: a short list, or a long one."""
    view = public_view("mixed")
    survey, client = _histogram(view, 1), HistogramClient(friend_list(side), view, _purse())
    return lambda: histogram_report.encode(client.answer(survey, 1, coins))


def row_answers(side: int, coins: RandomBytes) -> Act:
    """USER triangles, round 1: a short row, or a long one."""
    view = public_view("mixed")
    survey, client = _triangles(view, 1), TwoRoundClient(friend_list(side), view, _purse())
    return lambda: position.encode(client.answer(survey, 1, coins))


def row_sums(side: int, coins: RandomBytes) -> Act:
    """USER triangles, round 2, with the transcript read already and the noise held still."""
    survey, first = _first_round()
    client = TwoRoundClient(friend_list(side), first.public, _purse())
    client.answer(survey, 1, coins)
    return lambda: encode_rows(client.total(survey, first, beginning(1 << 63, coins)))


def near_a_mebibyte(side: int, coins: RandomBytes) -> Act:
    """USER triangles, round 2, of so many users that the list's length decides whether the arrays exceed 1 MiB."""
    survey, first = _near_first_round()
    friends = np.unique(np.linspace(1, NEAR - 1, NEAR_FRIENDS[side]).astype(np.int32))
    client = TwoRoundClient(FriendLists(0, np.array([0, friends.size]), friends), first.public, _purse())
    client.answer(survey, 1, coins)
    return lambda: encode_rows(client.total(survey, first, beginning(1 << 63, coins)))


@cache
def _near_first_round() -> tuple[RowSurvey, FirstRound]:
    view = PublicView(range(NEAR), VisibilityPolicy.nothing(), np.zeros((0, 2), np.int32))
    survey = triangle_survey(view, 1)
    ones = np.frombuffer(keyed_random_bytes(seeded_key("near a mebibyte"))((view.positions + 7) // 8), np.uint8).copy()
    answered = np.packbits(np.ones(view.positions, np.bool_), bitorder="little")
    heard = Transcript(survey.first.identity, answered, ones & answered)
    first = FirstRound(survey, view, heard).prepared()
    _ = heard.digest
    return survey, first


@cache
def _first_round() -> tuple[RowSurvey, FirstRound]:
    """Everybody answered, by coins that are no user's."""
    view = public_view("mixed")
    survey, answered = _triangles(view, 1), ~view.class_bits[min(view.present)]
    answered[-1] &= 0xFF >> (-view.positions % 8)
    drawn = np.frombuffer(keyed_random_bytes(seeded_key("transcript"))(answered.size), np.uint8)
    first = FirstRound(survey, view, Transcript(survey.first.identity, answered, answered & drawn))
    _ = first.answered, first.scores, first.largest, first.transcript.digest
    return survey, first


def _sight(side: int) -> npt.NDArray[np.int32]:
    """Edges among the friends that a user sees: sparse, or a hundred times as many."""
    u, v = np.triu_indices(USERS, 1)
    return np.stack([u, v], axis=1)[:: (200, 2)[side]].astype(np.int32)


def owned(side: int, coins: RandomBytes) -> Act:
    """NEIGHBOURHOOD: few edges within two steps, or many."""
    view = public_view("mixed")
    survey = _capped(view)
    client = NeighbourhoodClient(TwoHop(0, _sight(side)), view, _purse())
    return lambda: surveys.encode_owned(client.answer(survey, 1, coins))


def hub(side: int, coins: RandomBytes) -> Act:
    """NEIGHBOURHOOD, a public hub: everybody is its friend, and few or many of them know each other."""
    view = public_view("hub")
    star = np.array([(0, v) for v in range(1, USERS)], dtype=np.int32)
    edges = np.concatenate([star, _sight(side)[_sight(side)[:, 0] > 0]])
    client, survey = HubClient(TwoHop(0, edges), view, _purse()), _hub(view, 1)
    return lambda: encode_hub(client.answer(survey, 1, coins))


def degree_with_noise(side: int, coins: RandomBytes) -> Act:
    """USER degrees of one list, with noise near 0 or far out: time that tells the noise tells the degree.

    The epsilon is nobody else's: a process that has drawn much noise of one law keeps a table of it, which is as fast
    near as far.
    """
    return _degree("nothing", 0, beginning((1 << 63, (1 << 64) - (1 << 44))[side], coins), Fraction(917, 1000))


def position_with_tie(side: int, coins: RandomBytes) -> Act:
    """POSITION, one reporter: its first byte decides, or seven more are drawn."""
    view = public_view("nothing")
    survey, head = _positions(view, 1), 68  # the leading byte of the threshold at ε = 1
    client = PositionClient(PositionBits(0, np.zeros(1, np.bool_)), view, _purse())
    first = bytes([(255, head)[side]])
    return lambda: position.encode(client.answer(survey, 1, lambda count: (first + coins(count))[:count]))


# ── mutants ──


def _branchy(
    client: PositionClient, survey: PositionSurvey, number: int, coins: RandomBytes, *given: Any
) -> PositionReport:
    """Draws one more coin for each bit that is one."""
    for _ in np.flatnonzero(client._view.bits):
        coins(1)
    return PositionClient.randomize(client, survey, number, coins, *given)


Branchy = replaced(PositionClient, randomize=_branchy)


def with_a_byte_for_each_friend(side: int, coins: RandomBytes) -> Act:
    """Beside the row's sums one byte leaves for each friend."""
    act, friends = row_sums(side, coins), friend_list(side).neighbours.size
    return lambda: act() + bytes(friends)


def long_lists_held(side: int, coins: RandomBytes) -> Act:
    """NEIGHBOURHOOD on a slow machine: a long list takes :data:`HELD` seconds, however fast this machine is."""
    act = owned(side, coins)

    def held() -> bytes:
        end = time.perf_counter() + HELD * side
        sent = act()
        while time.perf_counter() < end:
            pass
        return sent

    return held


def now_and_then_again(side: int, coins: RandomBytes) -> Act:
    """One in ten answers with ones is made twenty times, which is a twentieth of all answers."""
    times = 20 if side and coins(1)[0] < 26 else 1
    acts = [positions()(side, coins) for _ in range(times)]
    return lambda: [act() for act in acts][-1]
