"""Both rounds of positions in campaigns, every coin walked through the participant's program; and uploads' salt.

The program answers with a real ledger, and reports are read as a server reads them. All uploads together are compared
between neighbouring worlds, beside what was agreed to and beside what the ledger counts.  [LEDGER.2]
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from visibility_aware_edge_ldp.audit.campaigns import numbers
from visibility_aware_edge_ldp.audit.campaigns.numbers import Coins, as_given, beside, known_to_all
from visibility_aware_edge_ldp.audit.engine import enumerate_randomness as randomness
from visibility_aware_edge_ldp.audit.engine import findings, small_worlds
from visibility_aware_edge_ldp.audit.engine.small_worlds import World
from visibility_aware_edge_ldp.audit.protocols import campaign, chain
from visibility_aware_edge_ldp.campaign.participant.answering import Task, standing
from visibility_aware_edge_ldp.campaign.participant.friend_lists import Friends
from visibility_aware_edge_ldp.campaign.participant.reports import ParticipantContext
from visibility_aware_edge_ldp.campaign.wire_format import SALT, report_in
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
TWICE = "position" + chain.TWICE


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
        multiplier = {PRIVATE: 1, FRIEND_VISIBLE: 2}[kind]
        for question, epsilon in self.asked:
            part, rest = chain.SPLIT if question == TWICE else (Fraction(1), Fraction(0))
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


ONE, LOW = (TWICE, "1"), ("position", "1/2")
AUDITS = (
    findings.exact(
        "campaign positions, two rounds",
        audit_rounds,
        [
            Rounds((PRIVATE,), (ONE,)),
            Rounds((FRIEND_VISIBLE,), (ONE,)),
            Rounds((PRIVATE, FRIEND_VISIBLE), (ONE,)),
            Rounds((PRIVATE,), (ONE, LOW)),
            Rounds((PRIVATE,), (LOW, ONE, ONE)),
            Rounds((PRIVATE,), (ONE, (TWICE, "1/2"))),
        ],
        "both rounds jointly, with unequal shares; after other campaigns, and asked again; every coin walked",
    ),
    findings.exact("campaign salt", audit_salt, 8, "uploads, not ε: the same report, sent by eight people"),
)
MUTANTS = (
    *findings.exact_mutants(
        audit_rounds,
        [
            (
                "campaign positions, two rounds, known coins",
                "It draws bytes that everybody knows.",
                [Rounds((PRIVATE,), (ONE,), coins=known_to_all)],
            )
        ],
    ),
    *findings.exact_mutants(
        partial(audit_salt, salt=lambda upload: bytes(SALT) + upload[SALT:]),
        [("campaign salt, none", "Uploads begin with zeros.", 8)],
    ),
)
