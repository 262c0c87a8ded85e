"""POSITION in a scope, with a sample of the positions outside: three numbers for each statistic.  [SCOPE.7-8]"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from visibility_aware_edge_ldp.aggregator.answers import Answers
from visibility_aware_edge_ldp.aggregator.collection import estimate
from visibility_aware_edge_ldp.aggregator.position import PositionCollection
from visibility_aware_edge_ldp.aggregator.scope_rest import joint_releases, refuse_others, rest_estimates
from visibility_aware_edge_ldp.mechanisms.randomness import seeded_key
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public.surveys.position import position_survey
from visibility_aware_edge_ldp.public.trust import POSITION
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC
from visibility_aware_edge_ldp.simulation.worlds import certificate

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.simulation.execution import Request

COIN_ASSUMPTION = "the coin of the sample was public before anybody answered, and hangs on no bit"


def with_rest(request: Request, collect: Callable[..., PositionCollection]) -> Answers:
    """Everybody inside the scope answers, and outside those that a public coin draws, at the same loss.  [SCOPE.7-8]

    ``collect`` lets a world's clients answer a survey, and gives their answers together.
    """
    world, seed, chosen = request.world, request.seed, request.options
    refuse_others(request.statistics)
    outer = VisibilityAwareGraph(world.whole, world.policy.outside)
    coin = os.urandom(16).hex() if seed is None else seeded_key(seed, "coin of the rest").hex()
    surveys = (
        position_survey(world.public, request.epsilon, chosen.rounds),
        position_survey(outer.public, request.epsilon, chosen.rounds, sample=chosen.rest_sample, coin=coin),
    )
    seeds = (seed, None if seed is None else f"{seed} outside")
    inside, outside = (
        collect(each, survey, own, request.dropout, into=PositionCollection)
        for each, survey, own in zip((world, outer), surveys, seeds, strict=True)
    )
    rest, releases = rest_estimates(inside, outside, request.statistics), joint_releases(inside, outside)
    found = {name: replace(each, releases=releases) for name, each in estimate(inside, request.statistics).items()}
    asked = sum(outside.asked_sizes[kind] for kind in NON_PUBLIC)
    more = " more than for choosing the policy" if world.policy.paid else ""
    note = f"a public coin drew {asked:,} of them, asked at the loss of their class; the others lose nothing{more}."
    sizes, rates = world.public.inside_sizes, inside.response_rates()
    certified = certificate(world, POSITION, releases, seed, rates, sizes, assumptions=(COIN_ASSUMPTION,), rest=note)
    return Answers(found, certified, rest=rest)
