"""Tasks on a Dask cluster: workers that started already somewhere, or some started here. Needs the extra ``cluster``.

Nothing is scattered: a task holds the name of its file and loads its own tiles, so that when a worker dies the
scheduler gives the task to another one and nothing is lost. Dask's own settings (files and ``DASK_…`` variables) say
how connections are encrypted.
"""

from __future__ import annotations

import logging
import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any
from uuid import uuid4

from visibility_aware_edge_ldp import __version__
from visibility_aware_edge_ldp.compute.engines import WAITING, Item, Progress, Result, Workers
from visibility_aware_edge_ldp.compute.plain.tiles import SIDE
from visibility_aware_edge_ldp.compute.tile_file import TileFile, copy_tiles, in_order
from visibility_aware_edge_ldp.compute.tile_layout import TileSource
from visibility_aware_edge_ldp.errors import BadInput, MissingPart

# A task is tried again after an error, such as of a file that could not be read for a moment.
RETRIES = 2
# So long may a scheduler take to answer, and the first worker to join.
CONNECT_SECONDS, JOIN_SECONDS = 10, 60
# Dask watches itself fifty times a second, profiles tasks, and has freed memory handed back at once, to be asked for
# again at the next column: together a tenth of a small machine.
QUIET = {
    "distributed.admin.tick.interval": "500ms",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.worker.memory.monitor-interval": "500ms",
    "distributed.worker.profile.enabled": False,
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 1 << 27,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 1 << 25,
}


def on_this_machine(
    number: int | None, memory: int, progress: Progress | None = None, folder: Path | None = None
) -> DaskWorkers:
    """Start so many worker processes here, one core each; nobody else can reach them."""
    distributed = _library()
    import dask

    with dask.config.set(QUIET):
        cluster = distributed.LocalCluster(
            n_workers=number or os.cpu_count() or 1,
            threads_per_worker=1,
            processes=True,
            memory_limit=memory,
            dashboard_address="127.0.0.1:0",  # any free port of this machine alone; Dask always opens one
            scheduler_kwargs={"dashboard": False},
            silence_logs=logging.ERROR,
            security=True,  # keys of its own, so that no other user of this machine can send it code
        )
    return DaskWorkers(distributed.Client(cluster, set_as_default=False), cluster, progress, folder)


def at_address(address: str, progress: Progress | None = None, folder: Path | None = None) -> DaskWorkers:
    """The workers of a scheduler that runs already."""
    distributed = _library()
    keys = distributed.Security().get_connection_args("client")
    if address.startswith("tls://") and keys.get("ssl_context") is None:
        raise BadInput(f"{address} is encrypted. Name your keys in Dask's settings, under distributed.comm.tls.")
    try:
        client = distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise BadInput(
            f"No Dask scheduler answers at {address}. Start one with: dask scheduler, or correct the address."
        ) from error
    return DaskWorkers(client, None, progress, folder)


def _library() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise MissingPart("distributed", "cluster", "The engine Dask") from error
    return distributed


class DaskWorkers(Workers):
    """Workers behind one Dask client."""

    def __init__(self, client: Any, cluster: Any, progress: Progress | None, folder: Path | None) -> None:
        super().__init__(progress, folder)
        self._client, self._cluster = client, cluster
        self._copied: tuple[TileSource, TileFile] | None = None

    @property
    def cores(self) -> int:
        """Of the workers that are there now; others may join and leave."""
        return sum(self._client.nthreads().values())

    def folder(self) -> Path:
        """Of workers on other machines, nobody but the user knows which folders they see."""
        if self._cluster is None and self._within is None:
            raise BadInput("Workers elsewhere read what they need from files. Name a folder that all of them see.")
        return super().folder()

    def shared(self, source: TileSource) -> TileSource:
        """Workers read tiles from a file; what is in memory is written to one."""
        if isinstance(source, TileFile):
            return source
        if self._copied is None or self._copied[0] is not source:
            path, places = self.folder() / f"{uuid4().hex}.tiles", in_order([source.sides * SIDE])
            self._copied = source, copy_tiles(path, source, places, "a plane")
        return self._copied[1]

    def share_value(self, value: Item) -> Callable[[], Item]:
        """Workers read it from a file of the engine's folder, once in each process."""
        path = self.folder() / f"{uuid4().hex}.pickle"
        # It may be what clients hold: for nobody else's eyes.
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            pickle.dump(value, file)
        return partial(_read, path)

    def results(self, work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[tuple[int, Result]]:
        """At most a few tasks for each core are with the scheduler at any time; the rest wait here."""
        from concurrent.futures import CancelledError

        from distributed import KilledWorker, as_completed
        from distributed.comm import CommClosedError

        self._wait_for_workers()
        run, waiting, places = uuid4().hex, iter(enumerate(items)), dict[Any, int]()
        job = _Job(__version__, work)

        def submit_more() -> Iterator[Any]:
            room = max(self.cores, 1) * WAITING - len(places)
            for place, item in islice(waiting, max(room, 0)):
                future = self._client.submit(job, item, key=f"va-edge-ldp-{run}-{place}", retries=RETRIES)
                places[future] = place
                yield future

        try:
            done = as_completed(submit_more(), loop=self._client.loop)
            for future in done:
                result = future.result()
                place = places.pop(future)
                future.release()
                for more in submit_more():
                    done.add(more)
                yield place, result
        except KilledWorker as error:
            raise BadInput(
                "Worker after worker died at the same task, most likely for want of memory. Give them more memory, or "
                "cut the work into smaller tasks."
            ) from error
        except (CancelledError, CommClosedError) as error:
            raise BadInput(
                "The Dask scheduler has gone, and what was under way with it. Start it again, and then this run; with "
                "a checkpoint it goes on from there."
            ) from error
        finally:
            if places and self._client.status == "running":
                self._client.cancel(list(places))

    def _wait_for_workers(self) -> None:
        try:
            self._client.wait_for_workers(1, timeout=JOIN_SECONDS)
        except TimeoutError as error:
            raise BadInput(
                f"No worker has joined the Dask scheduler in {JOIN_SECONDS} s. Start some with: dask worker ADDRESS"
            ) from error

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()


@lru_cache(maxsize=4)
def _read(path: Path) -> Any:
    """A value that the process which started the run has written."""
    try:
        return pickle.loads(path.read_bytes())  # noqa: S301 - from the engine's own folder, as trusted as its tasks
    except OSError as error:
        raise BadInput(
            f"A worker cannot read {path} ({error.strerror}). Name a folder that all of them see."
        ) from error


class _Job:
    """What a worker runs; it refuses to work with another version's code, which might count otherwise."""

    def __init__(self, version: str, work: Callable[[Any], Any]) -> None:
        self._version, self._work = version, work

    def __call__(self, item: Any) -> Any:
        if self._version != __version__:
            raise BadInput(
                f"A worker has version {__version__} of this software, and the run has {self._version}. "
                "Install the same version everywhere."
            )
        return self._work(item)
