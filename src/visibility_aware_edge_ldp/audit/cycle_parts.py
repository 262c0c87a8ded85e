"""USER 4-cycles from parts of the first answers, walked exactly: every list, every group, all first answers.  [PARTS.9]

A part is the answers about the users of one group, so that a coin is which users are in the group of a user's part:
all sixteen choices of four users are walked, both rounds, and some of seven users.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import product
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.audit.engine import noise_laws
from visibility_aware_edge_ldp.audit.engine.findings import Audit, Finding, exact, exact_finding, replaced
from visibility_aware_edge_ldp.audit.protocols import rows_walk
from visibility_aware_edge_ldp.audit.protocols.rows import FOUR, LONG_CYCLES, LongRow, walked_rows
from visibility_aware_edge_ldp.audit.protocols.rows_stage import Draw, Friends, Redrawn, Split, Stage
from visibility_aware_edge_ldp.client.row_parts import CycleParts
from visibility_aware_edge_ldp.client.rows import FirstRound, TwoRoundClient
from visibility_aware_edge_ldp.counts.scores import Matrix
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.randomness import Integers, RandomBytes
from visibility_aware_edge_ldp.public.layout import Ints
from visibility_aware_edge_ldp.public.statistic import FOUR_CYCLES
from visibility_aware_edge_ldp.public.surveys.position import PositionSurvey
from visibility_aware_edge_ldp.public.surveys.row_parts import CyclePartSurvey
from visibility_aware_edge_ldp.public.surveys.rows import RowReport

NAME = "user 4-cycles, parts of the first answers"
GROUPS = 3
SHORT = Split("13/20", "1/40", "13/40", "5/28", -4, FOUR_CYCLES.name)
MIXED = FOUR["three classes"]
Inside = tuple[bool, ...]
Change = Callable[[CyclePartSurvey, FirstRound], tuple[CyclePartSurvey, FirstRound]]


@dataclass(frozen=True)
class WalkedSurvey(CyclePartSurvey):
    """A survey whose coin is given: who is in the group of everybody's part; a broken client draws in another way."""

    inside: Inside = ()
    draw: Draw | None = field(default=None, compare=False)

    def group_of(self, part: Ints, users: Ints) -> Ints:
        return np.where(np.array(self.inside)[users], 0, 1)

    def part_of(self, users: Ints) -> Ints:
        return np.zeros(users.shape, np.int64)

    @cached_property
    def reach_noise(self) -> DiscreteLaplace:
        return noise_laws.quick(DiscreteLaplace(self.multipliers.private * self.reach))

    @cached_property
    def total_noise(self) -> noise_laws.RecordingPower:
        noise = noise_laws.RecordingPower(self.multipliers.private * self.total, self.share)
        return Redrawn(noise.epsilon, noise.share, draw=self.draw) if self.draw else noise


@dataclass(frozen=True, eq=False)
class PartStage(Stage):
    """As ``Stage``, where these users are in the group of everybody's part."""

    inside: Inside = ()

    @cached_property
    def survey(self) -> WalkedSurvey:  # type: ignore[override]
        policy, split = self.view.policy, self.split
        first, reach, total, share = (Fraction(x) for x in (split.first, split.reach, split.total, split.share))
        answers = PositionSurvey(self.view.roster_digest, self.n, policy.digest, first, multipliers=policy.multipliers)
        return WalkedSurvey(
            answers, reach, total, share, split.fineness, split.statistic, GROUPS, GROUPS, "", self.inside
        )


def part_stages(everything: bool) -> list[PartStage]:
    """Four users, and every choice of those in the group; or some of them."""
    coins = list(product((False, True), repeat=4))
    some, others = (coins, coins) if everything else (coins[1::6], coins[2::7])
    private = [PartStage(FOUR["all private"], 4, SHORT, inside=each) for each in some]
    return private + [PartStage(MIXED, 4, SHORT, dropout=True, inside=each) for each in others]


