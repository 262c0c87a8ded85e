"""Degrees of four kinds of graphs, seen through randomized response or with Laplace noise."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Graph = NDArray[np.bool_]
Observation = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]
TRIALS = 24
SHARE = 0.331


def symmetric(upper: Graph) -> Graph:
    upper = np.triu(upper, 1)
    return upper | upper.T


def lone_hub(rng: np.random.Generator) -> Graph:
    """A dense half, a sparse half, and one node far above both: the hardest case for a smooth prior."""
    rate = np.full((300, 300), 0.2)
    rate[:150, :150] = 0.8
    rate[0], rate[:, 0] = 0.68, 0.68
    return symmetric(rng.random((300, 300)) < rate)


def core(rng: np.random.Generator) -> Graph:
    """Degrees spread evenly up to the top, like the well-connected core of a social network."""
    wish = np.linspace(0.95, 0.25, 300)
    return symmetric(rng.random((300, 300)) < np.outer(wish, wish))


def uniform(rng: np.random.Generator) -> Graph:
    return symmetric(rng.random((300, 300)) < 0.1)


def power_law(rng: np.random.Generator) -> Graph:
    wish = (np.arange(1, 401) / 400) ** (-1 / 1.5)
    wish *= 15 / wish.mean()
    return symmetric(rng.random((400, 400)) < np.minimum(1, np.outer(wish, wish) / wish.sum()))


GRAPHS = {"core": core, "lone hub": lone_hub, "uniform": uniform, "power law": power_law}


def observe(graph: Graph, epsilon: float, rng: np.random.Generator) -> Observation:
    """Randomized response on every position that is not public, once for both of its ends."""
    public = symmetric(rng.random(graph.shape) < SHARE)
    lie = 1 / (1 + np.exp(epsilon))
    flip = symmetric(rng.random(graph.shape) < lie)
    unbiased = ((graph ^ flip) - lie) / (1 - 2 * lie)
    np.fill_diagonal(unbiased, 0)
    low = (graph & public).sum(axis=1)
    private = len(graph) - 1 - public.sum(axis=1)
    noisy = np.where(public, graph, unbiased).sum(axis=1)
    return noisy, private * np.exp(epsilon) / np.expm1(epsilon) ** 2, low, low + private


def trials(name: str, epsilon: float, count: int = TRIALS) -> Iterator[tuple[NDArray[np.int64], Observation]]:
    rng = np.random.default_rng([len(name), round(10 * epsilon)])
    graph = GRAPHS[name](np.random.default_rng(3))
    for _ in range(count):
        yield graph.sum(axis=1), observe(graph, epsilon, rng)


def laplace_trials(degrees: NDArray[np.int64], epsilon: float, count: int) -> Iterator[Observation]:
    """Degrees with one draw of discrete Laplace noise each, as users send them.  [NOISE.2]"""
    rng, n, stay = np.random.default_rng(1), degrees.size, np.exp(-epsilon)
    for _ in range(count):
        noise = rng.geometric(1 - stay, n) - rng.geometric(1 - stay, n)
        yield degrees + noise.astype(float), np.full(n, 2 * stay / (1 - stay) ** 2), 0 * degrees, 0 * degrees + n - 1
