"""The next wave of a series, and what its published answers say together."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.campaign_waves import LATER, Village, ties, village
from visibility_aware_edge_ldp.campaign.directory import KEY, read_campaign
from visibility_aware_edge_ldp.campaign.series import Series, new_wave
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation

BEFORE = ties("p0 p1", "p1 p2", "p3 p4", "p5 p6")
AFTER = ties("p0 p1", "p3 p4", "p5 p6", "p2 p7", "p3 p8", "p6 p9")


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Three waves of twelve people, nearly without noise; in the third nothing changes."""
    with village(tmp_path_factory.mktemp("series"), 12) as found:
        found.first(40)
        first = found.answers(BEFORE, 1)
        found.next(40, 1)
        second = found.answers(AFTER, 2)
        found.next()
        return [first, second, found.answers(AFTER, 3)]


def test_what_changed_is_found(answers: list[dict[str, Any]]) -> None:
    series = Series.of([answers[2], answers[0], answers[1]])
    levels = [each.value for each in series.levels]
    # A raised flag is a coin, whatever epsilon is: variance one for each change.
    second = answers[1]["estimates"]
    assert round(second["edges_formed"]["value"], 6) in (0, 2, 4, 6)
    assert second["edges_formed"]["standard_error"] == pytest.approx(
        math.sqrt(second["edges_formed"]["value"]), abs=1e-3
    )
    assert levels[0] == pytest.approx(4, abs=1e-6)
    assert levels[1] == pytest.approx(4 + second["edges_change"]["value"], abs=1e-6)
    assert levels[2] == pytest.approx(levels[1], abs=1e-6)
    assert answers[2]["wave"]["number"] == 3
    assert answers[2]["estimates"]["edges_change"]["value"] == pytest.approx(0, abs=1e-6)


def test_differences_do_not_hold_the_first_waves_error(answers: list[dict[str, Any]]) -> None:
    loud = {**answers[0], "estimates": {"edges": {"value": 4.0, "standard_error": 100.0}}}
    series = Series.of([loud, *answers[1:]])
    assert [each.standard_error for each in series.levels] == pytest.approx([100, 100, 100], rel=1e-2)
    assert series.between(1, 3)["edges_change"].standard_error < 4
    parts = [series.between(1, 2), series.between(2, 3), series.between(1, 3)]
    for name in parts[0]:
        assert parts[2][name].value == pytest.approx(parts[0][name].value + parts[1][name].value)
        assert parts[2][name].variance == pytest.approx(parts[0][name].variance + parts[1][name].variance)


def test_the_certificate_says_what_the_loss_is_of(answers: list[dict[str, Any]]) -> None:
    notes = answers[1]["certificate"]["notes"]
    assert len(notes) == 1
    assert "of all waves after the first" in notes[0]
    assert "notes" not in answers[0]["certificate"]
    assert set(answers[1]["loss"]) == {"FRIEND_VISIBLE", "PRIVATE"}


def test_a_gap_another_series_and_a_first_wave_alone_are_refused(answers: list[dict[str, Any]]) -> None:
    other = {**answers[2], "wave": {**answers[2]["wave"], "first": "cd" * 32}}
    for given, why in (
        (answers[:1], "first wave and of one or more"),
        (answers[1:], "first wave and of one or more"),
        ([answers[0], answers[2]], "wave 2 are missing"),
        ([*answers, answers[1]], "stand here twice"),
        ([*answers[:2], other], "another first campaign"),
    ):
        with pytest.raises(BadInput, match=why):
            Series.of(given)
    with pytest.raises(ProtocolViolation, match="lack the number of edges"):
        Series.of([{**answers[0], "estimates": {}}, *answers[1:]])
    with pytest.raises(BadInput, match="from one wave to a later one"):
        Series.of(answers).between(2, 2)


def test_liars_move_no_more_than_is_said(answers: list[dict[str, Any]]) -> None:
    bounds = answers[1]["manipulation"]["bounds"]
    assert bounds["edges_change"] == pytest.approx(2 * bounds["edges_formed"])
    assert bounds["edges_formed"] == pytest.approx(2 * 11, rel=1e-6)  # one liar: at most the longest row


def test_who_missed_a_wave_is_not_counted_in_the_next(tmp_path: Path) -> None:
    with village(tmp_path, 9) as found:
        found.first(40)
        found.answers(BEFORE, 1)
        found.next(40)
        roster = [str(name) for name in read_campaign(found.waves[0]).documents.roster]
        second = found.answers(BEFORE, 2, away=roster[2:3])
        assert (second["wave"]["counted"], second["rounds"][0]["asked"]) == (7, 8)
        assert second["estimates"]["edges_change"]["unbiased"] is False
        found.next()
        third = found.answers(BEFORE, 3)
        assert (third["wave"]["counted"], third["rounds"][0]["answered"]) == (7, 8)


def test_too_few_is_said_and_not_estimated(tmp_path: Path) -> None:
    with village(tmp_path, 5) as found:
        found.first()
        found.answers(ties(), 1)
        found.next(1)
        said = found.answers(ties(), 2, away=found.names)
    assert said["estimates"] == {}
    assert "Too few answered" in said["refused"]["edges"]


def test_waves_follow_positions_in_one_round_and_keep_the_rule(tmp_path: Path) -> None:
    found = Village(tmp_path, ["a", "b", "c"])
    found.first()
    with pytest.raises(BadInput, match="second wave says"):
        found.next()
    found.next(1, 2)
    for given in ({"epsilon": 2}, {"changes": 1}):
        with pytest.raises(BadInput, match="for the whole series"):
            found.next(**given)
    assert found.next(1, 2).wave.number == 3  # type: ignore[union-attr]
    with pytest.raises(BadInput, match="one issuer"):
        new_wave(tmp_path / "x", found.waves[0], title="x", closes=LATER, fewest=1, epsilon=1, key=bytes(32))
    key = bytes.fromhex((found.waves[0] / KEY).read_text())
    with pytest.raises(BadInput, match="in the past"):
        new_wave(tmp_path / "x", found.waves[0], title="x", closes=1, fewest=1, epsilon=1, key=key)
    degrees = Village(tmp_path / "degrees", ["a", "b", "c"])
    degrees.first(question="degrees")
    with pytest.raises(BadInput, match="other questions are asked anew"):
        degrees.next(1)
    twice = Village(tmp_path / "twice", ["a", "b", "c"])
    twice.first(closes=[LATER, LATER + 1])
    with pytest.raises(BadInput, match="in one round"):
        twice.next(1)
    consented = Village(tmp_path / "consented", ["a", "b", "c"])
    consented.first(consent=LATER - 1)
    with pytest.raises(BadInput, match="asked about everybody"):
        consented.next(1)


def test_a_wave_does_not_ask_for_consent(tmp_path: Path) -> None:
    found = Village(tmp_path, ["a", "b", "c"])
    found.first()
    wave = found.next(1)
    with pytest.raises(ProtocolViolation, match="do not ask for the consent"):
        replace(wave, consent=1)
