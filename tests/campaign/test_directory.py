"""A new campaign's directory: all of it or nothing, and what is private stays private."""

from __future__ import annotations

import csv
import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.campaign_vectors import CASES, CLOSES, EPOCH, KEY, NAMES, every_other_public_edge
from visibility_aware_edge_ldp.campaign import directory as new
from visibility_aware_edge_ldp.campaign import signed_documents
from visibility_aware_edge_ldp.campaign.directory import PRIVATE, new_campaign, read_campaign
from visibility_aware_edge_ldp.campaign.invitations import LETTERS
from visibility_aware_edge_ldp.campaign.terms import Terms
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation, VaEdgeLdpError
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy


def inputs(case: str = "degrees", **changes: Any) -> dict[str, Any]:
    question, statistics, rounds, policy = CASES[case]
    usual = {
        "names": NAMES,
        "policy": policy,
        "edges": every_other_public_edge(policy),
        "question": question,
        "epsilon": "1",
        "statistics": statistics,
        "closes": CLOSES[:rounds],
        "fewest": 2,
        "title": case,
        "epoch": EPOCH,
    }
    return {**usual, **changes}


@pytest.mark.parametrize("case", CASES)
def test_what_is_written_is_read(tmp_path: Path, case: str) -> None:
    charter = new_campaign(tmp_path / "campaign", **inputs(case, key=KEY))
    campaign = read_campaign(tmp_path / "campaign")
    assert campaign.charter == charter
    assert campaign.signed.opened(signed_documents.fingerprint(KEY)) == charter
    assert Terms(charter, campaign.documents.view).survey.identity == charter.survey
    assert charter.title == case


def test_files_and_who_may_read_them(tmp_path: Path) -> None:
    place = tmp_path / "new" / "campaign"
    new_campaign(place, **inputs())
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in place.iterdir()}
    assert {name for name, mode in modes.items() if mode & 0o077} == modes.keys() - PRIVATE
    assert modes.keys() >= {
        "charter.json",
        "charter.sig",
        "roster.json",
        "policy.json",
        "edges.json",
        *PRIVATE - {LETTERS},
    }
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert os.listdir(place.parent) == ["campaign"]


def test_tokens_fit_their_hashes(tmp_path: Path) -> None:
    new_campaign(tmp_path / "campaign", **inputs())
    campaign = read_campaign(tmp_path / "campaign")
    with (tmp_path / "campaign" / "tokens.csv").open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    assert head == ["name", "token"]
    assert [name for name, _ in rows] == [str(name) for name in campaign.documents.roster]
    assert tuple(signed_documents.token_hash(token) for _, token in rows) == campaign.participants
    operator = (tmp_path / "campaign" / "operator.token").read_text(encoding="utf-8")
    assert signed_documents.token_hash(operator) == campaign.operator
    assert len({operator, *(token for _, token in rows)}) == len(NAMES) + 1
    assert operator not in repr(campaign)
    assert campaign.operator not in repr(campaign)


def test_the_same_campaign_twice_has_other_keys_and_the_same_order(tmp_path: Path) -> None:
    one, other = (new_campaign(tmp_path / name, **inputs()) for name in "ab")
    assert one.issuer != other.issuer
    assert (one.roster, one.survey) == (other.roster, other.survey)


@pytest.mark.parametrize("kind", ["directory", "file", "dangling link"])
def test_nothing_is_overwritten(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "campaign"
    if kind == "directory":
        place.mkdir()
    elif kind == "file":
        place.write_text("mine", encoding="utf-8")
    else:
        place.symlink_to(tmp_path / "nowhere")
    with pytest.raises(BadInput, match="never overwritten"):
        new_campaign(place, **inputs())
    assert os.listdir(tmp_path) == ["campaign"]


@pytest.mark.parametrize("failing", ["write_new", "sync"])
def test_a_failure_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str) -> None:
    whole, calls = getattr(new, failing), []

    def breaks(path: Path, *rest: Any) -> None:
        calls.append(path)
        if len(calls) == (5 if failing == "write_new" else 1):
            raise OSError("the disk is full")
        whole(path, *rest)

    monkeypatch.setattr(new, failing, breaks)
    with pytest.raises(OSError, match="full"):
        new_campaign(tmp_path / "campaign", **inputs())
    assert os.listdir(tmp_path) == []


