"""What the audit of rows walks: small rosters under a policy, a survey of them, every list and every transcript."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, cached_property, lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np

from visibility_aware_edge_ldp.client.user_triangles import FirstRound
from visibility_aware_edge_ldp.evaluation.audit.noise_loss import Floats, Overheard, no_noise
from visibility_aware_edge_ldp.evaluation.audit.small_worlds import Guard, Pattern, positions, view_of
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.entropy import Coins
from visibility_aware_edge_ldp.mechanisms.exact_sampling import Integers
from visibility_aware_edge_ldp.public.survey import PositionSurvey
from visibility_aware_edge_ldp.public.transcript import Transcript, holders
from visibility_aware_edge_ldp.public.triangle_survey import TriangleSurvey
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

Friends = tuple[int, ...]
Answers = tuple[int | None, ...]
"""The first answer of each position; none where nobody answered."""
Row = list[tuple[int, int, Visibility]]
"""The places, friends and classes of a user's row."""
Rounds = tuple[int, ...]
BOTH: Rounds = (1, 2)
Draw = Callable[[Floats, Coins], Integers]
"""From bounds and coins to noises."""
_MANY = 1000


def _nothing(bounds: Floats, coins: Coins) -> Integers:
    """No noise at all."""
    return np.zeros(bounds.size, np.int64)


class Split(NamedTuple):
    """How a survey spends its epsilon: first answers, reach, sum, and the share that pays for the moving scale."""

    first: str
    reach: str
    total: str
    share: str
    fineness: int
    statistic: str = "triangles"


@dataclass(frozen=True)
class Redrawn(Overheard):
    """The noise of a broken client, which draws in another way."""

    draw: Draw = field(default=_nothing, compare=False)

    def sample_each(self, bounds: Floats, coins: Coins) -> Integers:
        return self.draw(bounds, coins)


@dataclass(frozen=True)
class ListenedSurvey(TriangleSurvey):
    """The same survey, whose noise on sums notes its bounds; a broken client may draw that noise in another way."""

    draw: Draw | None = field(default=None, compare=False)

    @cached_property
    def reach_noise(self) -> DiscreteLaplace:
        return _reach_noise(self.multipliers.private * self.reach)

    @cached_property
    def total_noise(self) -> Overheard:
        epsilon = self.multipliers.private * self.total
        return Redrawn(epsilon, self.share, draw=self.draw) if self.draw else Overheard(epsilon, self.share)


@cache
def _reach_noise(epsilon: Fraction) -> DiscreteLaplace:
    """One noise for all stages; so many draws make it keep its thresholds, and each later one is looked up."""
    noise = DiscreteLaplace(epsilon)
    noise.sample_many(_MANY, no_noise)
    return noise


@dataclass(frozen=True, eq=False)
class Stage:
    """A pattern of classes on n users, whether public positions hold an edge, and a survey of it."""

    pattern: Pattern
    n: int
    split: Split
    public_bit: int = 1
    guard: Guard = ("2", "1")
    dropout: bool = False

    @property
    def setting(self) -> Hashable:
        """All of the stage but where in the pattern which class stands."""
        return self.n, self.split, self.public_bit, self.guard

    @cached_property
    def positions(self) -> list[tuple[int, int]]:
        return positions(self.n)

    @cached_property
    def view(self) -> PublicView:
        return view_of(self.pattern, self.n, self.guard, self.public_bit)

    @cached_property
    def survey(self) -> ListenedSurvey:
        policy, split = self.view.policy, self.split
        first, reach, total, share = (Fraction(x) for x in (split.first, split.reach, split.total, split.share))
        answers = PositionSurvey(self.view.roster_digest, self.n, policy.digest, first, multipliers=policy.multipliers)
        return ListenedSurvey(answers, reach, total, share, split.fineness, split.statistic)

    @cached_property
    def asked(self) -> list[int]:
        """The users with something to hide in their row."""
        return [int(user) for user in np.flatnonzero(holders(self.view))]

    def row(self, user: int) -> Row:
        """The user's positions with later users."""
        found = zip(range(len(self.positions)), self.positions, self.pattern, strict=True)
        return [(place, x, kind) for place, (u, x), kind in found if u == user]

    def lists(self, user: int) -> list[Friends]:
        """Every list that the user may have, friends after it alone: the public ones are what they are."""
        row = self.row(user)
        worlds = product(*((self.public_bit,) if kind is Visibility.PUBLIC else (0, 1) for _, _, kind in row))
        return [tuple(x for (_, x, _), bit in zip(row, bits, strict=True) if bit) for bits in worlds]

    def transcripts(self, user: int) -> Iterator[Answers]:
        """Every transcript that has this user's answers, with the answers of all the others, or of any of them."""
        others = [u for u in self.asked if u != user]
        for here in product((False, True) if self.dropout else (True,), repeat=len(others)):
            heard = {user, *(u for u, there in zip(others, here, strict=True) if there)}
            yield from product(
                *(
                    (0, 1) if kind is not Visibility.PUBLIC and u in heard else (None,)
                    for (u, _), kind in zip(self.positions, self.pattern, strict=True)
                )
            )

    def first_round(self, answers: Answers) -> FirstRound:
        """What everybody hears."""
        return _first_round(self, answers)

    def agreed(self, kind: Visibility, rounds: Rounds = BOTH) -> Fraction:
        """What was asked for: what an edge of this class may lose, from the split and the guard alone."""
        prices = {1: Fraction(self.split.first), 2: Fraction(self.split.reach) + Fraction(self.split.total)}
        multipliers = dict(zip((Visibility.FRIEND_VISIBLE, Visibility.PRIVATE), self.guard, strict=True))
        return Fraction(multipliers[kind]) * sum(prices[each] for each in rounds)

    @cached_property
    def purse(self) -> dict[Visibility, Fraction]:
        """What a user may spend: what was asked for, and no more."""
        return {kind: self.agreed(kind) for kind in NON_PUBLIC}

    def billed(self, kind: Visibility, rounds: Rounds = BOTH) -> Fraction:
        """What the software says that it loses."""
        bills = {release.round: dict(release.prices)[kind] for release in self.survey.releases}
        return sum((bills[each].epsilon for each in rounds), Fraction(0))

    def claim(self, kind: Visibility) -> float:
        """What an edge of this class may lose by both rounds."""
        return float(self.agreed(kind))


@lru_cache(maxsize=4096)
def _first_round(stage: Stage, answers: Answers) -> FirstRound:
    """One for all users of a stage: it reads the transcript once."""
    answered, ones = (
        np.packbits([test(said) for said in answers], bitorder="little")
        for test in (lambda said: said is not None, lambda said: said == 1)
    )
    return FirstRound(stage.survey, stage.view, Transcript(stage.survey.first.identity, answered, ones))
