"""What is measured for a table: cells, each a graph, a policy, a trust model and some epsilons."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.aggregator.answers import Answers
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.evaluation.expected_errors import relative_error
from visibility_aware_edge_ldp.evaluation.results import Progress
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import sample_each
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_random_bytes, seeded_key
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.privacy import parse_epsilon
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.public.trust import TRUSTS
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC
from visibility_aware_edge_ldp.simulation.curator import Centre, survey_for
from visibility_aware_edge_ldp.simulation.estimate import estimate
from visibility_aware_edge_ldp.simulation.worlds import certificate
from visibility_aware_edge_ldp.truth import synthetic
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.policy_file import open_policy

Ask = Callable[..., Mapping[str, Any]]
FACEBOOK, TOP, POWERLAW, RANDOM = "Facebook", "300 nodes", "power law", "random"
TOP_NODES = 300
# Where document 004 cuts lists.
CAP = 50
# The mean error of fewer trials is mostly luck.
FEWEST = 5
CLAIMED, HONEST, OURS = "claimed", "run honestly", "ours"


@dataclass(frozen=True)
class Figure:
    """A number of a table, and how well it is known.

    ``value`` is a relative error, averaged over the trials, or what a document prints. ``spread`` is the standard error
    of that mean; NaN for one trial and for what is printed, whose ``trials`` are 0. ``stated`` is the mean standard
    error that the estimates gave themselves, relative to the truth; NaN where they give none. It tells the size of
    their errors where their mean is the truth: ``unbiased``.
    """

    value: float
    spread: float = float("nan")
    trials: int = 0
    stated: float = float("nan")
    unbiased: bool = True

    @property
    def is_predicted(self) -> bool:
        """Whether there are so few trials that the estimates' own standard errors say more than their errors."""
        return 0 < self.trials < FEWEST and self.unbiased and not math.isnan(self.stated)

    @property
    def shown(self) -> float:
        """The figure for a table; of few trials the mean error that their standard errors mean: √(2/π) of them."""
        return self.stated * math.sqrt(2 / math.pi) if self.is_predicted else self.value


@dataclass(frozen=True)
class Cell:
    """One thing to measure: so many independent collections at each epsilon.

    ``graph`` is one of the names above, ``policy`` what ``--policy`` takes; ``trust``, ``epsilons``, ``statistics`` and
    ``options`` are as for ``estimate``, and every epsilon is a loss per PRIVATE edge against all reports. ``ask`` is
    what answers, where it is not ``estimate``.
    """

    graph: str
    policy: str
    trust: str
    epsilons: tuple[float, ...]
    statistics: tuple[str, ...]
    trials: int
    options: Mapping[str, Any] = field(default_factory=dict)
    ask: Ask = estimate


Found = Mapping[tuple[float, str], Figure]


class Laboratory:
    """Graphs and worlds, made once and shared by all cells."""

    def __init__(self, facebook: Graph, seed: int | str) -> None:
        self.facebook, self.seed = facebook, seed
        self._graphs: dict[str, Graph] = {FACEBOOK: facebook}
        self._worlds: dict[tuple[str, str], VisibilityAwareGraph] = {}

    def graph(self, name: str) -> Graph:
        """The graph of this name; generated ones are as large as Facebook."""
        size = self.facebook.n, self.facebook.m
        makers: dict[str, Callable[[], Graph]] = {
            TOP: lambda: self.facebook.highest_degree(min(TOP_NODES, self.facebook.n)),
            POWERLAW: lambda: synthetic.powerlaw(*size),
            RANDOM: lambda: synthetic.erdos_renyi(*size),
        }
        if name not in self._graphs:
            self._graphs[name] = makers[name]()
        return self._graphs[name]

    def world(self, graph: str, policy: str) -> VisibilityAwareGraph:
        """The graph with this policy."""
        key = graph, policy
        if key not in self._worlds:
            self._worlds[key] = VisibilityAwareGraph(self.graph(graph), open_policy(policy))
        return self._worlds[key]

    def measure(self, name: str, cell: Cell, progress: Progress) -> dict[tuple[float, str], Figure]:
        """Every statistic at every epsilon, over fresh collections; ``name`` keeps the cells' random bytes apart."""
        world, found = self.world(cell.graph, cell.policy), {}
        truths = {statistic: float(exact(world.graph, statistic)) for statistic in cell.statistics}
        for epsilon in cell.epsilons:
            runs = []
            for trial in range(cell.trials):
                seed = f"{self.seed} {name} epsilon {epsilon:g} trial {trial}"
                loss = parse_epsilon(str(epsilon))
                runs.append(cell.ask(world, cell.trust, loss, cell.statistics, seed=seed, **cell.options))
                progress(1)
            for statistic, truth in truths.items():
                found[epsilon, statistic] = _figure([run[statistic] for run in runs], truth)
        return found


