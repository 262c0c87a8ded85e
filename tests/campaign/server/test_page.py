"""The page as the server writes it: in every state, for every question, with hostile words, and with nobody's name."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import pytest

from support.campaign_lab import FAR
from support.campaign_onlooker import DAY, Read, look, send, showing
from support.campaign_town import STATISTICS, Town, new_town
from test_docs import unknown_words
from visibility_aware_edge_ldp.campaign.server import page as data_flow
from visibility_aware_edge_ldp.campaign.server import page_labels
from visibility_aware_edge_ldp.campaign.server.page import written
from visibility_aware_edge_ldp.campaign.server.page_labels import tag
from visibility_aware_edge_ldp.campaign.server.stages import PageState, State
from visibility_aware_edge_ldp.campaign.server.stores.store import StoreUnavailable
from visibility_aware_edge_ldp.campaign.statements import code
from visibility_aware_edge_ldp.campaign.wire_format import round_root

HOSTILE = """</title><script>alert(1)</script><img src=x onerror="alert('2')"> & $style ${main}"""


@pytest.fixture(scope="module")
def towns(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Town]:
    base = tmp_path_factory.mktemp("towns")
    return {question: new_town(base / question, question) for question in STATISTICS}


@pytest.mark.parametrize("question", STATISTICS)
def test_every_state_of_every_question(towns: dict[str, Town], question: str, tmp_path: Path) -> None:
    town = towns[question]
    asked, several = len(town.asked), question == "triangles"
    answering = asked if question == "hubs" else asked - 4
    with showing(town, tmp_path) as server:
        first = look(server)
        assert f"0 of {asked} reports received" in first.text
        assert ("Round 1 of 2 is open" if several else "The survey is open") in first.text
        assert "3 days 2 hours left" in first.text
        assert "There are none yet" in first.text
        assert ("Waiting" in first.text) == several
        _check_promise(first, town)
        send(server, answering)
        opened = look(server)
        assert f"{answering} of {asked} reports received" in opened.text
        assert f"Response rate{page_labels.percent(answering / asked)}" in opened.text
        assert "which is reached" in opened.text
        server.operator("/v1/rounds/1/close")
        closed = look(server)
        root = server.app.rounds.stages[1].root
        assert root in closed.text
        assert root not in opened.text
        assert "finished" not in "".join(closed.main)
        if several:
            assert f"0 of {answering} reports received" in closed.text
            send(server, answering, 2)
            server.operator("/v1/rounds/2/close")
            assert server.app.rounds.stages[2].root in look(server).text
        assert "No more reports are taken." in look(server).text
        said = server.operator("/v1/estimate").content
        done = look(server)
        _check_answers(done, said)
        assert "data-finished" in done.main
        assert "no report" in done.text
        for seen in (first, opened, closed, done):
            _check_safe(seen)


def _check_promise(seen: Read, town: Town) -> None:
    charter, losses = town.served.charter, town.served.terms.losses
    for text in (charter.title, charter.issuer, charter.identity, charter.epoch, "the aggregator is not trusted"):
        assert text in seen.text
    for kind, size in town.served.view.class_sizes.items():
        if size:
            lost = "not protected" if kind not in losses else page_labels.loss(losses[kind])
            assert f"{kind}{size:,}{lost}" in seen.text
    for name in charter.statistics:
        assert f"{page_labels.statistic(name)}: {page_labels.meaning(name)}" in seen.text


def _check_noise(seen: Read, estimates: object) -> None:
    single = {name: each for name, each in estimates.items() if isinstance(each["value"], float)}  # type: ignore[attr-defined]
    hidden = [name for name, each in single.items() if abs(each["value"]) < 2 * (each["standard_error"] or 0)]
    said = re.findall(r"so large is the noise: ([^.]*)\.", seen.text)
    assert said == ([page_labels.listed(list(map(page_labels.statistic, hidden)))] if hidden else [])


def _check_answers(seen: Read, said: dict[str, object]) -> None:
    assert "The answers are published." in seen.text
    estimates, bounds = said["estimates"], said["manipulation"]["bounds"]  # type: ignore[index]
    _check_noise(seen, estimates)
    for name, each in estimates.items():  # type: ignore[attr-defined]
        title = page_labels.statistic(name) + page_labels.meaning(name)
        if isinstance(each["value"], list):
            assert f"{title}{len(each['value'])} values" in seen.text
            continue
        shown = (
            page_labels.value(each["value"]),
            page_labels.value(each["standard_error"]),
            page_labels.interval(each["interval"]),
        )
        assert title + "".join(shown) in seen.text
        label = f"{page_labels.statistic(name)}: {shown[0]}, 95 % interval {shown[2]}"
        assert any(drawn.get("aria-label", "").startswith(label) for drawn in seen.all("svg"))
        away = said["dropout"]["estimates"][name]  # type: ignore[index]
        ends = "".join(map(page_labels.value, away)) if away else 2 * page_labels.DASH
        bound = "no bound" if bounds[name] is None else f"± {page_labels.value(bounds[name])}"
        assert f"{page_labels.statistic(name)}{ends}{bound}" in seen.text
    for name in said["refused"]:  # type: ignore[attr-defined]
        assert f"{page_labels.statistic(name)}: not estimated" in seen.text
    assert "Flagged0 reports." in seen.text
    for text in said["documents"].values():  # type: ignore[attr-defined]
        assert text in seen.text


def _check_safe(seen: Read) -> None:
    """Nobody's name or token, nothing from elsewhere, and nothing that the security policy would refuse."""
    assert "Resident" not in seen.text + str(seen.found)
    assert len(seen.all("script")) == len(seen.all("style")) == 1
    for name, attributes in seen.found:
        assert "style" not in attributes
        assert not [key for key in attributes if key.startswith("on")]
        for key in ("href", "src", "action"):
            target = attributes.get(key, "v1/")
            assert target.startswith("v1/") or (name == "link" and target.startswith("data:")), target
    identifiers = [attributes["id"] for _, attributes in seen.found if "id" in attributes]
    assert len(identifiers) == len(set(identifiers))
    for _, attributes in seen.found:
        assert attributes.get("aria-labelledby", identifiers[0]) in identifiers


