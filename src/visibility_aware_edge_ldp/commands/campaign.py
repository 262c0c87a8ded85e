"""``va-edge-ldp campaign``: what the issuer and the operator of a campaign do."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import visibility_aware_edge_ldp.commands.campaign_labels as labels
from visibility_aware_edge_ldp.commands import common
from visibility_aware_edge_ldp.commands.campaign_check import new_log_lines
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.campaign.http_client import Operator

StoreOption = Annotated[str, typer.Option(help="sqlite:///path or postgresql://…. Default: store.db in the directory.")]


def new(
    directory: labels.DirectoryArgument,
    roster: Annotated[Path, typer.Option(help="Who is asked: one name a line, a .csv or a .json list.")],
    question: labels.QuestionOption,
    title: Annotated[str, typer.Option(help="What participants read.")],
    epoch: Annotated[
        str, typer.Option(help="The name of the data that is asked about; what is answered about one epoch adds up.")
    ],
    epsilon: labels.EpsilonOption = "1",
    statistics: Annotated[
        str | None, typer.Option(help="What is estimated, comma-separated. Default: what the question is for.")
    ] = None,
    policy: Annotated[
        str, typer.Option(help="nothing, document-001, document-003, fractions:A,B,C, profiles:F, or a policy.toml.")
    ] = "nothing",
    scope: common.ScopeOption = None,
    attributes: common.AttributesOption = None,
    groups: common.GroupsOption = None,
    public_edges: Annotated[Path | None, typer.Option(help="The edges at public positions: two names a line.")] = None,
    rounds: labels.RoundsOption = None,
    closes: Annotated[
        list[str] | None,
        typer.Option(
            help="When a round closes: a date (UTC), or a span from now such as 14d; once for each round. "
            "Default: 14 days for each."
        ),
    ] = None,
    consent_until: Annotated[
        str | None,
        typer.Option(
            help="Ask only about people who both consent, and let them do so until then: a date (UTC), or a span from "
            "now such as 7d. The first round opens then."
        ),
    ] = None,
    share: common.ShareOption = "1",
    download: common.DownloadOption = None,
    fewest: Annotated[int, typer.Option(help="Below so many responders nothing is estimated.")] = 2,
    retention: Annotated[
        str, typer.Option(help="How long reports are kept after the estimate, such as 30d; then salted digests alone.")
    ] = "0",
    issuer_key_file: Annotated[
        Path | None,
        typer.Option(
            "--issuer-key", help="The issuer.key of an earlier campaign; the log.json beside it is continued."
        ),
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(help="The server's address for people: the charter names the page, and letters.csv has links."),
    ] = None,
    page: Annotated[
        str | None, typer.Option(help="With --server: the address of the page on another host. Default: the server's.")
    ] = None,
    as_json: common.JsonOption = False,
) -> None:
    """Write the directory of a new campaign: signed charter, documents, keys and tokens."""
    import time

    from visibility_aware_edge_ldp.campaign.directory import new_campaign, read_campaign
    from visibility_aware_edge_ldp.campaign.invitations import Invitations
    from visibility_aware_edge_ldp.campaign.questions import question_named
    from visibility_aware_edge_ldp.campaign.terms import Terms
    from visibility_aware_edge_ldp.evaluation.plan.predictions import feasibility
    from visibility_aware_edge_ldp.truth.policy_file import open_groups, open_policy, read_scope

    deadlines, names = _deadlines(question, rounds, closes), labels.names_in(roster)
    _refuse_unfit(fewest, len(names), page, server)
    rule = open_policy(policy)
    charter = new_campaign(
        directory,
        names=names,
        policy=rule,
        edges=labels.public_pairs(public_edges, names) if public_edges else [],
        question=question,
        epsilon=epsilon,
        statistics=statistics.split(",") if statistics else question_named(question).default_statistics,
        closes=deadlines,
        fewest=fewest,
        title=title,
        epoch=epoch,
        retention=labels.span(retention),
        key=None if issuer_key_file is None else labels.issuer_key(issuer_key_file),
        scope=None if scope is None else read_scope(scope, attributes),
        groups=None if groups is None else open_groups(groups, names, attributes),
        key_file=issuer_key_file,
        consent=0 if consent_until is None else labels.moment(consent_until, time.time()),
        invitations=None if server is None else Invitations(server, page or ""),
        share=share,
        download=download,
    )
    written = read_campaign(directory)
    view = written.documents.view
    found = {kind: loss for kind, loss in Terms(charter, view).losses.items() if kind in view.present}
    if as_json:
        facts = {**labels.campaign_facts(charter), **labels.scope_facts(view), "directory": str(directory)}
        common.print_json("campaign-new", facts | {"loss": {str(kind): str(loss) for kind, loss in found.items()}})
        return
    lines = [*labels.head_lines(charter), *labels.scope_lines(view), *labels.promise_lines(found)]
    typer.echo("\n".join([*lines, "", *_hand_out(directory, charter.page is not None)]))
    typer.echo(feasibility(len(names), epsilon, question_named(question).protocol.trust), err=True)
    for line in (*labels.dear_lines(found), *labels.alike_lines(names), *new_log_lines(written, issuer_key_file)):
        typer.echo(line, err=True)
    if public_edges is None and str(rule) != str(open_policy("nothing")):
        typer.echo("Note: no --public-edges were given, so every public position counts as empty.", err=True)


def _refuse_unfit(fewest: int, people: int, page: str | None, server: str | None) -> None:
    if fewest > people:
        raise BadInput(f"--fewest {fewest:,} is more than the {people:,} in the roster.")
    if page is not None and server is None:
        raise BadInput("--page needs --server: letters name both.")


def _deadlines(question: str, rounds: int | None, closes: list[str] | None) -> list[int]:
    """When each round closes, in seconds of Unix time."""
    import time

    from visibility_aware_edge_ldp.campaign.questions import question_named

    possible = question_named(question).rounds
    if rounds is not None and rounds not in possible:
        raise BadInput(f"The question {question!r} has {' or '.join(map(str, possible))} rounds; got {rounds}.")
    count = rounds or (len(closes) if closes else possible[0])
    if closes and len(closes) != count:
        raise BadInput(f"{count} rounds need --closes {count} times; it was given {len(closes)} times.")
    when = closes or [f"{14 * (number + 1)}d" for number in range(count)]
    return [labels.moment(text, time.time()) for text in when]


def serve(
    directories: Annotated[
        list[Path],
        typer.Argument(help="The campaign's directory; several, or a folder of them, are served below /c/CAMPAIGN/."),
    ],
    store: StoreOption = "",
    host: Annotated[str, typer.Option(help="Where to listen; behind a proxy, leave it as it is.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 takes any that is free.")] = 8000,
    processes: Annotated[
        int | None,
        typer.Option(
            help="How many processes share the port and one PostgreSQL store; each also listens on one of the next "
            "ports. Also 1: beside processes elsewhere.",
            show_default=False,
        ),
    ] = None,
    broadcast: Annotated[
        Path | None,
        typer.Option(help="A folder for transcripts of first rounds, which a proxy hands out.", show_default=False),
    ] = None,
    as_json: common.JsonOption = False,
) -> None:
    """Serve a campaign until told to stop; logs go to standard error, a JSON object a line."""
    from visibility_aware_edge_ldp.campaign.directory import read_campaign
    from visibility_aware_edge_ldp.campaign.server.campaigns import PREFIX, directories_in
    from visibility_aware_edge_ldp.campaign.server.estimate_json import OwnProcess
    from visibility_aware_edge_ldp.campaign.server.page import page
    from visibility_aware_edge_ldp.campaign.server.processes import serve_in_processes
    from visibility_aware_edge_ldp.campaign.server.serving import serve as run
    from visibility_aware_edge_ldp.campaign.server.telemetry import log_to_stderr

    if not 0 <= port <= 65_535 - (processes or 0):
        raise BadInput(f"A port is a number from 0 to 65535, with room for each process; got {port}.")
    places, written = directories_in(directories), list[Path]()
    identities = [read_campaign(place).charter.identity for place in places]

    def ready(address: str) -> None:
        for place, identity in zip(places, identities, strict=True):
            own = address if len(places) == 1 else f"{address}{PREFIX}{identity}"
            with suppress(OSError):  # a directory that may only be read; then close and estimate take the address
                (place / labels.ADDRESS).write_text(own)
                written.append(place / labels.ADDRESS)
            if as_json:
                common.print_json("campaign-serve", {"address": own, "campaign": identity}, line=True)
            else:
                typer.echo(f"Campaign {identity[:12]} is served at {own}. Stop it with Ctrl-C.")

    log_to_stderr()
    try:
        if processes is None:
            run(places, store, host, port, estimate_bytes=OwnProcess(), page=page, ready=ready, broadcast=broadcast)
        else:
            serve_in_processes(places, store, host, port, processes, ready, broadcast)
    finally:
        for path in written:  # a server that did not start leaves the file of the one that runs
            with suppress(OSError):
                path.unlink()


def close(
    place: labels.PlaceArgument,
    number: Annotated[int, typer.Option("--round", help="Which round.")] = 0,
    consents: Annotated[
        bool, typer.Option("--consents", help="Freeze the list of those who consented, and open round 1.")
    ] = False,
    token_file: labels.TokenOption = None,
    as_json: common.JsonOption = False,
) -> None:
    """Take no more reports for a round, before its deadline; it may be asked for again."""
    operator = labels.operator_at(place, token_file)
    if not operator.token:
        raise BadInput("Only the operator closes a round; name its token with --token-file.")
    if consents == bool(number):
        raise BadInput("Say what is closed: a round, with --round NUMBER, or the list of consents, with --consents.")
    if consents:
        operator.ask("POST", "/v1/consents")
    closed = operator.rounds(operator.charter())[0] if consents else operator.close(number)
    if as_json:
        common.print_json("campaign-close", closed)
    else:
        typer.echo(labels.round_line(closed))


def estimate(
    place: labels.PlaceArgument,
    token_file: labels.TokenOption = None,
    stop: Annotated[bool, typer.Option("--stop", help="Stop making them; they may be asked for again.")] = False,
    as_json: common.JsonOption = False,
) -> None:
    """Print a campaign's answers; the operator has them made when all rounds are closed."""
    from visibility_aware_edge_ldp.aggregator.answers import INSIDE
    from visibility_aware_edge_ldp.campaign.participant.server_checks import answers_in
    from visibility_aware_edge_ldp.presentation.group_files import matrix_tables

    operator = labels.operator_at(place, token_file)
    if stop:
        _stopped(operator)
        return
    charter = operator.charter()
    content = answers_in(operator.answers(), charter)
    if as_json:
        common.print_json("campaign-estimate", content)
        return
    try:
        inside = f" {INSIDE}" if content["certificate"].get("scope") else ""
        rows = [labels.answer_row(f"{name}{inside}", found) for name, found in content["estimates"].items()]
        lines = labels.certificate_lines(content, charter)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise ProtocolViolation("The server's answers lack what answers of their version have.") from error
    common.print_table(
        f"{charter.title}: {charter.nodes:,} participants; ε = {charter.epsilon} for all statistics together",
        ("statistic", "estimate", "± s.e.", "95 % interval"),
        [tuple(map(labels.printable, row)) for row in rows],
    )
    for title, head, cells in matrix_tables(content) if "groups" in content else ():
        common.print_table(
            title, tuple(map(labels.printable, head)), [tuple(map(labels.printable, row)) for row in cells]
        )
    typer.echo("\n".join(map(labels.printable, lines)))


