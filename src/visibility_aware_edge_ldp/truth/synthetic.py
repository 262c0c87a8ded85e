"""Graphs made by a formula: the same edges on every machine, with no file and nobody's data.

All draws come from a counter-based hash (splitmix64) and meet only sums, products, quotients and
square roots, which IEEE 754 rounds alike everywhere. A seed therefore names one graph for good,
whatever the version of NumPy; the tests pin the edges.
"""

from itertools import pairwise
from math import comb, sqrt

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.errors import BadGraph
from visibility_aware_edge_ldp.truth.graph import Graph

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

EGOS = (1045, 790, 755, 545, 350, 230, 170, 160, 70, 58)
"""How many friends each of the ten egos has."""
BRIDGES = 16
"""How many friends each later ego has in common with the first; all that joins the ego networks."""
FACEBOOK_NODES = len(EGOS) + sum(EGOS) - (len(EGOS) - 1) * BRIDGES
FACEBOOK_EDGES = 88_234
LEAST_CIRCLE = 5
"""No circle is smaller, unless fewer friends are left over."""
STRANGERS = 4.0
"""The distance of two friends of one ego from different circles; inside a circle it is 0 to 2."""


def facebook_like() -> Graph:
    """A graph with the shape of SNAP's ego-Facebook and none of its data.

    Ten *egos* (nodes 0 to 9) know 58 to 1,045 friends each, and each later ego shares 16 of them
    with the first: 4,039 nodes. An ego's friends form *circles*: the first circle holds a third of
    them, the next a third of the rest, and so on. A circle has a core and a rim: its k-th member of
    s has rank (k + 1/2) / s, and two members lie at the sum of their ranks; two friends of one ego
    from different circles lie at distance 4. Two friends know each other with a chance that falls
    with the cube of their distance, on the one scale that gives 88,234 edges. So cores are cliques,
    rims are sparse but know the core, circles are loosely joined, and degrees are heavy-tailed.

    Returns
    -------
    Graph
        Always the same graph. The constants above were chosen so that its triangles, 2-stars,
        3-stars, transitivity, mean clustering and largest degree are within 5 % of the original's.
    """
    ties, positions, distances = [], [], []
    for ego, friends in enumerate(_friends()):
        i, j = np.triu_indices(len(friends), 1)
        new = j >= (BRIDGES if ego else 0)  # the first ego has already introduced the bridges to each other
        i, j = i[new], j[new]
        circle, rank = _circles(len(friends))
        distances.append(np.where(circle[i] == circle[j], rank[i] + rank[j], STRANGERS))
        positions.append(friends[i] * FACEBOOK_NODES + friends[j])
        ties.append(ego * FACEBOOK_NODES + friends)
    kept = _nearest(np.concatenate(distances), FACEBOOK_EDGES - sum(EGOS))
    numbers = np.concatenate([*ties, np.concatenate(positions)[kept]])
    return _graph(FACEBOOK_NODES, np.sort(numbers), "facebook-like")


def powerlaw(n: int, m: int, seed: int = 0) -> Graph:
    """m edges whose ends fall on node i in proportion to about (i + constant)^(-2/3).

    These are Chung and Lu's weights for a degree exponent of 5/2; node 0 expects the most. The
    constant caps the largest expected degree at √(2m), beyond which two hubs would have to meet more
    than once. A graph with more than half of all positions filled has no room for a power law:
    there it is the absences that are drawn, and they fall on the last nodes.

    Parameters
    ----------
    n, m
        How many nodes and how many edges, exactly.
    seed
        Any integer; another seed gives another graph.
    """
    _check(n, m)
    ratio = max(1.0, n / sqrt(2 * max(m, 1)))  # of the largest expected degree to the mean
    a = 3 * ratio - 1  # the ratio is (1 + c + c²) / 3c²: solve for c
    return _graph(n, _positions(n, m, seed, (1 + sqrt(1 + 4 * a)) / (2 * a)), _label("powerlaw", n, m, seed))


def erdos_renyi(n: int, m: int, seed: int = 0) -> Graph:
    """m positions, all sets of m equally likely; parameters as for `powerlaw`."""
    _check(n, m)
    return _graph(n, _positions(n, m, seed, 1.0), _label("random", n, m, seed))


