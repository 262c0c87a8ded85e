"""The four trust models in a simulation: from a request to answers with their certificate."""

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from visibility_aware_edge_ldp.aggregator.answers import Answers
from visibility_aware_edge_ldp.aggregator.collection import UserCollection, estimate, public_triangles
from visibility_aware_edge_ldp.aggregator.degrees import DegreeCollection
from visibility_aware_edge_ldp.aggregator.derived import with_derived
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.aggregator.groups import hidden_cells, small_cells
from visibility_aware_edge_ldp.aggregator.histogram import HistogramCollection
from visibility_aware_edge_ldp.aggregator.node_statistics.clustering import clustering
from visibility_aware_edge_ldp.aggregator.node_statistics.row_clipping import clipped_triangles
from visibility_aware_edge_ldp.aggregator.node_statistics.second_look import IN_CHUNKS, NOT_IN_CHUNKS
from visibility_aware_edge_ldp.aggregator.nonresponse.positions import estimate as estimate_rows
from visibility_aware_edge_ldp.aggregator.nonresponse.row_transitivity import transitivity
from visibility_aware_edge_ldp.aggregator.position import PositionCollection, estimate_ipw_capped
from visibility_aware_edge_ldp.aggregator.rows import cycles, triangles
from visibility_aware_edge_ldp.aggregator.sample import SampledCollection
from visibility_aware_edge_ldp.aggregator.score_estimates import WorkBudget
from visibility_aware_edge_ldp.aggregator.streamed import StreamedCollection, counts_suffice
from visibility_aware_edge_ldp.compute.engines import Threads, Workers, on_threads, open_engine
from visibility_aware_edge_ldp.counts.graphlets.sampled import sample_note
from visibility_aware_edge_ldp.errors import BadInput, BadStatistic
from visibility_aware_edge_ldp.mechanisms.randomness import seeded_key
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.privacy import Release, parse_delta, parse_epsilon
from visibility_aware_edge_ldp.public.protocol import Protocol, registered_protocol
from visibility_aware_edge_ldp.public.statistic import (
    CLUSTERING,
    FOUR_CYCLES,
    GRAPHLETS,
    TRANSITIVITY,
    TRIANGLES,
    sources_of,
    statistic,
)
from visibility_aware_edge_ldp.public.surveys.clipped_rows import clipped
from visibility_aware_edge_ldp.public.surveys.degrees import degree_survey
from visibility_aware_edge_ldp.public.surveys.groups import group_survey
from visibility_aware_edge_ldp.public.surveys.histogram import histogram_survey
from visibility_aware_edge_ldp.public.surveys.hubs import PLAIN, SHARED, hub_survey, hubs_see_everybody
from visibility_aware_edge_ldp.public.surveys.position import position_survey
from visibility_aware_edge_ldp.public.surveys.rows import RowSurvey, row_surveys
from visibility_aware_edge_ldp.public.trust import CURATOR, NEIGHBOURHOOD, POSITION, USER
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility
from visibility_aware_edge_ldp.simulation import row_parts
from visibility_aware_edge_ldp.simulation.chunks import ReproducibleAnswers, collect_in_chunks
from visibility_aware_edge_ldp.simulation.curator import Centre, ask_within
from visibility_aware_edge_ldp.simulation.execution import FILED, PLANES, Request, by_lists, refuse_large_sample
from visibility_aware_edge_ldp.simulation.options import Plan, per_list, plan_for, spending
from visibility_aware_edge_ldp.simulation.rows import collect_rows, collect_rows_on
from visibility_aware_edge_ldp.simulation.scope_rest import COIN_ASSUMPTION, with_rest
from visibility_aware_edge_ldp.simulation.simulate import by_file, collect, collect_assigned_triangles, collect_hubs
from visibility_aware_edge_ldp.simulation.survey_weights import PUBLIC_GROUPS, weighted_users
from visibility_aware_edge_ldp.simulation.worlds import ANSWERS, COUNTING, PATHS, ROWS, Steps, certificate, watched

