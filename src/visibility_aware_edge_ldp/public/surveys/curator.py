"""CURATOR: the questions to a trusted centre, their noise and their price.  [CURATOR.1-3]"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

from visibility_aware_edge_ldp.errors import BadPrivacyParameter, BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.power_noise import SmoothPower
from visibility_aware_edge_ldp.mechanisms.smooth_noise import SmoothCauchy, SmoothLaplace, SmoothNoise, SmoothStudentT
from visibility_aware_edge_ldp.privacy import Guarantee, Number, OneEdge, parse_delta, parse_epsilon
from visibility_aware_edge_ldp.public.layout import Layout, Report
from visibility_aware_edge_ldp.public.surveys.base import Content, Survey, stated
from visibility_aware_edge_ldp.public.trust import CURATOR
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import DEFAULT_MULTIPLIERS, NON_PUBLIC, Multipliers, Visibility

CONSTANT = ("edges", "max_degree")
QUERIES = ("edges", "max_degree", "triangles", "stars:2", "stars:3", "stars:4")
NOISES = ("laplace", "power", "student_t", "cauchy")
# Public choices: how much of epsilon pays for the movement of the noise scale.  [SN.1, SN.2, POWER.1]
LAPLACE_SHARE = Fraction(1, 4)
POWER_SHARE = Fraction(1, 12)
STUDENT_SHARE = Fraction(1, 4)
# Numbers of stars outgrow 64 bits; one beyond this is reported as this, which tells no more than the number.
LARGEST_ANSWER = 1 << 254
_BYTES = 32
_IDENTITY, _MARK = (re.compile(f"[0-9a-f]{{{digits}}}") for digits in (64, 32))


@dataclass(frozen=True)
class CuratorQuery:
    """One number, and what it may cost: epsilon per edge times the multiplier of the edge's class."""

    statistic: str
    epsilon: Fraction
    delta: Fraction
    noise: str
    multipliers: Multipliers = DEFAULT_MULTIPLIERS

    def __post_init__(self) -> None:
        if self.statistic not in CONSTANT and self.statistic != "triangles" and not self.statistic.startswith("stars:"):
            raise BadStatistic(
                f"A curator answers edges, max_degree, triangles and stars:K; {self.statistic} was asked."
            )
        if self.noise not in NOISES:
            raise BadPrivacyParameter(f"{self.noise!r} is not a noise; use {', '.join(NOISES)}.")
        if self.noise == "laplace" and self.statistic not in CONSTANT and not self.delta:
            raise BadPrivacyParameter("Laplace noise on a smooth bound needs a delta above 0; for delta = 0 use power.")
        if not self.has_constant_sensitivity:
            _ = self.multipliers.steps  # refuses what smooth bounds cannot count

    @property
    def has_constant_sensitivity(self) -> bool:
        """Whether one edge moves the number by at most 1 in every graph."""
        return self.statistic in CONSTANT

    @property
    def smooth_noise(self) -> SmoothNoise:
        """The noise on a smooth bound; its epsilon is that of a PRIVATE edge."""
        return _smooth_noise(self.noise, self.multipliers.private * self.epsilon, self.delta)

    def constant_noise(self, view: PublicView) -> DiscreteLaplace | None:
        """The noise on a number that one edge moves by at most 1; none where everything is public.  [CURATOR.1]"""
        # Where only friend-visible bits can move it, their weaker promise is enough.
        losses = [self.multipliers.of(kind) * self.epsilon for kind in NON_PUBLIC if kind in view.present]
        return DiscreteLaplace(min(losses)) if losses else None

    def price(self, kind: Visibility) -> Guarantee[OneEdge]:
        """What an edge of this class loses by this answer."""
        if self.has_constant_sensitivity:
            return Guarantee(OneEdge, self.multipliers.of(kind) * self.epsilon)
        steps = {Visibility.PRIVATE: 1, Visibility.FRIEND_VISIBLE: self.multipliers.steps}
        return Guarantee(OneEdge, *self.smooth_noise.price(steps[kind]))


