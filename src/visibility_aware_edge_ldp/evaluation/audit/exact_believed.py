"""NEIGHBOURHOOD (a) with bounds that are believed: every reported degree, every plan it leads to, and δ.  [WALK.6]

Reports fall into a few cells: on which side of the true degree, and which bound the real plan makes of them. Each cell
has an exact probability, so nothing is cut off.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import combinations_with_replacement, product

import numpy as np

from visibility_aware_edge_ldp.client.two_hop import Edges
from visibility_aware_edge_ldp.evaluation.audit.exact_owned import (
    OwnedStage,
    Speak,
    Spoken,
    all_degrees,
    check_users,
    pairs_of,
    real_users,
)
from visibility_aware_edge_ldp.evaluation.audit.finding import Audit, Finding
from visibility_aware_edge_ldp.evaluation.audit.noise_loss import Floats, exact_finding, loss_of
from visibility_aware_edge_ldp.evaluation.audit.small_worlds import Pattern, positions, view_of, worlds
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.exact_sampling import Integers as Ints
from visibility_aware_edge_ldp.public.degree_survey import DegreeSurvey, degree_survey
from visibility_aware_edge_ldp.public.neighbourhood_survey import NeighbourhoodSurvey
from visibility_aware_edge_ldp.public.owner_plan import BELIEVED, OwnerPlan, believed_plan
from visibility_aware_edge_ldp.public.view import PublicView
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
    delta: str = "1/100"
    speak: Speak = real_users

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
        heard, far = np.ones(self.n, np.bool_), 4 * self.n + int(40 / self.noise.rate)
        made: dict[int, list[int]] = {}
        for report in range(-far, far + 1):
            plan = believed_plan(self.degree_survey, np.full(self.n, report), heard, Fraction(self.delta))
            made.setdefault(int(plan.bounds[0]), []).append(report)
        return {
            bound: (None if -far in reports else min(reports), None if far in reports else max(reports))
            for bound, reports in made.items()
        }

    def stage(self, bounds: Bounds) -> OwnedStage:
        """The second round under these bounds."""
        heard = np.ones(self.n, np.bool_)
        plan = OwnerPlan(BELIEVED, np.array(bounds), heard, self.degree_survey, Fraction(self.delta))
        return OwnedStage(self.pattern, self.n, plan, self.first, self.second, self.speak)

    @cached_property
    def in_order(self) -> dict[Bounds, Floats]:
        """For bounds that rise with the users' numbers: (worlds, places), what the counts tell of each place."""
        found = {}
        for bounds in combinations_with_replacement(sorted(self.ranges), self.n):
            stage = self.stage(bounds)
            table = np.zeros((len(stage.worlds), len(self.pattern)))
            for place in range(len(self.pattern)):
                table[stage.pairs(place)[0], place] = stage.second_losses(place)
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
        without = pairs_of(self.pattern, place)[0]
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
        """The largest loss up to the claim, and the largest probability of a first transcript that exceeds it."""
        found, failed = 0.0, np.zeros((2, len(self.degrees) // 2))
        for *chances, told, degrees in self.cells(place):
            for way, loss in enumerate((told + degrees, told - degrees)):
                over = loss > claim * _NEARLY
                failed[way] += np.where(over, chances[way], 0.0)
                found = max(found, float(loss[~over & (chances[way] > 0)].max(initial=0.0)))
        return found, float(failed.max())


def audit_believed(name: str, stage: BelievedStage, claimed_delta: str | None = None) -> Finding:
    """Both rounds together beside the claim (ε₁ + ε₂, δ)."""
    claim = float(Fraction(stage.first) + Fraction(stage.second))
    promised = float(Fraction(stage.delta if claimed_delta is None else claimed_delta))
    for bounds in (min(stage.in_order), max(stage.in_order)):
        check_users(stage.stage(bounds))
    each = [stage.losses(place, claim) for place in range(len(stage.pattern))]
    losses = [loss_of(Visibility.PRIVATE, claim, found, (promised, failed)) for found, failed in each]
    cases = len(each) * len(stage.degrees) // 2
    return exact_finding(name, losses, cases, f"all graphs of {stage.n} users, every plan of every reported degree")


def counted_by_all_three(survey: NeighbourhoodSurvey, view: PublicView, edges: Edges) -> Spoken:
    """All triangles at each user, at the scale of those that it owns."""
    matrix = np.zeros((view.n, view.n), np.int64)
    matrix[edges[:, 0], edges[:, 1]] = matrix[edges[:, 1], edges[:, 0]] = 1
    return Spoken(np.diag(matrix @ matrix @ matrix) // 2, survey.plan.sensitivities)


NAME = "neighbourhood (a), believed"
# A δ that is large and a margin of 0, so that some of it is spent on five users.
REAL = BelievedStage()
AUDITS: tuple[Audit, ...] = (Audit(NAME, "exact", lambda: audit_believed(NAME, REAL)),)
TWINS: tuple[Audit, ...] = (
    Audit(
        NAME,
        "exact",
        lambda: audit_believed(NAME, REAL, claimed_delta="0"),
        "bounds that are believed without a delta",
    ),
    Audit(
        NAME,
        "exact",
        lambda: audit_believed(NAME, BelievedStage(speak=counted_by_all_three)),
        "every triangle counted by all three of its users (document 004)",
    ),
)
