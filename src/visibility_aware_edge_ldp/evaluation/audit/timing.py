"""Whether the time and the length of an answer depend on what it is made from: Welch's t on measured times.  [PACE.2-4]

After dudect (Reparaz, Balasch and Verbauwhede 2017): two sides that differ in the secret alone, measured in random
order, slow outliers cropped at one limit for both.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.client.pace import paced
from visibility_aware_edge_ldp.client.position import Respondent
from visibility_aware_edge_ldp.evaluation.audit import timed_clients as clients
from visibility_aware_edge_ldp.evaluation.audit.finding import Audit, Finding, Loss
from visibility_aware_edge_ldp.evaluation.audit.timed_clients import Act, Prepare
from visibility_aware_edge_ldp.mechanisms.entropy import Coins, keyed_coins, secure_coins, seeded_key
from visibility_aware_edge_ldp.public.report import PositionReport
from visibility_aware_edge_ldp.public.survey import PositionSurvey

Floats = npt.NDArray[np.float64]
Wrap = Callable[[Act], Act]

# |t| of two sides that take equally long is above this less than once in 10,000 measurements.  [PACE.3]
LIMIT = 4.5
# Times above these percentiles of both sides together are left out; the larger |t| counts.
CROPS = (60, 90)
# Before the clock counts: caches, tables and compiled kernels are made on the first calls.
WARM_UP = 8
# A pace is this many times what the slower side took in the warm-up, and some milliseconds more.
PACE_MARGIN, PACE_REST = 3.0, 0.004


@dataclass(frozen=True, eq=False)
class Timings:
    """Nanoseconds of every measurement of two sides, and the lengths in bytes that were seen."""

    first: Floats = field(repr=False)
    second: Floats = field(repr=False)
    lengths: frozenset[int]

    @property
    def t(self) -> float:
        """The largest |t| over the crops."""
        limits = np.percentile(np.concatenate([self.first, self.second]), CROPS)
        return max(abs(welch(self.first[self.first <= cut], self.second[self.second <= cut])) for cut in limits)


def welch(first: Floats, second: Floats) -> float:
    """Welch's t; infinite where one side has hardly anything left, which only happens when it is far slower."""
    if min(first.size, second.size) < 3:
        return float("inf")
    error = first.var(ddof=1) / first.size + second.var(ddof=1) / second.size
    return float((second.mean() - first.mean()) / np.sqrt(error)) if error else 0.0


def measure(prepare: Prepare, runs: int, wrap: Wrap | None = None, seed: int | str = 0) -> Timings:
    """Time ``runs`` pairs of fresh clients, one of each side, in an order that coins decide."""
    order = np.frombuffer(keyed_coins(seeded_key(seed, "order"))(runs), np.uint8) & 1
    coins, times, lengths = secure_coins(), np.empty((2, runs)), set()
    collecting = gc.isenabled()
    gc.disable()
    try:
        for run in range(runs):
            # Both are made before either is timed: making a long list leaves other caches than making a short one.
            acts = [prepare(side, coins) for side in (0, 1)]
            for side in (order[run], 1 - order[run]):
                times[side, run], length = _clocked(acts[side] if wrap is None else wrap(acts[side]))
                lengths.add(length)
            gc.collect(0)
    finally:
        if collecting:
            gc.enable()
    return Timings(times[0], times[1], frozenset(lengths))


def _clocked(act: Act) -> tuple[int, int]:
    start = time.perf_counter_ns()
    sent = act()
    return time.perf_counter_ns() - start, len(sent)


def at_a_pace(seconds: float) -> Wrap:
    """The real clients, paced."""
    return lambda act: lambda: paced(seconds, act).answer


def find(name: str, prepare: Prepare, runs: int, pace: Callable[[float], Wrap] | None = None) -> Finding:
    """Time one client, at a pace or without one: the same for the real code and for its twins."""
    warm = measure(prepare, WARM_UP)
    seconds = PACE_REST + PACE_MARGIN * max(np.median(warm.first), np.median(warm.second)) / 1e9
    timings = measure(prepare, runs, pace(seconds) if pace else None, name)
    medians = (np.median(side) / 1e3 for side in (timings.first, timings.second))
    about = "medians {:,.1f} and {:,.1f} µs".format(*medians)
    losses = (
        Loss("time", LIMIT, timings.t),
        Loss("length", 0, max(timings.lengths | warm.lengths) - min(timings.lengths | warm.lengths)),
    )
    return Finding(name, "time", losses, runs, about + (f", pace {seconds * 1e3:,.1f} ms" if pace else ""))


class BranchyRespondent(Respondent):
    """A twin: draws one more coin for each bit that is one."""

    def _randomize(
        self, survey: PositionSurvey, round_number: int, coins: Coins, present: npt.NDArray[np.bool_] | None
    ) -> PositionReport:
        for _ in np.flatnonzero(self._view.bits):
            coins(1)
        return super()._randomize(survey, round_number, coins, present)


def with_a_byte_for_each_friend(side: int, coins: Coins) -> Act:
    """A twin: beside the row's sums one byte leaves for each friend."""
    act, friends = clients.row_sums(side, coins), clients.friend_list(side).neighbours.size
    return lambda: act() + bytes(friends)


def _rest_afterwards(seconds: float) -> Wrap:
    """A twin of a pace: it waits as long after the work, however long the work took."""

    def wrap(act: Act) -> Act:
        def answer() -> bytes:
            sent = act()
            paced(seconds, bytes)
            return sent

        return answer

    return wrap


def _audit(
    name: str, prepare: Prepare, runs: int, pace: Callable[[float], Wrap] | None = None, broken: str = ""
) -> Audit:
    return Audit(name, "time", partial(find, name, prepare, runs, pace), broken)


AUDITS: tuple[Audit, ...] = (
    _audit("position", clients.positions(), 2500),
    _audit("user degrees, nothing public", clients.degrees("nothing"), 1500),
    _audit("user histogram", clients.bins, 2000),
    _audit("user triangles, round 1", clients.row_answers, 1500),
    _audit("position, a tie, paced", clients.position_with_tie, 150, at_a_pace),
    _audit("user degrees, paced", clients.degrees("mixed"), 150, at_a_pace),
    _audit("user degrees' noise, paced", clients.degree_with_noise, 200, at_a_pace),
    _audit("user triangles, round 2, paced", clients.row_sums, 100, at_a_pace),
    _audit("neighbourhood, paced", clients.owned, 30, at_a_pace),
    _audit("hub, paced", clients.hub, 25, at_a_pace),
)
TWINS: tuple[Audit, ...] = (
    _audit(
        "position, branchy",
        clients.positions(BranchyRespondent),
        1000,
        broken="Coins are drawn for the ones alone, so an answer takes longer the more edges there are.",
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
        "user triangles, a byte for each friend",
        with_a_byte_for_each_friend,
        30,
        broken="The report grows by a byte for each friend.",
    ),
)
