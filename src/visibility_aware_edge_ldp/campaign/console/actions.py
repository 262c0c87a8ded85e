"""What an operator does with a study, as a draft and once it is signed: each function from a visit to its reply.

What is done is noted before it is done; names and tokens are never noted.
"""

import json
from contextlib import suppress
from dataclasses import replace as replaced

from visibility_aware_edge_ldp.aggregator.answers import number as written
from visibility_aware_edge_ldp.campaign.amendments import DEADLINE, DEVICE, TOKEN, WITHDRAWAL
from visibility_aware_edge_ldp.campaign.charter import date
from visibility_aware_edge_ldp.campaign.console import draft_page, pages, study_pages
from visibility_aware_edge_ldp.campaign.console.choices import Choices, moment
from visibility_aware_edge_ldp.campaign.console.letters import RUN, Invitation, calendar, letters_table, reminders_table
from visibility_aware_edge_ldp.campaign.console.operator_context import OperatorContext, back_to
from visibility_aware_edge_ldp.campaign.console.people import NAMES, read_people
from visibility_aware_edge_ldp.campaign.console.results import answers_of, results_csv, results_pdf
from visibility_aware_edge_ldp.campaign.console.server_status import ask_log, ask_status
from visibility_aware_edge_ldp.campaign.console.studies import Study, free_port, new_study
from visibility_aware_edge_ldp.campaign.console.study_pages import ServerStatus, Shown
from visibility_aware_edge_ldp.campaign.console.vault import Key
from visibility_aware_edge_ldp.campaign.console.visits import EarlyReply, Visit, download, elsewhere, html
from visibility_aware_edge_ldp.campaign.http_client import checked_url, json_object
from visibility_aware_edge_ldp.campaign.invitations import Invitations
from visibility_aware_edge_ldp.campaign.server.messages import Reply
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation, VaEdgeLdpError

CSV, PDF, JSON, ICS, ZIP = (
    "text/csv; charset=utf-8",
    "application/pdf",
    "application/json",
    "text/calendar",
    "application/zip",
)


def look(context: OperatorContext, visit: Visit, study: Study) -> Reply:
    """The study's page, as a draft or as it stands now."""
    key = visit.session.key
    if study.is_signed:
        return html(study_pages.study_page(context.shown(visit, study, _status(context, study, key))))
    choices, people = study.draft(key)
    try:
        found = study.prepared(key) if choices.chosen else ""
    except VaEdgeLdpError as error:
        found = str(error)
    return html(draft_page.draft_page(visit.session, study.name, choices, people, found, context.injected))


def begin(context: OperatorContext, visit: Visit) -> Reply:
    """A new study's title, epoch and people; shown again with what is wrong with them."""
    given = visit.form
    if visit.method == "GET":
        return html(pages.new_page(visit.session, {}))
    try:
        title, epoch = given.get("title", "").strip(), given.get("epoch", "").strip()
        if not title or not epoch:
            raise BadInput("Give the study a title, and say what time it asks about.")
        people = read_people(given.get("file") or given.get("people", ""), given.get("by", NAMES))
    except VaEdgeLdpError as error:
        return html(pages.new_page(visit.session, given, str(error)), 400)
    study = new_study(context.vault, title)
    context.log.note(f"{study.name}: drafted, {len(people.listed)} people")
    study.keep_draft(visit.session.key, Choices(title, epoch, address=context.default_address), people)
    return elsewhere(f"/studies/{study.name}")


def replace_people(context: OperatorContext, visit: Visit, study: Study) -> Reply:
    _refuse_signed(study)
    given, (choices, _) = visit.form, study.draft(visit.session.key)
    people = read_people(given.get("file") or given.get("people", ""), given.get("by", NAMES))
    study.keep_draft(visit.session.key, choices, people)
    visit.session.say(f"{len(people.listed):,} people were read.")
    return back_to(study)


def choose(context: OperatorContext, visit: Visit, study: Study) -> Reply:
    _refuse_signed(study)
    choices, people = study.draft(visit.session.key)
    study.keep_draft(visit.session.key, choices.given(visit.form), people)
    return elsewhere(f"/studies/{study.name}#feasible")


def sign(context: OperatorContext, visit: Visit, study: Study) -> Reply:
    _refuse_signed(study)
    signing = context.signing(visit)
    context.log.note(f"{study.name}: the charter is signed")
    charter = study.sign(visit.session.key, signing, free_port(context.vault, context.first_port))
    visit.session.say(f"The charter is signed: {charter.identity[:16]}. Start the server, and print the letters.")
    return back_to(study)


def discard(context: OperatorContext, visit: Visit, study: Study) -> Reply:
    _refuse_signed(study)
    context.log.note(f"{study.name}: the draft is discarded")
    study.discard()
    return elsewhere("/")


