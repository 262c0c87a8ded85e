"""What is taken from a study's page: letters, codes, who has not answered, which reports look implausible."""

from __future__ import annotations

from collections.abc import Sequence

from visibility_aware_edge_ldp.campaign.charter import date
from visibility_aware_edge_ldp.campaign.console import markup
from visibility_aware_edge_ldp.campaign.console.letters import Invitation, page_fingerprint
from visibility_aware_edge_ldp.campaign.console.people import Person
from visibility_aware_edge_ldp.campaign.console.study_pages import Shown
from visibility_aware_edge_ldp.campaign.server.page_labels import Markup, digest, facts, plural, section, table, tag

_SHOWN = 500


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
