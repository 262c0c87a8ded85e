"""One answer: what it would cost, and making and recording it in one transaction.  [LEDGER.1-2]"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from visibility_aware_edge_ldp.campaign.participant import answers
from visibility_aware_edge_ldp.campaign.participant.accounts import (
    ONE,
    Account,
    Caps,
    Request,
    Units,
    account_of,
    caps_of,
    charge_entries,
    class_entries,
    level_entries,
    list_entry,
    other_entries,
)
from visibility_aware_edge_ldp.campaign.participant.answers import Made
from visibility_aware_edge_ldp.campaign.participant.friends import Friends, SeenEdges
from visibility_aware_edge_ldp.campaign.participant.ledger import Entry, Page, UnusableLedger
from visibility_aware_edge_ldp.campaign.participant.rosters import Bits, roster_digest, roster_entry
from visibility_aware_edge_ldp.campaign.participant.seat import Seat
from visibility_aware_edge_ldp.campaign.upload import report_in, salted
from visibility_aware_edge_ldp.errors import Refused
from visibility_aware_edge_ldp.mechanisms.entropy import Coins
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

Losses = Mapping[Visibility, Fraction]


@dataclass(frozen=True, eq=False)
class Task:
    """A round that this participant is about to answer; ``transcript`` is what a sum is made on.

    Two tasks with the same :attr:`memo` are the same question, whatever the campaign is called.
    """

    seat: Seat
    round: int
    transcript: bytes = field(default=b"", repr=False)
    transcript_digest: str = ""

    @property
    def epoch(self) -> str:
        return self.seat.charter.epoch

    @property
    def upload(self) -> str:
        """Under which key the ledger keeps what was sent."""
        return upload_key(self.seat, self.round)

    @property
    def memo(self) -> str:
        """Under which key it keeps answers that are not chained."""
        return memo_key(self.seat, self.round, self.transcript_digest)

    @property
    def is_chained(self) -> bool:
        """Whether every position answers by itself, by randomized response."""
        return bool(self.seat.request(self.round).thresholds)


@dataclass(frozen=True)
class Quote:
    """What an answer would cost: per edge of each class that is asked about.

    ``now`` is what this round adds to the dearest position, ``before`` and ``after`` what such a position has lost in
    the epoch, ``asked`` how many positions are asked about, and ``stricter`` how many of these were asked about as
    being of another class with a smaller cap, which they keep. Of a hub, the positions are those between others, and
    their number is not counted.
    """

    asked: Mapping[Visibility, int]
    stricter: Mapping[Visibility, int]
    now: Losses
    before: Losses
    after: Losses
    caps: Losses


def upload_key(seat: Seat, round_number: int) -> str:
    """The key of a campaign's round."""
    return f"{seat.charter.identity} {round_number}"


def memo_key(seat: Seat, round_number: int, transcript: str = "") -> str:
    """The key of a question: its survey, the transcript and the public edges, where the answer follows from them too.

    Rows and degrees are about positions that are not public: other public edges do not change them.
    """
    edges = f" {seat.charter.edges}" if seat.charter.question in ("triangles", "hubs") else ""
    return f"{seat.questions.survey.identity} {round_number} {transcript or '-'}{edges}"


def others_key(seat: Seat, round_number: int) -> str:
    """The key of what others answer in a round; of sums they make new ones for every campaign's transcript."""
    return memo_key(seat, round_number, seat.charter.identity if seat.charter.question == "triangles" else "")


def quote(page: Page, task: Task) -> Quote:
    """What an answer would cost; declines where it, or the rounds after it, would cost more than is allowed."""
    account, caps, requests = _ready(page, task)
    account.refuse_beyond(caps, requests)
    return _quote(task.seat, account, caps, requests[0])


