"""Random campaigns, and what an edge loses by the bytes that left: worked out from the theorems, in fractions.

Nothing of the ledger's arithmetic is used: it is what is compared with this.  [LEDGER.2]
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import TypeVar

import numpy as np

from visibility_aware_edge_ldp.audit.engine import enumerate_randomness as randomness
from visibility_aware_edge_ldp.audit.protocols import chain
from visibility_aware_edge_ldp.campaign.charter import Round
from visibility_aware_edge_ldp.campaign.directory import charter_of
from visibility_aware_edge_ldp.campaign.documents import drafted
from visibility_aware_edge_ldp.campaign.participant.reports import ParticipantContext
from visibility_aware_edge_ldp.public.groups import Groups
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.visibility import Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
NAMES = ("ann", "bob", "cay", "dan", "eve")
MULTIPLIER = {PRIVATE: 1, FRIEND_VISIBLE: 2}
TWICE = "position" + chain.TWICE
BY_LISTS = ("degrees", "groups")
"""Questions whose reports count a whole friend list, at both ends of an edge."""
QUESTIONS = ("position", TWICE, *BY_LISTS, "triangles", "hubs")
EPSILONS = ("1/8", "1/4", "1/2")
EPOCHS = ("spring", "autumn")
POLICIES = 3
KINDS = (PUBLIC, FRIEND_VISIBLE, FRIEND_VISIBLE, PRIVATE, PRIVATE)
Choice = TypeVar("Choice")
_DIGITS = Context(prec=60)
Pair = frozenset[str]
Where = tuple[str, Pair]
"""An epoch and the two ends of a position."""


# ── what is lost, from the theorems alone ──


@cache
def response_loss(epsilon: Fraction) -> Fraction:
    """ln((1 − q)/q) of randomized response made for this ε, with q rounded up to a multiple of 2^-64.  [RR.1]"""
    ideal = _DIGITS.divide(Decimal(1 << 64), 1 + _DIGITS.exp(_DIGITS.divide(epsilon.numerator, epsilon.denominator)))
    threshold = int(ideal) + 1
    odds = _DIGITS.divide(Decimal((1 << 64) - threshold), Decimal(threshold))
    return Fraction(_DIGITS.ln(odds)) - Fraction(1, 10**40)


def first_part(question: str, epsilon: Fraction) -> Fraction:
    """What of ε the first answers of a row get.  [TRIANGLE.5]"""
    if question == TWICE:
        return chain.SPLIT[0] * epsilon
    return epsilon * (Fraction(54, 100) if question == "triangles" else 1)


@dataclass
class Lost:
    """What one position has lost by the bytes that left: first answers, and every other report, each once."""

    said: dict[Fraction, set[bool]] = field(default_factory=dict)
    reports: dict[bytes, Fraction] = field(default_factory=dict)

    @property
    def loss(self) -> Fraction:
        """A chain loses what its best answer loses; an answer that was drawn twice, that again; reports add up."""
        best = max(map(response_loss, self.said), default=Fraction(0))
        again = sum((response_loss(level) for level, bits in self.said.items() if len(bits) > 1), Fraction(0))
        return best + again + sum(self.reports.values(), Fraction(0))


@dataclass(frozen=True)
class Campaign:
    """One campaign: what it asks, of whom, about which epoch, under which policy; ``title`` may come again."""

    question: str
    epsilon: str
    epoch: str
    names: tuple[str, ...]
    policy: int
    title: str

    @property
    def hub(self) -> str:
        """Whose profile is public, where hubs are asked."""
        return self.names[self.policy % len(self.names)]


@cache
def context_of(campaign: Campaign) -> ParticipantContext:
    """The first person of the roster's context."""
    names, question = campaign.names, campaign.question.removesuffix(chain.TWICE)
    dice = Dice(f"policy {campaign.policy}")
    known = {pair: dice.one_of(KINDS) for pair in combinations(NAMES, 2)}
    here = {pair: kind for pair, kind in known.items() if set(pair) <= set(names)}
    public, friends = ([pair for pair, kind in here.items() if kind is each] for each in (PUBLIC, FRIEND_VISIBLE))
    policy = VisibilityPolicy.from_positions(public, friends)
    edges = list[tuple[int, int]]()
    if question == "hubs":
        policy = VisibilityPolicy.from_profiles({campaign.hub: "public"}, rule="any")
        own = names.index(campaign.hub)
        edges = [(own, other) for other in range(len(names)) if other != own]
    groups = Groups("turn", ("even", "odd"), np.arange(len(names)) % 2) if question == "groups" else None
    documents = drafted(names, policy, edges, campaign.epoch, groups=groups)
    rounds = tuple(Round(chain.CLOSES + later, 1) for later in range(chain.ROUNDS[campaign.question]))
    split = chain.SPLIT if campaign.question == TWICE else ()
    wanted = [chain.WANTED.get(question, "edges")]
    charter = charter_of(
        documents, "ab" * 32, question, campaign.epsilon, wanted, rounds, campaign.title, campaign.epoch, 0, split
    )
    return ParticipantContext(charter, documents, 0)


class Dice:
    """Choices that a seed repeats."""

    def __init__(self, seed: str) -> None:
        self._coins = randomness.fresh_coins("campaigns", seed)

    def below(self, count: int) -> int:
        """A number from 0 on; that the first ones come a little more often does not matter here."""
        return int.from_bytes(self._coins(8)) % count

    def chance(self, percent: int) -> bool:
        """Yes, so often in a hundred."""
        return self.below(100) < percent

    def one_of(self, choices: Sequence[Choice]) -> Choice:
        """One of these."""
        return choices[self.below(len(choices))]


def random_campaigns(dice: Dice, count: int) -> Iterator[Campaign]:
    """Some campaigns; now and then one that was there before, or the same question under another title."""
    made = list[Campaign]()
    for number in range(count):
        title = f"Campaign {number}"
        if made and dice.chance(30):
            old = dice.one_of(made)
            made.append(old if dice.chance(30) else replace(old, title=title))
        else:
            away = dice.one_of(("", "", *NAMES))
            names = tuple(name for name in NAMES if name != away)
            epoch = EPOCHS[0] if dice.chance(80) else EPOCHS[1]
            question, epsilon, policy = dice.one_of(QUESTIONS), dice.one_of(EPSILONS), dice.below(POLICIES)
            made.append(Campaign(question, epsilon, epoch, names, policy, title))
        yield made[-1]
