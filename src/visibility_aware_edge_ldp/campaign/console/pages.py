"""Pages of no one study (set-up, sign-in, all studies, a new one, the log), and what is printed from a study's page."""

from collections.abc import Mapping, Sequence
from typing import Any

from visibility_aware_edge_ldp.campaign.charter import date
from visibility_aware_edge_ldp.campaign.console import markup
from visibility_aware_edge_ldp.campaign.console.draft_page import people_fields
from visibility_aware_edge_ldp.campaign.console.letters import Invitation, page_fingerprint
from visibility_aware_edge_ldp.campaign.console.people import Person
from visibility_aware_edge_ldp.campaign.console.sessions import Session
from visibility_aware_edge_ldp.campaign.console.study_pages import Shown
from visibility_aware_edge_ldp.campaign.console.vault import SHORTEST
from visibility_aware_edge_ldp.campaign.server.page_labels import Markup, digest, facts, plural, section, table, tag

_SHOWN = 500


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


def letters_page(shown: Shown, invitations: Sequence[Invitation], note: str = "") -> bytes:
    """Letters to print, one a page; what is not a letter is not printed."""
    top = tag(
        "div",
        markup.crumbs((shown.charter.title, shown.here)),
        tag("h1", plural(len(invitations), "letter")),
        tag("p", note) if note else None,
        tag("p", "Print this page with your browser: each letter is a page. Close it afterwards."),
        class_="screen",
    )
    return markup.page("Letters", top, [_letter(shown, each) for each in invitations], session=shown.session)


def _letter(shown: Shown, letter: Invitation) -> Markup:
    charter, choices, person = shown.charter, shown.choices, letter.person
    closes = shown.status.closes or charter.rounds
    code = (
        tag("p", "In this study you are called ", tag("strong", letter.label), ".")
        if letter.label != person.name
        else None
    )
    times = [
        (f"Round {number}" if len(closes) > 1 else "Open", f"until {date(each.closes)}")
        for number, each in enumerate(closes, 1)
    ]
    again = "Come back with this letter, on the same device, when the second round is open. " if len(closes) > 1 else ""
    return tag(
        "article",
        tag("p", f"{person.name}\n{person.contact}".strip(), class_="to"),
        tag("h1", charter.title),
        tag(
            "div",
            tag(
                "div",
                tag(
                    "p",
                    "You are invited to take part. Scan the code, tick the people whom you know, read what the answer "
                    "costs, and send it. Your device randomizes the answer before it leaves.",
                ),
                tag("p", choices.meaning) if choices.meaning else None,
                code,
                tag("p", f"{again}Keep this letter to yourself: whoever has it can answer in your name, once."),
                tag("p", choices.sender) if choices.sender else None,
            ),
            tag("figure", Markup(letter.code), tag("figcaption", "Scan me")),
            class_="ask",
        ),
        facts(
            *times,
            ("Promise", f"all reports together tell at most ε = {charter.epsilon} about a private friendship"),
            ("Who asks", digest(charter.issuer)),
            ("The page", digest(page_fingerprint(charter))),
        ),
        tag(
            "p",
            "The page shows who asks: compare the first letters and digits. Without a camera, type or open: ",
            tag("code", letter.link),
            class_="link",
        ),
        class_="letter",
    )


def away_page(shown: Shown, number: int, away: Sequence[tuple[str, Person]]) -> bytes:
    """Who is asked in a round and has not answered; and the same for mail merge."""
    here = shown.here
    listed = [tag("li", _called(label, person)) for label, person in away[:_SHOWN]]
    more = tag("p", f"And {len(away) - _SHOWN:,} more: the table has all.") if len(away) > _SHOWN else None
    merge = shown.form(
        "away",
        markup.hidden("round", str(number)),
        markup.hidden("as", "csv"),
        tag(
            "p",
            "With each person's own link, the table is as secret as the letters; without, leave the passphrase out.",
        ),
        markup.passphrase("away-passphrase", "Your passphrase, for links", required=False),
        markup.button("Table for mail merge"),
    )
    return markup.page(
        f"Round {number}",
        markup.crumbs((shown.charter.title, here)),
        tag("h1", f"{len(away):,} have not answered round {number}"),
        tag(
            "p",
            "What anybody answered is never said. That you looked is written in the log. People who withdrew are "
            "left out.",
        ),
        tag("ul", listed, class_="names") if listed else None,
        more,
        section("merge", "Reminders", merge) if away and shown.has_tokens else None,
        session=shown.session,
    )


def codes_page(shown: Shown) -> bytes:
    """Which code is whose, to print for those who take part."""
    rows = sorted((each.name, each.code) for each in shown.people.listed)
    top = tag("p", markup.link(shown.charter.title, shown.here), class_="screen")
    return markup.page("Codes", top, tag("h1", "Codes"), table("Codes", ("Name", "Code"), rows), session=shown.session)


def flagged_page(shown: Shown, rows: Sequence[Sequence[str]]) -> bytes:
    """Whose reports hardly any honest participant sends."""
    listed = (
        table("Implausible reports", ("Who", "round", "what", "number", "honest from", "to"), rows) if rows else None
    )
    return markup.page(
        "Implausible reports",
        markup.crumbs((shown.charter.title, shown.here)),
        tag("h1", "Implausible reports"),
        tag(
            "p",
            "Hardly any honest participant sends such a report. An honest one can be listed too, if enough of the "
            "others lie: speak with the person first. That you looked is written in the log.",
        ),
        listed or tag("p", "None."),
        session=shown.session,
    )


def _called(label: str, person: Person) -> str:
    return label if label == person.name else f"{label} ({person.name})"


def _problem(text: str) -> Markup | None:
    return tag("p", text, class_="said", data_kind="bad", role="alert") if text else None
