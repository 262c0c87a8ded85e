"""The page's files: sealed by their digests, small, and served with headers that let them ask one server alone."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any

import pytest

from support.browser_program import sealed
from visibility_aware_edge_ldp.campaign import browser_page


def test_the_page_names_the_digests_of_its_files() -> None:
    text = (browser_page.FOLDER / "index.html").read_text(encoding="utf-8")
    assert text == sealed(), "run python -m support.browser_program in tests/"
    assert browser_page.page_digest() == hashlib.sha256(text.encode()).hexdigest()


def test_it_is_small_and_names_no_other_host() -> None:
    files = browser_page.page_files()
    assert {"index.html", "page.css", "page.js", "ledger.js"} <= set(files)
    assert sum(len(data) for data, _ in files.values()) < 300_000
    assert len(files) <= 20, "each file is a request of its own"
    assert b"http" not in b"".join(
        line
        for data, _ in files.values()
        for line in data.splitlines()
        if b"connect-src" not in line and b"https:" not in line and b"http-equiv" not in line
    )


@pytest.mark.parametrize(
    ("path", "status"), [((), 308), (("",), 200), (("page.js",), 200), (("__init__.py",), 0), (("", ""), 0)]
)
def test_what_is_served(path: tuple[str, ...], status: int) -> None:
    found = browser_page.page_reply(path)
    assert (found[0] if found else 0) == status


def test_the_headers_are_stricter_than_the_page() -> None:
    policy = dict(browser_page.page_headers())[b"content-security-policy"]
    assert b"connect-src 'self';" in policy
    assert b"unsafe" not in policy
    assert policy.endswith(b"; frame-ancestors 'none'")


def replied(
    method: str, path: str, page: bool = True, hosts: tuple[str, ...] | None = None, origin: str = ""
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The head of a reply to this request, and all that was sent; what the page does not answer, 'the server' does."""
    sent: list[dict[str, Any]] = []

    async def server(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 299, "headers": [(b"own", b"kept")]})
        await send({"type": "http.response.body", "body": b"the server"})

    async def keep(message: dict[str, Any]) -> None:
        sent.append(message)

    async def nothing() -> dict[str, Any]:
        return {}

    whole = browser_page.WithBrowserPage(server, browser_page.FOLDER if page else None, hosts)
    headers = [(b"origin", origin.encode())] if origin else []
    asyncio.run(whole({"type": "http", "method": method, "path": path, "headers": headers}, nothing, keep))
    return dict(sent[0]["headers"]), sent


@pytest.mark.parametrize(
    ("method", "path", "status", "is_readable"),
    [
        ("OPTIONS", "/v1/charter", 200, True),
        ("GET", "/v1/charter", 299, True),
        ("GET", "/", 299, False),
        ("OPTIONS", "/metrics", 299, False),
        ("OPTIONS", "*", 299, False),
        ("GET", "", 299, False),
        ("PUT", "/take-part/", 299, False),
        ("GET", "/take-part/", 200, False),
        ("GET", "/take-part/nothing.js", 299, False),
        ("GET", "/take-part", 308, False),
    ],
)
def test_who_answers_and_who_may_read_it(method: str, path: str, status: int, is_readable: bool) -> None:
    head, sent = replied(method, path)
    assert sent[0]["status"] == status
    assert (head.get(b"access-control-allow-origin") == b"*") == is_readable
    assert (head.get(b"own") == b"kept") == (status == 299)
    assert (b"access-control-allow-methods" in head) == (method == "OPTIONS" and is_readable)


def test_a_head_has_no_body_and_without_a_page_there_is_none() -> None:
    head, sent = replied("HEAD", "/take-part/page.js")
    assert sent[1]["body"] == b""
    assert int(head[b"content-length"]) == len(browser_page.page_files()["page.js"][0])
    assert replied("GET", "/take-part/", page=False)[1][0]["status"] == 299


@pytest.mark.parametrize("method", ["GET", "OPTIONS"])
def test_only_hosts_that_the_charter_names_may_read(method: str) -> None:
    named = ("https://a.example", "https://b.example:8443")
    for origin, may in (
        ("https://a.example", True),
        ("https://b.example:8443", True),
        ("https://b.example", False),
        ("https://a.example.evil", False),
        ("null", False),
        ("", False),
    ):
        head, _ = replied(method, "/v1/charter", hosts=named, origin=origin)
        allowed = origin.encode() if may else None
        assert head.get(b"access-control-allow-origin") == allowed
        assert (b"access-control-expose-headers" in head) == may
        assert (b"access-control-allow-headers" in head) == (may and method == "OPTIONS")
        assert head[b"vary"] == b"origin"
    assert b"vary" not in replied(method, "/v1/charter")[0]
