"""What is sent: uploads, receipts, refusals, and RFC 6962's tree of hashes with its proofs.  [CHARTER.7] [CHARTER.8]"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from http import HTTPStatus

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from visibility_aware_edge_ldp.campaign import wire_format
from visibility_aware_edge_ldp.campaign.signed_documents import decode, digest, encode
from visibility_aware_edge_ldp.campaign.wire_format import BY_TYPE, PROBLEMS, SALT, Receipt, report_in, salted
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation
from visibility_aware_edge_ldp.public.surveys import degrees

# The inputs and roots that certificate transparency logs are tested with.
INPUTS = ("", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f")
ROOTS = (
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
)
STATUS = {
    "bad-request": 400,
    "unauthorized": 401,
    "forbidden": 403,
    "not-found": 404,
    "method-not-allowed": 405,
    "deadline": 408,
    "conflict": 409,
    "late": 409,
    "not-open": 409,
    "out-of-order": 409,
    "withdrawn": 409,
    "not-ready": 409,
    "erased": 410,
    "length-required": 411,
    "too-large": 413,
    "media-type": 415,
    "bad-report": 422,
    "bad-amendment": 422,
    "too-many": 429,
    "header-too-large": 431,
    "internal": 500,
    "damaged": 500,
    "store-unavailable": 503,
}


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 13])
def test_a_part_shows_the_root_of_all(count: int) -> None:
    bodies = [bytes([number]) * number for number in range(count)]
    root, files = wire_format.part_files(bodies)
    for number, file in enumerate(files):
        assert len(file) == number + wire_format.proof_octets(number, count)
        assert wire_format.part_in(file, number, count) == (bodies[number], root)
        other = file[:-1] + bytes([file[-1] ^ 1]) if file else b"1"
        assert wire_format.part_in(other, number, count)[1] != root
        assert wire_format.part_in(b"1" + file, number, count)[1] != root
        assert wire_format.part_in(file, number, count + 1)[1] != root
    assert wire_format.part_in(b"", count - 1, count)[1] != root or count == 1
    assert wire_format.root_above(b"", 3, 3, []) is None


@pytest.mark.parametrize("count", [1, 2, 3, 5, 6, 7, 8, 13, 100])
def test_all_ways_at_once_are_the_proofs(count: int) -> None:
    leaves = [bytes([number]) for number in range(count)]
    root, ways = wire_format.root_and_ways(leaves)
    assert root == wire_format.root(leaves)
    assert ways == [b"".join(wire_format.proof(leaves, place)) for place in range(count)]


def every_degree(around: int = 500) -> Iterator[bytes]:
    """The reports of a participant's noisy degree, whatever it is."""
    for value in range(-around, around):
        report = degrees.degree_report("ab" * 32, 3, np.ones(1, np.bool_), np.array([[value]]))
        yield degrees.encode(report)


def found_by_trying(seen: str) -> list[bytes]:
    """Which reports have this digest, alone or with a salt that somebody might have forgotten to draw."""
    tried = (b"", bytes(SALT), b"\xff" * SALT)
    return [report for report in every_degree() for salt in tried if digest(salt + report) == seen]


def test_a_short_report_is_not_found_by_trying_and_was_without_a_salt() -> None:
    sent = next(iter(every_degree(20)))
    assert found_by_trying(digest(salted(sent))) == []
    assert found_by_trying(digest(sent)) == [sent]
    assert found_by_trying(digest(bytes(SALT) + sent)) == [sent]


def test_every_upload_has_a_salt_of_its_own() -> None:
    assert len({salted(b"the same report")[:SALT] for _ in range(1000)}) == 1000


@given(st.binary(max_size=100))
def test_the_report_is_there(report: bytes) -> None:
    upload = salted(report)
    assert (report_in(upload), len(upload)) == (report, SALT + len(report))


def by_definition(leaves: Sequence[bytes]) -> bytes:
    """RFC 6962, section 2.1, word for word."""
    if not leaves:
        return hashlib.sha256().digest()
    if len(leaves) == 1:
        return hashlib.sha256(b"\0" + leaves[0]).digest()
    half = 1 << (len(leaves) - 1).bit_length() - 1
    return hashlib.sha256(b"\1" + by_definition(leaves[:half]) + by_definition(leaves[half:])).digest()


@pytest.mark.parametrize("count", range(1, 9))
def test_roots_of_the_known_leaves(count: int) -> None:
    assert wire_format.top([bytes.fromhex(each) for each in INPUTS[:count]]).hex() == ROOTS[count - 1]


@given(st.lists(st.binary(max_size=5), max_size=40))
def test_the_root_is_as_defined(leaves: list[bytes]) -> None:
    assert wire_format.top(leaves) == by_definition(leaves)
    number = len(leaves).to_bytes(8, "big")
    assert wire_format.root(leaves) == hashlib.sha256(b"\2" + number + by_definition(leaves)).digest()


