"""The page that everybody may look at: how far the campaign is, what it promises, and its answers.

It is written here as a whole, so that it is read without a script; a small script asks this server again and changes
what has changed. Nothing on it comes from another place, and nothing on it is about one participant.
"""

import html
from base64 import b64encode
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from string import Template

from visibility_aware_edge_ldp import __version__
from visibility_aware_edge_ldp.campaign.charter import Charter
from visibility_aware_edge_ldp.campaign.server import page_estimates as answers
from visibility_aware_edge_ldp.campaign.server import page_labels as labels
from visibility_aware_edge_ldp.campaign.server import page_progress
from visibility_aware_edge_ldp.campaign.server.page_labels import Markup, tag, together
from visibility_aware_edge_ldp.campaign.server.rounds import Rounds
from visibility_aware_edge_ldp.campaign.server.stages import PageState, State
from visibility_aware_edge_ldp.campaign.server.statements import codes
from visibility_aware_edge_ldp.campaign.signed_documents import digest

Headers = tuple[tuple[bytes, bytes], ...]
_HERE = Path(__file__).parent
# What a browser may open without a token: roster and policy hold names.
_DOCUMENTS = {"charter": "Charter", "edges": "Public edges", "amendments": "Amendments"}
# How long the page may show another time left than there is, in seconds.
_STALE = 60
DONE, NOW, LATER, ALWAYS = "done", "now", "to come", ""
# Drawn in a box of 24 × 24.
_ICONS = {
    "list": "M8 6h12M8 12h12M8 18h12M4 6h.01M4 12h.01M4 18h.01",
    "dice": "M4 4h16v16h-16zM8.5 8.5h.01M15.5 8.5h.01M12 12h.01M8.5 15.5h.01M15.5 15.5h.01",
    "book": "M5 4h11a3 3 0 0 1 3 3v13h-11a3 3 0 0 1 -3 -3zM5 17a3 3 0 0 1 3 -3h11M9 8h6",
    "send": "M12 20v-15M6 11l6 -6l6 6M4 20h16",
    "tree": "M12 4v4M6 12v-4h12v4M6 12h.01M18 12h.01M3 19v-3h6v3M15 19v-3h6v3M6 16v-4M18 16v-4",
    "chart": "M4 20h16M7 16v-4M12 16v-9M17 16v-6",
    "gone": "M6 7l1 13h10l1 -13M4 7h16M9 7v-3h6v3M10 11l4 5M14 11l-4 5",
}
# All that the store has rows of when reports are gone.
_STAYS = (
    "When reports are erased, this server keeps of each a salted digest, with the round and the number in the "
    "roster of who sent it; each round’s root and how many reports it has; the answers, and when they were "
    "made; when rounds were opened and closed, and reports erased; a salted digest of the transcript; the campaign’s "
    "public documents, and the hashes of tokens."
)
_FOOT = f"Served by VA-Edge-LDP {__version__}. This page sets no cookie and asks no other server for anything."
_LEDGER = (
    "The answer is written to the device’s own ledger before anything is sent. Asked again, it repeats itself, "
    "so that asking twice tells nothing more."
)


def page(rounds: Rounds) -> tuple[bytes, Headers]:
    """The page as it is now, as HTML, and the headers that go with it."""
    return written(PageState.of(rounds)), headers()


@lru_cache(maxsize=2)
def written(state: PageState) -> bytes:
    """The page of a state, as HTML; whoever looks in the same second gets the same one."""
    filled = Template(_text("page.html")).substitute(
        version=__version__,
        title=html.escape(state.charter.title),
        style=_text("page.css"),
        head=_head(state),
        main=_main(state),
        foot=tag("p", _FOOT),
        script=_text("page.js"),
    )
    return filled.encode()


