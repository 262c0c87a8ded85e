"""Every way to ask for the reports of a registered protocol, and the statistics that are asked for.

The package's own protocols are asked by ``WAYS``, another program's by ``simulate.collect``, which its ``Simulated``
entry serves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.aggregator.collection import estimate as estimate_collection
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.aggregator.nonresponse import positions as nonresponse
from visibility_aware_edge_ldp.aggregator.position import PositionCollection
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.privacy import parse_epsilon
from visibility_aware_edge_ldp.public.layout import pack
from visibility_aware_edge_ldp.public.positions import endpoints
from visibility_aware_edge_ldp.public.protocol import PROTOCOLS, answers
from visibility_aware_edge_ldp.public.statistic import (
    CLUSTERING,
    DEGREE_HISTOGRAM,
    FAMILIES,
    FOUR_CYCLES,
    GRAPHLETS,
    MAX_DEGREE,
    STATISTICS,
    possible,
)
from visibility_aware_edge_ldp.public.surveys.hubs import hub_survey
from visibility_aware_edge_ldp.public.surveys.position import PositionReport, position_survey
from visibility_aware_edge_ldp.simulation.estimate import estimate
from visibility_aware_edge_ldp.simulation.simulate import (
    SIMULATED,
    collect,
    collect_assigned_triangles,
    collect_hubs,
    reports,
)

World = VisibilityAwareGraph
Found = Mapping[str, Estimate]
Ask = Callable[[World, float, Sequence[str], str, float], Found]
"""From a world, an epsilon, statistics, a seed and the share that is away to estimates."""
PARAMETERS = {"tail": (10,), "degree_quantile": (50, 90), "largest_degrees": (5,)}
"""Which members of a family are asked for; of others the first two."""


def names() -> tuple[str, ...]:
    """Every statistic, and some of each family; those of people and places have graphs and a suite of their own."""
    members = (
        f"{family.name}:{each}"
        for family in FAMILIES.values()
        for each in PARAMETERS.get(family.name, (family.least, family.least + 1))
    )
    return (*(name for name, known in STATISTICS.items() if not known.bipartite), *members)


# ── the ways to ask


def simulated(
    trust: str, world: World, epsilon: float, asked: Sequence[str], seed: str, away: float, **options: Any
) -> Found:
    """As ``va.estimate`` asks, all statistics at once."""
    return estimate(world, trust, epsilon, asked, seed=seed, dropout=away, **options)


def one_survey(protocol: str, world: World, epsilon: float, asked: Sequence[str], seed: str, away: float) -> Found:
    """Everybody answers the one survey of a protocol."""
    survey = PROTOCOLS[protocol].survey(world.public, parse_epsilon(epsilon))
    return estimate_collection(collect(world, survey, seed, away), asked)


def position_by_rows(world: World, epsilon: float, asked: Sequence[str], seed: str, away: float) -> Found:
    """POSITION as a campaign asks it: users stay away, each with its whole row."""
    view, survey = world.public, position_survey(world.public, epsilon)
    here, holder = random_numbers(seed, view.n) >= away, endpoints(view.n, 0, view.positions)[0]
    collection = PositionCollection(survey, view)
    for report in reports(world, survey, seed):
        reported = np.frombuffer(pack(here[holder[report.start : report.start + report.count]]), np.uint8)
        sent = ((np.frombuffer(bits, np.uint8) & reported).tobytes() for bits in (report.answered, report.ones))
        collection.absorb(PositionReport(report.survey, report.round, report.start, report.count, *sent))
    return nonresponse.estimate(collection, asked)


def believed_bounds(world: World, epsilon: float, asked: Sequence[str], seed: str, away: float) -> Found:
    """Bounds that are believed need everybody's degree: some users leave after they told it."""
    collection = collect_assigned_triangles(world, epsilon, "1e-6", seed=seed, leaving=away)
    return estimate_collection(collection, asked)


def hubs(world: World, epsilon: float, asked: Sequence[str], seed: str, away: float) -> Found:
    """Public hubs report, but for those that are away."""
    survey = hub_survey(world.public, epsilon)
    plan = np.array(survey.plan.hubs)
    absent = plan[random_numbers(seed, plan.size) < away]
    return estimate_collection(collect_hubs(world, survey, seed, absent.tolist()), asked)


def random_numbers(seed: str, count: int) -> np.ndarray:
    """Uniform numbers that follow from a text."""
    return np.random.default_rng(list(seed.encode())).random(count)


