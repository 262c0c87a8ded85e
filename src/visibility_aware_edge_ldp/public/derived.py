"""Statistics that a formula makes from others: what every report on a network begins with.

A row of ``FORMULAS`` is all that such a statistic takes: ``aggregator/derived.py`` makes its estimate and its interval
from those of its sources in every protocol that answers them, and the planner its standard error.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf


@dataclass(frozen=True)
class Derived:
    """A formula for a statistic from others.

    Parameters
    ----------
    sources
        The names of the others.
    formula
        From the number of nodes and the sources' values to the value. Where there is one source, or one has no standard
        error, it rises or falls throughout in each.
    order
        1 for a linear formula, 2 for a quadratic one, whose estimates have no bias where those of the sources have
        none; 0 for any other, which has an interval and no standard error if it has several sources.
        [DERIVED.1-2, DERIVED.4]
    side
        "people" or "places", where it is that side's part of its only source, which has an entry for each node; the
        formula is then not used.  [BIPARTITE.4]
    """

    sources: tuple[str, ...]
    formula: Callable[..., float]
    order: int = 1
    side: str = ""

    def members(self, people: int) -> slice:
        """The nodes of its side, as a slice of a roster with so many people before all places."""
        return slice(0, people) if self.side == "people" else slice(people, None)

    def slopes(self, n: int, values: Sequence[float], steps: Sequence[float]) -> list[float]:
        """How the formula changes with each source: exact for an order of 1 or 2; 0 where a step is 0."""
        around = [[self._moved(n, values, steps, {i: sign}) for sign in (1, -1)] for i in range(len(values))]
        return [(up - down) / (2 * step) if step else 0.0 for (up, down), step in zip(around, steps, strict=True)]

    def bend(self, n: int, values: Sequence[float], steps: Sequence[float], i: int, j: int) -> float:
        """The second derivative in sources i and j: exact for an order of 1 or 2; 0 where a step is 0."""
        if not steps[i] * steps[j] or self.order == 1:
            return 0.0
        if i == j:
            twice = sum(self._moved(n, values, steps, {i: sign}) for sign in (1, -1))
            return (twice - 2 * self.formula(n, *values)) / steps[i] ** 2
        signs = [(1, 1), (-1, -1), (1, -1), (-1, 1)]
        near = [self._moved(n, values, steps, {i: one, j: other}) for one, other in signs]
        return (near[0] + near[1] - near[2] - near[3]) / (4 * steps[i] * steps[j])

    def _moved(self, n: int, values: Sequence[float], steps: Sequence[float], signs: dict[int, int]) -> float:
        return self.formula(
            n, *(x + signs.get(i, 0) * step for i, (x, step) in enumerate(zip(values, steps, strict=True)))
        )


def _mean_square_about_the_mean(n: int, edges: float, two_stars: float) -> float:
    """Σd² = 2·(2-stars) + 2·edges, and Σd = 2·edges."""
    return (2 * two_stars + 2 * edges) / n - (2 * edges / n) ** 2


def _centralization(n: int, most: float, edges: float) -> float:
    """Σ(most − d) over what a star has; 0 for two nodes, which are all alike."""
    return (n * most - 2 * edges) / ((n - 1) * (n - 2)) if n > 2 else 0.0


FORMULAS: dict[str, tuple[str, str, Derived, tuple[float, float]]] = {
    "mean_degree": (
        "mean degree",
        "how many friends a participant has in the mean",
        Derived(("edges",), lambda n, edges: 2 * edges / n),
        (0.0, inf),
    ),
    "density": (
        "density",
        "the share of all pairs of participants who are friends",
        Derived(("edges",), lambda n, edges: 2 * edges / max(n * (n - 1), 1)),
        (0.0, 1.0),
    ),
    "degree_variance": (
        "degree variance",
        "how far numbers of friends are from their mean: the mean of the squares",
        Derived(("edges", "stars:2"), _mean_square_about_the_mean, order=2),
        (0.0, inf),
    ),
    "degree_centralization": (
        "degree centralization",
        "how far friendships gather at one participant: 1 in a star, 0 where all have as many",
        Derived(("max_degree", "edges"), _centralization, order=0),
        (0.0, 1.0),
    ),
    "isolates": (
        "isolates",
        "participants without a friend",
        Derived(("tail:1",), lambda n, with_friends: n - with_friends),
        (0.0, inf),
    ),
    "concurrency": (
        "concurrency",
        "the share of participants with two friends or more",
        Derived(("tail:2",), lambda n, with_two: with_two / n),
        (0.0, 1.0),
    ),
}
"""By name: the label, what it means for somebody who was asked, the formula, and between what every true value lies."""


def _itself(n: int, value: float) -> float:
    return value


BIPARTITE: dict[str, tuple[str, str, Derived]] = {
    "people_degrees": (
        "people’s degrees",
        "how many places each person visits",
        Derived(("degrees",), _itself, side="people"),
    ),
    "place_degrees": (
        "places’ degrees",
        "how many people visit each place",
        Derived(("degrees",), _itself, side="places"),
    ),
    "butterflies": (
        "butterflies",
        "two people who visit the same two places",
        Derived(("four_cycles",), _itself),
    ),
}
"""Statistics of people and places: the label, what it means for somebody who was asked, and what it is made from."""