def test_files_are_on_the_disk_before_they_have_their_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[bool] = []
    fsync = os.fsync

    def watched(handle: int) -> None:
        synced.append((tmp_path / "campaign").exists())
        fsync(handle)

    monkeypatch.setattr(os, "fsync", watched)
    new_campaign(tmp_path / "campaign", **inputs())
    files = len(os.listdir(tmp_path / "campaign"))
    # every file and their directory before the name; then the directory that holds the name
    assert synced == [False] * (files + 1) + [True]


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown question": ({"question": "degree"}, "Did you mean 'degrees'"),
    "a statistic of another question": ({"statistics": ["triangles"]}, "does not answer triangles"),
    "two statistics of rows": (
        {"question": "triangles", "statistics": ["triangles", "four_cycles"], "closes": CLOSES},
        "more than one statistic",
    ),
    "epsilon nought": ({"epsilon": 0}, "above 0"),
    "too small an epsilon": ({"question": "position", "statistics": ["edges"], "epsilon": "1e-30"}, "too small"),
    "a round too many": ({"closes": CLOSES}, "1 rounds; 2 deadlines"),
    "no deadline": ({"closes": ()}, "0 deadlines"),
    "a deadline in the past": ({"closes": (1_700_000_000,)}, "cannot close in the past"),
    "a negative deadline": ({"closes": (-5,)}, "one after the other"),
    "deadlines as fractions": ({"closes": (4e9 + 0.5,)}, "float"),
    "more responders than people": ({"fewest": 13}, "at most all"),
    "no responders": ({"fewest": 0}, "at least 1"),
    "responders of other rounds": ({"fewest": (1, 2)}, "as many"),
    "a title of two lines": ({"title": "a\nb"}, "U\\+000A is not seen"),
    "a title that hides its end": ({"title": "a      b"}, "blanks at an end or in a row"),
    "a title that is read from the right": ({"title": "a\u202eb"}, "U\\+202E is not seen"),
    "a hundred years of retention": ({"retention": 3_155_760_000}, "ten years; the charter says 3,155,760,000"),
    "no epoch": ({"epoch": ""}, "epoch"),
    "an oracle": ({"policy": VisibilityPolicy.public_hubs("1/10")}, "real campaign|true degree"),
    "a policy about strangers": ({"policy": VisibilityPolicy.from_profiles({"Zoe": "public"})}, "not in the graph"),
    "names of another kind": ({"names": [*NAMES[:-1], 1.5]}, "texts or whole numbers"),
    "a name twice": ({"names": [*NAMES[:-1], NAMES[0]]}, "written alike"),
    "edges at private positions": ({"edges": [(0, 1)], "policy": VisibilityPolicy.nothing()}, "PUBLIC positions"),
    "shares where none are chosen": ({"split": (1,)}, "by itself"),
    "nobody is asked": (
        {"policy": VisibilityPolicy.from_profiles(dict.fromkeys(NAMES, "public"))},
        "Nothing is asked of anybody",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_the_callers_fault_and_leaves_nothing(tmp_path: Path, case: str) -> None:
    changes, says = BAD[case]
    with pytest.raises(BadInput, match=says):
        new_campaign(tmp_path / "campaign", **inputs(**changes))
    assert os.listdir(tmp_path) == []


def test_hubs_need_hubs(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="Public hubs"):
        new_campaign(tmp_path / "campaign", **inputs("hubs", policy=VisibilityPolicy.nothing(), edges=()))
    with pytest.raises(BadInput, match="lower --fewest"):
        new_campaign(tmp_path / "campaign", **inputs("hubs", fewest=3))


@pytest.mark.parametrize(
    "name", ["charter.json", "charter.sig", "roster.json", "policy.json", "edges.json", "hashes.json"]
)
def test_a_changed_or_missing_file_is_noticed(tmp_path: Path, name: str) -> None:
    new_campaign(tmp_path / "campaign", **inputs())
    file = tmp_path / "campaign" / name
    data = file.read_bytes()
    file.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(VaEdgeLdpError):
        read_campaign(tmp_path / "campaign")
    file.unlink()
    with pytest.raises(BadInput, match="not the directory of a campaign"):
        read_campaign(tmp_path / "campaign")


def test_another_number_of_hashes_is_noticed(tmp_path: Path) -> None:
    new_campaign(tmp_path / "campaign", **inputs())
    (tmp_path / "campaign" / "hashes.json").write_bytes(b'{"operator":"' + b"0" * 64 + b'","participants":[]}')
    with pytest.raises((BadInput, ProtocolViolation), match="one hash for each"):
        read_campaign(tmp_path / "campaign")


def test_places_follow_the_people(tmp_path: Path) -> None:
    """Public edges keep their ends through the new order."""
    policy = CASES["degrees"][3]
    edges = every_other_public_edge(policy)
    new_campaign(tmp_path / "campaign", **inputs())
    documents = read_campaign(tmp_path / "campaign").documents
    told = {frozenset(documents.roster[end] for end in edge) for edge in documents.edges}
    assert told == {frozenset(NAMES[end] for end in edge) for edge in np.asarray(edges)}


@pytest.mark.parametrize("name", ["=1+1", "+1", "-x", "@ann", "\t=1", "＝1"], ids=repr)
def test_names_that_a_spreadsheet_would_run_are_refused(name: str, tmp_path: Path) -> None:
    """Everybody's tokens are in that table."""
    given = inputs()
    with pytest.raises(BadInput, match="begins as a formula does"):
        new_campaign(tmp_path / "campaign", **{**given, "names": [*list(given["names"])[:-1], name]})
    assert os.listdir(tmp_path) == []
