"""Triangles by the groups of their three nodes, from sums over pairs through each group.  [COUNTS.8]

Nodes stand in the order of their groups, and packed rows have each group in words of its own, so that in how many ways
two nodes are joined through one group is counted in a run of words.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement, pairwise

import numpy as np

from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.plain.bitset import Bits, Words, pack_rows, unpack_rows, word_count
from visibility_aware_edge_ldp.compute.plain.pair_sums import triangle_terms, upper
from visibility_aware_edge_ldp.compute.threads import on_cores
from visibility_aware_edge_ldp.counts.scores import Floats, Ints, ScoreFunction, Scores, score, spread, square
from visibility_aware_edge_ldp.errors import TooLarge

# Some seconds and 200 MB; with more groups nearly every cell is noise.
MOST_NODES, MOST_GROUPS = 5_000, 20
# Rows at a time.
BLOCK = 128
# Triangles, and their variance by how many sides are noisy, as in ``triangles.NAMES``.
_SUMS = 4


def refuse_many(n: int, groups: int) -> None:
    """Say that so many nodes or groups take too long."""
    if n > MOST_NODES or groups > MOST_GROUPS:
        raise TooLarge(
            f"Triangles by groups are counted on up to {MOST_NODES:,} nodes in up to {MOST_GROUPS} groups; these are "
            f"{n:,} in {groups}. Choose the largest with --top {MOST_NODES}, or fewer groups with COLUMN,least=N."
        )


def triangles_by_group(scores: Scores, members: Ints, groups: int) -> tuple[Floats, Floats]:
    """The triangles with nodes in groups a ≤ b ≤ c, one cell after the other, and the variance of each.  [COUNTS.8]"""
    work = _Work(scores, members, groups)
    starts = [
        (start, min(start + BLOCK, last))
        for first, last in pairwise(work.bounds.tolist())
        for start in range(first, last, BLOCK)
    ]
    _ = work.bits, work.words, work.weights  # what all threads share is made before they start
    by_place = np.zeros((_SUMS, groups, groups, groups))
    for (start, _), found in zip(starts, on_cores(work.block, starts), strict=True):
        by_place[:, work.members[start]] += found
    cells = {each: place for place, each in enumerate(combinations_with_replacement(range(groups), 3))}
    total = np.zeros((_SUMS, len(cells)))
    for place in np.ndindex(groups, groups, groups):
        total[:, cells[tuple(sorted(place))]] += by_place[:, *place]
    count, one, two, three = total
    # As in ``triangles.triangles``: at least the term in which all sides are noisy.
    return count / 3, np.maximum(one + two + three / 3, three / 3)


@dataclass(frozen=True, eq=False)
class _Work:
    """The planes of some scores with the nodes in the order of their groups."""

    scores: Scores
    in_roster: Ints
    groups: int

    @cached_property
    def order(self) -> Ints:
        return np.argsort(self.in_roster, kind="stable")

    @cached_property
    def members(self) -> Ints:
        """The group of each node, in order."""
        return self.in_roster[self.order]

    @cached_property
    def bounds(self) -> Ints:
        """Where each group begins, and where the last one ends."""
        return np.concatenate([[0], np.cumsum(np.bincount(self.in_roster, minlength=self.groups))])

    @cached_property
    def bits(self) -> Bits:
        """(K, n, n): the planes."""
        found = np.empty((len(self.scores.planes), self.scores.n, self.scores.n), np.bool_)
        for plane, held in zip(self.scores.planes, found, strict=True):
            held[:] = unpack_rows(plane, self.scores.n)[self.order][:, self.order]
        return found

    @cached_property
    def words(self) -> dict[int, Words]:
        """For each group with members, (K, n, words): the planes' columns of its nodes."""
        found = {}
        for group, (first, last) in enumerate(pairwise(self.bounds.tolist())):
            if first < last:
                found[group] = np.empty((*self.bits.shape[:2], word_count(last - first)), np.uint64)
                for held, words in zip(self.bits, found[group], strict=True):
                    words[:] = pack_rows(held[:, first:last], last - first)
        return found

    @cached_property
    def weights(self) -> dict[ScoreFunction, list[float]]:
        """The planes' weights that give each function of the score."""
        return {each: self.scores.weights(each).tolist() for each in (score, square, spread)}

    def block(self, rows: tuple[int, int]) -> Floats:
        """(sums, groups, groups): of these nodes with later ones of each group, through nodes of each group."""
        (first, last), nothing = rows, np.zeros((rows[1] - rows[0], self.scores.n - rows[0]))
        here, noise = (
            sum((w * held[first:last, first:] for w, held in zip(self.weights[f], self.bits, strict=True)), nothing)
            for f in (score, spread)
        )
        later = upper(last - first, self.scores.n - first)
        found = np.zeros((_SUMS, self.groups, self.groups))
        for through, words in self.words.items():
            terms = triangle_terms(self._forms(words, first, last), here, noise, 0.0)[:_SUMS]
            for place, term in enumerate(terms):
                by_column = (term * later).sum(axis=0)
                found[place, :, through] = np.bincount(self.members[first:], by_column, self.groups)
        return found

    def _forms(self, words: Words, first: int, last: int) -> list[Floats]:
        """F[f, f] of score, square and spread through one group, for all pairs of a block."""
        weights = list(self.weights.values())
        found = [np.zeros((last - first, self.scores.n - first)) for _ in weights]
        for a, b in combinations_with_replacement(range(len(words)), 2):
            counts = backend.shared_counts(words[a, first:last], words[b, first:])
            if a != b:
                counts = counts + backend.shared_counts(words[b, first:last], words[a, first:])
            for form, each in zip(found, weights, strict=True):
                form += (each[a] * each[b]) * counts
        return found
