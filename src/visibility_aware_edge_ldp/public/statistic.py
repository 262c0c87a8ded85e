"""The statistics: each one value with its name, its words, its exact count and what kind of number it is.

A statistic of this package is a ``Statistic`` here, its formula in ``counts/``, and its estimator with each collection
that can answer it. Programs outside this package call :func:`register`.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.counts import exact as exact_counts
from visibility_aware_edge_ldp.counts.exact import Graph
from visibility_aware_edge_ldp.errors import BadStatistic, did_you_mean
from visibility_aware_edge_ldp.public.derived import BIPARTITE, FORMULAS, Derived
from visibility_aware_edge_ldp.public.groups import exact_by_groups, groups_of

# What is counted is not negative.
COUNT = (0.0, math.inf)


@dataclass(frozen=True)
class Statistic:
    """What is counted, and how it is called.

    Parameters
    ----------
    name
        As it is typed and written in JSON: "triangles", "stars:3".
    label
        In tables and figures: "largest degree", "3-stars".
    meaning
        What it counts, for somebody who was asked: "pairs of participants who are friends".
    exact
        From a graph to the true value.
    sides
        How many edges the counted subgraph has; 0 where no subgraph is counted.
    family
        For one of many with a parameter, their common name: "stars" of "stars:3".
    parameter
        The 3 of "stars:3".
    article
        Whether a sentence says "the" before the label.
    per_person
        Whether there is a number for each user or for each bin of users, rather than one.
    from_degrees
        Whether everybody's degree is all that it depends on.
    over_pairs
        Whether it is counted over pairs of users and their common friends, which takes time that is cubic in users.
    by_groups
        Whether it is about public groups of users, which the graph must then have.
    bipartite
        Whether it is about people and places, which the graph must then be of.
    complete
        Whether it takes the scores of all positions in memory: no list of a sample tells it, and nobody may be away.
    derived
        The formula, for one that is made from others.
    bounds
        Between what every graph's true value lies; intervals that are shown are cut there.
    columns
        Of what its entries and then its value are called in a table of its own: ("from", "to", "edges").
    estimators
        For statistics of other programs, by the name of a protocol: from what its collection has prepared, and this
        value, to an ``Estimate``. The package's own estimators stand with the collections.
    predictions
        The same for the planner: from a question (``question.moments`` is what it knows of the assumed graph) and a
        function that gives the standard error of any other statistic by its name, to the standard error of this one.
    """

    name: str
    label: str
    meaning: str
    exact: Callable[[Graph], Any] = field(compare=False)
    sides: int = 0
    family: str = ""
    parameter: int | None = None
    article: bool = False
    per_person: bool = False
    from_degrees: bool = False
    over_pairs: bool = False
    by_groups: bool = False
    bipartite: bool = False
    complete: bool = False
    derived: Derived | None = field(default=None, compare=False)
    bounds: tuple[float, float] = (-math.inf, math.inf)
    columns: tuple[str, ...] = ()
    estimators: Mapping[str, Callable[..., Any]] = field(default_factory=dict, compare=False, repr=False)
    predictions: Mapping[str, Callable[..., float]] = field(default_factory=dict, compare=False, repr=False)

    @property
    def phrase(self) -> str:
        """Within a sentence: "the largest degree", "4-cycles"."""
        return f"the {self.label}" if self.article else self.label

    @property
    def kind(self) -> str:
        """The name without its parameter: "stars" for "stars:3"."""
        return self.family or self.name


@dataclass(frozen=True)
class Family:
    """Statistics with a parameter, such as "stars:K"; up to ``most``, or to n − 1 on n nodes."""

    name: str
    letter: str
    least: int
    member: Callable[[int], Statistic]
    refusal: Callable[[str, int, int], str]
    most: int | None = None

    def refuse_impossible(self, name: str, parameter: int, n: int) -> None:
        """Refuse a parameter that says nothing about a graph of n nodes."""
        if not self.least <= parameter <= (n - 1 if self.most is None else self.most):
            raise BadStatistic(self.refusal(name, parameter, n))


def _stars(k: int) -> Statistic:
    return Statistic(
        f"stars:{k}", f"{k}-stars", f"choices of {k} friends of one participant",
        lambda graph: exact_counts.stars(graph, k), sides=k, family="stars", parameter=k, from_degrees=True,
        bounds=COUNT,
    )  # fmt: skip


def _no_stars(name: str, k: int, n: int) -> str:
    way_out = "A 1-star is an edge: ask for edges." if k == 1 else "Choose a smaller K."
    return f"{name!r} is impossible on {n:,} nodes: a star has at least 2 leaves and at most {n - 1:,}. {way_out}"


def _tail(start: int) -> Statistic:
    return Statistic(
        f"tail:{start}", f"{start} friends or more", "participants with at least so many friends",
        lambda graph: int((graph.degrees >= start).sum()), family="tail", parameter=start, from_degrees=True,
        bounds=COUNT,
    )  # fmt: skip


def _quantile(percent: int) -> Statistic:
    return Statistic(
        f"degree_quantile:{percent}", "median degree" if percent == 50 else f"{percent} % degree quantile",
        f"the number of friends that {percent} % of all participants do not exceed",
        lambda graph: exact_counts.degree_quantile(graph, percent), family="degree_quantile", parameter=percent,
        article=True, from_degrees=True, bounds=COUNT,
    )  # fmt: skip


def _no_quantile(name: str, percent: int, n: int) -> str:
    return f"{name!r} is not a quantile: Q is a whole number of percent, from 1 to 99; 50 is the median."


def _no_tail(name: str, start: int, n: int) -> str:
    return f"{name!r} tells nothing on {n:,} nodes: degrees from 1 to {n - 1:,} are counted."


def _largest(count: int) -> Statistic:
    return Statistic(
        f"largest_degrees:{count}", f"{count} largest degrees", "who has the most friends, and how many",
        lambda graph: np.sort(graph.degrees)[::-1][:count].copy(), family="largest_degrees", parameter=count,
        article=True, per_person=True, from_degrees=True, bounds=COUNT, columns=("rank", "node", "among", "degree"),
    )  # fmt: skip


def _no_largest(name: str, count: int, n: int) -> str:
    return f"{name!r} tells nothing on {n:,} nodes: ask for the 1 to {n - 1:,} largest."


EDGES = Statistic(
    "edges", "edges", "pairs of participants who are friends", exact_counts.edges, sides=1, from_degrees=True,
    bounds=COUNT,
)  # fmt: skip
DEGREES = Statistic(
    "degrees", "all degrees", "everybody’s number of friends, without names", exact_counts.degrees, bounds=COUNT,
    per_person=True, from_degrees=True, columns=("node", "degree"),
)  # fmt: skip
SIMULTANEOUS_DEGREES = replace(
    DEGREES, name="simultaneous_degrees", label="all degrees at once", meaning="everybody’s number of friends, by name"
)
"""As all degrees, with intervals that hold them all together."""
AT_ONCE = (SIMULTANEOUS_DEGREES.name, "largest_degrees")
"""Kinds of statistics that are about named people, all at once."""
MAX_DEGREE = Statistic(
    "max_degree", "largest degree", "the most friends that anybody has", exact_counts.max_degree, bounds=COUNT,
    article=True, from_degrees=True,
)  # fmt: skip
DEGREE_HISTOGRAM = Statistic(
    "degree_histogram", "degree histogram", "how many participants have 0, 1, 2, … friends",
    exact_counts.degree_histogram, bounds=COUNT, article=True, per_person=True, from_degrees=True,
    columns=("first", "last", "nodes"),
)  # fmt: skip
TRIANGLES = Statistic(
    "triangles", "triangles", "threes of participants who are all friends of each other", exact_counts.triangles,
    bounds=COUNT, sides=3, over_pairs=True,
)  # fmt: skip
TRANSITIVITY = Statistic(
    "transitivity", "transitivity", "how often two friends of somebody are friends themselves",
    exact_counts.transitivity, bounds=(0.0, 1.0), over_pairs=True,
)  # fmt: skip
FOUR_CYCLES = Statistic(
    "four_cycles", "4-cycles", "fours of participants who are friends in a ring", exact_counts.cycles, bounds=COUNT,
    sides=4, over_pairs=True,
)  # fmt: skip
_INDEX = (-1.0, 1.0)
_BY_GROUPS: tuple[tuple[str, str, str, str, tuple[float, float]], ...] = (
    ("mixing", "mixing matrix", "friendships between each two groups", "from to edges", COUNT),
    (
        "contacts",
        "contact matrix",
        "mean number of friends in each group, by one’s own group",
        "from to contacts",
        COUNT,
    ),
    ("group_degrees", "mean degrees by group", "mean number of friends of each group’s members", "group degree", COUNT),
    ("ergm_targets", "ERGM target statistics", "friendships by the terms of network models", "term value", COUNT),
    ("assortativity", "assortativity coefficient", "how much friends share a group", "", _INDEX),
    ("ei_index", "E–I index", "friendships between groups less those inside, of all", "", _INDEX),
    ("coleman", "Coleman’s indices", "how much each group’s members keep to themselves", "group index", _INDEX),
)
GROUPED = {
    name: Statistic(
        name,
        label,
        meaning,
        partial(exact_by_groups, name),
        per_person=bool(columns),
        by_groups=True,
        bounds=bounds,
        columns=tuple(columns.split()),
    )
    for name, label, meaning, columns, bounds in _BY_GROUPS
}
"""The statistics of public groups, all from the same reports."""
TRIANGLES_BY_GROUP = Statistic(
    "triangles_by_group", "triangles by groups", "threes of friends, by the groups that the three are in",
    lambda graph: exact_counts.triangles_by_group(graph, groups_of(graph).members, groups_of(graph).count), sides=3,
    per_person=True, by_groups=True, complete=True, bounds=COUNT, columns=("first", "second", "third", "triangles"),
)  # fmt: skip


def _from_sources(formula: Derived, graph: Graph) -> float:
    return formula.formula(graph.n, *(statistic(each).exact(graph) for each in formula.sources))


DERIVED = {
    name: Statistic(
        name, label, meaning, partial(_from_sources, formula), article=True, from_degrees=True, derived=formula,
        bounds=bounds,
    )
    for name, (label, meaning, formula, bounds) in FORMULAS.items()
}  # fmt: skip
"""The statistics that formulas make from others."""


def _of_side(formula: Derived, graph: Any) -> Any:
    whole = statistic(formula.sources[0]).exact(graph)
    return whole[formula.members(graph.people)] if formula.side else whole


SIDED = {
    name: Statistic(
        name, label, meaning, partial(_of_side, formula), per_person=bool(formula.side), bipartite=True,
        sides=0 if formula.side else 4, over_pairs=not formula.side, from_degrees=formula.side == "people",
        derived=formula, bounds=COUNT, columns=("node", "degree") if formula.side else (),
    )
    for name, (label, meaning, formula) in BIPARTITE.items()
}  # fmt: skip
"""The statistics of people and places."""
BUTTERFLIES, PLACE_DEGREES = SIDED["butterflies"], SIDED["place_degrees"]
GRAPHLETS = {
    name: Statistic(name, label, meaning, count, sides=sides, complete=True, bounds=COUNT)
    for name, label, meaning, count, sides in (
        (
            "three_paths",
            "3-paths",
            "four participants in a row, each a friend of the next",
            exact_counts.three_paths,
            3,
        ),
        ("tailed_triangles", "tailed triangles", "triangles with a further friend", exact_counts.tailed_triangles, 4),
        ("diamonds", "diamonds", "two triangles with two participants in common", exact_counts.diamonds, 5),
        ("four_cliques", "4-cliques", "fours of participants who are all friends", exact_counts.four_cliques, 6),
    )
}
"""Connected subgraphs of four participants, beside stars and cycles; other ties between them do not matter."""
EIGEN = {
    name: Statistic(name, label, meaning, count, per_person=many, article=True, complete=True, bounds=bounds)
    for name, label, meaning, count, many, bounds in (
        ("spectral_radius", "spectral radius", "how fast what passes from friend to friend can spread",
         exact_counts.spectral_radius, False, COUNT),
        ("eigenvector_centrality", "eigenvector centrality", "how central everybody is, by how central friends are",
         exact_counts.eigenvector_centrality, True, (-1.0, 1.0)),
    )
}  # fmt: skip
"""The largest eigenvalue and its eigenvector."""
CLUSTERING = {
    each.name: each
    for each in (
        Statistic(
            "clustering_by_degree", "clustering by degree",
            "how often friends of somebody with so many are friends",
            exact_counts.clustering_by_degree, per_person=True, over_pairs=True, bounds=(0.0, 1.0),
            columns=("first", "last", "clustering"),
        ),
        Statistic(
            "local_clustering", "average local clustering",
            "how often two friends of a participant are friends, on average",
            exact_counts.local_clustering, article=True, over_pairs=True, bounds=(0.0, 1.0),
        ),
    )
}  # fmt: skip
"""What takes users' degrees and their answers for rows, both."""
# What "all" asks for, and what is asked for by its name alone, as are all in the tables above.
_OF_ALL = (EDGES, DEGREES, MAX_DEGREE, DEGREE_HISTOGRAM, TRIANGLES, TRANSITIVITY, FOUR_CYCLES)
_BY_NAME = (SIMULTANEOUS_DEGREES, TRIANGLES_BY_GROUP)
STATISTICS: dict[str, Statistic] = {each.name: each for each in (*_OF_ALL, *_BY_NAME)}
STATISTICS |= GROUPED | DERIVED | GRAPHLETS | EIGEN | SIDED | CLUSTERING
FAMILIES: dict[str, Family] = {
    "stars": Family("stars", "K", 2, _stars, _no_stars),
    "tail": Family("tail", "T", 1, _tail, _no_tail),
    "degree_quantile": Family("degree_quantile", "Q", 1, _quantile, _no_quantile, most=99),
    "largest_degrees": Family("largest_degrees", "K", 1, _largest, _no_largest),
}
PLAIN = tuple(STATISTICS)
EVERYTHING = (*(each.name for each in _OF_ALL), "stars:2", "stars:3")
_SOME = (
    f"{', '.join(EVERYTHING)}, or others that `va-edge-ldp estimate --help` names; one of your own is loaded with "
    "--plugin"
)
QUANTILES = ("degree_quantile:25", "degree_quantile:50", "degree_quantile:75")
SETS = {"all": EVERYTHING, "summary": ("edges", *DERIVED, *QUANTILES, "max_degree")}
"""Words for several statistics: of each, those are meant that a trust model answers."""


