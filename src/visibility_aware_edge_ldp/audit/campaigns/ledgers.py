"""What ledgers count beside what is lost: both rounds of positions, and sequences of campaigns.  [LEDGER.1-3]

Both rounds of positions are walked coin by coin through the participant's program, with a real ledger, and reports are
read as a server reads them: all uploads together are compared between neighbouring worlds, beside what was agreed to
and beside what the ledger counts. Sequences of campaigns of all questions are held in many small towns. And no two
uploads of a report may begin alike.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np

from visibility_aware_edge_ldp.audit.campaigns import model, numbers
from visibility_aware_edge_ldp.audit.campaigns.numbers import Coins, as_given, beside, known_to_all
from visibility_aware_edge_ldp.audit.campaigns.town import Reader, Town, Whole
from visibility_aware_edge_ldp.audit.engine import enumerate_randomness as randomness
from visibility_aware_edge_ldp.audit.engine import findings, small_worlds
from visibility_aware_edge_ldp.audit.engine.small_worlds import World
from visibility_aware_edge_ldp.audit.protocols import campaign, chain
from visibility_aware_edge_ldp.campaign.participant.accounts import Account
from visibility_aware_edge_ldp.campaign.participant.answering import Task, standing
from visibility_aware_edge_ldp.campaign.participant.friend_lists import Friends
from visibility_aware_edge_ldp.campaign.participant.ledger import Page
from visibility_aware_edge_ldp.campaign.participant.lifetime import whole_account
from visibility_aware_edge_ldp.campaign.participant.reports import ParticipantContext
from visibility_aware_edge_ldp.campaign.wire_format import SALT, report_in
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

CAMPAIGNS = 7
WIDE: Mapping[Visibility, Fraction] = dict.fromkeys(NON_PUBLIC, Fraction(100))
NARROW: Mapping[Visibility, Fraction] = {model.PRIVATE: Fraction(3, 4), model.FRIEND_VISIBLE: Fraction(7, 4)}
# What towns with narrow caps are asked first: one hub, more than is allowed for positions between others; positions of
# which some have a stricter class before than after; and what one end alone could answer, but not both.
BEGINNINGS: tuple[tuple[tuple[str, str, int], ...], ...] = (
    (("hubs", "1/2", 0), ("hubs", "1/4", 0), ("hubs", "1/8", 0)),
    (("position", "1/4", 0), ("degrees", "1/2", 1)),
    (("position", "1/2", 2), ("degrees", "1/2", 2)),
    (("position", "1/4", 1), ("degrees", "1/2", 2)),
    (("degrees", "1/8", 2), ("position", "1/2", 0), ("position, twice", "1/2", 1)),
)
ONE, LOW = (model.TWICE, "1"), ("position", "1/2")


# ── both rounds of positions ──


@dataclass(frozen=True)
class Rounds(campaign.Stage):
    """Campaigns of positions, some of them with two rounds, one after the other; ``coins`` are a mutant's."""

    coins: Coins = as_given

    def second_draws(self, context: ParticipantContext, said: Sequence[bool]) -> list[randomness.Batch]:
        """Round 2 draws a coin for each position that said 1, class by class."""
        survey = chain.first_round(context)
        ones = [[kind for kind, one in zip(self.row, said, strict=True) if one and kind is each] for each in NON_PUBLIC]
        return [[randomness.flip_coin(survey.mechanism(kind, 2)) for kind in kinds] for kinds in ones if kinds]

    def agreed(self, kind: Visibility) -> Fraction:
        """What was agreed to: of first answers the dearest, of second ones each different question's."""
        first, second = Fraction(0), dict[str, Fraction]()
        multiplier = {model.PRIVATE: 1, model.FRIEND_VISIBLE: 2}[kind]
        for question, epsilon in self.asked:
            part, rest = chain.SPLIT if question == model.TWICE else (Fraction(1), Fraction(0))
            first, second[epsilon] = (
                max(first, part * Fraction(epsilon)),
                max(second.get(epsilon, Fraction(0)), rest * Fraction(epsilon)),
            )
        return multiplier * (first + sum(second.values(), Fraction(0)))


def conversation(stage: Rounds, counted: dict[Visibility, Fraction], world: World) -> randomness.Law:
    """The law of all uploads of all rounds; ``counted`` is told the least that the ledger says they cost."""
    friends = Friends(np.array([False, *map(bool, world)]), ())

    def play(coins: randomness.ScriptedCoins) -> bytes:
        reports, said = list[bytes](), [chain.Said() for _ in stage.row]
        with chain.new_ledger() as ledger:
            for context in stage.contexts:
                coins.offer(stage.draws(context, world, said))
                first = chain.answered(ledger, Task(context, 1), friends, stage.coins(coins))
                bits = chain.read(context, first)
                reports.append(report_in(first))
                if len(context.charter.rounds) == 2:
                    coins.offer(stage.second_draws(context, bits.tolist()))
                    second = chain.answered(ledger, Task(context, 2), friends, stage.coins(coins))
                    reports.append(report_in(second))
                for place, kind in enumerate(stage.row):
                    said[place] |= {campaign.thresholds_of(context)[kind]: bool(bits[place])}
            with ledger.reading() as page:
                for kind, cost in standing(page, stage.contexts[-1]).items():
                    counted[kind] = min(cost, counted.get(kind, cost))
        return b"".join(reports)

    return randomness.walk(play)


