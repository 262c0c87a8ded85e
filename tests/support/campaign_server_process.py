"""The server as a process, with a stand-in for the estimate and with twins that break one promise each."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from support import campaign_estimators as estimators
from support.campaign_lab import stub_estimate
from visibility_aware_edge_ldp.campaign.server import serving
from visibility_aware_edge_ldp.campaign.server.app import open_store
from visibility_aware_edge_ldp.campaign.server.clock import SteadyClock
from visibility_aware_edge_ldp.campaign.server.estimate_json import OwnProcess
from visibility_aware_edge_ldp.campaign.server.limits import Limits
from visibility_aware_edge_ldp.campaign.server.stores import store as writer
from visibility_aware_edge_ldp.campaign.server.stores.sql import Store
from visibility_aware_edge_ldp.campaign.server.stores.store import Outcome, Upload
from visibility_aware_edge_ldp.campaign.server.stores.turns import Entry
from visibility_aware_edge_ldp.campaign.server.telemetry import log_to_stderr


class AcknowledgesFirst(writer.Writer):
    """The twin that says "stored" before it is."""

    def hand(self, upload: Upload, told: writer.Told) -> None:
        super().hand(upload, lambda outcome: None)
        told(Outcome.STORED)


def unfenced() -> None:
    """The twin whose turn is never over: it does not compare its number with the store's."""
    from visibility_aware_edge_ldp.campaign.server.stores.shared import SharedPostgres

    honest = SharedPostgres.enter

    def enter(database: SharedPostgres, entry: Entry) -> None:
        database.turn_number = database._counted("epoch") if entry is Entry.TURN else 0
        honest(database, entry)

    SharedPostgres.enter = enter  # type: ignore[method-assign]


class Slowed:
    """A store that takes its time in one place, so that a kill can be aimed at it."""

    def __init__(self, store: Store, place: str, mark: Path) -> None:
        self._store, self._place, self._mark = store, place, mark

    def __getattr__(self, name: str) -> object:
        found = getattr(self._store, name)
        if name != self._place:
            return found

        def slowly(*args: object, **options: object) -> object:
            self._mark.touch()
            time.sleep(0.3)
            return found(*args, **options)

        return slowly


def _skewed(wall: Path, believes: bool) -> type[SteadyClock]:
    """A clock that is wrong by what a file says; the twin believes it."""

    def shown() -> float:
        return time.time() + float(wall.read_text() or 0)

    class Skewed(SteadyClock):
        def __init__(self) -> None:
            super().__init__(shown, grace=0.0)

        def __call__(self) -> float:
            return shown() if believes else super().__call__()

        def has_passed(self, moment: float) -> bool:
            return shown() >= moment if believes else super().has_passed(moment)

    return Skewed


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("directory")
    parser.add_argument("store")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--connections", type=int, default=4096)
    parser.add_argument("--grace", type=float, default=5.0)
    parser.add_argument("--twin", choices=["acknowledges-first", "believes-the-clock", "salted", "unfenced"])
    parser.add_argument("--shared", action="store_true", help="beside other processes on one store")
    parser.add_argument("--slow", help="a method of the store, or `estimating`")
    parser.add_argument("--mark", type=Path)
    parser.add_argument("--wall", type=Path, help="a file with the seconds by which the machine's clock is wrong")
    parser.add_argument("--longest", type=float, help="for how long PostgreSQL may be silent")
    parser.add_argument("--own-process", help="what makes the answers in a process of its own")
    parser.add_argument("--plain", action="store_true", help="as if the quick parser and event loop were not installed")
    given = parser.parse_args(arguments)
    if given.plain:
        sys.modules |= {"httptools": None, "uvloop": None}  # type: ignore[dict-item]
    log_to_stderr()
    if given.twin == "acknowledges-first":
        from visibility_aware_edge_ldp.campaign.server import app

        app.Writer = AcknowledgesFirst  # type: ignore[misc]

    if given.twin == "unfenced":
        unfenced()

    if given.longest:
        from visibility_aware_edge_ldp.campaign.server.stores import postgres

        class Impatient(postgres.PostgresDatabase):
            def __init__(self, url: str, longest: float = 0.0, campaign: str = "") -> None:
                super().__init__(url, given.longest, campaign)

        postgres.PostgresDatabase = Impatient  # type: ignore[misc]
    if given.wall:
        from visibility_aware_edge_ldp.campaign.server import app

        app.SteadyClock = _skewed(given.wall, given.twin == "believes-the-clock")  # type: ignore[misc]

    def opened(url: str, campaign: str, rounds: int, shared: bool = False) -> Store:
        store = open_store(url, campaign, rounds, shared)
        return Slowed(store, given.slow, given.mark) if given.slow else store  # type: ignore[return-value]

    def estimate_bytes(charter: object, view: object, reports: object) -> bytes:
        if given.slow == "estimating":
            given.mark.touch()
            time.sleep(0.3)
        salt = str(time.time_ns()).encode() if given.twin == "salted" else b""
        return stub_estimate(charter, view, reports) + salt

    serving.serve(
        given.directory,
        given.store,
        port=given.port,
        estimate_bytes=OwnProcess(getattr(estimators, given.own_process)) if given.own_process else estimate_bytes,
        limits=Limits(seconds=given.seconds, connections=given.connections, grace=given.grace),
        ready=lambda address: print(address, flush=True),
        opened=opened,
        shared=given.shared,
    )


if __name__ == "__main__":
    main()