def register(statistic: Statistic) -> None:
    """Make a statistic known by its name to all commands; refuses a name that is taken."""
    if statistic.name in STATISTICS or ":" in statistic.name:
        raise BadStatistic(f"{statistic.name!r} cannot be registered: it has a colon, or is there already.")
    STATISTICS[statistic.name] = statistic


def is_built_in(name: str) -> bool:
    """Whether the package itself knows this statistic; other programs have registered the rest."""
    return name in PLAIN or _member(name)[0] is not None


def statistic(name: str) -> Statistic:
    """The statistic of this name, a family's member included; refuses an unknown name."""
    if name in STATISTICS:
        return STATISTICS[name]
    family, parameter = _member(name)
    if family is None or parameter is None:
        meant = did_you_mean(name, (*STATISTICS, *EVERYTHING))
        raise BadStatistic(f"{name!r} is not a statistic; choose from {_SOME}.{meant}")
    return family.member(parameter)


def bounds_of(name: str) -> tuple[float, float]:
    """Between what a statistic's true value lies in every graph; anything for a name that is not known."""
    return (-math.inf, math.inf) if (found := _known(name)) is None else found.bounds


def columns_of(name: str) -> tuple[str, ...]:
    """What the columns of a statistic's own table are called; "label" and "value" where it does not say."""
    return () if (found := _known(name)) is None else found.columns