BOARD_ASSUMPTION = "the bounds were computed from the degrees as they were reported, for everybody to check"
GROUP_ASSUMPTION = PUBLIC_GROUPS + "; within it those away are like the others"
CLIP_ASSUMPTION = "all other users answer the first round as they should: double clipping does not hold against them"
SIGHT_ASSUMPTION = "users see the edges within two steps of them anyway, by the platform's rules"
ROW_ESTIMATES = {TRIANGLES.name: triangles, FOUR_CYCLES.name: cycles}


def answer(request: Request) -> Answers:
    """Estimates with their certificate, by the trust model of the request's options."""
    trust = request.options.trust
    if request.world.whole.sample is not None:
        return weighted_users(request)
    known = registered_protocol(trust, request.statistics)
    return MODELS[trust.name](request) if known is None else by_protocol(request, known)


def by_protocol(request: Request, known: Protocol) -> Answers:
    """Everybody answers the one survey of a protocol that another program has registered."""
    world, seed = request.world, request.seed
    survey = known.survey(world.public, parse_epsilon(request.epsilon))
    collection = collect(world, survey, seed, request.dropout, request.phases.of(ANSWERS))
    users = isinstance(collection, UserCollection)
    rates = {"users": float(collection.took_part.mean())} if users else collection.response_rates()
    certified = certificate(world, known.trust, collection.releases, seed, rates)
    return Answers(estimate(collection, request.statistics), certified)


def position(request: Request) -> Answers:
    """Every non-public position answers by randomized response in each round."""
    if request.options.is_sampled:
        return sample(request)
    if request.options.rest_sample is not None:
        return with_rest(request, collect)
    if request.options.checkpoint is not None:
        return in_chunks(request)
    run, work = request.run, request.options.work
    if run.strategy == PLANES and run.over_pairs:
        WorkBudget(work).refuse_sampling()
    run.refuse_too_large()
    with open_engine(request.options.engine or "threads", folder=_folder()) as workers:
        counting = watched(on_threads if request.options.engine is None else workers, request.phases.of(COUNTING))
        budget = WorkBudget(work, counting, {name: request.phases.of(name) for name in (ROWS, PATHS)})
        # What does not fit into memory goes into the engine's folder, which is removed with it, whatever happens.
        folder = workers.folder() if run.strategy == FILED else None
        return position_answers(request, budget, folder, keep_tiles=not isinstance(workers, Threads))


def position_answers(
    request: Request, budget: WorkBudget, folder: Path | None = None, keep_tiles: bool = False
) -> Answers:
    """All positions are asked, and everything is estimated from the same answers.

    Where counts for each node suffice, answers are counted as they come and not kept; with a ``folder`` they are kept
    in files there, for which see ``simulate.by_file``.
    """
    world, wanted, seed, told = request.world, request.statistics, request.seed, request.phases.of(ANSWERS)
    survey = position_survey(world.public, request.epsilon, request.options.rounds)
    unbiased = request.options.estimator == "unbiased"
    collection: Any
    if unbiased and counts_suffice(wanted):
        collection = collect(world, survey, seed, request.dropout, told, into=StreamedCollection)
        found = estimate(collection, wanted)
    elif folder is not None:
        collection, found = by_file(
            world, survey, wanted, budget, folder, keep_tiles=keep_tiles, seed=seed, progress=told
        )
    else:
        collection = collect(world, survey, seed, request.dropout, told, into=PositionCollection)
        found = estimate(collection, wanted, budget) if unbiased else estimate_ipw_capped(collection, wanted)
    sizes = getattr(collection, "class_sizes", None) or world.public.class_sizes
    if world.policy.scope is not None:
        sizes = world.public.inside_sizes
    rates, (assumed, notes) = collection.response_rates(), _of_groups(world, found)
    notes += tuple(note for name in found if name in GRAPHLETS and (note := sample_note(world.graph.n, name)))
    certified = certificate(world, POSITION, survey.releases, seed, rates, sizes, assumptions=assumed, notes=notes)
    return Answers(found, certified)


