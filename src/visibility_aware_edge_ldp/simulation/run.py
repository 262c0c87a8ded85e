"""One run of ``estimate`` as it is about to be made: which way it goes, and what it needs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from visibility_aware_edge_ldp.aggregator import streamed
from visibility_aware_edge_ldp.aggregator.effort import Effort
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility
from visibility_aware_edge_ldp.simulation import by_user, memory
from visibility_aware_edge_ldp.simulation.memory import Need

STREAMED, KINDS, PLANES, DEGREES, ROWS, LISTS = "streamed", "kinds", "planes", "degrees", "rows", "lists"
OVER_PAIRS = {"triangles", "transitivity", "four_cycles"}


@dataclass(frozen=True, eq=False)
class Run:
    """What is asked of whom; the names are those of ``estimate``."""

    world: VisibilityAwareGraph
    trust: str
    statistics: tuple[str, ...]
    rounds: int = 1
    dropout: float = 0.0
    estimator: str = "unbiased"
    hide: str = "edge"
    work: float | None = None

    @property
    def n(self) -> int:
        return self.world.graph.n

    @property
    def m(self) -> int:
        return self.world.graph.m

    @cached_property
    def way(self) -> str:
        """Which way it goes: counts of answers, one plane by kinds of nodes, many planes, degrees, rows, or lists."""
        if self.trust == "position":
            if self.estimator == "unbiased" and set(self.statistics) <= set(streamed.STATISTICS):
                return STREAMED
            one_plane = self.kinds is not None and self.rounds == 1 and not self.dropout
            return KINDS if one_plane and self.estimator == "unbiased" else PLANES
        if self.trust != "user":
            return LISTS
        return DEGREES if self.hide == "degree" or not self.plan.by_rows else ROWS if self.plan.summed else self._once

    @property
    def _once(self) -> str:
        """4-cycles alone, which users answer in one round, as positions do."""
        return KINDS if self.kinds is not None else PLANES

    @cached_property
    def plan(self) -> by_user.Plan:
        """USER: what each question is for; how epsilon is shared decides little of the work."""
        return by_user.plan_for(self.statistics, 1, self.n, absent=self.dropout > 0)

    @cached_property
    def kinds(self) -> int | None:
        """How many kinds of nodes decide the classes; None where it takes more than kinds."""
        bound = self.world.public.classes.by_kinds
        return None if bound is None else len(bound.table)

    @property
    def planes(self) -> int:
        """How many planes hold the outcomes of positions: public edges, and for each class each answer."""
        present = self.world.public.present
        rounds = self.rounds if self.trust == "position" else 1
        return (Visibility.PUBLIC in present) + (rounds + 1) * len(present & set(NON_PUBLIC))

    @property
    def over_pairs(self) -> bool:
        """Whether triangles or 4-cycles are asked for."""
        return bool(OVER_PAIRS & set(self.statistics))

    @property
    def with_cycles(self) -> bool:
        """Whether 4-cycles are."""
        return "four_cycles" in self.statistics

    @property
    def worked_rows(self) -> int:
        """By kinds of nodes: how many rows sums over pairs work through."""
        return Effort(self.work).rows(self.n, self.with_cycles)

    @cached_property
    def need(self) -> Need:
        """The memory that it will take."""
        n, m = self.n, self.m
        if self.way == STREAMED:
            return memory.streamed(n, m, len(self.world.public.present), self.rounds)
        if self.way == KINDS:
            public, every = Visibility.PUBLIC in self.world.public.present, self.worked_rows == n
            pairs = self.over_pairs
            return memory.by_kinds(n, m, self.kinds or 1, public, self.with_cycles, pairs, pairs and every)
        if self.way == PLANES:
            return memory.by_planes(n, m, self.planes, self.rounds, self.over_pairs)
        if self.way == ROWS:
            return memory.by_rows(n, m, self.planes, "four_cycles" in self.plan.summed)
        return memory.by_degrees(n, m)

    def refuse_too_large(self) -> None:
        """Say before the work starts that it does not fit, and which change would help."""
        memory.refuse(self.n, self.need, self._way_out)

    @property
    def _way_out(self) -> str:
        smaller = "an induced subgraph with --top N"
        if self.way in (STREAMED, DEGREES, LISTS):
            return f"Use {smaller}."
        kept = [name for name in self.statistics if by_user.needs_degrees(name) and name != "transitivity"]
        if self.trust == "position" and kept:
            return (
                f"Use --trust user with --statistics {','.join(kept)}, which needs lists alone, ask a sample of the "
                f"positions (--sample-positions 0.1), or use {smaller}."
            )
        if self.trust == "user" and kept:
            return f"Leave out what needs rows (--statistics {','.join(kept)}), or use {smaller}."
        sample = ", a sample of the positions (--sample-positions 0.1, without 4-cycles)" * (self.trust == "position")
        return f"Use {smaller}{sample}, or --trust curator if there is a trusted centre."
