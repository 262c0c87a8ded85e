"""A participant's program written from the protocol's page alone: the vectors, and a rehearsal with the real server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from plain_client import answers, client, noise
from plain_client.campaign import QUESTIONS, Campaign, check_question, open_charter, open_documents
from plain_client.canonical import Refused, read
from plain_client.rules import CLASSES
from plain_client.tree import check_receipt, leaf, proves, root
from support.campaign_answer_vectors import Counted
from support.campaign_attacks import whole
from support.campaign_vectors import stored
from support.plain_program import DOCUMENTS, levels_of, opened, report_of

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


def test_lies_are_told_from_truth() -> None:
    lies = stored("campaign_lies.json")
    wrong = [f"{each['what']}: {each['name']}" for each in lies if believes(each) is not each["believed"]]
    assert wrong == []
    assert len(lies) > 60
