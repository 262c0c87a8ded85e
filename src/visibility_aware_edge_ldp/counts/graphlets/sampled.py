"""Connected subgraphs of four nodes on more nodes than all fours can be gone through: from a sample.  [GRAPHLET.4]

3-paths, tailed triangles and diamonds are counted exactly, by products of matrices; only a part of their variance is
estimated from a sample of pairs of nodes. 4-cliques are counted at a sample of nodes, which their variance includes.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.counts.graphlets.exact import (
    PATTERNS,
    SCORE,
    SQUARE,
    DenseScores,
    Moments,
    by_ends,
    graphlets,
    rounded,
    shared_by_triples,
)
from visibility_aware_edge_ldp.counts.node_groups import tickets
from visibility_aware_edge_ldp.counts.scores import Floats
from visibility_aware_edge_ldp.errors import TooLarge

Ints = npt.NDArray[np.int64]
CLIQUES = "four_cliques"
# All fours of so many nodes take minutes.
ALL_FOURS = {"three_paths": 1000, "tailed_triangles": 1000, "diamonds": 1000, CLIQUES: 2500}
# A dozen matrices of so many rows take 3 GB.
MOST_NODES = 5000
# Nodes u of a sample, and with each of them so many v, for the variance.
NODES, PARTNERS = 64, 128
# 4-cliques are counted at the nodes of so many draws; this part of the chance to be drawn is the same for all.
DRAWS, ALIKE = 128, 0.25


def is_sampled(n: int, name: str) -> bool:
    """Whether so many nodes are too many for all fours of them."""
    return n > ALL_FOURS[name]


def refuse_many(n: int, name: str) -> None:
    """Say that matrices of so many nodes do not fit."""
    if n > MOST_NODES:
        raise TooLarge(
            f"{name} needs matrices of all pairs, on up to {MOST_NODES:,} people; these are {n:,}. Choose the "
            f"largest with --top {MOST_NODES}, or ask for triangles or four_cycles, which take less."
        )


def sample_note(n: int, name: str) -> str:
    """What must be said of an estimate on so many nodes; empty where all fours were gone through."""
    if not is_sampled(n, name):
        return ""
    if name == CLIQUES:
        return (
            f"{name} were counted at people whom {DRAWS} draws of a public coin chose among {n:,}, rather those with "
            "many triangles; the standard error includes what that costs"
        )
    return f"the standard error of {name} is itself estimated, from {NODES} of the {n:,} people by a public coin"


def counted(scores: Floats, name: str, coin: str) -> tuple[float, float]:
    """The number of copies of a graphlet from a matrix of all scores, and its variance, by a sample where n is large.

    The coin is text that was public before anybody answered.
    """
    return sampled_graphlets(scores, name, coin) if is_sampled(len(scores), name) else graphlets(scores, name)


def sampled_graphlets(scores: Floats, name: str, coin: str) -> tuple[float, float]:
    """The same by a sample, whatever the number of nodes.  [GRAPHLET.4]"""
    dense = DenseScores(scores)
    shared = _shared_by_sample(dense, name, coin)
    if name == CLIQUES:
        value, variance = _cliques_at_nodes(dense, coin)
    else:
        through = THROUGH[name](dense)
        np.fill_diagonal(through, 0.0)
        value = float((scores * through).sum()) / (2 * len(PATTERNS[name]))
        variance = float(((dense.matrices[SQUARE] - scores) * through**2).sum()) / 2
    return rounded(value), rounded(variance + shared)


def _shared_by_sample(dense: DenseScores, name: str, coin: str) -> float:
    """What pairs of copies with three or four nodes in common add to the variance, without bias from some u and v."""
    n, every = dense.n, slice(None)
    nodes = _drawn(n, NODES, f"nodes\x1f{coin}")
    partners = (_drawn(n, PARTNERS, f"partners of {node}\x1f{coin}") for node in nodes.tolist())
    weighted = by_ends(name, first=False)
    found = [
        shared_by_triples(Moments(dense, node, v, every), weighted) / len(v)
        for node, v in zip(nodes.tolist(), partners, strict=True)
    ]
    return n * n * float(np.mean(found))


def _drawn(n: int, size: int, coin: str) -> Ints:
    """So many of n nodes, or all: a simple random sample by a public coin."""
    return np.sort(np.argsort(tickets(f"graphlets\x1f{coin}", n), kind="stable")[:size]).astype(np.int64)


# ── 4-cliques, at some nodes


def _cliques_at_nodes(dense: DenseScores, coin: str) -> tuple[float, float]:
    """The 4-cliques; and their variance but for what copies share: by noise at pairs, and by the sample of nodes."""
    chances = _chances(dense)
    places = tickets(f"graphlets\x1fcliques\x1f{coin}", DRAWS) * 2.0**-64
    drawn = np.minimum(np.searchsorted(np.cumsum(chances), places, side="right"), dense.n - 1)
    nodes, again = np.unique(drawn, return_inverse=True)
    found = np.array([_cliques_of(dense, node) for node in nodes.tolist()]) / chances[nodes, None]
    # Each clique is met at four nodes, and each pair at two.
    cliques, pairs = found[again, 0] / 4, found[again, 1] / 2
    return float(cliques.mean()), float(pairs.mean()) + float(cliques.var(ddof=1)) / DRAWS


def _chances(dense: DenseScores) -> Floats:
    """How likely each node is drawn: in part alike, and mostly in proportion to (triangles at it)^1.5."""
    triangles = (dense.scores * dense.paths[SCORE, SCORE]).sum(axis=1)
    size = np.maximum(triangles, 0.0) ** 1.5
    alike = np.full(dense.n, 1 / dense.n)
    return alike if not size.sum() else ALIKE * alike + (1 - ALIKE) * size / size.sum()


def _cliques_of(dense: DenseScores, node: int) -> tuple[float, float]:
    """How many cliques hold a node, and Σ_v (ê² − ê)·(cliques through uv without it)²."""
    every = slice(None)
    moments = Moments(dense, node, every, every)
    own = moments.at_v[SCORE]
    # Three nodes beside u: each clique through uv is met for both orders of the other two.
    through = (moments.blocks[SCORE] * moments.of((SCORE, SCORE, SCORE))) @ own / 2
    return float(own @ through) / 3, float((moments.at_v[SQUARE] - own) @ through**2)


# ── the others: copies through every pair, by products of matrices


def _paths_through(dense: DenseScores) -> Floats:
    """3-paths through each pair: as their middle, or as one of their ends."""
    scores, degrees, common = dense.scores, dense.sums[SCORE], dense.paths[SCORE, SCORE]
    beside = degrees[:, None] - scores
    middle = beside * beside.T - common
    # An end u–v, then v–c–d: c is not u, and d neither u nor v.
    after = (scores @ degrees - dense.sums[SQUARE]) - degrees[:, None] * scores - common + dense.matrices[SQUARE]
    return np.asarray(middle + after + after.T)


def _tailed_triangles_through(dense: DenseScores) -> Floats:
    """Tailed triangles through each pair: as the tail, or as a side of the triangle."""
    scores, degrees, common = dense.scores, dense.sums[SCORE], dense.paths[SCORE, SCORE]
    at_node = (scores * common).sum(axis=1) / 2
    tail = at_node[:, None] - scores * common
    uneven = dense.paths[SQUARE, SCORE]
    side = common * (degrees[:, None] + degrees - 2 * scores) - 2 * (uneven + uneven.T) + (scores * degrees) @ scores
    return np.asarray(tail + tail.T + side)


def _diamonds_through(dense: DenseScores) -> Floats:
    """Diamonds through each pair: as the side that both triangles have, or as another one."""
    scores, common = dense.scores, dense.paths[SCORE, SCORE]
    both = (common**2 - dense.paths[SQUARE, SQUARE]) / 2
    one = (scores * common) @ scores - scores * dense.paths[SCORE, SQUARE]
    return np.asarray(both + one + one.T)


THROUGH: dict[str, Callable[[DenseScores], Floats]] = {
    "three_paths": _paths_through,
    "tailed_triangles": _tailed_triangles_through,
    "diamonds": _diamonds_through,
}
"""How copies through every pair are counted, by graphlet: those without the pair itself, as a matrix."""
