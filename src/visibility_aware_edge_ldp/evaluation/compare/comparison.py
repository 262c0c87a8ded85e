"""``va.compare``: visibility-aware against uniform, at equal loss per edge, whomever one trusts."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.evaluation.compare.checkpoint import Checkpoint, Trial
from visibility_aware_edge_ldp.evaluation.compare.curator_law import curator_errors
from visibility_aware_edge_ldp.evaluation.compare.design import DEGREES_ALONE, HISTOGRAM, Cell, Design, designed
from visibility_aware_edge_ldp.evaluation.compare.runner import Workers, missing
from visibility_aware_edge_ldp.evaluation.expected_errors import Expected
from visibility_aware_edge_ldp.evaluation.gains import Split, levers
from visibility_aware_edge_ldp.evaluation.results import (
    AWARE,
    UNIFORM,
    Comparison,
    DrawnHistogram,
    DrawnMatrix,
    Evaluation,
    Histogram,
    Progress,
    TrialRow,
)
from visibility_aware_edge_ldp.evaluation.trials import summaries
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.privacy import Number
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy as AnyPolicy
from visibility_aware_edge_ldp.public.trust import CURATOR, POSITION, USER
from visibility_aware_edge_ldp.simulation.curator import Centre, delta_of_each
from visibility_aware_edge_ldp.simulation.worlds import Steps
from visibility_aware_edge_ldp.truth.policy_file import open_policy

# The relative standard error of a gain beyond which more trials are worth their time.
CLOSE = 0.025
# Whom it costs little to ask for degrees and nothing else, and how many times as many such trials there may be.
ASKED_FOR_DEGREES = (POSITION.name, USER.name)
DEGREE_TIMES = 4


def compare(
    graph: Any,
    policy: AnyPolicy | str,
    epsilons: Sequence[Number] = (0.5, 1, 2, 4),
    trials: int = 20,
    statistics: str | Sequence[str] | None = None,
    *,
    trust: str | Sequence[str] = "position",
    groups: Any = None,
    attributes: Any = None,
    seed: int | str | None = None,
    rounds: int = 1,
    most_trials: int | None = None,
    progress: Progress | None = None,
    cores: int = 1,
    folder: str | Path | None = None,
    **options: Any,
) -> Comparison:
    """The same graph, the same code, the same loss per private edge: once with the policy, once with nothing public.

    Parameters
    ----------
    graph, policy
        Anything that ``read_graph`` takes, and which positions of it are public: a policy or its name.
    epsilons, trials
        Losses per PRIVATE edge, and how many independent collections at each.
    statistics
        Names; each trust model answers those that it can. Default: those that the models answer by default.
    trust
        One trust model, several, or "all".
    groups, attributes
        Everybody's public group, for statistics such as "mixing", as :func:`estimate` takes them.
    seed
        Makes the run repeatable, and therefore not private.
    rounds
        Position model: 1, or 2 as in the source documents.
    most_trials
        Up to so many trials where a gain is not known closely enough by ``trials``. Default: no more.
    progress
        Is called with 1 after each trial.
    cores
        So many processes at a time. A script that asks for more than one needs ``if __name__ == "__main__":``.
    folder
        Where finished trials are kept; the same call with the same folder goes on where the last one stopped.
    **options
        Go to :func:`estimate` of the models that take them.
    """
    more = {**options, **({"rounds": rounds} if rounds != 1 else {})}
    chosen = open_policy(policy) if isinstance(policy, str) else policy
    held = graph if groups is None else VisibilityAwareGraph(graph).grouped(groups, attributes).whole
    design = designed(held, chosen, epsilons, trials, statistics, trust, seed, more, most_trials)
    return sharpened(design, Checkpoint(folder, design), progress, cores)


def sharpened(design: Design, checkpoint: Checkpoint, progress: Progress | None = None, cores: int = 1) -> Comparison:
    """Run what is missing, and then more trials, up to the design's most, where a gain is not yet known closely."""
    with Workers(design, cores, progress) as workers:
        trials = workers.run(checkpoint)
        kept = {cell: trials[cell] for cell in design.cells}
        found = compared(design, kept)
        if cells := more_cells(design, found):
            _expect(progress, len(missing(design, checkpoint, cells)))
            trials = workers.run(checkpoint, cells)
            kept |= {cell: trials[cell] for cell in cells}
            found = compared(design, kept)
        changes, places = degree_design(design, found)
        if not places:
            return found
        cheap = replace(design, **changes)
        beside = Checkpoint(checkpoint.path.parent if checkpoint.path else None, cheap)
        _expect(progress, len(missing(cheap, beside, list(places))))
        trials = workers.run(beside, list(places), **changes)
    return compared(design, kept | {place: trials[cell] for cell, place in places.items()})


