"""``va-edge-ldp plan``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from visibility_aware_edge_ldp.commands.common import JsonOption, PolicyOption, print_json, print_table
from visibility_aware_edge_ldp.errors import BadInput


def plan(
    nodes: Annotated[int | None, typer.Option(help="How many people there are.")] = None,
    edges: Annotated[int | None, typer.Option(help="About how many edges.")] = None,
    max_degree: Annotated[int | None, typer.Option(help="About the largest degree.")] = None,
    family: Annotated[
        str, typer.Option(help="powerlaw, random, or a file or dataset of a graph like the one to be asked.")
    ] = "powerlaw",
    clustering: Annotated[float | None, typer.Option(help="About the share of 2-stars that are closed.")] = None,
    policy: PolicyOption = "nothing",
    epsilons: Annotated[str, typer.Option(help="Comma-separated losses per private edge.")] = "0.5,1,2,4",
    trust: Annotated[str, typer.Option(help="Comma-separated trust models, or all.")] = "all",
    statistic: Annotated[str | None, typer.Option(help="Comma-separated, e.g. triangles,stars:3.")] = None,
    target_error: Annotated[str | None, typer.Option(help="A mean relative error to reach, such as 5%.")] = None,
    delta: Annotated[str, typer.Option(help="What may be spent besides epsilon.")] = "0",
    as_json: JsonOption = False,
) -> None:
    """Predict the error of every trust model before anybody is asked, and which epsilon reaches a target."""
    from visibility_aware_edge_ldp.evaluation.plan.planner import HEAD
    from visibility_aware_edge_ldp.evaluation.plan.planner import plan as predict
    from visibility_aware_edge_ldp.evaluation.plan.predicted import TRUST
    from visibility_aware_edge_ldp.truth.policy_file import open_policy

    found = predict(
        nodes,
        edges,
        max_degree=max_degree,
        family=family,
        policy=open_policy(policy),
        epsilons=epsilons.split(","),
        statistics=statistic,
        target_error=None if target_error is None else _share(target_error),
        clustering=clustering,
        delta=delta,
        trust=TRUST if trust == "all" else tuple(name.strip() for name in trust.split(",")),
    )
    if as_json:
        print_json(found.as_dict())
        return
    noted = sorted({f"{row[0]} {row[1]} at ε = {row[2]}: {row[-1]}." for row in found.rows() if row[-1]})
    print_table(f"{_assumed(found)}; policy: {found.policy}", HEAD[:-1], [row[:-1] for row in found.rows()])
    for note in noted:
        typer.echo(note)
    typer.echo("ε is the loss per PRIVATE edge against all reports; what one trust model answers together shares it.")
    for each in (*found.costs, *found.targets):
        typer.echo(str(each))


def _assumed(found: Any) -> str:
    graph = found.graph
    return f"Predicted for {graph.source}: {graph.n:,} nodes, {graph.m:,} edges, largest degree {graph.degrees.max():,}"


def _share(text: str) -> float:
    """ "5%" or "0.05"."""
    try:
        return float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        raise BadInput(f"A target error is a share such as 5% or 0.05; got {text!r}.") from None
