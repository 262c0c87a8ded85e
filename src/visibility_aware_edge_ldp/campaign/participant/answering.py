"""One answer: what it would cost, and making and recording it in one transaction.  [LEDGER.1-2]"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from visibility_aware_edge_ldp.campaign.charter import date, kept_for
from visibility_aware_edge_ldp.campaign.participant import accounts, lifetime, waves
from visibility_aware_edge_ldp.campaign.participant.accounts import Account, Request, account_of, number
from visibility_aware_edge_ldp.campaign.participant.friend_lists import Friends, SeenEdges, counted, write_roster
from visibility_aware_edge_ldp.campaign.participant.ledger import Entry, Page
from visibility_aware_edge_ldp.campaign.participant.reports import (
    REPORTS,
    Made,
    Making,
    ParticipantContext,
    rehearsed,
    upload_key,
)
from visibility_aware_edge_ldp.campaign.wire_format import report_in, salted
from visibility_aware_edge_ldp.errors import Refused
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

Losses = Mapping[Visibility, Fraction]
_UNNAMED = "; of degrees, the noisy numbers of all who answer are published, the smallest first and without names"


@dataclass(frozen=True, eq=False)
class Task:
    """A round that this participant is about to answer; ``transcript`` is what a sum is made on.

    Two tasks with the same :attr:`memo` are the same question, whatever the campaign is called, or the same series.
    """

    context: ParticipantContext
    round: int
    transcript: bytes = field(default=b"", repr=False)
    transcript_digest: str = ""

    @property
    def epoch(self) -> str:
        return self.context.charter.epoch

    @property
    def upload(self) -> str:
        """Under which key the ledger keeps what was sent."""
        return upload_key(self.context, self.round)

    @property
    def memo(self) -> str:
        """Under which key it keeps answers that are not chained."""
        return memo_key(self.context, self.round, self.transcript_digest)


@dataclass(frozen=True)
class Quote:
    """What an answer would cost: per edge of each class that is asked about.

    ``now`` is what this round adds to the dearest position, ``before`` and ``after`` what such a position has lost in
    the epoch, ``asked`` how many positions are asked about, and ``stricter`` how many of these were asked about as
    being of another class with a smaller cap, which they keep. Of a hub, the positions are those between others, and
    their number is not counted. ``ever`` is the same of all epochs together.
    """

    asked: Mapping[Visibility, int]
    stricter: Mapping[Visibility, int]
    now: Losses
    before: Losses
    after: Losses
    caps: Losses
    ever: "Quote | None" = None


def memo_key(context: ParticipantContext, round_number: int, transcript: str = "") -> str:
    """The key of a question: its survey, the transcript and the public edges, where the answer follows from them too.

    Rows and degrees are about positions that are not public: other public edges do not change them.
    """
    edges = f" {context.charter.edges}" if context.question.uses_public_edges else ""
    return f"{context.terms.survey.identity} {round_number} {transcript or '-'}{edges}"


def others_key(context: ParticipantContext, round_number: int) -> str:
    """The key of what others answer in a round; of sums they make new ones for every campaign's transcript."""
    return memo_key(context, round_number, context.charter.identity if context.question.broadcasts else "")


def quote(page: Page, task: Task) -> Quote:
    """What an answer would cost; declines where it, or the rounds after it, would cost more than is allowed."""
    return _ready(page, task)[-1]


def rehearse(page: Page, task: Task) -> float:
    """Seconds that the longest list's report takes here, whatever the list will be.  [PACE.6]"""
    return rehearsed(task.context, task.round, _first(page, task.context) or b"", task.transcript)


def record(page: Page, task: Task, given: Friends | SeenEdges, agreed: Quote, random_bytes: RandomBytes) -> bytes:
    """The upload, made and written down; it may leave when the transaction has ended, not before.  [LEDGER.1]"""
    stored = page.one("upload", task.epoch, task.upload)
    if stored is not None:
        return stored
    account, request, cost = _ready(page, task)
    if cost != agreed:
        raise Refused("The ledger has changed since you agreed; nothing was answered. Ask for the cost again.")
    note_others(page, task.context)
    # What was answered before is answered again by the same report; of what has changed since, each wave tells.
    report = None if task.context.question.by_waves else page.one("memo", task.epoch, task.memo)
    if report is None:
        made = _made(page, task, account, given, random_bytes)
        report = made.report
        _write(page, task, account, request, given, made)
    upload = salted(report)
    task.context.terms.check_upload(
        task.context.number, task.round, upload, _first(page, task.context), task.transcript_digest
    )
    page.append(Entry("upload", task.epoch, task.upload, content=upload))
    return upload