@lru_cache
def headers() -> Headers:
    """The browser is told to run this script and this style alone, and to ask nobody else for anything."""
    rules = (
        "default-src 'none'",
        f"script-src '{_hash(_text('page.js'))}'",
        f"style-src '{_hash(_text('page.css'))}'",
        "img-src data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
    return (
        (b"content-security-policy", "; ".join(rules).encode()),
        (b"cache-control", b"no-cache"),
        (b"referrer-policy", b"no-referrer"),
        (b"cross-origin-opener-policy", b"same-origin"),
    )


def _head(state: PageState) -> Markup:
    kicker = tag("p", "Private graph statistics", class_="kicker")
    return together(kicker, tag("h1", state.charter.title), page_progress.lead(state))


def _main(state: PageState) -> Markup:
    """What changes while one looks; the script reads from its attributes what to ask for, and when to stop."""
    return tag(
        "main",
        page_progress.status(state),
        page_progress.progress(state),
        answers.answers(state),
        answers.doubts(state),
        page_progress.about(state),
        page_progress.promise(state),
        path(state),
        check(state),
        answers.certificate(state),
        _raw(state),
        tag("p", "This page shows what was the case on ", labels.date(state.now), ".", class_="soft"),
        data_campaign=state.charter.identity,
        data_rounds=" ".join(f"v1/rounds/{stage.round}" for stage in state.stages),
        data_stale=0 if state.settles else _STALE,
        data_finished="" if state.finished else None,
    )


def _raw(state: PageState) -> Markup:
    """Everything that this page was made from."""
    links = {f"v1/{name}": title for name, title in _DOCUMENTS.items()}
    links |= {"v1/log": "Log of the issuer’s charters"} if state.served.campaign.log is not None else {}
    links |= {f"v1/rounds/{stage.round}": f"State of round {stage.round}" for stage in state.stages}
    if state.question.broadcasts and state.stages[0].transcript and state.kept is not False:
        links |= _broadcast(state.charter)
    links |= {f"v1/rounds/{number}/statement": f"Statement of round {number}" for number in _codes(state)}
    if state.answers is not None:
        links["v1/estimates"] = "Answers"
    links["v1/openapi.json"] = "Description of the interface"
    listed = [tag("li", tag("a", title, href=target)) for target, title in links.items()]
    return labels.section("raw", "Raw data", tag("ul", listed, class_="links"))


def _broadcast(charter: Charter) -> dict[str, str]:
    """What people read of the first round: all of it, or the first of its parts."""
    if charter.parts is None:
        return {"v1/rounds/1/transcript": "Transcript of round 1"}
    return {"v1/rounds/1/parts/0": f"Part 0 of {charter.parts.groups:,} of round 1"}


@lru_cache
def _text(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


@dataclass(frozen=True)
class Step:
    """One station: its state is shown as a word and a colour."""

    icon: str
    title: str
    text: str
    state: str = ALWAYS
    proof: Markup | None = None


def path(state: PageState) -> Markup:
    """The picture: two places, and the line between them that only randomized reports cross."""
    said = state.question.labels
    before = [Step("list", *said.held), Step("dice", *said.randomized), Step("book", "Ledger", _LEDGER)]
    after = [_uploaded(state), _frozen(state), _estimated(state), _forgotten(state)]
    first = len(before) + 1
    return labels.section(
        "path",
        "What a participant’s data goes through",
        tag("h3", "On the participant’s device"),
        tag("ol", [_drawn(step, place) for place, step in enumerate(before, 1)], class_="path device"),
        tag("p", tag("span", "Only randomized reports cross this line"), class_="line"),
        tag("h3", "On this server"),
        tag("ol", [_drawn(step, place) for place, step in enumerate(after, first)], class_="path", start=first),
        labels.facts(("What stays", _STAYS)),
    )


def _drawn(step: Step, place: int) -> Markup:
    lines = tag("path", d=_ICONS[step.icon])
    icon = tag("svg", lines, viewBox="0 0 24 24", width=28, height=28, aria_hidden="true", class_="icon")
    state = tag("span", step.state, class_="badge", data_state=step.state.split()[-1]) if step.state else None
    top = tag("div", icon, state, class_="top")
    return tag("li", top, tag("h4", f"{place}. {step.title}"), tag("p", step.text), step.proof, class_="card")


def _uploaded(state: PageState) -> Step:
    total, states = sum(state.received), [stage.state for stage in state.stages]
    badge = NOW if State.OPEN in states else DONE
    text = (
        "Each report is checked and stored. Its sender gets a receipt with the SHA-256 of its salt and the report; "
        "the first one stands."
    )
    return Step("send", "Upload", text, badge, tag("p", labels.plural(total, "report"), " stored", class_="live"))


def _frozen(state: PageState) -> Step:
    roots = [
        together(tag("dt", f"Root of round {stage.round}"), tag("dd", labels.digest(stage.root)))
        for stage in state.stages
        if stage.root
    ]
    listed = [
        *roots,
        *(together(tag("dt", f"Code of round {n}"), tag("dd", said)) for n, said in _codes(state).items()),
    ]
    badge = DONE if len(roots) == len(state.stages) else NOW if roots else LATER
    text = "When a round closes, its set of reports is frozen under one Merkle root: none is added, none is dropped."
    if state.question.broadcasts:
        text += " For round 2, everybody may read the first answers of all, randomized as they are."
    return Step("tree", "Frozen set", text, badge, tag("dl", listed) if roots else None)


def _codes(state: PageState) -> dict[int, str]:
    return codes(state.served, {stage.round: stage for stage in state.stages})


def _estimated(state: PageState) -> Step:
    text = "The answers are computed from the frozen set alone. Computed again, they are the same to the last byte."
    if state.answers is None:
        return Step("chart", "Estimate", text, LATER)
    proof = tag("dl", tag("dt", "SHA-256 of the answers"), tag("dd", labels.digest(digest(state.answers))))
    return Step("chart", "Estimate", text, DONE, proof)


def _forgotten(state: PageState) -> Step:
    """What is said of the reports is what the store says, not what the charter promises."""
    retention, title = state.charter.retention, "Reports erased"
    when = f"{labels.duration(retention)} after the estimate" if retention else "As soon as there is an estimate"
    also = " and the transcript of round 1" if len(state.stages) > 1 else ""
    text = (
        f"{when}, reports{also} are erased, and with them when reports came and in which order. If too few come in, "
        "the time runs from the deadline. Receipts and proofs stay valid."
    )
    if not state.ended or state.kept is None:
        return Step("gone", title, text, LATER)
    if not state.kept:
        left = f"{labels.plural(sum(state.received), 'salted digest')} left, no report"
        return Step("gone", title, text, DONE, tag("p", left, class_="live"))
    due = tag("p", "Due ", labels.date(state.kept_until), class_="live")
    return Step("gone", title, text, NOW if state.settles else LATER, due)


COMMAND = "va-edge-ldp campaign check"
_COMMAND_DOES = (
    "It reads from your own ledger what you sent, fetches the proof, and lets it lead to the root by itself. It says "
    "in one sentence whether your report is in the set unchanged, and ends with exit code 3 if one that was "
    "acknowledged is not."
)
_COMPARE = (
    "Then read the code that it prints to somebody else who took part, and compare it with the one on this page: the "
    "code stands for the charter, the set of reports and what everybody heard of it. A server that shows people "
    "different things shows them different codes."
)
_COMPARE_ROOTS = "Then compare the root that it prints with the one on this page, and with what others see."
_BY_ITSELF = (
    "Between two rounds the participant’s program sees to this by itself: it does not answer round 2 unless the server "
    "holds its first report as it was sent."
)


def check(state: PageState) -> Markup:
    """How a participant finds its own report in the frozen set."""
    closed = any(stage.root for stage in state.stages)
    ready = "" if closed else " There are proofs as soon as the first round is closed."
    return labels.section(
        "check",
        "Check your own report",
        tag(
            "p",
            "A Merkle root names every report of a round. With a short proof, which is made of hashes and shows "
            f"nobody’s report, you see that yours is among them, unchanged.{ready}",
        ),
        tag("p", "On the device that you answered from, type:"),
        tag("pre", tag("code", COMMAND), tabindex=0),
        tag("p", _COMMAND_DOES),
        tag("p", _COMPARE if state.served.campaign.key else _COMPARE_ROOTS),
        tag("p", _BY_ITSELF, class_="soft") if len(state.stages) > 1 else None,
    )