def is_matrix(name: str) -> bool:
    """Whether its entries go from one group to another, so that it can be shown as a matrix."""
    return columns_of(name)[:2] == ("from", "to")


def _known(name: str) -> Statistic | None:
    family, parameter = _member(name)
    return STATISTICS.get(name) if family is None or parameter is None else family.member(parameter)


def exact(graph: Graph, name: str) -> Any:
    """The true value of a statistic given by name."""
    (known,) = check_statistics([name], graph.n)
    refuse_without_places([known], getattr(graph, "people", None))
    return statistic(known).exact(graph)


def refuse_without_places(statistics: Iterable[str], people: int | None) -> None:
    """Refuse statistics of people and places on any other graph, which has no number of ``people``."""
    for name in statistics if people is None else ():
        if statistic(name).bipartite:
            raise BadStatistic(
                f"{name} is about people and places; read the graph with --bipartite (read_graph(…, bipartite=True))."
            )


def star_size(name: str) -> int | None:
    """k of "stars:k"; None for other statistics."""
    return _parameter("stars", name)


def tail_start(name: str) -> int | None:
    """T of "tail:T", the number of nodes with a degree of at least T; None for other statistics."""
    return _parameter("tail", name)


def _parameter(family: str, name: str) -> int | None:
    found, parameter = _member(name)
    return parameter if found is FAMILIES[family] else None


