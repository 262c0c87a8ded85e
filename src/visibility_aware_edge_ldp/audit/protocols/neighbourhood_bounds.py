"""NEIGHBOURHOOD (a) with bounds that are believed: every reported degree, every plan it leads to, and δ.  [WALK.6]

Reports fall into a few cells: on which side of the true degree, and which bound the real plan makes of them. Each cell
has an exact probability, so nothing is cut off.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache, cached_property, partial
from itertools import combinations_with_replacement, product

import numpy as np

from visibility_aware_edge_ldp.audit.engine import findings
from visibility_aware_edge_ldp.audit.engine.noise_laws import Floats
from visibility_aware_edge_ldp.audit.engine.small_worlds import Pattern, positions, view_of, worlds
from visibility_aware_edge_ldp.audit.protocols import neighbourhood_stage
from visibility_aware_edge_ldp.audit.protocols.degrees import all_degrees
from visibility_aware_edge_ldp.client.neighbourhood import NeighbourhoodClient
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.randomness import Integers as Ints
from visibility_aware_edge_ldp.privacy import Guarantee, OneEdge
from visibility_aware_edge_ldp.public.surveys.base import least_loss
from visibility_aware_edge_ldp.public.surveys.degrees import DegreeSurvey, degree_survey
from visibility_aware_edge_ldp.public.surveys.neighbourhood import (
    BELIEVED,
    NeighbourhoodSurvey,
    OwnerPlan,
    believed_plan,
)
from visibility_aware_edge_ldp.public.visibility import Visibility

Bounds = tuple[int, ...]
# Rounding must not make a failure of what is exactly allowed.
_NEARLY = 1 + 1e-12


@dataclass(frozen=True, eq=False)
class BelievedStage:
    """Private users whose bounds are made of the degrees that they reported, at a delta."""

    n: int = 5
    first: str = "5"
    second: str = "1"
    delta: str = "1/400"
    client: neighbourhood_stage.Client = NeighbourhoodClient
    bill: Callable[[NeighbourhoodSurvey], NeighbourhoodSurvey] = lambda survey: survey

    @property
    def pattern(self) -> Pattern:
        return (Visibility.PRIVATE,) * len(positions(self.n))

    @cached_property
    def degree_survey(self) -> DegreeSurvey:
        return degree_survey(view_of(self.pattern, self.n), self.first)

    @cached_property
    def noise(self) -> DiscreteLaplace:
        """The noise in a reported degree."""
        return self.degree_survey.mechanism(Visibility.PRIVATE)

    @property
    def degrees(self) -> Ints:
        """(worlds, users): the degrees that the real clients add noise to."""
        return all_degrees(self.pattern, self.n, self.first)[:, 0]

    @cached_property
    def ranges(self) -> dict[int, tuple[int | None, int | None]]:
        """For each bound that the real plan can make, the lowest and the highest report it is made of."""
        answered, far = np.ones(self.n, np.bool_), 4 * self.n + int(40 / self.noise.rate)
        loss = least_loss(Fraction(self.second), self.degree_survey.multipliers, self.degree_survey.classes)
        made: dict[int, list[int]] = {}
        for report in range(-far, far + 1):
            plan = believed_plan(self.degree_survey, np.full(self.n, report), answered, Fraction(self.delta), loss)
            made.setdefault(int(plan.bounds[0]), []).append(report)
        return {
            bound: (None if -far in reports else min(reports), None if far in reports else max(reports))
            for bound, reports in made.items()
        }

    def stage(self, bounds: Bounds) -> neighbourhood_stage.OwnedStage:
        """The second round under these bounds."""
        plan = OwnerPlan(
            BELIEVED, np.array(bounds), np.ones(self.n, np.bool_), self.degree_survey, Fraction(self.delta)
        )
        return neighbourhood_stage.OwnedStage(self.pattern, self.n, plan, self.first, self.second, self.client)

    @property
    def stages(self) -> dict[Bounds, neighbourhood_stage.OwnedStage]:
        """The second rounds under bounds that rise with the users' numbers."""
        return second_rounds(self.n, self.first, self.second, self.delta, self.client)

    @cached_property
    def billed(self) -> tuple[Fraction, Fraction]:
        """What the code says that both rounds cost: epsilon and delta."""
        survey = self.bill(next(iter(self.stages.values())).survey)
        price = survey.price(Visibility.PRIVATE)
        return self.degree_survey.price(Visibility.PRIVATE).epsilon + price.epsilon, price.delta

    @cached_property
    def in_order(self) -> dict[Bounds, Floats]:
        """For bounds that rise with the users' numbers: (worlds, places), what the counts tell of each place."""
        found = {}
        for bounds, stage in self.stages.items():
            table = np.zeros((len(stage.worlds), len(self.pattern)))
            for place in range(len(self.pattern)):
                table[neighbourhood_stage.pairs_of(self.pattern, place)[0], place] = stage.second_losses(place)
            found[bounds] = table
        return found

    @cached_property
    def everywhere(self) -> dict[Bounds, Floats]:
        """(worlds, places) for any bounds: what the counts tell."""
        return {bounds: self._renamed(bounds) for bounds in product(sorted(self.ranges), repeat=self.n)}

    def _renamed(self, bounds: Bounds) -> Floats:
        """By giving users the numbers of their ranks, which the plan alone decides."""
        ranks, at = self.stage(bounds).plan.ranks, {pair: place for place, pair in enumerate(positions(self.n))}
        moved = [at[tuple(sorted((int(ranks[u]), int(ranks[v]))))] for u, v in positions(self.n)]  # type: ignore[index]
        bits = np.array(list(worlds(self.pattern)))
        renamed = np.empty_like(bits)
        renamed[:, moved] = bits
        numbers = renamed @ (1 << np.arange(len(self.pattern))[::-1])
        return np.asarray(self.in_order[tuple(sorted(bounds))][numbers][:, moved], np.float64)

    def chance(self, degree: int, bound: int, side: int = 0, middle: int = 0) -> float:
        """That a user of this degree gets this bound; with a report up to the middle (−1), or above it (1)."""
        low, high = self.ranges[bound]
        if side < 0:
            high = middle if high is None else min(high, middle)
        if side > 0:
            low = middle + 1 if low is None else max(low, middle + 1)
        if low is not None and high is not None and low > high:
            return 0.0
        below = Decimal(0) if low is None else self.noise.cdf(low - 1 - degree)
        return float((Decimal(1) if high is None else self.noise.cdf(high - degree)) - below)

    def cells(self, place: int) -> Iterator[tuple[Floats, Floats, Floats, float]]:
        """For each cell of reports: its chance without and with the edge, what counts tell, and what degrees do."""
        v, w = positions(self.n)[place]
        without = neighbourhood_stage.pairs_of(self.pattern, place)[0]
        degrees = self.degrees[without]
        for bounds, losses in self.everywhere.items():
            told = losses[without, place]
            others = np.prod([self.chances[bounds[u]][degrees[:, u]] for u in range(self.n) if u not in (v, w)], axis=0)
            for sides in product((-1, 1), repeat=2):
                ends = [self.ends[bounds[u], side][:, degrees[:, u]] for u, side in zip((v, w), sides, strict=True)]
                chances = others * ends[0] * ends[1]
                yield chances[0], chances[1], told, -float(self.noise.rate) * sum(sides)

    @cached_property
    def chances(self) -> dict[int, Floats]:
        """For each bound, by degree: the chance that it is made."""
        return {b: np.array([self.chance(degree, b) for degree in range(self.n)]) for b in self.ranges}

    @cached_property
    def ends(self) -> dict[tuple[int, int], Floats]:
        """For each bound and side: (without and with the edge, degree without it)."""
        return {
            (b, side): np.array([[self.chance(d + more, b, side, d) for d in range(self.n)] for more in (0, 1)])
            for b, side in product(self.ranges, (-1, 1))
        }

    def losses(self, place: int, claim: float) -> tuple[float, float]:
        """The largest loss up to the claim, and the δ that pays for the first transcripts that exceed it."""
        found, failed = 0.0, np.zeros((2, len(self.degrees) // 2))
        for *chances, told, degrees in self.cells(place):
            for way, loss in enumerate((told + degrees, told - degrees)):
                over = loss > claim * _NEARLY
                failed[way] += np.where(over, chances[way] * -np.expm1(claim - loss), 0.0)
                found = max(found, float(loss[~over & (chances[way] > 0)].max(initial=0.0)))
        return found, float(failed.max())


@cache
def second_rounds(
    n: int, first: str, second: str, delta: str, client: neighbourhood_stage.Client
) -> dict[Bounds, neighbourhood_stage.OwnedStage]:
    """What is said in the second round does not depend on how it is billed."""
    stage = BelievedStage(n, first, second, delta, client)
    return {bounds: stage.stage(bounds) for bounds in combinations_with_replacement(sorted(stage.ranges), n)}


def stage_losses(stage: BelievedStage) -> Iterator[findings.Loss]:
    """Both rounds together beside (ε₁ + ε₂, δ): what was asked for, or what is billed if that is less."""
    kind, asked = Visibility.PRIVATE, Fraction(stage.first) + Fraction(stage.second)
    billed, delta = stage.billed
    claim, promised = float(min(asked, billed)), float(min(Fraction(stage.delta), delta))
    for place in range(len(stage.pattern)):
        found, failed = stage.losses(place, claim)
        yield findings.as_asked(findings.Loss(str(kind), claim, found, promised, failed), asked, billed)


def audit_believed(name: str, stages: list[BelievedStage]) -> findings.Finding:
    """The real users, or mutants of them, with bounds that are made of their reports."""
    losses = [loss for stage in stages for loss in stage_losses(stage)]
    cases = sum(len(stage.pattern) * len(stage.degrees) // 2 for stage in stages)
    users = " and of ".join(str(stage.n) for stage in stages)
    finding = findings.exact_finding(
        name, losses, cases, f"all graphs of {users} users, every plan of every reported degree"
    )
    for stage in (second for each in stages for second in each.stages.values()) if finding.holds else ():
        neighbourhood_stage.check_users(stage)
    return finding


NAME = "neighbourhood (a), believed"
# A δ that is large and a margin of 0, so that some of it is spent on so few users.
REAL, FOUR = BelievedStage(), BelievedStage(4)
AUDITS = (findings.exact(NAME, audit_believed, [FOUR, REAL]),)
_NO_DELTA = findings.replaced(
    NeighbourhoodSurvey,
    price=lambda survey, kind, round_number=1: Guarantee(OneEdge, survey.loss),
)
_MUTANTS = (
    ("bounds that are believed without a delta", BelievedStage(bill=partial(findings.recast, _NO_DELTA))),
    (
        "every triangle counted by all three of its users (document 004)",
        BelievedStage(4, client=neighbourhood_stage.CountedByAllThree),
    ),
    (neighbourhood_stage.ALONE, BelievedStage(4, client=neighbourhood_stage.SureAlone)),
)
MUTANTS = tuple(findings.exact(NAME, audit_believed, [stage], broken=broken) for broken, stage in _MUTANTS)
