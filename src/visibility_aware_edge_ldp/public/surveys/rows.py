"""USER triangles and 4-cycles: the two questions to every user, their noise and their price.  [TRIANGLE.1-2]

In the second round a user sends two numbers: the *sum* over its row, and the row's *reach*, which is how far one change
of the row can move that sum, and so how wide the sum's noise is.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar

from visibility_aware_edge_ldp.errors import BadPrivacyParameter, BadStatistic
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.power_noise import SmoothPower
from visibility_aware_edge_ldp.privacy import Guarantee, Number, OneEdge, Release, parse_epsilon
from visibility_aware_edge_ldp.public.layout import Bits, Ints, NumberReport, Numbers
from visibility_aware_edge_ldp.public.statistic import FOUR_CYCLES, TRIANGLES
from visibility_aware_edge_ldp.public.surveys.base import Content, Survey
from visibility_aware_edge_ldp.public.surveys.position import PositionSurvey
from visibility_aware_edge_ldp.public.trust import USER
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Multipliers, Visibility

# Of epsilon, what pays for the noisy reach of every row: the aggregator needs the reach for its standard error only.
REACH_SHARE = Fraction(1, 40)
FINENESS = {TRIANGLES.name: 10, FOUR_CYCLES.name: 0}
STATISTICS = tuple(FINENESS)


@dataclass(frozen=True)
class RowSurvey(Survey):
    """Every user answers for its row twice: each bit by randomized response, then one sum over the row.

    A user's *row* is its positions with the users after it, so each edge is in one row.

    Parameters
    ----------
    first
        The first round, of one round.
    reach, total
        What the row's noisy reach and its noisy sum cost, in the second round, per unit of the policy's multipliers.
    share
        The part of ``total`` that pays for the scale of the sum's noise, which changes with the row.  [POWER.1]
    fineness
        Sums are reported in units of 2^-fineness.
    statistic
        What is summed. Surveys of both may share one first round: it is answered, and paid for, once.
    """

    trust = USER
    protocol = "rows"
    clip: ClassVar[str] = "smooth"
    first: PositionSurvey
    reach: Fraction
    total: Fraction
    share: Fraction
    fineness: int = 10
    statistic: str = "triangles"

    def __post_init__(self) -> None:
        if self.statistic not in STATISTICS:
            raise BadStatistic(f"Rows are summed for {' or '.join(STATISTICS)}; {self.statistic} was asked.")
        if self.first.rounds != 1:
            raise BadPrivacyParameter("Users answer for their row once before they sum; give a survey of one round.")
        if not -40 <= self.fineness <= 20:
            raise BadPrivacyParameter(f"Sums are reported in units of 2^40 to 2^-20; got 2^{-self.fineness}.")
        self.reach_noise  # noqa: B018 - refuses bad numbers before anybody is asked
        self.total_noise  # noqa: B018

    @property
    def roster(self) -> str:
        """The digest of the first round's roster."""
        return self.first.roster

    @property
    def nodes(self) -> int:
        """How many users are asked."""
        return self.first.nodes

    @property
    def policy(self) -> str:
        """The digest of the first round's policy."""
        return self.first.policy

    @property
    def multipliers(self) -> Multipliers:
        """How well the policy guards each class."""
        return self.first.multipliers

    @property
    def rounds(self) -> int:
        """The bits of the row, then its sum."""
        return 2

    @cached_property
    def reach_noise(self) -> DiscreteLaplace:
        """The noise on a row's reach, which one change moves by at most 1."""
        return DiscreteLaplace(self.multipliers.private * self.reach)

    @cached_property
    def total_noise(self) -> SmoothPower:
        """The noise on a row's sum."""
        return SmoothPower(self.multipliers.private * self.total, self.share)

    @property
    def ratio(self) -> Fraction:
        """How many PRIVATE changes a FRIEND_VISIBLE one counts as, whole or not.  [POWER.1]"""
        return self.multipliers.friend_visible / self.multipliers.private

    def second_price(self, kind: Visibility) -> Fraction:
        """What the second round costs per edge of this class."""
        return self.multipliers.of(kind) * (self.reach + self.total)

    def price(self, kind: Visibility, round_number: int = 1) -> Guarantee[OneEdge]:
        """What an edge of this class loses in one of the two rounds."""
        if (kind, round_number) not in self._prices:
            price = self.first.price(kind) if round_number == 1 else Guarantee(OneEdge, self.second_price(kind))
            self._prices[kind, round_number] = price
        return self._prices[kind, round_number]

    @cached_property
    def _prices(self) -> dict[tuple[Visibility, int], Guarantee[OneEdge]]:
        """Every client asks for some, and products of fractions are slow."""
        return {}

    @property
    def epsilon(self) -> Fraction:
        """The loss per unit of multiplier, both rounds together."""
        return self.first.epsilon + self.reach + self.total

    def content(self) -> Content:
        return {
            "question": self.statistic,
            "first": self.first.identity,
            "reach": str(self.reach),
            "total": str(self.total),
            "share": str(self.share),
            "fineness": self.fineness,
        }

    @property
    def releases(self) -> tuple[Release, ...]:
        """What the survey costs: the first round's release, and the second's."""
        return (*self.first.releases, self.release(2))


