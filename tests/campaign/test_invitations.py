"""Letters, their links, and the page that charter and letters name.  [CHARTER.10]"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from plain_client.campaign import open_charter
from plain_client.canonical import Refused
from support.campaign_lab import FAR
from support.campaign_vectors import KEY, charter_for, documents_of
from visibility_aware_edge_ldp.campaign.browser_page import FOLDER, page_digest, page_files
from visibility_aware_edge_ldp.campaign.charter import Charter, SignedCharter
from visibility_aware_edge_ldp.campaign.directory import TOKENS, new_campaign
from visibility_aware_edge_ldp.campaign.invitations import (
    LETTERS,
    PAGE,
    Invitations,
    NamedPage,
    refuse_formulas,
    shown_page,
)
from visibility_aware_edge_ldp.campaign.signed_documents import sign
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy

HERE = Invitations("https://survey.example.org")
LIBRARY = Invitations("https://survey.example.org/one/", "https://library.example.org:8443/study")
PLAIN = charter_for("degrees", documents_of("degrees"))
NAMED = replace(PLAIN, page=LIBRARY.named)


def test_addresses() -> None:
    assert HERE.address == "https://survey.example.org/take-part/"
    assert HERE.named == NamedPage(page_digest())
    assert LIBRARY.address == "https://library.example.org:8443/study/"
    assert LIBRARY.named == NamedPage(page_digest(), ("https://library.example.org:8443",))
    assert Invitations("https://a.example:443", "https://A.example/x.html").address == "https://A.example/x.html"
    assert Invitations("https://a.example:443", "https://A.example/x.html").named.hosts == ()


@pytest.mark.parametrize(
    "address",
    [
        "",
        "survey.example.org",
        "http://survey.example.org",
        "https://a b",
        "https://a/?q",
        "https://a/#x",
        "https://u@a",
    ],
)
def test_other_addresses_are_refused(address: str) -> None:
    with pytest.raises(BadInput, match="no address for people"):
        Invitations(address)
    if address:
        with pytest.raises(BadInput, match="no address for people"):
            Invitations("http://localhost:8000", address)


def test_a_letter_says_everything_and_its_link_nothing_before_the_number_sign() -> None:
    said = LIBRARY.fields("Ann & Bo #1", "tökén", NAMED)
    address, _, rest = said["link"].partition("#")
    assert address == said["page"] == "https://library.example.org:8443/study/"
    assert parse_qs(rest) == {
        "server": ["https://survey.example.org/one/"],
        "name": ["Ann & Bo #1"],
        "token": ["tökén"],
        "issuer": [PLAIN.issuer],
        "page": [page_digest()],
    }
    assert list(said) == ["name", "title", "link", "page", "page SHA-256", "issuer", "round 1 closes"]
    assert said["page SHA-256"] == page_digest()
    without = LIBRARY.fields(7, "t", PLAIN)
    assert (without["name"], without["page SHA-256"]) == ("7", "")
    assert "page=" not in without["link"]


def test_a_server_of_several_campaigns_has_the_campaign_in_its_address() -> None:
    said = Invitations("https://survey.example.org/c/CAMPAIGN/").fields("Ann", "t", PLAIN)
    assert said["page"] == f"https://survey.example.org/c/{PLAIN.identity}/take-part/"
    assert parse_qs(said["link"].partition("#")[2])["server"] == [f"https://survey.example.org/c/{PLAIN.identity}/"]


@pytest.mark.parametrize("hosts", [(), ("https://a.example",), ("http://localhost:8000", "https://a.example:8443")])
def test_a_named_page_comes_back(hosts: tuple[str, ...]) -> None:
    charter = replace(PLAIN, page=NamedPage("ab" * 32, hosts))
    assert Charter.from_bytes(charter.data) == charter
    assert charter.identity != PLAIN.identity
    assert json.loads(charter.data)["page"] == {"digest": "ab" * 32, "hosts": list(hosts)}
    signed = SignedCharter.of(charter, KEY)
    assert open_charter(charter.data, signed.signature.hex(), charter.issuer)["page"]["hosts"] == list(hosts)


def test_a_charter_without_a_page_is_as_it_was() -> None:
    assert "page" not in json.loads(PLAIN.data)


WRONG: dict[str, Any] = {
    "no object": "ab" * 32,
    "another member": {"digest": "ab" * 32, "hosts": [], "name": "x"},
    "no hosts": {"digest": "ab" * 32},
    "a short digest": {"digest": "ab", "hosts": []},
    "hosts in a text": {"digest": "ab" * 32, "hosts": "https://a.example"},
    "a path": {"digest": "ab" * 32, "hosts": ["https://a.example/"]},
    "a plain host": {"digest": "ab" * 32, "hosts": ["http://a.example"]},
    "capitals": {"digest": "ab" * 32, "hosts": ["https://A.example"]},
    "a number": {"digest": "ab" * 32, "hosts": [7]},
    "another order": {"digest": "ab" * 32, "hosts": ["https://b.example", "https://a.example"]},
    "twice": {"digest": "ab" * 32, "hosts": ["https://a.example", "https://a.example"]},
    "everybody": {"digest": "ab" * 32, "hosts": sorted(f"https://{number}.example" for number in range(17))},
}


@pytest.mark.parametrize("name", WRONG)
def test_another_page_is_refused_by_two_programs(name: str) -> None:
    content = json.loads(PLAIN.data) | {"page": WRONG[name]}
    data = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    with pytest.raises(ProtocolViolation, match="page"):
        Charter.from_bytes(data)
    with pytest.raises(Refused):
        open_charter(data, sign(KEY, data).hex(), PLAIN.issuer)


def test_a_campaign_has_letters_and_the_very_page(tmp_path: Path) -> None:
    made = _campaign(tmp_path / "campaign", LIBRARY)
    place = tmp_path / "campaign"
    assert {path.name: path.read_bytes() for path in (place / PAGE).iterdir()} == {
        name: data for name, (data, _) in page_files().items()
    }
    assert made.page == NamedPage(page_digest(place / PAGE), ("https://library.example.org:8443",))
    letters = list(csv.DictReader(io.StringIO((place / LETTERS).read_text(encoding="utf-8"))))
    tokens = list(csv.DictReader(io.StringIO((place / TOKENS).read_text(encoding="utf-8"))))
    assert [LIBRARY.fields(each["name"], each["token"], made) for each in tokens] == letters
    assert (place / LETTERS).stat().st_mode & 0o777 == 0o600


def test_a_server_shows_the_page_that_the_charter_names_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _campaign(tmp_path / "plain", None)
    assert not (tmp_path / "plain" / LETTERS).exists()
    assert shown_page(tmp_path / "plain", None) == (FOLDER, None)
    place = tmp_path / "named"
    named = _campaign(place, LIBRARY).page
    hosts = ("https://library.example.org:8443",)
    assert shown_page(place, named) == (place / PAGE, hosts)
    place = tmp_path / "nothing"  # the installed page is the same one, until the package is another
    assert shown_page(place, named) == (FOLDER, hosts)
    monkeypatch.setattr("visibility_aware_edge_ldp.campaign.invitations.FOLDER", tmp_path / "newer")
    assert shown_page(place, named) == (None, hosts)


def test_formulas() -> None:
    refuse_formulas(["Ann", 7, "李雷"])
    with pytest.raises(BadInput, match="begins as a formula does"):
        refuse_formulas(["Ann", "=1+1"])


def _campaign(place: Path, invitations: Invitations | None) -> Charter:
    return new_campaign(
        place,
        names=["Ann", "Bob", "Cleo"],
        policy=VisibilityPolicy.nothing(),
        question="degrees",
        epsilon=1,
        statistics=["edges"],
        closes=[FAR],
        fewest=1,
        title="Friends",
        epoch="spring",
        invitations=invitations,
    )
