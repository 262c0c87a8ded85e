"""A participant's program written from the protocol's page alone: the vectors, and a rehearsal with the real server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from plain_client import answers, client, noise, statements
from plain_client.amendments import is_about, read_amendments
from plain_client.campaign import QUESTIONS, Campaign, check_question, open_charter, open_documents
from plain_client.canonical import Refused, read, sha256, written
from plain_client.rules import CLASSES
from plain_client.tree import check_receipt, leaf, proves, root
from support.campaign_amending import Issuer
from support.campaign_answer_vectors import Counted
from support.campaign_attacks import whole
from support.campaign_vectors import KEY, OTHER_KEY, stored
from support.plain_program import DOCUMENTS, levels_of, opened, report_of
from visibility_aware_edge_ldp.campaign.amendments import SignedAmendment
from visibility_aware_edge_ldp.campaign.charter import Charter
from visibility_aware_edge_ldp.campaign.signed_documents import sign

Vector = dict[str, Any]


def bits(text: str) -> list[bool]:
    return [each == "1" for each in text]


def text(said: Any) -> str:
    return "".join(str(int(bit)) for bit in said)


def test_it_imports_nothing_of_the_package() -> None:
    folder = Path(noise.__file__).parent
    lines = [line for file in folder.glob("*.py") for line in file.read_text(encoding="utf-8").splitlines()]
    imported = {line.split()[1].split(".")[0] for line in lines if line.startswith(("import ", "from "))}
    assert "plain_client" in imported
    assert not imported & {"visibility_aware_edge_ldp", "numpy", "support"}
    assert not any("visibility_aware_edge_ldp" in line for line in lines)


@pytest.mark.parametrize("vector", stored("campaign_charters.json"), ids=lambda each: str(each["case"]))
def test_honest_charters(vector: Vector) -> None:
    campaign = opened(vector)
    assert campaign.identity == vector["identity"]
    assert {CLASSES[kind]: str(loss) for kind, loss in campaign.total_losses().items()} == vector["losses"]
    asked = [person for person in range(campaign.nodes) if campaign.asks(person)]
    assert asked == vector["asked"]
    rounds = range(1, len(campaign.charter["rounds"]) + 1)
    assert [[campaign.upload_size(person, number) for person in asked] for number in rounds] == vector["sizes"]


@pytest.mark.parametrize("vector", stored("campaign_uploads.json"), ids=lambda each: f"{each['case']}, {each['round']}")
def test_honest_uploads_receipts_and_roots(vector: Vector) -> None:
    charter = {each["case"]: each for each in stored("campaign_charters.json")}[vector["case"]]
    uploads = {int(person): bytes.fromhex(data) for person, data in vector["uploads"].items()}
    leaves = [leaf(person, upload) for person, upload in uploads.items()]
    assert root(leaves) == vector["root"]
    last = {"index": len(leaves) - 1, "count": len(leaves), "proof": vector["proof of the last"]}
    assert proves(last, leaves[-1], vector["root"])
    assert not proves(last, leaves[0], vector["root"])
    for (person, upload), receipt in zip(uploads.items(), vector["receipts"], strict=True):
        check_receipt(receipt.encode(), charter["identity"], vector["round"], person, upload)
        answers.check_upload(opened(charter), person, vector["round"], upload)


def consider(vector: Vector, reached: list[str]) -> None:
    """What a program does with what it is sent, in order."""
    reached.append("bytes")
    if "bytes" in vector:
        read(bytes.fromhex(vector["bytes"]), 1 << 20)
    reached.append("charter")
    data = vector["charter"].encode()
    charter = open_charter(data, vector["signature"], vector["pinned"])
    reached.append("documents")
    campaign = open_documents(charter, data, *(vector[name].encode() for name in DOCUMENTS))
    reached.append("question")
    check_question(campaign)
    reached.append("upload")
    first = bytes.fromhex(vector["first"])[32:] if "first" in vector else None
    sent = bytes.fromhex(vector["upload"])
    answers.check_upload(campaign, vector["participant"], vector["round"], sent, first, vector.get("transcript", ""))


def test_all_attacks_are_refused_where_they_must_be() -> None:
    attacks = stored("campaign_malicious.json")
    for attack in attacks:
        reached: list[str] = []
        vector = whole(attack)
        with pytest.raises(Refused):
            consider(vector, reached)
        assert reached[-1] == attack["stage"], attack["name"]
    assert len(attacks) > 100


def drawn_with(vector: Vector) -> Counted:
    return Counted(vector["coins"])


def test_thresholds() -> None:
    found = [each for each in stored("campaign_noise.json") if each["what"] == "threshold"]
    assert [str(noise.threshold(Fraction(each["loss"]))) for each in found] == [each["threshold"] for each in found]


@pytest.mark.parametrize("what", ["flips", "chained answers", "discrete Laplace", "power noise"])
def test_the_same_coins_give_the_same_noise(what: str) -> None:
    vectors = [each for each in stored("campaign_noise.json") if each["what"] == what]
    assert len(vectors) >= 5
    for vector in vectors:
        coins = drawn_with(vector)
        assert list(_noise(vector, coins)) == list(vector["result"]), vector
        assert coins.taken == vector["taken"], vector


def _noise(vector: Vector, coins: Counted) -> Any:
    if vector["what"] == "flips":
        return text(noise.flips(vector["count"], int(vector["threshold"]), coins))
    if vector["what"] == "chained answers":
        given = bits(vector["bits"])
        return text(noise.chained(int(vector["threshold"]), given, levels_of(vector["levels"], len(given)), coins))
    if vector["what"] == "discrete Laplace":
        law = noise.discrete_laplace(Fraction(vector["rate"]))
    else:
        scale = Fraction(float.fromhex(vector["scale"]))
        law = noise.power_noise(Fraction(vector["loss"]), Fraction(vector["share"]), scale)
    return [str(noise.draw(law, coins)) for _ in vector["result"]]


def each_answer() -> Iterator[tuple[Campaign, Vector, Vector]]:
    for case in stored("campaign_answers.json"):
        campaign = opened(case)
        assert [person for person in range(campaign.nodes) if campaign.asks(person)] == case["asked"], case["case"]
        for vector in case["answers"]:
            yield campaign, case, vector


def test_the_same_coins_give_the_same_reports() -> None:
    seen = set()
    for campaign, case, vector in each_answer():
        coins = drawn_with(vector)
        report = report_of(campaign, case, vector, coins)
        assert (report.hex(), coins.taken) == (vector["result"], vector["taken"]), (case["case"], vector)
        answers.check_upload(campaign, vector["participant"], vector["round"], bytes(32) + report)
        seen.add((campaign.question, vector["round"]))
    assert seen == {*((each, 1) for each in QUESTIONS), ("position", 2), ("triangles", 2)}


def believes(vector: Vector) -> bool:
    """Whether the plain program believes what a server sent."""
    sent, what = vector["sent"].encode(), vector["what"]
    if what == "problem":
        return client.problem_in(vector["media_type"], sent) == vector["problem"]
    try:
        if what == "receipt":
            own = vector["campaign"], vector["round"], vector["participant"], bytes.fromhex(vector["upload"])
            check_receipt(sent, *own)
        elif what == "signed receipt":
            statements.refuse_unsigned(vector["receipt"].encode(), vector["sent"], vector["server"])
        elif what == "proof":
            own_leaf = leaf(vector["participant"], bytes.fromhex(vector["upload"]))
            return proves(json.loads(sent), own_leaf, vector["root"])
        elif what == "state":
            client.round_state(sent, vector["round"])
        elif what == "transcript":
            campaign = opened(case_of("campaign_answers.json", vector))
            transcript = answers.read_transcript(campaign, bytes.fromhex(vector["sent"]))
            answers.refuse_other_row(campaign, vector["participant"], bytes.fromhex(vector["first"]), transcript)
        else:
            client.answered_sets(sent, case_of("campaign_charters.json", vector)["identity"])
    except Refused:
        return False
    return True


def case_of(file: str, vector: Vector) -> Vector:
    return next(each for each in stored(file) if each["case"] == vector["case"])


def test_the_log_receipts_statements_and_codes() -> None:
    kept, *cases = stored("campaign_statements.json")
    entries = statements.read_log(kept["log"].encode(), kept["issuer"])
    charters = {each["case"]: each for each in stored("campaign_charters.json")}
    assert len(entries) == len(cases) == len(charters)
    for each in cases:
        campaign = opened(charters[each["case"]])
        key = statements.server_key(entries, campaign.identity, campaign.charter)
        assert key == each["server"]
        for shown in (each["signature"], each["signature alone"]):
            statements.refuse_unsigned(each["receipt"].encode(), shown, key)
        before = b""
        for number, said in enumerate(each["rounds"], 1):
            data = said["statement"].encode()
            found = statements.open_statement(data, said["signature"], key)
            state = {"round": number, "root": "ef" * 32, "transcript": "ab" * 32 if found["transcript"] else ""}
            salt = f"{cases.index(each):02x}" * 32
            statements.refuse_misstated(found, campaign.identity, state, salt, before)
            assert statements.code(data) == said["code"]
            for wrong in ({"root": "ee" * 32}, {"round": 3 - number}, {"transcript": "aa" * 32}):
                with pytest.raises(Refused):
                    statements.refuse_misstated(found, campaign.identity, state | wrong, salt, before)
            before = data


def test_what_is_not_signed_so_is_refused() -> None:
    kept, case, *_ = stored("campaign_statements.json")
    log, said, key = json.loads(kept["log"]), case["rounds"][0], case["server"]
    data = said["statement"].encode()
    entries = statements.read_log(kept["log"].encode(), kept["issuer"])
    for wrong in (log["entries"][1:], log["entries"][::-1], [{**log["entries"][0], "signature": "00" * 64}]):
        with pytest.raises(Refused):
            statements.read_log(written({**log, "entries": wrong}), kept["issuer"])
    with pytest.raises(Refused):
        statements.read_log(kept["log"].encode(), key)
    assert statements.agree(entries[:2], entries)
    assert not statements.agree(entries[1:], entries)
    with pytest.raises(Refused, match="does not name"):
        statements.server_key(entries, "00" * 32, {})
    for octets, signature, signer in (
        (data, said["signature"], kept["issuer"]),
        (data.replace(b"ef", b"ee"), said["signature"], key),
        (data, case["signature"], key),
        (case["receipt"].encode(), case["signature alone"], key),
    ):
        with pytest.raises(Refused):
            statements.open_statement(octets, signature, signer)


def amended_campaign() -> tuple[Campaign, Issuer]:
    vector = next(each for each in stored("campaign_charters.json") if each["case"] == "position, two rounds")
    return opened(vector), Issuer(Charter.from_bytes(vector["charter"].encode()), KEY)


def test_amendments_are_read_as_the_issuer_signed_them() -> None:
    campaign, issuer = amended_campaign()
    first, second = (each["closes"] for each in campaign.charter["rounds"])
    token, new = issuer.replaces_token(1)
    device, _ = issuer.replaces_token(2, "device", ledger="ab" * 32)
    withdrawal, later = issuer.signs("withdrawal", 3), issuer.signs("deadline", round=2, closes=second + 90_000)
    issuer.signs("deadline", round=1, closes=second)
    found, deadlines = read_amendments(issuer.amended.data, campaign.charter, campaign.identity)
    assert found == [each.content for each in issuer.amended.amendments]
    assert deadlines == [each.closes for each in issuer.amended.rounds] == [second, second + 90_000]
    assert token.amendment.token == sha256(new.encode())
    for signed in (token, device, withdrawal):
        assert signed.person is not None
        about, salt = signed.person.participant, signed.person.salt.hex()
        told = [is_about(found[signed.amendment.number - 1], campaign.identity, each, salt) for each in range(5)]
        assert told == [each == about for each in range(5)]
    assert not is_about(later.amendment.content, campaign.identity, 3, "")
    assert first < second


def test_amendments_that_may_not_be_are_refused() -> None:
    campaign, issuer = amended_campaign()
    issuer.replaces_token(1)
    good = json.loads(issuer.amended.data)
    following = issuer.amended.next
    closes = [each["closes"] for each in campaign.charter["rounds"]]
    person = {"person": "cd" * 32}
    wrong = [
        following("deadline", round=2, closes=closes[1]),
        following("deadline", round=1, closes=closes[1]),
        following("deadline", round=3, closes=closes[1] + 9),
        following("deadline", round=2, closes=closes[1] + 31_622_401),
        following("token", **person, token=good[0]["amendment"]["token"]),
        replace(following("withdrawal", **person), number=3),
        replace(following("withdrawal", **person), previous="ee" * 32),
        replace(following("withdrawal", **person), campaign="ee" * 32),
    ]
    lists = [[*good, SignedAmendment.of(each, KEY).public] for each in wrong]
    lists += [[*good, SignedAmendment.of(following("withdrawal", **person), OTHER_KEY).public]]
    lists += [[{"amendment": {**good[0]["amendment"], "kind": "erase"}, "signature": good[0]["signature"]}]]
    for each in lists:
        with pytest.raises(Refused):
            read_amendments(written(each), campaign.charter, campaign.identity)
    last = [*good, SignedAmendment.of(following("withdrawal", **person), KEY).public]
    assert len(read_amendments(written(last), campaign.charter, campaign.identity)[0]) == 2


def test_lies_are_told_from_truth() -> None:
    lies = stored("campaign_lies.json")
    wrong = [f"{each['what']}: {each['name']}" for each in lies if believes(each) is not each["believed"]]
    assert wrong == []
    assert len(lies) > 60


def test_a_charter_that_asks_for_consent_is_declined() -> None:
    """The package's programs keep to it; this one says that it does not."""
    case = next(each for each in stored("campaign_charters.json") if each["case"] == "position, one round")
    asks = replace(Charter.from_bytes(case["charter"].encode()), consent=1)
    with pytest.raises(Refused, match="consent of both ends"):
        open_charter(asks.data, sign(KEY, asks.data).hex(), asks.issuer)
