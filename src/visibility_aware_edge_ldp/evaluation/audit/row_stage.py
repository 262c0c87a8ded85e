"""What the audit of rows walks: small rosters under a policy, a survey of them, every list and every transcript."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np

from visibility_aware_edge_ldp.client.user_triangles import FirstRound
from visibility_aware_edge_ldp.evaluation.audit.noise_loss import Overheard
from visibility_aware_edge_ldp.evaluation.audit.small_worlds import Guard, Pattern, positions, view_of
from visibility_aware_edge_ldp.public.survey import PositionSurvey
from visibility_aware_edge_ldp.public.transcript import Transcript, holders
from visibility_aware_edge_ldp.public.triangle_survey import TriangleSurvey
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility

Friends = tuple[int, ...]
Answers = tuple[int | None, ...]
"""The first answer of each position; none where nobody answered."""


class Split(NamedTuple):
    """How a survey spends its epsilon: first answers, reach, sum, and the share that pays for the moving scale."""

    first: str
    reach: str
    total: str
    share: str
    fineness: int
    statistic: str = "triangles"


class ListenedSurvey(TriangleSurvey):
    """The same survey, whose noise on sums notes its bounds."""

    @cached_property
    def total_noise(self) -> Overheard:
        return Overheard(self.multipliers.private * self.total, self.share)


@dataclass(frozen=True, eq=False)
class Stage:
    """A pattern of classes on n users, whether public positions hold an edge, and a survey of it."""

    pattern: Pattern
    n: int
    split: Split
    public_bit: int = 1
    guard: Guard = ("2", "1")
    dropout: bool = False

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

    def row(self, user: int) -> list[tuple[int, int, Visibility]]:
        """The places, friends and classes of a user's row."""
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
        answered, ones = (
            np.packbits([test(said) for said in answers], bitorder="little")
            for test in (lambda said: said is not None, lambda said: said == 1)
        )
        return FirstRound(self.survey, self.view, Transcript(self.survey.first.identity, answered, ones))

    def claim(self, kind: Visibility) -> float:
        """What an edge of this class may lose by both rounds."""
        return float(self.survey.multipliers.of(kind) * self.survey.epsilon)
