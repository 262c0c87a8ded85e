"""The console's pages that are of no one study: set-up, sign-in, all studies, a new one, the log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from visibility_aware_edge_ldp.campaign.charter import date
from visibility_aware_edge_ldp.campaign.console import markup
from visibility_aware_edge_ldp.campaign.console.draft_page import people_fields
from visibility_aware_edge_ldp.campaign.console.sessions import Session
from visibility_aware_edge_ldp.campaign.console.vault import SHORTEST
from visibility_aware_edge_ldp.campaign.server.page_labels import (
    Markup,
    digest,
    section,
    table,
    tag,
)


def set_up_page(code: str, problem: str = "") -> bytes:
    """The first page of all: choose a passphrase."""
    return markup.page(
        "Set up",
        tag("h1", "Set up this console"),
        _problem(problem),
        tag(
            "p",
            "Your passphrase opens what this console keeps sealed: the key that signs charters in your name, and "
            "everybody's tokens. It is stored nowhere, and nobody can bring it back: write it down and lock it away.",
        ),
        markup.form(
            None,
            "/set-up",
            markup.field(
                "Setup code", "code", code, hint="It was printed where the console was started.", required=True
            ),
            markup.field(
                "Passphrase",
                "passphrase",
                kind="password",
                hint=f"At least {SHORTEST} characters: four words, say.",
                autocomplete="new-password",
                minlength=SHORTEST,
                required=True,
            ),
            markup.field("Passphrase again", "again", kind="password", autocomplete="new-password", required=True),
            markup.button("Set up"),
        ),
    )


def sign_in_page(problem: str = "") -> bytes:
    return markup.page(
        "Sign in",
        tag("h1", "Operator's console"),
        _problem(problem),
        markup.form(None, "/sign-in", markup.passphrase("passphrase", "Passphrase"), markup.button("Sign in")),
    )


def home_page(session: Session, issuer: str, listed: Sequence[tuple[str, str, str]]) -> bytes:
    """All studies: their names, titles and how they stand."""
    cards = [
        tag("li", tag("h3", markup.link(title, f"/studies/{name}")), tag("p", words, class_="soft"), class_="card")
        for name, title, words in listed
    ]
    return markup.page(
        "Studies",
        tag("h1", "Studies"),
        tag("ul", cards, class_="cards") if cards else tag("p", "There is no study yet."),
        tag("p", markup.link("New study", "/new")),
        section(
            "issuer",
            "Your key",
            tag(
                "p",
                "Participants compare this fingerprint with their letters. Publish it where the campaign's server "
                "cannot change it: on your web site, on a poster. It is the same for all studies of this console.",
            ),
            tag("p", digest(issuer)),
        ),
        session=session,
    )


def new_page(session: Session, given: Mapping[str, str], problem: str = "") -> bytes:
    """Title, epoch and people of a new study."""
    return markup.page(
        "New study",
        tag("h1", "New study"),
        _problem(problem),
        markup.form(
            session,
            "/new",
            markup.field(
                "Title", "title", given.get("title", ""), hint="Everybody reads it.", required=True, maxlength=200
            ),
            markup.field(
                "What time it asks about",
                "epoch",
                given.get("epoch", ""),
                required=True,
                maxlength=200,
                hint="The state of the world, such as “school year 2027”. What people answer about one such time adds "
                "up, whatever studies are called: use the same words when you ask about the same time again.",
            ),
            *people_fields(given),
            markup.button("Read the people"),
            enctype="multipart/form-data",
        ),
        session=session,
    )


def log_page(session: Session, logs: Sequence[tuple[str, Sequence[Mapping[str, Any]]]]) -> bytes:
    """What was done here, and at each server, the newest first."""
    parts = list[Markup]()
    for title, lines in logs:
        rows = [(str(each["number"]), date(each["made"]), each["what"]) for each in reversed(lines)]
        head = tag("p", "Head: ", digest(str(lines[-1]["head"]))) if lines else tag("p", "Nothing was done yet.")
        parts += [tag("h2", title), head, *([table(title, ("", "when", "what"), rows)] if rows else [])]
    return markup.page(
        "Log",
        tag("h1", "Log"),
        tag("p", "Each line pins all before it. Keep the last head: a log that does not hold it later was changed."),
        parts,
        session=session,
    )


def _problem(text: str) -> Markup | None:
    return tag("p", text, class_="said", data_kind="bad", role="alert") if text else None
