"""What an operator does with a study before its charter is signed: each function from a visit to its reply."""

from __future__ import annotations

from visibility_aware_edge_ldp.campaign.console import pages
from visibility_aware_edge_ldp.campaign.console.choices import Choices
from visibility_aware_edge_ldp.campaign.console.operator_context import OperatorContext, back_to
from visibility_aware_edge_ldp.campaign.console.people import NAMES, read_people
from visibility_aware_edge_ldp.campaign.console.studies import Study, free_port, new_study
from visibility_aware_edge_ldp.campaign.console.visits import Visit, elsewhere, html
from visibility_aware_edge_ldp.campaign.server.messages import Reply
from visibility_aware_edge_ldp.errors import BadInput, VaEdgeLdpError


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
    refuse_signed(study)
    given, (choices, _) = visit.form, study.draft(visit.session.key)
    people = read_people(given.get("file") or given.get("people", ""), given.get("by", NAMES))
    study.keep_draft(visit.session.key, choices, people)
    visit.session.say(f"{len(people.listed):,} people were read.")
    return back_to(study)


def choose(context: OperatorContext, visit: Visit, study: Study) -> Reply:
    refuse_signed(study)
    choices, people = study.draft(visit.session.key)
    study.keep_draft(visit.session.key, choices.given(visit.form), people)
    return elsewhere(f"/studies/{study.name}#feasible")


def sign(context: OperatorContext, visit: Visit, study: Study) -> Reply:
    refuse_signed(study)
    signing = context.signing(visit)
    context.log.note(f"{study.name}: the charter is signed")
    charter = study.sign(visit.session.key, signing, free_port(context.vault, context.first_port))
    visit.session.say(f"The charter is signed: {charter.identity[:16]}. Start the server, and print the letters.")
    return back_to(study)


def discard(context: OperatorContext, visit: Visit, study: Study) -> Reply:
    refuse_signed(study)
    context.log.note(f"{study.name}: the draft is discarded")
    study.discard()
    return elsewhere("/")


def refuse_signed(study: Study) -> None:
    if study.is_signed:
        raise BadInput("The charter is signed already; it cannot be changed.")
