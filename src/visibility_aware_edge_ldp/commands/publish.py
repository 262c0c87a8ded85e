"""``va-edge-ldp publish``."""

from pathlib import Path
from typing import Annotated, Any

import typer

from visibility_aware_edge_ldp.commands import common
from visibility_aware_edge_ldp.errors import BadInput


def publish(
    graph: common.GraphArgument = None,
    budget: Annotated[
        Path | None, typer.Option(help="The centre's budget, a private file: one for each graph, never an old copy.")
    ] = None,
    release: Annotated[Path | None, typer.Option(help="The file to write: only this may leave the centre.")] = None,
    epsilon: Annotated[str, typer.Option(help="Loss per private edge, by all statistics of this release.")] = "1",
    delta: Annotated[str, typer.Option(help="0 is pure; above 0 Laplace noise is drawn.")] = "0",
    total: Annotated[
        str | None, typer.Option(help="For a new budget: the ε that an edge may ever lose by all releases.")
    ] = None,
    total_delta: Annotated[str | None, typer.Option(help="For a new budget: the same of δ. Default: 0.")] = None,
    policy: common.PolicyOption = "nothing",
    statistics: common.StatisticsOption = None,
    top: common.TopOption = None,
    columns: common.ColumnsOption = None,
    header: common.HeaderOption = None,
    delimiter: common.DelimiterOption = None,
    status: Annotated[bool, typer.Option("--status", help="Only show what the budget says.")] = False,
    as_json: common.JsonOption = False,
) -> None:
    """Answer as a trusted centre, charge a budget, and write estimates with intervals that may be published."""
    from visibility_aware_edge_ldp.simulation import publishing
    from visibility_aware_edge_ldp.truth.policy_file import open_policy

    if budget is None:
        raise BadInput("Every release is charged to a budget; say which file with --budget, such as budget.ledger.")
    if status:
        _show(publishing.spending(budget), budget, as_json)
        return
    if release is None:
        raise BadInput("Say where the release is to be written with --release, such as release.json.")
    held = common.open_named(graph, top, as_json, columns=columns, header=header, delimiter=delimiter)
    made = publishing.publish(
        held, release, budget, epsilon, statistics, delta=delta, total=total, total_delta=total_delta,
        policy=open_policy(policy),
    )  # fmt: skip
    common.say_what_was_read(graph, held, as_json)
    if as_json:
        common.print_json(
            "publish", {"release": made.document, "repeated": made.repeated, "budget": _budget(made.spending)}
        )
        return
    common.print_table(
        f"Released: {held.n:,} nodes; ε = {epsilon} for all statistics together",
        ("statistic", "estimate", "± s.e.", "95 % interval"),
        [_row(name, found) for name, found in made.document["estimates"].items()],
    )
    if made.repeated:
        typer.echo("This was released before: the same numbers were written again, and nothing more was spent.")
    typer.echo(
        f"Wrote {release}: only this file may leave the centre. An interval holds the true value in at least 95 of 100 "
        f"such releases.\n{_left(made.spending)}"
    )


def _row(name: str, found: Any) -> tuple[str, str, str, str]:
    from visibility_aware_edge_ldp.aggregator.answers import number

    error = found["standard_error"]
    interval = f"[{number(found['low'])}, {number(found['high'])}]"
    return name, number(found["value"]), "none" if error is None else number(error), interval


def _left(spending: Any) -> str:
    (epsilon, delta), total = map(float, spending.left), float(spending.epsilon)
    deltas = f", δ = {delta:.6g} of {float(spending.delta):.6g}" if spending.delta else ""
    return f"Left in the budget: ε = {epsilon:.6g} of {total:.6g}{deltas}."


def _show(spending: Any, budget: Path, as_json: bool) -> None:
    """What a budget says: all that was reserved, and what is left."""
    if as_json:
        common.print_json("publish", {"release": None, "repeated": False, "budget": _budget(spending)})
        return
    rows = [
        (
            ", ".join(each.statistics), f"{float(each.epsilon):.6g}", f"{float(each.delta):.6g}",
            "written" if each.settled else "stored, not written" if each.released else "reserved, not stored",
        )
        for each in spending.charges
    ]  # fmt: skip
    common.print_table(str(budget), ("statistic", "ε", "δ", "release"), rows)
    typer.echo(_left(spending))


def _budget(spending: Any) -> dict[str, Any]:
    epsilon, delta = map(float, spending.left)
    return {
        "total": {"epsilon": float(spending.epsilon), "delta": float(spending.delta)},
        "left": {"epsilon": epsilon, "delta": delta},
        "requests": [
            {
                "statistics": list(each.statistics), "epsilon": float(each.epsilon), "delta": float(each.delta),
                "stored": each.released, "written": each.settled,
            }
            for each in spending.charges
        ],
    }  # fmt: skip
