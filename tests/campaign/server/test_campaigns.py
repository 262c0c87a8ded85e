"""Several campaigns in one server: each is below its own path, and none is another's."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.campaign_inside import QUICK, Answer, raw
from support.campaign_lab import FAR, Lab, new_lab, sqlite_url, stub_estimate
from visibility_aware_edge_ldp.campaign.server.app import App, open_store
from visibility_aware_edge_ldp.campaign.server.campaigns import Campaigns, directories_in
from visibility_aware_edge_ldp.campaign.server.page import page
from visibility_aware_edge_ldp.errors import BadInput


@pytest.fixture(scope="module")
def labs(tmp_path_factory: pytest.TempPathFactory) -> list[Lab]:
    base = tmp_path_factory.mktemp("campaigns")
    return [new_lab(base / name, 8, "degrees", (FAR,)) for name in ("a", "b")]


def app_of(lab: Lab, url: str) -> App:
    charter = lab.served.charter
    return App(
        lab.served, lambda: open_store(url, charter.identity, 1), stub_estimate, lambda: 1e6, page, grouping=QUICK
    )


class Hosted:
    """Some campaigns in one server that runs."""

    def __init__(self, labs: list[Lab], folder: Path) -> None:
        self.runner = asyncio.Runner()
        self.hosted = Campaigns(
            {lab.served.charter.identity: app_of(lab, f"sqlite:///{folder / str(n)}.db") for n, lab in enumerate(labs)},
            lambda app: app,
        )

    def ask(self, method: str, path: str, token: str = "", body: bytes = b"") -> Answer:
        head = [(b"content-length", b"%d" % len(body)), (b"content-type", b"application/octet-stream")]
        head += [(b"authorization", f"Bearer {token}".encode())] if token else []
        return self.runner.run(raw(self.hosted, method, path, head, [body]))


@pytest.fixture
def hosted(labs: list[Lab], tmp_path: Path) -> Iterator[Hosted]:
    found = Hosted(labs, tmp_path)
    with found.runner:
        found.runner.run(found.hosted.start())
        yield found
        found.runner.run(found.hosted.stop())


def below(lab: Lab, path: str) -> str:
    return f"/c/{lab.served.charter.identity}{path}"


def test_each_campaign_is_below_its_own_path(hosted: Hosted, labs: list[Lab]) -> None:
    for lab in labs:
        assert hosted.ask("GET", below(lab, "/v1/charter")).body == lab.served.charter.data
        sent = hosted.ask("PUT", below(lab, lab.path(3)), lab.tokens[3], lab.report(3))
        assert (sent.status, sent.content["campaign"]) == (201, lab.served.charter.identity)
        assert b"data-rounds" in hosted.ask("GET", below(lab, "/")).body


def test_no_token_opens_another_campaign(hosted: Hosted, labs: list[Lab]) -> None:
    one, other = labs
    assert hosted.ask("PUT", below(other, one.path(3)), one.tokens[3], one.report(3)).problem == "unauthorized"
    assert hosted.ask("POST", below(other, "/v1/rounds/1/close"), one.operator).problem == "unauthorized"


def test_what_belongs_to_no_campaign_is_not_found(hosted: Hosted) -> None:
    for path in ("/", "/v1/charter", "/metrics", "/c/", "/c/" + "0" * 64 + "/v1/charter", "*"):
        assert hosted.ask("GET", path).problem == "not-found"
    assert hosted.ask("GET", "/healthz").content == {"status": "ok"}


def test_a_path_without_its_slash_leads_to_the_page(hosted: Hosted, labs: list[Lab]) -> None:
    reply = hosted.ask("GET", below(labs[0], ""))
    assert (reply.status, reply.headers["location"]) == (308, below(labs[0], "/"))


def test_the_only_campaign_has_both_paths(labs: list[Lab], tmp_path: Path) -> None:
    found = Hosted(labs[:1], tmp_path)
    with found.runner:
        found.runner.run(found.hosted.start())
        for path in ("/v1/charter", below(labs[0], "/v1/charter")):
            assert found.ask("GET", path).body == labs[0].served.charter.data
        found.runner.run(found.hosted.stop())


def test_a_campaign_that_cannot_be_started_starts_none(labs: list[Lab], tmp_path: Path) -> None:
    """One store for both is refused by the second, and the first is let go of again."""
    url = sqlite_url(tmp_path)
    hosted = Campaigns({lab.served.charter.identity: app_of(lab, url) for lab in labs}, lambda app: app)
    with pytest.raises(BadInput, match="Another server uses the store"):
        asyncio.run(hosted.start())
    open_store(url, labs[0].served.charter.identity, 1).close()


def test_folders_of_campaigns_are_looked_into(labs: list[Lab]) -> None:
    one, other = (lab.directory for lab in labs)
    assert directories_in([one]) == [one]
    assert directories_in([one.parent]) == directories_in([one, other]) == [one, other]
    assert directories_in([one / "nothing"]) == [one / "nothing"]
    with pytest.raises(BadInput, match="named twice"):
        directories_in([one, one.parent])
