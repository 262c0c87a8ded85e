"""``va-edge-ldp campaign``: the next wave of a series, and what all its waves say together."""

import json
import time
from pathlib import Path
from typing import Annotated, Any

import typer

import visibility_aware_edge_ldp.commands.campaign_labels as labels
from visibility_aware_edge_ldp.commands.common import JsonOption, print_json, print_table
from visibility_aware_edge_ldp.errors import BadInput

_TITLES = {"edges_formed": "formed", "edges_ended": "ended", "edges_change": "net change"}


def wave(
    directory: labels.DirectoryArgument,
    after: Annotated[Path, typer.Option(help="The directory of the wave before: the first campaign, or a later wave.")],
    title: Annotated[str, typer.Option(help="What participants read.")],
    epsilon: Annotated[
        str | None,
        typer.Option(help="Wave 2: what a private edge's whole history loses by all waves after the first, together."),
    ] = None,
    changes: Annotated[
        int | None, typer.Option(help="Wave 2: how many changes of one edge are told in the whole series. Default: 1.")
    ] = None,
    closes: Annotated[str, typer.Option(help="When the round closes: a date (UTC), or a span from now.")] = "14d",
    fewest: Annotated[int, typer.Option(help="Below so many responders nothing is estimated.")] = 2,
    retention: Annotated[
        str | None, typer.Option(help="How long reports are kept after the estimate. Default: as the wave before.")
    ] = None,
    issuer_key_file: Annotated[
        Path | None, typer.Option("--issuer-key", help="The issuer.key. Default: that of the wave before.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write the directory of the campaign that asks the same people what has changed since another one.

    All waves after the first cost an edge one epsilon together, however many follow and however it changes.
    """
    from visibility_aware_edge_ldp.campaign.directory import KEY, read_campaign
    from visibility_aware_edge_ldp.campaign.series import new_wave
    from visibility_aware_edge_ldp.campaign.terms import Terms

    key_file = issuer_key_file or after / KEY
    charter = new_wave(
        directory,
        after,
        title=title,
        closes=labels.moment(closes, time.time()),
        fewest=fewest,
        epsilon=epsilon,
        changes=changes,
        retention=None if retention is None else labels.span(retention),
        key=labels.issuer_key(key_file),
        key_file=key_file,
    )
    view = read_campaign(directory).documents.view
    losses = {kind: loss for kind, loss in Terms(charter, view).losses.items() if kind in view.present}
    told = charter.wave
    if as_json:
        costs = {str(kind): str(loss) for kind, loss in losses.items()}
        about = {"wave": None if told is None else told.content, "directory": str(directory), "loss": costs}
        print_json("campaign-wave", {**labels.campaign_facts(charter), **about})
        return
    lines = [*labels.head_lines(charter), *labels.promise_lines(losses)]
    if told is not None:
        lines.append(
            f"Wave       {told.number} of the series that began with {told.first[:12]}: the promise is of all waves "
            f"after the first together, which tell each edge's changes at most {told.changes} "
            f"{'time' if told.changes == 1 else 'times'}"
        )
    typer.echo("\n".join([*lines, *_price_lines(view, charter, losses, after)]))


def _price_lines(view: Any, charter: Any, losses: Any, after: Path) -> list[str]:
    """How exact a wave will be, and what a participant's program says of the price."""
    from visibility_aware_edge_ldp.aggregator.answers import number
    from visibility_aware_edge_ldp.campaign.directory import read_campaign
    from visibility_aware_edge_ldp.campaign.participant.accounts import number as loss_text
    from visibility_aware_edge_ldp.campaign.terms import Terms

    survey, before = Terms(charter, view).survey, read_campaign(after)
    noise = sum(float(survey.mechanism(kind).channel.variance(0)) * view.inside_sizes[kind] for kind in losses)
    lines = [
        f"Errors     edges formed ± {number(noise**0.5)} and edges ended ± {number(noise**0.5)} between two waves, net "
        f"change ± {number((2 * noise) ** 0.5)}, if all answer"
    ]
    if before.charter.wave is not None:
        return lines
    first = Terms(before.charter, before.documents.view).losses
    total = {kind: first[kind] + loss for kind, loss in losses.items()}
    lines += [
        f"Lifetime   a {kind} edge's whole history loses at most ε = {loss_text(loss)} by all waves"
        for kind, loss in total.items()
    ]
    return [*lines, *labels.dear_lines(total)]


def changes(
    answers: Annotated[
        list[Path], typer.Argument(help="What `campaign estimate --json` printed for each wave.", show_default=False)
    ],
    start: Annotated[int, typer.Option("--from", help="From which wave changes are counted.")] = 1,
    end: Annotated[int | None, typer.Option("--to", help="To which wave. Default: the last.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Print how many edges there were at each wave, and what formed and ended between two of them."""
    from visibility_aware_edge_ldp.campaign.series import Series

    series = Series.of([_read(path) for path in answers])
    levels, last = series.levels, len(series.waves) + 1 if end is None else end
    found = series.between(start, last)
    if as_json:
        content = {
            "edges": [each.as_dict() for each in levels],
            "from": start,
            "to": last,
            "changes": {name: each.as_dict() for name, each in found.items()},
        }
        print_json("campaign-changes", content)
        return
    head = ("statistic", "estimate", "± s.e.", "95 % interval")
    rows = [labels.answer_row(f"edges at wave {number}", each.as_dict()) for number, each in enumerate(levels, 1)]
    rows += [
        labels.answer_row(f"{_TITLES[name]}, wave {start} to {last}", each.as_dict()) for name, each in found.items()
    ]
    print_table("What changed between waves", head, rows)
    typer.echo("What the first wave erred by is in every number of edges, and in no change.")


def _read(path: Path) -> dict[str, object]:
    try:
        found = json.loads(labels.read_text(path, "answers"))
    except ValueError as error:
        raise BadInput(f"{path} is not JSON: {error}.") from error
    if not isinstance(found, dict):
        raise BadInput(f"{path} does not hold a campaign's answers.")
    return found
