"""The participant's program: enrol in a campaign, answer it, see how things stand.  [LEDGER.1-3]

The command line and Python callers use these functions. What is asked for and why something is declined is
shown here, on the participant's side, and never sent.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path

from visibility_aware_edge_ldp.campaign.amendments import Amended
from visibility_aware_edge_ldp.campaign.http_client import Transport, checked_url
from visibility_aware_edge_ldp.campaign.participant import amended as amending
from visibility_aware_edge_ldp.campaign.participant import answering, consenting, lifetime, statements
from visibility_aware_edge_ldp.campaign.participant import enrolment as enrolments
from visibility_aware_edge_ldp.campaign.participant.accounts import caps_entry, caps_in
from visibility_aware_edge_ldp.campaign.participant.answering import Quote, Task
from visibility_aware_edge_ldp.campaign.participant.enrolment import LEDGER, Enrolment, Surroundings
from visibility_aware_edge_ldp.campaign.participant.friend_lists import (
    Friends,
    SeenEdges,
    Source,
    read_edges,
    read_friends,
)
from visibility_aware_edge_ldp.campaign.participant.handover import refuse_waiting
from visibility_aware_edge_ldp.campaign.participant.ledger import Ledger, Page, UnusableLedger, create_ledger
from visibility_aware_edge_ldp.campaign.participant.reports import ParticipantContext, pace_of, upload_key
from visibility_aware_edge_ldp.campaign.participant.server_checks import second_task
from visibility_aware_edge_ldp.campaign.wire_format import Receipt
from visibility_aware_edge_ldp.client.pace import paced
from visibility_aware_edge_ldp.compute.backend import settle
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation, Refused
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes
from visibility_aware_edge_ldp.name_matching import unknown_lines
from visibility_aware_edge_ldp.privacy import Number
from visibility_aware_edge_ldp.public.visibility import Visibility

Say = Callable[[str], None]
# Is shown what is asked and what it costs, line by line, and says whether to answer.
Consent = Callable[[list[str]], bool]


@dataclass(frozen=True)
class Outcome:
    """What became of an answer: the round, and the server's receipt; none where nothing is asked.

    ``again`` says that the round had been answered before: the same was sent again, and no list was read.
    """

    campaign: str
    round: int
    receipt: Receipt | None
    again: bool = False


def enroll(
    url: str,
    name: str,
    token: str,
    issuer: str,
    home: Path,
    caps: Mapping[Visibility, Number] | None = None,
    new_epoch: bool = False,
    surroundings: Surroundings = Surroundings(),  # noqa: B008 - frozen
    lifetime_caps: Mapping[Visibility, Number] | None = None,
) -> Enrolment:
    """Fetch a campaign, check its signature, digests and integers, and keep it; nothing is answered yet.

    Parameters
    ----------
    issuer
        The issuer's public key, from a source that the server cannot change: only what it signed is believed.
    caps
        How much an edge of each class may lose in one data epoch by all that is answered from here; by default 1 for
        PRIVATE and 2 for FRIEND_VISIBLE edges. The first enrolment sets it; given again, it holds from now on, and a
        class that is left out keeps its own. ``lifetime_caps``: in all epochs, by default as in four.
    new_epoch
        Answers about different epochs are not added up, so an issuer that invents one could ask anew. The first epoch
        is taken as it comes; another one only if the participant says that its list is of another time.
    """
    checked_url(url)
    server = surroundings.transport(url, token, surroundings.patience)
    found = enrolments.fetch(url, name, token, issuer, server)
    if found.identity not in enrolments.enrolled(home):  # whoever took part may still ask what became of it
        amending.refuse_past(server, found.charter)
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{home} cannot hold your campaigns ({error.strerror}); name a folder of your own.") from error
    ledger = _ledger(home, caps)
    log = statements.fetched_log(server, found.charter)
    with ledger.writing() as page:
        fault = statements.fault_of_log(page, found.charter, log)
        statements.keep_log(page, found.charter, log)
        if not fault:
            enrolments.accept_epoch(page, found.charter.epoch, name, new_epoch)
            lifetime.set_caps(page, caps, lifetime_caps)
    if fault:  # what was shown is in the ledger all the same
        raise ProtocolViolation(fault)
    enrolments.keep(found, home)
    return found


def answer(
    friends: Source,
    home: Path,
    consent: Consent,
    campaign: str | None = None,
    say: Say = print,
    surroundings: Surroundings = Surroundings(),  # noqa: B008 - frozen
) -> Outcome:
    """Answer the round that is open, once; what was answered before is sent again as it was.  [LEDGER.1]

    Parameters
    ----------
    friends
        The friend list: a file, "-", names, or a function that brings them; a hub gives pairs of names. It is read
        only after the cost was accepted, and only for an answer that is not in the ledger yet.
    consent
        Is shown what is asked and what it costs; without its yes nothing is looked at and nothing is sent.
    campaign
        The beginning of the campaign's identity, where several are enrolled.
    """
    enrolment = enrolments.load(home, campaign)
    server, ledger = surroundings.server(enrolment), Ledger(home / LEDGER)
    with ledger.reading() as page:
        page.refuse_retired()
    context = consenting.agreed_context(server, ledger, enrolment)
    number = _unsent(ledger, context) or _open_round(server, context)
    if not context.terms.asks(context.number, number):
        for line in _nothing_asked(ledger, context):
            say(line)
        return Outcome(enrolment.identity, number, None)
    upload, remarks = _stored(ledger, context, number), list[str]()
    again = upload is not None
    if upload is None:
        amended = amending.known(server, ledger, context.charter, enrolment.token)
        amending.refuse_late(amended, number)
        task = _task(server, ledger, context, number)
        agreed = _agreed(ledger, task, consent, amended)
        upload, remarks = _answered(ledger, task, agreed, friends, surroundings)
    try:
        return Outcome(enrolment.identity, number, _send(server, ledger, context, number, upload), again)
    finally:
        # Only now: what there is to remark depends on the list, and must not delay the first byte.
        for remark in remarks:
            say(remark)


def looked_at(friends: Source, home: Path, campaign: str | None = None) -> list[str]:
    """How a list would be understood: for its holder's eyes, before it is asked. Nobody is asked for anything.

    A list that is given for an answer is not judged before the answer leaves: if only those were stopped whose list
    looks wrong, or is empty, then who answers and when would tell of the list.
    """
    return _given(friends, enrolments.load(home, campaign).context).understood()


def refuse_unknown(friends: Source, home: Path, campaign: str | None = None) -> None:
    """Refuse a list with names that the roster does not know; before any server hears of it, for the same reason.

    Where every round was answered, or an answer is still to be sent, no list is needed, and none is read.
    """
    ledger = Ledger(home / LEDGER)
    context = consenting.kept_context(ledger, enrolments.load(home, campaign))
    if _unsent(ledger, context) or all(_stored(ledger, context, number) for number in context.charter.numbers):
        return
    if lines := unknown_lines(_given(friends, context).unknown, context.names):
        mend = "Nothing was answered or sent: mend the list, or leave such names out with --leave-out-unknown."
        raise BadInput("\n".join([*lines, mend]))


def _given(source: Source, context: ParticipantContext) -> Friends | SeenEdges:
    """What the participant gives: its list, or the edges that it sees as a hub."""
    if context.question.sees_edges:
        return read_edges(source, context.names)
    return read_friends(source, context.names, context.number)


def allowed(home: Path) -> dict[Visibility, Fraction]:
    """How much an edge of each class may lose in one epoch."""
    with Ledger(home / LEDGER).reading() as page:
        return caps_in(page)


def _ledger(home: Path, caps: Mapping[Visibility, Number] | None) -> Ledger:
    path = home / LEDGER
    if path.exists() or path.with_suffix(".mark").exists() or enrolments.enrolled(home):
        return Ledger(path)
    refuse_waiting(home)
    return create_ledger(path, caps_entry(caps or {}))


def _unsent(ledger: Ledger, context: ParticipantContext) -> int | None:
    """The first round that was answered and has no receipt yet."""
    with ledger.reading() as page:
        for number in context.charter.numbers:
            key = upload_key(context, number)
            if page.one("upload", key=key) is not None and page.one("receipt", key=key) is None:
                return number
    return None


def _open_round(server: Transport, context: ParticipantContext) -> int:
    states = {}
    for number in context.charter.numbers:
        states[number] = statements.round_state(server, number).state
        if states[number] == "open":
            return number
    said = ", ".join(f"round {number} is {state}" for number, state in states.items())
    raise BadInput(f"No round is open now: {said}. Try again when one is.")


def _nothing_asked(ledger: Ledger, context: ParticipantContext) -> list[str]:
    """What to say to somebody of whom nothing is asked; what others answer about its positions is charged.

    It cannot be stopped from here, so it is charged beyond the caps too: later questions are then declined.
    """
    outside = ", outside the campaign's scope" if context.outside else ""
    lines = [f"Nothing is asked of you: all your positions are public{outside}, or others hold them."]
    with ledger.writing() as page:
        _refuse_unknown_epoch(page, context.charter.epoch)
        lines += answering.beyond_lines(page, context)
        answering.note_others(page, context)
    return lines


def _refuse_unknown_epoch(page: Page, epoch: str) -> None:
    if not page.entries("epoch", epoch):
        raise Refused(f"You have not agreed to be asked about the data epoch {epoch!r}; enrol first.")


def _stored(ledger: Ledger, context: ParticipantContext, number: int) -> bytes | None:
    with ledger.reading() as page:
        return page.one("upload", key=upload_key(context, number))


def _task(server: Transport, ledger: Ledger, context: ParticipantContext, number: int) -> Task:
    """The round to answer, if the server does not hold an answer that this ledger has never seen.  [LEDGER.3]"""
    if statements.held_reply(server, context, number) is not None:
        raise UnusableLedger(
            "The server holds an answer of yours that this ledger does not know: the ledger is an older copy, or "
            "somebody else has your token. Nothing was answered."
        )
    if number == 1:
        return Task(context, 1)
    first = _stored(ledger, context, 1)
    if first is None:
        raise Refused("Round 1 was not answered from here, so round 2 is not either.")
    return second_task(server, ledger, context, first)


def _agreed(ledger: Ledger, task: Task, consent: Consent, amended: Amended) -> Quote:
    """The cost, if it is within the caps and the participant agrees; no bit has been looked at."""
    with ledger.reading() as page:
        _refuse_unknown_epoch(page, task.epoch)
        cost = answering.quote(page, task)
    if not consent(answering.question_lines(task, cost, amended.rounds[task.round - 1].closes)):
        raise Refused("You declined. Nothing was answered or sent.")
    return cost


def _answered(
    ledger: Ledger, task: Task, agreed: Quote, source: Source, surroundings: Surroundings
) -> tuple[bytes, list[str]]:
    """The upload, in the ledger and on disk; how long this took tells nothing of the list, or is remarked.  [PACE.1]"""
    settle()  # before a bit is looked at: which kernels run must not follow from the list
    with ledger.reading() as page:
        pace = surroundings.pace or pace_of(task.context, answering.rehearse(page, task))
    done = paced(pace, partial(_made, ledger, task, agreed, source, surroundings.random_bytes()))
    upload, remarks = done.answer
    return upload, [*remarks, *late_lines(pace, done.beats)]


def _made(
    ledger: Ledger, task: Task, agreed: Quote, source: Source, random_bytes: RandomBytes
) -> tuple[bytes, list[str]]:
    """The upload, and what to remark about the list."""
    given = _given(source, task.context)
    with ledger.writing() as page:
        changes = answering.changed_lines(page, task, given)
        upload = answering.record(page, task, given, agreed, random_bytes)
    return upload, [*given.remarks(), *changes]


def _send(server: Transport, ledger: Ledger, context: ParticipantContext, number: int, upload: bytes) -> Receipt:
    reply = server.put(f"/v1/rounds/{number}/reports/{context.number}", upload)
    with ledger.writing() as page:
        key = statements.server_in(statements.kept_log(page, context.charter), context.charter)
        receipt = statements.checked_receipt(reply, context, number, upload, key)
        if page.one("receipt", key=upload_key(context, number)) is None:
            page.append(*statements.receipt_entries(context, number, reply))
    return receipt


def late_lines(pace: float, beats: int) -> list[str]:
    """That an answer was not made within its pace."""
    if beats <= 1:
        return []
    return [
        f"This answer took longer to make than its pace of {pace:g} s, and left after {beats:,} times as long: whoever "
        "saw when you were asked and when it left may guess how long your list is. A less busy device is in time."
    ]
