"""``va-edge-ldp datasets``."""

from pathlib import Path

import typer

from visibility_aware_edge_ldp.commands.common import (
    JsonOption,
    print_json,
    print_table,
    print_tour,
)


def list_datasets(as_json: JsonOption = False) -> None:
    """The graphs that are known by name."""
    from visibility_aware_edge_ldp.dataset import DATASETS, GENERATORS, find

    rows = [
        (d.name, f"{d.nodes:,}", f"{d.edges:,}", "here" if find(d.name) else "not here", d.about)
        for d in DATASETS.values()
    ]
    if as_json:
        keys = ("name", "nodes", "edges", "path", "about")
        print_json(
            [
                dict(zip(keys, (d.name, d.nodes, d.edges, text_of(find(d.name)), d.about), strict=True))
                for d in DATASETS.values()
            ]
        )
        return
    print_table("Known graphs", ("name", "nodes", "edges", "where", "what"), rows)
    typer.echo(f"Made when asked for: {', '.join(GENERATORS)}.")
    missing = [d.name for d in DATASETS.values() if d.url and not find(d.name)]
    held = next((d.name for d in DATASETS.values() if find(d.name)), "facebook-like")
    print_tour(
        "a name stands wherever a command takes a graph, and so does a file of your own with two names on each line.",
        {
            **{f"va-edge-ldp datasets fetch {name}": "download it, and check that it is whole" for name in missing[:1]},
            f"va-edge-ldp estimate {held} --policy profiles:0.5": "one simulated collection on it",
            "va-edge-ldp estimate random:300,3000": "or on a graph that is made for it",
        },
    )


def fetch_dataset(name: str, as_json: JsonOption = False) -> None:
    """Download a graph, check its checksum, and keep it in the cache."""
    from visibility_aware_edge_ldp.dataset import fetch

    path = fetch(name)
    if as_json:
        print_json({"name": name, "path": str(path)})
    else:
        typer.echo(f"{name} is at {path}; its checksum is right.")


def text_of(path: Path | None) -> str | None:
    return None if path is None else str(path)
