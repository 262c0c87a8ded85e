"""A participant's context in a campaign, and each question's report, made from the ledger's answers.  [LEDGER.1-2]

The context says which positions are asked about, with which integers. It follows from public documents alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.campaign.charter import Charter
from visibility_aware_edge_ldp.campaign.consents import Consents
from visibility_aware_edge_ldp.campaign.documents import Documents
from visibility_aware_edge_ldp.campaign.participant.accounts import Account, Request, account_of
from visibility_aware_edge_ldp.campaign.participant.friend_lists import Bits, Friends, Names, SeenEdges
from visibility_aware_edge_ldp.campaign.participant.waves import Row, Told, report
from visibility_aware_edge_ldp.campaign.question import Question
from visibility_aware_edge_ldp.campaign.terms import Terms
from visibility_aware_edge_ldp.campaign.wire_format import part_in
from visibility_aware_edge_ldp.client.degrees import DegreeClient
from visibility_aware_edge_ldp.client.groups import GroupClient
from visibility_aware_edge_ldp.client.hubs import HubClient
from visibility_aware_edge_ldp.client.position import randomize, verify_round
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.row_parts import FirstPart
from visibility_aware_edge_ldp.client.rows import FirstRound, TwoRoundClient
from visibility_aware_edge_ldp.client.views import FriendLists, two_hop
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.chain import Level, chained
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes, secure_random_bytes
from visibility_aware_edge_ldp.privacy import Bill
from visibility_aware_edge_ldp.public.layout import Layout, pack, part_of, unpack
from visibility_aware_edge_ldp.public.positions import row_start
from visibility_aware_edge_ldp.public.surveys import degrees as degree_layout
from visibility_aware_edge_ldp.public.surveys import groups as group_layout
from visibility_aware_edge_ldp.public.surveys import hubs, position, rows
from visibility_aware_edge_ldp.public.surveys.base import verify
from visibility_aware_edge_ldp.public.surveys.degrees import DegreeSurvey
from visibility_aware_edge_ldp.public.surveys.position import PositionReport, PositionSurvey
from visibility_aware_edge_ldp.public.surveys.row_parts import part_words
from visibility_aware_edge_ldp.public.surveys.rows import RowSurvey
from visibility_aware_edge_ldp.public.transcript import Transcript, read_broadcast
from visibility_aware_edge_ldp.public.transcript_parts import Part, read_part
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

# A pace is so many times what the longest list takes; of so many people a hub's longest list is tried out.
_BUSIER, _SEEN = 3.0, 2048


@dataclass(frozen=True, eq=False)
class ParticipantContext:
    """One participant of one campaign; making one recomputes every integer of the charter.  [CHARTER.3]"""

    charter: Charter
    documents: Documents
    number: int
    consents: Consents | None = None

    def __post_init__(self) -> None:
        self.terms  # noqa: B018 - refuses a charter that misstates what it asks

    @classmethod
    def of(cls, charter: Charter, documents: Documents, name: str) -> ParticipantContext:
        """The context of the participant with this name."""
        names = [str(each) for each in documents.roster]
        if name not in names:
            raise BadInput(f"{name!r} is not in the campaign's roster; use the name that came with the token.")
        return cls(charter, documents, names.index(name))

    @cached_property
    def terms(self) -> Terms:
        whole = Terms(self.charter, self.documents.view)
        return whole if self.consents is None else whole.among(self.consents)

    @property
    def question(self) -> Question:
        return self.terms.question

    @property
    def view(self) -> PublicView:
        return self.terms.view

    @cached_property
    def names(self) -> Names:
        """The roster's names as the ledger writes them: 7 and "7" are one person."""
        return tuple(str(name) for name in self.documents.roster)

    @cached_property
    def classes(self) -> npt.NDArray[np.uint8]:
        """The class of the position with each name; with oneself there is none, and PUBLIC stands for it."""
        others = np.arange(self.view.n)
        others[self.number] = 0 if self.number else 1
        found = self.view.classes.of(np.minimum(others, self.number), np.maximum(others, self.number)).copy()
        found[self.number] = Visibility.PUBLIC
        return found.astype(np.uint8)

    @property
    def row(self) -> Row:
        """What it holds, for waves."""
        return Row(self.number, self.view, self.classes)

    @cached_property
    def public_friends(self) -> Bits:
        """With whom everybody knows that there is an edge."""
        edges, found = self.view.edges, np.zeros(self.view.n, np.bool_)
        found[edges[edges[:, 0] == self.number, 1]] = True
        found[edges[edges[:, 1] == self.number, 0]] = True
        return found

    @cached_property
    def outside(self) -> int:
        """How many of this participant's positions lie outside the campaign's scope."""
        others = np.delete(np.arange(self.view.n), self.number)
        return int(np.count_nonzero(~self.view.classes.inside(np.full(others.size, self.number), others)))

    @property
    def policy_lines(self) -> list[str]:
        """What choosing the policy has cost; public groups; what part of the own positions is asked about, and why."""
        paid = ", ".join(f"{price} for each {kind} edge" for kind, price in Bill(self.view.policy.paid).items())
        cost = [f"Before     choosing who is public has cost {paid} already"] if paid else []
        return cost + self._group_lines + self._scope_lines

    @property
    def part_lines(self) -> list[str]:
        """Which part of everybody's first answers is downloaded, and what that changes."""
        parts = self.charter.parts
        return [] if parts is None else [f"Downloads  {part_words(self.view.n, parts.groups)}; you lose no less by it"]

    @property
    def _group_lines(self) -> list[str]:
        groups = self.view.groups
        if groups is None or not self.question.by_groups:
            return []
        own = groups.labels[groups.members[self.number]]
        return [f"Groups     everybody is in one of {groups.count} by {groups.attribute}, as all can see; you in {own}"]

    @property
    def _scope_lines(self) -> list[str]:
        scope, others = self.view.policy.scope, self.view.n - 1
        covered = f"your answer covers {(others - self.outside) / others:.0%} of your positions"
        why = f"{self.outside:,} lie outside, are not asked and lose nothing by it"
        return [] if scope is None else [f"Scope      only positions where {scope}: {covered}; {why}"]

    def request(self, round_number: int) -> Request:
        """What a round asks of this participant, and what that costs."""
        places = self._places(self.question.own(self.number, self.view.n))
        if self.question.sees_edges:
            return Request(places, pairs=self.terms.round_losses(round_number))
        return self._priced(round_number, places)

    def others(self, round_number: int) -> Request:
        """What a round asks others about positions of this participant: who holds them, or hubs that see them."""
        return self._priced(round_number, self._places(self.question.others(self.number, self.view.n)))

    def _priced(self, round_number: int, places: Mapping[Visibility, Bits]) -> Request:
        """The round's question about any positions, whoever holds them."""
        thresholds = self.question.formats[round_number - 1].thresholds
        if thresholds is not None:
            return Request(places, thresholds=thresholds(self.terms.survey))
        return Request(places, charges=self.terms.round_losses(round_number))

    def _places(self, asked: Bits) -> dict[Visibility, Bits]:
        return {kind: asked & (self.classes == kind) for kind in NON_PUBLIC}


