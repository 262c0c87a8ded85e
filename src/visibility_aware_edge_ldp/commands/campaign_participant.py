"""``va-edge-ldp campaign``: what a participant does on its own device."""

import os
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from visibility_aware_edge_ldp.commands import campaign_check
from visibility_aware_edge_ldp.commands.campaign_labels import read_text, too_dear_lines
from visibility_aware_edge_ldp.commands.campaign_operator import server_status
from visibility_aware_edge_ldp.commands.common import JsonOption, print_json
from visibility_aware_edge_ldp.errors import BadInput

HomeOption = Annotated[
    Path | None,
    typer.Option(
        "--home",
        help="Where your campaigns and your ledger are kept; one place for all campaigns, for ever. Default: "
        "VA_EDGE_LDP_HOME, or a folder for your own data such as ~/.local/share/va-edge-ldp.",
    ),
]
CampaignOption = Annotated[
    str | None, typer.Option(help="The beginning of the campaign's identity, where you are enrolled in several.")
]
CLASSES = ("PRIVATE", "FRIEND_VISIBLE")
# How many seconds a server is tried for when nothing is lost by coming back later.
SHORTLY = 30.0


def enroll(
    url: Annotated[str, typer.Argument(help="The server's address.", show_default=False)],
    name: Annotated[str, typer.Option(help="Your name in the roster.")],
    token_file: Annotated[Path, typer.Option(help="A file with your token, or - for standard input.")],
    issuer: Annotated[str, typer.Option(help="The issuer's fingerprint, from a source that the server cannot change.")],
    home: HomeOption = None,
    cap: Annotated[
        list[str] | None,
        typer.Option(
            help="The most an edge may lose in one epoch: a number, or PRIVATE=1 and FRIEND_VISIBLE=2; "
            "a class that is not named keeps its cap."
        ),
    ] = None,
    lifetime_cap: Annotated[
        list[str] | None,
        typer.Option(help="The most an edge may lose in all epochs together, as --cap; by default four times that."),
    ] = None,
    new_epoch: Annotated[
        bool, typer.Option("--new-epoch", help="Agree to another data epoch: your list is of another time.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Check a campaign and keep it on your own disk; nothing is answered yet."""
    from visibility_aware_edge_ldp.campaign.participant import program
    from visibility_aware_edge_ldp.campaign.participant.comparison import charters_line, shown

    token = (sys.stdin.read() if str(token_file) == "-" else read_text(token_file, "token")).strip()
    place = home or default_home()
    around, whole = _patient(SHORTLY), _caps(lifetime_cap)
    found = program.enroll(url, name, token, issuer.strip(), place, _caps(cap), new_epoch, around, whole)
    caps, view = program.allowed(place), found.context.view
    losses = {kind: loss for kind, loss in found.context.terms.losses.items() if kind in view.present}
    seen = shown(place, found.identity)
    if as_json:
        about = {"campaign": found.identity, "title": found.charter.title, "home": str(place)}
        charters = 0 if seen is None else len(seen.log.entries)
        print_json("campaign-enroll", {**about, "loss": _texts(losses), "caps": _texts(caps), "charters": charters})
        return
    where = f" --home {shlex.quote(str(home))}" if home else ""
    if found.charter.consent:
        typer.echo(f"It asks only about people who both consent. Say so: va-edge-ldp campaign consent{where}")
    typer.echo(
        f"You are enrolled in {found.charter.title!r} ({found.identity[:12]}). The issuer's signature, the documents "
        "and every number of the noise were checked here, and the server took your token.\n"
        f"Answer with: va-edge-ldp campaign answer --friends FILE{where}"
    )
    if cap:
        typer.echo(_allowed(caps))
    for line in [*too_dear_lines(losses, caps), charters_line(seen, found.charter)]:
        typer.echo(line)


def consent(
    campaign: CampaignOption = None,
    home: HomeOption = None,
    withdraw: Annotated[bool, typer.Option("--withdraw", help="Do not consent any more.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Agree to what is shown.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Consent in a campaign that asks only about people who both do; you may take it back until the list stands.

    Nothing is answered yet, and no list of friends is read.
    """
    from visibility_aware_edge_ldp.campaign.participant import consenting

    def agree(lines: list[str]) -> bool:
        typer.echo("\n".join(lines), err=as_json)
        try:
            return yes or typer.confirm("Consent no more?" if withdraw else "Consent?", err=as_json)
        except typer.Abort:
            typer.echo(err=as_json)
            return False

    found = consenting.consent(home or default_home(), agree, campaign, not withdraw, _patient())
    if as_json:
        print_json("campaign-consent", {"campaign": found.identity, "consents": not withdraw})
    else:
        typer.echo("The server knows that you do not consent." if withdraw else "The server knows that you consent.")


def answer(
    friends: Annotated[
        str | None,
        typer.Option(help="Your friends, one name a line, or - for standard input; a hub gives the edges it sees."),
    ] = None,
    campaign: CampaignOption = None,
    home: HomeOption = None,
    yes: Annotated[bool, typer.Option("--yes", help="Agree to what is asked and to what it costs.")] = False,
    leave_out_unknown: Annotated[
        bool, typer.Option("--leave-out-unknown", help="Answer though the roster does not know some names of the list.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say how the list is understood; nothing is answered or sent.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Answer the round that is open, once; shows first what is asked and what it costs, and asks you.

    Exit code 4 if you or your ledger decline, 3 if the server breaks the protocol, 5 if it is not reached: what was
    answered is then kept, and sent when you come again.
    """
    from visibility_aware_edge_ldp.campaign.participant import friend_lists, program

    given: friend_lists.Source = friends if friends is not None else _no_list
    place = home or default_home()
    if dry_run:
        lines = program.looked_at(given, place, campaign)
        if as_json:
            print_json("campaign-answer-dry-run", {"understood": lines})
        else:
            typer.echo("\n".join([*lines, "Nothing was answered or sent."]))
        return
    if friends == "-" and not yes:
        raise BadInput("Standard input is your friend list, so you cannot be asked there; look first, then add --yes.")
    if friends == "-":
        given = friend_lists.from_input()
    if friends is not None and not leave_out_unknown and (friends == "-" or Path(friends).is_file()):
        program.refuse_unknown(given, place, campaign)

    def consent(lines: list[str]) -> bool:
        if friends is None:
            _no_list()
        elif friends != "-" and (not Path(friends).exists() or Path(friends).is_dir()):
            raise BadInput(f"There is no friend list at {friends}; give a file, or - for standard input.")
        typer.echo("\n".join(lines), err=as_json)
        try:
            return yes or typer.confirm("Answer?", err=as_json)
        except typer.Abort:  # Ctrl-C, or no more input, is no agreement
            typer.echo(err=as_json)
            return False

    def say(line: str) -> None:
        typer.echo(line, err=as_json)

    outcome = program.answer(given, place, consent, campaign, say, _patient())
    if outcome.again:
        say(f"Round {outcome.round} was answered before: the same answer was sent again, and no list was read.")
    if as_json:
        receipt = None if outcome.receipt is None else vars(outcome.receipt)
        said = {"campaign": outcome.campaign, "round": outcome.round, "again": outcome.again}
        print_json("campaign-answer", {**said, "receipt": receipt})
    elif outcome.receipt is not None:
        typer.echo(f"Stored by the server: round {outcome.round}, receipt for {outcome.receipt.digest[:16]}.")


def check(
    campaign: CampaignOption = None,
    home: HomeOption = None,
    export: campaign_check.ExportOption = None,
    compare: campaign_check.CompareOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check that your own report is in the frozen set, unchanged, and that the server says to all what it said before.

    Exit code 3 if one that was acknowledged is not, if the server or the issuer's log contradicts what was seen before,
    or what another was shown; 2 if a report that was never acknowledged is not in its set, or none is so far. The
    server that you enrolled at is asked. If it has moved, enrol again at its new address first.
    """
    from visibility_aware_edge_ldp.campaign.participant import server_checks as checks

    own = enrolled_home(home)
    found = checks.check(own, campaign, _patient(SHORTLY))
    same = campaign_check.exchange(own, campaign, export, compare)
    if as_json:
        print_json("campaign-check", {"reports": [vars(each) for each in found], "compared": same})
    else:
        typer.echo("\n".join([*campaign_check.check_lines(found, own, campaign), *([same] if same else [])]))
    standings = {each.standing for each in found}
    if checks.LEFT_OUT in standings:
        raise BadInput("A report of yours was not counted; the server had never acknowledged it.")
    if checks.INCLUDED not in standings:
        raise BadInput("No report of yours is in a frozen set so far.")


def status(
    place: Annotated[
        str | None,
        typer.Argument(help="A server's address or a campaign's directory. Default: what you answered yourself."),
    ] = None,
    home: HomeOption = None,
    export: campaign_check.ExportOption = None,
    as_json: JsonOption = False,
) -> None:
    """How a campaign stands, or what you have answered and what that has cost.

    With --export, what a server shows to anybody is written to a file, for participants to compare with.
    """
    if place is not None:
        server_status(place, as_json)
        if export is not None:
            campaign_check.observe(place, export)
        return
    if export is not None:
        raise BadInput("Name the server whose statements are to be written, or use `campaign check --export`.")
    from visibility_aware_edge_ldp.campaign.participant import server_checks as checks

    own = enrolled_home(home)
    found, others, retired = checks.status(own), checks.of_other_versions(own), _is_retired(own)
    if as_json:
        of_others = ({"campaign": each, "other_version": True} for each in others)
        print_json("campaign-own-status", {"campaigns": [*map(_plain, found), *of_others], "retired": retired})
        return
    for each in found:
        typer.echo("\n".join(_standing(each)))
    for campaign in others:
        typer.echo(f"{campaign[:12]} is of another version of this program; what it has cost still counts.")
    if retired:
        typer.echo("The ledger was handed over to another device: nothing is answered from here any more.")


def _is_retired(home: Path) -> bool:
    from visibility_aware_edge_ldp.campaign.participant.enrolment import LEDGER
    from visibility_aware_edge_ldp.campaign.participant.ledger import Ledger

    with Ledger(home / LEDGER).reading() as page:
        return bool(page.retired_for)


def _patient(seconds: float | None = None) -> Any:
    """Surroundings that say when a server is tried again; for so long, or as long as an answer is worth."""
    from visibility_aware_edge_ldp.campaign.http_client import Patience
    from visibility_aware_edge_ldp.campaign.participant.enrolment import Surroundings

    patience = Patience(tell=lambda text: typer.echo(text, err=True))
    return Surroundings(patience=patience if seconds is None else replace(patience, total=seconds))


def enrolled_home(home: Path | None) -> Path:
    from visibility_aware_edge_ldp.campaign.participant.enrolment import LEDGER

    own = home or default_home()
    if not (own / LEDGER).exists():
        raise BadInput(f"You are not enrolled in anything at {own}; name the place with --home, or enrol first.")
    return own


def default_home() -> Path:
    """Where this person's ledger is kept; never a cache, which may be emptied."""
    if explicit := os.environ.get("VA_EDGE_LDP_HOME"):
        return Path(explicit)
    if explicit := os.environ.get("XDG_DATA_HOME"):
        return Path(explicit) / "va-edge-ldp"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "va-edge-ldp"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "va-edge-ldp"
    return Path.home() / ".local" / "share" / "va-edge-ldp"


def _no_list() -> list[object]:
    raise BadInput("Your friend list is needed for this answer; give it with --friends FILE, or - for standard input.")


def _caps(given: list[str] | None) -> dict[Any, str] | None:
    """Caps by class; a plain number is for both."""
    from visibility_aware_edge_ldp.public.visibility import Visibility

    if not given:
        return None
    found: dict[Any, str] = {}
    for text in given:
        kind, said, value = text.rpartition("=")
        named = kind.strip().upper().replace("-", "_")
        if said and named not in CLASSES:
            raise BadInput(f"A cap is a number, or {'=…, '.join(CLASSES)}=…; got {text!r}.")
        for each in [named] if said else CLASSES:
            found[Visibility[each]] = value.strip()
    return found


def _allowed(caps: Any) -> str:
    from visibility_aware_edge_ldp.campaign.participant.accounts import cap

    each = ", ".join(f"ε = {cap(value)} for a {kind} edge" for kind, value in caps.items())
    return f"Allowed from now on, in one epoch: {each}."


def _standing(found: Any) -> list[str]:
    from visibility_aware_edge_ldp.campaign.participant.accounts import cap, number

    said = dict.fromkeys(range(1, found.rounds + 1), "nothing is asked of you")
    said |= dict.fromkeys(found.asked, "not answered")
    said |= dict.fromkeys(found.answered, "answered, not acknowledged yet")
    said |= dict.fromkeys(found.acknowledged, "answered and acknowledged")
    return [
        f"{found.title} ({found.campaign[:12]}), {found.question}, about {found.epoch!r}",
        *(f"  round {each}: {words}" for each, words in said.items()),
        *(
            f"  a {kind} edge has lost up to ε = {number(lost)} of {cap(found.caps[kind])} in this epoch"
            for kind, lost in found.lost.items()
        ),
    ]


def _plain(found: Any) -> dict[str, Any]:
    rounds = {name: list(getattr(found, name)) for name in ("asked", "answered", "acknowledged")}
    return {**vars(found), "lost": _texts(found.lost), "caps": _texts(found.caps), **rounds}


def _texts(values: Any) -> dict[str, str]:
    return {str(kind): str(value) for kind, value in values.items()}
