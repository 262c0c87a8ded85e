"""Campaigns of rows for tests: anybody's answers, drawn by NumPy, from whoever is heard."""

from __future__ import annotations

from functools import cached_property
from itertools import product

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.aggregator.position import PositionCollection
from visibility_aware_edge_ldp.aggregator.rows import RowCollection
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.layout import pack
from visibility_aware_edge_ldp.public.positions import endpoints
from visibility_aware_edge_ldp.public.surveys.position import PositionReport, position_survey
from visibility_aware_edge_ldp.public.surveys.rows import RowSurvey
from visibility_aware_edge_ldp.public.transcript import holders
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility
from visibility_aware_edge_ldp.simulation.rows import collect_rows
from visibility_aware_edge_ldp.truth.graph import Graph

Ints = npt.NDArray[np.int64]


class RowWorld:
    """A graph, a policy and a survey; ``outcomes`` number what a position said: 0, 1, or 0, 10, 11."""

    def __init__(self, graph: Graph, policy: VisibilityPolicy, epsilon: float, rounds: int = 1) -> None:
        self.world = VisibilityAwareGraph(graph, policy)
        self.graph, self.view = graph, self.world.public
        self.survey = position_survey(self.view, epsilon, rounds)
        self.holder = endpoints(graph.n, 0, self.view.positions)[0]
        self.asked = np.flatnonzero(holders(self.view))

    @cached_property
    def classes(self) -> Ints:
        return np.asarray(self.view.classes.range(0, self.view.positions), np.int64)

    @cached_property
    def bits(self) -> npt.NDArray[np.bool_]:
        u, v = endpoints(self.graph.n, 0, self.view.positions)
        matrix = np.zeros((self.graph.n,) * 2, np.bool_)
        matrix[self.graph.edges[:, 0], self.graph.edges[:, 1]] = True
        return (matrix | matrix.T)[u, v]

    @property
    def hidden(self) -> Ints:
        return np.flatnonzero(self.classes != int(Visibility.PUBLIC))

    def collection(self, outcomes: Ints, users: npt.ArrayLike, until_second: npt.ArrayLike = ()) -> PositionCollection:
        """What arrived from these users; those of ``until_second`` did not answer again."""
        heard, found = np.isin(self.holder, users), PositionCollection(self.survey, self.view)
        for number in range(1, self.survey.rounds + 1):
            here = heard if number == self.survey.rounds else heard | np.isin(self.holder, until_second)
            answered = here & (self.classes != int(Visibility.PUBLIC))
            ones = answered & (outcomes >= number)
            found.absorb(PositionReport(self.survey.identity, number, 0, outcomes.size, pack(answered), pack(ones)))
        return found

    def drawn(self, rng: np.random.Generator) -> Ints:
        """What everybody would say."""
        uniform, outcomes = rng.random(self.bits.size), np.zeros(self.bits.size, np.int64)
        for kind, bit in product(NON_PUBLIC, (False, True)):
            channel = self.survey.channel(kind)
            chances = np.cumsum([float(chance) for chance in (channel.given_one if bit else channel.given_zero)])
            here = (self.classes == int(kind)) & (self.bits == bit)
            outcomes[here] = np.searchsorted(chances[:-1], uniform[here], side="right")
        return outcomes

    def sample(self, rng: np.random.Generator, share: float) -> PositionCollection:
        """Answers of a random part of the users."""
        users = rng.choice(self.asked, round(share * self.asked.size), replace=False)
        return self.collection(self.drawn(rng), users)

    def everything(self) -> list[tuple[float, Ints]]:
        """All that could be said, with its chance."""
        found = []
        for said in product(range(self.survey.rounds + 1), repeat=self.hidden.size):
            outcomes = np.zeros(self.bits.size, np.int64)
            outcomes[self.hidden] = said
            chance = 1.0
            for place, outcome in zip(self.hidden.tolist(), said, strict=True):
                channel = self.survey.channel(Visibility(int(self.classes[place])))
                chance *= float((channel.given_one if self.bits[place] else channel.given_zero)[outcome])
            found.append((chance, outcomes))
        return found


def collect_triangles(
    world: VisibilityAwareGraph, survey: RowSurvey, seed: int | str | None = None, dropout: float = 0.0
) -> RowCollection:
    """Every user answers both rounds of one survey."""
    return collect_rows(world, {survey.statistic: survey}, seed, dropout)[survey.statistic]
