"""USER triangles and 4-cycles, both rounds, every transcript walked.  [WALK.1-3]

The real clients answer, hear the transcript and sum. A transcript is *every* pattern of answers of every set of users
who answered, whoever wrote it. Given the transcript the two numbers of a user are independent, so the worst loss over
all their values is the sum of the worst losses of both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import fields
from fractions import Fraction
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np

from visibility_aware_edge_ldp.client.purse import Purse
from visibility_aware_edge_ldp.client.user_triangles import FirstRound, RowHolders
from visibility_aware_edge_ldp.client.views import FriendLists
from visibility_aware_edge_ldp.evaluation.audit.coin_walk import Law, ScriptedCoins, flip_coin, walk
from visibility_aware_edge_ldp.evaluation.audit.finding import Audit, Finding, Loss
from visibility_aware_edge_ldp.evaluation.audit.noise_loss import (
    Noised,
    check_noise,
    exact_finding,
    laplace_losses,
    loss_of,
    no_noise,
    power_losses,
)
from visibility_aware_edge_ldp.evaluation.audit.row_stage import Answers, Friends, Split, Stage
from visibility_aware_edge_ldp.evaluation.audit.small_worlds import patterns
from visibility_aware_edge_ldp.mechanisms.entropy import Coins
from visibility_aware_edge_ldp.public.codec import decode, encode
from visibility_aware_edge_ldp.public.report import unpack
from visibility_aware_edge_ldp.public.row_report import decode_rows, encode_rows
from visibility_aware_edge_ldp.public.triangle_survey import TriangleSurvey
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility
from visibility_aware_edge_ldp.subgraphs.scores import Floats


class Numbers(NamedTuple):
    """What a user's second report is made of: its reach in steps, its sum in units, and the bound of its noise."""

    reach: int
    total: Noised


Second = Callable[[Stage, int, Friends, FirstRound], Numbers]
Client = TypeVar("Client", bound=RowHolders)


def client(stage: Stage, user: int, friends: Friends, kind: type[Client]) -> Client:
    """The real client of one user, whose purse holds exactly what the survey costs."""
    purse = Purse({each: stage.survey.multipliers.of(each) * stage.survey.epsilon for each in NON_PUBLIC})
    held = FriendLists(user, np.array([0, len(friends)]), np.array(friends, np.int32))
    return kind(held, stage.view, purse)


def second_report(stage: Stage, users: RowHolders, first: FirstRound, coins: Coins = no_noise) -> Numbers:
    """Both rounds of a client, through the wire format; what it sends is what its noise is added to."""
    users.answer(stage.survey, no_noise)
    stage.survey.total_noise.bounds.clear()
    report = decode_rows(encode_rows(users.total(stage.survey, first, coins)))
    (bound,) = stage.survey.total_noise.bounds
    return Numbers(int(report.reaches[0]), Noised(int(report.totals[0]), bound))


def real_client(stage: Stage, user: int, friends: Friends, first: FirstRound) -> Numbers:
    """What the real client's second report is made of."""
    return second_report(stage, client(stage, user, friends, RowHolders), first)


def check_client(stage: Stage) -> None:
    """That a real client adds the noises it is heard to ask for."""
    user = stage.asked[0]
    friends, first = stage.lists(user)[-1], stage.first_round(next(stage.transcripts(user)))
    bound = real_client(stage, user, friends, first).total.bound

    def numbers(coins: Coins) -> list[int]:
        said = second_report(stage, client(stage, user, friends, RowHolders), first, coins)
        return [said.reach, said.total.number]

    check_noise(numbers, [stage.survey.reach_noise.law, stage.survey.total_noise.law(bound)])


def first_law(stage: Stage, user: int, friends: Friends) -> Law:
    """The exact law of a real client's first answers: every pattern of flips, through the wire format."""
    row = stage.row(user)
    asked = [[kind for _, _, kind in row if kind is each] for each in NON_PUBLIC]
    batches = [[flip_coin(stage.survey.first.mechanism(kind, 1)) for kind in kinds] for kinds in asked if kinds]

    def play(coins: ScriptedCoins) -> bytes:
        coins.offer(batches)
        report = decode(encode(client(stage, user, friends, RowHolders).answer(stage.survey, coins)))
        said = zip(unpack(report.answered, len(row)), unpack(report.ones, len(row)), strict=True)
        return as_bytes(tuple(int(one) if here else None for here, one in said))

    return walk(play)


def as_bytes(answers: Answers) -> bytes:
    """A byte for each position."""
    return bytes(255 if said is None else said for said in answers)


def losses_of(stage: Stage, second: Second = real_client) -> Iterator[tuple[Visibility, float]]:
    """The loss of both rounds for every transcript, every list and every neighbour of it."""
    for user in stage.asked:
        lists, row = stage.lists(user), stage.row(user)
        laws = {friends: first_law(stage, user, friends) for friends in lists}
        for answers in stage.transcripts(user):
            first, own = stage.first_round(answers), as_bytes(tuple(answers[place] for place, _, _ in row))
            numbers = {friends: second(stage, user, friends, first) for friends in lists}
            for _, x, kind in row:
                if kind is Visibility.PUBLIC:
                    continue
                for without in (friends for friends in lists if x not in friends):
                    joined = tuple(sorted((*without, x)))
                    told = math.log(laws[joined][own] / laws[without][own])
                    yield kind, _both_rounds(stage.survey, told, numbers[joined], numbers[without])


