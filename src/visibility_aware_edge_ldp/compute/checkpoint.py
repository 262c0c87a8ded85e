"""Sums of arrays over the chunks of a task, in a file from which the work goes on after whatever ran it was killed.

The file holds the sums of the chunks that are done, and which these are. It is replaced as a whole, so that whoever is
killed at any moment leaves the one before or the one after. Sums are of whole numbers, or of numbers on a grid, so that
they are the same whichever chunk came first.
"""

import hashlib
import io
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute.engines import LostTask
from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.file_lock import lock

FORMAT = "va-edge-ldp sums 1"
# So often the file is replaced: that is what a death may cost.
EVERY_SECONDS = 10.0
# Whoever works on a folder holds this file in it.
IN_USE = "in-use.lock"
Arrays = Mapping[str, npt.NDArray[Any]]


@contextmanager
def held_folder(folder: Path) -> Iterator[None]:
    """Make a folder, for its owner alone, and hold it until the end; refuses one that another run holds."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        held = (folder / IN_USE).open("a")
    except OSError as error:
        raise BadInput(_cannot_write(folder, error)) from error
    with held:
        try:
            lock(held.fileno(), wait=False)
        except OSError as error:
            raise BadInput(f"Another run is using {folder}. Wait for it, or name another folder.") from error
        yield


def _cannot_write(place: Path, error: OSError) -> str:
    return f"Sums cannot be written to {place} ({error.strerror}). Name another folder for the checkpoint."


class Checkpoint:
    """The sums of some chunks, numbered from 0.

    Parameters
    ----------
    path
        The file; nothing is kept where there is none.
    identity
        What the sums are of. A file of another identity is refused.
    chunks
        How many chunks there are.
    """

    def __init__(self, path: Path | None, identity: str, chunks: int) -> None:
        self.path, self._head = path, {"format": FORMAT, "identity": identity, "chunks": chunks}
        # Which chunks are done, and their sums: replaced as one, so that an interruption finds both or neither.
        self._state: tuple[npt.NDArray[np.bool_], Arrays] = np.zeros(chunks, np.bool_), {}
        self._written = time.monotonic()
        if path is not None and path.exists():
            self._read(path)

    @property
    def done(self) -> npt.NDArray[np.bool_]:
        """Which chunks are in the sums."""
        return self._state[0]

    @property
    def missing(self) -> list[int]:
        """The chunks that are not done."""
        found: list[int] = np.flatnonzero(~self.done).tolist()
        return found

    def over(self, results: Callable[[Sequence[int]], Iterable[tuple[int, Arrays]]]) -> Arrays:
        """The sums of all chunks; ``results`` are asked for those that are missing, and may come in any order."""
        if self.missing:
            try:
                for chunk, found in results(self.missing):
                    self._add(chunk, found)
                    if time.monotonic() - self._written >= EVERY_SECONDS:
                        self.write()
            finally:  # also where the engine was lost
                if self.done.any():
                    self.write()
        if self.missing:
            raise LostTask(f"{len(self.missing)} of {self.done.size} chunks gave no result. Nothing was estimated.")
        return self._state[1]

    def _add(self, chunk: int, found: Arrays) -> None:
        done, sums = self._state
        if done[chunk]:
            raise LostTask(f"Chunk {chunk} came twice. Nothing was estimated; please report this.")
        done = done.copy()
        done[chunk] = True
        self._state = done, {name: array + sums[name] if name in sums else array for name, array in found.items()}

    def write(self) -> None:
        """Replace the file; it is on the disk when this returns."""
        if self.path is None:
            return
        body, (done, sums) = io.BytesIO(), self._state
        arrays: dict[str, Any] = {f"sum {name}": array for name, array in sums.items()}
        np.savez(body, done=done, **arrays)
        head = {**self._head, "digest": hashlib.sha256(body.getbuffer()).hexdigest()}
        draft = self.path.with_name(f"{self.path.name}.part")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with draft.open("wb") as file:
                file.write(json.dumps(head).encode() + b"\n")
                file.write(body.getbuffer())
                file.flush()
                os.fsync(file.fileno())
            draft.replace(self.path)
        except OSError as error:
            raise BadInput(_cannot_write(self.path, error)) from error
        self._written = time.monotonic()

    def _read(self, path: Path) -> None:
        try:
            first, _, body = path.read_bytes().partition(b"\n")
            head = json.loads(first)
            digest, known = head.pop("digest"), head.get("format") == FORMAT
        except (OSError, ValueError, KeyError, AttributeError, TypeError):
            known = False
        if not known or digest != hashlib.sha256(body).hexdigest():
            raise BadInput(f"{path} is damaged, or no checkpoint of this version. Delete it to begin again.")
        if head != self._head:
            raise BadInput(
                f"{path} is of another run: another graph, policy, survey, seed or share of absent people, or another "
                "version of this software. Name another folder, or delete it."
            )
        with np.load(io.BytesIO(body), allow_pickle=False) as arrays:
            found = {name: arrays[name] for name in arrays.files}
        self._state = found.pop("done"), {name.removeprefix("sum "): each for name, each in found.items()}
