"""One person, one position, several campaigns: the exact law of all that leaves, through the real ledger's code.

Each campaign's answer is the real :func:`record` on a ledger in memory; the coin of every answer is walked through both
of its outcomes, and its chance is found on the sampler by halving. Then the law of everything that left is compared
between the two worlds.  [LEDGER.2]
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from visibility_aware_edge_ldp.campaign.charter import Round
from visibility_aware_edge_ldp.campaign.directory import charter_of
from visibility_aware_edge_ldp.campaign.documents import drafted
from visibility_aware_edge_ldp.campaign.participant import answering
from visibility_aware_edge_ldp.campaign.participant.accounts import Account, caps_entry
from visibility_aware_edge_ldp.campaign.participant.answering import Task, quote, record
from visibility_aware_edge_ldp.campaign.participant.friend_lists import Friends
from visibility_aware_edge_ldp.campaign.participant.ledger import Entry
from visibility_aware_edge_ldp.campaign.participant.reports import ParticipantContext
from visibility_aware_edge_ldp.campaign.wire_format import report_in
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.surveys import position as codec
from visibility_aware_edge_ldp.public.visibility import Visibility

WORDS = 1 << 64
# Chances are found to a part in 2^28; ``test_chain_exact.py`` has them exactly.
FINE = 1 << 36
Said = tuple[int, ...]


@dataclass
class Memory:
    """A ledger's page without a disk."""

    lines: list[Entry] = field(default_factory=lambda: [caps_entry({Visibility.PRIVATE: 10})])

    def entries(self, kind: str | None = None, epoch: str | None = None, key: str | None = None) -> list[Entry]:
        wanted = (("kind", kind), ("epoch", epoch), ("key", key))
        return [each for each in self.lines if all(value in (None, getattr(each, name)) for name, value in wanted)]

    def one(self, kind: str, epoch: str | None = None, key: str | None = None) -> bytes | None:
        found = self.entries(kind, epoch, key)
        return found[-1].content if found else None

    def append(self, *entries: Entry) -> None:
        self.lines.extend(entries)


def context(epsilon: str, title: str) -> ParticipantContext:
    """Two people, one private position; the first of the roster holds it."""
    documents = drafted(["ann", "bob"], VisibilityPolicy.nothing(), (), "spring")
    charter = charter_of(
        documents, "ab" * 32, "position", epsilon, ["edges"], (Round(4_000_000_000, 1),), title, "spring"
    )
    return ParticipantContext(charter, documents, 0)


LOW, HIGH, AGAIN = SEATS = (context("1/2", "Low"), context("3/2", "High"), context("1/2", "Low again"))


def answered(page: Memory, where: ParticipantContext, bit: int, word: int) -> int:
    task, friends = Task(where, 1), Friends(np.array([False, bool(bit)]), ())
    random_bytes = iter([word.to_bytes(8, "big"), bytes(8), bytes(8)])
    upload = record(page, task, friends, quote(page, task), lambda count: next(random_bytes))  # type: ignore[arg-type]
    return codec.decode(report_in(upload)).ones[0]


def outcomes(page: Memory, where: ParticipantContext, bit: int) -> list[tuple[int, Fraction, Memory]]:
    """What one campaign may hear, each with its chance and the ledger afterwards."""

    def hear(word: int) -> tuple[int, Memory]:
        after = Memory(list(page.lines))
        return answered(after, where, bit, word), after

    (first, low), (last, high) = hear(0), hear(WORDS - 1)
    if first == last:
        return [(first, Fraction(1), low)]
    below, above = 0, WORDS - 1
    while above - below > FINE:
        middle = (below + above) // 2
        below, above = (middle, above) if hear(middle)[0] == first else (below, middle)
    chance = Fraction(above, WORDS)
    return [(first, chance, low), (last, 1 - chance, high)]


def law(order: tuple[ParticipantContext, ...], bit: int) -> dict[Said, Fraction]:
    """The law of all that leaves, campaign after campaign; listed in the order of ``SEATS``."""
    walks: list[tuple[dict[str, int], Fraction, Memory]] = [({}, Fraction(1), Memory())]
    for where in order:
        walks = [
            ({**heard, where.charter.title: said}, chance * part, after)
            for heard, chance, page in walks
            for said, part, after in outcomes(page, where, bit)
        ]
    found: dict[Said, Fraction] = {}
    for heard, chance, _ in walks:
        said = tuple(heard[each.charter.title] for each in SEATS)
        found[said] = found.get(said, Fraction(0)) + chance
    return found


def title(where: ParticipantContext) -> str:
    return where.charter.title


def loss(order: tuple[ParticipantContext, ...]) -> float:
    zero, one = law(order, 0), law(order, 1)
    assert sum(zero.values()) == sum(one.values()) == 1
    pairs = [(zero.get(said, Fraction(0)), one.get(said, Fraction(0))) for said in {*zero, *one}]
    ratios = [abs(math.log(a / b)) if a and b else math.inf for a, b in pairs]
    return max(ratios)


@pytest.mark.parametrize("order", list(permutations(SEATS)), ids=lambda order: " ".join(map(title, order)))
def test_all_campaigns_together_lose_what_the_dearest_does(order: tuple[ParticipantContext, ...]) -> None:
    assert loss(order) == pytest.approx(1.5, abs=1e-6)
    assert all(said[0] == said[2] for said in law(order, 1))


def spoiled(monkeypatch: pytest.MonkeyPatch, change: Callable[[Account], Account]) -> None:
    honest = answering._account
    monkeypatch.setattr(answering, "_account", lambda page, where: change(honest(page, where)))


def test_a_ledger_that_forgets_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twin: every campaign is answered as if it were the first."""
    spoiled(monkeypatch, lambda account: answering.account_of([], account.names))
    assert loss((LOW, HIGH, AGAIN)) == pytest.approx(2.5, abs=1e-6)


def test_one_uniform_number_for_all_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twin: the answers of all campaigns are drawn with one word each, and it is the same word."""
    spoiled(monkeypatch, lambda account: answering.account_of([], account.names))
    said = {bit: set[Said]() for bit in (0, 1)}
    for bit in (0, 1):
        for word in (0, LOW.request(1).thresholds[Visibility.PRIVATE] - 1, WORDS - 1):
            said[bit].add(tuple(answered(Memory(), where, bit, word) for where in SEATS))
    assert said[0] != said[1]
    assert (1, 0, 1) in said[0] - said[1]  # low flips and high does not: only a 0 can have said so
