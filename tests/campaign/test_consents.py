"""The list of those who consented, and one person's word, as bytes.  [CONSENT.3]"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from visibility_aware_edge_ldp.audit.campaigns.consents import _first
from visibility_aware_edge_ldp.campaign.charter import Charter
from visibility_aware_edge_ldp.campaign.consents import Consents, opened, read_word, word
from visibility_aware_edge_ldp.campaign.signed_documents import decode, encode, fingerprint, new_key
from visibility_aware_edge_ldp.campaign.terms import Terms
from visibility_aware_edge_ldp.errors import ProtocolViolation


@cache
def charter() -> Charter:
    return _first(4).charter


def test_a_list_is_read_as_it_was_written_and_its_salt_hides_it() -> None:
    one, other = (Consents.of(charter(), 7, {3, 0}) for _ in range(2))
    assert one.people == (0, 3)
    assert Consents.from_bytes(charter(), one.data) == one
    assert one.digest != other.digest, "who knows the digest does not find the list by trying"


@pytest.mark.parametrize(
    "change",
    [
        {"people": [3, 0]},
        {"people": [0, 0]},
        {"people": [4]},
        {"people": [-1]},
        {"people": ["0"]},
        {"people": 3},
        {"campaign": "0" * 64},
        {"salt": "00"},
        {"frozen": "7"},
        {"format": "va-edge-ldp consents 2"},
        {"more": 1},
    ],
)
def test_other_lists_are_refused(change: dict[str, object]) -> None:
    content = decode(Consents.of(charter(), 7, (0, 3)).data)
    assert isinstance(content, dict)
    with pytest.raises(ProtocolViolation):
        Consents.from_bytes(charter(), encode({**content, **change}))  # type: ignore[dict-item]


def test_a_list_is_of_a_campaign_that_asks_for_consent() -> None:
    other = replace(charter(), consent=0)
    with pytest.raises(ProtocolViolation, match="nobody's consent"):
        Consents.from_bytes(other, replace(Consents.of(charter(), 7, (0,)), campaign=other.identity).data)
    with pytest.raises(ProtocolViolation, match="nobody's consent"):
        Terms(other, _first(4).documents.view).among(Consents.of(other, 7, (0, 1)))


def test_only_what_the_server_signed_is_believed() -> None:
    key, found = new_key(), Consents.of(charter(), 7, (0, 3))
    assert opened(charter(), fingerprint(key), found.data, found.signature(key)) == found
    for server, signature in ((fingerprint(new_key()), found.signature(key)), ("", found.signature(key))):
        with pytest.raises(ProtocolViolation, match="not signed"):
            opened(charter(), server, found.data, signature)


def test_a_word_is_one_of_two() -> None:
    yes, no = (word(charter(), 2, each) for each in (True, False))
    assert (read_word(charter(), 2, yes), read_word(charter(), 2, no)) == (True, False)
    for other in (word(charter(), 1, True), b"", yes + b" "):
        with pytest.raises(ProtocolViolation, match="does not say"):
            read_word(charter(), 2, other)


def test_integers_do_not_depend_on_who_consents() -> None:
    terms = Terms(charter(), _first(4).documents.view)
    among = terms.among(Consents.of(charter(), 7, (0, 2, 3)))
    assert among.losses == terms.losses
    assert [among.asks(place, 1) for place in range(4)] == [True, False, True, False]
    assert among.survey.identity != charter().survey, "a report names the list that it was made for"
