"""USER in a simulation: one epsilon, split between the questions that the statistics need."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from visibility_aware_edge_ldp.aggregator.answers import Answers, Certificate
from visibility_aware_edge_ldp.aggregator.collection import PositionCollection
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.aggregator.position import estimate as estimate_position
from visibility_aware_edge_ldp.aggregator.user_degrees import estimate as estimate_degrees
from visibility_aware_edge_ldp.aggregator.user_transitivity import transitivity
from visibility_aware_edge_ldp.aggregator.user_triangles import four_cycles, triangles
from visibility_aware_edge_ldp.errors import BadInput, BadPrivacyParameter
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.privacy.composition import Bill, Release
from visibility_aware_edge_ldp.privacy.guarantee import Guarantee
from visibility_aware_edge_ldp.privacy.parameters import Number, exact_epsilon, exact_share
from visibility_aware_edge_ldp.privacy.relation import OneListEntry
from visibility_aware_edge_ldp.public.degree_survey import degree_survey
from visibility_aware_edge_ldp.public.histogram_survey import histogram_survey
from visibility_aware_edge_ldp.public.survey import position_survey
from visibility_aware_edge_ldp.public.triangle_survey import best_first_share, row_surveys
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC
from visibility_aware_edge_ldp.simulation.list_holders import collect_degrees, collect_histogram
from visibility_aware_edge_ldp.simulation.population import collect
from visibility_aware_edge_ldp.simulation.progress import NOBODY_LISTENS, PATHS, Phases, Steps
from visibility_aware_edge_ldp.simulation.row_holders import collect_rows
from visibility_aware_edge_ldp.simulation.user_on_engine import collect_rows_on
from visibility_aware_edge_ldp.simulation.worlds import assumptions_of, positions_per_class
from visibility_aware_edge_ldp.subgraphs.engines import Workers
from visibility_aware_edge_ldp.subgraphs.statistic import star_size, tail_start

TRUST_WORDS = "one reporter holds its own friend list and adds noise before it sends; the aggregator is not trusted."
# Of epsilon, what the degrees get where triangles are asked for too: they need far less of it.
DEGREE_SHARE = Fraction(1, 4)
# 4-cycles would take a share of epsilon from triangles, so they come only when asked for.
DEFAULT = ("edges", "max_degree", "triangles", "stars:2", "stars:3", "transitivity")
ROW_ESTIMATES = {"triangles": triangles, "four_cycles": four_cycles}


@dataclass(frozen=True)
class Plan:
    """Which statistics come from which question, and what each question may spend."""

    by_degrees: tuple[str, ...]
    by_rows: tuple[str, ...]
    degree_epsilon: Fraction
    row_epsilon: Fraction
    cycles_twice: bool = True

    @property
    def summed(self) -> tuple[str, ...]:
        """What users sum over their rows."""
        names = dict.fromkeys("triangles" if name == "transitivity" else name for name in self.by_rows)
        return tuple(name for name in names if name != "four_cycles" or self.cycles_twice)


def plan_for(
    statistics: Sequence[str],
    epsilon: Number,
    nodes: int,
    degree_share: Number = DEGREE_SHARE,
    absent: bool = False,
) -> Plan:
    """All of epsilon to the only question, or a share to the degrees.

    Where whole rows may be missing, 4-cycles take two rounds: one round's estimate is for positions that stay away one
    by one.
    """
    share = exact_share(degree_share, "the degrees' share of epsilon")
    if not 0 < share < 1:
        raise BadPrivacyParameter(f"The degrees' share of epsilon is above 0 and below 1; got {degree_share}.")
    whole = exact_epsilon(epsilon)
    by_degrees = tuple(name for name in statistics if needs_degrees(name))
    by_rows = tuple(name for name in statistics if name in ("triangles", "transitivity", "four_cycles"))
    if not by_rows:
        return Plan(by_degrees, (), whole, Fraction(0))
    if not by_degrees:
        return Plan((), by_rows, Fraction(0), whole, absent or two_rounds_pay(whole, nodes))
    rest = whole * (1 - share)
    return Plan(by_degrees, by_rows, whole * share, rest, absent or two_rounds_pay(rest, nodes))


def two_rounds_pay(epsilon: Fraction, nodes: int) -> bool:
    """Whether the second round's noise on 4-cycles is below what one round has at least.  [CYCLE.3]"""
    first = best_first_share(["four_cycles"], epsilon)
    one_round, answers = (1 / (4 * math.sinh(float(part * epsilon) / 2) ** 2) for part in (Fraction(1), first))
    return nodes * one_round**2 * float((1 - first) * epsilon) ** 2 > 40 * answers


def needs_degrees(statistic: str) -> bool:
    """Whether noisy degrees answer it, alone or with something else."""
    plain = ("edges", "degrees", "max_degree", "degree_histogram", "transitivity")
    return statistic in plain or star_size(statistic) is not None or tail_start(statistic) is not None