def _expect(progress: Progress | None, more: int) -> None:
    if isinstance(progress, Steps):
        progress.extend(more)


def more_cells(design: Design, found: Comparison) -> list[Cell]:
    """The trials that it takes to know each gain within ``CLOSE``, as far as the design allows."""
    needed = _needed(design, found, design.most, of_degrees=False)
    return [cell for cell in design.extra_cells if cell.trial < needed.get((cell.trust, cell.epsilon), 0)]


def _needed(design: Design, found: Comparison, most: int, of_degrees: bool) -> dict[tuple[str, Fraction], int]:
    """How many trials each model and epsilon needs for its gains, those that degrees alone answer or the others."""
    needed: dict[tuple[str, Fraction], int] = {}
    losses = {float(epsilon): epsilon for epsilon in design.epsilons}
    for gain in found.gains:
        row, doubt = gain.aware, gain.uncertainty / gain.factor if gain.factor else math.nan
        if doubt > CLOSE and of_degrees == (row.statistic in DEGREES_ALONE and row.trust in ASKED_FOR_DEGREES):
            place = row.trust, losses[row.epsilon]
            needed[place] = max(needed.get(place, 0), min(math.ceil(row.trials * (doubt / CLOSE) ** 2), most))
    return needed


def degree_design(design: Design, found: Comparison) -> tuple[dict[str, Any], dict[Cell, Cell]]:
    """What is to be changed in the design for collections of degrees alone, where gains of degrees need more trials.

    With each goes the place that it takes among the design's own cells: after all of those.
    """
    needed = _needed(design, found, DEGREE_TIMES * design.most, of_degrees=True) if design.most > design.trials else {}
    names = {
        trust: tuple(name for name in design.questions[trust] if name in DEGREES_ALONE)
        for trust in dict.fromkeys(trust for trust, _ in needed)
    }
    run_before = {(row.trust, row.epsilon, row.statistic): row.trials for row in found.aware}
    places: dict[Cell, Cell] = {}
    for (trust, epsilon), trials in needed.items():
        before = max(run_before[trust, float(epsilon), name] for name in names[trust])
        spent = {policy: design.epsilon_of_degrees(trust, design.left(policy, epsilon)) for policy in design.policies}
        cells = [Cell(trust, policy, spent[policy] + design.paid(policy), trial)
                 for trial in range(max(trials - before, 0)) for policy in design.policies]  # fmt: skip
        places |= {cell: Cell(trust, cell.policy, epsilon, design.most + cell.trial) for cell in cells}
    most = 1 + max((cell.trial for cell in places), default=0)
    losses = tuple(dict.fromkeys(cell.epsilon for cell in places))
    label = None if design.seed is None else f"{design.seed} degrees"
    return {"questions": names, "epsilons": losses, "trials": most, "most_trials": None, "seed": label}, places


def compared(design: Design, trials: Mapping[Cell, Trial]) -> Comparison:
    """The rows of all finished trials."""
    aware = design.worlds[AWARE]
    return Comparison(
        design.graph.source,
        design.graph.n,
        design.graph.m,
        _described(design),
        {str(kind): size for kind, size in aware.public.class_sizes.items()},
        aware.policy.assumptions,
        int(design.options.get(POSITION.name, {}).get("rounds", 1)),
        design.trials,
        _evaluation(design, trials, AWARE),
        _evaluation(design, trials, UNIFORM),
        aware.policy.multipliers,
        _histograms(design, trials),
        _splits(design, trials),
        design.inside,
        _matrices(design, trials),
    )


