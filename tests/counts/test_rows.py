"""Triangles by first vertex: exact on true bits, unbiased on scores, and the first answers' noise.  [ROWS.1-2]"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from math import prod

import numpy as np
import pytest

from support.row_scores import EVERY_GRAPH, GRAPHS, flat, matrix_of, mixed_scores, true_scores
from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.plain.bitset import pack_rows
from visibility_aware_edge_ldp.counts.row_noise import first_vertex_noise
from visibility_aware_edge_ldp.counts.rows import (
    RowBlock,
    later,
    over_rows,
    scores_of_rows,
    triangle_reaches,
    triangle_total,
)
from visibility_aware_edge_ldp.counts.scores import Scores, scores_of
from visibility_aware_edge_ldp.mechanisms.randomized_response import Channel, RandomizedResponse
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

Lists = tuple[np.ndarray, np.ndarray]


def later_lists(bits: np.ndarray, start: int = 0, stop: int | None = None) -> Lists:
    rows = [np.flatnonzero(row) for row in bits[start:stop]]
    offsets = np.cumsum([0, *map(len, rows)])
    return later(start, offsets, np.concatenate([np.empty(0, int), *rows]).astype(np.int32))


def by_first_vertex(bits: np.ndarray, scores: np.ndarray) -> list[float]:
    """Brute force: for each i, the scores of {j, k} over all pairs of later friends."""
    friends = [np.flatnonzero(row[i + 1 :]) + i + 1 for i, row in enumerate(bits)]
    return [float(np.triu(scores[np.ix_(mine, mine)], 1).sum()) for mine in friends]


def joined(blocks: list[RowBlock], field: str) -> np.ndarray:
    return np.concatenate([getattr(block, field) for block in blocks])


@EVERY_GRAPH
def test_on_true_bits_the_sums_are_the_triangles_by_first_vertex(name: str) -> None:
    graph = GRAPHS[name]
    bits = matrix_of(graph)
    blocks = over_rows(true_scores(graph), 0, *later_lists(bits), lambda block: block)
    sums = joined(blocks, "totals")
    assert sums.tolist() == by_first_vertex(bits, bits.astype(float))
    assert sums.sum() == exact(graph, "triangles")
    assert joined(blocks, "users").tolist() == list(range(graph.n))
    assert (joined(blocks, "lists") == np.triu(bits, 1)).all()


@pytest.mark.parametrize("everybody", [False, True], ids=["three groups", "one group of all positions"])
def test_on_any_scores_pulls_and_sums_are_those_of_the_matrix(everybody: bool) -> None:
    bits = matrix_of(GRAPHS["power law"])
    scores, whole = mixed_scores(len(bits), 5, everybody)
    assert bool(scores.complete) == everybody
    blocks = over_rows(scores, 0, *later_lists(bits), lambda block: block)
    assert joined(blocks, "pulls") == pytest.approx(np.triu(bits, 1).astype(float) @ whole)
    assert joined(blocks, "totals") == pytest.approx(np.array(by_first_vertex(bits, whole)))
    assert triangle_total(scores, *later_lists(bits)) == pytest.approx(joined(blocks, "totals").sum())
    without = over_rows(replace(scores, complete={}), 0, *later_lists(bits), lambda block: block)
    assert joined(without, "pulls") == pytest.approx(joined(blocks, "pulls"))


@pytest.mark.parametrize("kernel", ["compiled", "plain"])
@pytest.mark.parametrize("everybody", [False, True], ids=["three groups", "one group of all positions"])
def test_a_friend_more_or_less_changes_a_sum_by_its_pull(
    everybody: bool, kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which is the same number in both worlds, to the last digit: what the smooth bound rests on."""
    monkeypatch.setenv("VA_EDGE_LDP_KERNEL", kernel)
    backend.name.cache_clear()
    bits = matrix_of(GRAPHS["random"])
    scores, _ = mixed_scores(len(bits), 6, everybody)

    def measured(user: int, world: np.ndarray) -> tuple[np.ndarray, float]:
        blocks = over_rows(scores, user, *later_lists(world, user, user + 1), lambda block: block)
        return blocks[0].pulls[0], float(blocks[0].totals[0])

    for user, friend in product((0, 7, 20), range(21, len(bits))):
        other = bits.copy()
        other[user, friend] = other[friend, user] = ~bits[user, friend]
        (pulls, total), (pulls_too, total_too) = measured(user, bits), measured(user, other)
        assert pulls[friend] == pulls_too[friend]
        assert abs(total - total_too) == pytest.approx(abs(pulls[friend]), abs=1e-9)
    backend.name.cache_clear()