def _stopped(operator: "Operator") -> None:
    """Stop making the answers, and say whether they were being made."""
    from visibility_aware_edge_ldp.campaign.http_client import json_object

    if not operator.token:
        raise BadInput("Only the operator stops the estimate; name its token with --token-file.")
    said = json_object(operator.ask("DELETE", "/v1/estimate").body)
    typer.echo("Stopped; nothing is lost." if said.get("stopped") else "No answers are being made.")


def _hand_out(directory: Path, by_browser: bool) -> list[str]:
    letters = {"with a browser": f"its own line of {directory / 'letters.csv'}: a link", "the page's host": "take-part"}
    rows = {
        "everybody": "the issuer's fingerprint above, on a way that the server cannot change",
        "each participant": f"the server's address, its name, and its own token from {directory / 'tokens.csv'}",
        **(letters if by_browser else {}),
        "the server": f"{directory}, without issuer.key and {'letters.csv, ' if by_browser else ''}tokens.csv",
        "the operator": "operator.token, to close rounds and to have the answers made",
        "nobody": "issuer.key; and tokens.csv as a whole: keep both away from the server",
        "yourself": "log.json beside issuer.key: your next campaign takes it on with --issuer-key",
    }
    return ["What to give to whom:", *(f"  {who.ljust(17)} {what}" for who, what in rows.items())]


