"""The page of a study that is signed: how it stands, and all that can be done with it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from visibility_aware_edge_ldp.campaign.charter import Charter, Round, date
from visibility_aware_edge_ldp.campaign.console import markup
from visibility_aware_edge_ldp.campaign.console.choices import Choices
from visibility_aware_edge_ldp.campaign.console.letters import RUN
from visibility_aware_edge_ldp.campaign.console.people import CODES, People
from visibility_aware_edge_ldp.campaign.console.results import HEAD, result_rows
from visibility_aware_edge_ldp.campaign.console.sessions import Session
from visibility_aware_edge_ldp.campaign.console.studies import Settings
from visibility_aware_edge_ldp.campaign.server.page_labels import Markup, digest, facts, plural, section, table, tag

OPEN, WAITING, ESTIMATED = "open", "waiting", "estimated"
_SHOWN = 500


@dataclass(frozen=True)
class ServerStatus:
    """What a server said of its campaign, or why it said nothing."""

    rounds: Sequence[Mapping[str, Any]] = ()
    closes: Sequence[Round] = ()
    withdrawals: int = 0
    health: Sequence[tuple[str, str]] = ()
    answers: Mapping[str, Any] | None = None
    silent: str = ""
    pending: int = 0

    @property
    def is_over(self) -> bool:
        return bool(self.rounds) and all(each["state"] not in (OPEN, WAITING, "closing") for each in self.rounds)


@dataclass(frozen=True)
class Shown:
    """What a study's pages are made from."""

    session: Session
    name: str
    charter: Charter
    choices: Choices
    people: People
    settings: Settings
    has_tokens: bool
    status: ServerStatus = field(default_factory=ServerStatus)

    @property
    def is_served(self) -> bool:
        return not self.status.silent

    @property
    def here(self) -> str:
        return f"/studies/{self.name}"

    def form(self, action: str, *children: object, **more: Any) -> Markup:
        return markup.form(self.session, f"{self.here}/{action}", *children, **more)


def study_page(shown: Shown) -> bytes:
    """A study that runs, or ran."""
    charter, status = shown.charter, shown.status
    return markup.page(
        charter.title,
        tag("h1", charter.title),
        _lead(shown),
        section("rounds", "Rounds", tag("ul", [_round(shown, each) for each in status.rounds], class_="cards"))
        if status.rounds
        else None,
        section("letters", "Letters", *_letters(shown)),
        section("person", "One person", *_person(shown)),
        section("results", "Results", *_results(shown)),
        section("again", "The second round", *_second(shown)) if len(charter.rounds) > 1 else None,
        section("server", "Server", *_server(shown)),
        section(
            "charter",
            "Charter",
            facts(
                ("Asks", f"{charter.question} ({charter.trust}), about “{charter.epoch}”, ε = {charter.epsilon}"),
                ("Campaign", digest(charter.identity)),
                ("Issuer", digest(charter.issuer)),
            ),
            *_addresses(shown),
        ),
        session=shown.session,
    )


def _addresses(shown: Shown) -> list[Markup]:
    choices = shown.choices
    form = shown.form(
        "addresses",
        markup.field("Address that participants reach", "address", choices.address, "url", required=True),
        markup.field("Address of the page that they answer with", "page", choices.page, "url", required=True),
        markup.button("Use these in letters"),
    )
    return [
        facts(("Letters say", choices.address), ("and the page", choices.page)),
        tag("details", tag("summary", "Other addresses"), form),
    ]


def _lead(shown: Shown) -> Markup:
    if shown.status.silent:
        return tag("p", f"The server does not answer. {shown.status.silent}", class_="standing", data_kind="bad")
    if shown.status.pending:
        again = shown.form("hand-in", markup.button("Hand in"))
        said = f"{plural(shown.status.pending, 'amendment')} signed here and not handed in yet."
        return tag("div", tag("p", said), again, class_="standing", data_kind="bad")
    gone = f"; {shown.status.withdrawals:,} withdrew" if shown.status.withdrawals else ""
    return tag("p", f"{shown.charter.nodes:,} people are asked{gone}.", class_="standing")


def _round(shown: Shown, said: Mapping[str, Any]) -> Markup:
    number, state = said["round"], said["state"]
    parts: list[object] = [tag("h3", f"Round {number}: {state}")]
    if state == WAITING:
        parts.append(tag("p", "Opens when the round before it is closed."))
    else:
        parts.append(tag("p", tag("span", f"{said['received']:,}", class_="big"), f" of {said['asked']:,} answered"))
    if state in (OPEN, WAITING):
        parts.append(tag("p", f"Closes {date(shown.status.closes[number - 1].closes)}", class_="soft"))
    away = shown.form("away", markup.hidden("round", str(number)), markup.button("Who has not answered", "quiet"))
    parts += [away] if state == OPEN and said["received"] < said["asked"] else []
    if state in (OPEN, WAITING):
        later = shown.form(
            "extend",
            markup.hidden("round", str(number)),
            markup.field("New time (UTC)", "closes", kind="datetime-local", id_=f"closes-{number}", required=True),
            markup.passphrase(f"extend-{number}"),
            markup.button("Sign the new time"),
        )
        parts.append(tag("details", tag("summary", "Extend"), later))
    if state == OPEN:
        now = shown.form(
            "close",
            markup.hidden("round", str(number)),
            tag("p", "No more reports are taken, and the round is not opened again."),
            markup.button(f"Close round {number} now", "grave"),
        )
        parts.append(tag("details", tag("summary", "Close early"), now))
    return tag("li", parts, class_="card")


