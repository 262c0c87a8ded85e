"""``va-edge-ldp campaign``: what is amended in a running campaign, who has not answered, and what operators did."""

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import visibility_aware_edge_ldp.commands.campaign_labels as labels
from visibility_aware_edge_ldp.commands.common import JsonOption, print_json
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.campaign.amendments import Amended, Person
    from visibility_aware_edge_ldp.campaign.charter import Charter
    from visibility_aware_edge_ldp.campaign.directory import Campaign
    from visibility_aware_edge_ldp.campaign.http_client import Operator

_ONE = "Say one of --replace-token NAME, --device NAME --ledger HASH, --withdraw NAME or --extend ROUND=WHEN."


def amend(
    directory: labels.DirectoryArgument,
    replace_token: Annotated[str | None, typer.Option(help="Whose lost token gets another in its place.")] = None,
    device: Annotated[str | None, typer.Option(help="Who has handed a ledger over to another device.")] = None,
    ledger: Annotated[
        str | None, typer.Option(help="With --device: the hash that `campaign hand-over` printed.")
    ] = None,
    withdraw: Annotated[str | None, typer.Option(help="Who withdraws.")] = None,
    extend: Annotated[
        str | None, typer.Option(help="Which round closes later, and when: 1=2027-03-31 or 1=7d.")
    ] = None,
    issuer_key_file: Annotated[
        Path | None, typer.Option("--issuer-key", help="The issuer.key. Default: the directory's.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Sign an amendment of a running campaign, where the issuer's key is; it is in force once it is handed in.

    It is written to the directory's folder "amendments", with the new token beside it where there is one.
    """
    from visibility_aware_edge_ldp.campaign.amendments import SignedAmendment, signed_by
    from visibility_aware_edge_ldp.campaign.directory import AMENDMENTS, KEY, read_campaign
    from visibility_aware_edge_ldp.campaign.signed_documents import new_token, token_hash, write_new

    chosen = [name for name in (replace_token, device, withdraw, extend) if name is not None]
    if len(chosen) != 1 or (device is None) != (ledger is None):
        raise BadInput(_ONE)
    campaign, folder = read_campaign(directory), directory / AMENDMENTS
    key = signed_by(labels.issuer_key(issuer_key_file or directory / KEY), campaign.charter)
    amended, token, person = _signed_before(campaign, folder), new_token(), None
    if extend is not None:
        draft = amended.next("deadline", **_deadline(extend))
    else:
        person = _person(campaign, chosen[0])
        kind = "withdrawal" if withdraw is not None else "token" if device is None else "device"
        says = {} if withdraw is not None else {"token": token_hash(token)}
        says |= {} if ledger is None else {"ledger": ledger.strip()}
        draft = amended.next(kind, person=person.hidden(campaign.charter.identity), **says)
    signed = SignedAmendment.of(draft, key, person)
    amended.after(signed)
    folder.mkdir(mode=0o700, exist_ok=True)
    file, secret = folder / f"{draft.number:04}.json", folder / f"{draft.number:04}.token"
    if draft.token:  # first: an amendment without its token would shut somebody out
        secret.unlink(missing_ok=True)
        write_new(secret, token.encode(), 0o600)
    write_new(file, signed.data, 0o600)
    facts = {"number": draft.number, "kind": draft.kind, "digest": draft.digest, "file": str(file)}
    if as_json:
        print_json("campaign-amend", {**facts, "token_file": str(secret) if draft.token else None})
        return
    lines = [f"Amendment {draft.number} ({draft.kind}) is signed: {file}", *_what_follows(draft.kind, secret)]
    typer.echo("\n".join([*lines, f"Hand it in: va-edge-ldp campaign submit PLACE {file}"]))


def submit(
    place: labels.PlaceArgument,
    file: Annotated[Path, typer.Argument(help="A signed amendment.", show_default=False)],
    token_file: labels.TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Hand a signed amendment to a campaign's server; it may be handed in again."""
    from visibility_aware_edge_ldp.campaign.amendments import Amended

    try:
        data = file.read_bytes()
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {error.strerror}.") from error
    operator = _operator(place, token_file, "hands amendments in")
    reply = operator.ask("POST", "/v1/amendments", data)
    amended = Amended.from_bytes(operator.charter(), reply.body)
    facts = {"new": reply.status == 201, **amendment_facts(amended)}
    if as_json:
        print_json("campaign-submit", facts)
        return
    typer.echo("It is in force." if facts["new"] else "It was in force already.")
    typer.echo("\n".join(amendment_lines(amended)))


def unanswered(
    place: labels.PlaceArgument,
    number: Annotated[int, typer.Option("--round", help="Which round.")] = 1,
    table: Annotated[Path | None, typer.Option("--csv", help="Write the names to this new file.")] = None,
    token_file: labels.TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Who is asked in a round and has not answered it: for reminders. What anybody answered is never said.

    People who have withdrawn are not listed. That somebody looked is noted in the campaign's log.
    """
    from visibility_aware_edge_ldp.campaign.http_client import json_object
    from visibility_aware_edge_ldp.campaign.invitations import refuse_formulas
    from visibility_aware_edge_ldp.campaign.signed_documents import digest, write_new

    operator = _operator(place, token_file, "sees who has not answered")
    charter, roster = operator.charter(), operator.ask("GET", "/v1/roster").body
    if digest(roster) != charter.roster:
        raise ProtocolViolation("The server's roster is not the one that the charter names.")
    names, said = json.loads(roster), json_object(operator.ask("GET", f"/v1/rounds/{number}/unanswered").body)
    try:
        away = [names[each] for each in said["unanswered"]]
        withdrawals = int(said["withdrawals"])
    except (LookupError, TypeError, ValueError) as error:
        raise ProtocolViolation("The server does not say who has not answered.") from error
    if as_json:
        print_json("campaign-unanswered", {"round": number, "unanswered": away, "withdrawals": withdrawals})
    if table is not None:
        refuse_formulas(away)
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([("name",), *((name,) for name in away)])
        try:
            write_new(table, text.getvalue().encode(), 0o600)
        except OSError as error:
            raise BadInput(f"{table} cannot be written: {error.strerror}.") from error
    if not as_json:
        gone = f"; {withdrawals:,} withdrew" if withdrawals else ""
        typer.echo(f"Round {number}: {len(away):,} have not answered{gone}.", err=table is None)
        for name in away if table is None else ():
            typer.echo(labels.printable(str(name)))


def log(place: labels.PlaceArgument, token_file: labels.TokenOption = None, as_json: JsonOption = False) -> None:
    """What operators did in a campaign, from the beginning; each line pins all before it.

    Keep the last head: a later log that does not hold it has been changed.
    """
    from visibility_aware_edge_ldp.campaign.charter import date
    from visibility_aware_edge_ldp.campaign.http_client import json_object
    from visibility_aware_edge_ldp.campaign.server.operations import refuse_broken_log

    operator = _operator(place, token_file, "reads the log")
    lines = json_object(operator.ask("GET", "/v1/operations").body).get("operations")
    found: list[dict[str, Any]] = refuse_broken_log(lines)
    if as_json:
        print_json("campaign-log", {"operations": found})
        return
    for each in found:
        typer.echo(labels.printable(f"{each['number']:>4}  {date(each['made'])}  {each['what']}"))
    typer.echo(f"Head: {found[-1]['head']}" if found else "Nothing was done yet.")


def server_status(place: str, as_json: bool) -> None:
    """How a campaign stands, by its server."""
    operator = labels.operator_at(place, None)
    charter = operator.charter()
    rounds, amended = operator.rounds(charter), _amended(operator, charter)
    if as_json:
        told = {"amended": amendment_facts(amended)} if amended.signed else {}
        print_json("campaign-status", {**labels.campaign_facts(charter), **told, "rounds": rounds})
    else:
        typer.echo("\n".join([*labels.head_lines(charter), *amendment_lines(amended), *map(labels.round_line, rounds)]))


def amendment_facts(amended: "Amended") -> dict[str, Any]:
    """What was amended in a campaign, as the JSON that commands print."""
    kinds = [each.kind for each in amended.amendments]
    counts = {"amendments": len(kinds), "withdrawals": amended.withdrawals, "head": amended.head}
    return {**counts, "closes": [each.closes for each in amended.rounds]}


def amendment_lines(amended: "Amended") -> list[str]:
    """The same as lines; none where nothing was amended."""
    from visibility_aware_edge_ldp.campaign.charter import date

    if not amended.signed:
        return []
    changed = enumerate(zip(amended.rounds, amended.charter.rounds, strict=True), 1)
    later = [f"round {number} now closes {date(now.closes)}" for number, (now, then) in changed if now != then]
    gone = [f"{amended.withdrawals:,} withdrew"] if amended.withdrawals else []
    said = "; ".join([f"{len(amended.signed):,} signed by the issuer", *gone, *later])
    return [f"Amended    {said}; the last is {amended.head[:16]}"]


def _amended(operator: "Operator", charter: "Charter") -> "Amended":
    """The charter with its amendments, each checked."""
    from visibility_aware_edge_ldp.campaign.amendments import Amended

    return Amended.from_bytes(charter, operator.ask("GET", "/v1/amendments").body)


def _operator(place: str, token_file: Path | None, does: str) -> "Operator":
    operator = labels.operator_at(place, token_file)
    if not operator.token:
        raise BadInput(f"Only the operator {does}; name its token with --token-file.")
    return operator


def _signed_before(campaign: "Campaign", folder: Path) -> "Amended":
    """What the issuer has signed so far, by the files in the folder: the next one follows these."""
    from visibility_aware_edge_ldp.campaign.amendments import Amended, SignedAmendment

    amended = Amended(campaign.charter)
    for path in sorted(folder.glob("*.json")):
        amended = amended.after(SignedAmendment.from_bytes(path.read_bytes()))
    return amended


def _person(campaign: "Campaign", name: str) -> "Person":
    from visibility_aware_edge_ldp.campaign.amendments import Person

    names = [str(each) for each in campaign.documents.roster]
    if name not in names:
        raise BadInput(f"{name!r} is not in the roster; write the name as it stands there.")
    return Person(names.index(name))


def _deadline(text: str) -> dict[str, int]:
    import time

    number, said, when = text.partition("=")
    if not said or not number.strip().isdecimal():
        raise BadInput(f"An extension is written ROUND=WHEN, such as 1=2027-03-31 or 1=7d; got {text!r}.")
    return {"round": int(number), "closes": labels.moment(when.strip(), time.time())}


def _what_follows(kind: str, secret: Path) -> list[str]:
    if kind == "deadline":
        return ["Participants' programs act on it once they have checked your signature."]
    if kind == "withdrawal":
        return [
            "From then on nothing of this person is counted in rounds that are not closed, and no more is taken. What "
            "the person's ledger has paid stays paid."
        ]
    return [f"The new token is in {secret}: for that person alone. The old one is refused from then on."]
