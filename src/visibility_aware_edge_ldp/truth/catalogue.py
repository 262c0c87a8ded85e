"""The graphs that are known by name, and where they are on this machine."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from visibility_aware_edge_ldp.errors import BadGraph

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