def test_the_check_for_names_can_fail(towns: dict[str, Town]) -> None:
    seen = Read(tag("main", towns["degrees"].served.campaign.documents.roster[0]).encode())
    with pytest.raises(AssertionError):
        _check_safe(seen)


def test_the_code_is_the_one_that_participants_compute(towns: dict[str, Town], tmp_path: Path) -> None:
    with showing(towns["triangles"], tmp_path) as server:
        assert "Code of round" not in look(server).text
        send(server, 20)
        server.operator("/v1/rounds/1/close")
        shown, statement = look(server).text, server.ask("GET", "/v1/rounds/1/statement").body
        assert f"Code of round 1{code(statement)}" in shown
        assert "Code of round 2" not in shown


def test_links_lead_somewhere(towns: dict[str, Town], tmp_path: Path) -> None:
    with showing(towns["triangles"], tmp_path) as server:
        before = {each["href"] for each in look(server).all("a")}
        for number in (1, 2):
            send(server, 20, number)
            server.operator(f"/v1/rounds/{number}/close")
        closed = {each["href"] for each in look(server).all("a")}
        stated = {"v1/rounds/1/statement", "v1/rounds/2/statement"}
        assert closed - before == {"v1/rounds/1/transcript", *stated}
        assert {server.ask("GET", f"/{target}").status for target in closed} == {200}
        server.operator("/v1/estimate")
        after = {each["href"] for each in look(server).all("a")}
        assert after - before == {"v1/estimates", *stated}, "the transcript was erased with the reports"
        assert {server.ask("GET", f"/{target}").status for target in after} == {200}


def test_a_round_that_is_closing(towns: dict[str, Town], tmp_path: Path) -> None:
    with showing(towns["triangles"], tmp_path) as server:
        send(server, 6)
        rounds = server.app.rounds
        rounds.stages[1] = server.runner.run(server.app.writer.do(lambda store: store.freeze(1, round_root)))
        assert rounds.stages[1].state is State.CLOSING
        seen = look(server)
        assert "Round 1 of 2 is being closed." in seen.text
        assert "those that came in are being frozen" in seen.text
        assert rounds.stages[1].root in seen.text
        assert "data-finished" not in seen.main
        _check_safe(seen)
        server.runner.run(rounds.check_deadlines())
        assert "Round 2 of 2 is open" in look(server).text


def test_hostile_titles_are_words(tmp_path: Path) -> None:
    town = new_town(tmp_path / "town", title=HOSTILE)
    with showing(town, tmp_path) as server:
        seen = look(server)
        assert seen.text.count(HOSTILE) == 2, "once as the title and once as the heading"
        assert seen.all("img") == []
        _check_safe(seen)


def test_what_a_browser_is_told(towns: dict[str, Town], tmp_path: Path) -> None:
    with showing(towns["degrees"], tmp_path) as server:
        answer = server.ask("GET", "/")
        rules = dict(rule.split(" ", 1) for rule in answer.headers["content-security-policy"].split("; "))
        body = answer.body.decode()
        for kind, element in (("script-src", "script"), ("style-src", "style")):
            inside = re.findall(f"<{element}>(.*?)</{element}>", body, re.DOTALL)
            assert len(inside) == 1
            assert rules.pop(kind) == f"'sha256-{b64encode(sha256(inside[0].encode()).digest()).decode()}'"
        nothing = dict.fromkeys(("default-src", "base-uri", "form-action", "frame-ancestors"), "'none'")
        assert rules == nothing | {"img-src": "data:", "connect-src": "'self'"}
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert answer.headers["cache-control"] == "no-cache"
        assert "set-cookie" not in answer.headers
        addresses = set(re.findall(r"https?:[^\s\"'<>]+", body))
        assert addresses == {"http://www.w3.org/2000/svg"}, "the name of a format, which nobody asks for"
        assert server.ask("HEAD", "/").body == b""
        assert server.ask("POST", "/").problem == "method-not-allowed"


