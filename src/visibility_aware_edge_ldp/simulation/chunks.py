"""POSITION of very many users: answers are made chunk by chunk, counted, and never kept; workers make them.

A simulated client's answer follows from the seed, the round and its position, so whoever has the graph and the seed
makes the same bytes again: for a second look, or after a death. What is summed sees reports alone.  [AGAIN.1-3]
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp import __version__
from visibility_aware_edge_ldp.aggregator.collection import estimate
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.aggregator.node_statistics.second_look import CountedScores, CountedTwice, SecondLook
from visibility_aware_edge_ldp.aggregator.streamed import StreamedCollection, refuse_lost
from visibility_aware_edge_ldp.compute.checkpoint import Arrays, Checkpoint, held_folder
from visibility_aware_edge_ldp.compute.engines import Workers
from visibility_aware_edge_ldp.compute.threads import number_of_cores
from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.positions import TILE, position_count
from visibility_aware_edge_ldp.public.surveys.position import PositionSurvey, position_survey
from visibility_aware_edge_ldp.simulation import memory
from visibility_aware_edge_ldp.simulation.simulate import answering
from visibility_aware_edge_ldp.simulation.worlds import PositionViews, Progress, Steps
from visibility_aware_edge_ldp.truth.graph import Graph

Chunk = tuple[int, int]
# A chunk is a four-hundredth of the positions; of few users, so many that a task is worth its message.
CHUNKS, SMALLEST = 400, 1 << 24
# What was summed is kept in these files of the checkpoint's folder.
FIRST_FILE, SECOND_FILE = "counts.sums", "second-look-{}.sums"


def chunks_of(positions: int) -> list[Chunk]:
    """Runs of positions, by their number alone, so that every run of the same work has the same ones."""
    each = -(-max(positions // CHUNKS, SMALLEST) // TILE) * TILE
    return [(begin, min(begin + each, positions)) for begin in range(0, positions, each)]


@dataclass(frozen=True, eq=False)
class ReproducibleAnswers:
    """All answers of a simulated collection, made whenever they are asked for."""

    world: VisibilityAwareGraph
    survey: PositionSurvey
    seed: int | str
    dropout: float = 0.0

    @property
    def identity(self) -> str:
        """Names the survey, what the answers are made from, and the software that makes them.

        It is a digest of the graph: whoever knows all edges but one can try which one it is.
        """
        made = hashlib.sha256(np.ascontiguousarray(self.world.graph.edges, "<i4").tobytes())
        made.update(f"{self.seed}\x1f{self.dropout}\x1f{self.world.policy.digest}".encode())
        return f"{__version__} {self.survey.identity} {made.hexdigest()}"

    @cached_property
    def _views(self) -> PositionViews:
        return PositionViews(self.world.whole)

    def reports(self, chunk: Chunk) -> Iterator[Any]:
        """What the clients of these positions send, in order, through its bytes."""
        for view in self._views.between(*chunk):
            yield from self._answers(view)

    @cached_property
    def _answers(self) -> Callable[[Any], list[Any]]:
        return answering(self.world, self.survey, self.seed, self.dropout)


def count_chunk(
    source: Callable[[], ReproducibleAnswers], chunks: Sequence[Chunk], look: Callable[[], Arrays] | None, number: int
) -> dict[str, npt.NDArray[Any]]:
    """One chunk, for the first time, or with vectors for a second look; with its digest in a row of its own."""
    again, begin = source(), chunks[number][0]
    survey, view, digests = again.survey, again.world.public, np.zeros((len(chunks), 32), np.uint8)
    times = np.zeros(len(chunks), np.int64)
    times[number] = 1
    if look is None:
        collection = StreamedCollection(survey, view, begin)
    else:
        given = look()
        collection = SecondLook(survey, view, given["vectors"], bool(given["everybody"]), begin)
    for report in again.reports(chunks[number]):
        collection.absorb(report)
    digests[number] = np.frombuffer(bytes.fromhex(collection.digest), np.uint8)
    return {**collection.counts, "digests": digests, "times": times}


def collect_in_chunks(
    again: ReproducibleAnswers,
    statistics: Sequence[str],
    engine: Workers,
    folder: Path | None = None,
    progress: Progress | None = None,
) -> tuple[CountedTwice, dict[str, Estimate]]:
    """Let all answer, chunk by chunk, and estimate; ``folder`` keeps what was summed, for a run that goes on later.

    A second look is taken where a statistic asks for one.
    """
    if folder is None:
        return _collected(again, statistics, engine, None, progress)
    with held_folder(folder):
        return _collected(again, statistics, engine, folder, progress)


def _collected(
    again: ReproducibleAnswers,
    statistics: Sequence[str],
    engine: Workers,
    folder: Path | None,
    progress: Progress | None,
) -> tuple[CountedTwice, dict[str, Estimate]]:
    view, chunks = again.world.public, chunks_of(again.world.public.positions)
    looks = 2 if any(name.startswith("stars:") for name in statistics) else 1
    steps, source = Steps(progress, looks * view.positions), engine.share_value(again)

    def sums_of(look: Arrays | None = None) -> Arrays:
        vectors = "" if look is None else hashlib.sha256(look["vectors"].tobytes()).hexdigest()
        name = SECOND_FILE.format(vectors[:12]) if vectors else FIRST_FILE
        checkpoint = Checkpoint(None if folder is None else folder / name, f"{again.identity} {vectors}", len(chunks))
        steps(sum(chunks[number][1] - chunks[number][0] for number in np.flatnonzero(checkpoint.done).tolist()))
        work = partial(count_chunk, source, chunks, None if look is None else engine.share_value(look))

        def results(missing: Sequence[int]) -> Iterator[tuple[int, Arrays]]:
            for number, found in engine.each(work, missing):
                yield number, found
                steps(chunks[number][1] - chunks[number][0])

        return checkpoint.over(results)

    first = sums_of()
    collection = CountedTwice.of_counts(again.survey, view, first, first["digests"])
    scores: Any = CountedScores(collection)
    found = estimate(collection, statistics, made=scores)
    if scores.asked:
        requested = np.array([*scores.asked.values()])
        second = sums_of({"vectors": requested, "everybody": np.array(collection.everybody)})
        refuse_lost(second, view.n)
        if not np.array_equal(first["digests"], second["digests"]):
            raise BadInput("The answers were others when they were made again. Has the graph changed? Begin again.")
        found = estimate(collection, statistics, made=scores.after(second["later"]))
    return collection, found


# Of so many answers it is measured how long one takes, of a graph of as many nodes as are asked, up to so many.
MEASURED, MOST_MEASURED = 16 * TILE, 1 << 20


@lru_cache(maxsize=8)
def nanoseconds(nodes: int, rounds: int = 1, vectors: int = 0) -> float:
    """What this machine's core takes to make and count an answer, or to look at it again with so many vectors."""
    n = min(nodes, MOST_MEASURED)
    world = VisibilityAwareGraph(Graph(range(n), np.zeros((0, 2), np.int32)), VisibilityPolicy.nothing())
    again, look = ReproducibleAnswers(world, position_survey(world.public, 1, rounds), 1), None
    if vectors:
        look = {"vectors": np.ones((vectors, n)), "everybody": np.array(True)}
    size = min(MEASURED, world.public.positions)
    chunks = [(0, min(TILE, size)), (0, size)]

    def take(number: int) -> float:
        begin = time.thread_time()
        count_chunk(lambda: again, chunks, None if look is None else lambda: look, number)
        return time.thread_time() - begin

    take(0)  # loads the kernels
    # Every chunk begins with arrays of the nodes, which few answers share here and many there.
    return (min(take(1) for _ in range(3)) - min(take(0) for _ in range(3))) / max(size - chunks[0][1], 1) * 1e9