@given(st.lists(st.binary(max_size=5), min_size=1, max_size=40), st.data())
def test_a_proof_shows_its_leaf_and_no_other(leaves: list[bytes], data: st.DataObject) -> None:
    root, count = wire_format.root(leaves), len(leaves)
    index = data.draw(st.integers(0, count - 1))
    proof = wire_format.proof(leaves, index)
    assert wire_format.verify(root, leaves[index], index, count, proof)
    assert len(proof) <= (count - 1).bit_length()
    assert not wire_format.verify(root, leaves[index] + b"!", index, count, proof)
    assert not wire_format.verify(root, leaves[index], index, count, [*proof, bytes(32)])
    assert not wire_format.verify(bytes(32), leaves[index], index, count, proof)
    assert not wire_format.verify(root, leaves[index], count, count, proof)
    if proof:
        assert not wire_format.verify(root, leaves[index], index, count, proof[:-1])
        assert not wire_format.verify(root, leaves[index], index, count, [proof[0][:31], *proof[1:]])
    other = data.draw(st.integers(0, count - 1))
    if leaves[other] != leaves[index]:
        assert not wire_format.verify(root, leaves[index], other, count, wire_format.proof(leaves, other))


def counts_that_pass(count: int) -> set[int]:
    """Of how many leaves the proof of the first one can be told to be."""
    leaves = [bytes([place]) for place in range(count)]
    root, proof = wire_format.root(leaves), wire_format.proof(leaves, 0)
    return {other for other in range(1, 2 * count) if wire_format.verify(root, leaves[0], 0, other, proof)}


def test_a_proof_shows_of_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [counts_that_pass(count) for count in (1, 3, 4, 100)] == [{1}, {3}, {4}, {100}]
    monkeypatch.setattr(wire_format, "_of_all", lambda count, top: top)
    assert counts_that_pass(100) == set(range(65, 129))  # the twin whose root does not know


@pytest.mark.parametrize("count", [2**64, 2**64 + 1, 2**200])
def test_a_count_that_no_root_can_hold_proves_nothing(count: int) -> None:
    leaves = [b"a", b"b"]
    for index in (0, count - 1):
        assert not wire_format.verify(wire_format.root(leaves), b"a", index, count, wire_format.proof(leaves, 0))


def nodes_pass_for_leaves() -> bool:
    """Whether two hashes next to each other are taken for a leaf of a smaller tree."""
    leaves = [b"a", b"b", b"c", b"d"]
    forged = b"".join(wire_format._of_leaf(each) for each in leaves[:2])
    return wire_format.verify(wire_format.root(leaves), forged, 0, 2, [wire_format.top(leaves[2:])])


def test_a_node_does_not_pass_for_a_leaf(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not nodes_pass_for_leaves()
    monkeypatch.setattr(wire_format, "_of_all", lambda count, top: top)
    assert not nodes_pass_for_leaves()
    monkeypatch.setattr(wire_format, "_of_leaf", lambda data: hashlib.sha256(data).digest())
    monkeypatch.setattr(wire_format, "_of_node", lambda left, right: hashlib.sha256(left + right).digest())
    assert nodes_pass_for_leaves()  # the twin without the octet that tells them apart


def test_a_leaf_names_participant_and_upload() -> None:
    assert wire_format.leaf(258, "ab" * 32) == b"\0" * 6 + b"\1\2" + b"\xab" * 32
    with pytest.raises(BadInput, match="no number 1"):
        wire_format.proof([b"a"], 1)


def test_the_registry() -> None:
    assert {name: problem.status for name, problem in PROBLEMS.items()} == STATUS
    assert {HTTPStatus(problem.status) for problem in PROBLEMS.values()}
    assert {problem.type for problem in PROBLEMS.values()} == {f"urn:va-edge-ldp:problem:{name}" for name in STATUS}
    assert BY_TYPE["urn:va-edge-ldp:problem:late"] is PROBLEMS["late"]


def test_a_problem_as_it_is_sent() -> None:
    sent = PROBLEMS["late"].body("Round 1 closed at noon.")
    assert decode(sent) == {
        "type": "urn:va-edge-ldp:problem:late",
        "title": "The round is closed.",
        "status": 409,
        "detail": "Round 1 closed at noon.",
    }
    assert "detail" not in decode(PROBLEMS["late"].body())


@given(st.text(st.characters()))
def test_any_detail_can_be_sent(detail: str) -> None:
    assert decode(PROBLEMS["bad-report"].body(detail + "e\u0301\ud800"))["detail"].endswith("é?")


def test_a_receipt_comes_back() -> None:
    receipt = Receipt("ab" * 32, 2, 17, "cd" * 32)
    assert Receipt.from_bytes(receipt.to_bytes()) == receipt


@pytest.mark.parametrize(
    "change",
    [{"round": 3}, {"round": "1"}, {"participant": -1}, {"digest": "AB" * 32}, {"campaign": 7}, {"more": 1}],
    ids=str,
)
def test_other_receipts_are_refused(change: dict[str, object]) -> None:
    content = {**vars(Receipt("ab" * 32, 2, 17, "cd" * 32)), **change}
    with pytest.raises(ProtocolViolation, match="receipt"):
        Receipt.from_bytes(encode(content))
