"""A world in a simulation: what each client holds of it, who takes part, and the certificate of what was asked.

And how far a run has come: progress is one plain callback, so that nothing below the commands knows how it is shown.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.aggregator.answers import Certificate
from visibility_aware_edge_ldp.client.views import FriendLists, PositionBits, PositionEdges
from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.engines import Engine, Task, work_of
from visibility_aware_edge_ldp.compute.tile_layout import TileSource
from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.mechanisms.randomness import (
    RandomBytes,
    keyed_random_bytes,
    secure_random_bytes,
    seeded_key,
)
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.privacy import Bill, Release
from visibility_aware_edge_ldp.public.positions import TILE, Ints, numbers, position_count
from visibility_aware_edge_ldp.public.surveys.position import PositionSurvey
from visibility_aware_edge_ldp.public.trust import Trust
from visibility_aware_edge_ldp.truth.graph import Graph

MOST_COUNTED = 200_000_000
POLICY_ASSUMPTION = "which positions are public follows from public knowledge alone"
ROSTER_ASSUMPTION = "the list of nodes is public knowledge"
SIDES_ASSUMPTION = "everybody knows who is a person and who a place, and that every edge joins one to the other"
RandomBytesFor = Callable[[str, int], RandomBytes]
Bits = npt.NDArray[np.bool_]
USERS_PER_VIEW = 1 << 16
Progress = Callable[[float, float], None]
"""Is told how much is done, and how much there is in all, in any unit."""
ANSWERS, ROWS, COUNTING, PATHS = "answers", "rows", "counting", "paths"


def check_world(world: object) -> None:
    """Refuse a graph alone: it does not say who may know what."""
    if not isinstance(world, VisibilityAwareGraph):
        raise BadInput(
            f"A world is needed, not a {type(world).__name__}: wrap the graph, as in "
            "va.VisibilityAwareGraph(graph, va.VisibilityPolicy.nothing())."
        )


def certificate(
    world: VisibilityAwareGraph,
    trust: Trust,
    releases: Iterable[Release],
    seed: int | str | None,
    response: Mapping[Any, float] | None = None,
    classes: Mapping[Any, int] | None = None,
    assumptions: tuple[str, ...] = (),
    **more: Any,
) -> Certificate:
    """The certificate of all that was asked in this world under this trust model.

    ``classes`` are how many positions of each class were asked, where not all of them were; ``more`` are other fields
    of the certificate.
    """
    counted = positions_per_class(world) if classes is None else classes
    return Certificate(
        trust=trust.title,
        trust_words=trust.promise,
        bill=Bill((*world.policy.paid, *releases)),
        paid=world.policy.paid,
        policy=world.policy.words,
        classes={str(kind): size for kind, size in counted.items() if size},
        response={str(kind): rate for kind, rate in (response or {}).items()},
        assumptions=(*assumptions_of(world), *assumptions),
        simulated=seed is not None,
        local=trust.local,
        scope=str(world.policy.scope or ""),
        outside=world.public.outside if world.public.positions <= MOST_COUNTED else 0,
        **more,
    )


def positions_per_class(world: VisibilityAwareGraph) -> Mapping[Any, int]:
    """Positions per class, counted where there are not too many to look at each."""
    return {} if world.public.positions > MOST_COUNTED else world.public.inside_sizes


def assumptions_of(world: VisibilityAwareGraph) -> tuple[str, ...]:
    """What must be public knowledge for the promise to hold."""
    sides = () if world.policy.people is None else (SIDES_ASSUMPTION,)
    return POLICY_ASSUMPTION, ROSTER_ASSUMPTION, *sides, *world.policy.assumptions, *world.graph.assumptions


def cut(graph: Graph) -> Iterator[PositionBits]:
    """The views of all positions, a run of positions at a time."""
    return PositionViews(graph).between(0, position_count(graph.n))


class PositionViews:
    """The edges of a graph as packed bits, from which the views of any run of positions are cut."""

    def __init__(self, graph: Graph) -> None:
        self._total = position_count(graph.n)
        self._octets, self._ones = _packed_edges(numbers(graph.n, graph.edges[:, 0], graph.edges[:, 1]))

    def between(self, begin: int, end: int) -> Iterator[PositionBits]:
        """Those of the positions from ``begin``, a multiple of ``TILE``, to ``end``, or to the last one."""
        for start in range(begin, min(end, self._total), TILE):
            count = min(TILE, self._total - start)
            packed = np.zeros((count + 7) // 8, np.uint8)
            first, last = np.searchsorted(self._octets, [start // 8, start // 8 + packed.size])
            packed[self._octets[first:last] - start // 8] = self._ones[first:last]
            yield PositionBits.of_packed(start, count, packed)


def _packed_edges(edges: Ints) -> tuple[Ints, npt.NDArray[np.uint8]]:
    """From the sorted numbers of edges: which octets of packed bits hold ones, and what these octets are."""
    octets = edges >> 3
    lasts = np.flatnonzero(np.append(octets[1:] != octets[:-1], octets.size > 0))
    # Different bits of one octet add up; what all edges up to each octet's last add up to is quickly had.
    sums = np.cumsum(1 << (edges & 7))[lasts]
    return octets[lasts], np.diff(sums, prepend=0).astype(np.uint8)


def cut_sample(graph: Graph, survey: PositionSurvey) -> Iterator[PositionEdges]:
    """The views of all positions, a tile of the coin at a time."""
    edges, tile = np.sort(numbers(graph.n, graph.edges[:, 0], graph.edges[:, 1])), survey.drawn.tile
    for start in range(0, survey.drawn.positions, tile):
        count = min(tile, survey.drawn.positions - start)
        inside = slice(*np.searchsorted(edges, [start, start + count]))
        yield PositionEdges(start, count, edges[inside])


def cut_lists(graph: Graph, users_per_view: int = USERS_PER_VIEW) -> Iterator[FriendLists]:
    """The friend lists of all users, so many users at a time; of a weighted sample each one's own list."""
    if graph.sample is not None:
        starts, friends = graph.sample.offsets, graph.sample.friends
    else:
        starts, friends = backend.kernels("bitset").lists_of(graph.edges, graph.degrees)
    for first in range(0, graph.n, users_per_view):
        offsets = starts[first : min(first + users_per_view, graph.n) + 1]
        yield FriendLists(first, offsets - offsets[0], friends[offsets[0] : offsets[-1]])


