"""Whether the time and the length of an answer depend on what it is made from: Welch's t on measured times.  [PACE.2-5]

After dudect (Reparaz, Balasch and Verbauwhede 2017): two sides that differ in the secret alone, measured in random
order, slow outliers cropped at one limit for both. What is cropped is looked at too: which side it is on.
"""

import gc
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.audit.engine.findings import Audit, Finding, Loss
from visibility_aware_edge_ldp.audit.timing import clients
from visibility_aware_edge_ldp.audit.timing.clients import Act, Prepare
from visibility_aware_edge_ldp.client.pace import Paced, paced
from visibility_aware_edge_ldp.compute.backend import settle
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_random_bytes, secure_random_bytes, seeded_key

Floats = npt.NDArray[np.float64]
Bits = npt.NDArray[np.bool_]
Wrap = Callable[[Act], Callable[[], Paced[bytes]]]
# |t| of two sides that take equally long is above this at most 2.2 times in 10,000 audits, both crops together: so
# often with the 25 pairs of the slowest client, and less than half a time with a hundred pairs.  [PACE.3]
LIMIT = 4.5
# Times above these percentiles of both sides together are left out; the larger |t| counts.
CROPS = (60, 90)
# What is left out, and overruns of a pace, are on one side by chance at most so often; told as −log10 of it.  [PACE.5]
ALPHA = 1e-4
SURPRISE = -math.log10(ALPHA)
# Before the clock counts: caches, tables and compiled kernels are made on the first calls.
WARM_UP = 8
# A pace is this many times what the slower side took in the warm-up, and some milliseconds more; and the longest stall
# of the machine itself, for who works longer is stalled more often. It is watched so long, and so much counts.
PACE_MARGIN, PACE_REST = 3.0, 0.004
WATCHED, LONGEST_STALL = 0.2, 0.05
# So many pairs are looked at, the most different first: a quarter of them, and never fewer than can ring.
SHARE, FEWEST = 4, 16
_FAIR = np.array([0.5, 0.5])
_ROUNDING = 1 + 1e-9


