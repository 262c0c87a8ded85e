"""Sums that campaigns upload in the second round of triangles, after the own first answers; and all numbers' audits.

And campaigns inside a scope: nobody uploads otherwise, or is charged, for what lies outside.  [SCOPE.2]
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import compress, product

import numpy as np

from visibility_aware_edge_ldp.audit.campaigns.numbers import (
    FRIEND_VISIBLE,
    PEOPLE,
    PUBLIC,
    Graph,
    KindLoss,
    Setting,
    beside,
    degree_losses,
    hub_losses,
    known_to_all,
    list_of,
    power_noised,
    told_apart,
)
from visibility_aware_edge_ldp.audit.engine import enumerate_randomness as randomness
from visibility_aware_edge_ldp.audit.engine import findings, noise_laws
from visibility_aware_edge_ldp.audit.protocols import chain
from visibility_aware_edge_ldp.campaign.charter import Round
from visibility_aware_edge_ldp.campaign.directory import charter_of
from visibility_aware_edge_ldp.campaign.documents import drafted
from visibility_aware_edge_ldp.campaign.participant.answering import Task, _account
from visibility_aware_edge_ldp.campaign.participant.friend_lists import Friends
from visibility_aware_edge_ldp.campaign.participant.ledger import Ledger
from visibility_aware_edge_ldp.campaign.participant.reports import ParticipantContext
from visibility_aware_edge_ldp.campaign.wire_format import report_in
from visibility_aware_edge_ldp.client.reporter import Bits
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes
from visibility_aware_edge_ldp.public.layout import unpack
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.scope_words import ScopeWords
from visibility_aware_edge_ldp.public.surveys import position as row_layout
from visibility_aware_edge_ldp.public.transcript import Transcript
from visibility_aware_edge_ldp.public.visibility import Visibility


def sums_of(setting: Setting, world: Graph, own: Sequence[int], others: int) -> tuple[int, noise_laws.Noised]:
    """The first person's reach, and its sum with the bound of its noise, after it has answered ``own`` in round 1.

    ``others`` is what everybody else said to everything.
    """
    context, friends = setting.context(0), list_of(setting, 0, world)
    survey = context.terms.survey
    words = [_word(context, friends, place, one) for place, one in enumerate(own, 1)]
    with chain.new_ledger() as ledger:
        # One word for each position of the row, for each threshold that is used.
        first = chain.answered(ledger, Task(context, 1), friends, randomness.words_then(words * 2))
        report = row_layout.decode(report_in(first))
        if unpack(report.ones, report.count).tolist() != list(map(bool, own)):
            raise noise_laws.another_noise()
        task = _second_task(context, report, others)
        kept = {path.name: path.read_bytes() for path in ledger._path.parent.iterdir()}

    def send(coins: RandomBytes) -> noise_laws.Ints:
        with chain.folder() as place:
            for name, content in kept.items():
                (place / name).write_bytes(content)
            upload = chain.answered(Ledger(place / chain.LEDGER), task, friends, setting.coins(coins))
        second = context.terms.check_upload(0, 2, upload, report_in(first), task.transcript_digest)
        return np.array([second.reaches[0], second.totals[0]], np.int64)

    total = power_noised(send, 1, (1 << 63,), survey.total_noise)
    low, high = noise_laws.both_sides(survey.reach_noise.law)
    up, down = (int(send(randomness.words_then([word], randomness.no_noise))[0]) for word in (low, high))
    if up - down != 2:
        return 0, noise_laws.Noised(total.number, 0)
    return up - 1, total


def _word(context: ParticipantContext, friends: Friends, place: int, wanted: int) -> int:
    """A word by which a position says what is wanted: a low one flips the bit."""
    return (1 << 64) - 2 if bool(friends.bits[place]) == bool(wanted) else 1


def _second_task(context: ParticipantContext, own: row_layout.PositionReport, others: int) -> Task:
    view, survey = context.view, context.terms.survey
    pairs = np.transpose(np.triu_indices(view.n, 1))
    answered = view.classes.of(pairs[:, 0], pairs[:, 1]) != PUBLIC
    ones = answered & bool(others)
    ones[own.start : own.start + own.count] = unpack(own.ones, own.count)
    said = Transcript(survey.first.identity, *(np.packbits(each, bitorder="little") for each in (answered, ones)))
    return Task(context, 2, said.broadcast(view), said.digest)


def sum_losses(setting: Setting) -> Iterator[KindLoss]:
    """What every position of the first person's row loses by both its uploads, for every list and own first answers."""
    own = [position for position in setting.positions if position[0] == 0]
    survey = setting.context(0).terms.survey
    lists = [frozenset(compress(own, bits)) for bits in product((0, 1), repeat=len(own))]
    for others, answers in ((1, (1,) * len(own)), (1, (0, *(1,) * (len(own) - 1)))):
        numbers = {world: sums_of(setting, world, answers, others) for world in lists}
        for (place, position), world in product(enumerate(own), lists):
            if position in world:
                continue
            one, other = numbers[world | {position}], numbers[world]
            first = float(chain.first_round(setting.context(0)).mechanism(setting.kind(position), 1).epsilon)
            first = first if answers[place] else -first
            reach = survey.reach_noise
            more, less = told_apart(survey.total_noise, one[1], other[1])
            up, down = noise_laws.laplace_losses((one[0], reach), (other[0], reach))
            yield setting.kind(position), max(first + more + up, less + down - first)


# ── campaigns inside a scope ──

# Three in one house and two in another; one position between the houses is friend-visible.
HOUSES = ScopeWords("group:house", {"house": dict(zip(PEOPLE, ("east", "east", "east", "west", "west"), strict=False))})
SCOPED = VisibilityPolicy.from_positions([], [("ann", "bob"), ("ann", "eve")])


