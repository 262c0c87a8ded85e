"""``va-edge-ldp``: the command line."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from visibility_aware_edge_ldp import __version__
from visibility_aware_edge_ldp.errors import BadInput, VaEdgeLdpError

if TYPE_CHECKING:
    from collections.abc import Callable

    from visibility_aware_edge_ldp.truth.graph import Graph

app = typer.Typer(
    help="Private statistics on graphs whose edges are not all equally secret.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
datasets = typer.Typer(help="Known graphs: where they are, and how to get them.", no_args_is_help=True)
app.add_typer(datasets, name="datasets")

GraphArgument = Annotated[
    str | None,
    typer.Argument(
        help="A file of edges, a dataset's name, or facebook-like, powerlaw:N,M, random:N,M. Default: Facebook.",
        show_default=False,
    ),
]
PolicyOption = Annotated[
    str,
    typer.Option(help="nothing, document-001, document-003, fractions:A,B,C, profiles:F, hubs:F, or a policy.toml."),
]
StatisticsOption = Annotated[str | None, typer.Option(help="Comma-separated, e.g. edges,triangles,stars:3; or all.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
SeedOption = Annotated[int | None, typer.Option(help="Repeat a run exactly; such a run is not private.")]
TopOption = Annotated[int | None, typer.Option("--top", help="Use only the N nodes of highest degree.")]


@app.callback(invoke_without_command=True)
def front(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    """Private statistics on graphs whose edges are not all equally secret."""
    if version:
        typer.echo(f"va-edge-ldp {__version__}")
        raise typer.Exit


@app.command()
def estimate(
    graph: GraphArgument = None,
    trust: Annotated[
        str,
        typer.Option(
            help="What one reporter holds: position (a bit), user (its friends), neighbourhood (their friends too), "
            "or curator (a trusted centre that holds everything)."
        ),
    ] = "position",
    epsilon: Annotated[
        str, typer.Option(help="Loss per private edge: for all statistics, or each of a curator's.")
    ] = "1",
    delta: Annotated[str, typer.Option(help="0 is pure; above 0 a curator draws Laplace noise.")] = "0",
    rounds: Annotated[int, typer.Option(help="1, or 2 as in the source documents.")] = 1,
    policy: PolicyOption = "nothing",
    statistics: StatisticsOption = None,
    estimator: Annotated[str, typer.Option(help="unbiased, or ipw_capped (two rounds).")] = "unbiased",
    dropout: Annotated[str, typer.Option(help="The share of positions, or users, that never answer.")] = "0",
    top: TopOption = None,
    degree_share: Annotated[
        str, typer.Option(help="User: what part of ε the degrees get where triangles are asked for too.")
    ] = "0.25",
    hide: Annotated[str, typer.Option(help="User: edge, or degree (a histogram that hides whole degrees).")] = "edge",
    reporters: Annotated[
        str, typer.Option(help="Neighbourhood: auto, hubs, plain hubs, users, or cap:50 (document 004's hard cap).")
    ] = "auto",
    bounds: Annotated[bool, typer.Option(help="Beside each error, the least that any such protocol has.")] = False,
    local: Annotated[bool, typer.Option(help="Curator: say what the same ε gives without a trusted centre.")] = True,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Simulate all clients on a graph you hold; print estimates, intervals and the certificate."""
    from visibility_aware_edge_ldp.model import VisibilityAwareGraph
    from visibility_aware_edge_ldp.privacy.parameters import exact_share
    from visibility_aware_edge_ldp.simulation.estimate import estimate as run
    from visibility_aware_edge_ldp.truth.policy_file import open_policy

    trust = trust.lower()
    world = VisibilityAwareGraph(_open(graph, top, as_json), open_policy(policy))
    if trust == "position":
        _say_memory(world.graph.n, rounds)
    answers = run(
        world, trust, epsilon, statistics, rounds=rounds, delta=delta,
        dropout=float(exact_share(dropout, "dropout")), estimator=estimator,
        degree_share=degree_share, hide=hide, reporters=reporters, seed=seed,
    )  # fmt: skip
    least = _least_errors(world, answers, trust, epsilon, rounds, dropout) if bounds else None
    if as_json:
        shown = {} if least is None else {"lower_bounds": [dict(zip(least[0], row, strict=True)) for row in least[1]]}
        _print_json({"graph": _about(world.graph), **answers.as_dict(), **shown})
        return
    if delta != "0" and not any(price.delta for price in answers.bill.values()):
        typer.echo("Note: this is pure; delta is not spent.", err=True)
    _table(
        f"{world.graph.source}: {world.graph.n:,} nodes; ε = {epsilon} for " + _of_what(trust, hide),
        ("statistic", "estimate", "± s.e.", "95 % interval"),
        answers.rows(),
    )
    typer.echo(str(answers.certificate))
    if least is not None:
        _table("The least possible standard errors", least[0], least[1])
        typer.echo("\n".join(least[2]))
    if trust == "curator" and local:
        typer.echo(_without_a_centre(world, epsilon, list(answers), answers))


