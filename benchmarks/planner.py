"""Predicted errors beside simulated ones, row by row; the tables in docs/planning.md come from here.

VA_EDGE_LDP_DATA=folder python -m benchmarks.planner [graph …] [--trials 8] [--cores 2] [--keep FOLDER]
                                                     [--trust MODEL] [--families] [--markdown]

A graph is facebook, amherst, grqc or caltech. Finished runs are kept in FOLDER, one line each, and are not run again:
use a new folder after a change to what is simulated.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from fractions import Fraction
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import dataset
from support.prediction_check import Checked, Verdict
from visibility_aware_edge_ldp.evaluation.compare.design import questions_for
from visibility_aware_edge_ldp.evaluation.compare.runner import THREADS, collected
from visibility_aware_edge_ldp.evaluation.plan.moment_sums import moments_of
from visibility_aware_edge_ldp.evaluation.plan.planner import plan
from visibility_aware_edge_ldp.evaluation.plan.predictions import predictions
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.public.trust import TRUSTS
from visibility_aware_edge_ldp.simulation.options import two_rounds_pay
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.policy_file import open_policy
from visibility_aware_edge_ldp.truth.readers import read_graph

FILES = {
    "facebook": "facebook_combined.txt.gz",
    "amherst": "fb100-Amherst41.edges.txt.gz",
    "grqc": "ca-GrQc.edges.txt.gz",
    "caltech": "fb100-Caltech36.edges.txt.gz",
}
POLICIES = ("nothing", "profiles:0.5")
EPSILONS = (Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4))
# Runs of a model for one run of the slowest: the fast ones can afford more.
MORE = {"position": 1, "user": 1, "neighbourhood": 5, "curator": 5}
HEAD = (
    f"{'policy':<13} {'trust':<13} {'statistic':<15}{'ε':>5} {'predicted':>11} {'rms error':>11} {'claimed s.e.':>13}  "
    f"{'pred/rms':<14}{'pred/claimed':<14}verdict"
)

Job = tuple[str, str, str, tuple[str, ...], str, int]


def main(arguments: Sequence[str]) -> int:
    """Print a table for each graph."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.planner")
    parser.add_argument("graphs", nargs="*", choices=[[], *FILES], default=["facebook", "amherst", "grqc"])
    parser.add_argument("--trials", type=int, default=8, help="runs of the slowest models")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="a folder for finished runs")
    parser.add_argument("--trust", choices=TRUSTS, help="this trust model alone")
    parser.add_argument("--families", action="store_true", help="also plan from n and m alone")
    parser.add_argument("--markdown", action="store_true", help="short tables for a page")
    wanted = parser.parse_args(arguments)
    for name in wanted.graphs:
        path = dataset(FILES[name])
        if path is None:
            print(f"VA_EDGE_LDP_DATA does not name a folder with {FILES[name]}; nothing was measured")
            continue
        print(f"\n{name}: {opened(name).n:,} nodes, {opened(name).m:,} edges", flush=True)
        models = (wanted.trust,) if wanted.trust else tuple(TRUSTS)
        compare(name, models, wanted.trials, wanted.cores, wanted.keep, wanted.markdown)
        if wanted.families:
            families(opened(name), models)
    return 0


@cache
def opened(name: str) -> Graph:
    """A graph by its short name."""
    path = dataset(FILES[name])
    if path is None:
        raise SystemExit(f"{FILES[name]} is not here")
    return read_graph(path)


@cache
def world_of(name: str, policy: str) -> VisibilityAwareGraph:
    """A graph under a policy."""
    return VisibilityAwareGraph(opened(name), open_policy(policy))


def surveys(models: tuple[str, ...], nodes: int) -> list[tuple[str, tuple[str, ...]]]:
    """What each model is asked in a comparison; and users 4-cycles alone, which would take from the triangles."""
    cycles = [("user", ("four_cycles",))] if "user" in models else []
    return [*questions_for(models, None, nodes).items(), *cycles]


