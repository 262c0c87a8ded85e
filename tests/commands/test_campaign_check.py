"""`campaign check`: codes that people read to each other, and files that they exchange."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from commands.conftest import NEW, PEOPLE, Served
from support.command import Run
from visibility_aware_edge_ldp.campaign.participant import server_checks
from visibility_aware_edge_ldp.campaign.participant.server_checks import Checked
from visibility_aware_edge_ldp.commands.campaign_check import check_lines


@pytest.mark.parametrize(
    ("standing", "said"),
    [
        (server_checks.INCLUDED, "is, unchanged, one of 0 in the set that the server froze"),
        (server_checks.NOT_CLOSED, "was acknowledged, and the server holds it; the round is not closed yet"),
        (server_checks.UNACKNOWLEDGED, "send it again with `va-edge-ldp campaign answer`"),
        (server_checks.LEFT_OUT, "it was not counted"),
    ],
)
def test_every_standing_has_its_sentence(standing: str, said: str, tmp_path: Path) -> None:
    (line,) = check_lines([Checked("c", 1, "d" * 64, standing)], tmp_path, None)
    assert said in line


def test_a_server_that_signs_nothing_is_named(tmp_path: Path) -> None:
    lines = check_lines([Checked("c", 1, "d" * 64, server_checks.INCLUDED, "e" * 64, 3)], tmp_path, None)
    assert lines[-1].startswith("The campaign's server signs nothing")


def test_an_issuer_whose_log_is_missing_is_warned(town: Path, campaign: Run) -> None:
    """The first campaign's key has its log beside it, and a copy elsewhere has not."""
    words = ("--roster", "roster.txt", *NEW, "--issuer-key")
    continued = campaign("new", "second", *words, str(town / "issuer.key"))
    assert (continued.code, "no log.json" in continued.err) == (0, False)
    assert (town / "log.json").read_bytes() == Path("second/log.json").read_bytes()
    Path("copy.key").write_bytes((town / "issuer.key").read_bytes())
    alone = campaign("new", "third", *words, "copy.key")
    assert (alone.code, "two logs accuse you of lying" in alone.err) == (0, True)


def test_codes_are_printed_and_files_are_exchanged(estimated: Served, campaign: Run) -> None:
    ann, bob = (("--home", f"home {name}") for name in PEOPLE[:2])
    said = campaign("check", *ann, "--export", "ann.json")
    assert said.code == 0, said.err
    (code,) = re.findall(r"^Code of round 1: ((?:[0-9A-Z]{4}-){4}[0-9A-Z]{4})$", said.out, re.MULTILINE)
    assert "The issuer's log names 1 charter, 1 about 'spring'." in said.out
    same = campaign("check", *bob, "--compare", "ann.json")
    assert (same.code, same.out.splitlines()[-1]) == (
        0,
        f"Both were shown the same: round 1, code {code}; and one log, of 1 charter.",
    )
    found = campaign("check", *bob, "--compare", "ann.json", "--json").json
    assert (found["reports"][0]["code"], found["compared"]) == (code, same.out.splitlines()[-1])
    assert campaign("status", "town", "--export", "observer.json").code == 0
    assert Path("observer.json").read_bytes() == Path("ann.json").read_bytes()
    Path("ann.json").write_bytes(Path("ann.json").read_bytes().replace(b'"count":2', b'"count":3'))
    forged = campaign("check", *bob, "--compare", "ann.json")
    assert (forged.code, "is not signed with the key" in forged.err) == (3, True)
    assert campaign("status", "--export", "x.json").code == 2
