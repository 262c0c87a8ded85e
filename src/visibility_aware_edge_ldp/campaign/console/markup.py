"""Forms and pages of the console, as HTML that works without a script."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from visibility_aware_edge_ldp.campaign.console.sessions import Session
from visibility_aware_edge_ldp.campaign.server.page_labels import Markup, Value, tag, together

STYLE = Path(__file__).with_name("console.css")
TOKEN = "form_token"  # noqa: S105 - the name of a field


def void(element: str, /, **attributes: Value) -> Markup:
    """An element without content; False and None are left out, True is an attribute without a value."""
    said = {
        f"{key}_": "" if value is True else value for key, value in attributes.items() if value not in (None, False)
    }
    return Markup(tag(element, **said).removesuffix(f"</{element}>"))


def field(
    label: str, name: str, value: str = "", kind: str = "text", hint: str = "", id_: str = "", **more: Value
) -> Markup:
    """A labelled input; ``id_`` where a page has several of this name."""
    own, note = id_ or name, f"{id_ or name}-hint" if hint else None
    box = void("input", id=own, name=name, type=kind, value=value or None, aria_describedby=note, **more)
    return tag("p", tag("label", label, for_=own), box, _hint(note, hint), class_="field")


def area(label: str, name: str, value: str = "", hint: str = "", rows: int = 4) -> Markup:
    """A labelled text of several lines."""
    note = f"{name}-hint" if hint else None
    # A newline that directly follows the tag is not part of the text.
    box = tag("textarea", "\n", value, id=name, name_=name, rows=rows, aria_describedby=note)
    return tag("p", tag("label", label, for_=name), box, _hint(note, hint), class_="field")


def choice(label: str, name: str, options: Iterable[tuple[str, str]], chosen: str = "", hint: str = "") -> Markup:
    """A labelled list of which one is chosen: pairs of values and words."""
    note = f"{name}-hint" if hint else None
    listed = [
        tag("option", words, value=value, **({"selected": ""} if value == chosen else {})) for value, words in options
    ]
    box = tag("select", listed, id=name, name_=name, aria_describedby=note)
    return tag("p", tag("label", label, for_=name), box, _hint(note, hint), class_="field")


def passphrase(id_: str, words: str = "Your passphrase", required: bool = True) -> Markup:
    """The passphrase, asked again for what only its holder may do."""
    # Programs that keep passwords want to know whose it is.
    whose = void("input", type="text", name="username", value="operator", autocomplete="username", hidden=True)
    box = field(words, "passphrase", "", "password", id_=id_, autocomplete="current-password", required=required)
    return together(whose, box)


def button(words: str, kind: str = "", **more: Value) -> Markup:
    return tag("button", words, type="submit", class_=kind or None, **more)


def form(session: Session | None, action: str, *children: object, **more: Value) -> Markup:
    """A form that is sent to this console, with the session's token in it."""
    token = void("input", type="hidden", name=TOKEN, value=session.form_token) if session else None
    return tag("form", token, *children, method="post", action=action, **more)


def hidden(name: str, value: str) -> Markup:
    return void("input", type="hidden", name=name, value=value)


def link(words: object, to: str) -> Markup:
    return tag("a", words, href=to)


def crumbs(*parts: tuple[str, str]) -> Markup:
    """Links to the pages above this one, from pairs of words and addresses."""
    listed = tag("ul", [tag("li", link(words, to)) for words, to in parts], class_="links")
    return tag("nav", listed, aria_label="Where you are")


def page(title: str, *children: object, session: Session | None = None, kind: str = "") -> bytes:
    """A page of the console; signed in, with a way out and what is to be said."""
    head = together(
        void("meta", charset="utf-8"),
        void("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"{title} · console"),
        void("link", rel="stylesheet", href="/console.css"),
        void("link", rel="icon", href="data:,"),
    )
    top = tag("header", _banner(session), class_="banner") if session else None
    said = [tag("p", text, class_="said", data_kind=mark, role="status") for mark, text in _heard(session)]
    body = tag("body", top, tag("main", said, *children), class_=kind or None)
    return ("<!doctype html>\n" + tag("html", tag("head", head), body, lang="en")).encode()


def _banner(session: Session) -> Markup:
    links: Sequence[tuple[str, str]] = (("Studies", "/"), ("Log", "/log"))
    out = form(session, "/sign-out", button("Sign out", "quiet"))
    return together(tag("nav", [link(*each) for each in links], aria_label="Console"), out)


def _heard(session: Session | None) -> list[tuple[str, str]]:
    return session.heard() if session else []


def _hint(id_: str | None, text: str) -> Markup | None:
    return tag("small", text, id=id_) if text else None
