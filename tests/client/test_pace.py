"""A pace: the answer leaves on a beat that nothing private moves.  [PACE.1]"""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from visibility_aware_edge_ldp.client.pace import paced
from visibility_aware_edge_ldp.errors import BadInput, Refused


class Watch:
    """A clock that only sleeping, looking and working move."""

    def __init__(self, lateness: float = 0.0) -> None:
        self.now, self.lateness, self.slept = 100.0, lateness, 0.0

    def clock(self) -> float:
        self.now += 1e-6
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds + self.lateness
        self.slept += seconds

    def work(self, seconds: float) -> str:
        self.now += seconds
        return "answer"


@given(st.floats(0, 0.99), st.sampled_from([0.0, 0.0005, 0.0019]))
def test_an_answer_leaves_on_the_first_beat_however_long_the_work_took(taken: float, lateness: float) -> None:
    watch = Watch(lateness)
    done = paced(1.0, lambda: watch.work(taken), watch.clock, watch.sleep)
    assert (done.answer, done.beats, done.overran) == ("answer", 1, False)
    assert watch.now == pytest.approx(101.0, abs=1e-5)


@given(st.floats(0.001, 20.0))
def test_work_that_overruns_leaves_on_a_later_beat_and_says_so(taken: float) -> None:
    watch = Watch()
    done = paced(0.5, lambda: watch.work(taken), watch.clock, watch.sleep)
    beats = (watch.now - 100.0) / 0.5
    assert done.beats == round(beats)
    assert beats == pytest.approx(done.beats, abs=1e-4)
    assert done.overran == (done.beats > 1)
    assert taken <= done.beats * 0.5 < taken + 0.5 + 1e-4


def test_a_refusal_keeps_the_pace_too() -> None:
    watch = Watch()

    def refuse() -> None:
        watch.work(0.3)
        raise Refused("Nothing is left.")

    with pytest.raises(Refused):
        paced(1.0, refuse, watch.clock, watch.sleep)
    assert watch.now == pytest.approx(101.0, abs=1e-5)


def test_the_last_moments_are_waited_awake() -> None:
    watch = Watch()
    paced(0.01, lambda: watch.work(0.001), watch.clock, watch.sleep)
    assert 0 < watch.slept < 0.0071


def test_real_clocks_keep_it() -> None:
    start = time.perf_counter()
    assert paced(0.02, lambda: 7).answer == 7
    assert 0.02 <= time.perf_counter() - start < 1


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf")])
def test_a_pace_is_a_time(seconds: float) -> None:
    with pytest.raises(BadInput, match="above 0"):
        paced(seconds, lambda: 1)
