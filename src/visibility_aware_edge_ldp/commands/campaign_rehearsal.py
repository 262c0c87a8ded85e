"""``va-edge-ldp campaign rehearse``: a whole campaign on one machine, from a graph to a table of answers."""

from pathlib import Path
from typing import Annotated, Any

import typer

import visibility_aware_edge_ldp.commands.campaign_labels as labels
import visibility_aware_edge_ldp.commands.common as common
from visibility_aware_edge_ldp.errors import BadInput


def rehearse(
    graph: common.GraphArgument = None,
    question: labels.QuestionOption = "triangles",
    epsilon: labels.EpsilonOption = "1",
    statistics: common.StatisticsOption = None,
    rounds: labels.RoundsOption = None,
    policy: common.PolicyOption = "nothing",
    scope: common.ScopeOption = None,
    attributes: common.AttributesOption = None,
    groups: common.GroupsOption = None,
    absent: Annotated[str, typer.Option(help="The share of those asked who stay away in a round, such as 10%.")] = "0",
    consent_share: Annotated[
        str | None, typer.Option(help="Ask only about people who both consent, and let this share of all do so.")
    ] = None,
    share: common.ShareOption = "1",
    download: common.DownloadOption = None,
    processes: Annotated[
        int | None, typer.Option(help="How many processes act for the people. Default: two for each core.")
    ] = None,
    top: common.TopOption = None,
    columns: common.ColumnsOption = None,
    header: common.HeaderOption = None,
    delimiter: common.DelimiterOption = None,
    keep: Annotated[
        Path | None, typer.Option(help="Keep the campaign, its store and everybody's homes in this new directory.")
    ] = None,
    as_json: common.JsonOption = False,
) -> None:
    """Run a whole campaign here: the real server, the real participants' program, a graph that you hold."""
    from visibility_aware_edge_ldp.campaign.rehearsal import rehearse as run
    from visibility_aware_edge_ldp.campaign.rehearsal_processes import RehearsalFailed
    from visibility_aware_edge_ldp.model import VisibilityAwareGraph
    from visibility_aware_edge_ldp.truth.policy_file import open_policy, read_scope

    held = common.open_named(graph, top, as_json, columns=columns, header=header, delimiter=delimiter)
    world = VisibilityAwareGraph(held, open_policy(policy))
    world = world if groups is None else world.grouped(groups, attributes)
    asked = statistics.split(",") if statistics else ()
    with common.ending_in_order(), common.progress_bar(f"{world.graph.n:,} people enrol and answer") as progress:
        found = run(
            world, question, epsilon, asked, rounds, _share(absent), processes, keep, progress, _announce,
            scope=None if scope is None else read_scope(scope, attributes),
            consent_share=None if consent_share is None else _share(consent_share), share=share, download=download,
        )  # fmt: skip
    common.say_what_was_read(graph, held, as_json)
    if as_json:
        common.print_json("campaign-rehearse", {"graph": common.about(world.graph), **found.as_dict()})
    else:
        _print(world, found, keep)
    if not found.same:
        raise RehearsalFailed("The server's answers are not the ones that its reports give; this must never happen.")


def _announce(seconds: float) -> None:
    """How long it will take, before it does; rounded, for it is a guess from a few people."""
    typer.echo(f"This will take about {_span(seconds)} more.", err=True)


def _span(seconds: float) -> str:
    for unit, size in (("hours", 3_600), ("minutes", 60)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{max(seconds, 2):.0f} seconds"


def _print(world: Any, found: Any, keep: Path | None) -> None:
    from visibility_aware_edge_ldp.aggregator.answers import INSIDE, number

    inside = f" {INSIDE}" if found.answers["certificate"].get("scope") else ""
    common.print_table(
        f"{world.graph.source}: {found.charter.nodes:,} people, question {found.charter.question!r}, "
        f"ε = {found.charter.epsilon}",
        ("statistic", "truth", "estimate", "± s.e.", "95 % interval", "covers"),
        [
            (
                f"{each.statistic}{inside}",
                number(each.truth),
                number(each.estimate),
                "none" if each.standard_error is None else number(each.standard_error),
                f"[{number(each.low)}, {number(each.high)}]",
                "yes" if each.covered else "no",
            )
            for each in found.found
        ],
    )
    common.print_table(
        "Where the time went", ("what", "seconds"), [(name, f"{each:.2f}") for name, each in found.seconds.items()]
    )
    for line in labels.noise_lines({each.statistic: (each.estimate, each.standard_error) for each in found.found}):
        typer.echo(line)
    for place, each in enumerate(found.turnout, 1):
        typer.echo(f"Round {place}: {each.answered:,} of {each.asked:,} who are asked answered.")
    typer.echo(
        f"{found.reports_per_second:,.0f} reports a second by {found.processes} processes; each person sent "
        f"{found.sent:,.0f} bytes and received {found.received:,.0f}, without headers."
    )
    typer.echo(
        "The server's answers are, to the last bit, those that the same reports give when they are counted here."
        if found.same
        else "The server's answers differ from those that the same reports give when they are counted here."
    )
    if keep is not None:
        typer.echo(f"Everything is kept in {keep}, everybody's friend lists too.")


def _share(text: str) -> str:
    """10% as 0.1."""
    if not text.endswith("%"):
        return text
    try:
        return str(float(text[:-1]) / 100)
    except ValueError as error:
        raise BadInput(f"A share is written 0.1 or 10%; got {text!r}.") from error
