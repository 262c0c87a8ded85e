"""``va-edge-ldp compare``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from visibility_aware_edge_ldp.commands import common

if TYPE_CHECKING:
    from rich.table import Table

    from visibility_aware_edge_ldp.evaluation.compare.design import Design
    from visibility_aware_edge_ldp.evaluation.results import Comparison

CAUTION = "Simulated on a graph that this machine holds; errors are against the truth, so this table is not private."
READING = "a gain of 2× means that using what is public anyway halves the error. What is PUBLIC is not protected."
STOPPED = 130
MOST_TIMES = 6


def compare(
    graph: common.GraphArgument = None,
    epsilons: Annotated[
        str, typer.Option(help="Comma-separated losses per private edge, each by all statistics together.")
    ] = "0.5,1,2,4",
    trials: Annotated[
        int, typer.Option(help="Independent collections for each cell; more where a gain is not known closely by them.")
    ] = 12,
    trust: Annotated[
        str, typer.Option(help="all, or a comma-separated list of position, user, neighbourhood, curator.")
    ] = "all",
    policy: common.PolicyOption = "profiles:0.5",
    scope: common.ScopeOption = None,
    attributes: common.AttributesOption = None,
    groups: common.GroupsOption = None,
    statistics: common.StatisticsOption = None,
    rounds: Annotated[int, typer.Option(help="Position model: 1, or 2 as in the source documents.")] = 1,
    top: common.TopOption = None,
    columns: common.ColumnsOption = None,
    header: common.HeaderOption = None,
    delimiter: common.DelimiterOption = None,
    roster: common.RosterOption = None,
    ties: common.TiesOption = None,
    output: Annotated[
        Path | None,
        typer.Option(help="Write the report, figures and numbers here, and keep finished trials to go on from."),
    ] = None,
    cores: Annotated[int | None, typer.Option(help="So many trials at a time. Default: one for each core.")] = None,
    seed: common.SeedOption = None,
    as_json: common.JsonOption = False,
) -> None:
    """Compare visibility-aware with uniform privacy, whomever one trusts, at equal loss per edge."""
    from visibility_aware_edge_ldp.compute.threads import usable_cores
    from visibility_aware_edge_ldp.evaluation.compare.design import designed, trust_models
    from visibility_aware_edge_ldp.evaluation.results import AWARE
    from visibility_aware_edge_ldp.model import VisibilityAwareGraph
    from visibility_aware_edge_ldp.simulation.simulate import buy_hubs
    from visibility_aware_edge_ldp.truth.policy_file import open_policy

    models, chosen, losses = trust_models(trust), open_policy(policy), epsilons.split(",")
    table = {"columns": columns, "header": header, "delimiter": delimiter, "roster": roster, "ties": ties}
    held = common.open_named(graph, top, as_json, **table)
    options = {"rounds": rounds} if rounds != 1 else {}
    if groups is not None:
        held = VisibilityAwareGraph(held).grouped(groups, attributes).whole
    if scope is not None:
        # Hubs are chosen first: their lists may be the scope, and what the choice costs stays with the policy.
        chosen = buy_hubs(VisibilityAwareGraph(held, chosen), seed).inside(scope, attributes).policy
    design = designed(held, chosen, losses, trials, statistics, models, seed, options, MOST_TIMES * trials)
    comparison = _run(design, output, usable_cores() if cores is None else cores, as_json)
    common.say_what_was_read(graph, held, as_json)
    if as_json:
        common.print_json("compare", comparison.as_dict())
    else:
        _print(comparison)
    for path in _write(comparison, output)[:3]:
        typer.echo(f"Wrote {path}", err=as_json)
    if not as_json:
        given = {"policy": policy, "scope": scope, "groups": groups, "attributes": attributes, "top": top}
        _tour(comparison, graph, given, bool(design.paid(AWARE)), output)


def _run(design: Design, output: Path | None, cores: int, quiet: bool) -> Comparison:
    """Run what an earlier, interrupted run has not finished."""
    from visibility_aware_edge_ldp.evaluation.compare import runner
    from visibility_aware_edge_ldp.evaluation.compare.checkpoint import Checkpoint
    from visibility_aware_edge_ldp.evaluation.compare.comparison import sharpened
    from visibility_aware_edge_ldp.simulation.worlds import Steps

    runner.refuse_too_large(design)
    checkpoint = Checkpoint(output, design)
    cells = len(runner.missing(design, checkpoint))
    if checkpoint.trials:
        typer.echo(
            f"Going on from {len(design.cells) - cells:,} of {len(design.cells):,} collections in {checkpoint.path}; "
            "remove that file for fresh noise.",
            err=True,
        )
    if cells and not quiet:
        octets, seconds, processes = runner.forecast(design, cells, cores)
        common.say_need(octets, seconds, processes=processes)
    try:
        with common.progress_bar("collections") as progress:
            return sharpened(design, checkpoint, Steps(progress, cells), cores)
    except KeyboardInterrupt:
        typer.echo(_stopped(len(checkpoint.trials), checkpoint.path), err=True)
        raise typer.Exit(STOPPED) from None


def _stopped(finished: int, path: Path | None) -> str:
    if path is None:
        return "Stopped; nothing was kept. With --output FOLDER, a stopped comparison can go on."
    return f"Stopped. {finished:,} finished collections are in {path}; the same command goes on from there."


def _print(comparison: Comparison) -> None:
    """The table, and under which conditions it was made."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    from visibility_aware_edge_ldp.evaluation.results import HEAD

    table, before = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0)), ("", "")  # fits into 80 columns
    for name in HEAD:
        table.add_column(
            name.removeprefix("visibility-"), justify="left" if name in ("trust", "statistic") else "right"
        )
    for row in comparison.table():
        if row[:2] != before:
            table.add_section()
        table.add_row(*(row if row[:2] != before else ("", "", *row[2:])))
        before = (row[0], row[1])
    typer.echo(comparison.title)
    console = Console(markup=False, highlight=False)
    console.print(table)
    if comparison.splits:
        console.print(_split_table(comparison))
    for text in (*comparison.scope_words, *comparison.verdict, *_conditions(comparison)):
        console.print(text)