def record(page: Page, task: Task, given: Friends | SeenEdges, agreed: Quote, coins: Coins) -> bytes:
    """The upload, made and written down; it may leave when the transaction has ended, not before.  [LEDGER.1]"""
    stored = page.one("upload", task.epoch, task.upload)
    if stored is not None:
        return stored
    account, caps, requests = _ready(page, task)
    account.refuse_beyond(caps, requests)
    if _quote(task.seat, account, caps, requests[0]) != agreed:
        raise Refused("The ledger has changed since you agreed; nothing was answered. Ask for the cost again.")
    note_others(page, task.seat)
    report = page.one("memo", task.epoch, task.memo)
    if report is None:
        made = _made(page, task, account, given, coins)
        report = made.report
        _write(page, task, account, requests[0], given, made)
    upload = salted(report)
    task.seat.questions.check_upload(
        task.seat.number, task.round, upload, _first(page, task.seat), task.transcript_digest
    )
    page.append(Entry("upload", task.epoch, task.upload, content=upload))
    return upload


def note_others(page: Page, seat: Seat) -> None:
    """Charge, once, what others answer about this participant's positions in all rounds of a campaign.  [LEDGER.2]

    They answer whether this participant does or not, so all of it is charged as soon as this one takes part.
    """
    account, epoch, due = _account(page, seat), seat.charter.epoch, _others_due(page, seat)
    asked = [request for request in due.values() if any(places.any() for places in request.places.values())]
    if not asked:
        return
    _write_roster(page, seat)
    for entry in class_entries(account, epoch, asked):
        page.append(entry)
    for key, request in due.items():
        for entry in (*other_entries(account, epoch, request), *charge_entries(account, epoch, request)):
            page.append(entry)
        page.append(Entry("noted", epoch, key))


def beyond(page: Page, seat: Seat) -> dict[Visibility, Fraction]:
    """Of which class an edge may lose more than is allowed by what others answer in a campaign, and how much."""
    account, requests = _account(page, seat), list(_others_due(page, seat).values())
    most = {kind: Fraction(account.most_lost(kind, requests), ONE) for kind in NON_PUBLIC}
    return {kind: lost for kind, lost in most.items() if lost > _caps(page)[kind]}


def changed(page: Page, task: Task, given: Friends) -> int:
    """How many friendships differ from what the epoch's answers were made from; the ledger's stand."""
    account = _account(page, task.seat)
    return int((account.known & (account.friends ^ given.bits)).sum())


def standing(page: Page, seat: Seat) -> dict[Visibility, Fraction]:
    """What the dearest position of each class of a campaign has lost in its epoch, by everything.

    A position that was ever asked about as being of another class counts there too, and where its cap is smaller, only
    there.
    """
    account, caps = _account(page, seat), _caps(page)
    of_pairs = account.pairs if seat.charter.question == "hubs" else 0
    kept = {kind: (seat.classes == kind) & ~_stricter(account, caps, kind) for kind in NON_PUBLIC}
    most = {kind: int(account.lost[kept[kind] | account.held_as(kind)].max(initial=of_pairs)) for kind in NON_PUBLIC}
    return {kind: Fraction(value, ONE) for kind, value in most.items()}


def _account(page: Page, seat: Seat) -> Account:
    return account_of([*page.entries("roster"), *page.entries(epoch=seat.charter.epoch)], seat.names)


def _ready(page: Page, task: Task) -> tuple[Account, Caps, list[Request]]:
    """The account, the caps, and what this round and those after it ask, of this participant first."""
    seat, free = task.seat, {entry.key for entry in page.entries("memo", task.epoch)}
    rounds = range(task.round, len(seat.charter.rounds) + 1)
    keys = {number: task.memo if number == task.round else memo_key(seat, number) for number in rounds}
    requests = [_unpaid(seat.request(number), keys[number] in free) for number in rounds]
    return _account(page, seat), _caps(page), [*requests, *_others_due(page, seat).values()]


def _caps(page: Page) -> Caps:
    caps = page.one("caps")
    if caps is None:
        raise UnusableLedger("The ledger holds no caps; bring back the newest copy.")
    return caps_of(caps)


