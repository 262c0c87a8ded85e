"""``va-edge-ldp campaign``: how a participant goes on from another device."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from visibility_aware_edge_ldp.commands.campaign_participant import HomeOption, default_home, enrolled_home
from visibility_aware_edge_ldp.commands.common import JsonOption, print_json


def device_code(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """On a new device: print the code that your old device hands its ledger over to."""
    from visibility_aware_edge_ldp.campaign.participant.handover import new_device

    code = new_device(home or default_home())
    if as_json:
        print_json("campaign-device-code", {"code": code})
    else:
        typer.echo(f"{code}\nOn your old device: va-edge-ldp campaign hand-over FILE --to {code}")


def hand_over(
    file: Annotated[Path, typer.Argument(help="A new file, for the new device alone to read.", show_default=False)],
    to: Annotated[str, typer.Option(help="The code that the new device shows.")],
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """On your old device: retire its ledger for good, and write it to a file for the new one."""
    from visibility_aware_edge_ldp.campaign.participant import handover

    head = handover.hand_over(enrolled_home(home), to.strip(), file)
    if as_json:
        print_json("campaign-hand-over", {"file": str(file), "ledger": head})
    else:
        typer.echo(
            f"This device answers nothing any more. Bring {file} to the new one and type there: va-edge-ldp campaign "
            f"take-over {shlex.quote(str(file))}\nIf others may get at this device or a copy of it, ask the issuer for "
            f"a new token, and say: {head}"
        )


def take_over(
    file: Annotated[Path, typer.Argument(help="What the old device wrote.", show_default=False)],
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """On your new device: go on with the ledger of the old one; then enrol again in its campaigns."""
    from visibility_aware_edge_ldp.campaign.participant import handover

    head = handover.take_over(home or default_home(), file)
    if as_json:
        print_json("campaign-take-over", {"ledger": head})
    else:
        typer.echo("This device goes on with the ledger. Enrol again in each campaign, then answer from here.")
