"""``va-edge-ldp estimate-streamed``: degrees and groups of millions of users, from a file that is read as a stream."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import visibility_aware_edge_ldp.commands.common as common
from visibility_aware_edge_ldp.errors import BadInput

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.public.groups import Groups


def estimate_streamed(
    edges: Annotated[
        Path,
        typer.Argument(
            help="Parquet with two columns of integers, .npy with an (m, 2) array of integers, or .bin with pairs of "
            "32-bit integers, or a folder of such files: every edge once, users numbered from 0.",
            show_default=False,
        ),
    ],
    users: Annotated[int, typer.Option(help="How many users there are.", min=1, show_default=False)],
    epsilon: Annotated[str, typer.Option(help="Loss per private edge, by all statistics together.")] = "1",
    statistics: Annotated[
        str | None,
        typer.Option(
            help="Comma-separated: edges, stars:K, tail:T, mean_degree, density, degree_variance, isolates, "
            "concurrency; with --groups mixing, contacts, group_degrees, assortativity, ei_index, coleman, "
            "ergm_targets. Default: edges,stars:2; with groups edges,mixing."
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(help="The two columns of a Parquet file that hold an edge: FROM,TO. Default: the first."),
    ] = None,
    groups: Annotated[
        Path | None, typer.Option(help="A .npy file with the number of every user's public group, from 0.")
    ] = None,
    labels: Annotated[
        str | None, typer.Option(help="The groups' names, comma-separated. Default: their numbers.")
    ] = None,
    certificate: Annotated[bool, typer.Option("--certificate", help="Print all of the certificate.")] = False,
    seed: common.SeedOption = None,
    as_json: common.JsonOption = False,
) -> None:
    """Let millions of users report noisy degrees, where edges do not fit into memory."""
    from visibility_aware_edge_ldp.simulation.streamed_degrees import estimate_streamed as run

    named = None if columns is None else _two(columns)
    grouped = None if groups is None else _groups(groups, labels, users)
    asked = statistics or ("edges,stars:2" if grouped is None else "edges,mixing")
    with common.progress_bar("users report") as progress:
        answers = run(
            edges, users, epsilon, asked.split(","), columns=named, groups=grouped, seed=seed, progress=progress
        )
    if as_json:
        told = {"source": edges.name, "nodes": users, "notes": list[str]()}
        told |= {} if grouped is None else {"groups": grouped.about}
        common.print_json("estimate", {"graph": told, **answers.as_dict()})
        return
    title = f"{edges.name}: {users:,} users; ε = {epsilon} for all statistics together"
    common.print_table(title, *common.estimate_table(answers, {}))
    promise = answers.certificate
    typer.echo(str(promise) if certificate else f"{promise.summary} All of it: --certificate.")


def _two(columns: str) -> tuple[str, str]:
    """FROM,TO as two names."""
    first, comma, second = columns.partition(",")
    if not (first and second) or "," in second or not comma:
        raise BadInput(f"--columns names two columns, such as FROM,TO; got {columns!r}.")
    return first, second


def _groups(path: Path, labels: str | None, users: int) -> "Groups":
    """Everybody's group from a file of numbers; refuses another length, and numbers without a name."""
    import numpy as np

    from visibility_aware_edge_ldp.public.groups import Groups

    try:
        members = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise BadInput(f"{path} is not a .npy file of whole numbers: {error}.") from None
    if members.shape != (users,) or members.dtype.kind not in "iu":
        raise BadInput(f"{path.name} must hold one whole number for each of the {users:,} users.")
    names = labels.split(",") if labels else [str(number) for number in range(int(members.max()) + 1)]
    return Groups(path.stem, tuple(names), members.astype(np.int64))
