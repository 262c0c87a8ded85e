"""The source documents' algorithms for positions, in plain Python as their pseudocode reads (document 003).

Nothing here is recommended: it is what ours is measured against. ``positions`` holds, for each pair u < v, whether the
edge is there and whether it is public. Each algorithm asks everybody anew and spends its own epsilon.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict

Pair = tuple[int, int]
Positions = dict[Pair, tuple[bool, bool]]

CANDIDATES = 10
LARGEST_TRIANGLE_WEIGHT, LARGEST_STAR_WEIGHT = 50.0, 5.0


class Response:
    """Randomized response on one bit."""

    def __init__(self, epsilon: float, coins: random.Random) -> None:
        self.p = 1 / (1 + math.exp(-epsilon))
        self.q = 1 - self.p
        self._coins = coins

    def privatize(self, bit: bool) -> bool:
        """The bit, or its opposite."""
        return bit if self._coins.random() < self.p else not bit


def edge_count(positions: Positions, epsilon: float, coins: random.Random) -> float:
    """Algorithm 1."""
    response = Response(epsilon, coins)
    public, private = [], []
    for exists, is_public in positions.values():
        if is_public:
            public.append(exists)
        else:
            private.append(response.privatize(exists))
    hidden = (sum(private) - len(private) * response.q) / (response.p - response.q)
    return sum(public) + max(0.0, hidden)


def first_round(positions: Positions, response: Response) -> dict[int, set[int]]:
    """The noisy neighbours of each node."""
    neighbours: dict[int, set[int]] = defaultdict(set)
    for (u, v), (exists, is_public) in positions.items():
        if exists if is_public else response.privatize(exists):
            neighbours[u].add(v)
            neighbours[v].add(u)
    return neighbours


def confirmed(positions: Positions, noisy: dict[int, set[int]], v: int, response: Response) -> tuple[int, int]:
    """How many public and private neighbours of v stand a second question."""
    public = private = 0
    for u in noisy[v]:
        exists, is_public = positions[min(u, v), max(u, v)]
        if is_public:
            public += 1
        else:
            private += response.privatize(exists)
    return public, private


def max_degree(positions: Positions, n: int, epsilon: float, coins: random.Random) -> float:
    """Algorithm 2: the ten noisiest degrees are asked about again."""
    first, second = Response(epsilon / 2, coins), Response(epsilon / 2, coins)
    noisy = first_round(positions, first)
    candidates = sorted(noisy, key=lambda v: len(noisy[v]), reverse=True)[:CANDIDATES]
    best = 0.0
    for v in candidates:
        public, private = confirmed(positions, noisy, v, second)
        bias = (n - 1 - public) * first.q * second.q
        hidden = max(0.0, (private - bias) / (first.p * second.p - first.q * second.q))
        best = max(best, public + hidden)
    return min(best, n - 1)


def triangle_count(positions: Positions, epsilon: float, coins: random.Random) -> float:
    """Algorithm 3: every triangle of the noisy graph is asked about again, and weighted."""
    first, second = Response(epsilon / 2, coins), Response(epsilon / 2, coins)
    noisy = first_round(positions, first)
    candidates = [
        (u, v, w) for u in noisy for v in noisy[u] if v > u for w in noisy[u] & noisy[v] if w > v
    ]  # fmt: skip
    public_triangles, weights = 0, []
    for u, v, w in candidates:
        n_public, stands = 0, True
        for side in ((u, v), (v, w), (u, w)):
            exists, is_public = positions[side]
            n_public += is_public
            stands = exists if is_public else second.privatize(exists)
            if not stands:
                break
        if stands and n_public == 3:
            public_triangles += 1
        elif stands:
            weights.append(triangle_weight((first.p * second.p) ** (3 - n_public)))
    total = sum(weights)
    unconfirmed = len(candidates) - len(weights) - public_triangles
    return public_triangles + max(0.0, total - unconfirmed * second.q**2 * 0.5)


def triangle_weight(chance: float) -> float:
    """Inverse probability, capped and reduced as the document says."""
    if chance <= 0.01:
        return 0.0
    weight = min(1 / chance, LARGEST_TRIANGLE_WEIGHT)
    return weight * (0.5 + 0.5 * chance / 0.3) if chance < 0.3 else weight


def star_count(positions: Positions, n: int, k: int, epsilon: float, coins: random.Random) -> float:
    """Algorithm 4: every node's degree is estimated, and stars are counted from it."""
    first, second = Response(epsilon / 2, coins), Response(epsilon / 2, coins)
    noisy = first_round(positions, first)
    chance, total = first.p * second.p, 0
    weight = min(1 / chance, LARGEST_STAR_WEIGHT)
    if chance < 0.3:
        weight *= 0.6 + 0.4 * chance / 0.3
    for v in range(n):
        public, private = confirmed(positions, noisy, v, second)
        hidden = max(0.0, private - (n - 1 - public) * first.q * second.q) * weight
        total += math.comb(round(public + hidden), k)
    return total
