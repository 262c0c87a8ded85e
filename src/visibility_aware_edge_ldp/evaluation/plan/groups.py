"""USER groups before anybody is asked: the noise of each cell, and of what follows from the cells.  [PLAN.15]"""

import numpy as np

from visibility_aware_edge_ldp.counts.mixing import LINEAR, RATIOS, GroupCounts, friend_sums
from visibility_aware_edge_ldp.evaluation.plan import base
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.privacy import Number
from visibility_aware_edge_ldp.public.surveys.groups import group_survey

NO_GROUPS = "hangs on how many members each group has, which this plan was not told"


def error(world: VisibilityAwareGraph, epsilon: Number, name: str) -> base.PredictedError | str:
    """The standard error of a statistic of groups if everybody answers; of several entries the mean over them."""
    groups = world.graph.groups
    if groups is None:
        return NO_GROUPS
    known = _known(world, epsilon)
    if name in LINEAR:
        gradients = list(LINEAR[name](groups.sizes))
    else:
        ratios = RATIOS[name](known.cells, groups.sizes)
        if not all(ratio.below for ratio in ratios):
            return "a group of the assumed graph has no edges, so that its index is not defined"
        gradients = [
            (each.above_gradient - each.value * each.below_gradient) / each.below * each.slope(each.value)
            for each in ratios
        ]
    return base.PredictedError(float(np.mean([known.variance(gradient) ** 0.5 for gradient in gradients])))


def _known(world: VisibilityAwareGraph, epsilon: Number) -> GroupCounts:
    """The true sums of all groups, with the noise that everybody's answers would have."""
    survey = group_survey(world.public, epsilon)
    members, many = survey.groups.members, survey.groups.count
    hiding = world.public.users_with(survey.classes)
    variances = np.array([float(survey.mechanism(kind).variance) for kind in survey.classes]).reshape(-1, 1)
    noise = np.where(hiding, variances, 0.0).sum(axis=0)
    asked = [np.flatnonzero(hiding.any(axis=0) & (members == a)) for a in range(many)]
    return GroupCounts(
        friend_sums(members, many, world.graph.edges),
        np.array([users.size for users in asked]),
        tuple(np.zeros((users.size, many)) for users in asked),
        tuple(noise[users] for users in asked),
    )