def by_user(
    world: VisibilityAwareGraph,
    epsilon: Number,
    statistics: Sequence[str],
    dropout: float = 0.0,
    seed: int | str | None = None,
    degree_share: Number = DEGREE_SHARE,
    engine: Workers | None = None,
    phases: Phases = NOBODY_LISTENS,
) -> Answers:
    """Every user reports its noisy degree, answers for its row, and sums over its list, as far as is needed.

    With an engine, its workers are the users who sum. Rows are told of in three phases: answers, sums, and the paths
    behind standard errors.
    """
    plan = plan_for(statistics, epsilon, world.graph.n, degree_share, absent=dropout > 0)
    found, releases, response = _ask(world, plan, dropout, seed, engine, phases)
    return Answers(
        {name: found[name] for name in statistics},
        Certificate(
            trust="USER",
            trust_words=TRUST_WORDS,
            bill=Bill((*world.policy.paid, *releases)),
            policy=str(world.policy),
            classes=positions_per_class(world),
            response={"users": response},
            assumptions=assumptions_of(world),
            simulated=seed is not None,
            paid=world.policy.paid,
            per_list=per_list(world, plan),
            spent=spending(world, plan),
        ),
    )


def by_whole_degrees(
    world: VisibilityAwareGraph,
    epsilon: Number,
    statistics: Sequence[str],
    dropout: float = 0.0,
    seed: int | str | None = None,
) -> Answers:
    """The degree histogram from users who hide their whole degree, by Hadamard response."""
    if tuple(statistics) != ("degree_histogram",):
        raise BadInput("Users who hide their whole degree answer degree_histogram alone; ask for nothing else.")
    survey = histogram_survey(world.public, epsilon)
    collection = collect_histogram(world, survey, seed, dropout)
    certificate = Certificate(
        trust="USER",
        trust_words=TRUST_WORDS,
        bill=Bill((*world.policy.paid, *collection.releases)),
        policy=str(world.policy),
        classes=positions_per_class(world),
        response={"users": collection.response_rate},
        assumptions=assumptions_of(world),
        simulated=seed is not None,
        paid=world.policy.paid,
        also=(survey.guarantee,),
    )
    return Answers({"degree_histogram": collection.projected()}, certificate)


def per_list(world: VisibilityAwareGraph, plan: Plan) -> dict[str, Guarantee[OneListEntry]]:
    """What an entry of one list loses by its holder's own reports: half of the degrees' loss, all of the row's."""
    each = plan.degree_epsilon / 2 + plan.row_epsilon
    return {str(kind): Guarantee(OneListEntry, world.policy.multiplier(kind) * each) for kind in NON_PUBLIC[::-1]}


def spending(world: VisibilityAwareGraph, plan: Plan) -> dict[str, float]:
    """On what epsilon goes."""
    spent = {"the degrees": plan.degree_epsilon} if plan.by_degrees else {}
    if plan.by_rows and not plan.summed:
        spent["the answers"] = plan.row_epsilon
    surveys = row_surveys(world.public, plan.row_epsilon, plan.summed) if plan.summed else {}
    for name, survey in surveys.items():
        spent["the first answers"] = survey.first.epsilon
        spent[f"the rows' {name.replace('_', ' ')}"] = survey.total
        spent["their standard errors"] = spent.get("their standard errors", Fraction(0)) + survey.reach
    return {what: float(share) for what, share in spent.items()}


def _ask(
    world: VisibilityAwareGraph,
    plan: Plan,
    dropout: float,
    seed: int | str | None,
    engine: Workers | None,
    phases: Phases,
) -> tuple[dict[str, Estimate], tuple[Release, ...], float]:
    """The estimates by name, what they cost, and the share of users who took part."""
    found: dict[str, Estimate] = {}
    response = 1.0
    if plan.by_degrees:
        degrees = collect_degrees(world, degree_survey(world.public, plan.degree_epsilon), seed, dropout)
        wedges = "stars:2" if world.graph.n > 2 else "edges"  # two nodes have no 2-stars
        names = dict.fromkeys(wedges if name == "transitivity" else name for name in plan.by_degrees)
        found |= estimate_degrees(degrees, tuple(names))
        response = degrees.response_rate
    if plan.summed:
        surveys = row_surveys(world.public, plan.row_epsilon, plan.summed)
        asked = collect_rows if engine is None else partial(collect_rows_on, engine)
        rows = asked(world, surveys, seed, dropout, phases)
        steps = Steps(phases.of(PATHS), len(rows))
        found |= {name: ROW_ESTIMATES[name](collection, steps) for name, collection in rows.items()}
        response = min(collection.response_rate for collection in rows.values())
    if "four_cycles" in plan.by_rows and not plan.cycles_twice:
        first = rows["triangles"].first if plan.summed else _one_round(world, plan, seed)
        found |= estimate_position(first, ("four_cycles",))
    if "transitivity" in plan.by_rows:
        wedge = found.get("stars:2", Estimate("stars:2", 0.0, 0.0))
        found["transitivity"] = transitivity(found["triangles"], wedge, rows["triangles"], degrees)
    return found, tuple(dict.fromkeys(release for each in found.values() for release in each.releases)), response


def _one_round(world: VisibilityAwareGraph, plan: Plan, seed: int | str | None) -> PositionCollection:
    """Users answer for their rows and nothing more: what POSITION's reporters would send."""
    return collect(world, position_survey(world.public, plan.row_epsilon), seed)
