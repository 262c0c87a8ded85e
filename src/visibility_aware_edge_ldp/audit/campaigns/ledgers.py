"""The audit of ledgers: what they count beside what was really lost, in many towns.  [LEDGER.2]"""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial

from visibility_aware_edge_ldp.audit.campaigns.model import (
    FRIEND_VISIBLE,
    NAMES,
    PRIVATE,
    Campaign,
    Dice,
    random_campaigns,
)
from visibility_aware_edge_ldp.audit.campaigns.town import Reader, Town
from visibility_aware_edge_ldp.audit.engine import findings
from visibility_aware_edge_ldp.audit.protocols import chain
from visibility_aware_edge_ldp.campaign.participant.accounts import Account
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

CAMPAIGNS = 7
WIDE: Mapping[Visibility, Fraction] = dict.fromkeys(NON_PUBLIC, Fraction(100))
NARROW: Mapping[Visibility, Fraction] = {PRIVATE: Fraction(3, 4), FRIEND_VISIBLE: Fraction(7, 4)}
# One hub, asked more than is allowed for positions between others.
OF_ONE_HUB = tuple(Campaign("hubs", each, "spring", NAMES, 0, f"Hub {each}") for each in ("1/2", "1/4", "1/8"))


def as_it_is(account: Account) -> Account:
    """The real ledger."""
    return account


def one_end_alone(account: Account) -> Account:
    """A mutant: what others answer is not counted."""
    return replace(account, others=())


def charged_once(account: Account) -> Account:
    """A mutant: of what two ends report, one end's half is counted."""
    return replace(account, charged=account.charged // 2)


def audit_ledgers(name: str, seeds: range, about: str, reader: Reader = as_it_is) -> findings.Finding:
    """Sequences of campaigns: the dearest position of each class, and three numbers that must be 0."""
    towns = list[Town]()
    for seed in seeds:
        dice = Dice(f"town {seed}")
        with chain.folder() as place:
            # Caps that are reached in every other town; without noise in one of three, so that lists show.
            narrow = seed % 2 == 1
            town = Town(place, NARROW if narrow else WIDE, seed % 3 == 0, dice, reader)
            for campaign in (*(OF_ONE_HUB if narrow else ()), *random_campaigns(dice, CAMPAIGNS)):
                town.hold(campaign)
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
        partial(audit_ledgers, reader=one_end_alone),
        [("campaign ledger, one end alone", "What the other end answers about a position is not counted.", range(3))],
    ),
    *findings.exact_mutants(
        partial(audit_ledgers, reader=charged_once),
        [("campaign ledger, charged once", "Of what both ends report, one end's half is counted.", range(3))],
    ),
)
