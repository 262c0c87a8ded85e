"""Positions held by rows: whose rows were heard, and how much a subgraph that needs some of them weighs.  [HOLDERS.1]

A position {u, v}, u < v, is held by u: its row is heard as a whole or not at all. Public positions are always known.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.aggregator.collection import PositionCollection
from visibility_aware_edge_ldp.errors import BadStatistic
from visibility_aware_edge_ldp.kernels.bitset import TILE, Words, pack_rows
from visibility_aware_edge_ldp.public.transcript import Transcript, holders
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC
from visibility_aware_edge_ldp.subgraphs.scores import Floats, Scores, scores_of

Ints = npt.NDArray[np.int64]


class Parts(NamedTuple):
    """An estimate and what is known of how it varies.  [HOLDERS.4]

    ``noise`` is the variance of the answers' noise given who answered, which is at least ``floor``. ``pulls`` are the
    subgraphs that each user is needed for as a holder, weighed as in the estimate, and ``pull_noise`` is the noise
    variance of all of these together.
    """

    value: float
    noise: float
    floor: float
    pulls: Floats
    pull_noise: float


@dataclass(frozen=True, eq=False)
class HeardRows:
    """The scores of the positions that were heard, 0 elsewhere.

    Parameters
    ----------
    public
        How many of the scores' planes are public edges: 0 or 1, and then it is the first.
    asked
        How many users hold a row with something that is not public.
    users
        Those of them who answered in every round.
    """

    scores: Scores = field(repr=False)
    public: int
    asked: int
    users: Ints = field(repr=False)

    @property
    def response_rate(self) -> float:
        """The share of those asked who answered in every round; 1 where nobody was asked."""
        return self.users.size / self.asked if self.asked else 1.0

    def weights(self, most: int) -> Floats:
        """What a subgraph with 0, 1, …, ``most`` holders counts for: one over the chance that all were heard.

        [HOLDERS.1]
        """
        heard, least = self.users.size, min(most, self.asked)
        if heard < least:
            raise BadStatistic(f"Only {heard} of {self.asked} users have answered; at least {least} are needed.")
        found = np.zeros(most + 1)  # nobody can need more holders than there are
        found[0] = 1.0
        for number in range(min(most, self.asked)):
            found[number + 1] = found[number] * (self.asked - number) / (self.users.size - number)
        return found

    @cached_property
    def is_public(self) -> Floats:
        """For each plane 1 if it is the public edges, else 0."""
        return (np.arange(len(self.scores.planes)) < self.public).astype(np.float64)

    @cached_property
    def later(self) -> Words:
        """The planes without the columns up to each row's own user: what stands in its own row."""
        found = self.scores.planes.copy()
        for first in range(0, self.scores.n, TILE):
            rows = np.arange(first, min(first + TILE, self.scores.n))
            found[:, first : first + TILE] &= pack_rows(np.arange(self.scores.n) > rows[:, None], self.scores.n)
        return found


def heard_rows(collection: PositionCollection) -> HeardRows:
    """Whose rows took part in every round; who answered in the first round only is taken as absent.  [HOLDERS.1]"""
    view, survey = collection.view, collection.survey
    if survey.sample is not None:
        raise BadStatistic(
            "A survey of a sample of positions is not held by rows; estimate it with aggregator.sampled."
        )
    complete = collection.complete
    heard = Transcript(survey.identity, complete, collection.transcript.ones & complete).rows_heard(view)
    asked = holders(view)
    groups = [([view.edge_bits], [1.0])] if len(view.edges) else []
    for kind in NON_PUBLIC:
        nested = collection.nested(kind)
        if nested[0].any():
            groups.append((nested, [float(value) for value in survey.channel(kind).scores]))
    public = int(len(view.edges) > 0)
    return HeardRows(scores_of(groups, view.n), public, int(asked.sum()), np.flatnonzero(heard & asked))
