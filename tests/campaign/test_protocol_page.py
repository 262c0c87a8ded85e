"""The protocol's page says what the code does: its tables and numbers are compared with it."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.openapi_document import REFERENCE, Description, schema_file
from visibility_aware_edge_ldp.campaign import (
    amendments,
    charter,
    charter_log,
    consents,
    http_client,
    signed_documents,
    statements,
    wire_format,
)
from visibility_aware_edge_ldp.campaign.documents import LONGEST_NAME
from visibility_aware_edge_ldp.campaign.participant import accounts, amended, lifetime
from visibility_aware_edge_ldp.campaign.participant.statements import STATES
from visibility_aware_edge_ldp.campaign.policy_text import _KINDS
from visibility_aware_edge_ldp.campaign.questions import QUESTIONS
from visibility_aware_edge_ldp.campaign.server import limits, messages, stages
from visibility_aware_edge_ldp.campaign.wire_format import PROBLEMS
from visibility_aware_edge_ldp.public.protocol import PROTOCOLS
from visibility_aware_edge_ldp.public.visibility import Visibility

TEXT = (REFERENCE / "protocol.md").read_text(encoding="utf-8")
VECTORS = Path(__file__).parents[1] / "vectors"


def rows(title: str) -> Iterator[list[str]]:
    """The rows of the table whose first column has this title."""
    lines = TEXT.split(f"\n| {title} |", 1)[1].split("\n")[2:]
    for line in lines:
        if not line.startswith("|"):
            return
        yield [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def words(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_the_heads_of_reports_stand_in_their_order() -> None:
    layouts = {each.magic.decode(): each for known in PROTOCOLS.values() for each in known.layouts}
    listed = {words(row[0])[0]: row for row in rows("letters")}
    assert listed.keys() == layouts.keys()
    for letters, layout in layouts.items():
        fields = [tuple(field.split(":")) for field in layout.head.split()]
        said = re.findall(r"(\w+) \((\d+)\)", listed[letters][1])
        assert said == [(name, str(struct.calcsize(f">{code}"))) for name, code in fields], letters
        used = {name for name, each in QUESTIONS.items() for format_ in each.protocol.layouts if format_ is layout}
        assert used <= set(words(listed[letters][3])) | {"position"}, letters
        assert bool(used) == (listed[letters][3] != "none"), letters


def test_the_problems() -> None:
    assert {words(row[0])[0]: int(row[1]) for row in rows("name")} == {
        name: problem.status for name, problem in PROBLEMS.items()
    }
    assert wire_format.PREFIX in TEXT


def test_the_paths() -> None:
    listed = {(path, row[1].lower()) for row in rows("path") for path in words(row[0])}
    published = Description().operations
    assert listed == {
        (path.replace("{round}", "R").replace("{participant}", "I").replace("{part}", "P"), method)
        for path, method in published
    }


def test_the_charter() -> None:
    members = {name for row in rows("member") for name in words(row[0])}
    optional = schema_file("charter-2.schema.json")["properties"].keys() - charter._FIELDS
    assert members - optional == set(schema_file("charter-2.schema.json")["required"]) == charter._FIELDS
    assert optional == charter._OPTIONAL
    assert all(name in members or f"one more member, `{name}`" in TEXT for name in optional)
    for said in (charter.FORMAT, charter.HOLDING, signed_documents._PURPOSE.decode().strip()):
        assert f"`{said}`" in TEXT or f'`"{said}"`' in TEXT, said
    assert len(signed_documents._PURPOSE) == 22


def test_the_purposes_of_signatures() -> None:
    charters = signed_documents._PURPOSE
    known = {
        "charter": charters,
        "amendment": charters,
        "entry of the log": charter_log.PURPOSE,
        "receipt": statements.RECEIPT,
        "statement": statements.STATEMENT,
        "list of consents": consents.PURPOSE,
    }
    assert {row[0]: f"{words(row[1])[0]}\n".encode() for row in rows("what is signed")} == known
    for other in (statements._SEALED, statements._CODE, statements._RECEIPT_ALONE, amendments._PERSON):
        assert f"`{other.decode().strip()}`" in TEXT


def test_statements_the_log_and_amendments() -> None:
    members = {name for row in rows("in a statement") for name in words(row[0])}
    assert members == {*schema_file("reply-statement-1.schema.json")["required"], statements._CONSENTS}
    assert members == {"format", *statements._TEXTS, *statements._WHOLES, statements._CONSENTS}
    assert f"`{statements.ALPHABET}`" in TEXT
    for said in (statements.FORMAT, charter_log.FORMAT, amendments.FORMAT):
        assert f'`"{said}"`' in TEXT, said
    kinds = TEXT.split("\n| `kind` |")[3].split("\n")[2:6]
    assert {line.split("`")[1]: tuple(words(line.split("|")[2])) for line in kinds} == amendments._SAYS


def test_the_questions() -> None:
    listed = {words(row[0])[0]: row for row in rows("`question` | `trust`")}
    assert listed.keys() == QUESTIONS.keys()
    for name, question in QUESTIONS.items():
        assert listed[name][1] == question.trust.title
        assert [int(each) for each in re.findall(r"\d", listed[name][2])] == list(question.rounds)
        assert sorted(words(listed[name][3])) == sorted(question.answered)


def test_the_rules_of_policies_and_the_mechanisms() -> None:
    lists = TEXT.split("\n| `kind` |")
    assert {line.split("`")[1] for line in lists[1].split("\n")[2:9]} == set(_KINDS)
    kinds = {line.split("`")[1] for line in lists[2].split("\n")[2:6]}
    assert kinds == {each.mechanism for question in QUESTIONS.values() for each in question.formats}


def test_the_states() -> None:
    assert " → ".join(f"`{state}`" for state in stages.State) in TEXT
    assert tuple(map(str, stages.State)) == STATES
    assert stages.PATIENCE == 30 * 86_400
    assert stages.FEWEST == 5


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (charter.LARGEST, "A charter has at most 2²⁰ octets"),
        (wire_format._LARGEST, "a receipt 2¹²"),
        (wire_format._LARGEST_PROBLEM, "a problem 2¹⁶"),
        (signed_documents.LARGEST, "a document 2²⁸"),
        (signed_documents.DEEPEST, "nested at most 16 deep"),
        (signed_documents.MOST_MARKS + 1, "hold five or more characters in a row"),
        (statements.LARGEST, "a statement 2¹²"),
        (charter_log.LARGEST, "a log of charters 2²⁰"),
        (amendments.LARGEST, "all amendments together 2²⁶"),
        (amendments.LARGEST_ONE, "canonical and in at most 4,096 octets"),
        (amendments.LONGEST_EXTENSION, "at most 366 days (31,622,400 seconds)"),
        (amended.SLACK, "more than an hour after its deadline"),
        (statements.TURNS, "65,536 turns"),
        (statements._LAST_SECOND, "by the server's clock, at most 253402300799"),
        (LONGEST_NAME, "at most 200 characters long"),
        (charter.MOST_NODES, "2 to 2³¹ − 1"),
        (charter._LONGEST, "0 to 315576000"),
        (charter._LAST_SECOND, "at most 253402300799"),
        (messages.HEAD, "at most 16,384 octets"),
        (limits.Limits.seconds, "arrives within 20 seconds"),
        (limits.Limits.connections, "4,096 connections"),
        (limits.Limits.skipped, "2²⁰ octets are skipped"),
        (limits.Limits.progress, "something (4,096 octets"),
        (http_client.LARGEST, "2²⁸ octets of a document"),
        (wire_format.SALT, "a *salt* of 32 random octets"),
        (lifetime.EPOCHS, "four times as much"),
    ],
)
def test_a_limit(number: float, said: str) -> None:
    assert said in TEXT
    assert any(_value(word) == number for word in re.findall(r"[\w⁰¹²³⁴⁵⁶⁷⁸⁹,]+(?: − 1)?", said)), (number, said)


def _value(word: str) -> float:
    """A number as the page writes it: 2²⁰, 2³¹ − 1, 16,384, four, an hour."""
    if word in ("five", "four", "hour"):
        return {"five": 5, "four": 4, "hour": 3_600}[word]
    if power := re.fullmatch(r"2([⁰¹²³⁴⁵⁶⁷⁸⁹]+)( − 1)?", word):
        exponent = int(power[1].translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")))
        return 2**exponent - bool(power[2])
    plain = word.replace(",", "")
    return float(plain) if plain.isdigit() else -1


def test_the_caps() -> None:
    said = ", ".join(
        f"{kind} {accounts.DEFAULT_CAPS[kind]}" for kind in (Visibility.FRIEND_VISIBLE, Visibility.PRIVATE)
    )
    assert f"({said} unless said otherwise)" in TEXT
    assert accounts.ONE == 10**12


def test_the_vectors() -> None:
    listed = {words(row[0])[0] for row in rows("file")}
    assert listed == {path.name for path in VECTORS.glob("campaign_*.json")}
    assert all(isinstance(json.loads((VECTORS / name).read_text(encoding="utf-8")), list) for name in listed)


def test_programs_try_again_after_these() -> None:
    said = re.search(r"after no reply and after ([\d, ]+)\.", TEXT)
    assert said is not None
    assert {int(each) for each in said[1].split(", ")} == http_client._AGAIN
