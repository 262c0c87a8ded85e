"""The issuer's log: it grows, each entry signed and chained, and nothing in it can be exchanged.  [WITNESS.4]"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.campaign_vectors import KEY, OTHER_KEY, charter_for, documents_of
from visibility_aware_edge_ldp.campaign.charter import Charter
from visibility_aware_edge_ldp.campaign.charter_log import LOG, SERVER_KEY, CharterLog, continued, read_signing
from visibility_aware_edge_ldp.campaign.signed_documents import encode, fingerprint
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation

ISSUER, SERVER = fingerprint(KEY), "5e" * 32
DEGREES: Charter = charter_for("degrees", documents_of("degrees"))
OTHER = replace(DEGREES, title="Another")
LATER = replace(DEGREES, epoch="vectors 2", title="Later")


def of(*charters: Charter) -> CharterLog:
    log = CharterLog(ISSUER)
    for charter in charters:
        log = log.extended(charter, SERVER, KEY)
    return log


def test_what_is_written_is_read() -> None:
    log = of(DEGREES, OTHER, LATER)
    found = CharterLog.from_bytes(log.data, ISSUER)
    assert found == log
    assert [entry.number for entry in found.entries] == [1, 2, 3]
    entry = found.of(OTHER.identity)
    assert entry is not None
    assert (entry.epoch, entry.roster, entry.server) == (OTHER.epoch, OTHER.roster, SERVER)
    assert [each.campaign for each in found.about("vectors 1")] == [DEGREES.identity, OTHER.identity]
    assert found.of("0" * 64) is None


def test_one_log_continues_the_other_or_they_differ_somewhere() -> None:
    short, long, forked = of(DEGREES), of(DEGREES, OTHER), of(DEGREES, LATER)
    assert short.first_difference(long) is None
    assert long.first_difference(short) is None
    difference = long.first_difference(forked)
    assert difference is not None
    assert [each.campaign for each in difference] == [OTHER.identity, LATER.identity]
    assert of(DEGREES, OTHER, LATER).first_difference(of(OTHER, DEGREES, LATER)) is not None


def _exchanged(content: dict[str, Any]) -> None:
    content["entries"].reverse()


def _left_out(content: dict[str, Any]) -> None:
    del content["entries"][0]


def _changed(content: dict[str, Any]) -> None:
    content["entries"][1]["entry"]["server"] = "77" * 32


def _unsigned(content: dict[str, Any]) -> None:
    content["entries"][1]["signature"] = content["entries"][0]["signature"]


def _no_signature(content: dict[str, Any]) -> None:
    content["entries"][1]["signature"] = "none"


def _more(content: dict[str, Any]) -> None:
    content["entries"][1]["more"] = 1


def _more_inside(content: dict[str, Any]) -> None:
    content["entries"][1]["entry"]["more"] = 1


def _no_list(content: dict[str, Any]) -> None:
    content["entries"] = [1]


def _no_digest(content: dict[str, Any]) -> None:
    content["entries"][1]["entry"]["campaign"] = "x"


def _other_issuer(content: dict[str, Any]) -> None:
    content["issuer"] = fingerprint(OTHER_KEY)


CHANGES = [_exchanged, _left_out, _changed, _unsigned, _no_signature, _more, _more_inside, _no_list, _no_digest]


@pytest.mark.parametrize("change", [*CHANGES, _other_issuer], ids=lambda each: each.__name__)
def test_a_changed_log_is_noticed(change: Any) -> None:
    content = json.loads(of(DEGREES, OTHER).data)
    change(content)
    with pytest.raises(ProtocolViolation, match=r"[Ll]og"):
        CharterLog.from_bytes(encode(content), ISSUER)


def test_of_a_campaign_that_was_written_anew_the_last_entry_counts() -> None:
    """Its directory was lost before anybody saw it; both entries stay for everybody to see."""
    log = of(DEGREES, OTHER).extended(DEGREES, "77" * 32, KEY)
    entry = CharterLog.from_bytes(log.data, ISSUER).of(DEGREES.identity)
    assert entry is not None
    assert (entry.number, entry.server) == (3, "77" * 32)


def test_only_the_issuer_writes_it() -> None:
    with pytest.raises(ProtocolViolation, match="this is another key"):
        CharterLog(ISSUER).extended(DEGREES, SERVER, OTHER_KEY)
    with pytest.raises(ProtocolViolation, match="this is another key"):
        CharterLog(fingerprint(OTHER_KEY)).extended(DEGREES, SERVER, KEY)


def test_the_log_beside_the_key_is_continued(tmp_path: Path) -> None:
    key = tmp_path / "issuer.key"
    key.write_text(KEY.hex())
    assert continued(key, DEGREES, SERVER, KEY) == of(DEGREES)
    assert continued(key, OTHER, SERVER, KEY) == of(DEGREES, OTHER)
    assert (tmp_path / LOG).read_bytes() == of(DEGREES, OTHER).data
    assert continued(None, OTHER, SERVER, KEY) == of(OTHER), "a key that is kept nowhere has no log"
    (tmp_path / LOG).write_bytes(b"{}")
    with pytest.raises(BadInput, match="is not the log of this issuer's charters"):
        continued(key, LATER, SERVER, KEY)


def test_log_and_key_go_together(tmp_path: Path) -> None:
    assert read_signing(tmp_path, DEGREES) == (None, b""), "a campaign of before there were any"
    log = CharterLog(ISSUER).extended(DEGREES, fingerprint(OTHER_KEY), KEY)
    (tmp_path / LOG).write_bytes(log.data)
    with pytest.raises(BadInput, match="go together"):
        read_signing(tmp_path, DEGREES)
    (tmp_path / SERVER_KEY).write_text(OTHER_KEY.hex())
    assert read_signing(tmp_path, DEGREES) == (log, OTHER_KEY)
    for other, why in ((KEY.hex(), r"does not name server\.key"), ("no key", "go together")):
        (tmp_path / SERVER_KEY).write_text(other)
        with pytest.raises(BadInput, match=why):
            read_signing(tmp_path, DEGREES)