def _split_table(comparison: Comparison) -> Table:
    """What each lever does to the errors."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from visibility_aware_edge_ldp.evaluation.gains import SPLIT_HEAD

    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), title="What the gain is made of", title_justify="left")
    for name in SPLIT_HEAD:
        table.add_column(name, justify="left" if name in ("trust", "statistic") else "right")
    for split in comparison.splits:
        table.add_row(*split.texts())
    return table


def _conditions(comparison: Comparison) -> list[str]:
    """Where figures come from, and what must be known to read any of them."""
    from visibility_aware_edge_ldp.evaluation.expected_errors import TRIALS, TRIALS_AND_LAW
    from visibility_aware_edge_ldp.evaluation.results import LOSS

    rows = [row for side in (comparison.aware, comparison.uniform) for row in side]
    plain, both = (
        ", ".join(dict.fromkeys(row.statistic for row in rows if row.figure.basis == basis and row.error))
        for basis in (TRIALS, TRIALS_AND_LAW)
    )
    coarse = f" Of {plain}: the mean of the observed errors." if plain else ""
    coarse += f" Of {both}: observed errors, at the known mean of the largest noisy degree." if both else ""
    off = [f"{row.trust} {row.statistic} at ε = {row.epsilon:g}" for row in rows if not row.is_consistent]
    odd = [f"Observed errors do not fit the standard errors of {', '.join(off)}; look at the report."] if off else []
    return [*odd, f"Errors are expected ones, from standard errors and exact laws of noise.{coarse} {LOSS}", CAUTION]


def _tour(comparison: Comparison, graph: str | None, given: dict[str, Any], bought: bool, output: Path | None) -> None:
    one = common.to_type("estimate", graph, epsilon=f"{comparison.aware[0].epsilon:g}", **given)
    report = common.to_type("compare", graph, output="out", **given)
    plan: dict[str, Any] = {"nodes": comparison.nodes, "edges": comparison.edges}
    # A plan for a scope needs the graph, to see what lies inside; hubs that are still to be chosen it does not know.
    if given["scope"] and not bought:
        plan = {"graph": graph or "facebook"} | {name: text for name, text in given.items() if name != "top"}
    common.print_tour(
        READING,
        {
            one: "one collection, with intervals and its certificate",
            **({} if output else {report: "figures and all numbers, in out/report.html"}),
            common.to_type("plan", **plan): "which ε reaches the error that you want",
        },
    )
    if output:
        typer.echo(f"Open {output / 'report.html'} in a browser: it needs no network.")


def _write(comparison: Comparison, output: Path | None) -> list[Path]:
    if output is None:
        return []
    from visibility_aware_edge_ldp.presentation.result_files import write_results

    return write_results(comparison, output, common.typed())
