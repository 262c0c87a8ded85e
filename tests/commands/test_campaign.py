"""The issuer's and the operator's commands: a whole campaign as it is typed, and what is said to those who mistype."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from commands.conftest import NEW, PEOPLE, Served, program_identity
from support.command import Run
from test_front_door import loaded_by_command
from visibility_aware_edge_ldp.campaign import http_client as operators
from visibility_aware_edge_ldp.campaign.http_client import Operator
from visibility_aware_edge_ldp.commands import campaign_labels


def page_of(url: str, path: str) -> tuple[int, bytes]:
    connection = HTTPConnection(url.removeprefix("http://"), timeout=30)
    try:
        connection.request("GET", path)
        reply = connection.getresponse()
        return reply.status, reply.read()
    finally:
        connection.close()


def test_a_new_campaign_says_what_it_promises_and_what_to_give_to_whom(town: Path, campaign: Run) -> None:
    said = campaign(
        "new", "other", "--roster", "roster.txt", *NEW, "--closes", "2w", "--retention", "30d", "--fewest", "3"
    )
    charter = json.loads(Path("other/charter.json").read_text())
    assert f"Campaign   {program_identity(Path('other'))}" in said.out
    assert f"Issuer     {charter['issuer']}" in said.out
    assert "a PRIVATE position loses at most ε = 1 against all reports" in said.out
    assert "FRIEND_VISIBLE" not in said.out
    assert "Keeps      reports for 30 days after the estimate; if fewer than 3 answer in time" in said.out
    assert (charter["retention"], charter["rounds"][0]["fewest"]) == (30 * 86_400, 3)
    for name in ("issuer.key", "operator.token", "tokens.csv"):
        assert name in said.out
        assert Path("other", name).stat().st_mode & 0o77 == 0


def test_names_that_may_be_one_person_are_pointed_out(town: Path, campaign: Run) -> None:
    Path("twice.txt").write_text("Ana Díaz\nbob\ndiaz, ana\nBOB\ncyd\n")
    said = campaign("new", "twice", "--roster", "twice.txt", *NEW)
    assert "'Ana Díaz' and 'diaz, ana' may be one person, and 1 more such names" in said.err
    assert "may be one person" not in campaign("new", "once", "--roster", "roster.txt", *NEW).err


def test_a_new_campaign_as_json(town: Path, campaign: Run) -> None:
    said = campaign("new", "two", "--roster", "roster.txt", *NEW[:1], "triangles", *NEW[2:6], "--json")
    assert said.code == 0, said.err
    assert said.json["participants"] == 6
    assert said.json["loss"].keys() == {"PRIVATE"}
    assert len(said.json["closes"]) == 2
    # The same issuer again: whoever has pinned it need not pin another.
    again = campaign("new", "more", "--roster", "roster.txt", *NEW, "--issuer-key", "two/issuer.key", "--json")
    assert again.json["issuer"] == said.json["issuer"]


def test_a_new_campaign_inside_a_scope(town: Path, campaign: Run) -> None:
    names = Path("roster.txt").read_text().splitlines()
    Path("people.csv").write_text("id,ward\n" + "".join(f"{name},{place % 2}\n" for place, name in enumerate(names)))
    words = ("--scope", "group:ward", "--attributes", "people.csv")
    said = campaign("new", "inside", "--roster", "roster.txt", *NEW, *words)
    assert said.code == 0, said.err
    assert "Scope      both ends have the same ward: 40.0% of the positions" in said.out
    told = campaign("new", "json", "--roster", "roster.txt", *NEW, *words, "--json").json
    assert told["scope"] == {"inside": "both ends have the same ward", "positions_outside": 9}
    assert "scope" not in campaign("new", "plain", "--roster", "roster.txt", *NEW, "--json").json


def test_a_new_campaign_of_which_people_download_parts(town: Path, campaign: Run) -> None:
    Path("many.txt").write_text("".join(f"person {number}\n" for number in range(60)))
    words = ("--roster", "many.txt", *NEW, "--epsilon", "3", "--question", "triangles", "--statistics", "triangles")
    said = campaign("new", "parts", *words, "--share", "0.1")
    assert said.code == 0, said.err
    assert "Downloads  1/10 of the first answers, about 1 kB, that a public coin chose" in said.out
    told = campaign("new", "json", *words, "--download", "40", "--json").json
    assert told["parts"] == json.loads(Path("json/charter.json").read_text())["parts"]["groups"] == 7
    assert "parts" not in campaign("new", "all", *words, "--download", "10MB", "--json").json
    for more, sentence in (
        (("--share", "0.1", "--download", "40"), "Say once"),
        (("--share", "0.5"), "at most 1/"),
        (("--share", "0.1", "--question", "degrees", "--statistics", "edges"), "Only the question 'triangles'"),
        (("--share", "0.1", "--statistics", "four_cycles"), "where triangles are counted"),
        (("--share", "0.01"), "60 people are put into 100 groups"),
        (("--share", "0.0000001"), "there would be 10,000,000"),
    ):
        refused = campaign("new", "refused", *words, *more)
        assert refused.code == 2
        assert sentence in refused.err
        assert not Path("refused").exists()


def test_rosters_and_public_edges_of_several_kinds(town: Path, campaign: Run) -> None:
    Path("roster.csv").write_text("name,age\n1,30\n2,31\n3,32\n4,33\n")
    Path("roster.json").write_text('["ann", "bob", "eve"]')
    Path("public.txt").write_text("1 2\n3 4\n")
    Path("policy.toml").write_text('kind = "profiles"\nrule = "any"\n[profiles]\n1 = "public"\n3 = "public"\n')
    said = campaign(
        "new", "a", "--roster", "roster.csv", "--policy", "policy.toml", "--public-edges", "public.txt", *NEW
    )  # fmt: skip
    assert said.code == 0, said.err
    assert said.err.startswith("4 people at ε = ")
    assert len(json.loads(Path("a/edges.json").read_text())) == 2
    assert sorted(json.loads(Path("a/roster.json").read_text())) == [1, 2, 3, 4]
    assert campaign("new", "b", "--roster", "roster.json", *NEW).code == 0
    silent = campaign("new", "c", "--roster", "roster.csv", "--policy", "policy.toml", *NEW)
    assert "every public position counts as empty" in silent.err


def test_a_whole_campaign_as_it_is_typed(served: Served, campaign: Run, quick: None) -> None:
    issuer = str(served.charter["issuer"])
    Path("friends.txt").write_text("person 0\nperson 1\na stranger\n")
    for number, name in enumerate(PEOPLE[2:]):
        token, home = str(served.token(name)), f"home {name}"
        said = campaign("enroll", served.url, "--name", name, "--token-file", token, "--issuer", issuer, "--home", home)
        assert said.code == 0, said.err
        assert "were checked here" in said.out
        said = campaign(
            "answer",
            "--friends",
            "friends.txt",
            "--leave-out-unknown",
            "--yes",
            "--home",
            home,
            *(["--json"] if number else []),
        )
        assert said.code == 0, said.err
        if number:
            assert said.json["receipt"]["campaign"] == program_identity(served.directory)
            assert "Costs" in said.err
        else:
            assert "ε = 1 now" in said.out
            assert "'a stranger'" in said.out
            assert "Stored by the server: round 1" in said.out
    early = campaign("check", "--home", f"home {PEOPLE[2]}")
    assert (early.code, "the round is not closed yet" in early.out, "so far" in early.err) == (2, True, True)
    own = campaign("status", "--home", f"home {PEOPLE[2]}")
    assert "round 1: answered and acknowledged" in own.out
    assert campaign("status", "--home", f"home {PEOPLE[2]}", "--json").json["campaigns"][0]["lost"]["PRIVATE"] == "1"
    assert "Round 1    open: 4 of 6 have answered" in campaign("status", served.url).out

    early = campaign("estimate", "town")
    assert (early.code, "Round 1 is open" in early.err) == (2, True)
    unsigned = campaign("close", served.url, "--round", "1")
    assert (unsigned.code, "--token-file" in unsigned.err) == (2, True)
    wrong = campaign("close", served.url, "--round", "1", "--token-file", str(served.token(PEOPLE[0])))
    assert (wrong.code, "does not take this operator's token" in wrong.err) == (2, True)
    assert campaign("close", "town", "--round", "3").code == 2
    assert "closed: 4 of 6" in campaign("close", "town", "--round", "1").out
    assert campaign("close", "town", "--round", "1", "--json").json["received"] == 4
    frozen = campaign("check", "--home", f"home {PEOPLE[2]}")
    assert (frozen.code, "is, unchanged, one of 4 in the set that the server froze" in frozen.out) == (0, True)

    made = campaign("estimate", "town")
    assert made.code == 0, made.err
    for words in (
        "edges",
        "95 % interval",
        "Round 1: 4 of 6 answered (66.7%)",
        "loses at most ε = 1",
        "Manipulation: if 1 of",
    ):
        assert words in made.out
    assert "Simulated" not in made.out
    counted = campaign("check", "--home", f"home {PEOPLE[2]}")
    assert "one of 4 in the set that the answers name, with the root" in counted.out
    assert campaign("check", "--home", f"home {PEOPLE[2]}", "--json").json["reports"][0]["standing"] == "included"
    assert campaign("check", "--home", "nowhere").code == 2
    assert campaign("check", "--server", "https://elsewhere.example.org").code == 2
    # Anybody may read them, and reads what the server keeps.
    everybody = campaign("estimate", served.url, "--json")
    status, kept = page_of(served.url, "/v1/estimates")
    assert status == 200
    assert everybody.json == {"schema": "va-edge-ldp/campaign-estimate/1", **json.loads(kept)}
    status, front = page_of(served.url, "/")
    assert status == 200
    assert b"Friends in town" in front


@dataclass(frozen=True)
class Liar(Operator):
    """A server that says what it likes."""

    answered: Callable[[dict[str, Any]], object] = lambda content: content

    def answers(self) -> bytes:
        return json.dumps(self.answered(json.loads(super().answers()))).encode()


def _without(key: str) -> Callable[[dict[str, Any]], object]:
    return lambda content: {name: each for name, each in content.items() if name != key}


@pytest.mark.parametrize(
    ("lie", "code", "said"),
    [
        (lambda content: content, 0, ""),
        (lambda content: [content], 3, "is not a JSON object"),
        (lambda content: {**content, "campaign": "0" * 64}, 3, "another campaign than its charter"),
        (lambda content: {**content, "format": "va-edge-ldp estimates 1"}, 3, "this program reads"),
        (_without("certificate"), 3, "lack what answers of their version have"),
        (lambda content: {**content, "rounds": [{"answered": "many"}]}, 3, "lack what answers"),
        (lambda content: {**content, "estimates": 7}, 3, "lack what answers"),
    ],
)
def test_a_stranger_s_answers_are_read_with_care(
    lie: Callable[[dict[str, Any]], object],
    code: int,
    said: str,
    kept_estimated: Served,
    campaign: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(campaign_labels, "operator_at", lambda place, token: Liar(kept_estimated.url, answered=lie))
    found = campaign("estimate", kept_estimated.url)
    assert (found.code, said in found.err) == (code, True)


def test_a_stranger_s_words_do_not_move_the_cursor(
    kept_estimated: Served, campaign: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lie(content: dict[str, Any]) -> object:
        content["certificate"]["policy"] = "all is well\x1b]0;owned\x07\x1b[2J"
        return content

    monkeypatch.setattr(campaign_labels, "operator_at", lambda place, token: Liar(kept_estimated.url, answered=lie))
    found = campaign("estimate", kept_estimated.url)
    assert (found.code, "\x1b" in found.out, "\\x1b]0;owned" in found.out) == (0, False, True)


def test_a_stranger_s_names_are_no_styles(
    kept_estimated: Served, campaign: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lie(content: dict[str, Any]) -> object:
        content["estimates"]["[/x][red]all[link=x]"] = content["estimates"]["edges"]
        return content

    monkeypatch.setattr(campaign_labels, "operator_at", lambda place, token: Liar(kept_estimated.url, answered=lie))
    found = campaign("estimate", kept_estimated.url)
    assert (found.code, "[/x][red]all[link=x]" in found.out) == (0, True)


def test_more_than_answers_can_be_is_not_read(
    kept_estimated: Served, campaign: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operators, "LARGEST_ANSWER", 300)
    found = campaign("estimate", kept_estimated.url)
    assert (found.code, "answers with more than" in found.err) == (3, True)


def test_a_campaign_that_is_too_dear_is_said_to_be(campaign: Run, town: Path) -> None:
    said = campaign("new", "dear", "--roster", "roster.txt", *NEW, "--epsilon", "2")
    assert (said.code, "enrols with --cap PRIVATE=2" in said.err) == (0, True)
    assert "Note" not in campaign("new", "cheap", "--roster", "roster.txt", *NEW, "--epsilon", "1").err


def test_a_second_server_says_why_it_does_not_start_and_leaves_the_first_alone(served: Served, campaign: Run) -> None:
    command = [sys.executable, "-m", "visibility_aware_edge_ldp.cli", "campaign", "serve", str(served.directory)]
    second = subprocess.run([*command, "--port", "0"], capture_output=True, text=True, check=False)
    errors = [line for line in second.stderr.splitlines() if not line.startswith("{")]
    assert (second.returncode, errors) == (2, ["Error: Another server uses the store store.db. Stop it first."])
    assert "open: 0 of 6" in campaign("status", "town").out, "by the directory, as before"


@pytest.mark.long
@pytest.mark.parametrize("words", ["serve town", "flagged town", "backup town copies", "rehearse random:10,20"])
def test_who_has_no_server_parts_is_told_what_to_install(words: str, town: Path) -> None:
    (town / "store.db").touch()
    missing = "import sys; sys.modules.update(dict.fromkeys(('uvicorn', 'apsw')))"
    command = f"{missing}; from visibility_aware_edge_ldp.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", command, "campaign", *words.split()], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "pip install 'visibility-aware-edge-ldp[serve]'" in done.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("new", "x", "--roster", "none.txt", *NEW), "cannot be read"),
        (("new", "town", "--roster", "roster.txt", *NEW), "exists already"),
        (("new", "x", "--roster", "roster.txt", "--question", "friends", *NEW[2:]), "not a question"),
        (("new", "x", "--roster", "roster.txt", *NEW, "--closes", "1999-01-01"), "in the past"),
        (("new", "x", "--roster", "roster.txt", *NEW, "--closes", "soon"), "A date is written"),
        (("new", "x", "--roster", "roster.txt", *NEW, "--closes", "1d", "--closes", "2d"), "rounds"),
        (("new", "x", "--roster", "roster.txt", *NEW, "--rounds", "2", "--closes", "1d"), "has 1 rounds"),
        (
            (
                "new",
                "x",
                "--roster",
                "roster.txt",
                "--question",
                "position",
                *NEW[2:],
                "--rounds",
                "2",
                "--closes",
                "1d",
            ),
            "--closes 2 times",
        ),
        (("new", "x", "--roster", "roster.txt", *NEW, "--retention", "long"), "A span of time"),
        (("new", "x", "--roster", "roster.txt", *NEW, "--fewest", "7"), "--fewest 7 is more than the 6 in the roster"),
        (("new", "x", "--roster", "roster.txt", *NEW, "--epsilon", "0"), "epsilon"),
        (("new", "x", "--roster", "roster.txt", *NEW, "--policy", "hubs:0.1"), ""),
        (("new", "x", "--roster", "roster.txt", *NEW, "--public-edges", "edges.txt"), "not in the roster"),
        (("new", "x", "--roster", "roster.txt", *NEW, "--scope", "lists"), "needs public friend lists"),
        (("new", "x", "--roster", "roster.txt", *NEW, "--scope", "group:ward"), "--attributes FILE"),
        (("new", "x", "--roster", "roster.txt", *NEW, "--scope", "file:edges.txt"), "not in the roster"),
        (("new", "x", "--roster", "roster.txt", *NEW, "--issuer-key", "roster.txt"), "not an issuer's key"),
        (("new", "x", "--roster", "twice.txt", *NEW), "written alike"),
        (("serve", "x"), "not the directory of a campaign"),
        (("serve", "town", "--port", "70000"), "from 0 to 65535"),
        (("serve", "town", "--store", "mysql://x", "--port", "0"), ""),
        (("close", "x", "--round", "1"), "neither a server's address nor"),
        (("status",), "not enrolled"),
        (("status", "ftp://x"), "looks like https://"),
        (("status", "http://example.org"), "Use https"),
        (("answer", "--friends", "-"), "add --yes"),
        (("answer", "--yes"), "enrol first"),
        (
            (
                "enroll",
                "http://127.0.0.1:9",
                "--name",
                "x",
                "--token-file",
                "roster.txt",
                "--issuer",
                "x",
                "--cap",
                "A=1",
            ),
            "A cap is",
        ),
        (("rehearse", "random:20,40", "--absent", "many%"), "A share is written"),
        (("rehearse", "random:20,40", "--question", "friends"), "not a question"),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, tuple) else "",
)
def test_bad_input_is_one_sentence_and_exit_2(words: tuple[str, ...], sentence: str, town: Path, campaign: Run) -> None:
    Path("edges.txt").write_text("1 2\n")
    Path("twice.txt").write_text("ann\nann\n")
    said = campaign(*words)
    assert said.code == 2
    assert said.out == ""
    assert said.err.count("Error: ") == 1
    assert sentence in said.err
    assert "Traceback" not in said.err
    assert not Path("x").exists()


def test_a_server_that_is_not_there_is_said(town: Path, campaign: Run) -> None:
    said = campaign("close", "town", "--round", "1")
    assert (said.code, "campaign serve town" in said.err) == (5, True)
    (town / "server.address").write_text("http://127.0.0.1:9")
    said = campaign("estimate", "town")
    assert (said.code, "Is it running?" in said.err) == (5, True)


@pytest.mark.parametrize(
    "word", ["", "new", "serve", "enroll", "answer", "status", "check", "close", "estimate", "flagged", "rehearse"]
)
def test_help_loads_nothing_heavy(word: str) -> None:
    assert loaded_by_command(f"campaign {word} -h") == set()


def test_every_command_takes_json() -> None:
    from typer.main import get_command

    from visibility_aware_edge_ldp.cli import app

    found: Callable[[str], object] = get_command(app).commands["campaign"].commands.__getitem__  # type: ignore[attr-defined]
    for word in ("new", "serve", "enroll", "answer", "status", "check", "close", "estimate", "flagged", "rehearse"):
        assert any("--json" in each.opts for each in found(word).params)  # type: ignore[attr-defined]
