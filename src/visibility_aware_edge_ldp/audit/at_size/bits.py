"""Randomized bits at size: POSITION in one round and two, samples, and first rounds of rows.

Every answer gets a word of its own: beside the place where flipping must begin for the ε that was asked for. The answer
must then be its own bit, flipped as its own word says: it depends on no other bit, no other word, and nothing else is
drawn. What an edge loses follows from where flipping begins.  [LARGE.3]
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.audit.engine import large_worlds as large
from visibility_aware_edge_ldp.audit.engine.findings import Audit, Finding, exact, replaced
from visibility_aware_edge_ldp.audit.engine.noise_laws import another_noise
from visibility_aware_edge_ldp.client.position import PositionClient
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.rows import TwoRoundClient
from visibility_aware_edge_ldp.client.sample import SampledPositionClient
from visibility_aware_edge_ldp.client.views import FriendLists, PositionBits
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes
from visibility_aware_edge_ldp.public.layout import unpack
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.surveys import position as layout
from visibility_aware_edge_ldp.public.surveys.position import PositionSurvey, position_survey
from visibility_aware_edge_ldp.public.surveys.rows import row_surveys
from visibility_aware_edge_ldp.public.surveys.sample import decode_sampled, encode_sampled
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

Answer = Callable[[int, RandomBytes], tuple[large.Bits, large.Bits]]
"""From a round and coins to which of the asked positions answered, and what they said."""
Client = Callable[["Setting", large.Bits], Answer]
# What the first round is made to say: everything a second round may hear.
FIRST = ("all", "none", "some")


@dataclass(frozen=True, eq=False)
class Setting:
    """A roster under a policy, a survey of its positions, and which positions are drawn and take part."""

    n: int
    policy: VisibilityPolicy
    epsilon: str = "1"
    shares: tuple[str, ...] = ("1",)
    sample: str = "1"
    absent: bool = False

    @cached_property
    def view(self) -> PublicView:
        return PublicView(range(self.n), self.policy, np.zeros((0, 2), np.int32))

    @cached_property
    def survey(self) -> PositionSurvey:
        return position_survey(self.view, self.epsilon, len(self.shares), self.shares[0], self.sample, "a coin")

    @cached_property
    def asked(self) -> large.Ints:
        """The numbers of the positions that are drawn."""
        every = np.arange(self.view.positions)
        return every if self.survey.sample is None else self.survey.drawn.between(0, every.size)

    @cached_property
    def present(self) -> large.Bits:
        """Which of them take part."""
        return (
            large.coin_bits(self.asked.size, self.n, "present") if self.absent else np.ones(self.asked.size, np.bool_)
        )

    @cached_property
    def classes(self) -> large.Ints:
        return np.asarray(self.view.classes.range(0, self.view.positions), np.int64)[self.asked]

    def price(self, kind: Visibility, number: int) -> Fraction:
        """What was asked for in this round."""
        return self.policy.multipliers.of(kind) * Fraction(self.epsilon) * Fraction(self.shares[number - 1])


def position_client(setting: Setting, bits: large.Bits, client: type[PositionClient] = PositionClient) -> Answer:
    """The real client of all positions, through the wire format."""
    users = client(PositionBits(0, bits), setting.view, _purse(setting))

    def answer(number: int, coins: RandomBytes) -> tuple[large.Bits, large.Bits]:
        report = layout.decode(layout.encode(users.answer(setting.survey, number, coins, setting.present)))
        return unpack(report.answered, report.count), unpack(report.ones, report.count)

    return answer


def sampled_client(setting: Setting, bits: large.Bits) -> Answer:
    """The real client of a sample."""
    client = SampledPositionClient(PositionBits(0, bits), setting.view, _purse(setting))

    def answer(number: int, coins: RandomBytes) -> tuple[large.Bits, large.Bits]:
        report = decode_sampled(encode_sampled(client.answer(setting.survey, number, coins, setting.present)))
        return unpack(report.answered, report.drawn), unpack(report.ones, report.drawn)

    return answer


def row_client(setting: Setting, bits: large.Bits) -> Answer:
    """All users in one call, in the first round of rows, at the ε that it would have alone."""
    n, lists = setting.n, np.zeros((setting.n, setting.n), np.bool_)
    lists[np.triu_indices(n, 1)] = bits
    lists |= lists.T
    held = FriendLists(0, np.concatenate([[0], np.cumsum(lists.sum(axis=1))]), np.nonzero(lists)[1].astype(np.int32))
    client = TwoRoundClient(held, setting.view, _purse(setting))
    whole = row_surveys(setting.view, setting.epsilon, ["triangles"])["triangles"]
    survey = type(whole)(setting.survey, whole.reach, whole.total, whole.share, whole.fineness)

    def answer(number: int, coins: RandomBytes) -> tuple[large.Bits, large.Bits]:
        report = layout.decode(layout.encode(client.answer(survey, number, coins)))
        return unpack(report.answered, report.count), unpack(report.ones, report.count)

    return answer


def _purse(setting: Setting) -> Purse:
    return Purse({kind: Fraction(setting.epsilon) * setting.policy.multipliers.of(kind) for kind in NON_PUBLIC})


def first_flips(said: str, bits: large.Bits, flips: large.Bits) -> large.Bits:
    """What turns these bits into a first round in which all say 1, none does, or some do."""
    return {"all": ~bits, "none": bits, "some": flips}[said]


def refuse_other_answers(setting: Setting, client: Client, bits: large.Bits, said: str) -> None:
    """Stop the audit if an answer is anything but its own bit, flipped by its own word."""
    own, answer = bits[setting.asked], client(setting, bits)
    due = taking_part = setting.present & (setting.classes != Visibility.PUBLIC)
    for number in range(1, len(setting.shares) + 1):
        flips, ties = (large.coin_bits(own.size, said, number, each) for each in ("flips", "ties"))
        if number == 1 and len(setting.shares) > 1:
            flips = first_flips(said, own, flips)
        octets = b""
        for kind in NON_PUBLIC:
            place = due & (setting.classes == kind)
            octets += large.flip_octets(large.threshold_of(setting.price(kind, number)), flips[place], ties[place])
        coins = large.Stream(octets)
        answered, ones = answer(number, coins)
        coins.refuse_rest()
        if not np.array_equal(answered, taking_part) or not np.array_equal(ones, (own ^ flips) & due):
            raise another_noise()
        due = due & ones


def audit_bits(name: str, client: Client, settings: Iterable[Setting], about: str) -> Finding:
    """Random and heavy worlds under each setting, every answer tried; losses from where flipping begins."""
    cases = list[large.Case]()
    for setting in settings:
        size = setting.view.positions
        for said in FIRST if len(setting.shares) > 1 else FIRST[-1:]:
            for bits in (large.coin_bits(size, "world"), np.arange(size) % 64 > 0):
                refuse_other_answers(setting, client, bits, said)
        for kind in NON_PUBLIC:
            if not (setting.classes == kind).any():
                continue
            prices = [setting.price(kind, number) for number in range(1, len(setting.shares) + 1)]
            found = sum(large.bit_loss(large.threshold_of(price)) for price in prices)
            billed = sum((setting.survey.round_price(kind, number + 1) for number in range(len(prices))), Fraction(0))
            cases.append(large.Case(kind, found, sum(prices, Fraction(0)), billed))
    return large.finding_of(name, cases, about)


# ── what is run ──

MIXED = VisibilityPolicy("0.1", "0.4", "0.5")
NOTHING = VisibilityPolicy.nothing()
_SOME = [
    Setting(20, MIXED, "1/2"),
    Setting(300, MIXED.guarded("3", "1/2"), absent=True),
    Setting(1000, MIXED.guarded("3", "1")),
]
_TWICE = [
    Setting(200, MIXED.guarded("5/2", "1"), shares=("1/4", "3/4"), absent=True),
    Setting(1000, MIXED, shares=("1/2", "1/2")),
]
_DRAWN = [
    Setting(200, MIXED, sample="1/2"),
    Setting(1000, MIXED.guarded("3", "1"), shares=("1/2", "1/2"), sample="1/3", absent=True),
]
_ROWS = [Setting(150, NOTHING), Setting(700, MIXED.guarded("3", "1"))]
AUDITS: dict[str, tuple[Audit, ...]] = {
    "position": (
        exact("position, at size", audit_bits, position_client, _SOME + _TWICE, "20 to 1,000 users, one round and two"),
    ),
    "sample": (exact("position, a sample, at size", audit_bits, sampled_client, _DRAWN, "200 and 1,000 users"),),
    "rows": (exact("user rows, round 1, at size", audit_bits, row_client, _ROWS, "150 and 700 users in one call"),),
}


# ── mutants: the real client with one thing wrong ──


def _asked_where_known(client: PositionClient, survey: PositionSurvey, number: int, *given: Any) -> Any:
    """Round 2 asks where round 1 said 1 and there is an edge."""
    first = client._answers.get((survey.identity, 1))
    if number == 2 and first is not None:
        known = np.frombuffer(first.ones, np.uint8) & client._view.packed
        client._answers[survey.identity, 1] = replace(first, ones=known.tobytes())
    return PositionClient.randomize(client, survey, number, *given)


AskedWhereKnown = replaced(PositionClient, randomize=_asked_where_known)


def audit_mutant(name: str, about: str) -> Finding:
    """A client that is refused draws other coins in worlds that differ in one edge: one of them tells."""
    setting = _TWICE[0]
    wrong = partial(position_client, client=AskedWhereKnown)
    try:
        refuse_other_answers(setting, wrong, large.coin_bits(setting.view.positions, "world"), "all")
    except ProtocolViolation:
        return large.finding_of(name, [large.Case(Visibility.PRIVATE, math.inf, Fraction(1), Fraction(1))], about)
    return large.finding_of(name, [large.Case(Visibility.PRIVATE, 0.0, Fraction(1), Fraction(1))], about)


_WRONG = "Round 2 asks only where the friend list has an edge."
MUTANTS = (exact("position, at size", audit_mutant, _WRONG, broken=_WRONG),)