def pace_of(context: ParticipantContext, longest: float) -> float:
    """Seconds for making an answer, where the longest list takes so many here: from nothing that is private.  [PACE.6]

    Reading a list and writing the ledger is the first part. A machine that gets busier has three times as long.
    """
    return 0.5 + context.view.n * 2e-5 + _BUSIER * longest


def upload_key(context: ParticipantContext, round_number: int) -> str:
    """The key of a campaign's round."""
    return f"{context.charter.identity} {round_number}"


@dataclass(frozen=True, eq=False)
class Made:
    """The report that will leave, and the chained answers or told changes in it that the ledger must keep."""

    report: bytes = field(repr=False)
    levels: tuple[Level, ...] = field(default=(), repr=False)
    changed: Bits | None = field(default=None, repr=False)


@dataclass(frozen=True, eq=False)
class Making:
    """What a report is made from: the ledger's account, the list that was given, and what was said or told before."""

    context: ParticipantContext
    account: Account
    given: Friends | SeenEdges
    random_bytes: RandomBytes
    first: bytes = field(default=b"", repr=False)
    transcript: bytes = field(default=b"", repr=False)
    told: Told | None = field(default=None, repr=False)

    @cached_property
    def friends(self) -> Bits:
        """Who is a friend: by what is public, else by what the ledger knew before, else by the list.  [LEDGER.2]"""
        given = np.where(self.account.known, self.account.friends, cast(Friends, self.given).bits)
        return np.where(self.context.classes == Visibility.PUBLIC, self.context.public_friends, given)

    @property
    def own_list(self) -> FriendLists:
        """The same as the client's view of it."""
        neighbours = np.flatnonzero(self.friends).astype(np.int32)
        return FriendLists(self.context.number, np.array([0, neighbours.size], np.int64), neighbours)


