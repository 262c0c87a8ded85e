"""Who is let in to what: every address without a session, with another session's form, and from another site."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.console_visitor import CHOICES, PASSPHRASE, Visitor, drafted, new_console, set_up, signed
from visibility_aware_edge_ldp.campaign.console.app import GET, POST
from visibility_aware_edge_ldp.campaign.console.sessions import FREE

HOSTILE = "<img src=x onerror=alert(1)>"
STUDY = "/studies/friends-in-town"
READ = ["/", "/new", "/log", STUDY, *(f"{STUDY}/{word}" for word in GET if word)]
CHANGED = ["/new", "/sign-out", *(f"{STUDY}/{word}" for word in POST)]


@pytest.fixture(scope="module")
def visitor(tmp_path_factory: pytest.TempPathFactory) -> Visitor:
    """Somebody signed in, with a study that is signed and one that is not."""
    found = set_up(tmp_path_factory.mktemp("app") / "console")
    signed(found)
    drafted(found, "Draft")
    return found


@pytest.mark.parametrize("path", READ)
def test_nothing_is_read_without_a_session(visitor: Visitor, path: str) -> None:
    for cookie in ("", "x" * 43):
        found = Visitor(visitor.console, cookie=cookie).get(path)
        assert (found.status, found.to, found.body) == (303, "/sign-in", b"")


@pytest.mark.parametrize("path", CHANGED)
def test_nothing_is_changed_without_a_session_the_sessions_token_and_the_own_origin(
    visitor: Visitor, path: str
) -> None:
    form = {"passphrase": PASSPHRASE, "round": "1", "label": "ann", "title": "x", "people": "x"}
    before = {each: each.stat().st_mtime_ns for each in visitor.console._folder.rglob("*")}
    assert Visitor(visitor.console, token=visitor.token).ask("POST", path, form).status == 401
    other = Visitor(visitor.console)
    assert other.signs_in().status == 303
    log = visitor.console._folder / "operations.jsonl"
    before[log] = log.stat().st_mtime_ns
    for token in ("", "0" * 64, other.token):
        assert Visitor(visitor.console, cookie=visitor.cookie, token=token).ask("POST", path, form).status == 403
    for origin in ("", "null", "https://evil.example", "http://127.0.0.1:8641", "http://localhost:8640"):
        assert visitor.ask("POST", path, form, origin=origin).status == 403
    assert visitor.ask("POST", path, form, host="evil.example").status == 403
    assert visitor.ask("POST", path, form, content_type="text/plain").status == 415
    assert before == {each: each.stat().st_mtime_ns for each in visitor.console._folder.rglob("*")}


def test_an_address_that_changes_something_is_not_read_and_the_other_way_round(visitor: Visitor) -> None:
    for path in CHANGED[1:]:
        assert visitor.get(path).status == 404
    for path in ("/", "/log", STUDY, f"{STUDY}/codes", f"{STUDY}/", "/studies/none", f"{STUDY}/sign/more", "/nowhere"):
        assert visitor.post(path).status == 404
    for method in ("PUT", "DELETE", "OPTIONS", "TRACE"):
        assert visitor.ask(method, "/").status == 405


@pytest.mark.parametrize(
    "name", ["..", "../friends-in-town", "Friends-in-town", "%2e%2e", "-x", "", "friends-in-town\x00"]
)
def test_only_names_of_studies_are_looked_up(visitor: Visitor, name: str) -> None:
    assert visitor.get(f"/studies/{name}").status == 404


def test_a_draft_has_nothing_of_a_signed_study_and_a_signed_one_is_not_changed(visitor: Visitor) -> None:
    for word in ("letters", "away", "close", "server", "server-part", "forget"):
        assert visitor.post(f"/studies/draft/{word}", passphrase=PASSPHRASE).status == 404
    assert visitor.get("/studies/draft/results.csv").status == 404
    for word in ("choices", "people", "sign", "discard"):
        page = visitor.follows(f"{STUDY}/{word}", **(CHOICES | {"passphrase": PASSPHRASE, "people": "x\ny"}))
        assert "signed already" in page.text


def test_every_reply_is_guarded(visitor: Visitor) -> None:
    for path in (*READ[:5], "/sign-in", "/console.css", "/nowhere"):
        headers = visitor.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'none'; style-src 'self'")
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"


def test_a_head_is_a_get_without_its_body(visitor: Visitor) -> None:
    found = visitor.ask("HEAD", "/sign-in")
    assert (found.status, found.body) == (200, b"")
    assert int(found.headers["content-length"]) > 100


def test_nothing_that_was_typed_becomes_markup(tmp_path: Path) -> None:
    visitor = set_up(tmp_path / "console")
    refused = visitor.post("/new", title=HOSTILE, epoch=HOSTILE, people=f"{HOSTILE}\n{HOSTILE}")
    here = drafted(visitor, HOSTILE, f"name,group,contact\n{HOSTILE},{HOSTILE},{HOSTILE}\nann,a,\nÁnn,a,\ncyd,,\n")
    visitor.post(f"{here}/choices", **(CHOICES | {"meaning": HOSTILE, "sender": HOSTILE, "statistics": HOSTILE}))
    pages = [refused, visitor.get(here)]
    visitor.post(f"{here}/choices", **(CHOICES | {"meaning": HOSTILE, "sender": HOSTILE}))
    visitor.follows(f"{here}/sign", passphrase=PASSPHRASE)
    pages += [visitor.get("/"), visitor.get(here), visitor.get("/log"), visitor.get(f"{here}/codes")]
    pages.append(visitor.post(f"{here}/letters", passphrase=PASSPHRASE))
    for page in pages:
        assert page.status in (200, 400)
        assert b"<img" not in page.body
        assert b"<script" not in page.body
    assert sum(b"&lt;img src=x" in page.body for page in pages) >= 6


def test_a_console_is_set_up_with_its_code_alone(tmp_path: Path) -> None:
    visitor = Visitor(new_console(tmp_path / "console"))
    assert visitor.get("/").to == visitor.get("/sign-in").to == "/set-up"
    assert visitor.get("/set-up").status == 200
    form = {"passphrase": PASSPHRASE, "again": PASSPHRASE}
    assert visitor.post("/set-up", code="", **form).status == 403
    assert visitor.post("/sign-in", passphrase=PASSPHRASE).status == 401
    code = visitor.console.setup_code
    assert visitor.post("/set-up", code=code, passphrase="short", again="short").status == 400
    assert visitor.post("/set-up", code=code, passphrase=PASSPHRASE, again="another one").status == 400
    assert visitor.ask("POST", "/set-up", {"code": code, **form}, origin="https://evil.example").status == 403
    assert not visitor.console.is_set_up
    assert visitor.post("/set-up", code=code, **form).to == "/"
    assert visitor.get("/").status == 200
    assert visitor.get("/set-up").to == "/sign-in"
    again = Visitor(new_console(tmp_path / "console"))
    assert again.console.is_set_up
    assert again.signs_in().to == "/"


def test_signing_out_ends_the_session(tmp_path: Path) -> None:
    visitor = set_up(tmp_path / "console")
    kept = visitor.cookie
    assert visitor.post("/sign-out").to == "/sign-in"
    assert visitor.cookie == ""
    assert Visitor(visitor.console, cookie=kept).get("/").to == "/sign-in"


def test_wrong_passphrases_are_slowed_down_wherever_they_are_tried(tmp_path: Path) -> None:
    visitor = set_up(tmp_path / "console")
    here = signed(visitor)
    tries = [visitor.signs_in("not the passphrase") for _ in range(FREE - 1)]
    assert {each.status for each in tries} == {403}
    assert visitor.follows(f"{here}/letters", passphrase="neither").text.count("This is not the passphrase") == 1
    for late in (
        visitor.post("/sign-in", passphrase=PASSPHRASE),
        visitor.post(f"{here}/letters", passphrase=PASSPHRASE),
    ):
        assert late.status == 429
        assert int(late.headers["retry-after"]) >= 1
    lines = visitor.get("/log").text
    assert lines.count("a wrong passphrase") == FREE
    assert PASSPHRASE not in lines


def test_secrets_are_nowhere_in_the_folder_nor_in_pages(tmp_path: Path) -> None:
    visitor = set_up(tmp_path / "console")
    here = signed(visitor, people="name,contact\nann,ann@example.org\nbob,\ncyd,\n")
    page = visitor.post(f"{here}/letters", passphrase=PASSPHRASE)
    tokens = re.findall(rb"token=([\w-]{43})", page.body)
    assert len(set(tokens)) == 3
    secret = [*tokens, PASSPHRASE.encode(), b"ann@example.org"]
    files = [path for path in (tmp_path / "console").rglob("*") if path.is_file()]
    assert len(files) > 10
    for path in files:
        assert not any(each in path.read_bytes() for each in secret), path
    for each in ("/", here, "/log"):
        assert not any(token in visitor.get(each).body for token in tokens)