def random_bytes_for(seed: int | str | None) -> RandomBytesFor:
    """RandomBytes for each (purpose, run of positions): secret without a seed, repeatable with one."""
    if seed is None:
        return lambda purpose, start: secure_random_bytes()
    return lambda purpose, start: keyed_random_bytes(seeded_key(seed, purpose, start))


def who_is_present(count: int, dropout: float, random_bytes: RandomBytes) -> Bits | None:
    """Who takes part, each by a draw of its own; None for everybody."""
    if not dropout:
        return None
    drawn = np.frombuffer(random_bytes(4 * count), dtype="<u4")
    return drawn >= int(dropout * 2**32)


class Steps:
    """Work that is counted in steps: call it with how many more are done."""

    def __init__(self, progress: Progress | None, total: float) -> None:
        self._progress, self._done, self._total = progress, 0.0, total

    def __call__(self, more: float = 1.0) -> None:
        """So much more is done."""
        self._done += more
        if self._progress is not None:
            self._progress(self._done, self._total)

    def extend(self, more: float) -> None:
        """There is so much more to do than was known."""
        self._total += more


class Phases:
    """Answers, sums over rows, triangles, and paths of 4-cycles as one work; ``sizes`` say how long each is."""

    def __init__(self, progress: Progress | None, sizes: Mapping[str, float] | None = None) -> None:
        self._progress = progress
        self._sizes = sizes or {ANSWERS: 1.0, ROWS: 0.5, COUNTING: 0.25, PATHS: 0.25}

    def of(self, phase: str) -> Progress:
        """The callback for one of them."""
        names, total = list(self._sizes), sum(self._sizes.values())
        if phase not in self._sizes:
            return lambda done, of_all: None
        before = sum(self._sizes[name] for name in names[: names.index(phase)])

        def progress(done: float, of_all: float) -> None:
            if self._progress is not None:
                self._progress(before + self._sizes[phase] * (done / of_all if of_all else 1.0), total)

        return progress


NOBODY_LISTENS = Phases(None)


def watched(engine: Engine, progress: Progress) -> Engine:
    """The same engine, and ``progress`` is told of every task that is done."""

    def run(source: TileSource, tasks: Sequence[Task]) -> Iterator[tuple[Task, Ints]]:
        found: Iterable[tuple[Task, Ints]] = engine(source, tasks)
        steps = Steps(progress, sum(map(work_of, tasks)))
        for task, counts in found:
            steps(work_of(task))
            yield task, counts

    return run
