"""Pieces of work on all cores: in their order, never nested, and in a forked process too."""

from __future__ import annotations

import multiprocessing
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from visibility_aware_edge_ldp.compute import threads as cores
from visibility_aware_edge_ldp.compute.threads import beside, on_cores, pieces_of


@pytest.fixture
def four_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores.os, "cpu_count", lambda: 4)
    cores._threads.cache_clear()


def later(piece: int) -> int:
    time.sleep(0.02 / (piece + 1))
    return piece * piece


@pytest.mark.usefixtures("four_cores")
def test_results_come_in_the_order_of_the_pieces_from_several_threads() -> None:
    seen = set()

    def work(piece: int) -> int:
        seen.add(threading.get_ident())
        return later(piece)

    assert list(on_cores(work, range(8))) == [piece * piece for piece in range(8)]
    assert len(seen) > 1
    assert threading.get_ident() not in seen


@pytest.mark.usefixtures("four_cores")
def test_a_piece_does_its_own_pieces_by_itself() -> None:
    def work(piece: int) -> set[int]:
        return {threading.get_ident(), *on_cores(lambda _: threading.get_ident(), range(4))}

    assert all(len(threads) == 1 for threads in on_cores(work, range(6)))


@pytest.mark.usefixtures("four_cores")
def test_work_beside_other_work_runs_on_a_thread_of_its_own_but_not_within_a_piece() -> None:
    waiting = beside(threading.get_ident)
    assert waiting() not in {threading.get_ident()}
    own = list(on_cores(lambda _: (beside(threading.get_ident)(), threading.get_ident()), range(4)))
    assert all(there == here for there, here in own)


def test_work_beside_other_work_on_one_core_is_done_when_it_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores.os, "cpu_count", lambda: 1)
    assert beside(threading.get_ident)() == threading.get_ident()


@pytest.mark.usefixtures("four_cores")
def test_what_a_piece_raises_is_raised() -> None:
    def work(piece: int) -> int:
        if piece == 2:
            raise ValueError("the third piece")
        return piece

    with pytest.raises(ValueError, match="third"):
        list(on_cores(work, range(4)))
    assert list(on_cores(later, range(4))) == [0, 1, 4, 9]


def in_a_fork(queue: multiprocessing.Queue) -> None:  # type: ignore[type-arg]
    queue.put(list(on_cores(later, range(4))))


@pytest.mark.usefixtures("four_cores")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_has_threads_of_its_own() -> None:
    list(on_cores(later, range(4)))  # the parent's threads are there
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=in_a_fork, args=(queue,))
    child.start()
    assert queue.get(timeout=20) == [0, 1, 4, 9]
    child.join(20)
    assert child.exitcode == 0


@given(st.integers(0, 50), st.integers(0, 5000), st.sampled_from([1, 64, 512]), st.integers(1, 4))
def test_pieces_cover_a_run_once(first: int, size: int, unit: int, each_core: int) -> None:
    pieces = pieces_of(first, first + size, unit, each_core)
    assert [place for start, stop in pieces for place in range(start, stop)] == list(range(first, first + size))
    assert all((stop - start) % unit == 0 for start, stop in pieces[:-1])
