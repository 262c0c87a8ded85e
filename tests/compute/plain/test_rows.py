"""Rows of packed bits added up: the compiled kernels against the plain ones, and both against plain matrices."""

from __future__ import annotations

from itertools import pairwise
from types import ModuleType

import numpy as np
import pytest

from visibility_aware_edge_ldp.compute.plain import rows
from visibility_aware_edge_ldp.compute.plain.bitset import pack_rows

SIZES = [1, 2, 3, 63, 64, 65, 130, 512, 513, 1100]
EVERY_SIZE = pytest.mark.parametrize("n", SIZES)
BOTH = pytest.mark.parametrize("name", ["plain", "compiled"])
WEIGHTS = np.array([-0.7, 1.9])


def kernels(name: str) -> ModuleType:
    if name == "plain":
        return rows
    pytest.importorskip("numba", reason="numba is not installed")
    from visibility_aware_edge_ldp.compute.compiled import rows as rows_compiled

    return rows_compiled


def symmetric(n: int, share: float, seed: int) -> np.ndarray:
    upper = np.triu(np.random.default_rng(seed).random((n, n)) < share, 1)
    return upper | upper.T


def later_lists(n: int, start: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Lists of up to twenty users from ``start`` on: of nobody, of everybody after, and of some."""
    random = np.random.default_rng(seed)
    shares = [0.0, 1.0, *random.random(18)]
    lists = [
        user + 1 + np.flatnonzero(random.random(n - user - 1) < share)
        for user, share in zip(range(start, n), shares, strict=False)
    ]
    return np.cumsum([0, *map(len, lists)]), np.concatenate(lists).astype(np.int32)


def masks_for(n: int, lists: int, seed: int, shared: bool) -> tuple[np.ndarray, np.ndarray]:
    """Two masks with a row for each list, or one for all; as bits and in panels."""
    bits = np.random.default_rng(seed).random((2, 1 if shared else lists, n)) < 0.5
    return bits, np.stack([rows.panels_of(pack_rows(each, n))[:, :-1] for each in bits])


def in_panels(*planes: np.ndarray) -> np.ndarray:
    return np.stack([rows.panels_of(pack_rows(plane, len(plane))) for plane in planes])


@EVERY_SIZE
def test_panels_hold_the_rows_and_an_empty_one(n: int) -> None:
    plane = pack_rows(symmetric(n, 0.5, n), n)
    panels = rows.panels_of(plane)
    assert panels.shape == rows.panels_shape(*plane.shape)
    assert (rows.rows_of(panels)[:, : plane.shape[1]] == plane).all()
    assert not rows.rows_of(panels)[:, plane.shape[1] :].any()
    assert not panels[:, -1].any()


@BOTH
@EVERY_SIZE
@pytest.mark.parametrize("shared", [False, True], ids=["a mask each", "one mask"])
def test_pulls_of_lists_are_those_of_the_matrix(n: int, shared: bool, name: str) -> None:
    """Counts inside the lists, and the largest weighted count among the columns after the user that a mask holds."""
    planes = symmetric(n, 0.9, n), symmetric(n, 0.4, n + 1)
    for start in {0, n // 2, n - 1} | {start for start in (509, 510, 511, 512, 513) if start < n}:
        offsets, members = later_lists(n, start, n + 2)
        bits, masks = masks_for(n, offsets.size - 1, n + 3, shared)
        none = np.zeros(2, bool)
        inside, largest = kernels(name).list_pulls(in_panels(*planes), none, WEIGHTS, masks, start, offsets, members)
        for i, (a, b) in enumerate(pairwise(offsets)):
            counts = [plane[members[a:b]].sum(axis=0) for plane in planes]
            assert inside[i].tolist() == [count[members[a:b]].sum() for count in counts]
            pulls = np.abs(WEIGHTS[0] * counts[0] + WEIGHTS[1] * counts[1])[start + i + 1 :]
            for mask, found in zip(bits, largest, strict=True):
                assert found[i] == pulls[mask[min(i, len(mask) - 1), start + i + 1 :]].max(initial=0.0)


@BOTH
@EVERY_SIZE
@pytest.mark.parametrize("shared", [False, True], ids=["a mask each", "one mask"])
def test_complete_planes_are_not_read(n: int, shared: bool, name: str) -> None:
    """They join everybody to everybody: with empty panels the same numbers, and one mask serves all lists."""
    everybody = ~np.eye(n, dtype=bool)
    whole = in_panels(everybody, symmetric(n, 0.4, n))
    unread = np.stack([np.zeros_like(whole[0]), whole[1]])
    for start in {0, n // 2}:
        offsets, members = later_lists(n, start, n)
        _, masks = masks_for(n, offsets.size - 1, n, shared)
        counted = rows.list_pulls(whole, np.zeros(2, bool), WEIGHTS, masks, start, offsets, members)
        known = kernels(name).list_pulls(unread, np.array([True, False]), WEIGHTS, masks, start, offsets, members)
        for a, b in zip(counted, known, strict=True):
            assert (a == b).all()


@BOTH
@pytest.mark.parametrize("stranger", [70, 1 << 20])
def test_lists_of_strangers_are_refused(stranger: int, name: str) -> None:
    plane, masks = in_panels(symmetric(70, 0.5, 1)), np.zeros((1, 1, 1, 8), np.uint64)
    lists = np.array([0, 2]), np.array([3, stranger], np.int32)
    with pytest.raises(IndexError):
        kernels(name).list_pulls(plane, np.zeros(1, bool), np.array([1.0]), masks, 0, *lists)


def plain_sums(plane: np.ndarray, wanted: np.ndarray, j: int) -> list[list[int]]:
    """[ROWS.2]'s sums for one user, by their definition."""
    before = plane[:j].astype(int)
    shared, early = (before * before[:, [j]]).sum(axis=0)[j + 1 :], before.sum(axis=0)[j + 1 :]
    products = shared, early, shared**2, shared * early, early**2
    sides = np.ones(len(plane) - j - 1, bool), plane[j, j + 1 :]
    return [[int(each[side].sum()) * bool(wanted[j]) for each in products] for side in sides]


@BOTH
@EVERY_SIZE
def test_sums_over_earlier_users(n: int, name: str) -> None:
    plane, wanted = symmetric(n, 0.4, n), np.random.default_rng(n).random(n) < 0.8
    expected = [plain_sums(plane, wanted, j) for j in range(n)]
    sizes = [int(plane[j, :j].sum()) * bool(wanted[j]) for j in range(n)]
    for start, stop in {(0, n), (n // 3, n // 2 + 1), (n - 1, n)}:
        sums, found = kernels(name).earlier_sums(in_panels(plane)[0], wanted, start, stop)
        assert sums.tolist() == expected[start:stop]
        assert found.tolist() == sizes[start:stop]


@BOTH
@EVERY_SIZE
def test_later_members_stay_and_are_packed_as_pairs_are_numbered(n: int, name: str) -> None:
    """From whole lists to those after each user, and to one bit a pair."""
    both, start = symmetric(n, 0.3, n), n // 3
    lists = [np.flatnonzero(row) for row in both[start:]]
    neighbours = np.concatenate([*lists, np.empty(0, int)]).astype(np.int32)
    offsets, members = kernels(name).later(start, np.cumsum([0, *map(len, lists)]), neighbours)
    above = np.triu(both, 1)[start:]
    assert members.tolist() == np.nonzero(above)[1].tolist()
    assert np.diff(offsets).tolist() == above.sum(axis=1).tolist()
    packed = kernels(name).packed_lists(n, start, offsets, members)
    pairs = both[np.triu_indices(n, 1)][start * (2 * n - start - 1) // 2 :]
    assert packed.tolist() == np.packbits(pairs, bitorder="little").tolist()


@BOTH
@pytest.mark.parametrize("member", [-1, 2, 3, 9])
def test_a_member_who_does_not_come_after_the_user_is_refused(member: int, name: str) -> None:
    with pytest.raises(IndexError, match="do not exist"):
        kernels(name).packed_lists(9, 3, np.array([0, 1]), np.array([member], np.int32))


@BOTH
def test_a_list_that_names_a_user_twice_counts_twice(name: str) -> None:
    """Inside the list too, where the other plane is complete and nothing but the slices of counts is looked at."""
    n, members = 600, np.array([5, 5, 70, 520, 520, 520], np.int32)
    counted, everybody = symmetric(n, 0.5, 1), ~np.eye(n, dtype=bool)
    _, masks = masks_for(n, 1, 2, shared=True)
    given = masks, 2, np.array([0, members.size]), members
    inside, largest = kernels(name).list_pulls(in_panels(everybody, counted), np.array([True, False]), WEIGHTS, *given)
    plain = rows.list_pulls(in_panels(everybody, counted), np.array([True, False]), WEIGHTS, *given)
    assert inside[0, 1] == counted[np.ix_(members, members)].sum()
    assert inside.tolist() == plain[0].tolist()
    assert largest.tolist() == plain[1].tolist()