def note_others(page: Page, context: ParticipantContext) -> None:
    """Charge, once, what others answer about this participant's positions in all rounds of a campaign.  [LEDGER.2]

    They answer whether this participant does or not, so all of it is charged as soon as this one takes part.
    """
    account, epoch, due = _account(page, context), context.charter.epoch, _others_due(page, context)
    asked = [request for request in due.values() if any(places.any() for places in request.places.values())]
    if not asked:
        return
    write_roster(page, context.names)
    page.append(*account.class_entries(epoch, asked))
    for key, request in due.items():
        page.append(*account.other_entries(epoch, request), *account.charge_entries(epoch, request))
        page.append(Entry("noted", epoch, key))


def beyond_lines(page: Page, context: ParticipantContext) -> list[str]:
    """Of which class an edge may lose more than is allowed by what others answer in a campaign, and how much."""
    account, requests, caps = _account(page, context), list(_others_due(page, context).values()), accounts.caps_in(page)
    most = {kind: Fraction(account.most_lost(kind, requests), accounts.ONE) for kind in NON_PUBLIC}
    return [
        f"By what others answer, a {kind} edge of yours may have lost ε = {number(lost)} in this epoch, more than you "
        "allowed. This cannot be stopped from here; your own answers about it end."
        for kind, lost in most.items()
        if lost > caps[kind]
    ]


def changed_lines(page: Page, task: Task, given: Friends | SeenEdges) -> list[str]:
    """That friendships differ from what the epoch's answers were made from; the ledger's stand."""
    if isinstance(given, SeenEdges):
        return []
    account, context = _account(page, task.context), task.context
    if context.charter.wave is not None:
        told = waves.told_in(page, account, given.bits, task.epoch, context.terms.survey.identity)
        return waves.remarks(told, given.bits, context.row.asked, context.charter.wave.changes)
    count = int((account.known & (account.friends ^ given.bits)).sum())
    said = (
        f"{count:,} friendships differ from your list when this epoch was first asked about. "
        "The epoch's answers stay about that first list; a new list needs a new epoch."
    )
    return [said] if count else []


def standing(page: Page, context: ParticipantContext) -> dict[Visibility, Fraction]:
    """What the dearest position of each class of a campaign has lost in its epoch, by everything.

    A position that was ever asked about as being of another class counts there too, and where its cap is smaller, only
    there.
    """
    account, caps = _account(page, context), accounts.caps_in(page)
    of_pairs = account.pairs if context.question.sees_edges else 0
    kept = {kind: (context.classes == kind) & ~account.stricter(caps, kind) for kind in NON_PUBLIC}
    most = {kind: int(account.lost[kept[kind] | account.held_as(kind)].max(initial=of_pairs)) for kind in NON_PUBLIC}
    return {kind: Fraction(value, accounts.ONE) for kind, value in most.items()}


def _account(page: Page, context: ParticipantContext) -> Account:
    return account_of([*page.entries("roster"), *page.entries(epoch=context.charter.epoch)], context.names)


def _ready(page: Page, task: Task) -> tuple[Account, Request, Quote]:
    """The account, what this round asks, and its cost; declines where it and what follows cost more than is allowed.

    What follows are the later rounds, and what others answer. A question that was answered before costs nothing more.
    """
    context, answered = task.context, {entry.key for entry in page.entries("memo", task.epoch)}
    waves.refuse_out_of_turn(page, context.charter, context.terms.survey.identity)
    requests = []
    for each in context.charter.numbers[task.round - 1 :]:
        key, asked = task.memo if each == task.round else memo_key(context, each), context.request(each)
        requests.append(Request(asked.places, asked.thresholds) if key in answered else asked)
    account, due = _account(page, context), [*requests, *_others_due(page, context).values()]
    caps = accounts.caps_in(page)
    account.refuse_beyond(caps, due)
    ever = _quote(context, *lifetime.within_caps(page, account, task.epoch, due), requests[0])
    return account, requests[0], replace(_quote(context, account, caps, requests[0]), ever=ever)


def _others_due(page: Page, context: ParticipantContext) -> dict[str, Request]:
    """What others are asked in a campaign, round by round, where that is not charged yet."""
    noted = {entry.key for entry in page.entries("noted", context.charter.epoch)}
    keys = {others_key(context, number): number for number in context.charter.numbers}
    return {key: context.others(number) for key, number in keys.items() if key not in noted}


def _quote(context: ParticipantContext, account: Account, caps: accounts.Caps, request: Request) -> Quote:
    """What this request costs the dearest position of each class, of those that it asks about."""
    before, after, places = account.lost, account.lost_after([request]), request.places
    kinds, where = [kind for kind in NON_PUBLIC if context.question.sees_edges or places[kind].any()], places
    if context.question.sees_edges:  # one number stands for all positions between two others
        before, after = (np.array([each], np.int64) for each in (account.pairs, account.pairs_after([request])))
        where = dict.fromkeys(kinds, np.ones(1, np.bool_))

    def most(values: accounts.Units) -> dict[Visibility, Fraction]:
        return {kind: Fraction(int(values[where[kind]].max(initial=0)), accounts.ONE) for kind in kinds}

    return Quote(
        {kind: int(places[kind].sum()) for kind in kinds},
        {kind: int((places[kind] & account.stricter(caps, kind)).sum()) for kind in kinds},
        most(after - before),
        most(before),
        most(after),
        {kind: caps[kind] for kind in kinds},
    )


