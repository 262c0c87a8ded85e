"""The next wave of a campaign as it is typed, and what its waves say together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commands.test_common_schemas import keeps
from support.campaign_waves import ties, village
from support.command import Run


@pytest.fixture
def club(campaign: Run, tmp_path: Path) -> Path:
    Path("roster.txt").write_text("ann\nbob\ncy\ndan\n")
    about = ("--question", "position", "--title", "Club", "--epoch", "club", "--statistics", "edges")
    assert campaign("new", "one", "--roster", "roster.txt", *about, "--epsilon", "1/2").code == 0
    return tmp_path


def test_waves_are_written_and_priced(club: Path, campaign: Run) -> None:
    said = campaign("wave", "two", "--after", "one", "--title", "Second", "--epsilon", "1/2")
    assert said.code == 0, said.err
    lines = said.out.splitlines()
    assert lines[2] == "Title      Second"
    assert any(line.startswith("Wave       2 of the series that began with ") for line in lines)
    assert "Errors     edges formed ± 9.697" in said.out
    assert "Lifetime   a PRIVATE edge's whole history loses at most ε = 1 by all waves" in lines
    found = campaign("wave", "three", "--after", "two", "--title", "Third", "--json").json
    keeps("campaign-wave", found)
    assert found["wave"]["number"] == 3
    assert found["epsilon"] == "1/2"
    dear = campaign("wave", "dear", "--after", "one", "--title", "Dear", "--epsilon", "2", "--changes", "2")
    assert "--cap PRIVATE=2.5" in dear.out
    assert campaign("wave", "none", "--after", "one", "--title", "None").code == 2


def test_what_changed_is_printed(campaign: Run, tmp_path: Path) -> None:
    with village(tmp_path / "village", 6) as found:
        found.first(40)
        given = [ties("p0 p1"), ties("p0 p1", "p2 p3"), ties("p2 p3")]
        for number, each in enumerate(given, 1):
            if number > 1:
                found.next(40 if number == 2 else None)
            Path(f"wave-{number}.json").write_text(json.dumps(found.answers(each, number)))
    names = [f"wave-{number}.json" for number in (1, 2, 3)]
    said = campaign("changes", *names)
    assert said.code == 0, said.err
    assert next(line for line in said.out.splitlines() if "edges at wave" in line).split()[4] in ("1", "1.000")
    assert "net change, wave 1 to 3" in said.out
    content = campaign("changes", *names, "--from", "2", "--to", "3", "--json").json
    keeps("campaign-changes", content)
    assert (content["from"], content["to"], len(content["edges"])) == (2, 3, 3)
    assert campaign("changes", names[0], names[2]).code == 2
    Path("no.json").write_text("[]")
    assert campaign("changes", names[0], "no.json").code == 2
