"""One run of ``estimate``: by which strategy it is done, and what memory and disk it needs.

A run that would go by kinds of nodes and does not fit into memory goes through files, where these fit on the disk.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.aggregator.sample import MOST_POSITIONS, SampledCollection, bytes_needed
from visibility_aware_edge_ldp.aggregator.score_estimates import WorkBudget
from visibility_aware_edge_ldp.aggregator.streamed import counts_suffice
from visibility_aware_edge_ldp.counts import group_triples
from visibility_aware_edge_ldp.counts.graphlets import sampled as graphlets
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.privacy import Number
from visibility_aware_edge_ldp.public.groups import groups_of
from visibility_aware_edge_ldp.public.statistic import (
    FOUR_CYCLES,
    GRAPHLETS,
    TRANSITIVITY,
    TRIANGLES,
    TRIANGLES_BY_GROUP,
    statistic,
    with_sources,
)
from visibility_aware_edge_ldp.public.surveys.position import PositionSurvey
from visibility_aware_edge_ldp.public.trust import POSITION, USER
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility
from visibility_aware_edge_ldp.simulation import memory, options
from visibility_aware_edge_ldp.simulation.memory import Need
from visibility_aware_edge_ldp.simulation.worlds import NOBODY_LISTENS, Phases

STREAMED, CHUNKS, KINDS, FILED, PLANES = "streamed", "chunks", "kinds", "filed", "planes"
DEGREES, BY_ROWS, LISTS = "degrees", "rows", "lists"


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
    engine: str | None = None
    checkpoint: str | Path | None = None
    filed: bool | None = None
    """Whether the plane goes into a file; None where memory decides."""

    @property
    def n(self) -> int:
        return self.world.graph.n

    @property
    def m(self) -> int:
        return self.world.graph.m

    @cached_property
    def strategy(self) -> str:
        """How it is done: counts of answers, at once or chunk by chunk, one plane by kinds of nodes, here or in a file,
        many planes, degrees, rows, or lists.
        """
        if self.trust == POSITION.name:
            if self.checkpoint is not None:
                return CHUNKS
            if self.estimator == "unbiased" and counts_suffice(self.statistics):
                return STREAMED
            one_plane = self.kinds is not None and self.rounds == 1 and not self.dropout
            if not one_plane or self.estimator != "unbiased":
                return PLANES
            return FILED if self._goes_into_a_file else KINDS
        if self.trust != USER.name:
            return LISTS
        return (
            DEGREES if self.hide == "degree" or not self.plan.by_rows else BY_ROWS if self.plan.summed else self._once
        )

    @property
    def _goes_into_a_file(self) -> bool:
        """Where memory does not do, and a file would."""
        if self.filed is not None:
            return self.filed
        free = memory.available_bytes()
        if self._in_memory.still_to_come <= free:
            return False
        return self._in_files.still_to_come <= free and self.disk <= memory.free_disk()

    @property
    def _once(self) -> str:
        """4-cycles alone, which users answer in one round, as positions do."""
        return KINDS if self.kinds is not None else PLANES

    @cached_property
    def plan(self) -> options.Plan:
        """USER: what each question is for; how epsilon is shared decides little of the work."""
        return options.plan_for(self.statistics, 1, self.n, absent=self.dropout > 0, people=self.world.graph.people)

    @cached_property
    def kinds(self) -> int | None:
        """How many kinds of nodes decide the classes; None where it takes more than kinds."""
        bound = self.world.public.classes.by_kinds
        return None if bound is None else len(bound.table)

    @property
    def planes(self) -> int:
        """How many planes hold the outcomes of positions: public edges, and for each class each answer."""
        present = self.world.public.present
        rounds = self.rounds if self.trust == POSITION.name else 1
        return (Visibility.PUBLIC in present) + (rounds + 1) * len(present & set(NON_PUBLIC))

    @cached_property
    def asked(self) -> float:
        """Which share of the positions is asked inside a scope; 1 without one."""
        if self.world.policy.scope is None:
            return 1.0
        sizes, positions = self.world.public.class_sizes, max(self.world.public.positions, 1)
        return sum(sizes[kind] for kind in NON_PUBLIC) / positions

    @property
    def over_pairs(self) -> bool:
        """Whether triangles or 4-cycles are asked for."""
        return any(statistic(name).over_pairs for name in self.statistics)

    @property
    def stars(self) -> list[str]:
        """The k-stars that are counted, for themselves or for others."""
        return [name for name in with_sources(self.statistics) if statistic(name).kind == "stars"]

    @property
    def with_cycles(self) -> bool:
        """Whether 4-cycles are."""
        return FOUR_CYCLES.name in with_sources(self.statistics)

    @property
    def worked_rows(self) -> int:
        """By kinds of nodes: how many rows sums over pairs work through."""
        return WorkBudget(self.work).rows(self.n, self.with_cycles)

    @property
    def _shuffled(self) -> bool:
        """Whether a sample of triangles is drawn, for which nodes change places."""
        return self.work not in (None, 1) and self.with_triangles and self.worked_rows < self.n

    @property
    def with_triangles(self) -> bool:
        """Whether triangles are counted, for themselves or for transitivity."""
        return not {TRIANGLES.name, TRANSITIVITY.name}.isdisjoint(self.statistics)

    @cached_property
    def disk(self) -> int:
        """The octets of files that it would take, if the plane went into one."""
        bound = self.world.public.classes.by_kinds
        if bound is None:
            return 0
        in_order, kept = not (np.diff(bound.kinds) < 0).any(), (self.engine or "").startswith("dask")
        return memory.on_disk(np.bincount(bound.kinds).tolist(), in_order, self._shuffled, kept)

    @cached_property
    def _in_memory(self) -> Need:
        public, pairs = Visibility.PUBLIC in self.world.public.present, self.over_pairs
        every = pairs and self.worked_rows == self.n
        return memory.by_kinds(self.n, self.m, self.kinds or 1, public, self.with_cycles, pairs, every)

    @cached_property
    def _in_files(self) -> Need:
        kinds, pairs = self.kinds or 1, self.over_pairs
        every, moved = pairs and self.worked_rows == self.n, self._shuffled or kinds > 1
        return memory.by_file(self.n, self.m, kinds, self.with_cycles, pairs, moved, every)

    @cached_property
    def need(self) -> Need:
        """The memory that it will take."""
        n, m, one_class = self.n, self.m, self.world.public.classes.is_constant
        if self.strategy == CHUNKS:
            return memory.in_chunks(n, m, len(self.world.public.present), self.rounds, len(self.stars))
        if self.strategy == STREAMED:
            return memory.streamed(n, m, len(self.world.public.present), self.rounds)
        if self.strategy in (KINDS, FILED):
            return self._in_memory if self.strategy == KINDS else self._in_files
        if self.strategy == PLANES:
            return memory.by_planes(n, m, self.planes, self.rounds, self.over_pairs)
        if self.strategy == BY_ROWS:
            return memory.by_rows(n, m, self.planes, FOUR_CYCLES.name in self.plan.summed, one_class)
        return memory.by_degrees(n, m, one_class)

    def refuse_too_large(self) -> None:
        """Say before the work starts that it takes too long or does not fit, and which change would help."""
        for name in self.statistics:
            if name in GRAPHLETS:
                graphlets.refuse_many(self.n, name)
            if name == TRIANGLES_BY_GROUP.name:
                group_triples.refuse_many(self.n, groups_of(self.world.graph).count)
        if self.need.still_to_come > memory.available_bytes():
            memory.refuse(self.n, self.need, f"{self._with_a_file}{self._way_out}")

    @property
    def _with_a_file(self) -> str:
        """What a disk would have to hold, where files would do instead of memory."""
        if self.strategy != KINDS or self.filed is not None or self._in_files.still_to_come > memory.available_bytes():
            return ""
        folder, free = memory.disk_folder(), memory.size(memory.free_disk())
        return f"Let TMPDIR name a folder with {memory.size(self.disk)} free ({folder} has {free}). Or: "

    @property
    def _way_out(self) -> str:
        smaller = "an induced subgraph with --top N"
        if self.strategy in (STREAMED, CHUNKS, DEGREES, LISTS):
            return f"Use {smaller}."
        kept = [name for name in self.statistics if options.needs_degrees(name) and name != TRANSITIVITY.name]
        if self.trust == POSITION.name and kept:
            return (
                f"Use --trust user with --statistics {','.join(kept)}, which needs lists alone, ask a sample of the "
                f"positions (--sample-positions 0.1), or use {smaller}."
            )
        if self.trust == USER.name and kept:
            return f"Leave out what needs rows (--statistics {','.join(kept)}), or use {smaller}."
        sample = ", a sample of the positions (--sample-positions 0.1, without 4-cycles)" * (
            self.trust == POSITION.name
        )
        return f"Use {smaller}{sample}, or --trust curator if there is a trusted centre."


@dataclass(frozen=True, eq=False)
class Request:
    """What ``estimate`` was asked for, validated."""

    world: VisibilityAwareGraph
    epsilon: Number
    statistics: tuple[str, ...]
    options: Any
    dropout: float = 0.0
    seed: int | str | None = None
    phases: Phases = NOBODY_LISTENS

    @cached_property
    def run(self) -> Run:
        """Which way it goes, and what memory it takes."""
        known = ("rounds", "estimator", "hide", "work", "engine", "checkpoint")
        chosen = {name: getattr(self.options, name) for name in known if hasattr(self.options, name)}
        return Run(self.world, self.options.trust.name, self.statistics, dropout=self.dropout, **chosen)


# Below this share lists are faster than a bit for every position.
LISTED_BELOW = 1 / 8


def _in_lists(name: str) -> bool:
    known = statistic(name)
    if known.derived is not None:
        return all(map(_in_lists, known.derived.sources))
    return known.kind in SampledCollection.estimators or SampledCollection.protocol in known.estimators


def by_lists(survey: PositionSurvey, statistics: tuple[str, ...]) -> bool:
    """Whether lists of the drawn positions are better than a bit for every position; 4-cycles need the bits."""
    positions = survey.nodes * (survey.nodes - 1) // 2
    return positions > MOST_POSITIONS or (survey.rate <= LISTED_BELOW and all(map(_in_lists, statistics)))


def refuse_large_sample(world: VisibilityAwareGraph, survey: PositionSurvey, lists: bool) -> None:
    """Say before the work starts that it does not fit, and what would."""
    n, m, rounds = world.graph.n, world.graph.m, survey.rounds
    if lists:
        octets = bytes_needed(n, survey.rate, len(world.public.edges), rounds)
        fits = float(survey.rate) * memory.available_bytes() / octets / 2
        need = memory.graph_need(n, m).plus("lists of the sample", octets)
        memory.refuse(n, need, f"Sample fewer of them, about --sample-positions {fits:.1g}.")
    else:
        need = memory.by_planes(n, m, 1 + 2 * (rounds + 1), rounds, pairs=True)
        memory.refuse(n, need, f"Sample fewer positions, --sample-positions {float(LISTED_BELOW):g}, without 4-cycles.")
