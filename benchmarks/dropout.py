"""Every estimator with users (or positions) away: bias, spread and coverage, one line for each share that is away.

VA_EDGE_LDP_DATA=folder python -m benchmarks.dropout [part of a question's name ...] [--epsilon=2] [--away=0.3]
                                                     [--runs=1000] [--first=0]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from benchmarks.coverage import graph_of
from visibility_aware_edge_ldp.aggregator import nonresponse as nonresponse_estimate
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.aggregator.hubs import triangles as estimate_hubs
from visibility_aware_edge_ldp.aggregator.neighbourhood import triangles as assigned
from visibility_aware_edge_ldp.aggregator.position import PositionCollection
from visibility_aware_edge_ldp.aggregator.rows import cycles as estimate_cycles
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.layout import pack
from visibility_aware_edge_ldp.public.positions import endpoints
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.public.surveys.histogram import histogram_survey
from visibility_aware_edge_ldp.public.surveys.hubs import hub_survey
from visibility_aware_edge_ldp.public.surveys.position import PositionReport, position_survey
from visibility_aware_edge_ldp.public.surveys.rows import row_surveys
from visibility_aware_edge_ldp.simulation.estimate import estimate
from visibility_aware_edge_ldp.simulation.rows import collect_rows
from visibility_aware_edge_ldp.simulation.simulate import collect, collect_assigned_triangles, collect_hubs, reports
from visibility_aware_edge_ldp.truth.graph import Graph

AWAY = (0.0, 0.3, 0.6)
HUBS = 8
GRAPHS = ("power law 520,5000", "Caltech")
EPSILON, RUNS = 2.0, 1000
Z_LIMIT, LEAST, MOST = 4.5, 0.93, 0.97
World = VisibilityAwareGraph
Found = Mapping[str, Estimate]
# From a world, an epsilon, a seed and the share that is away; None where nobody is left.
Ask = Callable[[World, float, int, float], Found | None]
HEADER = "| question | statistic | away | runs | bias, z | errors / standard errors | held by 95 % | |"


@dataclass(frozen=True)
class Question:
    """What one collection answers, and on which graph."""

    name: str
    graph: str
    epsilon: float
    ask: Ask

    def __str__(self) -> str:
        return f"{self.name}, {self.graph}, ε = {self.epsilon:g}"

    def world(self) -> World | None:
        """The graph with nothing public, or with a few public hubs where hubs answer."""
        graph = graph_of(self.graph)
        if graph is None:
            return None
        graph = renumbered(graph)
        if "hubs" not in self.name:
            return VisibilityAwareGraph(graph, VisibilityPolicy.nothing())
        largest = np.argsort(-graph.degrees, kind="stable")[:HUBS].tolist()
        return VisibilityAwareGraph(graph, VisibilityPolicy.from_profiles(dict.fromkeys(largest, "public"), rule="any"))


def renumbered(graph: Graph) -> Graph:
    """Numbers given without regard to friendship; made graphs number their users by degree.  [TRIANGLE.4]"""
    ends = np.sort(np.random.default_rng(1).permutation(graph.n)[graph.edges], axis=1)
    return Graph(range(graph.n), ends[np.lexsort((ends[:, 1], ends[:, 0]))].astype(np.int32))


def simulated(trust: str, names: Sequence[str], world: World, epsilon: float, seed: int, away: float) -> Found:
    """All of one trust model's statistics from one collection."""
    return estimate(world, trust, epsilon, names, seed=seed, dropout=away)


def rows(names: Sequence[str], world: World, epsilon: float, seed: int, away: float) -> Found:
    """POSITION as a campaign asks it: people stay away, each with its whole row."""
    view, survey = world.public, position_survey(world.public, epsilon)
    here, holder = np.random.default_rng(seed).random(view.n) >= away, endpoints(view.n, 0, view.positions)[0]
    collection = PositionCollection(survey, view)
    for report in reports(world, survey, seed):
        heard = pack(here[holder[report.start : report.start + report.count]])
        sent = (
            np.bitwise_and(*(np.frombuffer(each, np.uint8) for each in (bits, heard))).tobytes()
            for bits in (report.answered, report.ones)
        )
        collection.absorb(PositionReport(report.survey, report.round, report.start, report.count, *sent))
    return nonresponse_estimate.estimate(collection, names)


def cycles(world: World, epsilon: float, seed: int, away: float) -> Found:
    """4-cycles in two rounds, also where one would do."""
    surveys = row_surveys(world.public, epsilon, ["four_cycles"])
    return {"four_cycles": estimate_cycles(collect_rows(world, surveys, seed, away)["four_cycles"])}


def whole_degrees(world: World, epsilon: float, seed: int, away: float) -> Found:
    """The unbiased histogram of users who hide their whole degree."""
    survey = histogram_survey(world.public, epsilon)
    return {"degree_histogram": collect(world, survey, seed, away).histogram()}


