"""The rivals: other libraries, and the straightforward NumPy and SciPy versions of what we do, written plainly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.truth.graph import Graph

Work = Callable[[], object]


def networkx_triangles(graph: Graph) -> Work:
    """NetworkX's own count, of a graph that it holds already."""
    import networkx

    held = networkx.Graph(graph.edges.tolist())
    return lambda: sum(networkx.triangles(held).values()) // 3


def igraph_triangles(graph: Graph) -> Work:
    """igraph counts triangles inside its transitivity, 3T over the 2-stars; listing them takes twenty times as long."""
    import igraph

    held, wedges = igraph.Graph(n=graph.n, edges=graph.edges.tolist()), two_stars(graph).sum()
    return lambda: round(held.transitivity_undirected() * wedges / 3)


def networkit_triangles(graph: Graph) -> Work:
    """networkit counts triangles inside its local clustering, on all cores; its parallel count of edges is slower."""
    import networkit

    ends = (np.ascontiguousarray(graph.edges[:, side], np.uint64) for side in (0, 1))
    held, wedges = networkit.GraphFromCoo(tuple(ends), n=graph.n), two_stars(graph)
    return lambda: round(networkit.centrality.LocalClusteringCoefficient(held, True).run().scores() @ wedges / 3)


def two_stars(graph: Graph) -> npt.NDArray[np.int64]:
    """d(d − 1)/2 for each node."""
    return graph.degrees * (graph.degrees - 1) // 2


def scipy_square(graph: Graph) -> Work:
    """A @ A with 32-bit counts: the common neighbours of all pairs, from which a plain program takes the maximum."""
    matrix = adjacency(graph, np.int32)
    return lambda: matrix @ matrix


def adjacency(graph: Graph, kind: npt.DTypeLike, upper: bool = False) -> Any:
    """The adjacency matrix, or its part above the diagonal."""
    from scipy.sparse import csr_array

    ends = graph.edges if upper else np.concatenate((graph.edges, graph.edges[:, ::-1]))
    return csr_array((np.ones(len(ends), kind), (ends[:, 0], ends[:, 1])), shape=(graph.n, graph.n))


def closed_paths(scores: npt.NDArray[np.floating]) -> float:
    """S @ S ∘ S over all entries, divided by six: the triangles, where S holds bits or their unbiased scores."""
    return float(np.einsum("ij,ij->i", scores @ scores, scores).sum(dtype=np.float64)) / 6


def noisy_scores(graph: Graph, epsilon: float, random: np.random.Generator) -> npt.NDArray[np.float32]:
    """Randomized response on every position by comparing floats, and the unbiased score of every answer."""
    flip = 1 / (1 + np.exp(epsilon))
    bits = np.zeros((graph.n, graph.n), np.bool_)
    bits[graph.edges[:, 0], graph.edges[:, 1]] = True
    bits ^= random.random(bits.shape, np.float32) < flip
    upper = np.triu((bits - np.float32(flip)) / np.float32(1 - 2 * flip), 1)
    return upper + upper.T


def two_rounds(graph: Graph, epsilon: float, random: np.random.Generator, with_error: bool) -> tuple[float, float]:
    """USER triangles in two rounds: half of ε for the answers, half for each user's sum over its later friends.

    A user's sum is ½ Σ S[j, k] over ordered pairs of later friends; one friend more or less moves it by a row sum, and
    that by at most M. Floats, Student noise on a smooth bound: the plain way to write it, not a safe one. The standard
    error, where it is asked for, takes what first answers add: Σ spread(jk) · (earlier users tied to both)², [ROWS.2].
    """
    scores = noisy_scores(graph, epsilon / 2, random)
    later = adjacency(graph, np.float32, upper=True)
    pulls = later @ scores
    sums = np.asarray(later.multiply(pulls).sum(axis=1)).ravel() / 2
    later_users = np.triu(np.ones((graph.n, graph.n), np.bool_), 1)
    reach = np.where(later_users, np.abs(pulls), 0).max(axis=1)
    pace = float(np.abs(scores).max()) / (epsilon / 2 / 6)
    scale = np.where(reach >= pace, reach, pace * np.exp(np.minimum(reach / pace, 1) - 1)) * 6 / (epsilon / 2)
    value = float((sums + scale * random.standard_t(3, graph.n)).sum())
    if not with_error:
        return value, float("nan")
    rows = np.triu(scores, 1)
    squares = rows * rows
    ties, own = rows.T @ rows, squares.T @ squares
    first = np.sum((squares - rows) * (ties * ties + ties - own), dtype=np.float64)
    return value, float(np.sqrt(max(first, 0) + 3 * np.square(scale).sum()))


