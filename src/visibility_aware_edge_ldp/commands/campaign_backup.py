"""``va-edge-ldp campaign backup``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visibility_aware_edge_ldp.commands.campaign import DirectoryArgument
from visibility_aware_edge_ldp.commands.common import JsonOption, print_json
from visibility_aware_edge_ldp.errors import BadInput


def backup(
    directory: DirectoryArgument,
    folder: Annotated[Path, typer.Argument(help="Where copies go; only you may read them.", show_default=False)],
    keep: Annotated[int, typer.Option(help="Remove all but the newest so many copies; 0 removes none.")] = 0,
    store: Annotated[Path | None, typer.Option(help="The store's file. Default: store.db in the directory.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Copy a campaign's SQLite store while its server runs; copies that hold reports go once these were erased.

    A store in PostgreSQL is copied with pg_dump.
    """
    from visibility_aware_edge_ldp.campaign.new import read_campaign
    from visibility_aware_edge_ldp.campaign.server.backup import back_up
    from visibility_aware_edge_ldp.campaign.server.opening import STORE

    if keep < 0:
        raise BadInput(f"--keep is a number of copies, or 0 for all; got {keep}.")
    made = back_up(store or directory / STORE, folder, read_campaign(directory).charter.identity, keep)
    if as_json:
        paths = {"removed": [str(path) for path in made.removed], "unread": [str(path) for path in made.unread]}
        print_json({"copy": str(made.copy) if made.copy else None, **paths})
    elif made.copy is not None:
        typer.echo(f"{made.copy}" + (f"; {len(made.removed)} older removed" if made.removed else ""))
    if made.copy is None:
        raise BadInput("The server is erasing the reports, so none are copied any more. Copy again when it has.")
    if made.unread:
        raise BadInput(f"{made.unread[0]} cannot be read, so it was left; see whether it holds reports, and remove it.")