def _letters(shown: Shown) -> list[Markup | None]:
    if not shown.has_tokens:
        return [
            tag(
                "p",
                "The letters were deleted: nobody has the tokens any more, and the server knows their hashes "
                "alone. Who lost a letter gets another token below.",
            )
        ]
    count = shown.charter.nodes
    runs = [(str(start), f"{start + 1:,} to {min(start + RUN, count):,}") for start in range(0, count, RUN)]
    codes = (
        [tag("li", markup.link("List of codes, to print", f"{shown.here}/codes"))] if shown.people.by == CODES else []
    )
    return [
        tag(
            "p",
            "Each letter holds its person's token: whoever reads it can answer in that person's name, once. They "
            "are kept here, sealed with your passphrase, until you delete them.",
        ),
        shown.form(
            "letters",
            markup.choice("Letters", "start", runs, "0") if len(runs) > 1 else markup.hidden("start", "0"),
            markup.passphrase("letters-passphrase"),
            tag(
                "p",
                markup.button("Show, to print", name_="as", value="page"),
                " ",
                markup.button("All as a table for mail merge", "quiet", name_="as", value="csv"),
                class_="row",
            ),
        ),
        tag("ul", codes, class_="links") if codes else None,
        tag(
            "details",
            tag("summary", "Delete the letters"),
            tag("p", "Do this once they are sent. Sealed copies in backups of this folder are yours to remove."),
            shown.form("forget", markup.button("Delete all tokens", "grave")),
        ),
    ]


def _person(shown: Shown) -> list[Markup]:
    if shown.status.is_over:
        return [tag("p", "All rounds are closed; nothing of a person is changed any more.")]
    return [
        tag(
            "details",
            tag("summary", "A letter or a device was lost"),
            shown.form(
                "replace",
                tag(
                    "p",
                    "The person gets another token, and the old one is refused. A report that is stored stays, and "
                    "stays the only one.",
                ),
                markup.field("Who, as in the roster", "label", id_="replace-label", required=True),
                markup.field("After a hand-over: the hash that the old device shows", "ledger"),
                markup.passphrase("replace-passphrase"),
                markup.button("Replace the token"),
            ),
        ),
        tag(
            "details",
            tag("summary", "Somebody withdraws"),
            shown.form(
                "withdraw",
                tag("p", "The person's reports leave all rounds that are not closed, and no more are taken."),
                markup.field("Who, as in the roster", "label", id_="withdraw-label", required=True),
                markup.passphrase("withdraw-passphrase"),
                markup.button("Sign the withdrawal", "grave"),
            ),
        ),
    ]


def _results(shown: Shown) -> list[Markup]:
    answers = shown.status.answers
    flagged = shown.form("flagged", markup.button("Reports that look implausible", "quiet"))
    if answers is None:
        if not shown.status.is_over:
            return [tag("p", "They are made once all rounds are closed.")]
        return [
            tag(
                "p",
                "All rounds are closed. Look at implausible reports first: if reports are kept for 0 days, they are "
                "erased with the estimate.",
            ),
            tag("div", flagged, shown.form("estimate", markup.button("Make the estimate")), class_="row"),
        ]
    rows = [(f"{name} {entry}".strip(), *map(_number, rest)) for name, entry, *rest in result_rows(answers)]
    names = ((f"{shown.here}/results.{kind}", kind.upper()) for kind in ("csv", "json", "pdf"))
    return [
        table("Estimates", (HEAD[0], "value", "± s.e.", "from", "to"), rows[:_SHOWN]),
        tag("ul", [tag("li", markup.link(words, to)) for to, words in names], class_="links"),
        flagged,
    ]


def _number(text: str) -> str:
    return f"{float(text):,.4g}" if text else "–"


def _second(shown: Shown) -> list[Markup]:
    return [
        tag(
            "p",
            "Whoever answered the first round comes back for the second, on the same device and with the same "
            "letter. The calendar's file names nobody, and everybody may have it.",
        ),
        tag("ul", tag("li", markup.link("Calendar file", f"{shown.here}/round-2.ics")), class_="links"),
        tag(
            "p",
            "Reminders for those who still have to come are under “Who has not answered” of round 2.",
            class_="soft",
        ),
    ]


def _server(shown: Shown) -> list[Markup]:
    settings, parts = shown.settings, list[Markup]()
    if settings.here:
        words = f"This console runs the server, at port {settings.port} of this machine. " + (
            "It runs." if shown.is_served else "It is stopped: nobody can answer."
        )
        act = markup.hidden("act", "stop" if shown.is_served else "start")
        label = "Stop the server" if shown.is_served else "Start the server"
        parts += [tag("p", words), shown.form("server", act, markup.button(label, "quiet" if shown.is_served else ""))]
    else:
        parts.append(tag("p", f"The server runs elsewhere, at {shown.choices.address}; this console asks it there."))
    if shown.status.health:
        parts.append(facts(*shown.status.health))
    other = markup.hidden("act", "away" if settings.here else "here")
    move = "It runs on another machine" if settings.here else "This console runs it"
    parts.append(
        tag(
            "details",
            tag("summary", "Another machine"),
            tag(
                "p",
                "A server elsewhere needs this folder, and nothing else: it has no issuer's key and no token in it, "
                "but the key that signs receipts. Never run two servers of one study.",
            ),
            shown.form("server-part", markup.button("Folder for the server, as a zip", "quiet")),
            tag("p", ""),
            shown.form("server", other, markup.button(move, "quiet")),
        )
    )
    return parts
