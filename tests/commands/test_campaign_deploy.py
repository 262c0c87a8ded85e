"""What operators deploy: a copy of a live store is the same campaign, and the examples say what the program takes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from support.command import Run, run_main
from visibility_aware_edge_ldp.campaign import rehearsal
from visibility_aware_edge_ldp.campaign.directory import read_campaign
from visibility_aware_edge_ldp.campaign.http_client import Operator
from visibility_aware_edge_ldp.campaign.rehearsal_processes import serving
from visibility_aware_edge_ldp.campaign.server.app import open_store
from visibility_aware_edge_ldp.campaign.server.stores.sql import Store
from visibility_aware_edge_ldp.campaign.server.stores.store import Upload
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.truth.synthetic import parse

DEPLOY = Path(__file__).parents[2] / "deploy"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return partial(run_main, monkeypatch, capsys)


def copy_of(campaign: Path, folder: Path, *words: str) -> Path:
    command = [sys.executable, "-c", "from visibility_aware_edge_ldp.cli import main; main()"]
    command += ["campaign", "backup", str(campaign), str(folder), "--json", *words]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return Path(json.loads(done.stdout)["copy"])


def restored(campaign: Path, copy: Path, place: Path) -> Path:
    """As the guide says it: the campaign's directory without secrets, and the copy as its store."""
    shutil.copytree(
        campaign, place / "campaign", ignore=shutil.ignore_patterns("issuer.key", "tokens.csv", "store.db*")
    )
    shutil.copyfile(copy, place / "campaign" / "store.db")
    return place


class Copying(Operator):
    """An operator who copies the live store after each round that it closes."""

    copies: dict[int, Path] = {}  # noqa: RUF012
    closed: dict[int, dict[str, object]] = {}  # noqa: RUF012
    place: Path

    def close(self, number: int) -> dict[str, object]:
        early = copy_of(self.place / "campaign", self.place / "early")
        self.copies[0] = early if number == 1 else self.copies[0]
        self.closed[number] = super().close(number)
        self.copies[number] = copy_of(self.place / "campaign", self.place / f"copies {number}")
        return self.closed[number]


@pytest.fixture
def copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, rehearsal.Rehearsal]:
    place = tmp_path / "real"
    monkeypatch.setattr(Copying, "place", place, raising=False)
    monkeypatch.setattr(rehearsal, "Operator", Copying)
    world = VisibilityAwareGraph(parse("random:16,40"), VisibilityPolicy.nothing())
    return place, rehearsal.rehearse(world, "triangles", 2, processes=1, keep=place)


@pytest.mark.long
def test_a_copy_of_a_live_store_is_the_same_campaign(copies: tuple[Path, rehearsal.Rehearsal], tmp_path: Path) -> None:
    place, found = copies
    frozen = Copying.closed[1]
    with serving(restored(place / "campaign", Copying.copies[1], _made(tmp_path / "after round 1"))) as url:
        first, second = Operator(url).rounds(found.charter)
    assert first["root"] == frozen["root"]
    assert first["transcript"] == frozen["transcript"]
    assert (first["state"], second["state"]) == ("closed", "open")
    assert second["received"] == 0
    with serving(restored(place / "campaign", Copying.copies[2], _made(tmp_path / "after round 2"))) as url:
        again = Operator(url, (place / "campaign" / "operator.token").read_text())
        assert [each["root"] for each in again.rounds(found.charter)] == [
            Copying.closed[number]["root"] for number in (1, 2)
        ]
        # The same answers, from the copy: what was estimated follows from the frozen reports alone.
        assert json.loads(again.answers()) == found.answers
    # A copy from before the round was closed knows all reports and has no root: it is not the frozen campaign.
    with serving(restored(place / "campaign", Copying.copies[0], _made(tmp_path / "before"))) as url:
        first, _ = Operator(url).rounds(found.charter)
    assert (first["state"], first["root"], first["received"]) == ("open", "", frozen["received"])


@pytest.fixture
def town(tmp_path: Path, run: Run) -> Path:
    """A campaign that nobody has answered yet."""
    place, roster = tmp_path / "town", tmp_path / "roster.txt"
    roster.write_text("ann\nbob\ncyd\n")
    asked = ["--question", "degrees", "--title", "Town", "--epoch", "e", "--closes", "1d"]
    assert run("campaign", "new", str(place), "--roster", str(roster), *asked).code == 0
    return place


