"""USER triangles and 4-cycles, both rounds, every transcript walked.  [WALK.1-3], [WALK.8]

The real clients answer, hear the transcript and sum. A transcript is *every* pattern of answers of every set of users
who answered, whoever wrote it. Given the transcript the two numbers of a user are independent, so the worst loss over
all their values is the sum of the worst losses of both.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from visibility_aware_edge_ldp.audit.engine import noise_laws
from visibility_aware_edge_ldp.audit.engine.enumerate_randomness import Law, ScriptedCoins, flip_coin, no_noise, walk
from visibility_aware_edge_ldp.audit.engine.findings import Finding, Loss, as_asked, exact_finding, largest
from visibility_aware_edge_ldp.audit.engine.small_worlds import by_row
from visibility_aware_edge_ldp.audit.protocols.rows_stage import BOTH, Answers, Friends, Recall, Rounds, Row, Stage
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.rows import FirstRound, TwoRoundClient
from visibility_aware_edge_ldp.client.views import FriendLists
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.power_noise import SmoothPower
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes
from visibility_aware_edge_ldp.public.layout import unpack
from visibility_aware_edge_ldp.public.surveys.position import decode, encode
from visibility_aware_edge_ldp.public.surveys.rows import decode_rows, encode_rows
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility


class Numbers(NamedTuple):
    """What a user's second report is made of: its reach in steps, its sum in units, and the bound of its noise."""

    reach: int
    total: noise_laws.Noised


Second = Callable[[Stage, int, Friends, FirstRound], Numbers]
FirstLaw = Callable[[Stage, int, Friends], Law]
KindLoss = tuple[Visibility, float]
Walk = tuple[list[Loss], int]
_ROUNDING = 1e-12


def client(stage: Stage, user: int, friends: Friends, kind: type[TwoRoundClient] = TwoRoundClient) -> TwoRoundClient:
    """The real client of one user, whose purse holds exactly what was asked for."""
    held = FriendLists(user, np.array([0, len(friends)]), np.array(friends, np.int32))
    return kind(held, stage.view, Purse({each: stage.agreed(each) for each in NON_PUBLIC}))


def second_report(
    stage: Stage, user: int, friends: Friends, first: FirstRound, kind: type[TwoRoundClient] = TwoRoundClient
) -> Numbers:
    """What a client's second report is made of, and that it adds the noise which it asks for.

    It is run twice more: at both ends of the step to 1 of the noises which it then should add.  [WALK.1]
    """
    said = report_without_noise(stage, user, friends, first, kind)
    still, bound = np.array([said.reach, said.total.number]), said.total.bound
    law = noise_laws.law_of(stage.survey.total_noise, bound) if bound else None
    words = noise_laws.beside(stage.survey.reach_noise.law), noise_laws.step_words(law)
    # Who asks for no noise must not add any.
    if not np.array_equal(
        noise_laws.moves(partial(_sent, stage, user, friends, first, kind), still, words), [1, bound > 0]
    ):
        raise noise_laws.another_noise()
    return said


def report_without_noise(
    stage: Stage, user: int, friends: Friends, first: FirstRound, kind: type[TwoRoundClient] = TwoRoundClient
) -> Numbers:
    """The numbers of a client that draws no noise, and the bound that it asks its noise for."""
    bounds = stage.survey.total_noise.bounds
    bounds.clear()
    reach, total = _sent(stage, user, friends, first, kind, no_noise)
    (bound,) = bounds or [Decimal(0)]
    return Numbers(int(reach), noise_laws.Noised(int(total), bound))


def _sent(
    stage: Stage, user: int, friends: Friends, first: FirstRound, kind: type[TwoRoundClient], coins: RandomBytes
) -> noise_laws.Ints:
    """Both rounds of a client, through the wire format."""
    users = client(stage, user, friends, kind)
    users.answer(stage.survey, 1, no_noise)
    report = decode_rows(encode_rows(users.total(stage.survey, first, coins)))
    return np.array([report.reaches[0], report.totals[0]])


def first_law(stage: Stage, user: int, friends: Friends) -> Law:
    """The exact law of a real client's first answers: every pattern of flips, through the wire format."""
    row = stage.row(user)
    asked = [[kind for _, _, kind in row if kind is each] for each in NON_PUBLIC]
    batches = [[flip_coin(stage.survey.first.mechanism(kind, 1)) for kind in kinds] for kinds in asked if kinds]

    def play(coins: ScriptedCoins) -> bytes:
        coins.offer(batches)
        report = decode(encode(client(stage, user, friends).answer(stage.survey, 1, coins)))
        said = zip(unpack(report.answered, len(row)), unpack(report.ones, len(row)), strict=True)
        return as_bytes(tuple(int(one) if here else None for here, one in said))

    return walk(play)


