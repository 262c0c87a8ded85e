"""POSITION reports of more nodes than memory has positions for, written into a file of tiles.

What ``PositionCollection`` refuses is refused here; a second answer cannot come, because it would be out of order.
[AGGREGATE.1], [KINDS.1]
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from types import TracebackType

import numpy as np

from visibility_aware_edge_ldp.aggregator.collection import InOrder
from visibility_aware_edge_ldp.aggregator.score_estimates import ScoredCollection
from visibility_aware_edge_ldp.compute.plain.tiles import SIDE
from visibility_aware_edge_ldp.compute.tile_file import TileFile, TileWriter, in_order, open_tiles, positions_of
from visibility_aware_edge_ldp.compute.tile_layout import Places, Step, mapped, reordered
from visibility_aware_edge_ldp.counts.node_groups import MappedScores
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation
from visibility_aware_edge_ldp.public.layout import unpack
from visibility_aware_edge_ldp.public.positions import numbers
from visibility_aware_edge_ldp.public.surveys.position import PositionReport, PositionSurvey
from visibility_aware_edge_ldp.public.view import Octets, PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility


class TiledCollection(ScoredCollection, InOrder):
    """All that arrives for one survey, in a file; ``with`` it, and after that ask for the ``tiles``.

    It takes one round in which everybody answers, and a policy that goes by kinds of nodes; whatever breaks this is
    refused. ``collection.estimate`` takes it as it takes a collection in memory, with the same integers.  [KINDS.1]
    """

    def __init__(self, survey: PositionSurvey, view: PublicView, path: str | Path) -> None:
        super().__init__(survey, view)
        kinds = view.classes.by_kinds
        if kinds is None or survey.rounds != 1:
            raise BadInput(
                "Answers go into a file of tiles in one round, and with a policy that goes by kinds of nodes "
                "(everything private, or profiles). Change the survey, or ask fewer nodes."
            )
        self.path = Path(path)
        self.places, self._table = Places(kinds.kinds), kinds.table
        # Where kinds are mixed in the roster, nodes are written as they come and put into order afterwards.
        self._in_order = not (np.diff(kinds.kinds) < 0).any()
        self._writer = TileWriter(path, self.places if self._in_order else in_order([view.n]), survey.identity)
        self._edges = np.sort(numbers(view.n, view.edges[:, 0], view.edges[:, 1]))
        # Answers that no row of tiles has taken yet, and room for more: the first bit is position ``base``.
        self._waiting, self._base = np.zeros(1 << 16, np.uint8), 0
        self._stack = ExitStack()

    def __enter__(self) -> TiledCollection:
        self._stack.enter_context(self._writer)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._next < self.view.positions:
            error = BadInput(f"{self._next:,} of {self.view.positions:,} positions have answered; all must.")
            self._stack.__exit__(BadInput, error, None)
            raise error
        if kind is None:
            self._put_whole_sides()  # the last node has a side, too, and no position of its own
            self._drop((self._next - self._base + 7) // 8)
        self._stack.__exit__(kind, error, trace)

    def add(self, report: PositionReport) -> None:
        """Put the answers of the next positions behind those that wait, and whole rows of tiles into the file."""
        super().add(report)
        if report.start != self._next:
            raise ProtocolViolation(
                f"Reports must come in the order of positions: position {self._next} is next, not {report.start}."
            )
        if not np.array_equal(np.frombuffer(report.answered, np.uint8), self._asked(report.start, report.count)):
            raise ProtocolViolation("All positions must answer that are not public, and no public one may.")
        ones = np.frombuffer(report.ones, np.uint8)
        self._append(report.start, report.count, self._with_public_edges(report.start, report.count, ones))
        self._put_whole_sides()

    def _asked(self, start: int, count: int) -> Octets:
        if Visibility.PUBLIC not in self.view.present:
            asked = np.full((count + 7) // 8, 0xFF, np.uint8)
            asked[-1:] >>= np.uint8(-count % 8)
            return asked
        return np.packbits(self.view.classes.range(start, count) != Visibility.PUBLIC, bitorder="little")

    def _with_public_edges(self, start: int, count: int, ones: Octets) -> Octets:
        """A public position's bit is known to everybody."""
        first, last = np.searchsorted(self._edges, [start, start + count])
        if first == last:
            return ones
        bits = unpack(ones.tobytes(), count).copy()
        bits[self._edges[first:last] - start] = True
        return np.packbits(bits, bitorder="little")

    def _append(self, start: int, count: int, ones: Octets) -> None:
        """Behind what waits, whose last byte the first bits may share."""
        first, offset = divmod(start - self._base, 8)
        end = first + ones.size + 1
        if end > self._waiting.size:
            self._waiting = np.concatenate([self._waiting, np.zeros(max(end, self._waiting.size), np.uint8)])
        self._waiting[first : end - 1] |= ones << np.uint8(offset)
        if offset:
            self._waiting[first + 1 : end] |= ones >> np.uint8(8 - offset)
        self._next = start + count

    def _put_whole_sides(self) -> None:
        while not self._writer.whole:
            begin, end = (positions_of(self.view.n, 0, node) for node in self._writer.nodes())
            if end > self._next:
                return
            self._writer.put(self._waiting, begin - self._base)
            self._drop((end - self._base) // 8)

    def _drop(self, gone: int) -> None:
        """Forget the first bytes, which are in the file."""
        filled = (self._next - self._base + 7) // 8
        self._digest.update(self._waiting[:gone].tobytes())
        self._waiting[: filled - gone] = self._waiting[gone:filled].copy()
        self._waiting[filled - gone : filled] = 0
        self._base += gone * 8

    @property
    def tiles(self) -> TileFile:
        """The file, once it is whole."""
        return open_tiles(self.path, self.survey.identity)

    def group_scores(self, keep_tiles: bool = False, step: Step | None = None) -> MappedScores:
        """The scores of all positions, from both halves of the plane in a second file.  [KINDS.1]

        ``step`` is told of every strip that is written, as many as ``strips`` says. The file of tiles is removed,
        unless workers elsewhere are to read it: then it is kept where it can be.
        """
        scores = {kind: self.survey.channel(kind).scores for kind in NON_PUBLIC} | {Visibility.PUBLIC: (0, 1)}
        low, high = (np.array([[float(scores[Visibility(c)][i]) for c in row] for row in self._table]) for i in (0, 1))
        tiles, folder = self.tiles, self.path.parent
        plane = mapped(tiles, folder, step)
        kept = tiles if keep_tiles and self._in_order else None
        if kept is None:
            self.path.unlink()
        if not self._in_order:
            plane = reordered(plane, in_order([self.view.n]), self.places, folder, step)
        return MappedScores(self.places, low, high, plane, folder, kept)

    @property
    def strips(self) -> int:
        """How many strips are written for the scores."""
        return self.places.sides if self._in_order else -(-self.view.n // SIDE) + self.places.sides

    @cached_property
    def class_sizes(self) -> dict[Visibility, int]:
        """How many positions each class has, by how many nodes there are of each kind."""
        sizes = self.places.sizes
        pairs = (np.outer(sizes, sizes) - np.diag(sizes)) // (1 + np.eye(sizes.size, dtype=np.int64))
        classes = np.asarray(self._table)
        return {kind: int(np.triu(pairs * (classes == kind)).sum()) for kind in Visibility}

    def response_rates(self) -> dict[Visibility, float]:
        """Everybody has answered."""
        return dict.fromkeys(NON_PUBLIC, 1.0)

    def rate_variance(self) -> float:
        """Nobody is divided by a rate that was observed.  [AGGREGATE.5]"""
        return 0.0

    def best_scores(self, with_cycles: bool = True) -> MappedScores:
        """The scores of all positions, in a file."""
        return self.group_scores()