def store_of(town: Path) -> Store:
    return open_store(f"sqlite:///{town / 'store.db'}", read_campaign(town).charter.identity, 1)


def kept_in(copy: Path) -> int:
    import apsw

    with closing(apsw.Connection(str(copy), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        return len(connection.execute("SELECT body FROM bodies").fetchall())


def test_copies_are_private_whole_and_few(town: Path, tmp_path: Path, run: Run) -> None:
    folder = tmp_path / "copies"
    with closing(store_of(town)) as store:
        for number in range(5):
            store.put([Upload.of(1, number, b"report %d" % number)])
            newest = Path(run("campaign", "backup", str(town), str(folder), "--keep", "2", "--json").json["copy"])
            assert kept_in(newest) == number + 1
            assert newest.stat().st_mode & 0o77 == 0
    assert len(list(folder.iterdir())) == 2
    assert newest in folder.iterdir()
    assert run("campaign", "backup", str(town), str(folder)).out.strip().endswith("Z.db")
    assert len(list(folder.iterdir())) == 3, "without --keep all stay"
    run("campaign", "backup", str(town), str(folder), "--keep", "50")
    assert len(list(folder.iterdir())) == 4


def test_copies_that_hold_reports_go_when_the_reports_have_gone(town: Path, tmp_path: Path, run: Run) -> None:
    folder = tmp_path / "copies"

    def copy() -> list[int]:
        assert run("campaign", "backup", str(town), str(folder)).code == 0
        return [kept_in(each) for each in sorted(folder.iterdir())]

    with closing(store_of(town)) as store:
        assert copy() == [0]
        store.put([Upload.of(1, 0, b"report")])
        assert copy() == [0, 1]
        store.freeze(1, lambda leaves: "root")
        store.settle(1, b"", "", opens_next=False)
        store.keep_estimate(b"{}", 7)
        assert copy() == [0, 1, 1]
        store.forget_bodies(8)
        assert copy() == [0, 0], "those without reports stay, however old"


def test_while_reports_are_erased_none_are_copied(town: Path, tmp_path: Path, run: Run) -> None:
    """The mark is there before the last report has gone."""
    folder = tmp_path / "copies"
    with closing(store_of(town)) as store:
        store.put([Upload.of(1, 0, b"report")])
        assert run("campaign", "backup", str(town), str(folder)).code == 0
        store.freeze(1, lambda leaves: "root")
        store.settle(1, b"", "", opens_next=False)
        store.keep_estimate(b"{}", 7)
        store._mark_erased(8)  # type: ignore[attr-defined]
        for words in ((), ("--json",)):
            done = run("campaign", "backup", str(town), str(folder), *words)
            assert (done.code, "is erasing the reports" in done.err, list(folder.iterdir())) == (2, True, [])
        store.forget_bodies(8)
        assert run("campaign", "backup", str(town), str(folder)).code == 0
    assert [kept_in(each) for each in folder.iterdir()] == [0]


def test_other_campaigns_copies_in_the_same_folder_are_left_alone(town: Path, tmp_path: Path, run: Run) -> None:
    folder, other = tmp_path / "copies", tmp_path / "other"
    words = ["--roster", str(tmp_path / "roster.txt"), "--question", "degrees", "--title", "Other", "--epoch", "e"]
    assert run("campaign", "new", str(other), *words).code == 0
    with closing(store_of(other)) as store:
        store.put([Upload.of(1, 0, b"theirs")])
        theirs = Path(run("campaign", "backup", str(other), str(folder), "--json").json["copy"])
    longer = theirs.with_name(theirs.name.replace("store-", "store-b-"))
    shutil.copy(theirs, longer)
    with closing(store_of(town)) as store:
        store.put([Upload.of(1, 0, b"ours")])
        for _ in range(3):
            assert run("campaign", "backup", str(town), str(folder), "--keep", "1").code == 0
        store.freeze(1, lambda leaves: "root")
        store.settle(1, b"", "", opens_next=False)
        store.keep_estimate(b"{}", 7)
        store.forget_bodies(8)
        ours = Path(run("campaign", "backup", str(town), str(folder), "--json").json["copy"])
    assert set(folder.iterdir()) == {ours, theirs, longer}
    mistaken = run("campaign", "backup", str(town), str(folder), "--store", str(other / "store.db"))
    assert (mistaken.code, "is not the store of this campaign" in mistaken.err) == (2, True)


def test_what_a_killed_copying_left_goes_and_what_cannot_be_read_is_named(town: Path, tmp_path: Path, run: Run) -> None:
    folder = tmp_path / "copies"
    with closing(store_of(town)) as store:
        store.put([Upload.of(1, 0, b"report")])
        first = Path(run("campaign", "backup", str(town), str(folder), "--json").json["copy"])
        for ending in (".part", ".part-journal"):
            first.with_suffix(ending).write_bytes(b"report")
        strange = folder / "store-20261116T214032.251079776Z.db"
        strange.touch()
        named = run("campaign", "backup", str(town), str(folder), "--keep", "1", "--json")
    assert (named.code, f"{strange} cannot be read" in named.err, named.json["unread"]) == (2, True, [str(strange)])
    assert set(folder.iterdir()) == {Path(named.json["copy"]), strange}, "what can be judged has gone"


def test_what_is_no_store_is_not_copied(town: Path, tmp_path: Path, run: Run) -> None:
    done = run("campaign", "backup", str(town), str(tmp_path / "copies"))
    assert (done.code, (town / "store.db").exists(), (tmp_path / "copies").exists()) == (2, False, False)
    assert "serve the campaign first" in done.err
    (town / "store.db").write_bytes(b"no database" * 1000)
    done = run("campaign", "backup", str(town), str(tmp_path / "copies"))
    assert (done.code, list((tmp_path / "copies").iterdir())) == (2, [])
    assert "was not copied" in done.err
    assert run("campaign", "backup", str(town), str(tmp_path / "copies"), "--keep", "-1").code == 2


def _made(place: Path) -> Path:
    place.mkdir()
    return place


@pytest.mark.long
def test_a_server_for_all_addresses_is_reached_from_its_directory_and_its_store_is_private(
    town: Path, run: Run
) -> None:
    """As in a container: it listens everywhere, and whoever started it thought of no umask."""
    words = ["campaign", "serve", str(town), "--host", "0.0.0.0", "--port", "0"]
    command = [sys.executable, "-c", "from visibility_aware_edge_ldp.cli import main; main()", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, umask=0o022) as server:
        try:
            assert server.stdout is not None
            assert "is served at http://127.0.0.1:" in server.stdout.readline()
            assert run("campaign", "status", str(town), "--json").json["rounds"][0]["state"] == "open"
            kept = [town / name for name in ("store.db", "store.db-wal", "store.db-shm")]
            assert [each.name for each in kept if each.stat().st_mode & 0o77] == []
        finally:
            server.terminate()


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("va-edge-ldp-campaign@.service", "serve"),
        ("va-edge-ldp-backup@.service", "backup"),
        ("Containerfile", "serve"),
    ],
)
def test_what_is_started_is_a_command_that_exists(name: str, command: str) -> None:
    from test_docs import unknown_words

    text = (DEPLOY / name).read_text(encoding="utf-8")
    if name == "Containerfile":
        (listed,) = re.findall(r"^ENTRYPOINT \[(.*)\]$", text, re.MULTILINE)
        words = re.findall(r'"([^"]*)"', listed)[1:]
    else:
        (line,) = re.findall(r"^ExecStart=\S*va-edge-ldp (.*)$", text, re.MULTILINE)
        words = line.removesuffix(" $OPTIONS").split()
    assert words[:2] == ["campaign", command]
    assert unknown_words(words) == []


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
@pytest.mark.parametrize(("added", "taken"), [("", True), ("\n[Service]\nNonsense=yes\n", False)])
def test_the_units_are_ones_that_systemd_takes(added: str, taken: bool, tmp_path: Path) -> None:
    for unit in DEPLOY.glob("*@.*"):
        text = re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", unit.read_text(), flags=re.MULTILINE)
        (tmp_path / unit.name.replace("@.", "@town.")).write_text(text + (added if "campaign" in unit.name else ""))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *sorted(map(str, tmp_path.iterdir()))],
        capture_output=True,
        text=True,
        check=False,
    )
    complaints = [line for line in done.stderr.splitlines() if str(tmp_path) in line or "town" in line]
    assert (complaints == []) is taken
