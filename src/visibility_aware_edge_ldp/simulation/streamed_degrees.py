"""``va.estimate_streamed``: USER degrees and groups of millions of users, from a file of edges read as a stream.

The same users, surveys, noise and reports as in memory: with the same seed the same bytes leave every client.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.aggregator.answers import Answers
from visibility_aware_edge_ldp.aggregator.collection import estimate
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.aggregator.node_statistics.streamed_degrees import StreamedDegrees, StreamedGroups
from visibility_aware_edge_ldp.client.counted import CountedDegreeClient, CountedGroupClient
from visibility_aware_edge_ldp.client.views import ListCounts
from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.threads import on_cores, pieces_of
from visibility_aware_edge_ldp.errors import BadStatistic
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.privacy import Number
from visibility_aware_edge_ldp.public.groups import Groups
from visibility_aware_edge_ldp.public.surveys.degrees import degree_survey
from visibility_aware_edge_ldp.public.surveys.groups import group_survey
from visibility_aware_edge_ldp.public.trust import DEGREE_SHARE, USER
from visibility_aware_edge_ldp.simulation import memory, worlds
from visibility_aware_edge_ldp.simulation.options import per_list, plan_for, spending, statistics_for
from visibility_aware_edge_ldp.simulation.simulate import answers_in_order, exact_purse
from visibility_aware_edge_ldp.truth.edge_stream import EdgeStream
from visibility_aware_edge_ldp.truth.graph import Graph

Counts = npt.NDArray[np.int32]
# What counts of users take at most; of more users the file is walked through several times.
MOST_OCTETS = 1 << 30
LISTED_ONCE = "{} lists every edge once: its rows are not in order, so that nobody looked"


def estimate_streamed(
    edges: str | Path,
    nodes: int,
    epsilon: Number = 1,
    statistics: str | Sequence[str] = ("edges", "stars:2"),
    *,
    columns: tuple[str, str] | None = None,
    groups: Groups | None = None,
    seed: int | str | None = None,
    most: int = MOST_OCTETS,
    progress: worlds.Progress | None = None,
) -> Answers:
    """Let everybody report its noisy degree, or its friends by group, where edges do not fit into memory.

    Parameters
    ----------
    edges
        A Parquet file with two columns of integers, a .npy file with an (m, 2) array of integers, or a .bin file of
        pairs of 32-bit integers: every edge once, users numbered from 0. Or a folder of such files, as clusters write
        them. All positions are PRIVATE.
    nodes
        How many users there are.
    epsilon
        The loss per edge, by all statistics together.
    statistics
        "edges", "stars:K", "tail:T", and what is made from these, such as "mean_degree", "degree_variance", "isolates";
        with groups "mixing" and the others of groups.
    columns
        The two columns of a Parquet file that hold an edge; without them, the first two.
    groups
        Everybody's public group.
    seed
        Makes the run repeatable, and therefore not private. The reports are those of ``estimate`` with this seed.
    most
        How many octets the counts of users may take; where they would take more, the file is read several times.
    progress
        Is told how many users have reported, and how many there are.
    """
    stream, group_count = EdgeStream(edges, nodes, columns), groups.count if groups is not None else 1
    memory.refuse(nodes, _need(nodes, group_count, most), "Give fewer groups, or a machine with more memory.")
    whole = Graph(range(nodes), np.zeros((0, 2), np.int32), source=stream.path.name, groups=groups)
    world = VisibilityAwareGraph(whole, VisibilityPolicy.nothing())
    wanted = statistics_for(world, USER.name, statistics)
    plan = plan_for(wanted, epsilon, nodes, DEGREE_SHARE)
    if plan.by_rows:
        raise BadStatistic(f"{plan.by_rows[0]} takes whole lists, which a stream does not hold; use estimate.")
    asked: dict[Any, Any] = {}
    if plan.by_degrees:
        asked[StreamedDegrees(degree_survey(world.public, plan.degree_epsilon), world.public)] = CountedDegreeClient
    if plan.by_groups:
        asked[StreamedGroups(group_survey(world.public, plan.group_epsilon), world.public)] = CountedGroupClient
    steps = worlds.Steps(progress, nodes)
    for start, counts in counted(stream, groups, most):
        for collection, client in asked.items():
            for report in _reports(world, collection.survey, client, start, counts, seed):
                collection.absorb(report)
        steps(len(counts))
    found: dict[str, Estimate] = {}
    for collection in asked:
        names = plan.by_degrees if isinstance(collection, StreamedDegrees) else plan.by_groups
        found |= estimate(collection, names)
    releases = tuple(release for collection in asked for release in collection.releases)
    certified = worlds.certificate(
        world, USER, releases, seed, assumptions=_assumed(stream), notes=_notes(stream), per_list=per_list(world, plan),
        spent=spending(world, plan),
    )  # fmt: skip
    return Answers({name: found[name] for name in wanted}, certified)


def counted(stream: EdgeStream, groups: Groups | None, most: int = MOST_OCTETS) -> Iterator[tuple[int, Counts]]:
    """For some users at a time: the first one, and how many friends each has, (users, groups)."""
    many = groups.count if groups is not None else 1
    members = np.zeros(0, np.int32) if groups is None else groups.members.astype(np.int32)
    unit = worlds.USERS_PER_VIEW
    users = max(most // (4 * many) // unit, 1) * unit
    for start in range(0, stream.nodes, users):
        counts = np.zeros((min(users, stream.nodes - start), many), np.int32)
        pieces = pieces_of(0, len(counts))
        for block in stream.blocks():
            add = partial(_add, block, members, start, counts)
            for _ in on_cores(add, pieces):
                pass
        yield start, counts


def _add(block: Any, members: Any, start: int, counts: Counts, piece: tuple[int, int]) -> None:
    """Count the ends of a block that are users of one piece, which no other thread writes to."""
    first, last = piece
    backend.kernels("bitset").add_ends(block, members, start + first, counts[first:last])


def _reports(
    world: VisibilityAwareGraph, survey: Any, client: Callable[..., Any], start: int, counts: Counts, seed: Any
) -> Iterator[Any]:
    """What these users send, through its bytes, with the random bytes that they have in memory."""
    by_group = survey.protocol == StreamedGroups.protocol

    def views() -> Iterator[ListCounts]:
        for first in range(0, len(counts), worlds.USERS_PER_VIEW):
            part = counts[first : first + worlds.USERS_PER_VIEW].astype(np.int64)
            yield ListCounts(start + first, part.T if by_group else part.sum(axis=1)[None])

    def of(view: ListCounts) -> Any:
        return client(view, world.public, exact_purse(survey))

    return (sent for (sent,) in answers_in_order(of, views(), survey, worlds.random_bytes_for(seed)))


def _need(nodes: int, groups: int, most: int) -> memory.Need:
    """The memory that a run takes: counts, what is known of users, and some blocks of edges and reports."""
    counts = min(4 * nodes * groups, max(most, 4 * groups * worlds.USERS_PER_VIEW))
    need = memory.Need({"counts of users": counts, "what is known of users": 20 * nodes})
    return need.plus("blocks of edges and reports", 400_000_000)


def _assumed(stream: EdgeStream) -> tuple[str, ...]:
    return () if stream.is_rising else (LISTED_ONCE.format(stream.path.name),)


def _notes(stream: EdgeStream) -> tuple[str, ...]:
    return (f"{stream.loops:,} loops were left out",) if stream.loops else ()
