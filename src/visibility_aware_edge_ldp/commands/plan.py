"""``va-edge-ldp plan``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import visibility_aware_edge_ldp.commands.common as common
from visibility_aware_edge_ldp.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from visibility_aware_edge_ldp.evaluation.plan.planner import Plan
    from visibility_aware_edge_ldp.evaluation.plan.scenarios import Publicity
    from visibility_aware_edge_ldp.evaluation.plan.summary import Table
    from visibility_aware_edge_ldp.truth.graph import Graph


def plan(
    nodes: Annotated[int | None, typer.Option(help="How many people there are.")] = None,
    edges: Annotated[int | None, typer.Option(help="About how many edges.")] = None,
    max_degree: Annotated[int | None, typer.Option(help="About the largest degree.")] = None,
    family: Annotated[
        str,
        typer.Option(
            "--family", "--graph", help="powerlaw, random, or a file or dataset of a graph like the one to be asked."
        ),
    ] = "powerlaw",
    degrees: Annotated[
        Path | None, typer.Option(help="A file with everybody's degree, in place of numbers and family.")
    ] = None,
    clustering: Annotated[float | None, typer.Option(help="About the share of 2-stars that are closed.")] = None,
    policy: common.PolicyOption = "nothing",
    scope: common.ScopeOption = None,
    attributes: common.AttributesOption = None,
    consent_share: Annotated[
        str | None, typer.Option(help="Ask only about people who both consent, and suppose that this share does.")
    ] = None,
    groups: common.GroupsOption = None,
    epsilons: Annotated[
        str, typer.Option(help="Comma-separated losses per private edge, each by all statistics together.")
    ] = "0.5,1,2,4",
    trust: Annotated[str, typer.Option(help="Comma-separated trust models, or all.")] = "all",
    statistic: Annotated[
        str | None, typer.Option("--statistic", "--statistics", help="Comma-separated, e.g. triangles,stars:3.")
    ] = None,
    target_error: Annotated[str, typer.Option(help="A mean relative error to reach, such as 5%.")] = "5%",
    delta: Annotated[str, typer.Option(help="What may be spent besides epsilon.")] = "0",
    sample_positions: Annotated[
        str, typer.Option(help="Position model: ask this share of the positions, drawn by a public coin.")
    ] = "1",
    work: Annotated[
        str | None, typer.Option(help="Position model: do this share of the counting of triangles and 4-cycles.")
    ] = None,
    more_public: Annotated[bool, typer.Option("--more-public", help="Show what making more public would buy.")] = False,
    downloads: Annotated[
        bool,
        typer.Option("--downloads", help="User triangles or 4-cycles: the error against what each user downloads."),
    ] = False,
    output: Annotated[Path | None, typer.Option(help="Write figures, JSON and CSV here.")] = None,
    as_json: common.JsonOption = False,
) -> None:
    """Predict the error of every trust model before anybody is asked, and which epsilon reaches a target."""
    from visibility_aware_edge_ldp.dataset import open_graph
    from visibility_aware_edge_ldp.evaluation.plan.assumed_graph import FAMILIES
    from visibility_aware_edge_ldp.evaluation.plan.planner import plan as predict
    from visibility_aware_edge_ldp.model import VisibilityAwareGraph
    from visibility_aware_edge_ldp.public.trust import TRUSTS
    from visibility_aware_edge_ldp.truth.policy_file import open_policy

    predicted = partial(
        predict,
        policy=open_policy(policy),
        scope=scope,
        attributes=attributes,
        consent_share=None if consent_share is None else _share(consent_share),
        epsilons=epsilons.split(","),
        statistics=statistic,
        target_error=_share(target_error),
        delta=delta,
        trust=tuple(TRUSTS) if trust == "all" else tuple(name.strip() for name in trust.split(",")),
        sample_positions=sample_positions,
        work=work,
    )
    like = family if family in FAMILIES or degrees is not None else open_graph(family)
    if groups is not None:
        if isinstance(like, str):
            raise BadInput("Groups are of people: name a graph like the one to be asked, with --graph FILE.")
        like = VisibilityAwareGraph(like).grouped(groups, attributes).whole
    everybody = None if degrees is None else _degrees(degrees)
    if not as_json:
        _say_need(nodes, edges, like, everybody, clustering, predicted, bool(more_public or output))
    found = predicted(
        nodes, edges, max_degree=max_degree, family=like, clustering=clustering, degrees=everybody
    )  # fmt: skip
    rows = _more_public(found) if more_public or output else []
    if as_json:
        told = {**found.as_dict(), "more_public": [row.as_dict() for row in rows]}
        common.print_json("plan", {**told, **({"downloads": _downloads_json(found)} if downloads else {})})
    else:
        _print(found, rows, output is not None)
        if downloads:
            _print_downloads(found)
    if output is not None:
        from visibility_aware_edge_ldp.presentation.result_files import write_plan

        for path in write_plan(found, output, rows):
            typer.echo(f"Wrote {path}", err=as_json)


def _say_need(
    nodes: int | None,
    edges: int | None,
    like: str | Graph,
    degrees: list[int] | None,
    clustering: float | None,
    predicted: Callable[..., Plan],
    publicity: bool,
) -> None:
    """Before a large plan: the memory, and the time, by plans of smaller graphs with the same questions."""
    from visibility_aware_edge_ldp.evaluation.plan.planner import seconds_of_plan
    from visibility_aware_edge_ldp.simulation.memory import planned, refuse
    from visibility_aware_edge_ldp.truth.synthetic import powerlaw

    if degrees is not None:
        nodes, edges = len(degrees), sum(degrees) // 2
    elif not isinstance(like, str):
        nodes, edges = like.n, like.m
    if nodes is None or edges is None or nodes < 2 or not 0 <= edges <= nodes * (nodes - 1) // 2:
        return  # the plan itself says what is wrong
    need = planned(nodes, edges)
    refuse(nodes, need, "Plan for a smaller graph of the same mean degree.")

    def make(few: int, some: int) -> None:
        found = (
            predicted(few, some, family=like if degrees is None else "powerlaw", clustering=clustering)
            if isinstance(like, str)
            else predicted(family=powerlaw(few, some, 1))
        )
        if publicity:
            _more_public(found, quiet=True)

    common.say_need(need.octets, seconds_of_plan(nodes, edges, isinstance(like, str), make))


def _more_public(found: Plan, quiet: bool = False) -> list[Publicity]:
    from visibility_aware_edge_ldp.evaluation.plan.scenarios import POLICIES
    from visibility_aware_edge_ldp.evaluation.plan.summary import focus
    from visibility_aware_edge_ldp.simulation.worlds import Steps

    (statistic, epsilon), models = focus(found), tuple(dict.fromkeys(row.trust for row in found.predictions))
    if quiet:
        return found.more_public(statistic, str(epsilon), models)
    with common.progress_bar("policies") as progress:
        return found.more_public(statistic, str(epsilon), models, Steps(progress, POLICIES))


def _print(found: Plan, rows: Sequence[Publicity], drawn: bool) -> None:
    """The answer, the tables, and what to try next."""
    import visibility_aware_edge_ldp.evaluation.plan.summary as summary

    typer.echo("\n".join(summary.opening(found)))
    _table(
        "Mean error (0.8 of the standard error), and the least standard error of any estimate from own bits:",
        summary.error_table(found),
    )
    typer.echo("\n".join(summary.legend(found)))
    for title, head, cells in _matrices(found):
        _table(title, (head, cells))
    _table(f"The smallest ε for {summary.percent(found.target_error or 0)}:", summary.target_table(found))
    _table("What it costs, for each who reports:", summary.cost_table(found))
    if found.splits:
        _table(f"How many times smaller each lever makes the error of {summary.focused(found)}:", _levers(found))
    if rows:
        _table(
            f"Standard error of {summary.focused(found, ' alone')}, as more becomes public:", summary.public_table(rows)
        )
    typer.echo("\nWhat to try next:")
    for step in summary.next_steps(found, bool(rows), drawn):
        typer.echo(f"- {step}")


def _downloads_json(found: Plan) -> list[dict[str, Any]]:
    """For each ε, errors against downloads, and the smallest one for the target."""
    told = []
    for epsilon in dict.fromkeys(row.epsilon for row in found.predictions):
        best = found.smallest_download(str(epsilon))
        rows = [row.as_dict() for row in found.downloads(str(epsilon))]
        told.append({"epsilon": epsilon, "rows": rows, "for_target": None if best is None else best.as_dict()})
    return told


def _print_downloads(found: Plan) -> None:
    """At the ε that the first lines are about."""
    from visibility_aware_edge_ldp.evaluation.plan.downloads import HEAD
    from visibility_aware_edge_ldp.evaluation.plan.summary import focus, percent
    from visibility_aware_edge_ldp.public.statistic import statistic

    epsilon, target = focus(found)[1], percent(found.target_error or 0)
    rows = [row.texts() for row in found.downloads(str(epsilon))]
    what = statistic(found.downloaded_for).label
    _table(f"USER {what} alone at ε = {epsilon:g}, by what each user downloads (--download):", (HEAD, rows))
    best = found.smallest_download(str(epsilon))
    typer.echo(
        f"No share of the first answers reaches {target}; all of them may, see above."
        if best is None
        else f"For {target} each user downloads {best.texts()[0]}, {best.texts()[1]} of the first answers."
    )


def _matrices(found: Plan) -> list[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]:
    """What each cell of a mixing or contact matrix will err by, at the ε that the first lines are about."""
    from visibility_aware_edge_ldp.evaluation.plan.summary import focus
    from visibility_aware_edge_ldp.presentation.group_files import matrix_tables

    told = found.as_dict()
    if "groups" not in told:
        return []
    rows = [row for row in told["predictions"] if "entries" in row and row["epsilon"] == focus(found)[1]]
    return [
        (f"{row['trust'].upper()} at ε = {row['epsilon']:g}, {title}:", head, cells)
        for row in rows
        for title, head, cells in matrix_tables(
            {"groups": told["groups"], "estimates": {row["statistic"]: row["entries"]}}
        )
    ]


def _levers(found: Plan) -> Table:
    from visibility_aware_edge_ldp.evaluation.gains import SPLIT_HEAD

    return SPLIT_HEAD, [each.texts() for each in found.splits]


def _table(title: str, table: Table) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable

    head, rows = table
    drawn = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for name in head:
        drawn.add_column(name, justify="left" if name in ("trust", "statistic", "public", "cheapest") else "right")
    for row in rows:
        drawn.add_row(*row)
    typer.echo(f"\n{title}")
    Console().print(drawn)


def _share(text: str) -> float:
    """ "5%" or "0.05"."""
    try:
        return float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        raise BadInput(f"A target error is a share such as 5% or 0.05; got {text!r}.") from None


def _degrees(path: Path) -> list[int]:
    """Whole numbers, apart by spaces, commas or new lines."""
    try:
        return [int(word) for word in path.read_text(encoding="utf-8").replace(",", " ").split()]
    except OSError as error:
        raise BadInput(f"The degrees in {path} cannot be read: {error.strerror or error}.") from error
    except ValueError:
        raise BadInput(f"{path} holds something else than whole numbers; write one degree for each node.") from None