@cache
def _smooth_noise(noise: str, epsilon: Fraction, delta: Fraction) -> SmoothNoise:
    if noise == "laplace":
        return SmoothLaplace(epsilon, delta, LAPLACE_SHARE)
    if noise == "power":
        return SmoothPower(epsilon, POWER_SHARE)
    return SmoothStudentT(epsilon, share=STUDENT_SHARE) if noise == "student_t" else SmoothCauchy(epsilon)


@dataclass(frozen=True)
class CuratorSurvey(Survey):
    """Questions to a trusted centre about one graph; each is a release of its own."""

    trust = CURATOR
    protocol = "curator"
    roster: str
    policy: str
    queries: tuple[CuratorQuery, ...]

    @property
    def rounds(self) -> int:
        """How many questions there are; question 0 is round 1."""
        return len(self.queries)

    def price(self, kind: Visibility, round_number: int = 1) -> Guarantee[OneEdge]:
        """What an edge of this class loses by the answer to one question."""
        return self.queries[round_number - 1].price(kind)

    def content(self) -> Content:
        queries = [_described(query) for query in self.queries]
        return {"roster": self.roster, "policy": self.policy, "queries": queries}


def _described(query: CuratorQuery) -> list[Any]:
    words = [query.statistic, str(query.epsilon), str(query.delta), query.noise]
    return [*words, *stated(query.multipliers).values()]


def curator_survey(
    view: PublicView,
    epsilons: Sequence[Number] | Number,
    delta: Number = 0,
    statistics: Iterable[str] = QUERIES,
    noise: str | None = None,
) -> CuratorSurvey:
    """A survey with one epsilon per question; (epsilon, delta) Laplace where delta > 0, power noise where it is 0."""
    names, small = tuple(statistics), parse_delta(delta)
    each = [epsilons] * len(names) if isinstance(epsilons, (str, int, float, Fraction)) else list(epsilons)
    chosen = noise or ("laplace" if small else "power")
    queries = tuple(
        CuratorQuery(
            name,
            parse_epsilon(value),
            small if chosen == "laplace" else Fraction(0),
            chosen,
            view.policy.multipliers,
        )
        for name, value in zip(names, each, strict=True)
    )
    return CuratorSurvey(view.roster_digest, view.policy.digest, queries)


@dataclass(frozen=True)
class CuratorReport(Report):
    """What leaves the centre: one integer, and a random mark that tells this draw from another.

    As bytes the integer is signed and has 256 bits, highest byte first, whatever its value.
    """

    survey: str
    index: int
    value: int
    mark: str

    def __post_init__(self) -> None:
        if not 0 <= self.index < 1 << 64:
            raise ProtocolViolation("A centre's answer names its question, counted from 0.")
        if abs(self.value) > LARGEST_ANSWER:
            raise ProtocolViolation("A centre's answer is a number beyond 2^254, which is never sent.")
        if not _IDENTITY.fullmatch(self.survey) or not _MARK.fullmatch(self.mark):
            raise ProtocolViolation("A centre's answer names its survey by 64 hexadecimal digits and its draw by 32.")


class _Answer(Layout[CuratorReport]):
    """One signed integer of 256 bits, highest byte first."""

    def _sizes(self, head: Mapping[str, int]) -> tuple[int, ...]:
        return (_BYTES,)

    def _body(self, report: CuratorReport) -> Iterable[bytes]:
        return (report.value.to_bytes(_BYTES, signed=True),)

    def _report(self, head: dict[str, Any], parts: list[bytes]) -> CuratorReport:
        return CuratorReport(**head, value=int.from_bytes(parts[0], signed=True))


LAYOUT = _Answer("centre's answer", b"VAEC", "index:Q survey:32s mark:16s", CuratorReport)
encode_answer, decode_answer = LAYOUT.encode, LAYOUT.decode
