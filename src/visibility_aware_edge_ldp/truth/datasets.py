"""The graphs that are known by name, and where they are on this machine."""

import hashlib
import http.client
import os
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from visibility_aware_edge_ldp.errors import BadGraph, BadInput
from visibility_aware_edge_ldp.truth.text_file import load_bytes

FOLDER_VARIABLE = "VA_EDGE_LDP_DATA"


@dataclass(frozen=True)
class Dataset:
    """A graph that can be known by name.

    Parameters
    ----------
    sha256
        Of the unpacked text; None where no reference is known.
    url
        Where it can be fetched; None where it must be brought by hand.
    """

    name: str
    filename: str
    nodes: int
    edges: int
    about: str
    sha256: str | None = None
    url: str | None = None


_TABLE = (
    Dataset(
        "facebook",
        "facebook_combined.txt.gz",
        4_039,
        88_234,
        "SNAP ego-Facebook (McAuley & Leskovec 2012)",
        "f41c026ed8af3cc3359f1ca5573d0605fb09ae0eefa34544b820fd8c6e2ef296",
        "https://snap.stanford.edu/data/facebook_combined.txt.gz",
    ),
    Dataset(
        "fb100-caltech",
        "fb100-Caltech36.edges.txt.gz",
        769,
        16_656,
        "Facebook100, Caltech",
        "87029970a44053bed0a309a975425ac74f0053ea87ebc4ce2a00c98aba2034f0",
    ),
    Dataset(
        "fb100-amherst",
        "fb100-Amherst41.edges.txt.gz",
        2_235,
        90_954,
        "Facebook100, Amherst",
        "dff52e671fc0d806bd64efdb899e516af41b69d11675bcdb769ab87c98fac1fd",
    ),
    Dataset(
        "ca-GrQc",
        "ca-GrQc.edges.txt.gz",
        5_242,
        14_484,
        "co-authors in general relativity",
        "4a84bcec02b99330ab403c3dcbc9a95d87548ffb5d4177d538937c571eff9fbf",
    ),
    Dataset(
        "imdb-actors-c10",
        "imdb-actors-c10.edges.txt.gz",
        129_948,
        1_072_449,
        "actors who share a film with a cast of at most 10",
        "f9feb0b6a707528a97ca3e32c17adb910f05e3c9b9227ce69cda779ee6919185",
    ),
    Dataset(
        "imdb-actors-c20",
        "imdb-actors-c20.edges.txt.gz",
        216_665,
        3_687_372,
        "actors who share a film with a cast of at most 20",
        "818ebc625442e2147a077d6ab4b04ebe5b0c16092f2a4aeee8d20bef2c419854",
    ),
)


DATASETS: dict[str, Dataset] = {dataset.name: dataset for dataset in _TABLE}


def known(name: str) -> Dataset:
    """The dataset of this name."""
    if name not in DATASETS:
        raise BadGraph(f"{name!r} is not a known dataset. Use one of: {', '.join(DATASETS)}.")
    return DATASETS[name]


def cache_folder() -> Path:
    """Where fetched graphs are kept for this user."""
    if explicit := os.environ.get("XDG_CACHE_HOME"):
        base = Path(explicit)
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path.home() / ".cache"
    return base / "va-edge-ldp"


def find(name: str, path: str | Path | None = None) -> Path | None:
    """Where a known dataset is on this machine, or None.

    Parameters
    ----------
    name
        A name from `DATASETS`.
    path
        The file, or the folder that holds it. Without it, the folder that ``$VA_EDGE_LDP_DATA``
        names and the user's cache are searched.

    Raises
    ------
    BadGraph
        When a path is given and the dataset is not there.
    """
    filename = known(name).filename
    if path is None:
        named = os.environ.get(FOLDER_VARIABLE)
        return _first_of(filename, [*([Path(named)] if named else []), cache_folder()])
    place = _first_of(filename, [Path(path)])
    if place is None:
        raise BadGraph(f"There is no {filename} at {str(path)!r}. Check the path, or leave it out.")
    return place


def _first_of(filename: str, folders: list[Path]) -> Path | None:
    places = (place for folder in folders for place in _spellings(folder.expanduser(), filename))
    return next((place for place in places if place.is_file()), None)


def _spellings(place: Path, filename: str) -> tuple[Path, ...]:
    return place, place / filename, place / filename.removesuffix(".gz")


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
