"""The page's files: sealed by their digests, small, and served with headers that let them ask one server alone."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any
from urllib.parse import parse_qs

import pytest

from support.browser_program import sealed
from visibility_aware_edge_ldp.campaign import browser_page
from visibility_aware_edge_ldp.campaign.server import messages


def test_the_page_names_the_digests_of_its_files() -> None:
    text = (browser_page.FOLDER / "index.html").read_text(encoding="utf-8")
    assert text == sealed(), "run python -m support.browser_program in tests/"
    assert browser_page.page_digest() == hashlib.sha256(text.encode()).hexdigest()


def test_it_is_small_and_names_no_other_host() -> None:
    files = browser_page.page_files()
    assert {"index.html", "page.css", "page.js", "ledger.js"} <= set(files)
    assert sum(len(data) for data, _ in files.values()) < 300_000
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


@pytest.mark.parametrize(("path", "status"), [("/v1/charter", 200), ("/metrics", 405)])
def test_what_a_browser_asks_before_it_sends_a_token(path: str, status: int) -> None:
    async def asked() -> messages.Reply:
        scope: dict[str, Any] = {"method": "OPTIONS", "path": path, "headers": []}
        request = messages.Request.of(scope, _nothing)
        try:
            return await messages.handler_of({"GET": _never}, request)(request)
        except messages.Refusal as refusal:
            return refusal.reply

    reply = asyncio.run(asked())
    assert reply.status == status
    assert (b"access-control-allow-methods" in dict(reply.headers)) == (status == 200)


def test_a_link_holds_everything_behind_the_number_sign() -> None:
    link = browser_page.invitation_link("https://a.example/take-part/", "https://b.example", "Ann & Bo #1", "t", "i")
    address, _, rest = link.partition("#")
    assert address == "https://a.example/take-part/"
    assert parse_qs(rest) == {"server": ["https://b.example"], "name": ["Ann & Bo #1"], "token": ["t"], "issuer": ["i"]}


async def _nothing() -> messages.Message:
    return {}


async def _never(*given: object) -> messages.Reply:
    raise AssertionError