def backup(
    directory: labels.DirectoryArgument,
    folder: Annotated[Path, typer.Argument(help="Where copies go; only you may read them.", show_default=False)],
    keep: Annotated[int, typer.Option(help="Remove all but the newest so many copies; 0 removes none.")] = 0,
    store: Annotated[Path | None, typer.Option(help="The store's file. Default: store.db in the directory.")] = None,
    as_json: common.JsonOption = False,
) -> None:
    """Copy a campaign's SQLite store while its server runs; copies that hold reports go once these were erased.

    A store in PostgreSQL is copied with pg_dump.
    """
    from visibility_aware_edge_ldp.campaign.directory import read_campaign
    from visibility_aware_edge_ldp.campaign.server.app import STORE
    from visibility_aware_edge_ldp.campaign.server.stores.sqlite import back_up

    if keep < 0:
        raise BadInput(f"--keep is a number of copies, or 0 for all; got {keep}.")
    made = back_up(store or directory / STORE, folder, read_campaign(directory).charter.identity, keep)
    if as_json:
        paths = {"removed": [str(path) for path in made.removed], "unread": [str(path) for path in made.unread]}
        common.print_json("campaign-backup", {"copy": str(made.copy) if made.copy else None, **paths})
    elif made.copy is not None:
        typer.echo(f"{made.copy}" + (f"; {len(made.removed)} older removed" if made.removed else ""))
    if made.copy is None:
        raise BadInput("The server is erasing the reports, so none are copied any more. Copy again when it has.")
    if made.unread:
        raise BadInput(f"{made.unread[0]} cannot be read, so it was left; see whether it holds reports, and remove it.")


