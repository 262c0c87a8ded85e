"""Mutants of the client that counts what it owns: each has one thing wrong, and the audit must catch it."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from visibility_aware_edge_ldp.audit.engine import findings
from visibility_aware_edge_ldp.audit.engine.noise_laws import Ints
from visibility_aware_edge_ldp.client.neighbourhood import NeighbourhoodClient, owned_triangles
from visibility_aware_edge_ldp.client.reporter import Bits
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import sample_each
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes
from visibility_aware_edge_ldp.public.surveys.neighbourhood import NeighbourhoodReport, NeighbourhoodSurvey, OwnerPlan

ALONE = "a user without friends answers without noise"


def own_friends(client: NeighbourhoodClient) -> Ints:
    """How many friends each user has."""
    return np.bincount(client._view.edges.ravel(), minlength=client._public.n)[client._view.users]


def _own_scale(
    client: NeighbourhoodClient, survey: NeighbourhoodSurvey, number: int, coins: RandomBytes, present: Bits | None
) -> NeighbourhoodReport:
    """Scales its noise by its own degree."""
    answered = np.ones(client._view.count, np.bool_) if present is None else present
    counts = owned_triangles(client._view.edges, client._public, survey.plan)[client._view.users]
    values = np.where(answered, counts + sample_each(survey.loss, np.maximum(own_friends(client), 1), coins), 0)
    return NeighbourhoodReport(survey.identity, client._view.start, answered, values)


def _sure_alone(client: NeighbourhoodClient, report: NeighbourhoodReport, *_: object) -> NeighbourhoodReport:
    """A user without friends owns no triangle, and says so without noise."""
    return replace(report, values=np.where(own_friends(client) == 0, 0, report.values))


def _counted_by_all_three(
    client: NeighbourhoodClient, report: NeighbourhoodReport, survey: NeighbourhoodSurvey, *_: object
) -> NeighbourhoodReport:
    """Counts all triangles that it is in, at the scale of those that it owns."""
    edges, n = client._view.edges, client._public.n
    matrix = np.zeros((n, n), np.int64)
    matrix[edges[:, 0], edges[:, 1]] = matrix[edges[:, 1], edges[:, 0]] = 1
    more = np.diag(matrix @ matrix @ matrix) // 2 - owned_triangles(edges, client._public, survey.plan)
    return replace(report, values=report.values + more[client._view.users])


def _scaled_by(sensitivities: Callable[[OwnerPlan], Ints]) -> type[NeighbourhoodClient]:
    """Adds noise of these scales in place of the plan's."""
    plan = findings.replaced(OwnerPlan, sensitivities=property(sensitivities))
    return findings.replaced(
        NeighbourhoodClient,
        randomize=lambda client, survey, *given: NeighbourhoodClient.randomize(
            client, replace(survey, plan=findings.recast(plan, survey.plan)), *given
        ),
    )


# Laplace(D/ε): but joining two users may make both forget another friend, which moves up to 2(D − 1) triangles.
ScaledByTheCap = _scaled_by(lambda plan: plan.bounds)
LessNoise = _scaled_by(lambda plan: (5 * plan.bounds + 1) * (plan.unit // 4))
OwnScale = findings.replaced(NeighbourhoodClient, randomize=_own_scale)
SureAlone = findings.altered(NeighbourhoodClient, "randomize", _sure_alone)
CountedByAllThree = findings.altered(NeighbourhoodClient, "randomize", _counted_by_all_three)
