"""``va-edge-ldp campaign flagged``."""

from __future__ import annotations

from typing import Annotated

import typer

from visibility_aware_edge_ldp.commands.campaign import DirectoryArgument
from visibility_aware_edge_ldp.commands.common import JsonOption, print_json, print_table
from visibility_aware_edge_ldp.errors import BadInput


def flagged(
    directory: DirectoryArgument,
    store: Annotated[
        str, typer.Option(help="sqlite:///path or postgresql://…. Default: store.db in the directory.")
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """List the reports that hardly any honest participant sends, by name: for the operator, while reports are kept.

    Against peers also an honest one is listed, if enough of its peers lie about it. The answers say how many there are,
    and no more. This looks into the store, so stop the server first.
    """
    from visibility_aware_edge_ldp.aggregator.answers import number
    from visibility_aware_edge_ldp.campaign.new import read_campaign
    from visibility_aware_edge_ldp.campaign.questions import Questions
    from visibility_aware_edge_ldp.campaign.server.flagging import flagged_in
    from visibility_aware_edge_ldp.campaign.server.opening import STORE, default_store, open_store

    campaign = read_campaign(directory)
    if not store and not (directory / STORE).is_file():
        raise BadInput(f"{directory} has no store yet; serve it first, or name its store with --store.")
    opened = open_store(store or default_store(directory), campaign.charter.identity, len(campaign.charter.rounds))
    try:
        found = flagged_in(opened, Questions(campaign.charter, campaign.documents.view))
    finally:
        opened.close()
    names = campaign.documents.roster
    if as_json:
        print_json([{"name": names[each.participant], **each.as_dict()} for each in found])
    elif not found:
        typer.echo("No report is flagged.")
    else:
        rows = [
            (str(names[each.participant]), str(each.round), each.what, *map(number, (each.value, each.low, each.high)))
            for each in found
        ]
        print_table(
            "An honest report is listed at most once in a thousand million times; against honest peers, about so.",
            ("name", "round", "what", "number", "honest from", "to"),
            rows,
        )
