"""The page that everybody may look at: how far the campaign is, what it promises, and its answers.

It is written here as a whole, so that it is read without a script; a small script asks this server again and changes
what has changed. Nothing on it comes from another place, and nothing on it is about one participant.
"""

from __future__ import annotations

import html
from base64 import b64encode
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from string import Template

from visibility_aware_edge_ldp import __version__
from visibility_aware_edge_ldp.campaign.server.front import answers, path, progress, words
from visibility_aware_edge_ldp.campaign.server.front.markup import Markup, tag, together
from visibility_aware_edge_ldp.campaign.server.front.moment import Moment
from visibility_aware_edge_ldp.campaign.server.replies import Header, Reply
from visibility_aware_edge_ldp.campaign.server.rounds import Rounds

HTML = b"text/html; charset=utf-8"
_HERE = Path(__file__).parent
_DOCUMENTS = {"charter": "Charter", "roster": "Roster", "policy": "Policy", "edges": "Public edges"}
# How long the page may show another time left than there is, in seconds.
_STALE = 60


def page(rounds: Rounds) -> Reply:
    """The page as it is now."""
    return Reply(200, written(Moment.of(rounds)), HTML, headers())


@lru_cache(maxsize=2)
def written(moment: Moment) -> bytes:
    """The whole page at one moment; whoever looks in the same second gets the same one."""
    filled = _file("page.html").substitute(
        version=__version__,
        title=html.escape(moment.charter.title),
        style=_text("page.css"),
        head=_head(moment),
        main=_main(moment),
        foot=_foot(moment),
        script=_text("page.js"),
    )
    return filled.encode()


@lru_cache
def headers() -> tuple[Header, ...]:
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


def _head(moment: Moment) -> Markup:
    kicker = tag("p", "Private graph statistics", class_="kicker")
    return together(kicker, tag("h1", moment.charter.title), progress.lead(moment))


def _main(moment: Moment) -> Markup:
    """What changes while one looks; the script reads from its attributes what to ask for, and when to stop."""
    return tag(
        "main",
        progress.standing(moment),
        progress.progress(moment),
        answers.answers(moment),
        answers.doubts(moment),
        progress.about(moment),
        progress.promise(moment),
        path.path(moment),
        path.check(moment),
        answers.certificate(moment),
        _raw(moment),
        tag("p", "This page shows what was the case on ", words.date(moment.now), ".", class_="soft"),
        data_campaign=moment.charter.identity,
        data_rounds=" ".join(f"v1/rounds/{stage.round}" for stage in moment.stages),
        data_stale=0 if moment.settles else _STALE,
        data_finished="" if moment.finished else None,
    )


def _raw(moment: Moment) -> Markup:
    """Everything that this page was made from."""
    links = {f"v1/{name}": title for name, title in _DOCUMENTS.items()}
    links |= {f"v1/rounds/{stage.round}": f"State of round {stage.round}" for stage in moment.stages}
    if moment.charter.question == "triangles" and moment.stages[0].transcript and moment.kept is not False:
        links["v1/rounds/1/transcript"] = "Transcript of round 1"
    if moment.answers is not None:
        links["v1/estimates"] = "Answers"
    links["v1/openapi.json"] = "Description of the interface"
    listed = [tag("li", tag("a", title, href=target)) for target, title in links.items()]
    return words.section("raw", "Raw data", tag("ul", listed, class_="links"))


def _foot(moment: Moment) -> Markup:
    return tag(
        "p", f"Served by VA-Edge-LDP {__version__}. This page sets no cookie and asks no other server for anything."
    )


@lru_cache
def _text(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _file(name: str) -> Template:
    return Template(_text(name))


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