def serve(context: OperatorContext, visit: Visit, study: Study) -> Reply:
    """Start or stop the server here, or say that it runs elsewhere."""
    act = visit.form.get("act", "")
    if act not in ("start", "stop", "here", "away"):
        raise BadInput("Say start, stop, here or away.")
    context.log.note(f"{study.name}: server {act}")
    if act == "start":
        if ask_status(study, visit.session.key).silent:  # one that was left over from a console that was killed goes on
            context.servers.start(study.name, study.served, study.settings.port)
        study.set(running=True)
        visit.session.say("The server runs.")
    else:
        context.servers.stop(study.name)
        study.set(running=False, here={"here": True, "away": False}.get(act, study.settings.here))
    return back_to(study)


def readdress(context: OperatorContext, visit: Visit, study: Study) -> Reply:
    """Where participants reach the server and their page: letters say it, and no charter does."""
    choices, people = study.draft(visit.session.key)
    address, page = (visit.form.get(name, "").strip() for name in ("address", "page"))
    named, charter = Invitations(address, page).named, study.charter
    checked_url(address), checked_url(page)
    if charter.page is None or named.digest != charter.page.digest or set(named.hosts) - set(charter.page.hosts):
        raise BadInput("The charter names the page and who shows it; another host would not be believed.")
    context.log.note(f"{study.name}: letters name other addresses from now on")
    study.keep_draft(visit.session.key, replaced(choices, address=address, page=page), people)
    visit.session.say("Letters name these addresses from now on. Those that were sent name the old ones.")
    return back_to(study)


def server_part(context: OperatorContext, visit: Visit, study: Study) -> Reply:
    context.log.note(f"{study.name}: the folder for a server is taken")
    return download(f"{study.name}.zip", ZIP, study.server_part())


def letters(context: OperatorContext, visit: Visit, study: Study) -> Reply:
    """Letters to print, some hundred at a time, or all as a table."""
    signing = context.signing(visit)
    context.log.note(f"{study.name}: letters are shown")
    shown = context.shown(visit, study, ServerStatus(closes=study.amended(visit.session.key).rounds))
    tokens, labels = study.tokens(signing), shown.people.roster
    if visit.form.get("as") == "csv":
        return download(
            f"{study.name}-letters.csv", CSV, letters_table(_letter(shown, each, tokens[each]) for each in labels)
        )
    start = visit.form.get("start", "0")
    first = int(start) if start.isascii() and start.isdecimal() else 0
    return html(pages.letters_page(shown, [_letter(shown, each, tokens[each]) for each in labels[first : first + RUN]]))


def forget(context: OperatorContext, visit: Visit, study: Study) -> Reply:
    context.log.note(f"{study.name}: the letters are deleted")
    study.forget_tokens()
    visit.session.say("All tokens are deleted.")
    return back_to(study)


def codes(context: OperatorContext, visit: Visit, study: Study) -> Reply:
    return html(pages.codes_page(context.shown(visit, study)))


def away(context: OperatorContext, visit: Visit, study: Study) -> Reply:
    """Who has not answered a round: as a page, or as a table, with links if the passphrase is given."""
    round_number, key = _round(visit, study), visit.session.key
    context.log.note(f"{study.name}: who has not answered round {round_number}")
    operator, shown = study.operator(key), context.shown(visit, study)
    said = json_object(operator.ask("GET", f"/v1/rounds/{round_number}/unanswered").body)
    roster = [str(each) for each in study.campaign.documents.roster]
    try:
        listed = sorted(roster[int(each)] for each in said["unanswered"])
    except (LookupError, TypeError, ValueError) as error:
        raise ProtocolViolation("The server does not say who has not answered.") from error
    people = shown.people.by_label
    found = [(label, people[label]) for label in listed]
    if visit.form.get("as") != "csv":
        return html(pages.away_page(shown, round_number, found))
    tokens = study.tokens(context.signing(visit)) if visit.form.get("passphrase") else {}
    closes = date(study.amended(key).rounds[round_number - 1].closes)

    def own(label: str) -> str:
        return _letter(shown, label, tokens[label]).link if tokens else shown.choices.page

    data = reminders_table(found, study.charter, round_number, closes, own)
    return download(f"{study.name}-round-{round_number}.csv", CSV, data)


def replace(context: OperatorContext, visit: Visit, study: Study) -> Reply:
    """Another token for one person, with the letter that holds it."""
    label, ledger, key = visit.form.get("label", "").strip(), visit.form.get("ledger", "").strip(), visit.session.key
    signing = context.signing(visit)
    says = {"ledger": ledger} if ledger else {}
    made, token = study.amend(key, signing, DEVICE if ledger else TOKEN, label, **says)
    context.log.note(f"{study.name}: amendment {made}, another token")
    handed = _handed_in(context, visit, study)
    shown = context.shown(visit, study, ServerStatus(closes=study.amended(key).rounds))
    note = (
        ""
        if handed
        else "The server did not take the amendment yet: hand it in on the study's page before you send this."
    )
    return html(pages.letters_page(shown, [_letter(shown, label, token)], note))


def withdraw(context: OperatorContext, visit: Visit, study: Study) -> Reply:
    made, _ = study.amend(visit.session.key, context.signing(visit), WITHDRAWAL, visit.form.get("label", "").strip())
    context.log.note(f"{study.name}: amendment {made}, a withdrawal")
    if _handed_in(context, visit, study):
        visit.session.say("The withdrawal is in force.")
    return back_to(study)


