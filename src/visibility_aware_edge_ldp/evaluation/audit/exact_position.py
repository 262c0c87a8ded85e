"""The whole POSITION protocol, every coin walked: no transcript tells more than promised.  [AUDIT.2], [POSITION.1]"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from itertools import chain, product

import numpy as np

from visibility_aware_edge_ldp.client.position import Bits, Respondent
from visibility_aware_edge_ldp.client.purse import Purse
from visibility_aware_edge_ldp.client.views import PositionBits
from visibility_aware_edge_ldp.evaluation.audit.coin_walk import (
    Batch,
    Coin,
    Law,
    ScriptedCoins,
    flip_coin,
    walk,
)
from visibility_aware_edge_ldp.evaluation.audit.exact_loss import Gaps, largest_gaps, losses_of
from visibility_aware_edge_ldp.evaluation.audit.finding import Audit, Finding, Loss
from visibility_aware_edge_ldp.evaluation.audit.noise_loss import exact_finding
from visibility_aware_edge_ldp.evaluation.audit.small_worlds import (
    Guard,
    Pattern,
    World,
    neighbours,
    neighbours_up_to_names,
    patterns,
    patterns_up_to_names,
    view_of,
)
from visibility_aware_edge_ldp.public.codec import encode
from visibility_aware_edge_ldp.public.report import unpack
from visibility_aware_edge_ldp.public.survey import PositionSurvey, position_survey
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
Client = Callable[[PositionBits, PublicView, Purse], Respondent]
CoinOf = Callable[[PositionSurvey, Visibility, int], Coin]


def survey_coin(survey: PositionSurvey, kind: Visibility, round_number: int) -> Coin:
    """The coin of this class and round, as measured on the survey's own mechanism."""
    return flip_coin(survey.mechanism(kind, round_number))


@dataclass(frozen=True)
class Stage:
    """A conversation to be walked.

    Parameters
    ----------
    pattern, n, guard
        The classes of all positions of n nodes, and how well the policy guards each class.
    asked
        The rounds in the order in which they are asked; asked again is part of the promise.
    sizes
        How many positions each respondent holds; by default one holds all.
    absent
        Positions that do not take part.
    up_to_names
        Whether one pair of worlds stands for all that differ by the names of the nodes only.
    client, question, coin
        The code that answers, the survey, and the coins that it draws: the real ones, or a broken twin's.
    """

    pattern: Pattern
    n: int
    epsilon: str = "1"
    asked: tuple[int, ...] = (1,)
    guard: Guard = ("2", "1")
    first_share: str = "1/2"
    sizes: tuple[int, ...] = ()
    absent: frozenset[int] = frozenset()
    up_to_names: bool = False
    client: Client = Respondent
    question: Callable[[PositionSurvey], PositionSurvey] = lambda survey: survey
    coin: CoinOf = survey_coin

    @property
    def view(self) -> PublicView:
        return _view(self.pattern, self.n, self.guard)

    @property
    def survey(self) -> PositionSurvey:
        return self.question(_survey(self.view, self.epsilon, max(self.asked), self.first_share))

    @property
    def claims(self) -> dict[Visibility, float]:
        """What the policy allows, whatever a survey says."""
        return {kind: float(self.view.policy.multiplier(kind) * Fraction(self.epsilon)) for kind in NON_PUBLIC}

    @property
    def pairs(self) -> list[tuple[World, World, int]]:
        """The neighbouring worlds that are compared; public positions are not asked and so do not matter."""
        if self.up_to_names:
            return neighbours_up_to_names(self.pattern, self.n)
        return list(neighbours(self.pattern))


# A view and a survey compute digests; the stages of one pattern share them.
_view = cache(view_of)


@cache
def _survey(view: PublicView, epsilon: str, rounds: int, first_share: str) -> PositionSurvey:
    return position_survey(view, epsilon, rounds, first_share)


Due = Mapping[tuple[Visibility, int], Coin]


@dataclass(frozen=True)
class _Seat:
    """What one respondent holds, who of it takes part, and which of those have which class."""

    held: PositionBits
    present: Bits
    of_class: Mapping[Visibility, Bits]

    def draws(self, due: Due, number: int, ones: bytes) -> list[Batch]:
        """The coins that a round may draw: one for each position that is asked, class by class."""
        asked = self.of_class
        if number == 2:
            asked = {kind: unpack(ones, self.present.size) & places for kind, places in asked.items()}
        counts = {kind: int(np.count_nonzero(places)) for kind, places in asked.items()}
        return [[due[kind, number]] * count for kind, count in counts.items() if count]