def as_bytes(answers: Answers) -> bytes:
    """A byte for each position."""
    return bytes(255 if said is None else said for said in answers)


def losses_of(stage: Stage, second: Second = second_report, law: FirstLaw = first_law) -> Iterator[KindLoss]:
    """The loss of both rounds for every transcript, every list and every neighbour of it."""
    sums_and_reaches = second_losses(stage.survey.total_noise, stage.survey.reach_noise)
    for user in stage.asked:
        lists, row = stage.lists(user), stage.row(user)
        laws = {friends: law(stage, user, friends) for friends in lists}
        pairs = list(neighbouring_lists(row, lists))
        told = cache(lambda joined, without, own, laws=laws: math.log(laws[joined][own] / laws[without][own]))
        for answers in stage.transcripts(user):
            first, own = stage.first_round(answers), as_bytes(tuple(answers[place] for place, _, _ in row))
            numbers = {friends: second(stage, user, friends, first) for friends in lists}
            for kind, joined, without in pairs:
                first_loss = told(joined, without, own)
                more, less = sums_and_reaches(numbers[joined], numbers[without])
                yield kind, max(first_loss + more, less - first_loss)


def neighbouring_lists(row: Row, lists: list[Friends]) -> Iterator[tuple[Visibility, Friends, Friends]]:
    """Every pair of lists that differ by one friend that is not public."""
    for _, x, kind in row:
        if kind is not Visibility.PUBLIC:
            yield from ((kind, tuple(sorted((*without, x))), without) for without in lists if x not in without)


@cache
def second_losses(noise: SmoothPower, reach_noise: DiscreteLaplace) -> Callable[[Numbers, Numbers], noise_laws.Pair]:
    """How well two second reports are told apart, kept for each pair of them."""

    def losses(one: Numbers, other: Numbers) -> noise_laws.Pair:
        sums = noise_laws.power_losses(noise, one.total, other.total)
        reaches = noise_laws.laplace_losses((one.reach, reach_noise), (other.reach, reach_noise))
        return sums[0] + reaches[0], sums[1] + reaches[1]

    return cache(losses)


def walked_stages(stages: Iterable[Stage], second: Second = second_report, law: FirstLaw = first_law) -> Walk:
    """The largest losses of each stage beside its claims, and how many were compared."""
    return gathered((stage, BOTH, losses_of(stage, second, law)) for stage in stages)


def gathered(walks: Iterable[tuple[Stage, Rounds, Iterator[KindLoss]]]) -> Walk:
    """The largest losses of each walk beside what was asked for and what is billed, and their number.  [WALK.10]"""
    losses: list[Loss] = []
    cases = 0
    for stage, rounds, found in walks:
        by_kind: dict[Visibility, float] = {}
        for kind, loss in found:
            cases += 1
            by_kind[kind] = largest([loss, by_kind.get(kind, 0.0)])
        for kind, loss in by_kind.items():
            agreed = stage.agreed(kind, rounds)
            losses.append(as_asked(Loss(str(kind), float(agreed), loss), agreed, stage.billed(kind, rounds)))
    return losses, cases


def audit_rows(name: str, stages: list[Stage], second: Second = second_report) -> Finding:
    """The largest losses over several stages, beside their claims."""
    losses, cases = walked_stages(stages, second)
    about = f"every first transcript with every list of up to {max(s.n for s in stages)} users, {len(stages)} policies"
    return exact_finding(name, losses, cases, about)


def recalled_stages(stages: Iterable[Stage]) -> Walk:
    """The same, where what is the same to a user is worked out once.  [WALK.8]"""
    return walked_stages(stages, Recall(second_report, same_numbers, report_without_noise), by_row(first_law))


def same_numbers(one: Numbers, other: Numbers) -> bool:
    """Whether two second reports are made of the same numbers; doubles summed in another order differ a little."""
    whole = (one.reach, one.total.number) == (other.reach, other.total.number)
    return whole and math.isclose(float(one.total.bound), float(other.total.bound), rel_tol=_ROUNDING)