def extend(context: OperatorContext, visit: Visit, study: Study) -> Reply:
    round_number, closes = _round(visit, study), moment(visit.form.get("closes", ""))
    made, _ = study.amend(visit.session.key, context.signing(visit), DEADLINE, round=round_number, closes=closes)
    context.log.note(f"{study.name}: amendment {made}, round {round_number} is extended")
    if _handed_in(context, visit, study):
        visit.session.say(f"Round {round_number} now closes {date(closes)}.")
    return back_to(study)


def hand_in(context: OperatorContext, visit: Visit, study: Study) -> Reply:
    if _handed_in(context, visit, study):
        visit.session.say("The server has all amendments.")
    return back_to(study)


def close(context: OperatorContext, visit: Visit, study: Study) -> Reply:
    round_number = _round(visit, study)
    context.log.note(f"{study.name}: close round {round_number}")
    study.operator(visit.session.key).close(round_number)
    visit.session.say(f"Round {round_number} is closed.")
    return back_to(study)


def estimate(context: OperatorContext, visit: Visit, study: Study) -> Reply:
    context.log.note(f"{study.name}: estimate")
    answers_of(study.operator(visit.session.key).answers(), study.charter)
    visit.session.say("The estimate is made.")
    return elsewhere(f"/studies/{study.name}#results")


def flagged(context: OperatorContext, visit: Visit, study: Study) -> Reply:
    """Whose reports hardly any honest participant sends."""
    context.log.note(f"{study.name}: whose reports are flagged")
    said = json_object(study.operator(visit.session.key).ask("GET", "/v1/flagged").body)
    shown = context.shown(visit, study)
    people = shown.people.by_label
    roster, rows = [str(each) for each in study.campaign.documents.roster], list[tuple[str, ...]]()
    try:
        for each in said["flagged"]:
            label = roster[int(each["participant"])]
            who = label if people[label].name == label else f"{label} ({people[label].name})"
            numbers = (written(float(each[part])) for part in ("value", "low", "high"))
            rows.append((who, str(each["round"]), str(each["what"]), *numbers))
    except (LookupError, TypeError, ValueError) as error:
        raise ProtocolViolation("The server does not say which reports are flagged.") from error
    return html(pages.flagged_page(shown, rows))


def results(context: OperatorContext, visit: Visit, study: Study) -> Reply:
    """The answers as CSV, JSON or PDF."""
    kind = visit.parts[-1].rpartition(".")[2]
    data = study.operator(visit.session.key).ask("GET", "/v1/estimates").body
    answers = answers_of(data, study.charter)
    context.log.note(f"{study.name}: results as {kind}")
    name = f"{study.name}.{kind}"
    if kind == "csv":
        return download(name, CSV, results_csv(answers))
    if kind == "pdf":
        return download(name, PDF, results_pdf(answers, study.charter))
    return download(name, JSON, data)


def second_round(context: OperatorContext, visit: Visit, study: Study) -> Reply:
    """When to come back, as a calendar's file."""
    rounds = study.amended(visit.session.key).rounds
    if len(rounds) < 2:
        raise EarlyReply(404, "This study has one round.")
    page = study.draft(visit.session.key)[0].page
    return download(f"{study.name}-round-2.ics", ICS, calendar(study.charter, rounds, page, context.clock()))


def logs(context: OperatorContext, visit: Visit, studies: list[Study]) -> Reply:
    """What was done here, and what each server wrote down."""
    found = [("This console", context.log.lines())]
    for study in studies:
        if study.is_signed:
            with suppress(VaEdgeLdpError, json.JSONDecodeError):
                found.append((f"Server of {study.name}", ask_log(study, visit.session.key)))
    return html(pages.log_page(visit.session, found))


def _refuse_signed(study: Study) -> None:
    if study.is_signed:
        raise BadInput("The charter is signed already; it cannot be changed.")


def _status(context: OperatorContext, study: Study, key: Key) -> ServerStatus:
    """How it stands; a server that this console has stopped is not asked."""
    if study.settings.here and not study.settings.running:
        return ServerStatus(closes=study.amended(key).rounds, silent="It is stopped. Start it below.")
    return ask_status(study, key)


def _letter(shown: Shown, label: str, token: str) -> Invitation:
    person = shown.people.by_label[label]
    return Invitation.of(shown.charter, shown.choices.address, shown.choices.page, person, label, token)


def _handed_in(context: OperatorContext, visit: Visit, study: Study) -> bool:
    """Whether the server has all amendments now; what was signed stays, and is handed in later."""
    try:
        study.hand_in(visit.session.key)
    except VaEdgeLdpError as error:
        visit.session.say(f"It is signed, and the server did not take it: {error}", "bad")
        return False
    return True


def _round(visit: Visit, study: Study) -> int:
    said = visit.form.get("round", "")
    if said not in map(str, study.charter.numbers):
        raise BadInput("Say which round.")
    return int(said)
