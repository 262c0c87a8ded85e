"""Kill a centre that publishes at every step, start it again, and see whether anything was told twice or lost.

``python -m support.publishing_drill`` in the folder of tests prints the figures, for the real code and its twins.
"""

import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from visibility_aware_edge_ldp.campaign import signed_documents
from visibility_aware_edge_ldp.campaign.participant import ledger
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.simulation import publishing
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

WORLD = VisibilityAwareGraph(erdos_renyi(14, 40, 1), VisibilityPolicy.nothing())
Publish = Callable[[Path], object]
# What is watched: before and after each call of these, the program may be killed.
STEPS: tuple[tuple[Any, str], ...] = (
    (ledger.Page, "append"),
    (ledger, "write_mark"),
    (ledger, "create_ledger"),
    (publishing, "create_ledger"),
    (publishing, "write_over"),
    (signed_documents, "_write"),
    (Path, "replace"),
    (publishing, "ask_within"),
)


@dataclass(frozen=True)
class Drill:
    """What was seen: places to be killed at, and at how many of them something went wrong."""

    kills: int = 0
    told_twice: int = 0
    not_recorded: int = 0
    overspent: int = 0
    not_finished: int = 0

    @property
    def is_safe(self) -> bool:
        """Whether nothing went wrong, at more than a few places."""
        return self.kills > 20 and not (self.told_twice or self.not_recorded or self.overspent or self.not_finished)


def real(folder: Path) -> object:
    """The real centre; one statistic, half of the budget."""
    return publishing.publish(WORLD, folder / "release.json", folder / "budget", "1/2", "triangles", total=1)


def drilled(run: Publish = real) -> Drill:
    """Kill at the first place, at the second, and so on, until the program comes to its end."""
    found = Drill()
    while True:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            if not killed(run, folder, found.kills + 1):
                return found
            found = replace(found, kills=found.kills + 1)
            found = _looked_at(found, run, folder)


def killed(run: Publish, folder: Path, place: int) -> bool:
    """Whether a process that is killed at this place was; if not, it came to its end before."""
    child = os.fork()
    if not child:
        try:
            with dying_at(place):
                run(folder)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


@contextmanager
def dying_at(place: int) -> Iterator[None]:
    """This process is killed when so many places have been passed."""
    passed = 0

    def one_more() -> None:
        nonlocal passed
        passed += 1
        if passed == place:
            os.kill(os.getpid(), signal.SIGKILL)

    def watched(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            one_more()
            found = real(*given, **named)
            one_more()
            return found

        return call

    with pytest.MonkeyPatch.context() as patch:
        for home, name in STEPS:
            patch.setattr(home, name, watched(getattr(home, name)))
        yield


def _looked_at(found: Drill, run: Publish, folder: Path) -> Drill:
    """What a kill has left behind, and what the same request does afterwards, twice."""
    file, budget = folder / "release.json", folder / "budget"
    left = file.read_bytes() if file.exists() else None
    spent = publishing.spending(budget).charges if budget.exists() else ()
    unrecorded = left is not None and not (spent and spent[0].released)
    try:
        run(folder)
        first = file.read_bytes()
        run(folder)
    except Exception:  # whatever it is, the release never came
        return replace(found, not_finished=found.not_finished + 1, not_recorded=found.not_recorded + unrecorded)
    after = publishing.spending(budget)
    return replace(
        found,
        told_twice=found.told_twice + (file.read_bytes() != first or (left is not None and left != first)),
        not_recorded=found.not_recorded + unrecorded,
        overspent=found.overspent + (after.left[0] != Fraction(1, 2)),
    )


# ── broken twins ──


def sends_first(folder: Path) -> object:
    """Writes the release before it is stored."""

    def store(book: Any, request: str, made: bytes) -> None:
        (folder / "release.json").write_bytes(made)
        real_store(book, request, made)

    def emit(book: Any, request: str, path: Path) -> bytes:
        path.unlink(missing_ok=True)
        return real_emit(book, request, path)

    real_store, real_emit = publishing._store, publishing._emit
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(publishing, "_store", store)
        patch.setattr(publishing, "_emit", emit)
        return real(folder)


def stores_nothing(folder: Path) -> object:
    """Draws anew for every run: what was reserved is remembered, what was said is not."""
    real_emit = publishing._emit

    def emit(book: Any, request: str, path: Path) -> bytes:
        path.unlink(missing_ok=True)
        written = real_emit(book, request, path)
        made = publishing._document(
            WORLD,
            *publishing.ask_within(publishing.Centre(WORLD), "1/2", 0, "triangles", publish=True),
            publishing.promised(WORLD.policy, Fraction(1, 2), Fraction(0)),
        )
        path.write_text(str(made))
        return written

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(publishing, "_emit", emit)
        return real(folder)


def pays_again(folder: Path) -> object:
    """Reserves anew whenever it is started."""
    real_reserve = publishing._reserve

    def reserve(book: Any, request: str, *more: Any) -> bool:
        with book.writing() as page:
            again = len(page.entries("charge"))
        return real_reserve(book, request, *more) or (again > 0 and real_reserve(book, f"{request}{again}", *more))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(publishing, "_reserve", reserve)
        return real(folder)


TWINS: dict[str, Publish] = {"sends first": sends_first, "stores nothing": stores_nothing, "pays again": pays_again}

if __name__ == "__main__":
    for name, run in {"real": real, **TWINS}.items():
        print(name, drilled(run))
