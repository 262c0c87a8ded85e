"""The public view: what everybody knows, and nothing else."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from visibility_aware_edge_ldp.errors import BadPolicy
from visibility_aware_edge_ldp.public import view as view_module
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.positions import TILE, endpoints, position_count
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
NOBODY = np.empty((0, 2), np.int32)
MIXED = VisibilityPolicy(0.3, 0.3)


def view(policy: VisibilityPolicy = MIXED, n: int = 50, edges: np.ndarray = NOBODY) -> PublicView:
    return PublicView(range(n), policy, edges)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 50, 101])
def test_class_sizes_sum_to_the_number_of_positions(n: int) -> None:
    sizes = view(n=n).class_sizes
    assert sum(sizes.values()) == position_count(n) == view(n=n).positions
    assert set(sizes) == set(Visibility)


@pytest.mark.parametrize("n", [2, 9, 50, 1100])  # 1,100 nodes have more than one tile of positions
def test_class_bits_are_the_classes(n: int) -> None:
    held = view(n=n)
    classes = held.classes.range(0, held.positions)
    for kind, packed in held.class_bits.items():
        assert len(packed) == (held.positions + 7) // 8
        bits = np.unpackbits(packed, bitorder="little")
        assert np.array_equal(bits[: held.positions], classes == kind)
        assert not bits[held.positions :].any()
    assert n < 1100 or held.positions > TILE


def test_every_position_has_one_class() -> None:
    planes = list(view().class_bits.values())
    assert np.array_equal(np.bitwise_or.reduce(planes), np.bitwise_xor.reduce(planes))
    assert int(np.bitwise_count(np.bitwise_or.reduce(planes)).sum()) == position_count(50)


def test_an_all_private_view_has_one_class() -> None:
    assert view(VisibilityPolicy.nothing()).class_sizes == {PUBLIC: 0, FRIEND_VISIBLE: 0, PRIVATE: 1225}


def edge_of(kind: Visibility, n: int = 50) -> np.ndarray:
    number = int(np.flatnonzero(MIXED.bind(range(n)).range(0, position_count(n)) == kind)[0])
    return np.array(endpoints(n, number, 1), dtype=np.int32).T


@pytest.mark.parametrize("kind", [FRIEND_VISIBLE, PRIVATE])
def test_a_private_edge_in_a_public_view_is_refused(kind: Visibility) -> None:
    public = edge_of(PUBLIC)
    with pytest.raises(BadPolicy, match="PUBLIC positions only"):
        view(edges=edge_of(kind))
    with pytest.raises(BadPolicy, match="PUBLIC positions only"):
        view(edges=np.concatenate([public, edge_of(kind)]))
    assert len(view(edges=public).edges) == 1


def test_edge_numbers_are_sorted() -> None:
    bound = MIXED.bind(range(50))
    chosen = np.flatnonzero(bound.range(0, 1225) == PUBLIC)[[5, 2, 9]]
    u, v = endpoints(50, 0, 1225)
    held = view(edges=np.stack([u[chosen], v[chosen]], axis=1).astype(np.int32))
    assert held.edge_numbers.tolist() == sorted(chosen.tolist())
    assert view().edge_numbers.tolist() == []


def test_the_roster_is_named_by_its_names_in_order() -> None:
    rosters = [("a", "b", "c"), ("a", "c", "b"), ("a", "b"), ("ab", "c", ""), ("a", "b", "d")]
    digests = [PublicView(names, MIXED, NOBODY).roster_digest for names in rosters]
    assert len(set(digests)) == len(rosters)
    assert digests[0] == hashlib.sha256(b'["a", "b", "c"]').hexdigest()


LOOK_ALIKES = [1, "1", (1,), "(1,)", ("1",), "['1']", 1.0, "1.0", None, "None", "-1", -1, '"1"', "01", True, "True"]


def test_names_of_different_types_name_different_rosters() -> None:
    """1 and "1" once had one digest; only names that are equal still do."""
    digests = {PublicView([name, "a"], MIXED, NOBODY).roster_digest for name in LOOK_ALIKES}
    assert len(digests) == len(LOOK_ALIKES) - 1
    same = (1, True, np.int64(1), np.uint8(1))
    assert len({PublicView([name, "a"], MIXED, NOBODY).roster_digest for name in same}) == 1
    one, other = (PublicView([name, "a"], MIXED, NOBODY).roster_digest for name in ("1", np.str_("1")))
    assert one == other


def test_rosters_of_whole_numbers_and_of_words_keep_their_digests() -> None:
    """Surveys about them keep their identity."""
    assert view(n=3).roster_digest == hashlib.sha256(b'["0", "1", "2"]').hexdigest()
    assert PublicView([-5, "é"], MIXED, NOBODY).roster_digest == hashlib.sha256('["-5", "é"]'.encode()).hexdigest()


def test_names_that_hold_the_joining_sign_are_told_apart() -> None:
    one, other = (PublicView(names, MIXED, NOBODY).roster_digest for names in (("a\x1fb", "c"), ("a", "b\x1fc")))
    assert one != other


def test_names_and_edges_are_not_printed() -> None:
    text = repr(PublicView(("ann", "bob"), VisibilityPolicy.nothing(), NOBODY))
    assert "ann" not in text
    assert "edges" not in text


def test_the_digest_of_a_roster_is_of_all_names_whatever_is_written_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [0, "1", "é", ("a",), 7]
    edges = np.zeros((0, 2), np.int32)
    expected = hashlib.sha256('["0", ["1"], "é", ["tuple", "(\'a\',)"], "7"]'.encode()).hexdigest()
    for at_once in (1, 2, 5, 1 << 16):
        monkeypatch.setattr(view_module, "_AT_ONCE", at_once)
        assert PublicView(names, VisibilityPolicy.nothing(), edges).roster_digest == expected
