"""The participant's commands: what is typed on one's own device, shown before it is agreed to, and sent once."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from commands.conftest import NEW, PEOPLE, Served, program_identity, serving
from support.command import Run
from visibility_aware_edge_ldp.campaign.participant import server_checks
from visibility_aware_edge_ldp.campaign.participant.server_checks import Checked
from visibility_aware_edge_ldp.commands.campaign_participant import default_home


@pytest.mark.parametrize(
    ("standings", "code", "said"),
    [
        ((server_checks.INCLUDED, server_checks.INCLUDED), 0, ""),
        ((server_checks.INCLUDED, server_checks.NOT_CLOSED), 0, ""),
        ((server_checks.NOT_CLOSED,), 2, "No report of yours is in a frozen set so far."),
        ((server_checks.UNACKNOWLEDGED,), 2, "No report of yours is in a frozen set so far."),
        ((server_checks.INCLUDED, server_checks.LEFT_OUT), 2, "A report of yours was not counted"),
        ((server_checks.LEFT_OUT,), 2, "A report of yours was not counted"),
    ],
)
def test_a_check_ends_as_its_worst_round_does(
    standings: tuple[str, ...], code: int, said: str, campaign: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = [Checked("c", number, "d" * 64, each) for number, each in enumerate(standings, 1)]
    monkeypatch.setattr(server_checks, "check", lambda home, campaign, surroundings: found)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "ledger.db").touch()
    for words in ((), ("--json",)):
        ended = campaign("check", "--home", "home", *words)
        assert (ended.code, said in ended.err) == (code, True)


def aborted(*words: object, **options: object) -> bool:
    """Ctrl-C, or the end of input, where one is asked."""
    raise typer.Abort


def test_a_list_is_looked_at_and_a_second_answer_is_the_first_one(served: Served, campaign: Run, quick: None) -> None:
    name, issuer = PEOPLE[0], str(served.charter["issuer"])
    enrol = ("enroll", served.url, "--name", name, "--token-file", str(served.token(name)), "--issuer", issuer)
    assert "the server took your token" in campaign(*enrol).out
    Path("friends.txt").write_text("person 3\nPERSON  4\npersn 5\n")
    looked = campaign("answer", "--friends", "friends.txt", "--dry-run")
    assert (looked.code, looked.out.splitlines()) == (
        0,
        [
            "The list names 2 friends in the roster.",
            "Read as names of the roster: 'PERSON  4' as 'person 4'.",
            "Not in the roster, and left out: 'persn 5'.",
            "Nothing was answered or sent.",
        ],
    )
    assert len(campaign("answer", "--friends", "friends.txt", "--dry-run", "--json").json["understood"]) == 3
    refused = campaign("answer", "--friends", "friends.txt", "--yes")
    assert refused.code == 2
    assert "'persn 5' is not in the roster; did you mean 'person 5'" in refused.err
    assert campaign("status").out.splitlines()[1] == "  round 1: not answered"
    first = campaign("answer", "--friends", "friends.txt", "--leave-out-unknown", "--yes", "--json").json
    Path("other.txt").write_text("person 1\na stranger\n")  # nobody looks at it
    second = campaign("answer", "--friends", "other.txt")
    assert "Round 1 was answered before: the same answer was sent again, and no list was read." in second.out
    Path("other.txt").unlink()  # what is in the ledger needs no list
    again = campaign("answer", "--friends", "other.txt", "--json").json
    assert (first["again"], again["again"]) == (False, True)
    assert first["receipt"] == again["receipt"]


def test_a_wrong_token_is_said_when_it_is_used(served: Served, campaign: Run, quick: None) -> None:
    issuer, own, others = str(served.charter["issuer"]), PEOPLE[0], served.token(PEOPLE[1])
    Path("friends.txt").write_text("person 3\n")
    assert campaign("enroll", served.url, "--name", own, "--token-file", str(others), "--issuer", issuer).code == 0
    said = campaign("answer", "--friends", "friends.txt", "--yes")
    assert (said.code, "Enrol again under your own name and with your own token" in said.err) == (2, True)
    assert "not answered" in campaign("status").out


def test_a_home_that_is_a_file_is_said(served: Served, campaign: Run) -> None:
    words = ["--name", PEOPLE[0], "--token-file", str(served.token(PEOPLE[0])), "--issuer", served.charter["issuer"]]
    said = campaign("enroll", served.url, *map(str, words), "--home", "roster.txt")
    assert (said.code, said.err.count("Error: "), "name a folder of your own" in said.err) == (2, 1, True)


def test_declining_sends_nothing(served: Served, campaign: Run, quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    name, issuer = PEOPLE[0], str(served.charter["issuer"])
    enrol = ("enroll", served.url, "--name", name, "--token-file", str(served.token(name)), "--issuer")
    assert campaign(*enrol, "0" * 64).code == 3
    assert campaign(*enrol, issuer, "--cap", "PRIVATE=0.5").code == 0
    Path("friends.txt").write_text("person 3\n")
    declined = campaign("answer", "--friends", "friends.txt", "--yes")
    assert (declined.code, "you allowed 0.5" in declined.err, "--cap PRIVATE=1" in declined.err) == (4, True, True)
    assert campaign(*enrol, issuer, "--cap", "2", "--json").json["campaign"] == program_identity(served.directory)
    for answered in (lambda *words, **options: False, aborted):
        monkeypatch.setattr("typer.confirm", answered)
        declined = campaign("answer", "--friends", "friends.txt")
        assert (declined.code, "You declined. Nothing was answered or sent." in declined.err) == (4, True)
    for words in ((), ("--friends", "nowhere.txt")):
        unlisted = campaign("answer", *words)
        assert (unlisted.code, "friend list" in unlisted.err, "Costs" in unlisted.out) == (2, True, False)
    assert "open: 0 of 6" in campaign("status", "town").out
    # A server need not hold the operator's token: whoever looks needs none, whoever closes has it elsewhere.
    (served.directory / "operator.token").rename("elsewhere.token")
    assert "open: 0 of 6" in campaign("status", "town").out
    unsigned = campaign("close", "town", "--round", "1")
    assert (unsigned.code, "--token-file" in unsigned.err) == (2, True)
    few = campaign("close", "town", "--round", "1", "--token-file", "elsewhere.token")
    assert (few.code, "needs 2 reports and has 0" in few.err) == (2, True)


@pytest.mark.parametrize(
    ("platform", "variables", "place"),
    [
        ("linux", {"VA_EDGE_LDP_HOME": "/own"}, "/own"),
        ("linux", {"XDG_DATA_HOME": "/data"}, "/data/va-edge-ldp"),
        ("linux", {}, "/home/me/.local/share/va-edge-ldp"),
        ("darwin", {}, "/home/me/Library/Application Support/va-edge-ldp"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/va-edge-ldp"),
        ("win32", {}, "/home/me/AppData/Local/va-edge-ldp"),
    ],
)
def test_the_ledger_is_kept_with_ones_own_data(
    platform: str, variables: dict[str, str], place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("VA_EDGE_LDP_HOME", "XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setattr(Path, "home", lambda: Path("/home/me"))
    assert default_home().as_posix() == place


def test_two_people_consent_and_are_asked(town: Path, campaign: Run, quick: None) -> None:
    """Nothing is asked before the list stands; then of those two, and about each other."""
    rule = ("--consent-until", "7d")
    made = campaign("new", "agreed", "--roster", "roster.txt", *NEW, *rule)
    assert "Consent    of both ends, until 2" in made.out
    assert campaign("new", "hubs", "--roster", "roster.txt", "--question", "hubs", *NEW[2:6], *rule).code == 2
    with serving(Path("agreed").absolute()) as served:
        for name in PEOPLE[:3]:
            words = ("--name", name, "--token-file", str(served.token(name)), "--issuer", str(served.charter["issuer"]))
            said = campaign("enroll", served.url, *words, "--home", name)
            assert "Say so: va-edge-ldp campaign consent --home" in said.out
        for name in PEOPLE[:2]:
            said = campaign("consent", "--yes", "--home", name)
            assert said.out.splitlines()[-1] == "The server knows that you consent."
            assert "Consent    of both: a position is asked about only if you and the other person consent" in said.out
        assert campaign("consent", "--yes", "--home", PEOPLE[2], "--json").json["consents"] is True
        said = campaign("consent", "--yes", "--withdraw", "--home", PEOPLE[2])
        assert said.out.splitlines()[-1] == "The server knows that you do not consent."
        Path("friends.txt").write_text("person 3\n")
        early = campaign("answer", "--friends", "friends.txt", "--yes", "--home", PEOPLE[0])
        assert (early.code, "people say whether they consent" in early.err) == (4, True)
        assert campaign("close", "agreed").code == 2, "what is closed?"
        assert campaign("close", "agreed", "--consents").out.startswith("Round 1    open: 0 of 2 have answered")
        for name in PEOPLE[:2]:
            said = campaign("answer", "--friends", "friends.txt", "--yes", "--home", name)
            assert said.code == 0
            assert "Scope      only positions where both ends consented (2 of 6 people did)" in said.out
            assert "your answer covers 20% of your positions; 4 lie outside" in said.out
        said = campaign("answer", "--friends", "friends.txt", "--yes", "--home", PEOPLE[2])
        assert said.out.startswith("Nothing is asked of you")
        assert campaign("close", "agreed", "--round", "1").code == 0
        found = campaign("estimate", "agreed", "--json").json
        assert (found["consents"]["people"], found["consents"]["of"]) == (2, 6)
        assert campaign("estimate", "agreed", "--stop").out == "No answers are being made.\n"
        assert "inside" in campaign("estimate", "agreed").out
        assert campaign("check", "--home", PEOPLE[0]).code == 0
