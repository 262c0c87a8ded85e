"""A campaign as it is typed: written by the real command, served by it, answered and estimated."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import pytest

from support.command import Run, run_main
from visibility_aware_edge_ldp.campaign.participant import program

PEOPLE = [f"person {number}" for number in range(6)]
NEW = ("--question", "degrees", "--title", "Friends in town", "--epoch", "spring", "--statistics", "edges")


@pytest.fixture
def campaign(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("VA_EDGE_LDP_HOME", str(tmp_path / "nobody"))
    return partial(run_main, monkeypatch, capsys, "campaign")


@pytest.fixture
def town(tmp_path: Path, campaign: Run) -> Path:
    """A campaign that is not served."""
    return new_town(tmp_path, campaign)


def new_town(folder: Path, campaign: Run) -> Path:
    """A campaign, made in this folder, which is the working folder."""
    (folder / "roster.txt").write_text("\n".join(PEOPLE) + "\n")
    said = campaign("new", "town", "--roster", "roster.txt", *NEW)
    assert said.code == 0, said.err
    return folder / "town"


@dataclass(frozen=True)
class Served:
    """A campaign that is served by the real command."""

    directory: Path
    url: str

    @property
    def charter(self) -> dict[str, object]:
        found: dict[str, object] = json.loads((self.directory / "charter.json").read_text())
        return found

    def token(self, name: str) -> Path:
        with (self.directory / "tokens.csv").open(newline="") as file:
            tokens = dict(csv.reader(file))
        path = self.directory.parent / f"{name}.token"
        path.write_text(tokens[name] + "\n")
        return path


@pytest.fixture
def served(town: Path) -> Iterator[Served]:
    with serving(town) as found:
        yield found


@contextmanager
def serving(town: Path) -> Iterator[Served]:
    """The real command, for as long as it is asked."""
    command = [sys.executable, "-m", "visibility_aware_edge_ldp.cli", "campaign", "serve", str(town), "--port", "0"]
    with subprocess.Popen(
        [*command, "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        assert said["campaign"] == program_identity(town)
        try:
            yield Served(town, said["address"])
        finally:  # else a test that fails waits for it for ever
            process.terminate()
            code = process.wait(30)
        assert code == 0
    assert not (town / "server.address").exists()


@pytest.fixture
def estimated(served: Served, campaign: Run, quick: None) -> Served:
    """Two have answered, and the answers are made."""
    answer_and_estimate(served, campaign)
    return served


@pytest.fixture(scope="module")
def kept_estimated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The same, once for all tests of a module that only read the server's answers."""
    folder, unheard = (
        tmp_path_factory.mktemp("kept"),
        SimpleNamespace(readouterr=lambda: SimpleNamespace(out="", err="")),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("COLUMNS", "100")
        patch.setenv("VA_EDGE_LDP_HOME", str(folder / "nobody"))
        patch.setattr(program, "pace_of", at_once)
        campaign: Run = partial(run_main, patch, unheard, "campaign")
        with serving(new_town(folder, campaign)) as served:
            answer_and_estimate(served, campaign)
            patch.undo()
            yield served


def answer_and_estimate(served: Served, campaign: Run) -> None:
    """Two people answer, the round is closed, and the answers are made."""
    issuer = str(served.charter["issuer"])
    for name in PEOPLE[:2]:
        words = ["--name", name, "--token-file", str(served.token(name)), "--issuer", issuer, "--home", f"home {name}"]
        assert campaign("enroll", served.url, *words).code == 0
        Path("friends.txt").write_text("person 3\n")
        assert campaign("answer", "--friends", "friends.txt", "--yes", "--home", f"home {name}").code == 0
    assert campaign("close", "town", "--round", "1").code == 0
    assert campaign("estimate", "town").code == 0


def program_identity(town: Path) -> str:
    return sha256((town / "charter.json").read_bytes()).hexdigest()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody watches the clock here."""
    monkeypatch.setattr(program, "pace_of", at_once)


def at_once(context: object, longest: float) -> float:
    """The pace of programs that need not hide when they are done."""
    return 0.001