def conversation(stage: Stage, world: World) -> Law:
    """The law of all bytes that are sent in all rounds by all respondents."""
    view, survey, seats = stage.view, stage.survey, list(_seats(stage, world))
    due = {(kind, number): stage.coin(survey, kind, number) for kind in NON_PUBLIC for number in {*stage.asked}}
    # The purse has room for twins that ask more often than they should: it is not what is audited here.
    room = dict.fromkeys(NON_PUBLIC, Fraction(1000))
    draws = cache(lambda who, number, ones: seats[who].draws(due, number, ones))

    def play(coins: ScriptedCoins) -> bytes:
        sent: list[bytes] = []
        first: dict[int, bytes] = {}
        respondents = [stage.client(seat.held, view, Purse(room)) for seat in seats]
        for number, (who, seat) in product(stage.asked, enumerate(seats)):
            coins.offer(draws(who, number, first[who] if number == 2 else b""))
            report = respondents[who].answer(survey, number, coins, seat.present)
            if number == 1:
                first[who] = report.ones
            sent.append(encode(report))
        return b"".join(sent)

    return walk(play)


def _seats(stage: Stage, world: World) -> Iterator[_Seat]:
    start = 0
    for size in stage.sizes or (len(world),):
        places = range(start, start + size)
        present = np.array([place not in stage.absent for place in places])
        classes = np.array([stage.pattern[place] for place in places])
        bits = np.array([world[place] for place in places], np.bool_)
        yield _Seat(PositionBits(start, bits), present, {kind: present & (classes == kind) for kind in NON_PUBLIC})
        start += size


def gaps_of(stage: Stage) -> Gaps:
    """The largest loss of each class over all neighbouring worlds of a stage."""
    return largest_gaps(stage.pattern, stage.pairs, partial(conversation, stage))


def audit_position(name: str, stages: Iterable[Stage], about: str) -> Finding:
    """All stages together; the same for the real client and for twins."""
    losses: list[Loss] = []
    cases = 0
    for stage in stages:
        losses += losses_of(gaps_of(stage), stage.claims, closed=False)
        cases += len(stage.pairs)
    return exact_finding(name, losses, cases, about)


def _three_nodes(asked: tuple[int, ...]) -> Iterator[Stage]:
    """Every pattern and every graph; then other multipliers, one respondent each, and those who do not take part."""
    for pattern in patterns(3):
        yield Stage(pattern, 3, asked=asked)
    for pattern in patterns_up_to_names(3):
        yield Stage(pattern, 3, "1", asked, ("3", "1"), sizes=(1, 1, 1), absent=frozenset({0}))
        yield Stage(pattern, 3, "1", asked, ("5/2", "1/3"), "1/4")
        yield Stage(pattern, 3, "1/2", asked, ("1", "1"), sizes=(2, 1), absent=frozenset({1, 2}))


def _four_nodes(asked: tuple[int, ...], most_secrets: int) -> Iterator[Stage]:
    for pattern in patterns_up_to_names(4):
        if len(pattern) - pattern.count(PUBLIC) <= most_secrets:
            yield Stage(pattern, 4, "7/10", asked, up_to_names=True)


def _one_round() -> Finding:
    stages = chain(_three_nodes((1, 1)), _four_nodes((1,), 6))
    about = "all graphs of 3 nodes and, up to names, of 4; all patterns; other multipliers, asked again, some absent"
    return audit_position("position, one round", stages, about)


def _two_rounds() -> Finding:
    stages = chain(_three_nodes((1, 2)), _four_nodes((1, 2, 2), 3))
    about = (
        "both rounds jointly; all graphs of 3 nodes and all patterns; of 4 nodes those with at most 3 secret positions"
    )
    return audit_position("position, two rounds", stages, about)


def _two_long_rounds() -> Finding:
    stages = chain(_three_nodes((1, 2)), _four_nodes((1, 2, 2), 6))
    about = "both rounds jointly; all graphs of 3 nodes and, up to names, of 4; all patterns"
    return audit_position("position, two rounds", stages, about)


AUDITS = (
    Audit("position, one round", "exact", _one_round),
    Audit("position, two rounds", "exact", _two_rounds),
)
# Six positions have 729 transcripts in each of 64 worlds: that takes minutes.
LONG = (Audit("position, two rounds", "exact", _two_long_rounds),)
