"""Studies on the disk: what is sealed, what the server gets, and what is amended."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from support.console_visitor import CHOICES, PASSPHRASE, PEOPLE, SCRYPT_COST
from visibility_aware_edge_ldp.campaign.charter_log import CharterLog
from visibility_aware_edge_ldp.campaign.console.choices import Choices
from visibility_aware_edge_ldp.campaign.console.people import read_people
from visibility_aware_edge_ldp.campaign.console.studies import (
    Study,
    drafted_charter,
    free_port,
    new_study,
    studies_of,
    study_of,
)
from visibility_aware_edge_ldp.campaign.console.vault import EVERYDAY, SIGNING, Key, Vault
from visibility_aware_edge_ldp.campaign.directory import ServedCampaign
from visibility_aware_edge_ldp.campaign.signed_documents import token_hash
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation

FAR = 2_082_801_600


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    return Vault.new(tmp_path_factory.mktemp("studies") / "console", PASSPHRASE, SCRYPT_COST)


@pytest.fixture(scope="module")
def keys(vault: Vault) -> tuple[Key, Key]:
    return vault.unlock(PASSPHRASE, EVERYDAY), vault.unlock(PASSPHRASE, SIGNING)


def draft(vault: Vault, keys: tuple[Key, Key], title: str = "Friends", **changed: str) -> Study:
    study = new_study(vault, title)
    choices = Choices(title, "2036").given(CHOICES | changed)
    study.keep_draft(keys[0], choices, read_people("\n".join(PEOPLE)))
    return study


@pytest.fixture
def study(vault: Vault, keys: tuple[Key, Key]) -> Study:
    found = draft(vault, keys)
    found.sign(*keys, 8000)
    return found


def test_names_follow_from_titles_and_are_nobody_elses(vault: Vault, keys: tuple[Key, Key]) -> None:
    names = [
        draft(vault, keys, title).name for title in ("Who meets whom? 2036", "Who meets whom? 2036", "кто", "x" * 99)
    ]
    assert names == ["who-meets-whom-2036", "who-meets-whom-2036-2", "study", "x" * 30]
    assert {*names} <= {each.name for each in studies_of(vault)}
    assert study_of(vault, "study") == Study(vault, "study")
    assert study_of(vault, "none") is None
    assert study_of(vault, "../studies/study") is None


def test_a_draft_is_sealed_and_comes_back(vault: Vault, keys: tuple[Key, Key]) -> None:
    study = draft(vault, keys, "Sealed")
    choices, people = study.draft(keys[0])
    assert (choices.question, people.roster) == ("degrees", PEOPLE)
    assert b"ann" not in (study.folder / "study.sealed").read_bytes()
    with pytest.raises(BadInput):
        study.draft(keys[1])
    study.discard()
    assert not study.folder.exists()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"fewest": "13"}, "from 1 to the 12"),
        ({"fewest": "0"}, "from 1 to the 12"),
        ({"epsilon": "0"}, "psilon"),
        ({"statistics": "triangles"}, "does not answer triangles"),
        ({"address": "http://survey.example.org"}, "Use https"),
        ({"address": ""}, "address looks like"),
        ({"question": "groups"}, "needs the people's groups"),
        ({"closes_1": ""}, "1 rounds"),
    ],
)
def test_what_participants_would_refuse_is_said_before_it_is_signed(changed: dict[str, str], words: str) -> None:
    people = read_people("\n".join(PEOPLE))
    with pytest.raises(BadInput, match=words):
        drafted_charter(Choices("Friends", "2036").given(CHOICES | changed), people, "ab" * 32)


def test_a_round_that_closes_in_the_past_is_not_signed(vault: Vault, keys: tuple[Key, Key]) -> None:
    study = draft(vault, keys, closes_1="2020-01-01T12:00")
    with pytest.raises(BadInput, match="in the past"):
        study.sign(*keys, 8000)
    assert not study.is_signed


def test_the_charter_that_is_shown_is_the_one_that_is_signed(vault: Vault, keys: tuple[Key, Key]) -> None:
    for question, second in (("degrees", ""), ("triangles", "2036-02-01T12:00"), ("position", "2036-02-01T12:00")):
        study = draft(vault, keys, question, question=question, statistics="", closes_2=second)
        shown = study.prepared(keys[0]).charter
        assert study.sign(*keys, 8000) == shown


def test_what_a_server_is_given_holds_no_key_of_the_issuer_and_no_token(study: Study, keys: tuple[Key, Key]) -> None:
    everyday, signing = keys
    tokens = study.tokens(signing)
    secret = [study.vault.issuer_key(signing).hex(), study.operator(everyday).token, *tokens.values()]
    assert {path.name for path in study.served.iterdir()} == {
        *("charter.json", "charter.sig", "edges.json", "hashes.json", "log.json", "policy.json", "roster.json"),
        *("server.key", "take-part"),
    }
    for path in study.served.rglob("*.*"):
        assert not any(each in path.read_text() for each in secret)
    served = ServedCampaign.read(study.served)
    roster = [str(each) for each in served.campaign.documents.roster]
    assert [token_hash(tokens[name]) for name in roster] == list(served.campaign.participants)
    assert served.campaign.operator == token_hash(study.operator(everyday).token)
    with zipfile.ZipFile(io.BytesIO(study.server_part())) as archive:
        assert {name.rpartition("/")[2] for name in archive.namelist()} == {
            path.name for path in study.served.rglob("*.*")
        }


def test_all_studies_stand_in_one_log_of_one_issuer(study: Study, vault: Vault) -> None:
    log = CharterLog.from_bytes((vault.folder / "log.json").read_bytes(), vault.issuer)
    assert study.charter.issuer == vault.issuer
    assert log.of(study.charter.identity) is not None
    assert study.campaign.log is not None
    assert log.first_difference(study.campaign.log) is None


def test_a_signed_study_is_not_discarded(study: Study) -> None:
    with pytest.raises(BadInput):
        study.discard()
    assert study.is_signed


def test_a_lost_token_is_replaced(study: Study, keys: tuple[Key, Key]) -> None:
    before = study.tokens(keys[1])
    number, token = study.amend(*keys, "token", "ann")
    assert (number, study.tokens(keys[1])) == (1, {**before, "ann": token})
    _, newer = study.amend(*keys, "device", "ann", ledger="ab" * 32)
    assert study.tokens(keys[1])["ann"] == newer
    amended = study.amended(keys[0])
    assert [each.kind for each in amended.amendments] == ["token", "device"]
    assert amended.ledger_for(token_hash(newer)) == "ab" * 32
    for path in (study.folder / "amendments").iterdir():
        assert token.encode() not in path.read_bytes()


def test_what_may_not_be_amended_leaves_nothing(study: Study, keys: tuple[Key, Key]) -> None:
    with pytest.raises(BadInput, match="not in the roster"):
        study.amend(*keys, "token", "zoe")
    with pytest.raises(ProtocolViolation, match="never shortened"):
        study.amend(*keys, "deadline", round=1, closes=FAR - 1)
    assert not study.amended(keys[0]).signed
    assert study.amend(*keys, "deadline", round=1, closes=FAR + 60)[0] == 1
    assert study.amended(keys[0]).rounds[0].closes == FAR + 60


def test_deleted_letters_are_gone_and_a_new_token_is_shown_once(study: Study, keys: tuple[Key, Key]) -> None:
    study.amend(*keys, "token", "ann")
    study.forget_tokens()
    with pytest.raises(BadInput, match="were deleted"):
        study.tokens(keys[1])
    _, token = study.amend(*keys, "token", "bob")
    assert len(token) == 43
    assert not list(study.folder.rglob("*.token"))


def test_ports_are_given_to_one_study_each(vault: Vault, keys: tuple[Key, Key]) -> None:
    study = draft(vault, keys)
    port = free_port(vault, 9_000)
    study.sign(*keys, port)
    assert (port, free_port(vault, 9_000)) == (9_000, 9_001)
    assert study.set(running=True) == replace(study.settings, running=True)
    assert json.loads((study.folder / "settings.json").read_text())["port"] == 9_000
    assert study.operator(keys[0]).url == "http://127.0.0.1:9000"
    study.set(here=False)
    assert study.operator(keys[0]).url == CHOICES["address"]


def test_a_sealed_file_of_another_study_is_refused(vault: Vault, keys: tuple[Key, Key], tmp_path: Path) -> None:
    one, two = draft(vault, keys, "One"), draft(vault, keys, "Two")
    (two.folder / "study.sealed").write_bytes((one.folder / "study.sealed").read_bytes())
    with pytest.raises(BadInput, match="was changed"):
        two.draft(keys[0])
    two.discard()