def first_row(making: Making) -> Made:
    """Round 1 of rows: every non-public position answers at its class's threshold, chained to what it said before.

    [CHAIN.2]
    """
    context, request = making.context, making.context.request(1)
    survey: PositionSurvey = context.terms.row_survey
    verify(survey, context.view)
    verify_round(survey, 1, False)
    row, said, levels = slice(context.number + 1, None), np.zeros(context.view.n, np.bool_), []
    before = [Level(level.threshold, level.known[row], level.ones[row]) for level in making.account.levels]
    for threshold in sorted(set(request.thresholds.values())):
        kinds = [kind for kind, own in request.thresholds.items() if own == threshold]
        places: Bits = np.logical_or.reduce([request.places[kind] for kind in kinds])
        if not places.any():
            continue  # a class that this row does not have, as everybody knows
        drawn = np.zeros_like(said)
        drawn[row] = chained(threshold, making.friends[row], before, making.random_bytes)
        said |= drawn & places
        levels.append(Level(threshold, places, drawn & places))
    asked, start = context.classes[row] != Visibility.PUBLIC, row_start(context.view.n, context.number)
    report = PositionReport(survey.identity, 1, start, asked.size, pack(asked), pack(said[row]))
    return Made(position.encode(report), tuple(levels))


def second_row(making: Making) -> Made:
    """Round 2 of POSITION: once more, where round 1 said 1.  [POSITION.1]"""
    context = making.context
    survey: PositionSurvey = context.terms.row_survey
    verify(survey, context.view)
    verify_round(survey, 2, bool(making.first))
    before = position.decode(making.first)
    places, row = context.request(2).places, slice(context.number + 1, None)
    asked = np.frombuffer(before.ones, np.uint8)
    due = {kind: np.frombuffer(pack(places[kind][row]), np.uint8) & asked for kind in NON_PUBLIC}
    ones = randomize(np.frombuffer(pack(making.friends[row]), np.uint8), due, survey, 2, making.random_bytes)
    report = PositionReport(survey.identity, 2, before.start, before.count, before.answered, ones.tobytes())
    return Made(position.encode(report))


def wave_row(making: Making) -> Made:
    """A wave after the first: what changed since the last one that was answered.  [WAVES.1]"""
    context, now, wave = making.context, cast(Friends, making.given).bits, making.context.charter.wave
    told = making.told or Told.start(np.zeros_like(now))
    sent, changed = report(
        context.row, context.terms.survey, wave.number if wave else 2, told, now, making.random_bytes
    )
    return Made(sent, changed=changed)


def row_sum(making: Making) -> Made:
    """Round 2 of USER triangles, on a transcript that holds this participant's own row unchanged.  [TRIANGLE.1]"""
    context = making.context
    broadcast = own_transcript(context, making.first, making.transcript)
    return _noisy_sum(making, _first_round(context.terms.survey, context.view, broadcast))


def part_sum(making: Making) -> Made:
    """Round 2 of triangles from parts: on a part that holds this participant's own answers unchanged.  [PARTS.0]"""
    context = making.context
    part = own_part(context, making.first, making.transcript)
    return _noisy_sum(making, FirstPart(context.terms.survey, context.view, part))


def _noisy_sum(making: Making, heard: FirstRound | FirstPart) -> Made:
    """The second round's report on what was read of the first."""
    context, survey = making.context, making.context.terms.survey
    # The ledger has already agreed; the clients' purse is filled for this one round.
    purse = Purse({kind: survey.second_price(kind) for kind in NON_PUBLIC})
    client = TwoRoundClient(making.own_list, context.view, purse)
    client.recall(survey, position.decode(making.first))
    return Made(rows.encode_rows(client.total(survey, heard, making.random_bytes)))


def own_part(context: ParticipantContext, first: bytes, data: bytes) -> Part:
    """The part that the coin gives this participant; refuses one without its own answers as they were sent.

    It holds those about the participant's own group. A proof of the round shows that the whole report was accepted, and
    not that other parts hold its answers too.
    """
    survey, users = context.terms.survey, np.arange(context.view.n)
    number = part_number(context)
    body, root = part_in(data, number, survey.parts)
    part = read_part(survey, number, body, root)
    groups = survey.group_of(np.full(users.shape, number), users)
    friends = users[(users > context.number) & (groups == groups[context.number])]
    sent = unpack(position.decode(first).ones, context.view.n - 1 - context.number)[friends - context.number - 1]
    said = part.ones(np.full(friends.shape, context.number), friends)
    if not part.answered[context.number] or (sent != said).any():
        raise ProtocolViolation("The part does not hold your first answers as you sent them; do not answer it.")
    return part