@dataclass(frozen=True)
class Way:
    """One way to ask for a protocol's reports.

    Parameters
    ----------
    takes
        Which of the protocol's statistics are asked for together.
    combines
        Whether statistics are asked for, too, that the trust model answers and none of its protocols alone.
    nobody_away
        Why nobody can be away, where that is so.
    """

    protocol: str
    ask: Ask
    takes: Callable[[str], bool] = lambda name: True
    combines: bool = False
    nobody_away: str = ""

    def names(self, n: int) -> tuple[str, ...]:
        """The statistics that are asked for on n nodes."""
        return tuple(name for name in possible(names(), n) if self.takes(name) and self._answers(name))

    def _answers(self, name: str) -> bool:
        known = PROTOCOLS[self.protocol]
        alone = (each for each in PROTOCOLS.values() if each.trust is known.trust)
        combined = self.combines and answers(known.trust, name) and not any(each.answers(name) for each in alone)
        return known.answers(name) or combined


def is_fit(name: str) -> bool:
    """Whether a distribution of degrees is fitted for it, which takes longer than all sums together."""
    return name in (MAX_DEGREE.name, DEGREE_HISTOGRAM.name, "degree_centralization")


def is_sum(name: str) -> bool:
    """Whether neither a fit nor 4-cycles nor fours of nodes nor matrices take long."""
    return not (is_fit(name) or is_cycles(name) or is_graphlet(name) or is_clustering(name))


def is_graphlet(name: str) -> bool:
    """Whether fours of nodes are counted, which takes long."""
    return name in GRAPHLETS


def is_clustering(name: str) -> bool:
    """Whether matrices of all positions are multiplied, which takes longer than the reports."""
    return name in CLUSTERING


def is_cycles(name: str) -> bool:
    """Whether 4-cycles are counted; where they are asked for too they take long, or a part of epsilon."""
    return name == FOUR_CYCLES.name


position, user = partial(simulated, "position"), partial(simulated, "user")
sample, two_rounds = partial(position, sample_positions="1/2"), partial(position, rounds=2)
neighbourhood, curator = partial(simulated, "neighbourhood"), partial(simulated, "curator")
clipped_rows = partial(user, clip="double", delta="1e-6")
parts, large_parts = partial(user, share="1/10"), partial(user, share="1/2")
_CLIPPED = "double clipping takes everybody's answers, so nobody can be away"
_CENTRE = "a curator holds everything, so nobody can be away"
WAYS: dict[str, Way] = {
    "position": Way("position", position, lambda name: is_sum(name) or is_cycles(name)),
    "position, fits": Way("position", position, is_fit),
    "position, graphlets": Way("position", position, is_graphlet),
    "position, two rounds": Way("position", two_rounds, lambda name: is_sum(name) or is_cycles(name)),
    "position by rows": Way("position", position_by_rows, is_sum),
    "position by rows, fits": Way("position", position_by_rows, is_fit),
    "position by rows, 4-cycles": Way("position", position_by_rows, is_cycles),
    "sample": Way("sample", sample, lambda name: is_sum(name) or is_cycles(name)),
    "sample, graphlets": Way("sample", sample, is_graphlet),
    "sample, fits": Way("sample", sample, is_fit),
    "degrees": Way("degrees", user, is_sum),
    "degrees, fits": Way("degrees", user, is_fit),
    "groups": Way("groups", user),
    "histogram": Way("histogram", partial(user, hide="degree")),
    "rows": Way("rows", user, is_sum, combines=True),
    "rows, clustering": Way("rows", user, is_clustering, combines=True),
    "rows, clipped": Way("rows", clipped_rows, lambda name: name == "triangles", nobody_away=_CLIPPED),
    "rows, parts": Way("rows", parts, lambda name: name == "triangles"),
    "rows, 4-cycles": Way("rows", user, is_cycles),
    "rows, 4-cycles by parts": Way("rows", large_parts, is_cycles),
    "neighbourhood": Way("neighbourhood", partial(neighbourhood, reporters="users")),
    "neighbourhood, believed": Way("neighbourhood", believed_bounds),
    "hubs": Way("hubs", hubs),
    "curator": Way("curator", curator, nobody_away=_CENTRE),
    "curator, delta": Way("curator", partial(curator, delta="1e-6"), nobody_away=_CENTRE),
}
"""The ways of the package's own protocols."""


def ways() -> dict[str, Way]:
    """All ways by name; what another program has registered is asked by its one survey."""
    covered = {way.protocol for way in WAYS.values()}
    others = [name for name in PROTOCOLS if name not in covered]
    if lacking := [name for name in others if name not in SIMULATED]:
        raise LookupError(f"{lacking[0]} is not simulated: register it with simulate.SIMULATED, or add a way to ask it")
    return WAYS | {name: Way(name, partial(one_survey, name)) for name in others}