def noisy_counts(graph: Graph, epsilon: float, random: np.random.Generator) -> float:
    """POSITION triangles in one round as Imola, Murakami and Chaudhuri (2021) have them, written plainly.

    Triples of nodes are counted by how many of their three noisy answers are 1, and the counts weighed by powers of
    −e^−ε. The paper's own program is C++ that goes through the lists of the noisy graph.
    """
    n, odds = graph.n, float(np.exp(-epsilon))
    bits = (noisy_scores(graph, epsilon, random) > 0).astype(np.float32)
    degrees = bits.sum(axis=1, dtype=np.float64)
    three = closed_paths(bits)
    two = float((degrees * (degrees - 1) / 2).sum()) - 3 * three
    one = float(degrees.sum()) / 2 * (n - 2) - 2 * two - 3 * three
    none = n * (n - 1) * (n - 2) / 6 - one - two - three
    return (three - odds * two + odds**2 * one - odds**3 * none) / (1 - odds) ** 3


def by_vertices(graph: Graph, epsilon: float, random: np.random.Generator) -> float:
    """USER triangles as He et al. (SIGMOD 2025) count them around each vertex, written plainly.

    A tenth of ε buys noisy degrees, which bound what one friend more adds to a user's sum over all pairs of friends;
    a triangle is in the sums of its three users. ε is what one list loses, as in the paper: an edge, which stands in
    two lists, loses more. The paper's own program is C++.
    """
    degree_share, rounds = epsilon / 10, 0.45 * epsilon
    noisy_degrees = graph.degrees + random.laplace(0, 1 / degree_share, graph.n)
    scores = noisy_scores(graph, rounds, random)
    friends = adjacency(graph, np.float32)
    sums = np.asarray(friends.multiply(friends @ scores).sum(axis=1)).ravel() / 2
    scale = np.maximum(noisy_degrees, 1) * float(scores.max()) / rounds
    return float((sums + random.laplace(0, scale)).sum() / 3)


def numpy_response(count: int, flip: float) -> Work:
    """NumPy's own generator, which is not cryptographic, compared with a float; packed as ours are sent."""
    random = np.random.default_rng()
    return lambda: np.packbits(random.random(count) < flip)


def opendp_response(count: int, keep: float) -> Work:
    """OpenDP's randomized response of one bit, called once a bit: most of the time is the call from Python."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    answer = dp.m.make_randomized_response_bool(prob=keep)
    return lambda: [answer(True) for _ in range(count)]


def opendp_vector(count: int, flip: float) -> Work:
    """OpenDP's randomized response of many bits in one call; its f is the chance of a fresh coin, two flips."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    bits = dp.bitvector_domain(max_weight=count)
    answer = dp.m.make_randomized_response_bitvec(bits, dp.discrete_distance(), f=2 * flip)
    return lambda: answer(bytes(count // 8))


def sampled_two_rounds(graph: Graph, epsilon: float, random: np.random.Generator, share: float) -> float:
    """USER triangles in two rounds where a coin draws a share of the positions, and only these are answered.

    The plain way: sparse matrices of the drawn positions' scores over the share, and Student noise on a smooth bound of
    the largest row sum, as in :func:`two_rounds`.
    """
    import scipy.sparse

    later = adjacency(graph, np.float32, upper=True)
    count, flip = random.binomial(graph.n * (graph.n - 1) // 2, share), 1 / (1 + np.exp(epsilon / 2))
    ends = np.sort(random.integers(0, graph.n, (2, count)), axis=0)
    u, v = np.unique(ends[:, ends[0] < ends[1]], axis=1)
    bits = np.asarray(later[u, v]).ravel().astype(np.bool_) ^ (random.random(u.size) < flip)
    values = ((bits - flip) / (1 - 2 * flip) / share).astype(np.float32)
    scores = scipy.sparse.csr_array((values, (u, v)), shape=(graph.n,) * 2)
    scores = scores + scores.T
    pulls = scipy.sparse.csr_array(later) @ scores
    sums = np.asarray(scipy.sparse.csr_array(later).multiply(pulls).sum(axis=1)).ravel() / 2
    reach = np.asarray(abs(pulls).max(axis=1).todense()).ravel()
    pace = float(np.abs(values).max()) / (epsilon / 2 / 6)
    scale = np.where(reach >= pace, reach, pace * np.exp(np.minimum(reach / pace, 1) - 1)) * 6 / (epsilon / 2)
    return float((sums + scale * random.standard_t(3, graph.n)).sum())