def jobs(name: str, models: tuple[str, ...], trials: int) -> list[Job]:
    """Every run, the first of all settings first."""
    return [
        (name, policy, trust, statistics, str(epsilon), trial)
        for trial in range(trials * max(MORE.values()))
        for policy in POLICIES
        for trust, statistics in surveys(models, opened(name).n)
        for epsilon in EPSILONS
        if trial < trials * MORE[trust]
    ]


def run(job: Job) -> dict[str, tuple[float, float]]:
    """One survey: each scalar estimate, and the variance that it claims."""
    name, policy, trust, statistics, epsilon, trial = job
    seed = f"planner {name} {trust} {policy} {epsilon} {trial}"
    found = collected(world_of(name, policy), trust, Fraction(epsilon), statistics, {}, seed)
    return {
        statistic: (float(each.value), float(each.variance))  # type: ignore[arg-type]
        for statistic, each in found.items()
        if np.ndim(each.value) == 0
    }


def alone() -> None:
    """In a new process: one thread, because there is one process a core."""
    os.cpu_count = lambda: 1


def results(wanted: list[Job], cores: int, keep: Path | None) -> Iterator[tuple[Job, dict[str, Any]]]:
    """All runs, kept ones first."""
    path = None if keep is None else keep / "runs.jsonl"
    kept = {tuple(map(str, job)): found for job, found in _lines(path)}
    missing = [job for job in wanted if tuple(map(str, job)) not in kept]
    yield from ((job, kept[tuple(map(str, job))]) for job in wanted if job not in set(missing))
    os.environ.update(dict.fromkeys((*THREADS, "NUMBA_NUM_THREADS"), "1"))
    with ProcessPoolExecutor(cores, get_context("spawn"), alone) as pool:
        tasks = {pool.submit(run, job): job for job in missing}
        for task in as_completed(tasks):
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([tasks[task], task.result()]) + "\n")
            yield tasks[task], task.result()


def _lines(path: Path | None) -> list[tuple[Job, dict[str, Any]]]:
    if path is None or not path.is_file():
        return []
    lines = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    return [((*job[:3], tuple(job[3]), *job[4:]), found) for job, found in lines]


