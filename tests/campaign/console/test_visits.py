"""Which requests are let in, and forms as browsers send them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from visibility_aware_edge_ldp.campaign.console.sessions import Sessions
from visibility_aware_edge_ldp.campaign.console.vault import Key
from visibility_aware_edge_ldp.campaign.console.visits import (
    LARGEST,
    EarlyReply,
    Gate,
    cookie_in,
    download,
    elsewhere,
    form_of,
    html,
    refuse_unknown_form,
)
from visibility_aware_edge_ldp.campaign.server.messages import Request

HERE = Gate("http://127.0.0.1:8640")
INJECTED = Gate("https://console.example.org")


def request(method: str = "GET", body: bytes = b"", **headers: str) -> Request:
    sent = {"content-length": str(len(body))} | {key.replace("_", "-"): value for key, value in headers.items()}

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    listed = [(key.encode(), value.encode("latin-1")) for key, value in sent.items()]
    return Request.of({"method": method, "path": "/", "headers": listed}, receive)


def read(kind: str, body: bytes, **headers: str) -> dict[str, str]:
    return asyncio.run(form_of(request("POST", body, content_type=kind, **headers)))


def early(act: Any) -> int:
    with pytest.raises(EarlyReply) as found:
        act()
    return int(found.value.reply.status)


def test_only_the_consoles_own_name_is_answered() -> None:
    HERE.check(request(host="127.0.0.1:8640"))
    INJECTED.check(request(host="Console.example.org"))
    for host in ("", "127.0.0.1", "localhost:8640", "evil.example:8640", "127.0.0.1:8640.evil.example"):
        assert early(lambda host=host: HERE.check(request(host=host))) == 403


@pytest.mark.parametrize("origin", [None, "null", "https://127.0.0.1:8640", "http://127.0.0.1:8641", "http://evil.org"])
def test_what_changes_something_comes_from_the_consoles_own_pages(origin: str | None) -> None:
    host = {"host": "127.0.0.1:8640"}
    HERE.check(request("POST", **host, origin="http://127.0.0.1:8640"))
    sent = host if origin is None else {**host, "origin": origin}
    assert early(lambda: HERE.check(request("POST", **sent))) == 403


def test_the_cookie_is_kept_from_scripts_other_sites_and_open_lines() -> None:
    name, value = HERE.cookie("abc")
    assert (name, value) == (b"set-cookie", b"va-console=abc; Path=/; HttpOnly; SameSite=Strict")
    assert INJECTED.cookie("abc")[1].endswith(b"; Secure")
    assert b"Max-Age=0" in HERE.cookie("")[1]


def test_a_browser_may_load_nothing_of_anybody_else() -> None:
    headers = dict(HERE.headers)
    assert b"default-src 'none'" in headers[b"content-security-policy"]
    assert b"script-src" not in headers[b"content-security-policy"]
    assert b"frame-ancestors 'none'" in headers[b"content-security-policy"]
    assert headers[b"cache-control"] == b"no-store"
    assert b"strict-transport-security" not in headers
    assert b"strict-transport-security" in dict(INJECTED.headers)


def test_cookies_are_found_among_others() -> None:
    assert cookie_in(request(cookie="a=1; va-console=xyz; b=2")) == "xyz"
    assert cookie_in(request(cookie="other=1")) == cookie_in(request()) == ""
    assert cookie_in(request(cookie="\x7f=;;;")) == ""


def test_a_form_of_another_session_is_refused() -> None:
    sessions = Sessions()
    one, two = (sessions.of(sessions.begin(Key(bytes(32)))) for _ in range(2))
    assert one is not None
    assert two is not None
    refuse_unknown_form(one, {"form_token": one.form_token})
    for form in ({}, {"form_token": ""}, {"form_token": two.form_token}):
        assert early(lambda form=form: refuse_unknown_form(one, form)) == 403


def test_forms_are_read() -> None:
    form = "application/x-www-form-urlencoded"
    assert read(form, b"a=1&b=%C3%A9+x&c=&d=x%0D%0Ay") == {"a": "1", "b": "é x", "c": "", "d": "x\ny"}


@pytest.mark.parametrize(
    ("octets", "text"),
    [
        ("ann\r\nRené".encode(), "ann\nRené"),
        ("\ufeffann".encode(), "ann"),
        ("René".encode("cp1252"), "René"),
        ("René".encode("utf-16"), "René"),
    ],
)
def test_files_are_read_as_spreadsheets_write_them(octets: bytes, text: str) -> None:
    part = b'--b\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n%s\r\n'
    body = part % (b"by", b"", b"names") + part % (b"file", b'; filename="r.csv"\r\nContent-Type: text/csv', octets)
    assert read("multipart/form-data; boundary=b", body + b"--b--\r\n") == {"by": "names", "file": text}


@pytest.mark.parametrize(
    ("kind", "body", "headers", "status"),
    [
        ("application/json", b"{}", {}, 415),
        ("application/x-www-form-urlencoded", b"\xff=1", {}, 400),
        ("application/x-www-form-urlencoded", b"a=%ff", {}, 400),
        ("application/x-www-form-urlencoded", b"&".join([b"a=1"] * 101), {}, 400),
        ("application/x-www-form-urlencoded", b"", {"content_length": str(LARGEST + 1)}, 413),
        ("application/x-www-form-urlencoded", b"", {"content_length": "x"}, 413),
    ],
)
def test_what_is_no_form_is_refused(kind: str, body: bytes, headers: dict[str, str], status: int) -> None:
    assert early(lambda: read(kind, body, **headers)) == status


def test_a_damaged_multipart_body_has_no_fields() -> None:
    assert read("multipart/form-data", b"nonsense") == {}
    assert read("multipart/form-data; boundary=b", b"--b\r\n\r\nno name\r\n--b--") == {}


def test_replies_are_pages_files_and_other_addresses() -> None:
    assert html(b"x", 400).status == 400
    assert dict(elsewhere("/there").headers)[b"location"] == b"/there"
    assert dict(download("a.csv", "text/csv", b"x").headers)[b"content-disposition"] == b'attachment; filename="a.csv"'