@dataclass(frozen=True)
class ChunksForecast:
    """What a run by chunks will take, where everything is private: ``stars`` is how many k-stars are asked for."""

    nodes: int
    edges: int
    stars: int = 0
    rounds: int = 1

    @property
    def chunks(self) -> int:
        """How many chunks there are."""
        return len(chunks_of(position_count(self.nodes)))

    @property
    def each(self) -> float:
        """Nanoseconds of one core for an answer, both looks at it together."""
        second = nanoseconds(self.nodes, self.rounds, (self.rounds + 1) * self.stars) if self.stars else 0.0
        return nanoseconds(self.nodes, self.rounds) + second

    @property
    def processor_seconds(self) -> float:
        """Of one core like this machine's."""
        return self.each * position_count(self.nodes) / 1e9

    @property
    def worker_octets(self) -> int:
        """The memory of a worker with one core, at most."""
        return memory.in_chunks(self.nodes, self.edges, 1, self.rounds, self.stars, 1).octets

    def as_dict(self) -> dict[str, float]:
        """Plain values for JSON."""
        return {
            "chunks": self.chunks,
            "nanoseconds_an_answer": self.each,
            "processor_seconds": self.processor_seconds,
            "bytes_a_worker": self.worker_octets,
        }


def engine_cores(name: str | None) -> int:
    """How many cores an engine of this machine has; of a cluster's nobody knows before it is asked, so one."""
    _, _, number = (name or "threads").partition(":")
    return int(number) if number.isdecimal() else 1 if "//" in number else number_of_cores()
