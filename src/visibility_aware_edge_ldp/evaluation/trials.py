"""``va.evaluate``: repeat an estimate many times and compare it with the truth; set one beside its lower bounds."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.aggregator.answers import number
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.evaluation import expected_errors
from visibility_aware_edge_ldp.evaluation.lower_bounds import OPTIMAL, LowerBound, least_here, least_on_the_hardest
from visibility_aware_edge_ldp.evaluation.results import Evaluation, Progress, TrialRow
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.privacy import Number, parse_epsilon
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.statistic import TRANSITIVITY, exact
from visibility_aware_edge_ldp.public.statistic import statistic as registered
from visibility_aware_edge_ldp.public.trust import POSITION, USER
from visibility_aware_edge_ldp.simulation.estimate import estimate, in_shape
from visibility_aware_edge_ldp.simulation.options import statistics_for
from visibility_aware_edge_ldp.simulation.simulate import buy_hubs
from visibility_aware_edge_ldp.simulation.worlds import check_world

# The variance of a ratio goes with the error of what is divided by.
DENOMINATORS = {TRANSITIVITY.name: "stars:2"}
LOCAL_TRUST = (POSITION.name, USER.name)
HEAD = ("statistic", "± s.e.", "least unbiased here", "least of any on the hardest graph")


def evaluate(
    world: Any,
    trust: str = "position",
    epsilons: Sequence[Number] = (0.5, 1, 2, 4),
    trials: int = 20,
    statistics: str | Sequence[str] | None = None,
    *,
    policy: VisibilityPolicy | str | None = None,
    groups: Any = None,
    attributes: Any = None,
    seed: int | str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Evaluation:
    """Errors and coverage over repeated, independent collections.

    ``world``, ``policy``, ``groups`` and ``attributes`` are as in :func:`estimate`, and so are further options. Hubs
    that are bought are chosen once, and each epsilon includes what that cost. ``progress`` is called with 1 after each
    trial.
    """
    world = buy_hubs(VisibilityAwareGraph.of(world, policy), seed)
    world = world if groups is None else world.grouped(groups, attributes)
    check_world(world)
    if trials < 1:
        raise BadInput(f"At least one trial is needed; got {trials}.")
    wanted = statistics_for(world, trust, statistics)
    checked = [parse_epsilon(epsilon) for epsilon in epsilons]
    truths = {statistic: exact(world.graph, statistic) for statistic in wanted}
    rows: list[TrialRow] = []
    for epsilon in checked:
        runs, seconds = [], []
        for trial in range(trials):
            started = time.perf_counter()
            label = None if seed is None else f"{seed} epsilon {epsilon} trial {trial}"
            spent = world.policy.left_of(epsilon)
            found = estimate(world, trust, spent, wanted, seed=label, **options)
            runs.append(expected_errors.measured(trust, found, in_shape(truths, found)))
            seconds.append(time.perf_counter() - started)
            if progress is not None:
                progress(1)
        rows += summaries(trust, float(epsilon), truths, runs, float(np.mean(seconds)))
    return Evaluation(rows)


def summaries(
    trust: str,
    epsilon: float,
    truths: Mapping[str, Any],
    runs: Sequence[Mapping[str, expected_errors.Measured]],
    seconds: float,
    known: Mapping[str, expected_errors.Expected] | None = None,
) -> list[TrialRow]:
    """One row for each statistic, over all trials that measured it.

    ``known`` are expected errors that follow from an exact law.
    """
    return [_summary(trust, epsilon, name, truths, runs, seconds, (known or {}).get(name)) for name in truths]


def _summary(
    trust: str,
    epsilon: float,
    name: str,
    truths: Mapping[str, Any],
    runs: Sequence[Mapping[str, expected_errors.Measured]],
    seconds: float,
    known: expected_errors.Expected | None,
) -> TrialRow:
    runs, truth, beside = [run for run in runs if name in run], truths[name], DENOMINATORS.get(name)
    found = [run[name] for run in runs]
    values, errors = np.array([one.value for one in found]), np.array([one.error for one in found])
    aim = float(truth) if np.ndim(truth) == 0 else float("nan")
    # A truth of 0 that is missed has an infinite relative error, which has no spread.
    several, finite = len(found) > 1, bool(np.isfinite(errors).all())
    divided = None
    if beside is not None and beside in truths:
        divided = np.array([run[beside].value - truths[beside] for run in runs])
    expected = known or expected_errors.expected_error(found, aim, divided)
    return TrialRow(
        epsilon,
        name,
        aim,
        float(values.mean()),
        float(values.std(ddof=1)) if several else float("nan"),
        float(errors.mean()),
        float(errors.std(ddof=1) / np.sqrt(len(errors))) if several and finite else float("nan"),
        float(np.mean([one.covered for one in found])),
        len(found),
        seconds,
        trust,
        expected,
        expected_errors.chi_square(found, aim),
        tuple(map(float, errors)),
        found[0],
    )


@dataclass(frozen=True)
class BoundRow:
    """One statistic: what was achieved, the least on this graph, and the least on the hardest graph of its kind."""

    statistic: str
    achieved: float
    here: LowerBound | None
    hardest: LowerBound | None

    def texts(self) -> tuple[str, ...]:
        """As cells of a table."""
        least = ("-" if bound is None else number(bound.standard_error_at_least) for bound in (self.here, self.hardest))
        return self.statistic, number(self.achieved), *least


def bound_rows(
    world: VisibilityAwareGraph,
    answers: Mapping[str, Estimate],
    trust: str,
    epsilon: Number,
    *,
    rounds: int = 1,
    dropout: float = 0.0,
) -> list[BoundRow]:
    """Each scalar statistic's standard error beside its lower bounds.

    Needs the true graph, so it is for the laboratory and not for release. ``rounds`` and ``dropout`` are those that
    the answers were made with.
    """
    if world.graph.people is not None:
        raise BadInput("Lower bounds are not known of people and places; leave --bounds out.")
    if trust not in LOCAL_TRUST:
        raise BadInput(f"Lower bounds are known for the trust models {' and '.join(LOCAL_TRUST)}; {trust} was used.")
    at_its_limit = trust == POSITION.name and rounds == 1 and not dropout
    loss = float(parse_epsilon(epsilon))
    return [
        BoundRow(
            name,
            float(found.standard_error),
            _least_for(world, found, loss, at_its_limit),
            least_on_the_hardest(world, name, loss),
        )
        for name, found in answers.items()
        if not isinstance(found.value, np.ndarray)
    ]


def conditions(rows: Sequence[BoundRow]) -> list[str]:
    """What the two columns of bounds mean, in sentences; with a word on errors that are below one."""
    columns = {HEAD[2]: [row.here for row in rows], HEAD[3]: [row.hardest for row in rows]}
    held = {(name, bound.conditions) for name, bounds in columns.items() for bound in bounds if bound is not None}
    lines = [f"{name.capitalize()}: {'; '.join(texts)}." for name, texts in sorted(held, reverse=True)]
    if easier := [row.statistic for row in rows if _is_below(row, row.hardest)]:
        lines.append(
            f"The error of {', '.join(easier)} is below the last column. That is no contradiction: the column is about "
            "the hardest graph with as many nodes and as high a degree, and this graph is an easier one."
        )
    if lucky := [row.statistic for row in rows if _is_below(row, row.here)]:
        lines.append(
            f"The error of {', '.join(lucky)} is printed below what is possible on this graph: a printed standard "
            "error is an estimate itself, and this one came out small."
        )
    return [*lines, "Bounds are computed from the true graph: for the laboratory, not for release."]


def _least_for(world: VisibilityAwareGraph, found: Estimate, loss: float, at_its_limit: bool) -> LowerBound | None:
    if not found.unbiased:
        return None
    if at_its_limit and registered(found.statistic).sides:
        return LowerBound(found.statistic, float(found.variance), OPTIMAL)
    return least_here(world, found.statistic, loss)


def _is_below(row: BoundRow, bound: LowerBound | None) -> bool:
    return bound is not None and row.achieved < bound.standard_error_at_least * (1 - 1e-9)
