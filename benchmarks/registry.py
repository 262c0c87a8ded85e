"""What a comparison is: our work, its rivals, and what was aimed at; and how one is measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.timing import Times, dataset, seconds, side_by_side
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.readers import read_graph

OURS = "ours"


class NotHereError(Exception):
    """A file that a comparison needs is not on this machine."""


@dataclass(frozen=True)
class Work:
    """One way of doing it. ``take`` does it and returns its seconds; None where its library is not installed."""

    name: str
    take: Callable[[], float] | None


def work(name: str, call: Callable[[], object], scale: float = 1.0) -> Work:
    """A call; ``scale`` turns its time into that of as much work as the others do."""
    return Work(name, lambda: scale * seconds(call))


def rival(name: str, prepare: Callable[[], Callable[[], object]], scale: float = 1.0) -> Work:
    """A call that is prepared by importing a library, which may not be installed."""
    try:
        return work(name, prepare(), scale)
    except ImportError:
        return Work(name, None)


UPWARDS = ("faster", "at least")


@dataclass(frozen=True)
class Target:
    """A number to reach: ``kind`` says of what.

    "faster": the rival's time over ours is at least this; "times": our time over the rival's is at most this;
    "at least": it is no less than this; "seconds": our time is at most this.
    """

    kind: str
    value: float
    against: str = ""

    def __str__(self) -> str:
        if self.kind == "seconds":
            return f"≤ {self.value:g} s"
        return f"{'≥' if self.kind in UPWARDS else '≤'} {self.value:,g}×"

    def found(self, times: dict[str, Times]) -> float | None:
        """What was reached; None where the rival was not there."""
        if OURS not in times or (self.against and self.against not in times):
            return None
        ours = times[OURS].median
        if self.kind == "seconds":
            return ours
        theirs = times[self.against].median
        return theirs / ours if self.kind == "faster" else ours / theirs

    def met(self, found: float) -> bool:
        """Whether that is enough."""
        return found >= self.value if self.kind in UPWARDS else found <= self.value


@dataclass(frozen=True)
class Setting:
    """What is about to be timed: the graph in words, our work and the rivals', and what the machine would allow.

    ``also`` is asked after the timing for what else was found, such as memory.
    """

    on: str
    works: tuple[Work, ...]
    bound: float | None = None
    also: Callable[[], tuple[Verdict, ...]] = tuple


@dataclass(frozen=True)
class Comparison:
    """``prepare`` makes the setting, whose first work is ours. Long ones run only when asked for."""

    name: str
    what: str
    prepare: Callable[[], Setting]
    targets: tuple[Target, ...] = ()
    rounds: int = 5
    long: bool = False


@dataclass(frozen=True)
class Verdict:
    """A target beside what was reached; ``met`` is None where nothing was measured."""

    target: str
    against: str
    found: float | None
    met: bool | None


@dataclass(frozen=True)
class Measured:
    """What came out of a comparison."""

    name: str
    what: str
    on: str
    times: dict[str, Times]
    verdicts: tuple[Verdict, ...]
    missing: tuple[str, ...] = ()
    bound: float | None = None
    why_not: str = ""

    @property
    def share_of_bound(self) -> float | None:
        """The machine's least time over ours."""
        return None if self.bound is None or OURS not in self.times else self.bound / self.times[OURS].median


def measure(comparison: Comparison) -> Measured:
    """Warm up, and time all works in turn."""
    try:
        setting = comparison.prepare()
    except NotHereError as error:
        return skipped(comparison, str(error))
    takes = {each.name: each.take for each in setting.works if each.take is not None}
    for name, take in takes.items():
        if name == OURS or comparison.rounds > 1:
            take()  # compiles, and starts threads
    return judged(comparison, setting, side_by_side(comparison.rounds, takes))


def judged(comparison: Comparison, setting: Setting, times: dict[str, Times]) -> Measured:
    """The times beside the targets."""
    return Measured(
        comparison.name,
        comparison.what,
        setting.on,
        times,
        (*(verdict(target, times) for target in comparison.targets), *setting.also()),
        tuple(each.name for each in setting.works if each.take is None),
        setting.bound,
    )


def skipped(comparison: Comparison, why: str) -> Measured:
    """Nothing was measured, and why."""
    return Measured(
        comparison.name,
        comparison.what,
        "",
        {},
        tuple(verdict(target, {}) for target in comparison.targets),
        why_not=why,
    )


def verdict(target: Target, times: dict[str, Times]) -> Verdict:
    """Whether a target was met."""
    found = target.found(times)
    return Verdict(str(target), target.against, found, None if found is None else target.met(found))


def real_graph(filename: str) -> Graph:
    """A real graph by its file."""
    path = dataset(filename)
    if path is None:
        raise NotHereError(f"{filename} is not in the folder that VA_EDGE_LDP_DATA names")
    return read_graph(path)


def words_for(graph: Graph) -> str:
    """The graph of a setting in words."""
    return f"{graph.source}: {graph.n:,} nodes, {graph.m:,} edges"
