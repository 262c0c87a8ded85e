"""Consent of both ends, through the participants' own code and real ledgers, every coin walked.  [CONSENT.1]

Three or four people, every set of those who consent, every graph among all of them: what everybody sends is compared
between worlds that differ at one position. Where both ends consented it loses what the campaign costs; else nothing.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations

import numpy as np

from visibility_aware_edge_ldp.audit.engine import enumerate_randomness as randomness
from visibility_aware_edge_ldp.audit.engine import findings, small_worlds
from visibility_aware_edge_ldp.audit.engine.small_worlds import World, positions
from visibility_aware_edge_ldp.audit.protocols import chain
from visibility_aware_edge_ldp.campaign.consents import Consents
from visibility_aware_edge_ldp.campaign.documents import in_order
from visibility_aware_edge_ldp.campaign.participant.answering import Task
from visibility_aware_edge_ldp.campaign.participant.friend_lists import Friends
from visibility_aware_edge_ldp.campaign.participant.reports import ParticipantContext
from visibility_aware_edge_ldp.campaign.wire_format import report_in
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.visibility import Visibility

PRIVATE = Visibility.PRIVATE
EPSILON = "1"
People = tuple[int, ...]
Answers = Callable[[ParticipantContext], ParticipantContext]
"""From the context by the frozen list to the one that a program answers in: the same, or a mutant's."""


def as_agreed(context: ParticipantContext) -> ParticipantContext:
    return context


def regardless(context: ParticipantContext) -> ParticipantContext:
    """A mutant: the list of those who consented is not looked at."""
    return replace(context, consents=None)


def one_end(context: ParticipantContext) -> ParticipantContext:
    """A mutant: who consented answers about everybody."""
    consents = context.consents
    asked = consents is not None and context.number in consents.people
    return regardless(context) if asked else context


@dataclass(frozen=True)
class Stage:
    """A campaign of so many people, of whom these consented."""

    n: int
    people: People
    answers: Answers = as_agreed

    def context(self, number: int) -> ParticipantContext:
        """What a participant answers in."""
        first = _first(self.n)
        consents = Consents(first.charter.identity, 1, self.people, "00" * 32)
        return self.answers(ParticipantContext(first.charter, first.documents, number, consents))


@cache
def _first(n: int) -> ParticipantContext:
    """A campaign about everybody, whose charter asks for consent."""
    names = in_order([f"person {number}" for number in range(n)], chain.EPOCH)
    (context,) = chain.contexts(names, VisibilityPolicy.nothing(), [("position", EPSILON)])
    return ParticipantContext(replace(context.charter, consent=1), context.documents, 0)


def report_law(stage: Stage, number: int, row: World) -> randomness.Law:
    """The law of what a participant sends, whose positions with those after it hold these bits."""
    context = stage.context(number)
    if not context.terms.asks(number, 1):
        return randomness.walk(lambda coins: b"")
    asked = context.request(1)
    (threshold,) = {asked.thresholds[PRIVATE]}
    friends = np.array([*[False] * (number + 1), *map(bool, row)])
    draws = [
        chain.answer_coin(threshold, bool(friends[other]), {}) if asked.places[PRIVATE][other] else chain.NO_MATTER
        for other in range(number + 1, stage.n)
    ]

    def play(coins: randomness.ScriptedCoins) -> bytes:
        coins.offer([draws])
        with chain.new_ledger() as ledger:
            return report_in(chain.answered(ledger, Task(context, 1), Friends(friends, ()), coins))

    return randomness.walk(play)


def losses(stage: Stage) -> Iterator[tuple[bool, float]]:
    """Of every position in every world: whether both its ends consented, and what the holder's report loses of it.

    Nobody else's report depends on the position, as everybody's is made from its own row.
    """
    for holder, other in positions(stage.n):
        spoken = cache(lambda row, holder=holder: findings.Spoken(report_law(stage, holder, row)))
        inside, at = {holder, other} <= {*stage.people}, other - holder - 1
        for row in small_worlds.worlds((PRIVATE,) * (stage.n - 1 - holder)):
            if not row[at]:
                gap = findings.gap_between(spoken(row), spoken(small_worlds.flipped(row, at)))
                yield inside, float("inf") if gap.delta else gap.epsilon


def audit_consents(name: str, stages: Iterable[Stage], about: str) -> findings.Finding:
    """The largest loss where both ends consented, and elsewhere, where none is allowed."""
    most, cases = {True: 0.0, False: 0.0}, 0
    for stage in stages:
        for inside, loss in losses(stage):
            most[inside], cases = findings.largest([loss, most[inside]]), cases + 1
    claimed = float(_first(3).terms.losses[PRIVATE])
    found = [findings.Loss("both ends consented", claimed, most[True]), findings.Loss("not both", 1e-9, most[False])]
    return findings.exact_finding(name, found, cases, about)


def sets_of(n: int) -> list[People]:
    """Every set of those who consent."""
    return [each for count in range(n + 1) for each in combinations(range(n), count)]


AUDITS = (
    findings.exact(
        "campaign consents",
        audit_consents,
        [*(Stage(3, each) for each in sets_of(3)), Stage(4, (0, 2, 3)), Stage(4, (1, 3))],
        "every set of three people who consent and some of four; every list, coin and position; ledgers on disk",
    ),
)
MUTANTS = findings.exact_mutants(
    audit_consents,
    [
        (
            "campaign consents, not looked at",
            "Everybody is asked about everybody, whoever consented.",
            [Stage(3, (0, 1), regardless)],
        ),
        (
            "campaign consents, of one end",
            "Who consented answers about people who did not.",
            [Stage(3, (0, 1), one_end)],
        ),
    ],
)
