"""``va-edge-ldp campaign console``: studies made and run in a browser."""

from pathlib import Path
from typing import Annotated

import typer

from visibility_aware_edge_ldp.commands.common import JsonOption, print_json
from visibility_aware_edge_ldp.errors import BadInput


def console(
    folder: Annotated[
        Path, typer.Argument(help="Where the console keeps its studies; made if it is new.", show_default=False)
    ],
    address: Annotated[
        str, typer.Option(help="Where browsers reach the console, if a proxy with TLS stands before it: https://….")
    ] = "",
    server: Annotated[
        str, typer.Option(help="Where participants reach a study's server; new drafts begin with it: https://….")
    ] = "",
    host: Annotated[str, typer.Option(help="Where to listen; behind a proxy, leave it as it is.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 takes any that is free.")] = 8640,
    first_port: Annotated[
        int, typer.Option(help="Where the first study's server listens; the next ones follow.")
    ] = 8000,
    store: Annotated[str, typer.Option(help="postgresql://…, for all studies. Default: a SQLite file for each.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Run the operator's console: upload people, sign, print letters, see who is away, close, download results.

    It holds the issuer's key, sealed with a passphrase. It listens on this machine alone.
    """
    from visibility_aware_edge_ldp.campaign.console.draft_page import InjectedFunctions
    from visibility_aware_edge_ldp.campaign.console.running import run_console
    from visibility_aware_edge_ldp.campaign.server.telemetry import log_to_stderr
    from visibility_aware_edge_ldp.commands.campaign_labels import dear_lines
    from visibility_aware_edge_ldp.evaluation.plan.predictions import feasibility
    from visibility_aware_edge_ldp.name_matching import alike

    if store and not store.startswith(("postgresql://", "postgres://")):
        raise BadInput("Several studies share a store in PostgreSQL alone: postgresql://…, or leave --store out.")
    for number in (port, first_port):
        if not 0 <= number <= 65_535:
            raise BadInput(f"A port is a number from 0 to 65535; got {number}.")

    def ready(own: str, code: str) -> None:
        if as_json:
            print_json("campaign-console", {"address": own, "setup_code": code}, line=True)
            return
        typer.echo(f"The console is at {own}. Stop it with Ctrl-C.")
        if code:
            typer.echo(f"Set it up there with this code: {code}")

    log_to_stderr()
    injected = InjectedFunctions(feasibility, alike, dear_lines)
    run_console(
        folder,
        injected,
        host=host,
        port=port,
        address=address,
        server=server,
        first_port=first_port,
        store=store,
        ready=ready,
    )
