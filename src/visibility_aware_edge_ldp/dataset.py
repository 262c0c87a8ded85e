"""Known graphs by name: where they are, how to get them, and what stands in for them.

A dataset is looked for at an explicit path, in the folder ``$VA_EDGE_LDP_DATA`` and in the user's
cache. Only `fetch` goes to the network, and only what passes its checksum is kept.
"""

import warnings
from functools import cached_property
from pathlib import Path
from typing import Any

from visibility_aware_edge_ldp.errors import BadGraph, did_you_mean
from visibility_aware_edge_ldp.truth.datasets import (
    DATASETS,
    FOLDER_VARIABLE,
    Dataset,
    cache_folder,
    fetch,
    find,
    verify,
)
from visibility_aware_edge_ldp.truth.ego_survey import EITHER, HAJEK, is_ego_survey, read_ego_survey
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.readers import read_graph

__all__ = [
    "DATASETS",
    "GENERATORS",
    "Dataset",
    "FacebookDataset",
    "cache_folder",
    "default_graph",
    "fetch",
    "find",
    "load",
    "open_graph",
    "verify",
]

GENERATORS = ("facebook-like", "powerlaw:n,m", "random:n,m")
_STAND_IN = (
    "The real Facebook graph was not found, so a synthetic one like it is used; "
    "get the real one with: va-edge-ldp datasets fetch facebook"
)


def load(name: str) -> Graph:
    """A known dataset or a generated graph.

    Parameters
    ----------
    name
        A name from `DATASETS`, or one of ``facebook-like``, ``powerlaw:n,m`` and ``random:n,m`` for
        n nodes and m edges.
    """
    if _is_generated(name):
        from visibility_aware_edge_ldp.truth import synthetic

        return synthetic.parse(name)
    if name not in DATASETS:
        raise BadGraph(f"{name!r} is not a known graph. Use one of: {', '.join([*DATASETS, *GENERATORS])}.")
    path = find(name)
    if path is None:
        raise BadGraph(f"{DATASETS[name].filename} is not on this machine. {_how_to_get(DATASETS[name])}")
    return read_graph(path, nodes=DATASETS[name].nodes)


def open_graph(text: str, **table: Any) -> Graph:
    """What the command line calls a graph: a dataset's name, a generator's name or a path.

    ``table``: columns, header and delimiter of a file, and ``bipartite``, as `read_graph` takes them; of an ego survey
    its roster, ties, and the column of its weights, which may be followed by how they are meant.
    """
    asked = {name: table.pop(name, None) for name in ("roster", "ties", "weights")}
    if is_ego_survey(text) or any(asked.values()):
        return _open_ego_survey(text, asked, table)
    if text.endswith(".toml"):
        raise BadGraph(f"{text!r} looks like a policy, not a graph. Give it with --policy.")
    named = text in DATASETS or _is_generated(text)
    if not named and not Path(text).exists() and (hint := did_you_mean(text, [*DATASETS, "facebook-like"])):
        raise BadGraph(f"There is no file and no dataset {text!r}.{hint}")
    if not named or Path(text).is_file():
        return read_graph(text, **table)
    if any(value is not None for value in table.values()):
        raise BadGraph(
            f"Columns, a header, a delimiter and --bipartite belong to a file of edges; {text!r} is a known graph."
        )
    return load(text)


def _open_ego_survey(text: str, asked: dict[str, Any], table: dict[str, Any]) -> Graph:
    columns = table.pop("columns", None)
    if any(value is not None for value in table.values()):
        raise BadGraph("A header, a delimiter and --bipartite belong to a file of edges; leave them out of a survey.")
    if not Path(text).exists():
        raise BadGraph(f"There is no ego survey {text!r}. Give a folder, a ZIP archive or a file of it.")
    weights, _, weighting = (asked["weights"] or "").partition(",")
    return read_ego_survey(
        text, roster=asked["roster"], columns=columns, ties=asked["ties"] or EITHER, weights=weights or None,
        weighting=weighting or HAJEK,
    ).graph  # fmt: skip


def default_graph() -> tuple[Graph, bool]:
    """The graph used when none is named, and whether it is the synthetic stand-in."""
    is_synthetic = find("facebook") is None
    return load("facebook-like" if is_synthetic else "facebook"), is_synthetic


def _is_generated(name: str) -> bool:
    return name == "facebook-like" or name.startswith(("powerlaw:", "random:"))


def _how_to_get(dataset: Dataset) -> str:
    if dataset.url:
        return f"Fetch it with: va-edge-ldp datasets fetch {dataset.name}"
    return f"Put it into a folder and set {FOLDER_VARIABLE} to it."


class FacebookDataset:
    """The ego-Facebook graph, or a graph like it where the real one is not on this machine.

    Parameters
    ----------
    path
        The file, or the folder that holds it; without it the usual places are searched. A path at
        which there is nothing is refused.

    Attributes
    ----------
    graph
        The graph.
    is_synthetic
        True when it is the stand-in.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        place = find("facebook", path)
        self.is_synthetic = place is None
        if place is None:
            warnings.warn(_STAND_IN, UserWarning, stacklevel=2)
        self.graph = load("facebook-like") if place is None else read_graph(place)

    @property
    def source(self) -> str:
        """Where the graph comes from, in words."""
        return self.graph.source

    @cached_property
    def G(self) -> Any:  # noqa: N802 - the name in the source document
        """The graph as a ``networkx.Graph``."""
        import networkx

        graph = networkx.Graph()
        graph.add_nodes_from(self.graph.names)
        names = self.graph.names
        graph.add_edges_from((names[u], names[v]) for u, v in self.graph.edges.tolist())
        return graph