def _figure(estimates: list[Any], truth: float) -> Figure:
    errors = np.array([relative_error(each.value, truth) for each in estimates])
    stated = float(np.mean([float(each.standard_error) for each in estimates])) / truth if truth else float("nan")
    spread = float(errors.std(ddof=1) / np.sqrt(errors.size)) if errors.size > 1 else float("nan")
    return Figure(float(errors.mean()), spread, errors.size, stated, all(each.unbiased for each in estimates))


@dataclass(frozen=True)
class Row:
    """One line of a table: a statistic, or a graph and a statistic, and the figures of the columns that can be filled.

    ``epsilon`` is as the document names it, ``loss`` what the measured columns spend per PRIVATE edge.
    """

    epsilon: float
    loss: float
    what: str
    figures: Mapping[str, Figure]

    @property
    def factor(self) -> float:
        """How many times the claimed error ours is smaller; NaN without a claim."""
        claim, ours = self.figures.get(CLAIMED), self.figures.get(OURS)
        return claim.shown / ours.shown if claim and ours and ours.shown else float("nan")


@dataclass(frozen=True)
class Table:
    """Rows with the same columns; ``factors`` says whether claimed / ours is worth a column."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    factors: bool = True

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        rows = [
            {
                "epsilon": row.epsilon,
                "loss_per_private_edge": row.loss,
                "what": row.what,
                "figures": {name: {**asdict(f), "shown": f.shown} for name, f in row.figures.items()},
                **({"claimed_over_ours": row.factor} if self.factors else {}),
            }
            for row in self.rows
        ]
        return {"title": self.title, "columns": list(self.columns), "rows": rows}


@dataclass(frozen=True)
class Reproduction:
    """All of one document: where its figures stand, and on what they were measured here.

    ``loss`` says how the document's epsilon converts to a loss per edge against all reports, ``differences`` what
    differs, a sentence each; ``verdict`` what was to be shown and whether it was, empty where nothing was.
    """

    document: str
    place: str
    graph: str
    loss: str
    tables: tuple[Table, ...]
    differences: tuple[str, ...]
    verdict: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        words = {name: getattr(self, name) for name in ("document", "place", "graph", "loss", "verdict")}
        return {**words, "differences": list(self.differences), "tables": [table.as_dict() for table in self.tables]}


def each_answer(
    world: VisibilityAwareGraph, trust: str, epsilon: Fraction, statistics: Sequence[str], *, seed: str, delta: str
) -> Answers:
    """A centre's answers as the document pays for them: this epsilon, and this delta, for each."""
    survey = survey_for(world, epsilon, delta, statistics)
    found = {name: each.estimate for name, each in Centre(world).ask(survey, seed).items()}
    return Answers(found, certificate(world, TRUSTS[trust], survey.releases, seed))


def clipped_stars(
    world: VisibilityAwareGraph, trust: str, epsilon: Fraction, statistics: Sequence[str], *, seed: str
) -> Mapping[str, Any]:
    """2-stars as the document counts them: everybody cuts its degree at 50; hubs are exact, others noisy.

    ``epsilon`` is per edge; both of its ends report, at half of it each.
    """
    private = world.public.users_with(NON_PUBLIC).any(axis=0)
    degrees = np.where(private, np.minimum(world.graph.degrees, CAP), world.graph.degrees)
    sensitivities = np.where(private, CAP - 1, 0).astype(np.int64)
    noise = sample_each(epsilon / 2, sensitivities, keyed_random_bytes(seeded_key(seed, trust)))
    value = float((degrees * (degrees - 1) // 2).sum() + noise.sum())
    return {name: Estimate(name, value, float("nan"), unbiased=False) for name in statistics}


@dataclass(frozen=True)
class Document:
    """What has to be measured for a document's tables, and what sets it beside the document's figures."""

    cells: Callable[[int], dict[str, Cell]]
    assembled: Callable[[Mapping[str, Found], Laboratory], Reproduction]


def steps(documents: Iterable[Document], trials: int) -> int:
    """How many collections these documents' tables take."""
    every = (cell for document in documents for cell in document.cells(trials).values())
    return sum(len(cell.epsilons) * cell.trials for cell in every)


def reproduce(
    documents: Mapping[str, Document], graph: Graph, trials: int, seed: int | str, progress: Progress
) -> list[Reproduction]:
    """Measure everything that these documents' tables are set beside; slow cells take fewer trials."""
    if trials < 1:
        raise BadInput(f"At least one trial is needed; got {trials}.")
    laboratory, done = Laboratory(graph, seed), []
    for name, document in documents.items():
        cells = document.cells(trials)
        found = {each: laboratory.measure(f"{name} {each}", cell, progress) for each, cell in cells.items()}
        done.append(document.assembled(found, laboratory))
    return done
