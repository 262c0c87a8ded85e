"""Those of a roster who were drawn for a survey answer, and their weights tell of the whole roster.  [WEIGHTS.1-5]"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from visibility_aware_edge_ldp.aggregator.answers import Answers
from visibility_aware_edge_ldp.aggregator.collection import estimate
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.aggregator.nonresponse.survey_weights import (
    SurveyWeights,
    WeightedDegrees,
    WeightedGroups,
)
from visibility_aware_edge_ldp.errors import BadInput, BadPolicy
from visibility_aware_edge_ldp.public.surveys.degrees import degree_survey
from visibility_aware_edge_ldp.public.surveys.groups import group_survey
from visibility_aware_edge_ldp.public.trust import USER
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.simulation.execution import Request
from visibility_aware_edge_ldp.simulation.options import per_list, plan_for, spending
from visibility_aware_edge_ldp.simulation.simulate import collect
from visibility_aware_edge_ldp.simulation.worlds import certificate

PUBLIC_GROUPS = "the {} of every member is public and hangs on no edge"
DRAWN_ASSUMPTION = "who was drawn and everybody's survey weight are public, and neither hangs on an edge or an answer"
MUTUAL_ASSUMPTION = "people name each other: an edge is half of what its two ends name"


def weighted_users(request: Request) -> Answers:
    """Those who were drawn report their own numbers of friends; each stands for as many as its weight says."""
    world, sample = request.world, request.world.whole.sample
    if request.dropout or getattr(request.options, "hide", "edge") != "edge":
        raise BadInput("Survey weights say who answered and hide edges; leave out dropout and hide.")
    if Visibility.PUBLIC in world.public.present:
        raise BadPolicy("Public lists are not known of those who were not drawn; use a policy with nothing public.")
    weights = SurveyWeights(sample.weights, sample.scaled)  # type: ignore[union-attr]
    plan = plan_for(request.statistics, request.epsilon, world.graph.n, request.options.degree_share)
    found: dict[str, Estimate] = {}
    releases: tuple[Any, ...] = ()
    for names, survey, kind in (
        (plan.by_degrees, degree_survey, WeightedDegrees),
        (plan.by_groups, group_survey, WeightedGroups),
    ):
        if names:
            epsilon = plan.degree_epsilon if kind is WeightedDegrees else plan.group_epsilon
            into = partial(kind, weights=weights)
            collection = collect(world, survey(world.public, epsilon), request.seed, into=into)
            found |= estimate(collection, names)
            releases += collection.releases
    drawn = int(sample.drawn.sum())  # type: ignore[union-attr]
    how = "scaled so that they add up to it" if weights.scaled else "taken as one over the chance of being drawn"
    notes = (f"{drawn:,} of {world.graph.n:,} people of the roster were drawn and answered; survey weights are {how}",)
    certified = certificate(
        world, USER, tuple(dict.fromkeys(releases)), request.seed, assumptions=_assumed(world, found), notes=notes,
        per_list=per_list(world, plan), spent=spending(world, plan),
    )  # fmt: skip
    return Answers({name: found[name] for name in request.statistics}, certified)


def _assumed(world: Any, found: Mapping[str, Estimate]) -> tuple[str, ...]:
    """What weights assume, and what groups do where there are any."""
    groups = world.graph.groups
    return (DRAWN_ASSUMPTION, MUTUAL_ASSUMPTION, *([] if groups is None else [PUBLIC_GROUPS.format(groups.attribute)]))
