"""The tree of hashes: RFC 6962's, with proofs that show exactly what is there.  [CHARTER.7]"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from visibility_aware_edge_ldp.campaign import merkle
from visibility_aware_edge_ldp.errors import BadInput

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
    assert merkle.top([bytes.fromhex(each) for each in INPUTS[:count]]).hex() == ROOTS[count - 1]


@given(st.lists(st.binary(max_size=5), max_size=40))
def test_the_root_is_as_defined(leaves: list[bytes]) -> None:
    assert merkle.top(leaves) == by_definition(leaves)
    number = len(leaves).to_bytes(8, "big")
    assert merkle.root(leaves) == hashlib.sha256(b"\2" + number + by_definition(leaves)).digest()


@given(st.lists(st.binary(max_size=5), min_size=1, max_size=40), st.data())
def test_a_proof_shows_its_leaf_and_no_other(leaves: list[bytes], data: st.DataObject) -> None:
    root, count = merkle.root(leaves), len(leaves)
    index = data.draw(st.integers(0, count - 1))
    proof = merkle.proof(leaves, index)
    assert merkle.verify(root, leaves[index], index, count, proof)
    assert len(proof) <= (count - 1).bit_length()
    assert not merkle.verify(root, leaves[index] + b"!", index, count, proof)
    assert not merkle.verify(root, leaves[index], index, count, [*proof, bytes(32)])
    assert not merkle.verify(bytes(32), leaves[index], index, count, proof)
    assert not merkle.verify(root, leaves[index], count, count, proof)
    if proof:
        assert not merkle.verify(root, leaves[index], index, count, proof[:-1])
        assert not merkle.verify(root, leaves[index], index, count, [proof[0][:31], *proof[1:]])
    other = data.draw(st.integers(0, count - 1))
    if leaves[other] != leaves[index]:
        assert not merkle.verify(root, leaves[index], other, count, merkle.proof(leaves, other))


def counts_that_pass(count: int) -> set[int]:
    """Of how many leaves the proof of the first one can be told to be."""
    leaves = [bytes([place]) for place in range(count)]
    root, proof = merkle.root(leaves), merkle.proof(leaves, 0)
    return {other for other in range(1, 2 * count) if merkle.verify(root, leaves[0], 0, other, proof)}


def test_a_proof_shows_of_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [counts_that_pass(count) for count in (1, 3, 4, 100)] == [{1}, {3}, {4}, {100}]
    monkeypatch.setattr(merkle, "_of_all", lambda count, top: top)
    assert counts_that_pass(100) == set(range(65, 129))  # the twin whose root does not know


@pytest.mark.parametrize("count", [2**64, 2**64 + 1, 2**200])
def test_a_count_that_no_root_can_hold_proves_nothing(count: int) -> None:
    leaves = [b"a", b"b"]
    for index in (0, count - 1):
        assert not merkle.verify(merkle.root(leaves), b"a", index, count, merkle.proof(leaves, 0))


def nodes_pass_for_leaves() -> bool:
    """Whether two hashes next to each other are taken for a leaf of a smaller tree."""
    leaves = [b"a", b"b", b"c", b"d"]
    forged = b"".join(merkle._of_leaf(each) for each in leaves[:2])
    return merkle.verify(merkle.root(leaves), forged, 0, 2, [merkle.top(leaves[2:])])


def test_a_node_does_not_pass_for_a_leaf(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not nodes_pass_for_leaves()
    monkeypatch.setattr(merkle, "_of_all", lambda count, top: top)
    assert not nodes_pass_for_leaves()
    monkeypatch.setattr(merkle, "_of_leaf", lambda data: hashlib.sha256(data).digest())
    monkeypatch.setattr(merkle, "_of_node", lambda left, right: hashlib.sha256(left + right).digest())
    assert nodes_pass_for_leaves()  # the twin without the octet that tells them apart


def test_a_leaf_names_participant_and_upload() -> None:
    assert merkle.leaf(258, "ab" * 32) == b"\0" * 6 + b"\1\2" + b"\xab" * 32
    with pytest.raises(BadInput, match="no number 1"):
        merkle.proof([b"a"], 1)