def row_surveys(view: PublicView, epsilon: Number, statistics: Sequence[str]) -> dict[str, RowSurvey]:
    """Surveys of every user for one epsilon in all, with one first round; the split depends on epsilon alone.

    [TRIANGLE.5]
    """
    asked = tuple(name for name in STATISTICS if name in statistics)
    policy = view.policy
    return dict(_surveys(view.roster_digest, view.n, policy.digest, policy.multipliers, parse_epsilon(epsilon), asked))


@lru_cache(maxsize=16)
def _surveys(
    roster: str, nodes: int, policy: str, multipliers: Multipliers, whole: Fraction, asked: tuple[str, ...]
) -> dict[str, RowSurvey]:
    """The surveys of one question, which is asked again and again where trials are repeated."""
    reach = whole * REACH_SHARE
    first = best_first_share(asked, whole) * whole
    rest = (whole - first) / len(asked) - reach
    answers = PositionSurvey(roster, nodes, policy, first, multipliers=multipliers)
    return {
        name: RowSurvey(answers, reach, rest, best_smoothing_share(name, rest), _fineness(name, whole), name)
        for name in asked
    }


def triangle_survey(view: PublicView, epsilon: Number) -> RowSurvey:
    """A survey of every user for triangles alone."""
    return row_surveys(view, epsilon, ["triangles"])["triangles"]


def _fineness(statistic: str, epsilon: Fraction) -> int:
    """Units far below the noise, which grows with the third power of 1/epsilon, and not so far that draws get slow."""
    return FINENESS[statistic] + min(0, round(3 * math.log2(epsilon)))


def best_first_share(statistics: Sequence[str], epsilon: Fraction) -> Fraction:
    """How much of epsilon the first round gets: flat near its optimum on every graph that was measured."""
    small = epsilon < Fraction(3, 4)
    if len(statistics) > 1:
        return Fraction(1, 2)
    if "triangles" in statistics:
        return Fraction(54, 100) if small else Fraction(58, 100)
    return Fraction(1, 2) if small else Fraction(13, 20)


def best_smoothing_share(statistic: str, total: Fraction) -> Fraction:
    """How much of the second round pays for the scale's movement: more of a small epsilon than of a large one."""
    return 1 / (4 + 14 * total) if statistic == "triangles" else 1 / (3 + 8 * total)


@dataclass(frozen=True, eq=False)
class RowReport(NumberReport):
    """Two noisy integers of each of the users numbered ``start`` and on: its row's reach and its row's sum.

    ``transcript`` names the broadcast first answers that the sums were made from.
    """

    survey: str
    transcript: str
    start: int
    answered: Bits = field(repr=False)
    reaches: Ints = field(repr=False)
    totals: Ints = field(repr=False)


LAYOUT = Numbers(
    "row report",
    b"VAET",
    "start:Q count:Q survey:32s transcript:32s",
    RowReport,
    numbers=("reaches", "totals"),
    bounded=False,
)
encode_rows, decode_rows = LAYOUT.encode, LAYOUT.decode
