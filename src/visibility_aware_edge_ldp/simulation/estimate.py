"""``va.estimate``: simulate all clients on a graph we hold, and estimate."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.aggregator.answers import Answers
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.privacy import Number, parse_share
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.public.trust import POSITION, trust_model
from visibility_aware_edge_ldp.simulation.execution import Request
from visibility_aware_edge_ldp.simulation.models import answer
from visibility_aware_edge_ldp.simulation.options import Keywords, Options, options_for, statistics_for
from visibility_aware_edge_ldp.simulation.simulate import buy_hubs
from visibility_aware_edge_ldp.simulation.worlds import Phases, Progress, check_world


def estimate(
    world: Any,
    trust: str = POSITION.name,
    epsilon: Number = 1,
    statistics: str | Sequence[str] | None = None,
    *,
    policy: VisibilityPolicy | str | None = None,
    scope: Any = None,
    groups: Any = None,
    attributes: Any = None,
    truth: bool = False,
    dropout: float = 0.0,
    seed: int | str | None = None,
    progress: Progress | Phases | None = None,
    options: Options | None = None,
    **keywords: Unpack[Keywords],
) -> Answers:
    """Let everybody answer once, and estimate all statistics from the answers.

    In the position model, answers that do not fit into memory go into files in the folder for temporary ones (TMPDIR),
    where classes go by kinds of nodes and everybody answers once; the numbers are the same.

    Parameters
    ----------
    world
        The graph and its visibility policy; or anything that ``read_graph`` takes, with ``policy``.
    trust
        The trust model, by what one reporter holds: position (one bit), user (its own friend list), neighbourhood
        (the friends of its friends too), or curator (a trusted centre).
    epsilon
        The loss per PRIVATE edge, twice that per FRIEND_VISIBLE edge unless the policy says otherwise; once
        for all statistics together, in every trust model.
    statistics
        Names such as "edges", "triangles", "stars:3"; "all" for every one that the trust model answers.
        Default: the usual ones of the trust model.
    policy
        Which positions of a bare graph are public: a policy, or its name, such as "profiles:0.5". Default: none.
    scope
        Which positions alone are asked and counted, as ``VisibilityAwareGraph.inside`` takes it: "lists", "group:year".
    groups
        Everybody's public group, for statistics such as "mixing", as ``VisibilityAwareGraph.grouped`` takes it: a
        mapping from names to groups, or the column of a table, such as "year".
    attributes
        Where scope or groups go by an attribute: a table of the nodes, or the path of a CSV file.
    truth
        Whether the answers carry the true values too, which are private; for simulations.
    dropout
        The share of positions (or users) that never take part.
    seed
        Makes the run repeatable, and therefore not private.
    progress
        Is told how much is done, and how much there is in all.
    options
        The trust model's options as one value, such as ``PositionOptions(rounds=2)``, instead of the keywords below.
    rounds
        Position model: 1, or 2 as in the source documents (one is better).
    delta
        Curator: 0 for pure noise, above 0 for Laplace noise on smooth bounds; for all statistics together. Users of the
        neighbourhood model: above 0 for bounds that are believed, which is more accurate. The others leave it unspent.
    estimator
        Position model: "unbiased", or "ipw_capped" for the source documents' own.
    degree_share
        User model: what part of epsilon the degrees get where triangles or 4-cycles are asked for too.
    hide
        User model: "edge", or "degree" for a degree histogram from users who hide their whole degree. Epsilon is
        then the loss per degree.
    share, download
        User model, triangles or 4-cycles, not both at once: every user downloads about this share of the first
        answers, or about so much, such as "10MB", instead of all of them. Costs accuracy, which standard errors tell.
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
    rest
        Position model in a scope: "leave" (nothing is said of what is not wholly inside), or "sample:S": of the
        positions outside, the share S that a public coin draws is asked too; ``Answers.rest`` has what they tell.
    engine
        Position and user model: who counts triangles, or answers for the users of the second round: "threads", "dask"
        (workers on this machine, "dask:4" four), or a cluster's address, "dask://host:8786". The numbers are the same.
    checkpoint
        Position model: a folder in which sums over chunks of the answers are kept. A run that was killed goes on from
        there, and finds the same numbers. Needs a seed; for edges, degrees and k-stars, of any number of nodes.

    Returns
    -------
    Answers
        Estimates by name, with standard errors, intervals, the bill and the certificate.
    """
    world = buy_hubs(VisibilityAwareGraph.of(world, policy), seed)
    world = world if groups is None else world.grouped(groups, attributes)
    world = world if scope is None else world.inside(scope, attributes)
    check_world(world)
    model = trust_model(trust)
    if parse_share(dropout, "dropout") == 1:
        raise BadInput("With a dropout of 1 nobody answers; choose a smaller share.")
    chosen = options_for(model, {**keywords, "dropout": dropout})
    if options is not None:
        if keywords or options.trust is not model:
            raise BadInput(f"Options are given as one value of the {trust} model, or as keywords, not as both.")
        chosen = options
    named = chosen.statistics if statistics is None and chosen.statistics != model.defaults else statistics
    wanted = statistics_for(world, trust, named)
    phases = progress if isinstance(progress, Phases) else Phases(progress)
    found = answer(Request(world, epsilon, wanted, chosen, dropout, seed, phases))
    return found if not truth else Answers(found, found.certificate, true_values(world, found), found.rest)


def true_values(world: VisibilityAwareGraph, found: Mapping[str, Estimate]) -> dict[str, Any]:
    """The true value of each estimate, in its shape."""
    if world.whole.sample is not None:
        raise BadInput("A sample does not tell the true values of the whole roster; leave out the truth.")
    return in_shape({name: exact(world.graph, name) for name in found}, found)


def in_shape(truths: Mapping[str, Any], found: Mapping[str, Estimate]) -> dict[str, Any]:
    """Each true value in the shape of its estimate: a histogram is added up over the estimate's bins."""
    return {name: _in_shape(truth, found[name]) for name, truth in truths.items()}


def _in_shape(truth: Any, estimate: Estimate) -> float | npt.NDArray[np.float64]:
    if estimate.statistic != "degree_histogram":
        return np.asarray(truth, dtype=np.float64) if np.ndim(truth) else float(truth)
    bins: list[Any] = list(estimate.labels or ())
    return np.array([truth[first : last + 1].sum() for first, last in bins], dtype=np.float64)
