"""``va-edge-ldp``: the command line."""

from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import visibility_aware_edge_ldp.commands.campaign as campaigns
import visibility_aware_edge_ldp.commands.campaign_console as consoles
import visibility_aware_edge_ldp.commands.campaign_device as devices
import visibility_aware_edge_ldp.commands.campaign_operator as operators
import visibility_aware_edge_ldp.commands.campaign_participant as people
import visibility_aware_edge_ldp.commands.campaign_waves as waves
from visibility_aware_edge_ldp import __version__
from visibility_aware_edge_ldp.commands.audit import audit
from visibility_aware_edge_ldp.commands.campaign_rehearsal import rehearse
from visibility_aware_edge_ldp.commands.common import START, load_plugin, use_plain_characters
from visibility_aware_edge_ldp.commands.compare import compare
from visibility_aware_edge_ldp.commands.datasets import fetch_dataset, list_datasets
from visibility_aware_edge_ldp.commands.ego_survey import ego_survey
from visibility_aware_edge_ldp.commands.estimate import estimate
from visibility_aware_edge_ldp.commands.estimate_streamed import estimate_streamed
from visibility_aware_edge_ldp.commands.plan import plan
from visibility_aware_edge_ldp.commands.publish import publish
from visibility_aware_edge_ldp.commands.reproduce import reproduce
from visibility_aware_edge_ldp.errors import VaEdgeLdpError


class WholeSentences(TyperGroup):
    """Lists its commands with all of their first sentence, on more than one line where it is long."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Called for ``--help``."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, each.get_short_help_str(limit=1000)) for name, each in self.commands.items()])


# Help is plain text: rich would take longer to load than all the rest, and is kept for tables.
app = typer.Typer(
    cls=WholeSentences,
    rich_markup_mode=None,
    help="Private statistics on graphs whose edges are not all equally secret.",
    epilog=START,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
datasets = typer.Typer(
    cls=WholeSentences, help="Known graphs: where they are, and how to get them.", no_args_is_help=True
)
campaign = typer.Typer(
    cls=WholeSentences,
    help="A real collection: people answer from their own devices, and a server counts.",
    no_args_is_help=True,
)
app.add_typer(campaign, name="campaign")
app.add_typer(datasets, name="datasets")
COMMANDS: dict[typer.Typer, tuple[Callable[..., None], ...]] = {
    app: (estimate, estimate_streamed, publish, compare, plan, ego_survey, audit, reproduce),
    campaign: (
        *(campaigns.new, campaigns.serve, people.enroll, people.consent, people.answer, people.status, people.check),
        *(devices.device_code, devices.hand_over, devices.take_over),
        *(campaigns.close, campaigns.estimate, campaigns.flagged, campaigns.backup, rehearse),
        *(operators.amend, operators.submit, operators.unanswered, operators.log, consoles.console),
        *(waves.wave, waves.changes),
    ),
}
for group, commands in COMMANDS.items():
    for each in commands:
        group.command()(each)
datasets.command("list")(list_datasets)
datasets.command("fetch")(fetch_dataset)


@app.callback(invoke_without_command=True)
def front(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    plugin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODULE",
            help="Before the command: load a module or a .py file that registers a statistic, a mechanism or a "
            "protocol. Its code runs as yours. May be repeated.",
        ),
    ] = None,
) -> None:
    """Private statistics on graphs whose edges are not all equally secret."""
    for named in plugin or ():
        load_plugin(named)
    if version:
        typer.echo(f"va-edge-ldp {__version__}")
        raise typer.Exit


def main() -> None:
    """The entry point: our errors are sentences, not tracebacks."""
    use_plain_characters()
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
