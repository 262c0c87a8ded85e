"""CURATOR in a simulation: the centre is given the graph, and answers."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

from visibility_aware_edge_ldp.aggregator.curator import bounds, published
from visibility_aware_edge_ldp.aggregator.curator import estimate as estimate_curator
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.client.curator import Curator, Evidence, WorkedOut
from visibility_aware_edge_ldp.client.reporter import Purse
from visibility_aware_edge_ldp.client.views import WholeGraph
from visibility_aware_edge_ldp.mechanisms.randomness import (
    IntegerLaw,
    keyed_random_bytes,
    secure_random_bytes,
    seeded_key,
)
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.privacy import Guarantee, Number, OneEdge, parse_delta, parse_epsilon
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy as AnyPolicy
from visibility_aware_edge_ldp.public.statistic import check_statistics, star_size
from visibility_aware_edge_ldp.public.surveys.curator import (
    QUERIES,
    CuratorQuery,
    CuratorReport,
    CuratorSurvey,
    curator_survey,
    decode_answer,
    encode_answer,
    published_survey,
)
from visibility_aware_edge_ldp.public.trust import PILOT_SHARE
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

# Of a total epsilon, what the pilot may spend, and the least that any question gets of the rest.
LEAST_SHARE = Fraction(1, 50)


@dataclass(frozen=True, eq=False)
class CentralAnswer:
    """One question's estimate, its query, the centre's own evidence, and whether the estimate's errors may leave."""

    estimate: Estimate
    query: CuratorQuery
    evidence: Evidence
    public_part: int
    clamped: float
    releasable: bool


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
        """Every question of a survey, each with random bytes of its own.

        Where a bound was asked for too, the estimate is what everybody can make of the released numbers.  [CENTRE.2]
        """
        reports = [self._report(survey, index, seed) for index in range(survey.rounds)]
        told = {bound.of: report for bound, report in zip(survey.bounds, reports[len(survey.queries) :], strict=True)}
        answers = {}
        for query, report in zip(survey.queries, reports, strict=False):
            evidence, reach = self._curator.evidence(query), partial(self._curator.reach, query)
            if survey.bounds:
                found = published(survey, report, self.world.public, told.get(query))
            else:
                found = estimate_curator(survey, self.world.public, report, evidence.standard_deviation, reach)
            low, high = bounds(self.world.public, query.statistic)
            kept = float(min(max(report.value, low), high))
            releasable = evidence.releasable or query in told
            answers[query.statistic] = CentralAnswer(found, query, evidence, low, kept, releasable)
        return answers

    def _report(self, survey: CuratorSurvey, index: int, seed: int | str | None) -> CuratorReport:
        """One answer, through its bytes."""
        key = None if seed is None else seeded_key(seed, "curator", survey.identity, index)
        random_bytes = secure_random_bytes() if key is None else keyed_random_bytes(key)
        return decode_answer(encode_answer(self._curator.answer(survey, index, random_bytes)))


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
    publish: bool = False,
) -> tuple[dict[str, CentralAnswer], list[CuratorSurvey]]:
    """All questions for one epsilon and one delta in total; ``publish`` buys intervals that may leave.  [CURATOR.5]

    One question gets all of epsilon. For several a small pilot comes first, and the rest is split to equalise relative
    errors, by the pilot's noisy answers only; estimates carry the pilot's releases too.  [CURATOR.3]
    """
    total, names = parse_epsilon(total_epsilon), check_statistics(statistics, centre.world.graph.n)
    each, make = delta_of_each(delta, names), published_survey if publish else curator_survey
    if len(names) == 1:
        survey = make(centre.world.public, total, each, names, noise)
        return centre.ask(survey, seed), [survey]
    pilot = pilot_survey(centre.world, total, each, names, noise)
    asked = centre.ask(pilot, seed)
    rough = {name: float(answer.estimate.value) for name, answer in asked.items()}
    paid = tuple(release for answer in asked.values() for release in answer.estimate.releases)
    main = make(centre.world.public, main_epsilons(rough, names, total, pilot), each, names, noise)
    answers = {
        name: replace(answer, estimate=replace(answer.estimate, releases=(*paid, *answer.estimate.releases)))
        for name, answer in centre.ask(main, seed).items()
    }
    return answers, [pilot, main]


def delta_of_each(delta: Number, names: Sequence[str]) -> Fraction:
    """What each release of a centre may spend of a delta in total: a pilot and the main survey share it."""
    total = parse_delta(delta)
    return total if len(names) == 1 else total / (2 * len(names) + 2)


def promised(policy: AnyPolicy, total: Fraction, delta: Fraction) -> dict[Visibility, Guarantee[OneEdge]]:
    """What holds before anything is asked, whatever a pilot makes of the split: the total.  [CURATOR.3]

    A friend-visible change is a few private changes in a row, with (1 + e^ε + …)δ, for every ε of the split.
    """
    losses = policy.multipliers
    private = losses.private * total
    steps = range(math.ceil(losses.friend_visible / losses.private))
    growth = sum(math.ceil(math.exp(min(step * float(private), 50.0))) for step in steps)
    friends = Guarantee(OneEdge, losses.friend_visible * total, min(delta * growth, Fraction(999, 1000)))
    return {Visibility.PRIVATE: Guarantee(OneEdge, private, delta), Visibility.FRIEND_VISIBLE: friends}


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
    # Rounded down to millionths; what is left over goes to the first, so that the shares sum to 1.
    shares = [least + spare * Fraction(int(errors[name] / total * 10**6), 10**6) for name in names]
    return [1 - sum(shares[1:], Fraction(0)), *shares[1:]]


def _sensitivity(statistic: str, degree: int) -> float:
    """A guess from the noisy maximum degree; it decides how well the split fits, never the promise."""
    k = star_size(statistic)
    if k is not None:
        return 2.0 * math.comb(degree, k - 1)
    return degree / 3 if statistic == "triangles" else 1.0
