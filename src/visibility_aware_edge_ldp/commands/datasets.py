"""``va-edge-ldp datasets``."""

import typer

import visibility_aware_edge_ldp.commands.common as common


def list_datasets(as_json: common.JsonOption = False) -> None:
    """The graphs that are known by name."""
    from visibility_aware_edge_ldp.dataset import DATASETS, GENERATORS, find

    found = {each.name: find(each.name) for each in DATASETS.values()}
    if as_json:
        known = [
            {"name": d.name, "nodes": d.nodes, "edges": d.edges, "path": path and str(path), "about": d.about}
            for d, path in zip(DATASETS.values(), found.values(), strict=True)
        ]
        common.print_json("datasets", {"datasets": known})
        return
    rows = [
        (d.name, f"{d.nodes:,}", f"{d.edges:,}", "here" if found[d.name] else "not here", d.about)
        for d in DATASETS.values()
    ]
    common.print_table("Known graphs", ("name", "nodes", "edges", "where", "what"), rows)
    typer.echo(f"Made when asked for: {', '.join(GENERATORS)}.")
    missing = [d.name for d in DATASETS.values() if d.url and not found[d.name]]
    held = next((name for name, path in found.items() if path), "facebook-like")
    common.print_tour(
        "a name stands wherever a command takes a graph, and so does a file of your own with two names on each line.",
        {
            **{f"va-edge-ldp datasets fetch {name}": "download it, and check that it is whole" for name in missing[:1]},
            f"va-edge-ldp estimate {held} --policy profiles:0.5": "one simulated collection on it",
            "va-edge-ldp estimate random:300,3000": "or on a graph that is made for it",
        },
    )


def fetch_dataset(name: str, as_json: common.JsonOption = False) -> None:
    """Download a graph, check its checksum, and keep it in the cache."""
    from visibility_aware_edge_ldp.dataset import fetch

    path = fetch(name)
    if as_json:
        common.print_json("datasets-fetch", {"name": name, "path": str(path)})
    else:
        typer.echo(f"{name} is at {path}; its checksum is right.")