def slowest_chance(first: Floats, second: Floats) -> float:
    """How often fair signs lead as far as those of the pairs that differ most, at any depth."""
    apart = second - first
    order = np.argsort(-np.abs(apart), kind="stable")[: max(FEWEST, apart.size // SHARE)]
    return lead_chance(apart[order][apart[order] != 0] > 0)


def lead_chance(signs: Bits) -> float:
    """The chance that as many fair signs have, after any number of them, a lead that is as unlikely as these have."""
    tails = list(_tails(signs.size))
    least = min((float(tail[ones]) for tail, ones in zip(tails, signs.cumsum(), strict=True)), default=1.0)
    chance, left = 0.0, np.ones(1)
    for tail in tails:
        left = np.convolve(left, _FAIR)
        far = tail <= least * _ROUNDING
        chance += float(left[far].sum())
        left[far] = 0
    return min(1.0, chance) if tails else 1.0


def one_sided_chance(first: int, second: int) -> float:
    """The chance that fair signs are divided between two sides as unequally as this."""
    *_, tail = (np.ones(1), *_tails(first + second))
    return float(tail[second])


def _tails(most: int) -> Iterator[Floats]:
    """For 1, 2, … signs: how likely a lead as large as that of 0, 1, 2, … ones is, on either side."""
    law = np.ones(1)
    for _ in range(most):
        law = np.convolve(law, _FAIR)
        above = law[::-1].cumsum()[::-1]
        yield np.minimum(1, 2 * np.minimum(above, above[::-1]))


@dataclass(frozen=True, eq=False)
class Timings:
    """Nanoseconds of every measurement of two sides, the lengths in bytes that were seen, and who overran its pace."""

    first: Floats = field(repr=False)
    second: Floats = field(repr=False)
    lengths: frozenset[int]
    overran: tuple[Bits, Bits] = field(repr=False, default_factory=lambda: (np.zeros(0, bool), np.zeros(0, bool)))

    @property
    def t(self) -> float:
        """The largest |t| over the crops."""
        limits = np.percentile(np.concatenate([self.first, self.second]), CROPS)
        return max(abs(welch(self.first[self.first <= cut], self.second[self.second <= cut])) for cut in limits)

    @property
    def slowest(self) -> float:
        """How surprising it is which side is the slower one in the pairs that differ most.  [PACE.5]"""
        return _surprise(slowest_chance(self.first, self.second))

    @property
    def overruns(self) -> float:
        """How surprising it is which side overran, in the pairs of which one did.  [PACE.5]"""
        first, second = self.overran
        return _surprise(one_sided_chance(int((first & ~second).sum()), int((second & ~first).sum())))


def welch(first: Floats, second: Floats) -> float:
    """Welch's t; infinite where one side has hardly anything left, which only happens when it is far slower."""
    if min(first.size, second.size) < 3:
        return math.inf
    apart = float(second.mean() - first.mean())
    error = math.sqrt(first.var(ddof=1) / first.size + second.var(ddof=1) / second.size)
    # Two clocks that never move tell any difference.
    return apart / error if error else math.copysign(math.inf, apart) if apart else 0.0


def _surprise(chance: float) -> float:
    return max(0.0, -math.log10(chance)) if chance > 0 else math.inf


Seen = tuple[float, int, bool]
"""Of one answer: its nanoseconds, its length in bytes, and whether it overran its pace."""


def in_random_order(runs: int, seed: int | str, pair: Callable[[tuple[int, int]], Iterator[Seen]]) -> Timings:
    """Time ``runs`` pairs: ``pair`` measures one answer of each side, in an order that coins decide."""
    order = np.frombuffer(keyed_random_bytes(seeded_key(seed, "order"))(runs), np.uint8) & 1
    times, lengths, overran = np.empty((2, runs)), set[int](), np.zeros((2, runs), np.bool_)
    collecting = gc.isenabled()
    gc.disable()
    try:
        for run, first in enumerate(order.tolist()):
            sides = first, 1 - first
            for side, (taken, length, late) in zip(sides, pair(sides), strict=True):
                times[side, run], overran[side, run] = taken, late
                lengths.add(length)
            gc.collect(0)
    finally:
        if collecting:
            gc.enable()
    return Timings(times[0], times[1], frozenset(lengths), (overran[0], overran[1]))


def measure(prepare: Prepare, runs: int, wrap: Wrap | None = None, seed: int | str = 0) -> Timings:
    """Time ``runs`` pairs of fresh clients, one of each side."""
    settle()  # as a participant's program does
    coins = secure_random_bytes()

    def pair(sides: tuple[int, int]) -> Iterator[Seen]:
        # Both are made before either is timed: making a long list leaves other caches than making a short one.
        acts = [prepare(side, coins) for side in (0, 1)]
        for side in sides:
            act = (wrap or _at_once)(acts[side])
            start = time.perf_counter_ns()
            sent = act()
            yield time.perf_counter_ns() - start, len(sent.answer), sent.overran

    return in_random_order(runs, seed, pair)


def _at_once(act: Act) -> Callable[[], Paced[bytes]]:
    return lambda: Paced(act(), 1)


def at_a_pace(seconds: float) -> Wrap:
    """The real clients, paced."""
    return lambda act: lambda: paced(seconds, act)


def find(name: str, prepare: Prepare, runs: int, pace: Callable[[float], Wrap] | None = None) -> Finding:
    """Time one client, at a pace or without one: the same for the real code and for its mutants."""
    warm = measure(prepare, WARM_UP)
    seconds = PACE_REST + PACE_MARGIN * max(np.median(warm.first), np.median(warm.second)) / 1e9
    seconds += longest_stall() if pace else 0
    timings = measure(prepare, runs, pace(seconds) if pace else None, name)
    return finding_of(name, replace(timings, lengths=timings.lengths | warm.lengths), seconds if pace else None)


def finding_of(name: str, timings: Timings, pace: float | None) -> Finding:
    """What the times and lengths of answers tell; and, at a pace of so many seconds, its overruns."""
    losses = [
        Loss("time", LIMIT, timings.t),
        Loss("slowest", SURPRISE, timings.slowest),
        *([Loss("overruns", SURPRISE, timings.overruns)] if pace else []),
        Loss("length", 0, max(timings.lengths) - min(timings.lengths)),
    ]
    return Finding(name, "time", tuple(losses), timings.first.size, _about(timings, pace))


def longest_stall() -> float:
    """For how many seconds at most this process had to wait while it only looked at the clock."""
    longest, last = 0.0, time.perf_counter()
    end = last + WATCHED
    while last < end:
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
    return min(longest, LONGEST_STALL)


def _about(timings: Timings, pace: float | None) -> str:
    medians = (np.median(side) / 1e3 for side in (timings.first, timings.second))
    said = "medians {:,.1f} and {:,.1f} µs".format(*medians)
    if pace is None:
        return said
    return said + f", pace {pace * 1e3:,.1f} ms, overruns " + " and ".join(str(side.sum()) for side in timings.overran)


def until_caught(run: Callable[[], Finding], most: int = 3) -> Finding:
    """The first of at most so many findings that catches a mutant: a busy machine may hide it once.  [PACE.3]"""
    return next((found for found in (run() for _ in range(most - 1)) if found.caught), None) or run()


def _at_a_short_pace(_: float) -> Wrap:
    """A mutant of a pace: half of what long lists take."""
    return at_a_pace(clients.HELD / 2)


def _rest_afterwards(seconds: float) -> Wrap:
    """A mutant of a pace: it waits as long after the work, however long the work took."""

    def wrap(act: Act) -> Callable[[], Paced[bytes]]:
        def answer() -> Paced[bytes]:
            sent = act()
            paced(seconds, bytes)
            return Paced(sent, 1)

        return answer

    return wrap


def _audit(
    name: str, prepare: Prepare, runs: int, pace: Callable[[float], Wrap] | None = None, broken: str = ""
) -> Audit:
    run = partial(find, name, prepare, runs, pace)
    return Audit(name, "time", partial(until_caught, run) if broken else run, broken)


AUDITS: tuple[Audit, ...] = (
    _audit("position", clients.positions(), 2500),
    _audit("user degrees, nothing public", clients.degrees("nothing"), 1500),
    _audit("user histogram", clients.bins, 2000),
    _audit("user triangles, round 1", clients.row_answers, 1500),
    _audit("position, a tie, paced", clients.position_with_tie, 150, at_a_pace),
    _audit("user degrees, paced", clients.degrees("mixed"), 150, at_a_pace),
    _audit("user degrees' noise, paced", clients.degree_with_noise, 200, at_a_pace),
    _audit("user triangles, round 2, paced", clients.row_sums, 100, at_a_pace),
    _audit("user triangles, round 2 near 1 MiB, paced", clients.near_a_mebibyte, 100, at_a_pace),
    _audit("neighbourhood, paced", clients.owned, 30, at_a_pace),
    _audit("hub, paced", clients.hub, 25, at_a_pace),
)
MUTANTS: tuple[Audit, ...] = (
    _audit(
        "position, branchy",
        clients.positions(clients.Branchy),
        1000,
        broken="Coins are drawn for the ones alone, so an answer takes longer the more edges there are.",
    ),
    _audit(
        "position, now and then again",
        clients.now_and_then_again,
        1000,
        broken="One in ten answers that hold ones is made twenty times: few enough to be left out with the slowest.",
    ),
    _audit(
        "user degrees' noise, as soon as drawn",
        clients.degree_with_noise,
        400,
        broken="The answer leaves as soon as its noise is drawn, and far noise takes longer (Jin et al. 2022).",
    ),
    _audit(
        "neighbourhood, as soon as counted",
        clients.owned,
        30,
        broken="The answer leaves as soon as it is counted, and more edges take longer.",
    ),
    _audit(
        "neighbourhood, a rest in place of a pace",
        clients.owned,
        30,
        _rest_afterwards,
        broken="A fixed rest follows the work, so the time of the work still shows.",
    ),
    _audit(
        "neighbourhood, a pace for short lists",
        clients.long_lists_held,
        30,
        _at_a_short_pace,
        broken="The pace is long enough for short lists alone, so long ones overrun it.",
    ),
    _audit(
        "user triangles, a byte for each friend",
        clients.with_a_byte_for_each_friend,
        30,
        at_a_pace,
        broken="The report grows by a byte for each friend.",
    ),
)