def _splits(design: Design, trials: Mapping[Cell, Trial]) -> tuple[Split, ...]:
    """With a scope, the errors as one lever after the other is used."""
    steps = levers(design.policies[AWARE])
    # Where no class has a loss of its own, the scope is the last lever.
    names = {name: name if name in design.policies else AWARE for name in steps}
    found = {name: _evaluation(design, trials, policy) for name, policy in {UNIFORM: UNIFORM, **names}.items()}
    columns = zip(*found.values(), strict=True) if steps else ()
    return tuple(
        Split(
            rows[0].trust, rows[0].statistic, rows[0].epsilon, tuple(zip(found, (r.error for r in rows), strict=True))
        )
        for rows in columns
    )


def _described(design: Design) -> str:
    """The policy in words, with what choosing it has cost, which collections under it have less to spend."""
    paid, words = design.paid(AWARE), str(design.worlds[AWARE].policy)
    return f"{words}; choosing it cost ε = {float(paid):g} of each loss" if paid else words


def _evaluation(design: Design, trials: Mapping[Cell, Trial], policy: str) -> Evaluation:
    return Evaluation(
        row
        for trust, names in design.questions.items()
        for epsilon in design.epsilons
        for row in _rows(design, _finished(design, trials, trust, policy, epsilon), trust, policy, epsilon)
    )


def _finished(design: Design, trials: Mapping[Cell, Trial], trust: str, policy: str, epsilon: Fraction) -> list[Trial]:
    """The trials of one model, policy and epsilon, from the first to the last that was run; then those of degrees."""
    cells = (Cell(trust, policy, epsilon, trial) for trial in range((1 + DEGREE_TIMES) * design.most))
    return [trials[cell] for cell in cells if cell.trial < design.trials or cell in trials]


def _rows(design: Design, runs: Sequence[Trial], trust: str, policy: str, epsilon: Fraction) -> list[TrialRow]:
    truths = {name: design.truths[name] for name in design.questions[trust]}
    seconds = float(np.mean([run.seconds for run in runs if run.found.keys() >= truths.keys()]))
    known = _of_a_centre(design, policy, epsilon) if trust == CURATOR.name else {}
    return summaries(trust, float(epsilon), truths, [run.found for run in runs], seconds, known)


@lru_cache(maxsize=64)
def _of_a_centre(design: Design, policy: str, epsilon: Fraction) -> dict[str, Expected]:
    """One answer of a centre has noise of a known law, whose tails are not normal."""
    centre = Centre(design.worlds[policy], worked_out=design.worked_out[policy])
    names, options = design.questions[CURATOR.name], design.options[CURATOR.name]
    spent = design.left(policy, epsilon)
    return curator_errors(centre, spent, delta_of_each(options.get("delta", 0), names), design.truths, names)


def _histograms(design: Design, trials: Mapping[Cell, Trial]) -> tuple[DrawnHistogram, ...]:
    """Those of the epsilon nearest to 1, for one figure."""
    epsilon = min(design.epsilons, key=lambda each: abs(math.log(each)))
    cells = (Cell(trust, policy, epsilon, 0) for trust in design.questions for policy in (AWARE, UNIFORM))
    drawn = ((cell, trials[cell].histogram) for cell in cells)
    return tuple(
        DrawnHistogram(cell.trust, cell.policy, float(epsilon), found, _over(found, design.truths[HISTOGRAM]))
        for cell, found in drawn
        if found is not None
    )


def _matrices(design: Design, trials: Mapping[Cell, Trial]) -> tuple[DrawnMatrix, ...]:
    """Those of the first collection at the epsilon nearest to 1, beside the true ones."""
    epsilon = min(design.epsilons, key=lambda each: abs(math.log(each)))
    cells = (Cell(trust, policy, epsilon, 0) for trust in design.questions for policy in (AWARE, UNIFORM))
    return tuple(
        DrawnMatrix(cell.trust, cell.policy, float(epsilon), name, drawn, tuple(map(float, design.truths[name])))
        for cell in cells
        for name, drawn in trials[cell].matrices.items()
    )


def _over(found: Histogram, truth: Any) -> tuple[float, ...]:
    return tuple(float(truth[first : last + 1].sum()) for first, last in found.bins)
