"""How much counting an estimate is worth, and where it is done.  [KINDS.3, KINDS.5]"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from threading import Lock

from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.kernels.bitset import word_count
from visibility_aware_edge_ldp.subgraphs.kind_pairs import PairSums, drawn_rows, sum_pairs
from visibility_aware_edge_ldp.subgraphs.kinds import KindScores
from visibility_aware_edge_ldp.subgraphs.tile_triangles import sampled_total, triangle_total
from visibility_aware_edge_ldp.subgraphs.triples import Engine, on_threads

Progress = Callable[[float, float], None]
# Words that may be compared for sums over pairs: some seconds. All pairs of nearly 14,000 nodes are within it.
PAIR_WORDS = 2 * 10**10
# Rows that are enough for the variance of triangles, and the nodes below which all are taken.
VARIANCE_ROWS, FEW_NODES = 512, 1024


@dataclass(frozen=True)
class Effort:
    """What share of the pairs of rows and of the triples of tiles is worked through, and by which engine.

    None takes all triples, and as many rows as some seconds allow: sampled rows tell the standard error of triangles
    well, and cost 4-cycles accuracy, which their standard error says.
    """

    share: float | None = None
    engine: Engine = on_threads
    progress: Mapping[str, Progress] = field(default_factory=dict)
    """Who hears of "rows" and of "paths", the two long works beside triangles."""

    def __post_init__(self) -> None:
        if self.share is not None and not 0 < self.share <= 1:
            raise BadInput(f"The share of the work is above 0 and at most 1; got {self.share:g}.")

    def rows(self, n: int, with_cycles: bool) -> int:
        """How many rows are worked through."""
        if self.share is not None:
            return n if self.share == 1 else min(n, max(VARIANCE_ROWS, round(self.share * n)))
        if not with_cycles:
            return n if n <= FEW_NODES else VARIANCE_ROWS
        if n * n * word_count(n) <= 2 * PAIR_WORDS:
            return n
        return max(VARIANCE_ROWS, PAIR_WORDS // (n * word_count(n)))

    def pair_sums(self, scores: KindScores, names: Collection[str], coin: str) -> PairSums:
        """The sums behind triangles and 4-cycles, by "statistic/name"; samples are drawn by this public coin."""
        with_cycles = "four_cycles" in names
        sample = drawn_rows(scores, self.rows(scores.n, with_cycles), coin)
        sums, rows = sum_pairs(scores, with_cycles, sample, self.steps("rows", self.rows(scores.n, with_cycles)))
        if sample is not None and "triangles" in names:
            share = 1.0 if self.share is None else self.share
            total = (
                triangle_total(scores, self.engine) if share == 1 else sampled_total(scores, share, coin, self.engine)
            )
            sums |= {"triangles/count": 3 * total.value, "triangles/sampling": 9 * total.sampling}
        return PairSums(sums, rows)

    def steps(self, work: str, total: float) -> Callable[[float], None] | None:
        """For one of the long works: hears how much more of it is done; threads may call it at once."""
        if work not in self.progress:
            return None
        done, lock, progress = 0.0, Lock(), self.progress[work]

        def step(more: float) -> None:
            nonlocal done
            with lock:
                done += more
                progress(done, total)

        return step

    def refuse_sampling(self) -> None:
        """Where scores do not go by kinds of nodes, everything is counted."""
        if self.share not in (None, 1):
            raise BadInput(
                "Only a part of the work was asked for, which needs a policy that goes by kinds of nodes (everything "
                "private, or profiles), one round, and answers from everybody. Leave it out."
            )


AUTOMATIC = Effort()