def in_chunks(request: Request) -> Answers:
    """All positions are asked, and their answers counted chunk by chunk; what was counted is kept in a folder.

    A run that was killed goes on from there, and finds the same numbers.  [AGAIN.1]
    """
    world, seed, chosen = request.world, request.seed, request.options
    if not counts_suffice(request.statistics, IN_CHUNKS):
        lacking = next(name for name in request.statistics if not counts_suffice((name,), IN_CHUNKS))
        raise BadStatistic(NOT_IN_CHUNKS.format(lacking, ", ".join(IN_CHUNKS)))
    if seed is None:
        raise BadInput("A run with a checkpoint makes answers again, which takes a seed. Give one (--seed 7).")
    request.run.refuse_too_large()
    survey = position_survey(world.public, request.epsilon, chosen.rounds)
    again = ReproducibleAnswers(world, survey, seed, request.dropout)
    with open_engine(chosen.engine or "threads", folder=_folder()) as workers:
        told = request.phases.of(ANSWERS)
        collection, found = collect_in_chunks(again, request.statistics, workers, Path(chosen.checkpoint), told)
    rates, sizes = collection.response_rates(), collection.class_sizes
    return Answers(found, certificate(world, POSITION, survey.releases, seed, rates, sizes))


def _of_groups(world: VisibilityAwareGraph, found: Mapping[str, Estimate]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What statistics of groups assume, and what must be said of cells that the noise hides."""
    if world.graph.groups is None or not any(statistic(name).by_groups for name in found):
        return (), ()
    notes = next((hidden_cells(found[name]) for name in ("mixing", "contacts") if name in found), ())
    return (PUBLIC_GROUPS.format(world.graph.groups.attribute),), notes


def sample(request: Request) -> Answers:
    """Every non-public position that a public coin draws answers by randomized response in each round.

    The coin is new for each run, and follows from the seed where there is one.  [SAMPLE.1-5]
    """
    world, seed, chosen = request.world, request.seed, request.options
    coin = os.urandom(16).hex() if seed is None else seeded_key(seed, "coin of a sample").hex()
    survey = position_survey(world.public, request.epsilon, chosen.rounds, sample=chosen.sample_positions, coin=coin)
    lists = by_lists(survey, request.statistics)
    refuse_large_sample(world, survey, lists)
    kind: type[Any] = SampledCollection if lists else PositionCollection
    collection = collect(world, survey, seed, request.dropout, request.phases.of(ANSWERS), into=kind)
    found = estimate(collection, request.statistics)
    note = (
        f"A public coin drew {float(survey.rate):.3g} of the positions; those counted above were asked, and the "
        "others lost nothing. An edge that was asked loses no less for the sample"
    )
    rates, sizes, (assumed, notes) = collection.response_rates(), collection.asked_sizes, _of_groups(world, found)
    believed, told = (COIN_ASSUMPTION, *assumed), (note, *notes)
    certified = certificate(world, POSITION, survey.releases, seed, rates, sizes, assumptions=believed, notes=told)
    return Answers(found, certified)


def user(request: Request) -> Answers:
    """Every user reports its noisy degree, answers for its row, and sums over its list, as far as is needed.

    With an engine, its workers are the users who sum.
    """
    if not request.options.in_parts:
        request.run.refuse_too_large()
    if request.options.hide == "degree":
        return whole_degrees(request)
    world, engine = request.world, request.options.engine
    plan = plan_for(
        request.statistics, request.epsilon, world.graph.n, request.options.degree_share, absent=request.dropout > 0,
        people=world.graph.people,
    )  # fmt: skip
    asked = (*plan.by_degrees, *plan.by_rows, *plan.by_groups)
    if unasked := [name for name in request.statistics if name not in asked]:
        raise BadStatistic(f"{unasked[0]} takes reports that `estimate` does not ask for; collect them by themselves.")
    if engine is None:
        found, releases, response = _ask_users(request, plan)
    else:
        with open_engine(engine, folder=_folder()) as workers:
            found, releases, response = _ask_users(request, plan, workers)
    rates, notes, assumed = {"users": response}, tuple[str, ...](), tuple[str, ...]()
    if plan.by_groups:
        groups = collect(world, group_survey(world.public, plan.group_epsilon), request.seed, request.dropout)
        cells = estimate(groups, tuple(dict.fromkeys(("mixing", *plan.by_groups))))
        found, releases = found | cells, tuple(dict.fromkeys((*releases, *groups.releases)))
        rates = {"users": min(response, groups.response_rate), **groups.response_by_group()}
        notes, assumed = small_cells(groups, cells["mixing"]), (GROUP_ASSUMPTION.format(groups.groups.attribute),)
    spent = spending(world, plan)
    if _is_clipped(request):
        (survey,) = _row_surveys(request, plan).values()
        spent = {key: share for key, share in spent.items() if key != "their standard errors"}
        spent |= {"the rows' triangles": float(survey.total), "the lengths of lists": float(survey.reach)}
        assumed = (*assumed, CLIP_ASSUMPTION)
    if (groups := _groups(request, plan)) is not None:
        (by_parts,) = row_parts.part_surveys(request, plan, groups).values()
        spent = {key: share for key, share in spent.items() if key not in ("their standard errors", "the answers")}
        spent, notes = spent | row_parts.spent_on(by_parts), (*notes, row_parts.note(by_parts))
        assumed = (*assumed, COIN_ASSUMPTION)
    certified = certificate(
        world, USER, releases, request.seed, rates, assumptions=assumed, notes=notes,
        per_list=per_list(world, plan), spent=spent,
    )  # fmt: skip
    return Answers({name: found[name] for name in request.statistics}, certified)


def whole_degrees(request: Request) -> Answers:
    """The degree histogram from users who hide their whole degree, by Hadamard response."""
    if request.statistics != ("degree_histogram",):
        raise BadInput("Users who hide their whole degree answer degree_histogram alone; ask for nothing else.")
    world, survey = request.world, histogram_survey(request.world.public, request.epsilon)
    collection = collect(world, survey, request.seed, request.dropout, into=HistogramCollection)
    response = {"users": collection.response_rate}
    certified = certificate(world, USER, collection.releases, request.seed, response, also=(survey.guarantee,))
    return Answers(estimate(collection, request.statistics), certified)


def _ask_users(
    request: Request, plan: Plan, engine: Workers | None = None
) -> tuple[dict[str, Estimate], tuple[Release, ...], float]:
    """The estimates by name, what they cost, and the share of users who took part."""
    world, seed, dropout, phases = request.world, request.seed, request.dropout, request.phases
    found: dict[str, Estimate] = {}
    response = 1.0
    if plan.by_degrees:
        asked = degree_survey(world.public, plan.degree_epsilon)
        degrees = collect(world, asked, seed, dropout, into=DegreeCollection)
        wedges = "stars:2" if world.graph.n > 2 else "edges"  # two nodes have no 2-stars
        parts = {TRANSITIVITY.name: wedges, **dict.fromkeys(CLUSTERING, "edges")}
        names = dict.fromkeys(parts.get(name, name) for name in plan.by_degrees)
        found |= estimate(degrees, tuple(names))
        response = degrees.response_rate
    if (groups := _groups(request, plan)) is not None:
        by_parts = row_parts.part_surveys(request, plan, groups)
        (name,) = by_parts
        found[name], rate = row_parts.estimate_parts(request, by_parts, phases)
        return found, _releases(found), min(response, rate)
    if plan.summed:
        if request.options.in_parts:  # otherwise refused before anybody was asked
            request.run.refuse_too_large()
        surveys = _row_surveys(request, plan)
        collecting = collect_rows if engine is None else partial(collect_rows_on, engine)
        rows = collecting(world, surveys, seed, dropout, phases)
        steps = Steps(phases.of(PATHS), len(rows))
        summed = ROW_ESTIMATES | ({TRIANGLES.name: clipped_triangles} if _is_clipped(request) else {})
        found |= {name: summed[name](collection, steps) for name, collection in rows.items()}
        response = min(collection.response_rate for collection in rows.values())
    if plan.from_answers or plan.clustered:
        # Where no sums are asked for, users answer for their rows and nothing more, as POSITION's clients do.
        alone = position_survey(world.public, plan.row_epsilon)
        first = next(iter(rows.values())).first if plan.summed else collect(world, alone, seed, dropout, by_rows=True)
        found |= _from_answers(first, plan.from_answers, dropout > 0) if plan.from_answers else {}
        found |= clustering(plan.clustered, first, degrees) if plan.clustered else {}
        if not plan.summed:
            response = min(response, *first.response_rates().values())
    if TRANSITIVITY.name in plan.by_rows:
        alike = degrees.as_if_alike()  # triangles have one weight for all
        weighed = dropout > 0 and world.graph.groups is not None and "stars:2" in found
        wedge = estimate(alike, ("stars:2",)) if weighed else found
        nothing = Estimate("stars:2", 0.0, 0.0)
        found[TRANSITIVITY.name] = transitivity(
            found[TRIANGLES.name], wedge.get("stars:2", nothing), rows[TRIANGLES.name], alike
        )
    return found, _releases(found), response


def _releases(found: Mapping[str, Estimate]) -> tuple[Release, ...]:
    return tuple(dict.fromkeys(release for each in found.values() for release in each.releases))


def _from_answers(first: PositionCollection, names: tuple[str, ...], absent: bool) -> dict[str, Estimate]:
    """Estimates from users' first answers; where whole rows may be missing, sums are told from rows.

    A place's degree is not: its positions are all of different people.  [BIPARTITE.4]
    """
    sums = tuple(name for name in names if absent and not statistic(name).per_person)
    others = tuple(name for name in names if name not in sums)
    found = estimate(first, others) if others else {}
    return found | (estimate_rows(first, sums) if sums else {})


def _groups(request: Request, plan: Plan) -> int | None:
    """How many groups a part of the first answers has, where users download a part of them."""
    if not plan.by_rows or not request.options.in_parts:
        return None
    summed = row_parts.statistic_of(plan)
    groups: int | None = request.options.groups(request.world.public, plan.row_epsilon, summed)
    return groups


def _is_clipped(request: Request) -> bool:
    """Whether triangles are counted by double clipping."""
    return bool(getattr(request.options, "clip", "smooth") == "double")


def _row_surveys(request: Request, plan: Plan) -> Mapping[str, RowSurvey]:
    """What users sum over their rows; by double clipping triangles alone.  [CLIP.1]"""
    surveys = row_surveys(request.world.public, plan.row_epsilon, plan.summed)
    if not _is_clipped(request):
        return surveys
    if plan.by_rows != (TRIANGLES.name,) or request.dropout:
        raise BadInput("Double clipping counts triangles where everybody answers; leave out dropout and the others.")
    return {TRIANGLES.name: clipped(surveys[TRIANGLES.name], parse_delta(request.options.delta))}


def neighbourhood(request: Request) -> Answers:
    """Triangles from hubs ("hubs", "plain hubs"), from all users ("users"), or with document 004's cap ("cap:50")."""
    request.run.refuse_too_large()
    if request.statistics != NEIGHBOURHOOD.defaults:
        raise BadStatistic("In the neighbourhood model triangles are counted; for the rest use --trust user.")
    world, seed, chosen = request.world, request.seed, _reporters(request.world, request.options.reporters)
    if not world.public.present & set(NON_PUBLIC):
        known = Estimate(TRIANGLES.name, float(public_triangles(world.public)), 0.0)
        return _counted(request, known, "everything is public, so nobody was asked")
    if chosen in (SHARED, PLAIN):
        if request.dropout:
            raise BadInput("A hub that stays away takes its triangles with it; leave dropout out.")
        hubs = collect_hubs(world, hub_survey(world.public, request.epsilon, chosen), seed)
        note = f"at most {hubs.left_out():,.0f} triangles are left out (they are in the interval)"
        return _counted(request, estimate(hubs, request.statistics)[TRIANGLES.name], note)
    cap = int(chosen.removeprefix("cap:")) if chosen.startswith("cap:") else None
    users = collect_assigned_triangles(
        world, request.epsilon, request.options.delta, cap, seed=seed, dropout=request.dropout
    )
    lost = users.survey.plan.lost
    note = f"at most about {lost:,.0f} triangles are lost to bounds (they are in the interval)" if lost else ""
    first = users.degrees.took_part if users.degrees is not None else users.took_part
    believed = (BOARD_ASSUMPTION,) if users.survey.plan.delta else ()
    found = estimate(users, request.statistics)[TRIANGLES.name]
    return _counted(request, found, note, {"users": float((first & users.took_part).mean())}, believed)


def _reporters(world: VisibilityAwareGraph, reporters: str) -> str:
    """Who counts: a kind of hubs, all users, or all users with a cap."""
    known = {"hubs": SHARED, "plain hubs": PLAIN, "users": "users"}
    if reporters == "auto":
        return SHARED if hubs_see_everybody(world.public) else "users"
    if reporters.startswith("cap:") and reporters[4:].isdecimal() and int(reporters[4:]) >= 2:
        return reporters
    if reporters not in known:
        raise BadInput(f"{reporters!r} cannot report; use auto, hubs, plain hubs, users, or cap:50 (from 2 on).")
    return known[reporters]


def _counted(
    request: Request,
    found: Estimate,
    note: str,
    response: dict[str, float] | None = None,
    assumed: tuple[str, ...] = (),
) -> Answers:
    """Triangles and their certificate: hubs count at once, users report degrees first."""
    names = ("the degrees", "the counts")[-len(found.releases) :] if found.releases else ()
    prices = (dict(release.prices) for release in found.releases)
    # The loss of an edge, PRIVATE where there are any.
    losses = (float((each.get(Visibility.PRIVATE) or next(iter(each.values()))).epsilon) for each in prices)
    certified = certificate(
        request.world, NEIGHBOURHOOD, found.releases, request.seed, response,
        assumptions=(SIGHT_ASSUMPTION, *assumed), notes=(note,) if note else (),
        spent=dict(zip(names, losses, strict=True)),
    )  # fmt: skip
    return Answers({TRIANGLES.name: found}, certified)


def curator(request: Request) -> Answers:
    """The centre answers every question once, all of them for one epsilon, and one delta, in total."""
    request.run.refuse_too_large()
    centre, delta = Centre(request.world), request.options.delta
    asked = tuple(dict.fromkeys(each for name in request.statistics for each in sources_of(name)))
    answers, _ = ask_within(centre, request.epsilon, delta, asked, seed=request.seed)
    certified = certificate(
        request.world, CURATOR, tuple(release for each in answers.values() for release in each.estimate.releases),
        request.seed, assumptions=("nobody but the centre sees the graph",),
        not_for_release=tuple(
            name for name in request.statistics if not all(answers[each].releasable for each in sources_of(name))
        ),
    )  # fmt: skip
    found = {name: each.estimate for name, each in answers.items()}
    return Answers(with_derived(found, request.statistics, request.world.graph.n), certified)


def _folder() -> Path | None:
    """Where files go that workers read: of workers elsewhere, nobody but the user knows which folders they see."""
    named = os.environ.get("TMPDIR")
    return Path(named) if named else None


MODELS: dict[str, Callable[[Request], Answers]] = {
    each.name: run
    for each, run in ((POSITION, position), (USER, user), (NEIGHBOURHOOD, neighbourhood), (CURATOR, curator))
}