def part_number(context: ParticipantContext) -> int:
    """Which part this participant downloads, as everybody can work out."""
    return int(context.terms.survey.part_of(np.array([context.number]))[0])


def heard(context: ParticipantContext, first: bytes, data: bytes) -> Transcript | Part:
    """What was read of the first round, with the name that the report gives it; refuses what spoils the own answers."""
    read = own_transcript if context.charter.parts is None else own_part
    return read(context, first, data)


@lru_cache(maxsize=1)
def _first_round(survey: RowSurvey, view: PublicView, broadcast: Transcript) -> FirstRound:
    """What a transcript says, which is public and the same for everybody who answers from this process."""
    return FirstRound(survey, view, broadcast).prepared()


# The broadcast is the same for everybody who answers from this process.
_read_broadcast = lru_cache(maxsize=1)(read_broadcast)


def own_transcript(context: ParticipantContext, first: bytes, transcript: bytes) -> Transcript:
    """The broadcast first answers; refuses them if this participant's are not among them as they were sent."""
    broadcast = _read_broadcast(context.terms.survey.first.identity, transcript, context.view)
    sent = position.decode(first)
    for whole, own in ((broadcast.answered, sent.answered), (broadcast.ones, sent.ones)):
        if part_of(whole, sent.start, sent.count).tobytes() != own:
            raise ProtocolViolation(
                "The transcript does not hold your first answers as you sent them; do not answer it."
            )
    return broadcast


def _numbers(client: type[DegreeClient], layout: Layout[Any], making: Making) -> Made:
    """How many friends of each class, or of each class and group, with noise.  [DEGREE.1, GROUPS.1]"""
    survey: DegreeSurvey = making.context.terms.survey
    purse = Purse({kind: survey.list_price(kind).epsilon for kind in survey.classes})
    own = client(making.own_list, making.context.view, purse)
    return Made(layout.encode(own.answer(survey, 1, making.random_bytes)))


degrees = partial(_numbers, DegreeClient, degree_layout.LAYOUT)
groups = partial(_numbers, GroupClient, group_layout.LAYOUT)


def hub_counts(making: Making) -> Made:
    """The triangles of a hub's territory, with noise.  [HUB.2]

    What is public is taken from the documents, whatever the hub itself gave.
    """
    survey, view, pairs = making.context.terms.survey, making.context.view, cast(SeenEdges, making.given).pairs
    hidden = view.classes.of(pairs[:, 0], pairs[:, 1]) != Visibility.PUBLIC if len(pairs) else np.zeros(0, np.bool_)
    edges = np.unique(np.concatenate([pairs[hidden], view.edges.reshape(-1, 2)]), axis=0).astype(np.int32)
    purse = Purse({kind: price.epsilon for kind, price in survey.payment().items()})
    client = HubClient(two_hop(view.n, edges, making.context.number), view, purse)
    return Made(hubs.encode_hub(client.answer(survey, 1, making.random_bytes)))


def rehearsed(context: ParticipantContext, round_number: int, first: bytes, transcript: bytes) -> float:
    """Seconds that a report from the longest list takes here, which is made twice and thrown away.  [PACE.6]

    What is public is then worked out, and kernels are compiled: an answer takes no longer than this list's.
    """
    n, make = context.view.n, REPORTS[context.question.name][round_number - 1]
    everybody = Friends(np.arange(n) != context.number, ())
    people = min(n, _SEEN)
    known = SeenEdges(np.argwhere(np.tri(people, k=-1, dtype=np.bool_).T).astype(np.int32), ())
    given = known if context.question.sees_edges else everybody
    making = Making(context, account_of([], context.names), given, secure_random_bytes(), first, transcript)
    seconds = 0.0
    for _ in range(2):
        start = time.perf_counter()
        make(making)
        seconds = time.perf_counter() - start
    # Of more people than are tried here, a hub's tables grow with the third power.
    return seconds * (n / people) ** 3 if context.question.sees_edges else seconds


# How the report of each round is made, by the question's name.
REPORTS: dict[str, tuple[Callable[[Making], Made], ...]] = {
    "position": (first_row, second_row),
    "degrees": (degrees,),
    "groups": (groups,),
    "triangles": (first_row, row_sum),
    "parts": (first_row, part_sum),
    "hubs": (hub_counts,),
    "waves": (wave_row,),
}