@app.command()
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
    held = _open(graph, top, as_json)
    _say_memory(held.n, rounds)
    with _progress(2 * trials * len(losses), "collections") as progress:
        comparison = run(held, chosen, losses, trials, statistics, seed=seed, rounds=rounds, progress=progress)
    if as_json:
        _print_json(comparison.as_dict())
        _write(comparison, output)
        return
    _table(
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


@datasets.command("list")
def list_datasets(as_json: JsonOption = False) -> None:
    """The graphs that are known by name."""
    from visibility_aware_edge_ldp.dataset import DATASETS, GENERATORS, find

    rows = [
        (d.name, f"{d.nodes:,}", f"{d.edges:,}", "here" if find(d.name) else "not here", d.about)
        for d in DATASETS.values()
    ]
    if as_json:
        keys = ("name", "nodes", "edges", "path", "about")
        _print_json(
            [
                dict(zip(keys, (d.name, d.nodes, d.edges, _text(find(d.name)), d.about), strict=True))
                for d in DATASETS.values()
            ]
        )
        return
    _table("Known graphs", ("name", "nodes", "edges", "where", "what"), rows)
    typer.echo(f"Made when asked for: {', '.join(GENERATORS)}.")


@datasets.command("fetch")
def fetch_dataset(name: str, as_json: JsonOption = False) -> None:
    """Download a graph, check its checksum, and keep it in the cache."""
    from visibility_aware_edge_ldp.dataset import fetch

    path = fetch(name)
    if as_json:
        _print_json({"name": name, "path": str(path)})
    else:
        typer.echo(f"{name} is at {path}; its checksum is right.")


def _open(text: str | None, top: int | None, quiet: bool) -> Graph:
    from visibility_aware_edge_ldp.dataset import default_graph, open_graph

    graph, stand_in = default_graph() if text is None else (open_graph(text), False)
    notes = list(graph.notes)
    if stand_in:
        notes.append(
            "The real Facebook graph is not here; this is a synthetic one like it. "
            "Get the real one with: va-edge-ldp datasets fetch facebook"
        )
    if top is not None:
        if not 2 <= top <= graph.n:
            raise BadInput(f"--top must be between 2 and the graph's {graph.n:,} nodes; got {top}.")
        graph = graph.highest_degree(top)
    if not quiet:
        for note in notes:
            typer.echo(f"Note: {note}", err=True)
    return graph


def _of_what(trust: str, hide: str) -> str:
    """What the epsilon in the table's title is for."""
    if hide == "degree":
        return "each whole degree, twice that per edge"
    return "each statistic" if trust == "curator" else "all statistics together"


def _least_errors(
    world: Any, answers: Any, trust: str, epsilon: str, rounds: int, dropout: str
) -> tuple[tuple[str, ...], list[tuple[str, ...]], list[str]]:
    """Head, rows and conditions of the table of lower bounds."""
    from visibility_aware_edge_ldp.evaluation.bounds import HEAD, bound_rows, conditions

    rows = bound_rows(world, answers, trust, epsilon, rounds=rounds, dropout=float(dropout))
    return HEAD, [row.texts() for row in rows], conditions(rows)


def _without_a_centre(world: Any, epsilon: str, statistics: list[str], central: Any) -> str:
    """The price of not trusting: how many times larger the POSITION model's standard errors are."""
    from visibility_aware_edge_ldp.errors import TooLarge
    from visibility_aware_edge_ldp.simulation.estimate import estimate as run

    try:
        answers = run(world, "position", epsilon, statistics)
    except TooLarge:
        return "Without a centre: too many positions to ask each of them on this machine."
    ratios = (
        f"{name} {answers[name].standard_error / error:,.0f}×" if (error := central[name].standard_error) else name
        for name in statistics
    )
    return (
        f"Without a centre, the POSITION model answers all of these together for one ε = {epsilon}; its "
        f"standard errors are, times the centre's: {', '.join(ratios)}. "
        "(For the centre's eyes: not on the bill, not for release.)"
    )


def _say_memory(n: int, rounds: int) -> None:
    from visibility_aware_edge_ldp.simulation.memory import needed_bytes, refuse_too_large

    refuse_too_large(n, rounds)
    if needed_bytes(n, rounds) > 1_000_000_000:
        typer.echo(f"This needs up to {needed_bytes(n, rounds) / 1e9:.1f} GB of memory.", err=True)


def _about(graph: Graph) -> dict[str, Any]:
    return {"source": graph.source, "nodes": graph.n, "notes": list(graph.notes)}


def _write(comparison: Any, output: Path | None) -> list[Path]:
    if output is None:
        return []
    from visibility_aware_edge_ldp.evaluation.report.files import write_results

    return write_results(comparison, output, shlex.join(["va-edge-ldp", *sys.argv[1:]]))


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _print_json(content: Any) -> None:
    from visibility_aware_edge_ldp.evaluation.report.files import finite

    typer.echo(json.dumps(finite(content), indent=2, ensure_ascii=False, allow_nan=False))


def _table(title: str, head: tuple[str, ...], rows: Any) -> None:
    from rich.console import Console
    from rich.table import Table

    words = {"statistic", "name", "where", "what"}
    table = Table()
    for name in head:
        table.add_column(name, justify="left" if name in words else "right")
    for row in rows:
        table.add_row(*row)
    typer.echo(title)
    Console().print(table)


@contextmanager
def _progress(total: int, what: str) -> Iterator[Callable[[int], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=total)
        yield lambda steps: bar.update(task, advance=steps)


def main() -> None:
    """The entry point: our errors are sentences, not tracebacks."""
    try:
        app()
    except VaEdgeLdpError as error:
        typer.echo(f"Error: {error}", err=True)
        raise SystemExit(error.exit_code) from error
    except KeyboardInterrupt:
        typer.echo("Stopped.", err=True)
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
