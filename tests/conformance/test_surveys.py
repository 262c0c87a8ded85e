"""Every protocol's survey: one identity that every field decides, and one bill.  [COMPOSITION.4]"""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from support.protocol_subjects import SUBJECTS
from visibility_aware_edge_ldp.public.protocol import PROTOCOLS
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC


def test_every_protocol_has_a_subject() -> None:
    assert SUBJECTS.keys() == PROTOCOLS.keys(), "add a Subject to tests/support/protocol_subjects.py"


@pytest.mark.parametrize("name", PROTOCOLS)
def test_the_trust_model_is_the_protocols(name: str) -> None:
    assert SUBJECTS[name].survey.trust is PROTOCOLS[name].trust


@pytest.mark.parametrize("name", PROTOCOLS)
def test_an_identity_is_stable(name: str) -> None:
    survey = SUBJECTS[name].survey
    assert replace(survey).identity == survey.identity
    assert len(bytes.fromhex(survey.identity)) == 32


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_field_decides_the_identity(name: str) -> None:
    subject = SUBJECTS[name]
    assert {each.name for each in fields(subject.survey)} == subject.changes.keys(), "name a change of every field"
    found = {changed: subject.other(change).identity for changed, change in subject.changes.items()}
    found["nothing"] = subject.survey.identity
    assert len(set(found.values())) == len(found), found


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_round_is_billed_once(name: str) -> None:
    survey = SUBJECTS[name].survey
    releases = survey.releases
    assert [release.round for release in releases] == list(range(1, survey.rounds + 1))
    for release in releases:
        assert dict(release.prices) == {kind: survey.price(kind, release.round) for kind in NON_PUBLIC}
        assert list(dict(release.prices)) == list(NON_PUBLIC[::-1])


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_client_pays_no_more_than_its_edges_lose(name: str) -> None:
    survey = SUBJECTS[name].survey
    for number in range(1, survey.rounds + 1):
        for kind, paid in survey.payment(number).items():
            assert 0 < paid.epsilon <= survey.price(kind, number).epsilon