def believed(world: World, epsilon: float, seed: int, away: float) -> Found:
    """Owned triangles under bounds that are believed: everybody tells a degree, and some leave after that."""
    return {"triangles": assigned(collect_assigned_triangles(world, epsilon, "1e-6", seed=seed, leaving=away))}


def hubs(world: World, epsilon: float, seed: int, away: float) -> Found | None:
    """Triangles from the hubs that are there; nothing where all are away."""
    survey = hub_survey(world.public, epsilon)
    gone = np.random.default_rng(seed).random(len(survey.plan.hubs)) < away
    absent = np.array(survey.plan.hubs)[gone].tolist()
    return None if gone.all() else {"triangles": estimate_hubs(collect_hubs(world, survey, seed, absent))}


def questions() -> list[Question]:
    """All of them on two graphs, and hubs' on one."""
    sums, fits = ("edges", "stars:2", "stars:3", "tail:20"), ("max_degree", "degree_histogram")
    counts = ("edges", "stars:2", "stars:3", "triangles", "four_cycles", "transitivity")
    asked: dict[str, Ask] = {
        "USER degrees": partial(simulated, "user", sums),
        "USER fitted degrees": partial(simulated, "user", fits),
        "USER whole degrees": whole_degrees,
        "USER rows": partial(simulated, "user", ("triangles", "transitivity")),
        "USER 4-cycles": cycles,
        "NEIGHBOURHOOD, believed bounds": believed,
        "NEIGHBOURHOOD, weights": partial(simulated, "neighbourhood", ("triangles",)),
        "POSITION": partial(simulated, "position", counts),
        "POSITION by rows": partial(rows, counts),
    }
    found = [Question(name, graph, EPSILON, ask) for graph in GRAPHS for name, ask in asked.items()]
    return [*found, Question("NEIGHBOURHOOD, hubs", GRAPHS[0], EPSILON, hubs)]


def truth_of(graph: Graph, found: Estimate) -> np.ndarray:
    """What the estimate is of: a number, or one for each bin."""
    if found.statistic == "degree_histogram":
        return np.histogram(graph.degrees, [*(first for first, _ in found.labels or ()), graph.n])[0].astype(float)
    if found.statistic.startswith("tail:"):
        return np.array(float((graph.degrees >= int(found.statistic[5:])).sum()))
    return np.array(float(exact(graph, found.statistic)))


def line(what: str, away: float, truth: list[np.ndarray], seen: list[Estimate]) -> str:
    """Bias in its own standard errors (of bins the worst), errors over the stated ones, and coverage (of all bins)."""
    covered = float(np.mean([np.mean(_holds(one, true)) for one, true in zip(seen, truth, strict=True)]))
    chance = 2 * np.sqrt(0.95 * 0.05 / len(seen))
    worst, ratio, wrong = "stated", "–", []
    if all(one.unbiased for one in seen):
        errors = np.array([one.value for one in seen]) - np.array(truth)
        bias = np.ravel(errors.mean(axis=0) / (errors.std(axis=0, ddof=1) / np.sqrt(len(seen))))
        worst = f"{max(bias, key=abs):+.1f}"
        wrong += ["biased"] * bool(np.abs(bias).max() >= Z_LIMIT)
    if not truth[0].ndim:
        scaled = [(one.value - true) / one.standard_error for one, true in zip(seen, truth, strict=True)]
        ratio = f"{np.std(scaled, ddof=1):.2f}"
    wrong += ["low"] * bool(covered < LEAST - chance) + ["high"] * bool(covered > MOST + chance)
    words = (what, seen[0].statistic, f"{away:.0%}", str(len(seen)), worst, ratio, f"{covered:.1%}", " ".join(wrong))
    return f"| {' | '.join(words)} |"


def _holds(found: Estimate, truth: np.ndarray) -> np.ndarray:
    low, high = found.interval()
    return (low <= truth) & (truth <= high)


def main(words: list[str]) -> int:
    """Print the table."""
    options = dict(word.removeprefix("--").split("=") for word in words if word.startswith("--"))
    wanted = [word for word in words if not word.startswith("--")]
    first, shares = int(options.get("first", 0)), [float(options["away"])] if "away" in options else AWAY
    runs = range(first, first + int(options.get("runs", RUNS)))
    print(HEADER + "\n" + "|---" * (HEADER.count("|") - 1) + "|")
    for each in questions():
        question = replace(each, epsilon=float(options.get("epsilon", each.epsilon)))
        world = question.world() if not wanted or any(word in str(each) for word in wanted) else None
        for away in shares if world is not None else ():
            found = [one for seed in runs if (one := question.ask(world, question.epsilon, seed, away)) is not None]
            for name in found[0]:
                seen = [one[name] for one in found]
                print(line(str(question), away, [truth_of(world.graph, one) for one in seen], seen), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