def long_rows() -> list[LongRow]:
    """User 0 of seven: in its part's group and not, and both with all answers 1 and with every third one 0."""
    at = [(u, v) for u in range(7) for v in range(u + 1, 7)]
    yes, most = (1,) * len(at), tuple(int((u + v) % 3 > 0) for u, v in at)
    coins = (False, True, False, True, True, False, True), (True, False, True, False, True, True, False)
    kinds = (FOUR["all private"][0],) * len(at)
    return [
        LongRow(PartStage(kinds, 7, LONG_CYCLES, inside=inside), said)
        for inside, said in ((coins[0], yes), (coins[1], yes), (coins[1], most))
    ]


def second_report(stage: Stage, user: int, friends: Friends, first: FirstRound) -> rows_walk.Numbers:
    """What a second report is made of; where nobody answered 1, also that the noise is drawn that it asks for."""
    walked = rows_walk.report_without_noise if first.transcript.ones.any() else rows_walk.second_report
    return walked(stage, user, friends, first)


def audit_cycle_parts(
    name: str, stages: list[PartStage], rows: list[LongRow], second: rows_walk.Second = second_report
) -> Finding:
    """The largest losses of both rounds over all coins, lists and first answers; and of the second for long rows."""
    parts = rows_walk.walked_stages(stages, second), walked_rows(rows, second)
    losses, cases = [loss for found, _ in parts for loss in found], sum(cases for _, cases in parts)
    return exact_finding(name, losses, cases, f"every list of 4 users, {len(stages)} coins and policies, and long rows")


# ── mutants ──


def summing_by(change: Change) -> rows_walk.Second:
    """Second reports of a client that sums by another survey, or another first round."""

    def total(client: TwoRoundClient, survey: Any, first: FirstRound, *given: Any) -> RowReport:
        return TwoRoundClient.total(client, *change(survey, first), *given)

    return partial(rows_walk.report_without_noise, kind=replaced(TwoRoundClient, total=total))


def _with_noise_for(part: float) -> Change:
    def change(survey: CyclePartSurvey, first: FirstRound) -> tuple[CyclePartSurvey, FirstRound]:
        def draw(bounds: noise_laws.Floats, coins: RandomBytes) -> Integers:
            return survey.total_noise.sample_each(bounds * part, coins)

        return replace(survey, draw=draw), first  # type: ignore[call-arg]

    return change


class HalfTheLargest(CycleParts):
    """Half of what one friend can move a pull by."""

    def paths(self, part: int) -> tuple[Matrix, float]:
        paths, largest = super().paths(part)
        return paths, largest / 2


def _misled(survey: CyclePartSurvey, first: FirstRound) -> tuple[CyclePartSurvey, FirstRound]:
    found = FirstRound(first.survey, first.public, first.transcript)
    vars(found)["parts"] = HalfTheLargest(survey, first.scores, first.parts.rates)
    return survey, found


def _peeking(client: TwoRoundClient, survey: Any, first: FirstRound, *given: Any) -> RowReport:
    """Whoever is a friend of user 1 asks for another part."""
    other = replace(survey, inside=tuple(not each for each in survey.inside))
    seen = FirstRound(first.survey, first.public, first.transcript)
    vars(seen)["parts"] = CycleParts(other, first.scores, first.parts.rates)
    return TwoRoundClient.total(client, survey, seen if 1 in client._members else first, *given)


MUTANTS: tuple[Audit, ...] = tuple(
    exact(NAME, audit_cycle_parts, [], long_rows()[:1], second, broken=broken)
    for broken, second in (
        ("the share is missing in the noise", summing_by(_with_noise_for(1 / GROUPS))),
        ("half the bound that the sum's noise needs", summing_by(_with_noise_for(1 / 2))),
        ("half of what one friend moves a pull by", summing_by(_misled)),
        (
            "a coin that a private edge has a say in",
            partial(rows_walk.report_without_noise, kind=replaced(TwoRoundClient, total=_peeking)),
        ),
    )
)
AUDITS: tuple[Audit, ...] = (exact(NAME, audit_cycle_parts, part_stages(everything=False), long_rows()),)
LONG: tuple[Audit, ...] = (exact(NAME, audit_cycle_parts, part_stages(everything=True), long_rows()),)