def inside(question: str, scope: ScopeWords | None) -> list[ParticipantContext]:
    """Everybody's context in a campaign inside this scope."""
    documents = drafted(PEOPLE[:5], SCOPED, (), chain.EPOCH, scope)
    own, wanted = question.removesuffix(chain.TWICE), [chain.WANTED.get(question, "edges")]
    due = tuple(Round(chain.CLOSES + later, 1) for later in range(chain.ROUNDS[question]))
    split = chain.SPLIT if question.endswith(chain.TWICE) else ()
    charter = charter_of(documents, "ab" * 32, own, "1", wanted, due, "Inside", chain.EPOCH, split=split)
    return [ParticipantContext(charter, documents, number) for number in range(5)]


def uploads_of(context: ParticipantContext, friends: Friends, outside: Bits) -> tuple[list[bytes], int]:
    """The reports of all rounds, from fixed coins; and of how many positions outside the ledger says that they cost."""
    with chain.new_ledger() as ledger:
        ask = partial(chain.answered, ledger)
        sent = [report_in(ask(Task(context, 1), friends, randomness.fresh_coins("inside", context.number, 1)))]
        if len(context.charter.rounds) > 1:
            by_rows = context.charter.question == "triangles"
            task = _second_task(context, row_layout.decode(sent[0]), 1) if by_rows else Task(context, 2)
            sent.append(report_in(ask(task, friends, randomness.fresh_coins("inside", context.number, 2))))
        with ledger.reading() as page:
            return sent, int(np.count_nonzero(_account(page, context).lost[outside]))


def audit_inside(name: str, scope: ScopeWords | None, about: str) -> findings.Finding:
    """How many reports change with friends outside, and how many positions there are charged."""
    otherwise, looked, houses = 0, 0, HOUSES.columns["house"]
    for question in ("position", "position, twice", "degrees", "triangles"):
        for context in (each for each in inside(question, scope) if each.terms.asks(each.number, 1)):
            own, others = context.names[context.number], np.arange(5) != context.number
            outside = np.array([houses[each] != houses[own] for each in context.names])
            lists = Friends(others & ~outside, ()), Friends(others, ())
            (few, cost), (many, cost_too) = (uploads_of(context, friends, outside) for friends in lists)
            otherwise += sum(one != other for one, other in zip(few, many, strict=True)) + cost + cost_too
            looked += len(few) + 2 * int(outside.sum())
    return findings.Finding(name, "exact", (findings.Loss("otherwise", 0, otherwise),), looked, about)


LOSSES: dict[str, Callable[[Setting], Iterator[KindLoss]]] = {
    "degrees": degree_losses,
    "groups": degree_losses,
    "hubs": hub_losses,
    "triangles": sum_losses,
}


def audit_measured(name: str, settings: Iterable[Setting], about: str) -> findings.Finding:
    """The largest loss of each class, beside what was agreed to and what the charter states."""

    def found(setting: Setting) -> tuple[list[findings.Loss], int]:
        worst, cases = dict[Visibility, float](), 0
        for kind, loss in LOSSES[setting.question](setting):
            worst[kind], cases = findings.largest([loss, worst.get(kind, 0.0)]), cases + 1
        stated = setting.context(0).terms.losses
        losses = [findings.Loss(str(kind), float(setting.agreed(kind)), loss) for kind, loss in worst.items()]
        told = [beside(loss, setting.agreed(kind), stated[kind]) for loss, kind in zip(losses, worst, strict=True)]
        return told, cases

    return findings.exact_finding_over(name, map(found, settings), about)


TWO_CLASSES = (((0, 1), FRIEND_VISIBLE), ((1, 2), FRIEND_VISIBLE))
OPEN_ROW = tuple(((0, other), FRIEND_VISIBLE) for other in range(1, 4))
_KNOWN = "It draws bytes that everybody knows."
AUDITS = (
    findings.exact(
        "campaign degrees",
        audit_measured,
        [Setting("degrees", "1", 3), Setting("degrees", "1", 4, TWO_CLASSES)],
        "both ends' uploads, every list of 3 and 4 people, one and two classes; noise measured on the bytes",
    ),
    findings.exact(
        "campaign groups",
        audit_measured,
        [Setting("groups", "1", 3), Setting("groups", "1", 4, TWO_CLASSES)],
        "the same of friends in each of two public groups",
    ),
    findings.exact(
        "campaign triangles, both rounds",
        audit_measured,
        [Setting("triangles", "1", 4, TWO_CLASSES), Setting("triangles", "1", 4, OPEN_ROW)],
        "a row of 3 with two classes and with one, every list; two kinds of own first answers",
    ),
    findings.exact(
        "campaign hubs",
        audit_measured,
        [Setting("hubs", "4", 5, publics=1), Setting("hubs", "4", 6, publics=2)],
        "one hub and two, every graph of four others; noise measured on the bytes",
    ),
    findings.exact(
        "campaign scopes",
        audit_inside,
        HOUSES,
        "reports, not ε: every question and round inside a scope, with no friend outside and with all, same coins",
    ),
)
MUTANTS = (
    findings.exact("campaign scopes", audit_inside, None, "", broken="Positions outside the scope are asked too."),
    *findings.exact_mutants(
        audit_measured,
        [
            ("campaign degrees, known coins", _KNOWN, [Setting("degrees", "1", 3, coins=known_to_all)]),
            ("campaign groups, known coins", _KNOWN, [Setting("groups", "1", 3, coins=known_to_all)]),
            ("campaign hubs, known coins", _KNOWN, [Setting("hubs", "4", 5, publics=1, coins=known_to_all)]),
        ],
    ),
)
