"""How far long work has come: one plain callback, so that nobody below the commands knows how it is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from visibility_aware_edge_ldp.subgraphs.task_plan import work_of
from visibility_aware_edge_ldp.subgraphs.triples import Engine, Ints, Task, TileSource

Progress = Callable[[float, float], None]
"""Hears how much is done, and how much there is in all, in any unit."""
ANSWERS, ROWS, COUNTING, PATHS = "answers", "rows", "counting", "paths"


class Steps:
    """Work that is counted in steps: call it with how many more are done."""

    def __init__(self, progress: Progress | None, total: float) -> None:
        self._progress, self._done, self._total = progress, 0.0, total

    def __call__(self, more: float = 1.0) -> None:
        """So much more is done."""
        self._done += more
        if self._progress is not None:
            self._progress(self._done, self._total)


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
    """The same engine, and ``progress`` hears of every task that is done."""

    def run(source: TileSource, tasks: Sequence[Task]) -> Iterator[tuple[Task, Ints]]:
        found: Iterable[tuple[Task, Ints]] = engine(source, tasks)
        steps = Steps(progress, sum(map(work_of, tasks)))
        for task, counts in found:
            steps(work_of(task))
            yield task, counts

    return run
