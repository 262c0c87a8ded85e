"""The rule of a wave, its survey and its reports; charters without it keep their bytes."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from plain_client.campaign import open_charter
from plain_client.canonical import Refused as PlainlyRefused
from support.campaign_vectors import stored
from support.campaign_wave_vectors import FILE, waves
from support.campaign_waves import Village
from visibility_aware_edge_ldp.campaign.charter import Charter, SignedCharter
from visibility_aware_edge_ldp.campaign.directory import read_campaign
from visibility_aware_edge_ldp.campaign.documents import Documents
from visibility_aware_edge_ldp.campaign.signed_documents import encode
from visibility_aware_edge_ldp.campaign.terms import Terms
from visibility_aware_edge_ldp.campaign.waves import LAYOUT, Wave, WaveReport
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.public.visibility import Visibility

FIRST = "ab" * 32
VECTORS = stored(FILE)
PRIVATE = Visibility.PRIVATE


@pytest.fixture
def charter(tmp_path: Path) -> Charter:
    found = Village(tmp_path, ["a", "b", "c"])
    found.first()
    return found.next(Fraction(3, 2), 3)


@pytest.mark.parametrize(
    "content",
    [
        {"first": FIRST, "number": 1, "changes": 1},
        {"first": FIRST, "number": 1001, "changes": 1},
        {"first": FIRST, "number": 2, "changes": 0},
        {"first": FIRST.upper(), "number": 2, "changes": 1},
        {"first": FIRST, "number": "2", "changes": 1},
        {"first": FIRST, "number": 2},
        {"first": FIRST, "number": 2, "changes": 1, "more": 1},
        "wave 2",
        {},
    ],
)
def test_another_rule_is_refused(content: object) -> None:
    with pytest.raises(ProtocolViolation, match=r"wave|Waves"):
        Wave.of(content)  # type: ignore[arg-type]


def test_the_rule_stands_in_the_charter_and_nowhere_else(charter: Charter, tmp_path: Path) -> None:
    assert Charter.from_bytes(charter.data) == charter
    content = json.loads(charter.data)
    assert content["wave"] == {"first": read_campaign(tmp_path / "wave 1").charter.identity, "number": 2, "changes": 3}
    assert b"wave" not in read_campaign(tmp_path / "wave 1").charter.data
    assert replace(charter, wave=Wave(FIRST, 2, 3)).identity != charter.identity
    for change in ({"question": "degrees"}, {"statistics": ["triangles"]}, {"wave": {}}):
        with pytest.raises(ProtocolViolation):
            Charter.from_bytes(encode({**content, **change}))


def test_the_price_is_that_of_the_whole_series(charter: Charter, tmp_path: Path) -> None:
    terms = Terms(charter, read_campaign(tmp_path / "wave 2").documents.view)
    assert float(terms.losses[PRIVATE]) == pytest.approx(1.5, abs=1e-15)
    assert terms.losses[PRIVATE] <= charter.epsilon
    assert terms.survey.mechanism(PRIVATE).quiet.epsilon == Fraction(1, 2)
    misstated = replace(charter, wave=Wave(FIRST, 2, 3))
    with pytest.raises(ProtocolViolation, match="another survey"):
        Terms(misstated, terms.view)
    with pytest.raises(ProtocolViolation, match="changes"):
        Terms(replace(charter, wave=Wave(charter.wave.first, 2, 2)), terms.view)  # type: ignore[union-attr]


def test_all_waves_of_a_series_are_one_survey(charter: Charter, tmp_path: Path) -> None:
    found = Village(tmp_path / "other", ["a", "b", "c"])
    found.first()
    second, third = found.next(1), found.next()
    assert second.survey == third.survey != charter.survey
    assert (second.wave.number, third.wave.number) == (2, 3)  # type: ignore[union-attr]


def test_a_report_survives_its_bytes() -> None:
    report = WaveReport(FIRST, 3, 1, 5, 9, b"\x01\x00", b"\xff\x01")
    assert LAYOUT.decode(LAYOUT.encode(report)) == report
    for other in ({"since": 3}, {"since": 0}, {"formed": b""}, {"count": 17}):
        with pytest.raises(ProtocolViolation):
            replace(report, **other)


def test_the_server_takes_what_this_row_can_write_and_nothing_else(charter: Charter, tmp_path: Path) -> None:
    terms = Terms(charter, read_campaign(tmp_path / "wave 2").documents.view)
    report = WaveReport(charter.survey, 2, 1, 0, 2, b"\x03", b"\x00")

    def upload(made: WaveReport) -> bytes:
        return bytes(32) + LAYOUT.encode(made)

    assert len(upload(report)) == terms.upload_size(0, 1)
    assert terms.check_upload(0, 1, upload(report)) == report
    for change in ({"wave": 3}, {"survey": FIRST}, {"start": 1}, {"formed": b"\x07"}, {"ended": b"\x04"}):
        with pytest.raises(ProtocolViolation):
            terms.check_upload(0, 1, upload(replace(report, **change)))
    with pytest.raises(ProtocolViolation):
        terms.check_upload(1, 1, upload(report))


def test_what_is_told_today_is_what_was_told_then() -> None:
    assert waves() == VECTORS
    assert {len(each["report"]) for each in VECTORS} == {2 * (57 + 2 * 2)}


@pytest.mark.parametrize("vector", VECTORS, ids=lambda each: str(each["case"]))
def test_a_wave_that_was_signed_is_read_for_ever(vector: dict[str, Any]) -> None:
    signed = SignedCharter.from_hex(vector["charter"].encode(), vector["signature"])
    charter = signed.opened(vector["pinned"])
    documents = Documents.from_bytes(charter, *(vector[name].encode() for name in ("roster", "policy", "edges")))
    terms = Terms(charter, documents.view)
    assert charter.identity == vector["identity"]
    assert {str(kind): str(loss) for kind, loss in terms.losses.items()} == vector["losses"]
    found = terms.check_upload(0, 1, bytes(32) + bytes.fromhex(vector["report"]))
    assert isinstance(found, WaveReport)
    assert found.since == vector["since"]


def test_a_program_that_knows_no_waves_says_so() -> None:
    vector = VECTORS[0]
    with pytest.raises(PlainlyRefused, match="a wave of a series, which is not answered by this program"):
        open_charter(vector["charter"].encode(), vector["signature"], vector["pinned"])