def check_statistics(statistics: str | Iterable[str], n: int) -> tuple[str, ...]:
    """The statistics asked for, each known and possible on n nodes; "all" and "summary" stand for several."""
    listed = statistics.split(",") if isinstance(statistics, str) else list(statistics)
    wanted = tuple(dict.fromkeys(name.strip() for name in listed))
    if is_set(wanted):
        wanted = possible(SETS[wanted[0]], n)
    if not wanted:
        raise BadStatistic(f"No statistic was asked for; choose from {_SOME}.")
    for name in with_sources(wanted):
        family, parameter = _member(name)
        if family is not None and parameter is not None:
            family.refuse_impossible(name, parameter, n)
    return wanted


def is_set(statistics: str | Iterable[str]) -> bool:
    """Whether a word for several statistics, "all" or "summary", is all that was asked for."""
    listed = statistics.split(",") if isinstance(statistics, str) else list(statistics)
    return len(listed) == 1 and listed[0].strip() in SETS


def sources_of(name: str) -> tuple[str, ...]:
    """What a statistic is made from; itself, where it is not made from others."""
    formula = statistic(name).derived
    return (name,) if formula is None else formula.sources


def with_sources(statistics: Iterable[str]) -> tuple[str, ...]:
    """The statistics and what they are made from, each once; refuses an unknown name."""
    return tuple(dict.fromkeys(each for name in statistics for each in (*sources_of(name), name)))


def possible(statistics: Iterable[str], n: int) -> tuple[str, ...]:
    """Those of a list of defaults that n nodes can have: a small graph has no large stars."""
    return tuple(
        name
        for name in statistics
        if all(max(star_size(each) or 0, tail_start(each) or 0) <= n - 1 for each in sources_of(name))
    )


def _member(name: str) -> tuple[Family | None, int | None]:
    """The family and the parameter in "stars:3"; None for other names."""
    head, _, tail = name.partition(":")
    return (FAMILIES[head], int(tail)) if head in FAMILIES and tail.isdecimal() else (None, None)