def _made(page: Page, task: Task, account: Account, given: Friends | SeenEdges, random_bytes: RandomBytes) -> Made:
    first = _first(page, task.context)
    if task.round > 1 and first is None:
        raise Refused("Round 1 was not answered from here, so round 2 is not either.")
    make, told = REPORTS[task.context.question.name][task.round - 1], None
    if isinstance(given, Friends) and task.context.question.by_waves:
        told = waves.told_in(page, account, given.bits, task.epoch, task.context.terms.survey.identity)
    return make(Making(task.context, account, given, random_bytes, first or b"", task.transcript, told))


def _write(page: Page, task: Task, account: Account, request: Request, given: Friends | SeenEdges, made: Made) -> None:
    epoch = task.epoch
    write_roster(page, task.context.names)
    page.append(
        *(account.list_entries(epoch, given.bits, task.context.number) if isinstance(given, Friends) else ()),
        *account.class_entries(epoch, [request]),
        *account.level_entries(epoch, made.levels),
        *account.charge_entries(epoch, request),
    )
    if made.changed is not None:
        series = task.context.terms.survey.identity
        page.append(waves.told_entry(task.context.charter, series, task.context.names, made.changed))
    # With thresholds every position answers by itself, and the levels hold what it said; a series is paid once.
    paid = page.one("memo", epoch, task.memo) is not None
    if not (task.context.request(task.round).thresholds or paid):
        page.append(Entry("memo", epoch, task.memo, content=made.report))


def _first(page: Page, context: ParticipantContext) -> bytes | None:
    """The report that was sent for round 1, where rounds follow each other."""
    if len(context.charter.rounds) == 1:
        return None
    upload = page.one("upload", context.charter.epoch, upload_key(context, 1))
    return None if upload is None else report_in(upload)


def question_lines(task: Task, quote: Quote, closes: int = 0) -> list[str]:
    """What is asked, of whom and by whom, and what it costs; ``closes`` is the deadline, if not the charter's."""
    context = task.context
    charter, public = context.charter, int((context.classes == Visibility.PUBLIC).sum()) - 1 - context.outside
    lines = [
        f"Campaign   {charter.title} ({charter.identity[:12]}), round {task.round} of {len(charter.rounds)}",
        f"Issuer     {charter.issuer}",
        f"About      your friendships in the data epoch {charter.epoch!r}; you are {context.names[context.number]!r}, "
        f"one of {charter.nodes:,}",
        f"Asks       {context.question.formats[task.round - 1].asks}",
        f"For        {', '.join(charter.statistics)}{_UNNAMED if 'degrees' in charter.statistics else ''}",
        *context.policy_lines,
        *context.part_lines,
        f"Public     {public:,} of your {charter.nodes - 1:,} positions, "
        "by the campaign's policy; nothing is asked about them",
        f"Closes     {date(closes or charter.rounds[task.round - 1].closes)}",
        f"Keeps      {kept_for(charter, task.round)}",
    ]
    # An edge has two ends: the other one may answer for it.
    if held := sum(int(places.sum()) for places in context.others(1).places.values()):
        lines.append(
            f"Others     {held:,} people answer for their edge with you; your ledger counts all rounds of that"
        )
    series = waves.consent_lines(charter, context.terms.losses, quote.after)
    return [*lines, *series, *_cost_lines(task, quote)]


def _cost_lines(task: Task, quote: Quote) -> list[str]:
    whole, hub, lines = task.context.terms.losses, task.context.question.sees_edges, list[str]()
    policy, epsilon = task.context.view.policy, task.context.charter.epsilon
    for kind, asked in quote.asked.items():
        where = "every position between two others" if hub else counted(asked, "position")
        in_all = (
            f"{number(whole[kind])} by all rounds of the campaign{accounts.dearer(policy.multiplier(kind), epsilon)}"
            if kind in whole
            else "no edge is such here; it is counted in case another campaign calls one so"
        )
        lines.append(
            f"Costs      {kind} edge, {where}: ε = {number(quote.now[kind])} now ({in_all}); "
            f"in this epoch {number(quote.before[kind])} so far, {number(quote.after[kind])} after, "
            f"{accounts.cap(quote.caps[kind])} allowed"
        )
        if (ever := quote.ever) and ever.before[kind] > quote.before[kind]:
            spent = f"{number(ever.before[kind])} so far, {number(ever.after[kind])} after"
            lines.append(f"           in all epochs together {spent}, {accounts.cap(ever.caps[kind])} allowed")
        if quote.stricter[kind]:
            lines.append(
                f"           {quote.stricter[kind]:,} of these were of a stricter class before, and keep its cap"
            )
    return lines
