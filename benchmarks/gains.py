"""Every gain that `compare` printed beside an independent one: by formula where there is one, else by other runs.

va-edge-ldp compare [GRAPH] … --output out
python -m benchmarks.gains out [GRAPH] [--policy=profiles:0.5] [--runs=100]

Formulas are those of `plan`, with the sums over the true graph: they use no answer. Runs have seeds of their own, the
same for both policies, so that what both have in common does not blur their ratio.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.commands.common import open_named
from visibility_aware_edge_ldp.evaluation.compare.design import Design, designed
from visibility_aware_edge_ldp.evaluation.compare.runner import collected
from visibility_aware_edge_ldp.evaluation.plan.moment_sums import moments_of
from visibility_aware_edge_ldp.evaluation.plan.predictions import predictions
from visibility_aware_edge_ldp.evaluation.results import AWARE, UNIFORM
from visibility_aware_edge_ldp.public.statistic import FOUR_CYCLES, MAX_DEGREE, TRANSITIVITY, TRIANGLES
from visibility_aware_edge_ldp.public.trust import CURATOR, NEIGHBOURHOOD, POSITION, USER
from visibility_aware_edge_ldp.truth.policy_file import open_policy

CLOSE = 0.05
BY_FORMULA, BY_VARIANCES, BY_ERRORS = "formula", "variances of runs", "errors of runs"
# Of users' sums over rows a plan knows no exact variance.
NOT_EXACT = {(USER.name, TRIANGLES.name), (USER.name, TRANSITIVITY.name), (USER.name, FOUR_CYCLES.name)}
HEAD = f"{'trust':<14}{'ε':>5}  {'statistic':<13}{'printed':>9}{'reference':>11}{'± s.e.':>8}{'off by':>8}  how"


@dataclass(frozen=True)
class Reference:
    """A gain, its relative standard error, and where it is from."""

    gain: float
    doubt: float
    how: str


def references(design: Design, trust: str, epsilon: Fraction, runs: int) -> dict[str, Reference]:
    """One for each statistic of a trust model."""
    found = by_formula(design, trust, epsilon)
    missing = [name for name in design.questions[trust] if name not in found]
    if missing:
        found |= by_runs(design, trust, epsilon, missing, runs)
    return found


def by_formula(design: Design, trust: str, epsilon: Fraction) -> dict[str, Reference]:
    """The ratio of standard errors that a plan works out from the true graph."""
    if trust not in (POSITION.name, USER.name):
        return {}
    names, sides = design.questions[trust], []
    for policy in (UNIFORM, AWARE):
        moments = moments_of(design.worlds[policy], FOUR_CYCLES.name in names)
        rows = predictions(moments, trust, epsilon, names, Fraction(0), bounds=False)
        sides.append({row.statistic: row.standard_error for row in rows})
    known = [name for name in names if (trust, name) not in NOT_EXACT and math.isfinite(sides[0].get(name, math.nan))]
    return {name: Reference(_ratio(sides[0][name], sides[1][name]), 0.0, BY_FORMULA) for name in known}


def by_runs(design: Design, trust: str, epsilon: Fraction, names: Sequence[str], runs: int) -> dict[str, Reference]:
    """From collections with seeds of their own; of largest degrees ten times as many, of degrees alone."""
    if trust in (POSITION.name, USER.name) and MAX_DEGREE.name in names and len(names) > 1:
        rest = [name for name in names if name != MAX_DEGREE.name]
        return by_runs(design, trust, epsilon, rest, runs) | by_runs(design, trust, epsilon, [MAX_DEGREE.name], runs)
    alone = trust in (POSITION.name, USER.name) and list(names) == [MAX_DEGREE.name]
    asked = (MAX_DEGREE.name,) if alone else design.questions[trust]
    loss = design.epsilon_of_degrees(trust, epsilon) if alone else epsilon
    sides = [
        [
            collected(design.worlds[policy], trust, loss, asked, design.options[trust], f"gains {each}",
                      design.worked_out[policy] if trust == CURATOR.name else None)
            for each in range(10 * runs if alone else runs)
        ]
        for policy in (UNIFORM, AWARE)
    ]  # fmt: skip
    return {name: _reference(trust, name, float(design.truths[name]), sides) for name in names}


def _reference(trust: str, name: str, truth: float, sides: Sequence[Sequence[Mapping[str, Any]]]) -> Reference:
    normal = trust not in (CURATOR.name, NEIGHBOURHOOD.name) and name != MAX_DEGREE.name
    values = [
        np.array([float(run[name].variance) if normal else abs(float(run[name].value) - truth) for run in runs])
        for runs in sides
    ]
    power = 0.5 if normal else 1.0
    means = [float(each.mean()) for each in values]
    if not means[1]:
        return Reference(math.inf if means[0] else 1.0, 0.0, BY_ERRORS)
    # The same seeds: errors of both policies may go together, and their ratio is known better than each.
    rest = values[0] / means[0] - values[1] / means[1]
    doubt = power * float(rest.std(ddof=1)) / math.sqrt(rest.size)
    return Reference(_ratio(*means) ** power, doubt, BY_VARIANCES if normal else BY_ERRORS)


def _ratio(uniform: float, aware: float) -> float:
    return uniform / aware if aware else (math.inf if uniform else 1.0)


def main(arguments: Sequence[str]) -> int:
    """Print the table; 1 where a gain is off by more than 5 % and than the reference's own doubt explains."""
    given = [each for each in arguments if not each.startswith("--")]
    options = dict(each[2:].split("=", 1) for each in arguments if each.startswith("--"))
    printed = json.loads((Path(given[0]) / "results.json").read_text(encoding="utf-8"))["gains"]
    graph, policy = open_named(given[1] if len(given) > 1 else None, None, True), options.get("policy", "profiles:0.5")
    cells: dict[tuple[str, str], dict[str, Any]] = {}
    for gain in printed:
        cells.setdefault((gain["trust"], str(gain["epsilon"])), {})[gain["statistic"]] = gain
    names = list(dict.fromkeys(gain["statistic"] for gain in printed))
    models, losses = (list(dict.fromkeys(key[place] for key in cells)) for place in (0, 1))
    # A trust model was asked for what was printed of it, and shared its epsilon among no more.
    asked = {trust: tuple(own) for (trust, _), own in cells.items()}
    design = replace(designed(graph, open_policy(policy), losses, 1, names, models), questions=asked)
    print(HEAD)
    wrong = 0
    for (trust, epsilon), own in cells.items():
        found = references(design, trust, Fraction(epsilon), int(options.get("runs", "100")))
        for name, gain in own.items():
            factor, known = gain["factor"], found[name]
            factor = math.inf if gain["verdict"] == "exact" else float(factor)
            off = 0.0 if factor == known.gain else factor / known.gain - 1
            bad = abs(off) > CLOSE + 2 * known.doubt
            wrong += bad
            numbers = f"{factor:>9.3f}{known.gain:>11.3f}{known.doubt:>8.1%}{off:>8.1%}"
            print(f"{trust:<14}{epsilon:>5}  {name:<13}{numbers}  {known.how}{'   OFF' if bad else ''}", flush=True)
    print(f"{wrong} of {len(printed)} gains are off by more than {CLOSE:.0%} and two standard errors of the reference.")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