def audit_rounds(name: str, stages: Iterable[Rounds], about: str) -> findings.Finding:
    """The joint loss of both rounds, beside what was agreed to and what the ledger counts."""

    def found(stage: Rounds) -> tuple[list[findings.Loss], int]:
        counted = dict[Visibility, Fraction]()
        worlds = small_worlds.neighbours(stage.row, 0)
        gaps = small_worlds.largest_gaps(stage.row, worlds, partial(conversation, stage, counted))
        losses = findings.losses_of(gaps, {kind: float(stage.agreed(kind)) for kind in gaps}, closed=False)
        told = [beside(loss, stage.agreed(kind), counted[kind]) for loss, kind in zip(losses, gaps, strict=True)]
        return told, small_worlds.neighbour_count(stage.row)

    return findings.exact_finding_over(name, map(found, stages), about)


def audit_salt(
    name: str, uploads: int, about: str, salt: Callable[[bytes], bytes] = lambda upload: upload
) -> findings.Finding:
    """How many uploads of the same report begin with the same bytes: they would tell reports apart.  [CHARTER.8]"""
    setting = numbers.Setting("degrees", "1", 4)
    context, given = setting.context(0), numbers.list_of(setting, 0, frozenset())
    seen = set[bytes]()
    for _ in range(uploads):
        with chain.new_ledger() as ledger:
            seen.add(salt(chain.answered(ledger, Task(context, 1), given, randomness.no_noise))[:SALT])
    return findings.Finding(name, "exact", (findings.Loss("salt", 0, uploads - len(seen)),), uploads, about)


# ── sequences of campaigns ──


def as_it_is(account: Account) -> Account:
    """The real ledger."""
    return account


def one_end_alone(account: Account) -> Account:
    """A mutant: what others answer is not counted."""
    return replace(account, others=())


def charged_once(account: Account) -> Account:
    """A mutant: of what two ends report, one end's half is counted."""
    return replace(account, charged=account.charged // 2)


def first_asked(place: int) -> tuple[model.Campaign, ...]:
    """One of the beginnings, in turn."""
    asked = BEGINNINGS[place % len(BEGINNINGS)]
    return tuple(
        model.Campaign(*each[:2], "spring", model.NAMES, each[2], f"First {i}") for i, each in enumerate(asked)
    )


def this_epoch_alone(page: Page, account: Account, epoch: str) -> Account:
    """A mutant: what other epochs have cost is forgotten."""
    return account


def audit_ledgers(
    name: str, seeds: range, about: str, reader: Reader = as_it_is, whole: Whole = whole_account
) -> findings.Finding:
    """Sequences of campaigns: the dearest position of each class, and three numbers that must be 0."""
    towns = list[Town]()
    for seed in seeds:
        dice = model.Dice(f"town {seed}")
        with chain.folder() as place:
            # Caps that are reached in every other town; without noise in one of three, so that lists show.
            narrow = seed % 2 == 1
            town = Town(place, NARROW if narrow else WIDE, seed % 3 == 0, dice, reader, whole)
            for each in (*(first_asked(seed // 2) if narrow else ()), *model.random_campaigns(dice, CAMPAIGNS)):
                town.hold(each)
        towns.append(town)
    extra = (
        findings.Loss("uncounted", 0.0, float(max(town.uncounted for town in towns))),
        findings.Loss("beyond a cap", 0.0, float(max(town.beyond for town in towns))),
        findings.Loss("otherwise", 0.0, sum(town.otherwise for town in towns)),
    )
    losses = findings.worst(loss for town in towns for loss in town.losses)
    return findings.Finding(name, "exact", (*losses, *extra), sum(town.cases for town in towns), about)


AUDITS = (
    findings.exact(
        "campaign positions, two rounds",
        audit_rounds,
        [
            Rounds((model.PRIVATE,), (ONE,)),
            Rounds((model.FRIEND_VISIBLE,), (ONE,)),
            Rounds((model.PRIVATE, model.FRIEND_VISIBLE), (ONE,)),
            Rounds((model.PRIVATE,), (ONE, LOW)),
            Rounds((model.PRIVATE,), (LOW, ONE, ONE)),
            Rounds((model.PRIVATE,), (ONE, (model.TWICE, "1/2"))),
        ],
        "both rounds jointly, with unequal shares; after other campaigns, and asked again; every coin walked",
    ),
    findings.exact("campaign salt", audit_salt, 8, "uploads, not ε: the same report, sent by eight people"),
    findings.exact(
        "campaign ledger",
        audit_ledgers,
        range(18),
        "what is counted beside what was lost, at both ends, after each of seven random campaigns, in eighteen towns",
    ),
)
LONG = (
    findings.exact(
        "campaign ledger",
        audit_ledgers,
        range(180),
        "what is counted beside what was lost, at both ends, after each of seven random campaigns, in 180 towns",
    ),
)
MUTANTS = (
    *findings.exact_mutants(
        audit_rounds,
        [
            (
                "campaign positions, two rounds, known coins",
                "It draws bytes that everybody knows.",
                [Rounds((model.PRIVATE,), (ONE,), coins=known_to_all)],
            )
        ],
    ),
    *findings.exact_mutants(
        partial(audit_salt, salt=lambda upload: bytes(SALT) + upload[SALT:]),
        [("campaign salt, none", "Uploads begin with zeros.", 8)],
    ),
    *findings.exact_mutants(
        partial(audit_ledgers, reader=one_end_alone),
        [("campaign ledger, one end alone", "What the other end answers about a position is not counted.", range(3))],
    ),
    *findings.exact_mutants(
        partial(audit_ledgers, reader=charged_once),
        [("campaign ledger, charged once", "Of what both ends report, one end's half is counted.", range(3))],
    ),
    *findings.exact_mutants(
        partial(audit_ledgers, whole=this_epoch_alone),
        [("campaign ledger, this epoch alone", "What other epochs have cost is not added for a lifetime.", range(3))],
    ),
)
