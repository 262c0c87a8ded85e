"""CURATOR in a simulation: the centre is given the graph, and answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import comb

from visibility_aware_edge_ldp.aggregator.curator import bounds
from visibility_aware_edge_ldp.aggregator.curator import estimate as estimate_curator
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.client.curator import Curator, Evidence, WorkedOut
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.views import WholeGraph
from visibility_aware_edge_ldp.errors import BadPrivacyParameter
from visibility_aware_edge_ldp.mechanisms.randomness import (
    IntegerLaw,
    keyed_random_bytes,
    secure_random_bytes,
    seeded_key,
)
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.privacy import Number, parse_delta, parse_epsilon
from visibility_aware_edge_ldp.public.statistic import check_statistics, star_size
from visibility_aware_edge_ldp.public.surveys.curator import (
    QUERIES,
    CuratorQuery,
    CuratorSurvey,
    curator_survey,
    decode_answer,
    encode_answer,
)
from visibility_aware_edge_ldp.public.trust import PILOT_SHARE
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC

# Of a total epsilon, what the pilot may spend, and the least that any question gets of the rest.
LEAST_SHARE = Fraction(1, 50)


@dataclass(frozen=True, eq=False)
class CentralAnswer:
    """One question's estimate, its query, and the centre's own evidence."""

    estimate: Estimate
    query: CuratorQuery
    evidence: Evidence
    public_part: int
    clamped: float


class Centre:
    """A centre that holds a world's graph; keeps what it has worked out between surveys."""

    def __init__(
        self,
        world: VisibilityAwareGraph,
        cap: Number = 1000,
        delta: Number = "0.01",
        worked_out: WorkedOut | None = None,
    ) -> None:
        self.world = world
        limit = {kind: world.policy.multiplier(kind) * parse_epsilon(cap) for kind in NON_PUBLIC}
        whole, purse = WholeGraph(world.graph.n, world.graph.edges), Purse(limit, parse_delta(delta))
        self._curator = Curator(whole, world.public, purse, worked_out)

    @property
    def worked_out(self) -> WorkedOut:
        """What another centre of the same world need not work out again."""
        return self._curator.worked_out

    def law(self, query: CuratorQuery) -> IntegerLaw | None:
        """The law of the noise on this question; none where no private bit can move the answer."""
        return self._curator.law(query)

    def ask(self, survey: CuratorSurvey, seed: int | str | None = None) -> dict[str, CentralAnswer]:
        """Every question of a survey, each with random bytes of its own."""
        answers = {}
        for index, query in enumerate(survey.queries):
            key = None if seed is None else seeded_key(seed, "curator", survey.identity, index)
            random_bytes = secure_random_bytes() if key is None else keyed_random_bytes(key)
            report = decode_answer(encode_answer(self._curator.answer(survey, index, random_bytes)))
            evidence, reach = self._curator.evidence(query), partial(self._curator.reach, query)
            found = estimate_curator(survey, self.world.public, report, evidence.standard_deviation, reach)
            low, high = bounds(self.world.public, query.statistic)
            kept = float(min(max(report.value, low), high))
            answers[query.statistic] = CentralAnswer(found, query, evidence, low, kept)
        return answers


def survey_for(
    world: VisibilityAwareGraph,
    epsilon: Number,
    delta: Number = 0,
    statistics: str | Sequence[str] = QUERIES,
    noise: str | None = None,
) -> CuratorSurvey:
    """A survey with this epsilon for each question."""
    return curator_survey(world.public, epsilon, delta, check_statistics(statistics, world.graph.n), noise)


def ask_within(
    centre: Centre,
    total_epsilon: Number,
    delta: Number = 0,
    statistics: str | Sequence[str] = QUERIES,
    noise: str | None = None,
    seed: int | str | None = None,
) -> tuple[dict[str, CentralAnswer], list[CuratorSurvey]]:
    """All questions for one epsilon in total: a small pilot, then the rest split to equalise relative errors.

    The split looks at the pilot's noisy answers only.  [CURATOR.3]
    """
    total, names = parse_epsilon(total_epsilon), check_statistics(statistics, centre.world.graph.n)
    small = parse_delta(delta)
    if small * 2 * len(names) >= 1:
        raise BadPrivacyParameter(f"A delta of {delta} in each of {2 * len(names)} releases sums to 1 or more.")
    pilot = pilot_survey(centre.world, total, small, names, noise)
    rough = {name: float(answer.estimate.value) for name, answer in centre.ask(pilot, seed).items()}
    main = curator_survey(centre.world.public, main_epsilons(rough, names, total, pilot), small, names, noise)
    return centre.ask(main, seed), [pilot, main]


def pilot_survey(
    world: VisibilityAwareGraph, total: Fraction, delta: Fraction, names: Sequence[str], noise: str | None = None
) -> CuratorSurvey:
    """The survey whose noisy answers decide how the rest of epsilon is split."""
    wanted = tuple(dict.fromkeys([*names, "edges", "max_degree"]))
    return curator_survey(world.public, total * PILOT_SHARE / len(wanted), delta, wanted, noise)


def main_epsilons(
    rough: Mapping[str, float], names: Sequence[str], total: Fraction, pilot: CuratorSurvey
) -> list[Fraction]:
    """What each question gets after the pilot has answered ``rough``."""
    shares = split({name: max(value, 1.0) for name, value in rough.items()}, names, float(pilot.queries[0].epsilon) / 4)
    return [total * (1 - PILOT_SHARE) * share for share in shares]


def split(rough: dict[str, float], names: Sequence[str], cap: float) -> list[Fraction]:
    """Shares of epsilon in proportion to each question's relative error, as far as noisy answers tell.

    An answer below its own noise tells no more than that its relative error is large: above ``cap`` all are alike.
    """
    degree = max(int(rough["max_degree"]), 2)
    errors = {name: min(_sensitivity(name, degree) / rough[name], cap) for name in names}
    total = sum(errors.values())
    least = min(LEAST_SHARE, Fraction(1, 2 * len(names)))
    spare = 1 - least * len(names)
    # Rounded down to millionths, so that the shares never sum to more than 1.
    return [least + spare * Fraction(int(errors[name] / total * 10**6), 10**6) for name in names]


def _sensitivity(statistic: str, degree: int) -> float:
    """A guess from the noisy maximum degree; it decides how well the split fits, never the promise."""
    k = star_size(statistic)
    if k is not None:
        return 2.0 * comb(degree, k - 1)
    return degree / 3 if statistic == "triangles" else 1.0