def _both_rounds(survey: TriangleSurvey, told: float, one: Numbers, other: Numbers) -> float:
    noise = survey.reach_noise
    sums = power_losses(survey.total_noise, one.total, other.total)
    reaches = laplace_losses((one.reach, noise), (other.reach, noise))
    return max(told + sums[0] + reaches[0], -told + sums[1] + reaches[1])


def largest_losses(stage: Stage, second: Second = real_client) -> dict[Visibility, float]:
    """The largest loss for each class of what differs."""
    largest: dict[Visibility, float] = {}
    for kind, loss in losses_of(stage, second):
        largest[kind] = max(largest.get(kind, 0.0), loss)
    return largest


def audit_rows(name: str, stages: list[Stage], second: Second = real_client) -> Finding:
    """The largest losses over several stages, beside their claims."""
    losses: list[Loss] = []
    cases = 0
    for stage in stages:
        check_client(stage)
        found = list(losses_of(stage, second))
        cases += len(found)
        losses += [
            loss_of(kind, stage.claim(kind), max(loss for other, loss in found if other is kind))
            for kind in {kind for kind, _ in found}
        ]
    about = f"every first transcript with every list of up to {max(s.n for s in stages)} users, {len(stages)} policies"
    return exact_finding(name, losses, cases, about)


# ── what is run ──

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


def triangle_stages(split: Split = USUAL) -> list[Stage]:
    """Three users with every policy, whoever answered; four with some."""
    three = [pattern for pattern in patterns(3) if set(pattern) != {PUBLIC}]
    bits = {pattern: (0, 1) if PUBLIC in pattern else (1,) for pattern in three}
    small = [Stage(pattern, 3, split, bit, dropout=True) for pattern in three for bit in bits[pattern]]
    return [*small, *(Stage(pattern, 4, split, dropout=name == "all private") for name, pattern in FOUR.items())]


def cycle_stages(split: Split = CYCLES) -> list[Stage]:
    """Four users, the fewest that can have a 4-cycle; in one policy any of them may stay away."""
    names = ("all private", "three classes", "public among private friends")
    return [Stage(FOUR[name], 4, split, dropout=name == "three classes") for name in names]


def scaled_by_own_degree(stage: Stage, user: int, friends: Friends, first: FirstRound) -> Numbers:
    """Enough noise for its own sum, and a scale that tells how long the list is."""
    honest = real_client(stage, user, friends, first)
    bound = first.largest * 2.0**stage.survey.fineness * max(1, len(friends)) + 2
    return honest._replace(total=Noised(honest.total.number, Fraction(bound)))


def exact_if_public(stage: Stage, user: int, friends: Friends, first: FirstRound) -> Numbers:
    """User 0 has a public profile and adds no noise, but part of its row is not public."""
    honest = real_client(stage, user, friends, first)
    return honest if user else honest._replace(total=Noised(honest.total.number, 0))


class Unsmoothed(RowHolders):
    """Tells the reach of its own list."""

    def reach(self, survey: TriangleSurvey, first: FirstRound) -> float:
        return float(self._measure(survey, first)[0][0])


def scaled_by_own_reach(stage: Stage, user: int, friends: Friends, first: FirstRound) -> Numbers:
    """The largest pull of its own list, without smoothing: an empty list shows by the lack of noise."""
    users = client(stage, user, friends, Unsmoothed)
    bound = users.reach(stage.survey, first) * 2.0**stage.survey.fineness + 2
    honest = second_report(stage, users, first)
    return honest._replace(total=Noised(honest.total.number, Fraction(bound)))


class Blind(TriangleSurvey):
    """A survey by which friend-visible positions hardly count."""

    @property
    def ratio(self) -> Fraction:
        return Fraction(10**300)


class Forgetful(RowHolders):
    """Leaves friend-visible positions out of its reach."""

    def _measure(self, survey: TriangleSurvey, first: FirstRound) -> tuple[Floats, Floats]:
        return super()._measure(Blind(*(getattr(survey, each.name) for each in fields(survey))), first)


def forgetful(stage: Stage, user: int, friends: Friends, first: FirstRound) -> Numbers:
    """A reach, and so a bound, that friend-visible positions have no part in."""
    return second_report(stage, client(stage, user, friends, Forgetful), first)


TRIANGLES, FOUR_CYCLES = "user triangles, two rounds", "user 4-cycles, two rounds"
THREE, OPEN = (PRIVATE,) * 3, (FRIEND_VISIBLE,) * 6
_TWINS: tuple[tuple[str, Stage, Second], ...] = (
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
    (
        "a reach that forgets friend-visible positions",
        Stage(OPEN, 4, SPENDING._replace(reach="1/20", total="4")),
        forgetful,
    ),
)
AUDITS: tuple[Audit, ...] = (
    Audit(TRIANGLES, "exact", lambda: audit_rows(TRIANGLES, triangle_stages())),
    Audit(FOUR_CYCLES, "exact", lambda: audit_rows(FOUR_CYCLES, cycle_stages())),
)
TWINS: tuple[Audit, ...] = tuple(
    Audit(TRIANGLES, "exact", partial(audit_rows, TRIANGLES, [stage], second), broken)
    for broken, stage, second in _TWINS
)
