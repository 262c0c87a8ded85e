"""A question to a trusted centre in small worlds: what is asked, and what is heard of its noise.  [WALK.1]"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cache, cached_property
from itertools import count
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.client.curator import Curator
from visibility_aware_edge_ldp.client.purse import Purse
from visibility_aware_edge_ldp.client.views import WholeGraph
from visibility_aware_edge_ldp.evaluation.audit.exact_owned import edges_of
from visibility_aware_edge_ldp.evaluation.audit.finding import Loss, largest
from visibility_aware_edge_ldp.evaluation.audit.measured_noise import Ints, Send, as_asked
from visibility_aware_edge_ldp.evaluation.audit.small_worlds import (
    Pattern,
    World,
    neighbours,
    neighbours_up_to_names,
    view_of,
)
from visibility_aware_edge_ldp.mechanisms.entropy import Coins
from visibility_aware_edge_ldp.mechanisms.exact_sampling import IntegerLaw
from visibility_aware_edge_ldp.mechanisms.smooth_noise import Bound, SmoothNoise
from visibility_aware_edge_ldp.privacy.guarantee import Guarantee
from visibility_aware_edge_ldp.privacy.relation import OneEdge
from visibility_aware_edge_ldp.public.curator_report import decode_answer, encode_answer
from visibility_aware_edge_ldp.public.curator_survey import CuratorQuery, CuratorSurvey, curator_survey
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
# A centre is asked so often: once without noise, and at both ends of the step to 1 of what it then should add.
_ASKED = 3
# With so few nodes every answer comes from a new centre.
_FEW = 3
_MULTIPLIERS = {FRIEND_VISIBLE: 2, PRIVATE: 1}


class Listening:
    """A noise on smooth bounds that notes which ones it is asked for."""

    def __init__(self, noise: SmoothNoise) -> None:
        self.noise, self.bounds = noise, list[Bound]()

    def law(self, bound: Bound) -> IntegerLaw:
        self.bounds.append(bound)
        return law_of(self.noise, bound)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.noise, name)


class ListenedQuery(CuratorQuery):
    """The same question, whose noise on smooth bounds is listened to."""

    @property
    def smooth_noise(self) -> SmoothNoise:
        return self.listening  # type: ignore[return-value]

    @cached_property
    def listening(self) -> Listening:
        return Listening(super().smooth_noise)


@dataclass(frozen=True, eq=False)
class Question:
    """One question about the graphs of n nodes under a pattern of classes, asked three times."""

    pattern: Pattern
    n: int
    statistic: str
    epsilon: str = "1"
    delta: str = "0"

    @cached_property
    def view(self) -> PublicView:
        return view_of(self.pattern, self.n)

    @cached_property
    def survey(self) -> CuratorSurvey:
        (asked,) = curator_survey(self.view, self.epsilon, self.delta, [self.statistic]).queries
        query = ListenedQuery(**{each.name: getattr(asked, each.name) for each in fields(asked)})
        return CuratorSurvey(self.view.roster_digest, self.view.policy.digest, (query,) * _ASKED)

    @property
    def query(self) -> ListenedQuery:
        return self.survey.queries[0]  # type: ignore[return-value]

    @property
    def pairs(self) -> Iterable[tuple[World, World, int]]:
        """The neighbouring graphs that are compared: of four nodes those that differ by more than names."""
        return neighbours_up_to_names(self.pattern, 4) if self.n == 4 else neighbours(self.pattern)

    def centre(self, world: World, kind: type[Curator] = Curator) -> Curator:
        """The real centre of one world, with a purse for all answers at the price that was asked for."""
        delta = max(bill.delta for bill in self.bills.values())
        purse = Purse({each: _ASKED * self.agreed(each) for each in NON_PUBLIC}, _ASKED * delta)
        return kind(WholeGraph(self.n, edges_of(world, self.n)), self.view, purse)

    def answers(self, world: World, kind: type[Curator] = Curator) -> Send:
        """A centre's answers through the wire format, each to the next question; up to three nodes of a new centre.

        A centre of more nodes is kept, so that it works out its sensitivity once.
        """
        keep, indices = self.centre(world, kind), count()

        def send(coins: Coins) -> Ints:
            index = next(indices)
            centre = self.centre(world, kind) if self.n <= _FEW or self.query.has_constant_sensitivity else keep
            # The second question first: who treats the first one otherwise is found out.
            report = centre.answer(self.survey, (index + 1) % _ASKED, coins)
            return np.array([decode_answer(encode_answer(report)).value])

        return send

    @cached_property
    def bills(self) -> dict[Visibility, Guarantee[OneEdge]]:
        """What the software says that an answer costs."""
        return {kind: self.query.price(kind) for kind in NON_PUBLIC}

    def agreed(self, kind: Visibility) -> Fraction:
        """What was asked for: what an edge of this class may lose by one answer."""
        return _MULTIPLIERS[kind] * Fraction(self.epsilon)

    def beside_claim(self, kind: Visibility, loss: Loss) -> Loss:
        """A loss beside what was asked for and what is billed, of a PRIVATE edge the δ too.  [WALK.10]"""
        bill = self.bills[kind]
        delta = min(Fraction(self.delta), bill.delta) if kind is PRIVATE else bill.delta
        over = float(bill.delta) if bill.delta > delta else 0.0
        claimed = replace(loss, claimed_delta=float(delta), found_delta=largest([loss.found_delta, over]))
        return as_asked(claimed, self.agreed(kind), bill.epsilon)


@cache
def law_of(noise: SmoothNoise, bound: Bound) -> IntegerLaw:
    """One law for all worlds with this bound."""
    return noise.law(bound)