def parse(text: str) -> Graph:
    """The graph that a user names: ``facebook-like``, ``powerlaw:n,m[,seed]`` or ``random:n,m[,seed]``."""
    if text == "facebook-like":
        return facebook_like()
    kind, _, numbers = text.partition(":")
    maker = {"powerlaw": powerlaw, "random": erdos_renyi}.get(kind)
    try:
        values = [int(number) for number in numbers.split(",")]
    except ValueError:
        values = []
    if maker is None or len(values) not in (2, 3):
        raise BadGraph(
            f"There is no synthetic graph {text!r}. Say facebook-like, powerlaw:n,m or random:n,m with "
            "whole numbers of nodes and edges; a third number is the seed."
        )
    return maker(*values)


def _friends() -> list[Integers]:
    """Each ego's friends; the later egos' begin with 16 from the outskirts of the first one's."""
    first, *later = EGOS
    friends = [np.arange(len(EGOS), len(EGOS) + first)]
    outskirts = friends[0][-BRIDGES * len(later) :].reshape(-1, BRIDGES)
    own = np.split(np.arange(len(EGOS) + first, FACEBOOK_NODES), np.cumsum(np.array(later) - BRIDGES)[:-1])
    return friends + [np.concatenate(both) for both in zip(outskirts, own, strict=True)]


def _circles(size: int) -> tuple[Integers, Floats]:
    """Each friend's circle and rank in it."""
    starts = [0]
    while (left := size - starts[-1]) > 0:
        starts.append(starts[-1] + min(left, max(LEAST_CIRCLE, left // 3)))
    sizes = np.array([end - start for start, end in pairwise(starts)])
    circle = np.repeat(np.arange(len(sizes)), sizes)
    return circle, (np.arange(size) - np.array(starts)[circle] + 0.5) / sizes[circle]


def _nearest(distances: Floats, count: int) -> Integers:
    """Exactly ``count`` indices, each with a chance of min(1, scale / distance³) for one scale."""
    keys = _uniform(0, len(distances)) * distances * distances * distances
    return np.argsort(keys, kind="stable")[:count]


def _positions(n: int, m: int, seed: int, c: float) -> Integers:
    """m distinct positions as sorted numbers u·n + v with u < v."""
    if 2 * m <= comb(n, 2):
        return np.sort(_draw(n, m, seed, c))
    u, v = np.divmod(_draw(n, comb(n, 2) - m, seed, c), n)
    present = np.triu(np.ones((n, n), dtype=bool), 1)
    present[n - 1 - v, n - 1 - u] = False  # turned round, so that the first nodes miss least
    return np.flatnonzero(present)


def _draw(n: int, m: int, seed: int, c: float) -> Integers:
    """The first m distinct positions in an endless row of draws with two independent ends."""
    draws = m + m // 16 + m * m // comb(n, 2) + 4  # nearly always enough
    while True:
        ends = _ends(_uniform(seed, 2 * draws), n, c).reshape(-1, 2)
        ends = ends[ends[:, 0] != ends[:, 1]]
        numbers: Integers = ends.min(axis=1) * n + ends.max(axis=1)
        _, seen_first = np.unique(numbers, return_index=True)
        if len(seen_first) >= m:
            return np.take(numbers, np.sort(seen_first)[:m])
        draws *= 2  # the longer row begins with the shorter one


def _ends(u: Floats, n: int, c: float) -> Integers:
    """Nodes in proportion to (i + constant)^(-2/3), since i/n = (v³ - c³) / (1 - c³) for uniform v in [c, 1).

    The factor 1 - c is cancelled, so that c = 1 is the uniform distribution and not 0 / 0.
    """
    v = c + (1 - c) * u
    share = u * (v * v + v * c + c * c) / (1 + c + c * c)
    return np.minimum((share * n).astype(np.int64), n - 1)


def _uniform(seed: int, count: int) -> Floats:
    """Numbers in (0, 1): the hash of seed and counter, so that a longer row begins with the shorter one."""
    start = _mixed(np.array([seed % 2**64], dtype=np.uint64))
    counters = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return ((_mixed(start + counters) >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53


def _mixed(x: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Splitmix64's finalizer (Steele, Lea and Flood, 2014)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _check(n: int, m: int) -> None:
    if not 2 <= n < 2**31:
        raise BadGraph(f"A synthetic graph needs from 2 to {2**31 - 1:,} nodes, not {n:,}.")
    if not 0 <= m <= comb(n, 2):
        raise BadGraph(f"A graph on {n:,} nodes has from 0 to {comb(n, 2):,} edges, not {m:,}.")


def _label(kind: str, n: int, m: int, seed: int) -> str:
    return f"{kind}:{n},{m}" + (f",{seed}" if seed else "")


def _graph(n: int, numbers: Integers, label: str) -> Graph:
    edges = np.stack(np.divmod(numbers, n), axis=1).astype(np.int32)
    return Graph(range(n), edges, source=f"{label} (synthetic)")
