"""``va-edge-ldp compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from visibility_aware_edge_ldp.commands.common import (
    GraphArgument,
    JsonOption,
    PolicyOption,
    SeedOption,
    StatisticsOption,
    TopOption,
    open_named,
    print_json,
    print_table,
    progress_bar,
    say_memory,
    typed,
)
from visibility_aware_edge_ldp.errors import BadInput


def compare(
    graph: GraphArgument = None,
    epsilons: Annotated[str, typer.Option(help="Comma-separated losses per private edge.")] = "0.5,1,2,4",
    trials: Annotated[int, typer.Option(help="Independent collections for each cell.")] = 20,
    trust: Annotated[str, typer.Option(help="The trust model: position.")] = "all",
    policy: PolicyOption = "profiles:0.5",
    statistics: StatisticsOption = None,
    rounds: Annotated[int, typer.Option(help="1, or 2 as in the source documents.")] = 1,
    top: TopOption = None,
    output: Annotated[Path | None, typer.Option(help="Write report.html, results.json and results.csv here.")] = None,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare visibility-aware with uniform edge-LDP at equal loss per edge."""
    from visibility_aware_edge_ldp.evaluation.comparison import compare as run
    from visibility_aware_edge_ldp.truth.policy_file import open_policy

    if trust not in ("all", "position"):
        raise BadInput(
            f"{trust!r} is not a trust model of compare; use position. For a centre: estimate --trust curator."
        )
    chosen, losses = open_policy(policy), epsilons.split(",")
    held = open_named(graph, top, as_json)
    say_memory(held.n, rounds)
    with progress_bar(2 * trials * len(losses), "collections") as progress:
        comparison = run(held, chosen, losses, trials, statistics, seed=seed, rounds=rounds, progress=progress)
    if as_json:
        print_json(comparison.as_dict())
        _write(comparison, output)
        return
    print_table(
        f"{comparison.graph}: mean relative error over {trials} trials; policy: {comparison.policy}",
        ("ε", "statistic", "uniform", "visibility-aware", "gain"),
        comparison.table(),
    )
    typer.echo("ε is the loss per PRIVATE edge against all reports together, once for all statistics of a collection.")
    typer.echo(
        "Simulated on a graph that this machine holds; errors are against the truth, so this table is not private."
    )
    for path in _write(comparison, output):
        typer.echo(f"Wrote {path}")


def _write(comparison: Any, output: Path | None) -> list[Path]:
    if output is None:
        return []
    from visibility_aware_edge_ldp.evaluation.report.files import write_results

    return write_results(comparison, output, typed())