def compare(name: str, models: tuple[str, ...], trials: int, cores: int, keep: Path | None, markdown: bool) -> None:
    """One line a policy × trust model × statistic × ε, and how many were where."""
    runs: dict[tuple[Any, ...], list[tuple[float, float]]] = {}
    for job, found in results(jobs(name, models, trials), cores, keep):
        for statistic, pair in found.items():
            runs.setdefault((*job[1:5], statistic), []).append(pair)
    rows = list(_rows(name, models, runs))
    if markdown:
        _print_short(rows)
    else:
        print("\n".join([HEAD, *(_line(policy, found) for policy, found in rows)]))
    verdicts = Counter(found.verdict.value for _, found in rows)
    print(f"\n{name}: " + "; ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items())))
    claims = [found.by_claims.value for _, found in rows if found.row.holds and found.by_claims is not None]
    print(f"predicted over claimed standard errors: {min(claims):.2f} to {max(claims):.2f} ({len(claims)} rows)")
    for trust in models:
        squares = [found.by_errors.value**-2 for _, found in rows if found.row.trust == trust and found.row.holds]
        print(f"{trust}: rms error over predicted, {len(squares)} rows pooled: {np.sqrt(np.mean(squares)):.2f}")


def _rows(
    name: str, models: tuple[str, ...], runs: dict[tuple[Any, ...], list[tuple[float, float]]]
) -> Iterator[tuple[str, Checked]]:
    for policy in POLICIES:
        moments = moments_of(world_of(name, policy), cycles=True)
        for trust, statistics in surveys(models, moments.n):
            for epsilon in EPSILONS:
                for row in predictions(moments, trust, epsilon, statistics, bounds=False):
                    pairs = runs[policy, trust, statistics, str(epsilon), row.statistic]
                    yield policy, _checked(moments.world.graph, row, pairs)


def _print_short(rows: list[tuple[str, Checked]]) -> None:
    """A line a policy, trust model and statistic: predicted / rms error, and predicted over claimed in brackets."""
    by_key: dict[tuple[str, ...], list[Checked]] = {}
    for policy, found in rows:
        by_key.setdefault((policy, found.row.trust, found.row.statistic), []).append(found)
    print("| public | trust | statistic | " + " | ".join(f"ε = {float(e):g}" for e in EPSILONS) + " |")
    print("|---|---|---|---|---|---|---|")
    # POSITION's 4-cycles and those of USER have the same name, and are told apart by their trust model.
    for key, cells in by_key.items():
        print(f"| {' | '.join(key)} | " + " | ".join(map(_short, cells)) + " |")


def _short(found: Checked) -> str:
    size, claims = abs(found.row.value) or 1.0, found.by_claims
    mark = {Verdict.WITHIN: "", Verdict.PERHAPS: " ~", Verdict.NOT_NORMAL: " *", Verdict.OUTSIDE: " !"}[found.verdict]
    ratio = "" if claims is None or math.isnan(claims.value) else f" ({claims.value:.2f})"
    return f"{_share(found.predicted / size)} / {_share(found.simulated / size)}{ratio}{mark}"


def _checked(graph: Graph, row: Any, pairs: list[tuple[float, float]]) -> Checked:
    values, variances = np.array(pairs).T
    # With two rounds of 4-cycles a guess stands in for what few answers tell, and is rather too large.  [CYCLE.2]
    guessed = row.trust == "user" and row.statistic == "four_cycles" and two_rounds_pay(Fraction(row.epsilon), graph.n)
    return Checked(row, values - float(exact(graph, row.statistic)), variances, measured=not guessed)


def _line(policy: str, found: Checked) -> str:
    row, size = found.row, abs(found.row.value) or 1.0
    shares = [_share(x / size) for x in (found.predicted, found.simulated, found.claimed)]
    unknown = math.isnan(found.predicted)
    ratios = ["-" if each is None or unknown else str(each) for each in (found.by_errors, found.by_claims)]
    verdict = row.note if found.verdict is Verdict.NOT_NORMAL else found.verdict.value
    return (
        f"{policy:<13} {row.trust:<13} {row.statistic:<15}{row.epsilon:>5g} {shares[0]:>11} {shares[1]:>11} "
        f"{shares[2]:>13}  {ratios[0]:<14}{ratios[1]:<14}{verdict}"
    )


def _share(value: float) -> str:
    return "-" if value != value else f"{100 * value:.3g} %"


def families(graph: Graph, models: tuple[str, ...]) -> None:
    """From n, m, the largest degree, and clustering, against the graph itself: how many times the standard error."""
    print("\nstandard error of made-up graphs over that of the graph itself")
    own = plan(family=graph, epsilons=[1, 4])
    closed = float(exact(graph, "transitivity"))
    top = int(graph.degrees.max())
    assumed = {
        "powerlaw": plan(graph.n, graph.m, epsilons=[1, 4]),
        "powerlaw, largest degree": plan(graph.n, graph.m, max_degree=top, epsilons=[1, 4]),
        "… and clustering": plan(graph.n, graph.m, max_degree=top, clustering=closed, epsilons=[1, 4]),
        "random": plan(graph.n, graph.m, family="random", epsilons=[1, 4]),
    }
    print("trust          statistic         ε  " + "  ".join(assumed))
    for row in (each for each in own.predictions if each.trust in models):
        ratios = [
            each.row(row.trust, row.statistic, Fraction(row.epsilon)).standard_error / row.standard_error
            for each in assumed.values()
        ]
        print(
            f"{row.trust:<14} {row.statistic:<15}{row.epsilon:>4g}  " + "  ".join(f"{ratio:>8.2f}" for ratio in ratios)
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
