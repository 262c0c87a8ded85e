"""The guide to a campaign is typed as it stands, by several people, and prints what it shows.

Lines that begin with ``name@device$`` are commands; each name has a home of its own. The address and the issuer on
the page are replaced by the real ones; digests, dates and noisy numbers are compared by their form.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from test_docs import ROOT, says, unknown_words

PAGE = ROOT / "docs" / "how-to" / "campaign.md"
SESSION = re.compile(r"^```shell-session\n(.*?)^```", re.MULTILINE | re.DOTALL)
PROMPT = re.compile(r"^(\w+)@\w+\$ ", re.MULTILINE)
ADDRESS = "https://survey.example.org"
ASKED = "Answer? [y/N]: "


def typed(text: str) -> Iterator[tuple[str, str, str]]:
    """(who, command, what is shown below it)."""
    for block in SESSION.findall(text):
        parts = PROMPT.split(block)[1:]
        for who, rest in zip(parts[::2], parts[1::2], strict=True):
            lines = rest.split("\n")
            last = next(i for i, line in enumerate(lines) if not line.endswith("\\"))
            yield who, "\n".join(lines[: last + 1]), "\n".join(lines[last + 1 :])


def form(text: str) -> str:
    """The text with what differs from run to run taken out."""
    text = re.sub(r"\b[0-9a-f]{12,}\b", "#", text)
    text = re.sub(r"\b[0-9A-Z]{4}(?:-[0-9A-Z]{4}){4}\b", "CODE", text)
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "DATE", text)
    # Whether a number can be told from nothing is a matter of noise, too.
    return "\n".join(_noisy(line) for line in text.split("\n") if not line.startswith("Noise:"))


def _noisy(line: str) -> str:
    if line.startswith(("│", "Dropout:", "Manipulation:")):
        line = re.sub(r"(?<=[ \[])-?[\d.,]*\d", "0", line)
    return re.sub("[━─ ]+", " ", line) if line[:1] in ("┏", "┃", "┡", "│", "└") else line


@dataclass
class Town:
    """People who type, each at home, and one server."""

    folder: Path
    replaced: dict[str, str] = field(default_factory=dict)
    server: subprocess.Popen[str] | None = None

    def environment(self, who: str) -> dict[str, str]:
        path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
        return {**os.environ, "COLUMNS": "100", "PATH": path, "VA_EDGE_LDP_HOME": str(self.folder / f"{who}'s home")}

    def type(self, who: str, command: str) -> str:
        for shown, real in self.replaced.items():
            command = command.replace(shown, real)
        if " campaign serve " in command:
            return self.serve(who, command)
        done = subprocess.run(
            command, shell=True, cwd=self.folder, env=self.environment(who), input="y\n", capture_output=True,
            text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        return done.stdout.replace(ASKED, f"{ASKED}y\n")

    def serve(self, who: str, command: str) -> str:
        self.server = subprocess.Popen(
            [*command.split(), "--port", "0"], cwd=self.folder, env=self.environment(who), stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        assert self.server.stdout is not None
        said = self.server.stdout.readline()
        (address,) = re.findall(r"http://127.0.0.1:\d+", said)
        self.replaced[ADDRESS] = address
        return said.replace(address, "http://127.0.0.1:8000")


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Town]:
    found = Town(tmp_path)
    yield found
    if found.server is not None:
        found.server.terminate()
        found.server.wait(30)
        assert found.server.stdout is not None
        found.server.stdout.close()


@pytest.mark.long
def test_the_guide_is_typed_and_prints_what_it_shows(town: Town) -> None:
    text = PAGE.read_text(encoding="utf-8")
    commands = list(typed(text))
    assert len(commands) >= 15
    for who, command, shown in commands:
        real = town.type(who, command)
        assert not shown.strip() or says(form(real), form(shown)), f"{who}: {command}\nprints:\n{real}"
        if " campaign new " in command:
            ours, theirs = (re.findall(r"^Issuer +(\w+)$", each, re.MULTILINE)[0] for each in (shown, real))
            town.replaced[ours] = theirs


def test_the_guide_uses_options_that_exist() -> None:
    for _, command, _ in typed(PAGE.read_text(encoding="utf-8")):
        for part in command.replace("\\\n", "").split("|"):
            words = part.split()
            if words[0] == "va-edge-ldp":
                assert unknown_words(words[1:]) == []


def test_another_form_is_noticed() -> None:
    assert form("root 91992d4dd2dc35b0") == form("root 0123456789abcdef")
    assert form("│ edges     │     12.8 │ [-44.1, 103.0] │") == form("│ edges │ 5,120 │  [4.545, 21.0] │")
    assert form("│ edges │ 1 │") != form("│ stars:2 │ 1 │")
    assert form("Round 1: 3 of 6 answered") != form("Round 1: 4 of 6 answered")
    assert list(typed("```shell-session\na@b$ one \\\n two\nshown\nc@d$ three\n```\n")) == [
        ("a", "one \\\n two", "shown\n"),
        ("c", "three", ""),
    ]
