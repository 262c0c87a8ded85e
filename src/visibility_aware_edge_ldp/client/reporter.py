"""What all clients share: verify the survey, pay, randomize, store; once for each round of a survey.  [POSITION.2-3]"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.client.views import inside_scope
from visibility_aware_edge_ldp.errors import ProtocolViolation, Refused
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes
from visibility_aware_edge_ldp.privacy import Guarantee
from visibility_aware_edge_ldp.public.layout import Report
from visibility_aware_edge_ldp.public.surveys.base import Survey, verify
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility

Bits = npt.NDArray[np.bool_]
S = TypeVar("S", bound=Survey)
V = TypeVar("V")
R = TypeVar("R", bound=Report)


class Purse:
    """A cap on what its holder answers, per edge of each class, and on the sum of all deltas; it never refills.

    Where several holders see the same edge, the edge loses the sum over the surveys that they answered.
    """

    def __init__(self, cap: Mapping[Visibility, Fraction], delta: Fraction = Fraction(0)) -> None:
        self._left, self._delta = dict(cap), delta

    def pay(self, price: Mapping[Visibility, Fraction], delta: Fraction = Fraction(0)) -> None:
        """Pay for one round, or refuse and pay nothing. Called before any bit is randomized.  [POSITION.3]"""
        if delta > self._delta:
            raise Refused(f"This costs δ = {float(delta):g} and {float(self._delta):g} is left; nothing was answered.")
        for visibility, loss in price.items():
            if loss > self._left.get(visibility, Fraction(0)):
                raise Refused(
                    f"This round costs ε = {float(loss):g} per {visibility} edge and "
                    f"{float(self._left.get(visibility, Fraction(0))):g} is left; nothing was answered."
                )
        for visibility, loss in price.items():
            self._left[visibility] -= loss
        self._delta -= delta


class Client(ABC, Generic[S, V, R]):
    """The program that holds one view's private bits: the view, what everybody knows, a purse, and what it sent.

    A simulation lets many users with consecutive numbers answer in one call; each is a client of its own.
    """

    whose = "this client's"
    """For refusals: "The survey is about another roster than this client's"."""
    first_round = 1
    """The number of a survey's first round."""

    def __init__(self, view: V, public: PublicView, purse: Purse) -> None:
        self._view, self._public, self._purse = self.cut(view, public), public, purse
        self._answers: dict[tuple[str, int], R] = {}
        self._forgotten: set[tuple[str, int]] = set()

    def cut(self, view: V, public: PublicView) -> V:
        """What of the view this client answers about: nothing outside the policy's scope.  [SCOPE.2]"""
        return inside_scope(view, public)

    def answer(self, survey: S, round_number: int, random_bytes: RandomBytes, present: Bits | None = None) -> R:
        """The report of one round; asked again, the same report again, whatever the random bytes.  [POSITION.2]

        ``present`` says which of those who are asked take part; by default all do. What is refused costs nothing, and
        nothing is randomized before it is paid for.  [POSITION.3]
        """
        key = (survey.identity, round_number)
        if key in self._forgotten:
            raise ProtocolViolation(f"Round {round_number} was answered, and its answers are not kept here any more.")
        if key not in self._answers:
            own = self.verify(survey, round_number)
            prices = self.prices(own, round_number)
            delta = max((price.delta for price in prices.values()), default=Fraction(0))
            self._purse.pay({kind: price.epsilon for kind, price in prices.items()}, delta)
            self._answers[key] = self.randomize(own, round_number, random_bytes, present)
        return self._answers[key]

    def forget(self, round_number: int) -> None:
        """Let go of the reports of a round, which may fill memory; who asks for them again is refused.  [POSITION.2]"""
        self._forgotten |= {key for key in self._answers if key[1] == round_number}
        self._answers = {key: report for key, report in self._answers.items() if key not in self._forgotten}

    def verify(self, survey: S, round_number: int) -> S:
        """The survey that is answered, or a refusal: roster, policy, multipliers, classes must be those known here.

        A round that the survey does not have would be one more answer with fresh noise.  [POSITION.2]
        """
        verify(survey, self._public, self.whose)
        if not 0 <= round_number - self.first_round < survey.rounds:
            raise ProtocolViolation(f"The survey has {survey.rounds} rounds; round {round_number} was asked for.")
        return survey

    def prices(self, survey: S, round_number: int) -> Mapping[Visibility, Guarantee[Any]]:
        """What the purse pays for one round."""
        return survey.payment(round_number)

    @abstractmethod
    def randomize(self, survey: S, round_number: int, random_bytes: RandomBytes, present: Bits | None) -> R:
        """The report that leaves the client, made from the private bits and noise."""


def who_takes_part(present: Bits | None, count: int) -> Bits:
    """One bit for each of those who are asked, a copy; all take part if nothing is said."""
    return np.ones(count, np.bool_) if present is None else np.array(present, np.bool_)