def test_any_run_of_users_measures_what_all_at_once_do() -> None:
    bits = matrix_of(GRAPHS["more than two blocks"])
    scores, _ = mixed_scores(len(bits), 8)
    whole = over_rows(scores, 0, *later_lists(bits), lambda block: block)
    for start, stop in [(0, 1), (5, 9), (127, 129), (130, 300), (299, 300)]:
        part = over_rows(scores, start, *later_lists(bits, start, stop), lambda block: block)
        assert (joined(part, "pulls") == joined(whole, "pulls")[start:stop]).all()
        assert (joined(part, "totals") == joined(whole, "totals")[start:stop]).all()


@pytest.mark.parametrize("kernel", ["compiled", "plain"])
@pytest.mark.parametrize("everybody", [False, True], ids=["three groups", "one group of all positions"])
def test_reaches_are_the_largest_pulls(everybody: bool, kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of later users in each mask, to the last digit: they scale noise."""
    monkeypatch.setenv("VA_EDGE_LDP_KERNEL", kernel)
    backend.name.cache_clear()
    bits = matrix_of(GRAPHS["power law"])
    scores, _ = mixed_scores(len(bits), 7, everybody)
    held = np.random.default_rng(4).random((2, len(bits), len(bits))) < 0.3
    masks = np.stack([pack_rows(each, len(bits)) for each in held])
    blocks = over_rows(scores, 0, *later_lists(bits), lambda block: block)
    wanted = np.triu(np.ones_like(bits), 1) & held
    for given, kept in ((masks, wanted), (masks[:, :1], np.triu(np.ones_like(bits), 1) & held[:, :1])):
        largest, totals = triangle_reaches(scores, scores.panels, given, 0, *later_lists(bits))
        assert (largest == np.where(kept, np.abs(joined(blocks, "pulls")), 0).max(axis=2)).all()
        assert totals == pytest.approx(joined(blocks, "totals"), abs=1e-9)
    backend.name.cache_clear()


@pytest.mark.parametrize("n", [2, 9, 64, 130])
def test_scores_of_answers_for_everything_need_no_look(n: int) -> None:
    random = np.random.default_rng(n)
    upper = np.triu(np.ones((n, n), bool), 1)
    for held in (upper, upper & (random.random(n) < 0.6)[:, None]):
        groups = [([flat(held), flat(held & (random.random((n, n)) < 0.4))], [-0.5, 1.5])]
        quick, plain = scores_of_rows(groups, n), scores_of(groups, n)
        assert (quick.planes == plain.planes).all()
        assert (quick.values == plain.values).all()
        assert (quick.member == plain.member).all()
        assert {i: nodes.tolist() for i, nodes in quick.complete.items()} == {
            i: nodes.tolist() for i, nodes in plain.complete.items()
        }


def test_lists_without_earlier_users() -> None:
    offsets, members = later(3, np.array([0, 4, 4, 6]), np.array([0, 3, 4, 9, 2, 7], np.int32))
    assert offsets.tolist() == [0, 2, 2, 3]
    assert members.tolist() == [4, 9, 7]


POSITIONS = list(combinations(range(4), 2))
CHANNELS = {"private": RandomizedResponse(Fraction(1)).channel, "open": RandomizedResponse(Fraction(2)).channel}
CLASSES = {
    "one class": ("private",) * 6,
    "two classes and a public side": ("private", "open", "open", "private", None, "open"),
}


def transcripts(classes: tuple[str | None, ...], bits: tuple[int, ...]) -> list[tuple[float, tuple[int, ...]]]:
    """Every pattern of answers of four users with its chance; a public position says its bit."""

    def chances(kind: str | None, bit: int) -> tuple[float, float]:
        if kind is None:
            return 1.0 - bit, float(bit)
        given = CHANNELS[kind].given_one if bit else CHANNELS[kind].given_zero
        return float(given[0]), float(given[1])

    each = [chances(kind, bit) for kind, bit in zip(classes, bits, strict=True)]
    found = [(prod(c[a] for c, a in zip(each, answer, strict=True)), answer) for answer in product((0, 1), repeat=6)]
    return [(chance, answer) for chance, answer in found if chance]


def scores_from(classes: tuple[str | None, ...], answers: tuple[int, ...]) -> Scores:
    groups = []
    for kind in (None, *CHANNELS):
        held = np.array([c == kind for c in classes])
        ones = held & np.array(answers, bool)
        if kind is None:
            groups.append(([np.packbits(ones, bitorder="little")], [1.0]))
        elif held.any():
            values = [float(v) for v in CHANNELS[kind].scores]
            groups.append(([np.packbits(b, bitorder="little") for b in (held, ones)], values))
    return scores_of(groups, 4)


def variance_of(kind: str | None, bit: int) -> float:
    channel: Channel | None = CHANNELS.get(kind or "")
    return float(channel.variance(bit)) if channel else 0.0


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("edges", [63, 0, 0b001011, 0b111100, 0b110111, 0b011110], ids="{:06b}".format)
def test_four_users_every_transcript(name: str, edges: int) -> None:
    """The mean of all sums is the triangle count, their variance is [ROWS.2]'s, and its estimate has that mean."""
    classes, bits = CLASSES[name], tuple(edges >> place & 1 for place in range(6))
    world = np.zeros((4, 4), bool)
    for (u, v), bit in zip(POSITIONS, bits, strict=True):
        world[u, v] = world[v, u] = bit
    common = [int((world[:j, j] & world[:j, k]).sum()) for j, k in POSITIONS]
    kinds = zip(classes, bits, common, strict=True)
    expected = sum(variance_of(kind, bit) * count**2 for kind, bit, count in kinds)
    mean = square = estimated = 0.0
    for chance, answers in transcripts(classes, bits):
        scores = scores_from(classes, answers)
        blocks = over_rows(scores, 0, *later_lists(world), lambda block: block)
        total = float(joined(blocks, "totals").sum())
        mean, square = mean + chance * total, square + chance * total**2
        estimated += chance * first_vertex_noise(scores)
    assert mean == pytest.approx(sum(world[u, v] & world[u, w] & world[v, w] for u, v, w in combinations(range(4), 3)))
    assert square - mean**2 == pytest.approx(expected, abs=1e-9)
    assert estimated == pytest.approx(expected, abs=1e-9)
    if edges == 63:
        assert expected > 1


def test_reaches_of_many_users_who_have_a_mask_each() -> None:
    """More users than are worked on at once, and more than two panels of columns."""
    bits = matrix_of(powerlaw(1100, 9000, seed=5))
    scores, _ = mixed_scores(len(bits), 9, everybody=True)
    held = np.random.default_rng(6).random((1, len(bits), len(bits))) < 0.01
    masks = np.stack([pack_rows(each, len(bits)) for each in held])
    blocks = over_rows(scores, 0, *later_lists(bits), lambda block: block)
    largest, _ = triangle_reaches(scores, scores.panels, masks, 0, *later_lists(bits))
    kept = np.triu(np.ones_like(bits), 1) & held
    assert (largest == np.where(kept, np.abs(joined(blocks, "pulls")), 0).max(axis=2)).all()
