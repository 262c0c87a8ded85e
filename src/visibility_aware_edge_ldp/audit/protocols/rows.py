"""USER triangles and 4-cycles, both rounds: the policies that are walked, and mutants.  [WALK.1-3], [WALK.8-9]"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from visibility_aware_edge_ldp.audit.engine.findings import Audit, Finding, exact, exact_finding, recast, replaced
from visibility_aware_edge_ldp.audit.engine.noise_laws import Floats
from visibility_aware_edge_ldp.audit.engine.small_worlds import Pattern, patterns, positions
from visibility_aware_edge_ldp.audit.protocols import rows_walk
from visibility_aware_edge_ldp.audit.protocols.rows_stage import (
    Answers,
    Draw,
    RecordingSurvey,
    Split,
    Stage,
    no_noise_at_all,
)
from visibility_aware_edge_ldp.client.rows import FirstRound, TwoRoundClient
from visibility_aware_edge_ldp.mechanisms.randomness import Integers, RandomBytes
from visibility_aware_edge_ldp.public.surveys.rows import RowReport, RowSurvey
from visibility_aware_edge_ldp.public.visibility import Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
# As the software splits ε = 1; and one with much for the sum and a scale that may move fast.
USUAL = Split("58/100", "1/40", "79/200", "1/10", 0)
SPENDING = Split("2", "1", "9/2", "1/3", 5)
FOUR = {
    "all private": (PRIVATE,) * 6,
    "two classes": (PRIVATE, FRIEND_VISIBLE, PRIVATE, FRIEND_VISIBLE, PRIVATE, PRIVATE),
    "three classes": (PUBLIC, PRIVATE, FRIEND_VISIBLE, PRIVATE, PUBLIC, PRIVATE),
    "a public row": (PUBLIC, PUBLIC, PUBLIC, PRIVATE, PRIVATE, FRIEND_VISIBLE),
    "public among private friends": (PRIVATE, PRIVATE, FRIEND_VISIBLE, PUBLIC, PUBLIC, PUBLIC),
}
CYCLES = Split("13/20", "1/40", "13/40", "5/28", -4, "four_cycles")
# Where nearly all said no, paths through the user itself cancel others: without them M is a fifth too small, and β = 1
# leaves no room for that.
CANCELLING = Split("1", "1/100", "5/2", "2/5", 8, "four_cycles")
N = 7
SECOND = (2,)
# β is nearly 2/5, so that smooth bounds grow slowly up to a reach of 5/2 M, which a few friends exceed.
LONG_TRIANGLES = Split("2", "1/100", "99/100", "2/5", 5)
LONG_CYCLES = Split("2", "1/100", "99/100", "2/5", 2, "four_cycles")


class LongRow(NamedTuple):
    """User 0 of seven, all lists that it may have, and one transcript."""

    stage: Stage
    answers: Answers


def long_rows(split: Split) -> list[LongRow]:
    """All said yes; or every third said no. One row has both classes, and one is friend-visible throughout."""
    at = positions(N)
    mixed: Pattern = tuple(FRIEND_VISIBLE if u == 0 and v % 3 == 0 else PRIVATE for u, v in at)
    yes, most = (1,) * len(at), tuple(int((u + v) % 3 > 0) for u, v in at)
    private = Stage((PRIVATE,) * len(at), N, split)
    others = Stage(mixed, N, split), Stage((FRIEND_VISIBLE,) * len(at), N, split)
    return [LongRow(private, yes), LongRow(private, most), *(LongRow(stage, yes) for stage in others)]


def losses_of_row(row: LongRow, second: rows_walk.Second = rows_walk.second_report) -> Iterator[rows_walk.KindLoss]:
    """The loss of the second round for every list of user 0 and every neighbour of it."""
    stage, first = row.stage, row.stage.first_round(row.answers)
    told = rows_walk.second_losses(stage.survey.total_noise, stage.survey.reach_noise)
    lists = stage.lists(0)
    numbers = {friends: second(stage, 0, friends, first) for friends in lists}
    for kind, joined, without in rows_walk.neighbouring_lists(stage.row(0), lists):
        yield kind, max(told(numbers[joined], numbers[without]))


def walked_rows(rows: list[LongRow], second: rows_walk.Second = rows_walk.second_report) -> rows_walk.Walk:
    """The largest losses of the second round beside its price, and how many were compared."""
    return rows_walk.gathered((row.stage, SECOND, losses_of_row(row, second)) for row in rows)


def audit_long_rows(name: str, rows: list[LongRow], second: rows_walk.Second = rows_walk.second_report) -> Finding:
    """The largest losses over several transcripts."""
    losses, cases = walked_rows(rows, second)
    return exact_finding(
        name, losses, cases, f"the second round of a row of {N - 1}, every list, {len(rows)} transcripts"
    )


def every_policy(n: int, split: Split, everything: bool = True) -> list[Stage]:
    """Every policy that hides something; if ``everything``, with public edges and without, whoever answered."""
    hiding = [pattern for pattern in patterns(n) if set(pattern) != {PUBLIC}]
    bits = {pattern: (0, 1) if everything and PUBLIC in pattern else (1,) for pattern in hiding}
    return [Stage(pattern, n, split, bit, dropout=everything) for pattern in hiding for bit in bits[pattern]]


def cycle_stages(split: Split = CYCLES) -> list[Stage]:
    """Four users, the fewest that can have a 4-cycle; in one policy any of them may stay away."""
    names = ("all private", "three classes", "public among private friends")
    return [Stage(FOUR[name], 4, split, dropout=name == "three classes") for name in names]


def cancelling_row() -> LongRow:
    """User 0 of four, all of whom said no but for the last two, who said yes to each other."""
    return LongRow(Stage(FOUR["all private"], 4, CANCELLING), (0, 0, 0, 0, 0, 1))


def audit_everything(name: str, stages: list[Stage], four: list[Stage], rows: list[LongRow]) -> Finding:
    """Stages of which each case is worked out; policies of four users, where some is recalled; and long rows."""
    parts = rows_walk.walked_stages(stages), rows_walk.recalled_stages(four), walked_rows(rows)
    policies = len({(stage.n, stage.pattern) for stage in (*stages, *four)})
    about = f"every first transcript with every list of up to 4 users, {policies} policies, and long rows"
    return exact_finding(
        name, [loss for losses, _ in parts for loss in losses], sum(cases for _, cases in parts), about
    )


# ── mutants: the real client with one thing wrong, as its second reports ──

Change = Callable[[TwoRoundClient, RowSurvey, FirstRound], tuple[RowSurvey, FirstRound]]
"""From a client, its survey and the first round to the survey and first round that a mutant sums by."""


def summing_by(change: Change) -> rows_walk.Second:
    """Second reports of a client that sums by another survey, or another first round."""

    def total(client: TwoRoundClient, survey: RowSurvey, first: FirstRound, *given: Any) -> RowReport:
        return TwoRoundClient.total(client, *change(client, survey, first), *given)

    return partial(rows_walk.second_report, kind=replaced(TwoRoundClient, total=total))


def redrawn(survey: RowSurvey, draw: Draw) -> RecordingSurvey:
    """The same survey, but for how the noise on sums is drawn."""
    return replace(recast(RecordingSurvey, survey), draw=draw)


def rescaled(bounds_of: Callable[[TwoRoundClient, Floats, RowSurvey, FirstRound], Floats]) -> rows_walk.Second:
    """Second reports of a client that asks its noise for other bounds."""

    def change(client: TwoRoundClient, survey: RowSurvey, first: FirstRound) -> tuple[RowSurvey, FirstRound]:
        def draw(bounds: Floats, coins: RandomBytes) -> Integers:
            return survey.total_noise.sample_each(bounds_of(client, bounds, survey, first), coins)

        return redrawn(survey, draw), first

    return summing_by(change)


def noiseless_if(condition: Callable[[TwoRoundClient], bool]) -> rows_walk.Second:
    """Second reports of clients of which some add no noise to their sums."""
    return summing_by(
        lambda client, survey, first: (redrawn(survey, no_noise_at_all) if condition(client) else survey, first)
    )


class HalfTheLargest(FirstRound):
    """Half of what one friend can move a pull by, so that a bound is not as smooth as it must be."""

    @cached_property
    def largest(self) -> float:
        return super().largest / 2


# Enough noise for its own sum, and a scale that tells how long the list is.
scaled_by_own_degree = rescaled(
    lambda client, bounds, survey, first: (
        first.largest * 2.0**survey.fineness * np.maximum(1, np.diff(client._offsets)) + 2
    )
)
# The largest pull of its own list, without smoothing: an empty list shows by the lack of noise.
scaled_by_own_reach = rescaled(
    lambda client, bounds, survey, first: client._measure(survey, first)[0] * 2.0**survey.fineness + 2
)
half_the_bound = rescaled(lambda client, bounds, survey, first: bounds / 2)
# User 0 has a public profile and adds no noise to its sum, but part of its row is not public.
exact_if_public = noiseless_if(lambda client: not client._view.start)
# Whose list is empty has nothing to sum, and says so without noise.
sure_alone = noiseless_if(lambda client: not client._members.size)
misled_by_half = summing_by(
    lambda client, survey, first: (survey, HalfTheLargest(first.survey, first.public, first.transcript))
)
# Friend-visible positions hardly count in this survey; a client that measures by it leaves them out of its bound.
Blind = replaced(RowSurvey, ratio=property(lambda survey: Fraction(10**300)))
forgetful = partial(
    rows_walk.second_report,
    kind=replaced(
        TwoRoundClient,
        _measure=lambda client, survey, first: TwoRoundClient._measure(client, recast(Blind, survey), first),
    ),
)
TRIANGLES, FOUR_CYCLES = "user triangles, two rounds", "user 4-cycles, two rounds"
THREE, OPEN = (PRIVATE,) * 3, (FRIEND_VISIBLE,) * 6
_MUTANTS: tuple[tuple[str, Stage, rows_walk.Second], ...] = (
    (
        "noise scaled by the own degree (document 004)",
        Stage(THREE, 3, SPENDING._replace(share="1/12")),
        scaled_by_own_degree,
    ),
    (
        "a public user answers exactly, with friends' secrets in its row (document 004)",
        Stage((FRIEND_VISIBLE, FRIEND_VISIBLE, PRIVATE), 3, SPENDING),
        exact_if_public,
    ),
    ("noise scaled by the own sensitivity, without smoothing", Stage(THREE, 3, SPENDING), scaled_by_own_reach),
    ("no noise on the sum over an empty list", Stage(THREE, 3, USUAL), sure_alone),
    (
        "a reach that forgets friend-visible positions",
        Stage(OPEN, 4, SPENDING._replace(reach="1/20", total="4")),
        forgetful,
    ),
)
_LONG_MUTANTS: tuple[tuple[str, rows_walk.Second], ...] = (
    ("half the bound that the sum's noise needs", half_the_bound),
    ("half of what one friend moves a pull by, so that the noise's scale moves too fast", misled_by_half),
)


def mutant_stages() -> list[Stage]:
    """Where mutants are caught, the real code must hold."""
    return [stage for _, stage, _ in _MUTANTS]


def audit_triangles(everything: bool) -> Finding:
    """Of four users every policy: all of it, or with public edges and all answers."""
    three, four = ([stage for stage in mutant_stages() if stage.n == n] for n in (3, 4))
    stages = [*every_policy(3, USUAL), *three], [*every_policy(4, USUAL, everything), *four]
    return audit_everything(TRIANGLES, *stages, long_rows(LONG_TRIANGLES))


def audit_cycles(everything: bool) -> Finding:
    """Some policies of four users, or every one."""
    four = every_policy(4, CYCLES) if everything else []
    return audit_everything(FOUR_CYCLES, [], [*cycle_stages(), *four], [*long_rows(LONG_CYCLES), cancelling_row()])


def _audits(everything: bool) -> tuple[Audit, ...]:
    audits = ((TRIANGLES, audit_triangles), (FOUR_CYCLES, audit_cycles))
    return tuple(Audit(name, "exact", partial(run, everything)) for name, run in audits)


AUDITS = _audits(everything=False)
# Minutes: each kind of case is worked out three times; and 4-cycles depend on every answer, so that little is recalled.
LONG = _audits(everything=True)
MUTANTS = (
    *(exact(TRIANGLES, rows_walk.audit_rows, [stage], second, broken=broken) for broken, stage, second in _MUTANTS),
    *(
        exact(name, audit_long_rows, long_rows(split)[:1], second, broken=broken)
        for name, split in ((TRIANGLES, LONG_TRIANGLES), (FOUR_CYCLES, LONG_CYCLES))
        for broken, second in _LONG_MUTANTS
    ),
)
