"""k-stars from answers that are counted and not kept: every report comes twice, the second time for the variance.

The estimates are those of a whole collection: edges, degrees and what counts tell as from ``StreamedCollection``, and
k-stars with their variance, which sums over positions what both ends have in all.  [AGAIN.1-3]
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.aggregator.collection import Estimators, public_graph
from visibility_aware_edge_ldp.aggregator.score_estimates import ESTIMATORS
from visibility_aware_edge_ldp.aggregator.streamed import STATISTICS, StreamedCollection
from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.reproducible_math import dot, on_grid
from visibility_aware_edge_ldp.counts.scores import Floats, ScoreFunction
from visibility_aware_edge_ldp.errors import BadStatistic
from visibility_aware_edge_ldp.public.positions import row_of, row_start
from visibility_aware_edge_ldp.public.surveys.position import PositionSurvey
from visibility_aware_edge_ldp.public.view import Octets, PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility

IN_CHUNKS = (*STATISTICS, "stars")
NOT_IN_CHUNKS = (
    "{} is not a sum over chunks of the answers; with a checkpoint these are: {}. Leave it out, or the checkpoint."
)


class CountedTwice(StreamedCollection):
    """A streamed collection whose reports can be had once more: ``estimate`` is given its ``CountedScores``."""

    estimators: ClassVar[Estimators] = {name: ESTIMATORS[name] for name in IN_CHUNKS}

    def cannot_estimate(self, name: str) -> str:
        """The sentence that refuses a statistic for which two looks do not suffice."""
        return NOT_IN_CHUNKS.format(name, ", ".join(IN_CHUNKS))


class SecondLook(StreamedCollection):
    """The same reports once more: for each node and class, sums of numbers over its later nodes that said 1.

    Parameters
    ----------
    vectors
        Some rows of a number for each node.
    everybody
        Whether all are asked and all took part: then sums over those who did are known beforehand.  [AGAIN.2]
    """

    def __init__(
        self, survey: PositionSurvey, view: PublicView, vectors: Floats, everybody: bool, begin: int = 0
    ) -> None:
        super().__init__(survey, view, begin)
        self._vectors, self._first_level = vectors, int(everybody)
        shape = len(self._asked), survey.rounds + 1, *vectors.shape
        self._later = np.zeros(shape)

    def _take(self, kind: Visibility, begin: int, asked: Octets, nested: Sequence[Octets]) -> None:
        row = row_of(self.view.n, begin)
        skip, sums = begin - row_start(self.view.n, row), self._later[list(self._asked).index(kind)]
        for level in range(self._first_level, len(nested)):
            backend.kernels("bitset").add_later_sums(nested[level], row, skip, self._vectors, sums[level])

    @property
    def counts(self) -> dict[str, npt.NDArray[Any]]:
        return {"passed": self.passed, "later": self._later}


@dataclass(frozen=True, eq=False)
class CountedScores:
    """Scores of all positions as counts tell them; sums over pairs of nodes take a second look.  [AGAIN.2]

    ``forms`` are those sums by symbol and vector; what is asked for and not there is noted in ``asked``.
    """

    collection: StreamedCollection
    forms: Mapping[tuple[int, str], float] = field(default_factory=dict)
    asked: dict[tuple[int, str], Floats] = field(default_factory=dict)

    @property
    def n(self) -> int:
        return self.collection.view.n

    @cached_property
    def symbols(self) -> list[tuple[Visibility, int]]:
        """Each class with each of its outcomes; public edges, whose score is 1, follow them."""
        scores = {kind: self.collection.scores_of(kind) for kind in self.collection.kinds}
        return [(kind, level) for kind, each in scores.items() for level in range(each.size)]

    @cached_property
    def values(self) -> Floats:
        """The score of each symbol."""
        return np.concatenate([*map(self.collection.scores_of, self.collection.kinds), np.ones(1)])

    @cached_property
    def symbol_counts(self) -> Floats:
        """(values, n): how many positions of each node have each score."""
        own = public_graph(self.collection.view).degrees[None]
        return np.concatenate([*map(self.collection.outcomes_of, self.collection.kinds), own]).astype(np.float64)

    def node_sums(self, function: ScoreFunction) -> Floats:
        """For each node, the sum of a function of the score over its positions."""
        return self.collection.node_sums(function)

    def counts_between(self, members: npt.NDArray[np.int64], groups: int) -> Floats:
        """Nobody counts between groups in chunks."""
        raise BadStatistic(NOT_IN_CHUNKS.format("mixing", ", ".join(IN_CHUNKS)))

    def symbol_form(self, symbol: int, vector: Floats) -> float:
        """Σ over positions {u, v} with this score of vector_u · vector_v; 0 before the second look."""
        key = symbol, hashlib.sha256(vector.tobytes()).hexdigest()
        if key not in self.forms:
            self.asked[key] = on_grid(vector, self.n)  # so that sums of it are exact, whatever the chunks
        return self.forms.get(key, 0.0)

    def after(self, later: Floats) -> CountedScores:
        """The same scores, with what the second look found for all that was asked for."""
        found, kinds = dict[tuple[int, str], float](), self.collection.kinds
        for place, (key, vector) in enumerate(self.asked.items()):
            kind, level = self.symbols[key[0]]
            forms = [*(dot(vector, sums[place]) for sums in later[kinds.index(kind)]), 0.0]
            if self.collection.everybody:
                forms[0] = (float(vector.sum()) ** 2 - dot(vector, vector)) / 2
            found[key] = forms[level] - forms[level + 1]
        return CountedScores(self.collection, found)
