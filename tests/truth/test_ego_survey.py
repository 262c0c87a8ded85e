"""An ego survey on a roster: every name is accounted for, ties are merged as asked, weights stay with people."""

from __future__ import annotations

import json
import stat
from collections import Counter
from pathlib import Path

import pytest

import visibility_aware_edge_ldp as va
from support import ego_surveys
from support.ego_surveys import EITHER, NAMED, NAMES, SHAPES, people
from visibility_aware_edge_ldp.errors import BadGraph, BadInput
from visibility_aware_edge_ldp.truth.ego_survey import BOTH, PERCEIVED, EgoSurvey, read_ego_survey
from visibility_aware_edge_ldp.truth.roster import AGAIN, FOUND, ITSELF, READ_AS, SEVERAL, UNKNOWN


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return ego_surveys.egor(tmp_path / "survey")


def read(folder: Path, **options: str) -> EgoSurvey:
    return read_ego_survey(folder, roster=people(folder.parent), **options)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_gives_the_same_graph_and_report(shape: str, tmp_path: Path) -> None:
    survey = read(SHAPES[shape](tmp_path / "survey"))
    assert (tuple(survey.graph.names), survey.graph.edges.tolist()) == (NAMES, EITHER)
    outcomes = Counter(row.outcome for row in survey.matching.rows if row.ego)
    assert outcomes == {READ_AS: 3, UNKNOWN: 2, ITSELF: 1, FOUND: 1, SEVERAL: 1, AGAIN: 1}
    assert survey.agreement == (1, 2)


def test_nothing_is_dropped_silently(folder: Path) -> None:
    survey = read(folder)
    rows = [row for row in survey.matching.rows if row.ego]
    assert len(rows) == sum(len(named) for _, named in NAMED.values())
    named = {name for alters in survey.named.values() for name in alters}
    assert len(rows) == sum(map(len, survey.named.values())) + len(
        [row for row in rows if row.outcome in (UNKNOWN, SEVERAL, ITSELF, AGAIN)]
    )
    assert named == {0, 1, 3}
    assert survey.matching.lines() == [
        "'Nobody Known' (named by 'Ana Díaz') is not in the roster.",
        "'Zoe Krohl' (named by \"Sam O'Neill\") is not in the roster; did you mean 'Zoë Król'?",
        "'Jo  Ann?' (named by \"Sam O'Neill\") fits several people: 'p5' or 'p6'.",
    ]
    told = " ".join(survey.graph.notes)
    assert "2 left out because they are not in the roster" in told
    assert "1 left out because they fit several" in told
    assert not any(name in told for name in ("Ana", "Zo", "Nobody"))  # notes may be published


def test_which_ties_there_are(folder: Path) -> None:
    # Li–Sam: both were asked, Sam alone named Li. Ana–Zoë: Zoë was not asked.
    assert read(folder, ties=BOTH).graph.edges.tolist() == [[0, 1], [0, 3]]
    assert read(folder, ties=PERCEIVED).graph.edges.tolist() == [*EITHER[:2], [1, 2], [1, 3]]
    assert read(folder, ties=PERCEIVED).perceived == {(1, 3)}


def test_without_a_roster_those_who_were_asked_are_it(folder: Path) -> None:
    survey = read_ego_survey(folder)
    assert survey.names == ("Ana Díaz", "Li Wei", "Sam O'Neill")
    assert survey.graph.m == 2  # Ana–Li and Sam–Li; nobody knows who p2 is


def test_numbers_stay_numbers(tmp_path: Path) -> None:
    (tmp_path / "egos.csv").write_text("egoID,alterID,code\n1,1,3\n2,1,03\n", encoding="utf-8")
    survey = read_ego_survey(tmp_path, roster=["1", "2", "3"])
    assert (survey.graph.names, survey.graph.edges.tolist()) == ([1, 2, 3], [[0, 2]])


def test_columns_can_be_chosen_and_numbers_within_an_ego_are_no_names(folder: Path) -> None:
    for table in ("egos", "alters"):
        path = folder / f"{table}.csv"
        path.write_text(path.read_text(encoding="utf-8").replace("name", "who"), encoding="utf-8")
    with pytest.raises(BadGraph, match="No column says who an alter is"):
        read(folder)
    assert read(folder, columns="who,who").graph.edges.tolist() == EITHER
    with pytest.raises(BadGraph, match="no column 'nick' of an alter"):
        read(folder, columns="who,nick")
    with pytest.raises(BadInput, match="two columns"):
        read(folder, columns="who")


def test_encrypted_names_are_refused(folder: Path) -> None:
    (folder / "alters.csv").write_text(".egoID,.altID,name\n1,1,ENCRYPTED\n", encoding="utf-8")
    with pytest.raises(BadGraph, match="encrypted"):
        read(folder)


def test_friend_lists_for_a_campaign_are_private_files(folder: Path, tmp_path: Path) -> None:
    survey = read(folder)
    assert survey.friends("p1") == ["p2", "p4"]
    with pytest.raises(BadInput, match="was not asked"):
        survey.friends("p4")
    written = survey.write_friends(tmp_path / "lists")
    assert stat.S_IMODE((tmp_path / "lists").stat().st_mode) == 0o700
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in written)
    index = json.loads((tmp_path / "lists" / "index.json").read_text(encoding="utf-8"))
    lists = {name: json.loads((tmp_path / "lists" / file).read_text(encoding="utf-8")) for file, name in index.items()}
    assert lists == {"p1": ["p2", "p4"], "p2": ["p1"], "p3": ["p2"]}


def test_a_written_list_is_what_a_participant_gives(folder: Path, tmp_path: Path) -> None:
    from visibility_aware_edge_ldp.campaign.participant.friend_lists import read_friends

    read(folder).write_friends(tmp_path / "lists")
    friends = read_friends(tmp_path / "lists" / "1.json", NAMES, 0)
    assert (friends.bits.tolist(), friends.unknown) == ([False, True, False, True, False, False], ())


def test_weights_stay_with_their_people_and_lists_are_egos_own(folder: Path) -> None:
    sample = read(folder, weights="weight").graph.sample
    assert sample is not None
    assert (sample.weights.tolist(), sample.scaled) == ([1.5, 2, 4, 0, 0, 0], True)
    assert (sample.offsets.tolist(), sample.friends.tolist()) == ([0, 2, 3, 4, 4, 4, 4], [1, 3, 0, 1])


@pytest.mark.parametrize(
    ("weight", "weighting", "said"),
    [("", "hajek", "has no number"), ("0", "hajek", "a weight is above 0"), ("0.5", "horvitz-thompson", "at least 1")],
)
def test_weights_that_are_none_are_refused(weight: str, weighting: str, said: str, folder: Path) -> None:
    (folder / "egos.csv").write_text(f".egoID,name,weight\n1,Li Wei,{weight}\n", encoding="utf-8")
    with pytest.raises(BadInput, match=said):
        read(folder, weights="weight", weighting=weighting)


def test_one_person_asked_twice(folder: Path) -> None:
    (folder / "egos.csv").write_text(".egoID,name,weight\n1,Li Wei,1\n2,p2,1\n3,p3,1\n", encoding="utf-8")
    assert read(folder).named[1] == (0, 3)  # both interviews together
    with pytest.raises(BadInput, match="asked twice"):
        read(folder, weights="weight")


def test_a_survey_stands_where_a_graph_does(folder: Path) -> None:
    assert va.read_graph(read(folder)).edges.tolist() == EITHER
    with pytest.raises(BadInput, match="Ties are"):
        read(folder, ties="strong")
