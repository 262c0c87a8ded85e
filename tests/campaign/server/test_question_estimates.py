"""Whose reports are flagged is for the operator, who holds them; everybody else hears how many."""

from __future__ import annotations

import hashlib
import json
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from support.campaign_inside import Clock, Inside, inside
from support.campaign_town import Town, new_town
from support.command import Run, run_main
from visibility_aware_edge_ldp.campaign.server.estimate_json import estimate_bytes
from visibility_aware_edge_ldp.campaign.server.question_estimates import refuse_damage
from visibility_aware_edge_ldp.campaign.server.stages import Stage, State
from visibility_aware_edge_ldp.campaign.server.stores.store import StoreDamaged
from visibility_aware_edge_ldp.campaign.wire_format import SALT, report_in, round_root
from visibility_aware_edge_ldp.public.surveys import degrees as degree_report

DAY = 86_400


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.setenv("COLUMNS", "120")
    return partial(run_main, monkeypatch, capsys, "campaign", "flagged")


def lie_of(town: Town, participant: int) -> bytes:
    honest = degree_report.decode(report_in(town.report(participant)))
    far = degree_report.degree_report(honest.survey, participant, np.ones(1, np.bool_), honest.values + 10**9)
    return bytes(SALT) + degree_report.encode(far)


def send_with_one_liar(server: Inside, town: Town) -> int:
    *honest, liar = town.asked[:10]
    for participant in honest:
        server.put(participant)
    assert server.ask("PUT", town.path(liar, 1), town.tokens[liar], lie_of(town, liar)).status == 201
    return int(liar)


def test_the_operator_sees_whose_reports_are_flagged_while_they_are_kept(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    town = new_town(tmp_path / "town", "degrees", retention=30 * DAY)
    place = str(town.directory)
    assert "has no store yet" in run(place).err
    url = f"sqlite:///{town.directory / 'store.db'}"
    with inside(town, url, estimate_bytes=estimate_bytes) as server:
        liar = send_with_one_liar(server, town)
        assert "Another server uses the store" in run(place).err
    assert "Round 1 is open" in run(place).err
    with inside(town, url, Clock(time.time()), estimate_bytes) as server:
        server.operator("/v1/rounds/1/close")
        server.operator("/v1/estimate")
        public = server.ask("GET", "/v1/estimates").content
    name = town.served.campaign.documents.roster[liar]
    assert public["flagged"]["reports"] == 1
    assert "participant" not in json.dumps(public["flagged"])
    assert {each["name"] for each in run(place, "--json").json["reports"]} == {name}
    said = run(place)
    assert (said.code, str(name) in said.out, "1,000,0" in said.out) == (0, True, True)
    later = time.time() + 31 * DAY
    monkeypatch.setattr(time, "time", lambda: later)
    due = run(place)
    assert (due.code, "they were due to go" in due.err, str(name) in due.out) == (2, True, False)
    with inside(town, url, Clock(time.time()), estimate_bytes) as server:
        server.runner.run(server.app.rounds.check_deadlines())
    gone = run(place)
    assert (gone.code, "The reports were erased" in gone.err) == (2, True)


def test_nobody_is_flagged_among_the_honest(tmp_path: Path, run: Run) -> None:
    town = new_town(tmp_path / "town", "degrees")
    with inside(town, f"sqlite:///{town.directory / 'store.db'}") as server:
        for participant in town.asked[:10]:
            server.put(participant)
        server.operator("/v1/rounds/1/close")
    assert run(str(town.directory)).out == "No report is flagged.\n"


def frozen(bodies: dict[int, bytes]) -> tuple[Stage, list[tuple[int, bytes]]]:
    leaves = [(participant, hashlib.sha256(body).digest()) for participant, body in sorted(bodies.items())]
    return Stage(2, State.CLOSED, len(leaves), round_root(leaves)), leaves


def test_damaged_reports_are_named() -> None:
    bodies = {number: bytes([number]) * 9 for number in range(30)}
    stage, leaves = frozen(bodies)
    refuse_damage(stage, leaves, bodies)
    cases = {
        "Round 2: of participants number 3, 5 the report is not as acknowledged": bodies | {3: b"x", 5: b"y"},
        "of participants number 7 the report is missing": {n: body for n, body in bodies.items() if n != 7},
        "of participants number 31 the report is in no receipt": bodies | {31: b"z"},
        "number 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 20 more the report is not": dict.fromkeys(bodies, b""),
    }
    for said, kept in cases.items():
        with pytest.raises(StoreDamaged, match=said):
            refuse_damage(stage, leaves, kept)
    with pytest.raises(StoreDamaged, match="Round 2: the kept digests are not the ones that were frozen"):
        refuse_damage(stage, leaves[1:], bodies)
