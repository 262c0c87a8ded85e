"""Groups before anybody is asked: the noise of each cell, and of what follows from the cells.  [PLAN.15]"""

import numpy as np

from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.plain.bitset import group_masks, sums_by_group, sums_within
from visibility_aware_edge_ldp.counts import mixing
from visibility_aware_edge_ldp.evaluation.plan import base
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.privacy import Number
from visibility_aware_edge_ldp.public.groups import Groups
from visibility_aware_edge_ldp.public.surveys.groups import group_survey
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility

# Nodes up to which the class of every position is looked at: some seconds, and 50 MB a class.
MOST_NODES = 20_000

NO_GROUPS = "hangs on how many members each group has, which this plan was not told"


def user_error(world: VisibilityAwareGraph, epsilon: Number, name: str) -> base.PredictedError | str:
    """The standard error of a statistic of groups from users' counts, if everybody answers."""
    return NO_GROUPS if world.graph.groups is None else error(_counted(world, epsilon), world.graph.groups, name)


def position_error(
    world: VisibilityAwareGraph, name: str, noise: mixing.Floats, coin: mixing.Floats
) -> base.PredictedError | str:
    """The same from the scores of positions, whose variances by class are given; ``coin`` is what an edge adds.

    A position has the variance of its class, so that a cell's follows from how many of each class it has.  [MIXING.7]
    """
    groups = world.graph.groups
    if groups is None:
        return NO_GROUPS
    if name not in mixing.LINEAR and name not in mixing.RATIOS:
        return base.NO_CLOSED_FORM
    if not world.public.classes.is_constant and world.graph.n > MOST_NODES:
        return f"would take a look at the class of every position; a plan does so up to {MOST_NODES:,} nodes"
    ends, many = world.graph.edges, groups.count
    kinds = world.public.classes.of(ends[:, 0], ends[:, 1])
    total = np.zeros((many, many))
    for kind in sorted(world.public.present - {Visibility.PUBLIC}):
        total += noise[kind] * _positions(world.public, kind, groups)
        total += coin[kind] * mixing.friend_sums(groups.members, many, ends[kinds == kind])
    total[np.diag_indices(many)] /= 2
    return error(mixing.ScoredCells(mixing.mixing_matrix(groups.members, many, ends), total), groups, name)


def error(known: mixing.GroupCounts | mixing.ScoredCells, groups: Groups, name: str) -> base.PredictedError | str:
    """The standard error of a statistic of groups; of several entries the mean over them."""
    if name in mixing.LINEAR:
        gradients = list(mixing.LINEAR[name](groups.sizes))
    else:
        ratios = mixing.RATIOS[name](known.cells, groups.sizes)
        if not all(ratio.below for ratio in ratios):
            return "a group of the assumed graph has no edges, so that its index is not defined"
        gradients = [
            (each.above_gradient - each.value * each.below_gradient) / each.below * each.slope(each.value)
            for each in ratios
        ]
    each = [known.variance(gradient) ** 0.5 for gradient in gradients]
    return base.PredictedError(float(np.mean(each)), entries=tuple(each))


def _positions(view: PublicView, kind: Visibility, groups: Groups) -> mixing.Floats:
    """(groups, groups): how many positions of a class members of one group have with those of another."""
    if view.classes.is_constant:
        return np.asarray(np.outer(groups.sizes, groups.sizes) - np.diag(groups.sizes), np.float64)
    plane = backend.plane_of(view.class_bits[kind], view.n)
    return sums_by_group(sums_within(plane, group_masks(groups.members, groups.count)), groups.members, groups.count)


def _counted(world: VisibilityAwareGraph, epsilon: Number) -> mixing.GroupCounts:
    """The true sums of all groups, with the noise that everybody's answers would have."""
    survey = group_survey(world.public, epsilon)
    members, many = survey.groups.members, survey.groups.count
    hiding = world.public.users_with(survey.classes)
    variances = np.array([float(survey.mechanism(kind).variance) for kind in survey.classes]).reshape(-1, 1)
    noise = np.where(hiding, variances, 0.0).sum(axis=0)
    asked = [np.flatnonzero(hiding.any(axis=0) & (members == a)) for a in range(many)]
    return mixing.GroupCounts(
        mixing.friend_sums(members, many, world.graph.edges),
        np.array([users.size for users in asked]),
        tuple(np.zeros((users.size, many)) for users in asked),
        tuple(noise[users] for users in asked),
    )