def _others_due(page: Page, seat: Seat) -> dict[str, Request]:
    """What others are asked in a campaign, round by round, where that is not charged yet."""
    noted = {entry.key for entry in page.entries("noted", seat.charter.epoch)}
    keys = {others_key(seat, number): number for number in range(1, len(seat.charter.rounds) + 1)}
    return {key: seat.others(number) for key, number in keys.items() if key not in noted}


def _stricter(account: Account, caps: Caps, kind: Visibility) -> Bits:
    """Which positions are held to a smaller cap than this class's."""
    held = [account.held_as(other) for other in NON_PUBLIC if caps[other] < caps[kind]]
    found: Bits = np.logical_or.reduce([np.zeros(len(account.names), np.bool_), *held])
    return found


def _unpaid(request: Request, answered: bool) -> Request:
    """A question that was answered before costs nothing more."""
    return Request(request.places, request.thresholds) if answered else request


def _quote(seat: Seat, account: Account, caps: Caps, request: Request) -> Quote:
    before, after = account.lost, account.lost_after([request])
    pairs = account.pairs, account.pairs_after([request])
    is_hub = seat.charter.question == "hubs"
    kinds = [kind for kind in NON_PUBLIC if is_hub or request.places[kind].any()]

    def most(values: Units, pair: int, kind: Visibility) -> Fraction:
        return Fraction(pair if is_hub else int(values[request.places[kind]].max(initial=0)), ONE)

    return Quote(
        {kind: int(request.places[kind].sum()) for kind in kinds},
        {kind: int((request.places[kind] & _stricter(account, caps, kind)).sum()) for kind in kinds},
        {kind: most(after - before, pairs[1] - pairs[0], kind) for kind in kinds},
        {kind: most(before, pairs[0], kind) for kind in kinds},
        {kind: most(after, pairs[1], kind) for kind in kinds},
        {kind: caps[kind] for kind in kinds},
    )


def _made(page: Page, task: Task, account: Account, given: Friends | SeenEdges, coins: Coins) -> Made:
    seat = task.seat
    if isinstance(given, SeenEdges):
        return answers.hub_counts(seat, given.pairs, coins)
    # Whoever was asked about before stays what the ledger knows: one epoch is about one list.  [LEDGER.2]
    friends = answers.as_public_knows(seat, np.where(account.known, account.friends, given.bits))
    if task.is_chained:
        return answers.chained_row(seat, seat.request(task.round), account, friends, coins)
    if task.round == 1:
        return answers.degrees(seat, friends, coins)
    first = _first(page, seat)
    if first is None:
        raise Refused("Round 1 was not answered from here, so round 2 is not either.")
    if seat.charter.question == "triangles":
        return answers.row_sum(seat, first, task.transcript, friends, coins)
    return answers.second_row(seat, first, friends, coins)


def _write(page: Page, task: Task, account: Account, request: Request, given: Friends | SeenEdges, made: Made) -> None:
    epoch = task.epoch
    _write_roster(page, task.seat)
    kept = list_entry(account, epoch, given.bits, task.seat.number) if isinstance(given, Friends) else None
    if kept is not None:
        page.append(kept)
    for entry in (
        *class_entries(account, epoch, [request]),
        *level_entries(account, epoch, made.levels),
        *charge_entries(account, epoch, request),
    ):
        page.append(entry)
    if not task.is_chained:
        page.append(Entry("memo", epoch, task.memo, content=made.report))


def _write_roster(page: Page, seat: Seat) -> None:
    if not any(entry.names == roster_digest(seat.names) for entry in page.entries("roster")):
        page.append(roster_entry(seat.names))


def _first(page: Page, seat: Seat) -> bytes | None:
    """The report that was sent for round 1, where rounds follow each other."""
    upload = page.one("upload", seat.charter.epoch, upload_key(seat, 1)) if len(seat.charter.rounds) > 1 else None
    return None if upload is None else report_in(upload)