def flagged(
    directory: labels.DirectoryArgument,
    store: StoreOption = "",
    as_json: common.JsonOption = False,
) -> None:
    """List the reports that hardly any honest participant sends, by name: for the operator, while reports are kept.

    Against peers also an honest one is listed, if enough of its peers lie about it. The answers say how many there are,
    and no more. This looks into the store, so stop the server first.
    """
    import time

    from visibility_aware_edge_ldp.aggregator.answers import number
    from visibility_aware_edge_ldp.campaign.directory import read_campaign
    from visibility_aware_edge_ldp.campaign.server.app import STORE, default_store, open_store
    from visibility_aware_edge_ldp.campaign.server.operations import note
    from visibility_aware_edge_ldp.campaign.server.question_estimates import flagged_in
    from visibility_aware_edge_ldp.campaign.terms import Terms

    campaign = read_campaign(directory)
    if not store and not (directory / STORE).is_file():
        raise BadInput(f"{directory} has no store yet; serve it first, or name its store with --store.")
    opened = open_store(store or default_store(directory), campaign.charter.identity, len(campaign.charter.rounds))
    try:
        note(opened, int(time.time()), "whose reports are flagged")
        found = flagged_in(opened, Terms(campaign.charter, campaign.documents.view))
    finally:
        opened.close()
    names = campaign.documents.roster
    if as_json:
        listed = [{"name": names[each.participant], **each.as_dict()} for each in found]
        common.print_json("campaign-flagged", {"reports": listed})
    elif not found:
        typer.echo("No report is flagged.")
    else:
        rows = [
            (str(names[each.participant]), str(each.round), each.what, *map(number, (each.value, each.low, each.high)))
            for each in found
        ]
        common.print_table(
            "An honest report is listed at most once in a thousand million times; against honest peers, about so.",
            ("name", "round", "what", "number", "honest from", "to"),
            rows,
        )
