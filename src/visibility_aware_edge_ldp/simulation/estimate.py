"""``va.estimate``: simulate all clients on a graph we hold, and estimate."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from visibility_aware_edge_ldp.aggregator.answers import Answers
from visibility_aware_edge_ldp.aggregator.effort import Effort
from visibility_aware_edge_ldp.errors import BadInput, BadStatistic, meant
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.privacy.parameters import Number, exact_delta, exact_share
from visibility_aware_edge_ldp.public.curator_survey import QUERIES
from visibility_aware_edge_ldp.public.sample import position_sample
from visibility_aware_edge_ldp.simulation import by_curator, by_neighbourhood, by_position, by_sample, by_user
from visibility_aware_edge_ldp.simulation.progress import ANSWERS, COUNTING, PATHS, ROWS, Phases, Progress, watched
from visibility_aware_edge_ldp.simulation.run import FILED, PLANES, Run
from visibility_aware_edge_ldp.simulation.worlds import check_world
from visibility_aware_edge_ldp.subgraphs.engines import Threads, open_engine
from visibility_aware_edge_ldp.subgraphs.statistic import DEFAULT, check_statistics, possible, tail_start
from visibility_aware_edge_ldp.subgraphs.triples import on_threads

TRUST_WORDS = {
    "position": by_position.TRUST_WORDS,
    "user": by_user.TRUST_WORDS,
    "neighbourhood": by_neighbourhood.TRUST_WORDS,
    "curator": by_curator.TRUST_WORDS,
}
DEFAULTS = {
    "position": DEFAULT,
    "user": by_user.DEFAULT,
    "neighbourhood": by_neighbourhood.DEFAULT,
    "curator": QUERIES,
}


def estimate(
    world: VisibilityAwareGraph,
    trust: str = "position",
    epsilon: Number = 1,
    statistics: str | Sequence[str] | None = None,
    *,
    rounds: int = 1,
    delta: Number = 0,
    dropout: float = 0.0,
    estimator: str = "unbiased",
    degree_share: Number = by_user.DEGREE_SHARE,
    hide: str = "edge",
    reporters: str = "auto",
    work: float | None = None,
    sample_positions: Number = 1,
    engine: str | None = None,
    seed: int | str | None = None,
    progress: Progress | Phases | None = None,
) -> Answers:
    """Let everybody answer once, and estimate all statistics from the answers.

    In the position model, answers that do not fit into memory go into files in the folder for temporary ones (TMPDIR),
    where classes go by kinds of nodes and everybody answers once; the numbers are the same.

    Parameters
    ----------
    world
        The graph and its visibility policy.
    trust
        The trust model, by what one reporter holds: "position" (one bit), "user" (its own friend list),
        "neighbourhood" (the friends of its friends too), or "curator" (a trusted centre).
    epsilon
        The loss per PRIVATE edge, twice that per FRIEND_VISIBLE edge unless the policy says otherwise; once
        for all statistics together. Only a curator pays it for each, and the bill says the sum.
    statistics
        Names such as "edges", "triangles", "stars:3"; "all" for every one. Default: those of the trust model.
    rounds
        Position model: 1, or 2 as in the source documents (one is better).
    delta
        Curator: 0 for pure noise, above 0 for Laplace noise on smooth bounds. Users of the neighbourhood model:
        above 0 for bounds that are believed, which is more accurate. The others leave it unspent.
    dropout
        The share of positions (or users) that never take part.
    estimator
        Position model: "unbiased", or "ipw_capped" for the source documents' own.
    degree_share
        User model: what part of epsilon the degrees get where triangles or 4-cycles are asked for too.
    hide
        User model: "edge", or "degree" for a degree histogram from users who hide their whole degree. Epsilon is
        then the loss per degree.
    reporters
        Neighbourhood model: "hubs" (public nodes), "plain hubs", "users", "cap:50" for document 004's hard cap, or
        "auto": hubs where the policy has some.
    work
        Position model: what share of the counting behind triangles and 4-cycles is done, above 0 and at most 1; the
        rest is made up for by a sample, at the price of accuracy, which standard errors tell. Default: all of it
        for triangles, and some seconds of it for 4-cycles.
    sample_positions
        Position model: the share of all positions that a public coin draws and that are asked; the others lose
        nothing. Saves answers and memory, and costs accuracy, which standard errors tell.
    engine
        Who counts triangles, or answers for the users of the second round: "threads", "dask" (workers on this
        machine, "dask:4" four), or a cluster's address, "dask://host:8786". The numbers are the same.
    seed
        Makes the run repeatable, and therefore not private.
    progress
        Hears how much is done, and how much there is in all.

    Returns
    -------
    Answers
        Estimates by name, with standard errors, intervals, the bill and the certificate.
    """
    check_world(world)
    asked = "degree_histogram" if statistics is None and hide == "degree" else statistics
    wanted = statistics_for(world, trust, asked)
    exact_delta(delta)
    _refuse_misplaced(trust, dropout, hide, reporters, work)
    phases = progress if isinstance(progress, Phases) else Phases(progress)
    if position_sample(sample_positions) is not None:
        if trust != "position" or estimator != "unbiased" or work is not None or engine is not None:
            raise BadInput(
                "A sample of positions is drawn in the position model, for the unbiased estimator, and needs neither a "
                "share of the work nor an engine; leave the others out."
            )
        return by_sample.by_sample(
            world, epsilon, wanted, sample_positions, rounds=rounds, dropout=dropout, seed=seed,
            progress=phases.of(ANSWERS),
        )  # fmt: skip
    if engine is not None and trust not in ("position", "user"):
        raise BadInput(f"An engine works for the position and the user model, not for {trust}; leave it out.")
    run = Run(world, trust, wanted, rounds, dropout, estimator, hide, work, engine)
    if trust == "position":
        effort = Effort(work)
        if run.way == PLANES and run.over_pairs:
            effort.refuse_sampling()
        run.refuse_too_large()
        with open_engine(engine or "threads", folder=_folder()) as workers:
            counting = watched(on_threads if engine is None else workers, phases.of(COUNTING))
            effort = Effort(work, counting, {name: phases.of(name) for name in (ROWS, PATHS)})
            # What does not fit into memory goes into the engine's folder, which is removed with it, whatever happens.
            folder = workers.folder() if run.way == FILED else None
            return by_position.by_position(
                world, epsilon, wanted, rounds=rounds, dropout=dropout, estimator=estimator, seed=seed,
                effort=effort, progress=phases.of(ANSWERS), folder=folder, keep_tiles=not isinstance(workers, Threads),
            )  # fmt: skip
    if rounds != 1 or estimator != "unbiased":
        raise BadInput(f"Rounds and estimator belong to the position model, not to {trust}; leave them out.")
    run.refuse_too_large()
    if trust == "user":
        if hide == "degree":
            return by_user.by_whole_degrees(world, epsilon, wanted, dropout, seed)
        if engine is None:
            return by_user.by_user(world, epsilon, wanted, dropout, seed, degree_share, phases=phases)
        with open_engine(engine, folder=_folder()) as workers:
            return by_user.by_user(world, epsilon, wanted, dropout, seed, degree_share, workers, phases)
    if trust == "neighbourhood":
        return by_neighbourhood.by_neighbourhood(world, epsilon, wanted, delta, reporters, dropout, seed)
    if dropout:
        raise BadInput("A curator holds everything and cannot drop out; leave dropout out.")
    return by_curator.by_curator(world, epsilon, delta, wanted, seed)


def _folder() -> Path | None:
    """Where files go that workers read: of workers elsewhere, nobody but the user knows which folders they see."""
    named = os.environ.get("TMPDIR")
    return Path(named) if named else None


def _refuse_misplaced(trust: str, dropout: float, hide: str, reporters: str, work: float | None) -> None:
    """Choices that belong to another trust model than this."""
    if exact_share(dropout, "dropout") == 1:
        raise BadInput("With a dropout of 1 nobody answers; choose a smaller share.")
    if hide not in ("edge", "degree") or (hide == "degree" and trust != "user"):
        raise BadInput(f"hide is 'edge', or in the user model 'degree'; got {hide!r} in the {trust} model.")
    if reporters != "auto" and trust != "neighbourhood":
        raise BadInput(f"Reporters are chosen in the neighbourhood model, not in {trust}; leave them out.")
    if work is not None and trust != "position":
        raise BadInput(f"A share of the work is chosen in the position model, not in {trust}; leave it out.")


def statistics_for(world: VisibilityAwareGraph, trust: str, statistics: str | Sequence[str] | None) -> tuple[str, ...]:
    """The statistics asked for, or those that the trust model answers by default."""
    if trust not in TRUST_WORDS:
        choice = ", ".join(TRUST_WORDS)
        raise BadInput(f"{trust!r} is not a trust model; use one of {choice}.{meant(trust, tuple(TRUST_WORDS))}")
    n = world.graph.n
    wanted = check_statistics(possible(DEFAULTS[trust], n) if statistics is None else statistics, n)
    if trust != "user" and any(tail_start(name) is not None for name in wanted):
        raise BadStatistic('Tail counts come from users\' noisy degrees; use --trust user (trust="user").')
    return wanted