def test_too_few_reports(tmp_path: Path) -> None:
    town = new_town(tmp_path / "town", "triangles")
    with showing(town, tmp_path) as server:
        send(server, 2)
        assert "at least 5; 3 more to come" in look(server).text
        server.clock.now = FAR
        server.runner.run(server.app.rounds.check_deadlines())
        seen = look(server)
        assert "Too few reports came in. Nothing is estimated from them." in seen.text
        assert "what few people said is not published" in seen.text
        assert "Waiting" in seen.text
        assert "data-finished" in seen.main, "nobody waits for what will not come"
        assert "2 salted digests left, no report" in seen.text
        assert "transcript" not in {each["href"].rpartition("/")[2] for each in seen.all("a")}


def test_too_few_reports_are_kept_as_long_as_others(tmp_path: Path) -> None:
    town = new_town(tmp_path / "town", "degrees", retention=30 * DAY)
    with showing(town, tmp_path) as server:
        send(server, 2)
        server.clock.now = FAR + 5
        server.runner.run(server.app.rounds.check_deadlines())
        due = page_labels.date(FAR + 30 * DAY)
        assert f"Due {Read(due.encode()).text}" in look(server).text
        server.clock.now = FAR + 30 * DAY
        server.runner.run(server.app.rounds.check_deadlines())
        assert "2 salted digests left, no report" in look(server).text


def test_what_became_of_the_reports_is_what_the_store_says(tmp_path: Path) -> None:
    town = new_town(tmp_path / "town", "degrees", retention=30 * DAY)
    with showing(town, tmp_path) as server:
        said = look(server).text
        assert "30 days after the estimate, reports are erased, and with them when reports came" in said
        assert "keeps of each a salted digest, with the round and the number in the roster of who sent it" in said
        send(server, 10)
        server.operator("/v1/rounds/1/close")
        server.operator("/v1/estimate")
        due = page_labels.date(int(server.clock.now) + 30 * DAY)
        kept = look(server)
        assert f"Due {Read(due.encode()).text}" in kept.text
        assert "no report" not in kept.text
        assert "data-finished" in kept.main
        server.clock.now += 30 * DAY
        server.runner.run(server.app.rounds.check_deadlines())
        assert "10 salted digests left, no report" in look(server).text


def test_a_store_that_does_not_answer_is_not_spoken_for(
    towns: dict[str, Town], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails() -> None:
        raise StoreUnavailable("away")

    with showing(towns["degrees"], tmp_path) as server:
        send(server, 10)
        server.operator("/v1/rounds/1/close")
        server.operator("/v1/estimate")
        monkeypatch.setattr(server.app.writer._store, "has_bodies", fails)
        seen = look(server)
        assert "no report" not in seen.text
        assert "data-finished" not in seen.main
        assert seen.main["data-stale"] == "0", "and is asked again soon"


def test_a_second_has_one_page(towns: dict[str, Town], tmp_path: Path) -> None:
    with showing(towns["degrees"], tmp_path) as server:
        moments = [PageState.of(server.app.rounds) for _ in range(2)]
        assert moments[0] == moments[1]
        assert written(moments[0]) is written(moments[1])


def test_flagged_reports_are_counted(tmp_path: Path) -> None:
    town = new_town(tmp_path / "town", "degrees")
    with showing(town, tmp_path) as server:
        send(server, 10)
        server.operator("/v1/rounds/1/close")
        server.operator("/v1/estimate")
        rounds = server.app.rounds
        said = json.loads(rounds.answers or b"")
        said["flagged"] = {"reports": 2, "for": [{"round": 1, "what": "friends", "reports": 2}]}
        rounds.answers = json.dumps(said).encode()
        assert "Flagged2 reports." in look(server).text


@pytest.mark.parametrize("question", ["position", "triangles"])
def test_who_reads_the_first_answers_is_said(question: str, towns: dict[str, Town], tmp_path: Path) -> None:
    with showing(towns[question], tmp_path) as server:
        said = look(server).text
    assert ("everybody may read the first answers" in said) is (question == "triangles")
    assert "without seeing anybody" not in said
    assert "made of hashes and shows nobody’s report" in said


def test_the_page_names_a_command_that_finds_the_own_report(towns: dict[str, Town], tmp_path: Path) -> None:
    with showing(towns["position"], tmp_path) as server:
        assert data_flow.COMMAND in look(server).text
    assert data_flow.COMMAND.split()[0] == "va-edge-ldp"
    assert unknown_words(data_flow.COMMAND.split()[1:]) == []
