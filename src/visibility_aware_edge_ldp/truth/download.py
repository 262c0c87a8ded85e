"""Getting a known graph from the network: all of it and the right one, or nothing."""

from __future__ import annotations

import hashlib
import http.client
import os
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.truth.catalogue import FOLDER_VARIABLE, Dataset, cache_folder, known
from visibility_aware_edge_ldp.truth.text_file import load_bytes


def fetch(name: str, *, base: str | None = None, timeout: float = 60.0) -> Path:
    """Download a dataset into the cache, unless it is there already and right.

    Parameters
    ----------
    base
        Another address that holds a file of the same name, for mirrors and tests.
    timeout
        Seconds to wait for the server.

    Raises
    ------
    BadInput
        When there is no network, or what arrives is not the dataset; nothing is left behind.
    """
    dataset = known(name)
    target = cache_folder() / dataset.filename
    if target.is_file() and _is_right(dataset, target):
        return target
    address = _address(dataset, base)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{dataset.filename}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_download(address, dataset, timeout))
        verify(dataset, Path(temporary))
        Path(temporary).replace(target)
    finally:
        Path(temporary).unlink(missing_ok=True)
    return target


def verify(dataset: Dataset, path: Path) -> None:
    """Refuse a file that cannot be unpacked or whose text is not the dataset's."""
    try:
        found = hashlib.sha256(load_bytes(path, BadInput).data).hexdigest()
    except BadInput:
        raise BadInput(f"{dataset.filename} is damaged or incomplete. {_by_hand(dataset)}") from None
    if dataset.sha256 is not None and found != dataset.sha256:
        raise BadInput(
            f"{dataset.filename} is another file than expected: its checksum is {found[:12]}…, "
            f"not {dataset.sha256[:12]}…. {_by_hand(dataset)}"
        )


def _is_right(dataset: Dataset, path: Path) -> bool:
    try:
        verify(dataset, path)
    except BadInput:
        return False
    return True


def _by_hand(dataset: Dataset) -> str:
    return f"Try again, or put {dataset.filename} into a folder and set {FOLDER_VARIABLE} to it."


def _address(dataset: Dataset, base: str | None) -> str:
    if base is not None:
        return f"{base.rstrip('/')}/{dataset.filename}"
    if dataset.url is None:
        raise BadInput(
            f"There is no address to fetch {dataset.name} from. Put {dataset.filename} into a folder "
            f"and set {FOLDER_VARIABLE} to it."
        )
    return dataset.url


def _download(address: str, dataset: Dataset, timeout: float) -> bytes:
    if urllib.parse.urlsplit(address).scheme not in {"http", "https"}:
        raise BadInput(f"{address} is not a web address. Give one that begins with https://.")
    try:
        with urllib.request.urlopen(address, timeout=timeout) as answer:  # noqa: S310 - the scheme is checked above
            body: bytes = answer.read()
            promised = answer.headers.get("Content-Length")
    except (OSError, ValueError, http.client.HTTPException) as reason:
        raise BadInput(_no_download(address, dataset, reason)) from None
    if promised is not None and len(body) != int(promised):
        raise BadInput(_no_download(address, dataset, f"only {len(body):,} of {promised} bytes arrived"))
    return body


def _no_download(address: str, dataset: Dataset, reason: object) -> str:
    text = reason.reason if isinstance(reason, urllib.error.URLError) else reason
    return f"{address} could not be fetched ({text}). {_by_hand(dataset)}"
