"""``va-edge-ldp estimate``."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from math import exp
from pathlib import Path
from typing import Annotated, Any

import typer

from visibility_aware_edge_ldp.commands import common
from visibility_aware_edge_ldp.public.trust import CURATOR, POSITION, USER, trust_model

AUTO = "auto"
# Options that belong to one trust model, as they are where they were not given.
DEFAULTS = {
    "rounds": 1, "estimator": "unbiased", "work": None, "sample_positions": "1", "degree_share": "0.25",
    "hide": "edge", "clip": "smooth", "reporters": "auto", "rest": "leave", "share": "1", "download": None,
    "checkpoint": None,
}  # fmt: skip
LARGE = 5
MINUTE = 60
# From so many users on, two rounds by parts take more than a second or two.
MANY_USERS = 20_000
# What follows the numbers fits on the same screen.
MOST_LINES = 6
LESS_WORK = "With --work 0.1 a tenth of the counting is done, and standard errors say what that costs."


def estimate(
    graph: common.GraphArgument = None,
    trust: Annotated[
        str,
        typer.Option(
            help="What one reporter holds: position (a bit), user (its friends), neighbourhood (their friends too), "
            "or curator (a trusted centre that holds everything); auto: position or user, whichever errs less."
        ),
    ] = AUTO,
    epsilon: Annotated[str, typer.Option(help="Loss per private edge, by all statistics together.")] = "1",
    delta: Annotated[str, typer.Option(help="0 is pure; above 0 a curator draws Laplace noise.")] = "0",
    rounds: Annotated[int, typer.Option(help="1, or 2 as in the source documents.")] = 1,
    policy: common.PolicyOption = "nothing",
    scope: common.ScopeOption = None,
    attributes: common.AttributesOption = None,
    groups: common.GroupsOption = None,
    rest: common.RestOption = "leave",
    statistics: common.StatisticsOption = None,
    estimator: Annotated[str, typer.Option(help="unbiased, or ipw_capped (two rounds).")] = "unbiased",
    dropout: Annotated[str, typer.Option(help="The share of positions, or users, that never answer.")] = "0",
    top: common.TopOption = None,
    columns: common.ColumnsOption = None,
    header: common.HeaderOption = None,
    delimiter: common.DelimiterOption = None,
    bipartite: common.BipartiteOption = False,
    roster: common.RosterOption = None,
    ties: common.TiesOption = None,
    weights: Annotated[
        str | None,
        typer.Option(help="Of an ego survey: the egos' column of survey weights; COLUMN,horvitz-thompson: not scaled."),
    ] = None,
    degree_share: Annotated[
        str, typer.Option(help="User: what part of ε the degrees get where triangles are asked for too.")
    ] = "0.25",
    hide: Annotated[str, typer.Option(help="User: edge, or degree (a histogram that hides whole degrees).")] = "edge",
    clip: Annotated[
        str, typer.Option(help="User triangles: smooth, or double (Imola et al. 2022, to compare; needs --delta).")
    ] = "smooth",
    share: common.ShareOption = "1",
    download: common.DownloadOption = None,
    reporters: Annotated[
        str, typer.Option(help="Neighbourhood: auto, hubs, plain hubs, users, or cap:50 (document 004's hard cap).")
    ] = "auto",
    bounds: Annotated[bool, typer.Option(help="Beside each error, the least that any such protocol has.")] = False,
    local: Annotated[bool, typer.Option(help="Curator: say what the same ε gives without a trusted centre.")] = True,
    work: Annotated[
        float | None,
        typer.Option(help="Position: the share of the counting that is done, such as 0.1. Default: enough."),
    ] = None,
    sample_positions: Annotated[
        str, typer.Option(help="Position: the share of positions that a public coin draws, such as 0.1.")
    ] = "1",
    engine: Annotated[
        str | None,
        typer.Option(help="Position and user: threads, dask, dask:N, or a cluster's address (dask://host:8786)."),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Position: a folder for sums over chunks, from which a run that was killed goes on."),
    ] = None,
    truth: Annotated[bool, typer.Option("--truth", help="Show the true values too: not private.")] = False,
    brief: Annotated[bool, typer.Option("--brief", help="Print the numbers and the promise, nothing else.")] = False,
    certificate: Annotated[bool, typer.Option("--certificate", help="Print all of the certificate.")] = False,
    output: Annotated[Path | None, typer.Option(help="Write numbers and certificate to this folder.")] = None,
    seed: common.SeedOption = None,
    as_json: common.JsonOption = False,
) -> None:
    """Simulate all clients on a graph you hold; print estimates, intervals and what is promised."""
    from visibility_aware_edge_ldp.presentation.group_files import list_tables, matrix_tables
    from visibility_aware_edge_ldp.privacy import parse_share
    from visibility_aware_edge_ldp.simulation.estimate import estimate as run

    table = {"columns": columns, "header": header, "delimiter": delimiter, "bipartite": bipartite or None}
    survey = {"roster": roster, "ties": ties, "weights": weights}
    held = common.open_named(graph, top, as_json, **table, **survey)
    world = _world(held, policy, seed, groups, scope, attributes)
    absent = float(parse_share(dropout, "dropout"))
    options: dict[str, Any] = {
        "rounds": rounds, "estimator": estimator, "work": work, "sample_positions": sample_positions,
        "degree_share": degree_share, "hide": hide, "clip": clip, "reporters": reporters, "rest": rest,
        "share": share, "download": download, "checkpoint": checkpoint,
    }  # fmt: skip
    trust, why = _trust(world, trust.lower(), epsilon, statistics, options)
    if share != "1" or download is not None:
        told = _answering(world, as_json)
    else:
        told = _forecast(world, trust, statistics, rounds, absent, estimator, hide, work, engine, checkpoint, as_json)
    with told if sample_positions == "1" else nullcontext() as progress:
        answers = run(
            world, trust, epsilon, statistics, delta=delta, dropout=absent, engine=engine, seed=seed,
            progress=progress, **options,
        )  # fmt: skip
    common.say_what_was_read(graph, held, as_json)
    _say_why([*why, *_pure(delta, answers)], as_json)
    least = _least_errors(world, answers, trust, epsilon, rounds, dropout) if bounds else None
    found = {"graph": common.about(world.graph), **answers.as_dict()}
    truths = _true_values(world, answers, found) if truth else {}
    if least is not None:
        found["lower_bounds"] = [dict(zip(least[0], row, strict=True)) for row in least[1]]
    written = _write(found, answers, output)
    if as_json:
        common.print_json("estimate", found)
        return
    title = f"{world.graph.source}: {world.graph.size}; ε = {epsilon} for {_of_what(hide)}"
    common.print_table(title, *common.estimate_table(answers, truths))
    for each in (*matrix_tables(found), *list_tables(found)):
        common.print_table(*each)
    _print_least(least)
    central = not brief and local and not trust_model(trust).local
    lines = [
        *_promise(answers, certificate),
        *([_without_a_centre(world, epsilon, list(answers), answers)] if central else []),
        *([] if brief else [_of_intervals(answers)]),
        *written,
    ]
    given = {"top": top, "scope": scope, "groups": groups, "attributes": attributes, **survey}
    steps = {} if brief else _next_steps(trust, graph, policy, epsilon, given, bipartite)
    typer.echo("\n".join([*lines, *common.try_next(steps, MOST_LINES - len(lines))]))


def _say_why(lines: list[str], quiet: bool) -> None:
    """Say why a trust model was taken, and what else is worth a note."""
    for line in lines if not quiet else ():
        typer.echo(f"Note: {line}", err=True)


def _print_least(least: Any) -> None:
    """Print the lower bounds, if they were asked for, and what they hold for."""
    if least is not None:
        common.print_table("The least possible standard errors", least[0], least[1])
        typer.echo("\n".join(least[2]))


def _pure(delta: str, answers: Any) -> list[str]:
    """A line that says that a delta was given for nothing, if it was."""
    spent = any(price.delta for price in answers.bill.values())
    return ["this is pure; delta is not spent."] if delta != "0" and not spent else []


def _world(held: Any, policy: str, seed: Any, groups: str | None, scope: str | None, attributes: Any) -> Any:
    """The graph under its policy, with hubs that are chosen, groups, and what lies outside a scope left out."""
    from visibility_aware_edge_ldp.model import VisibilityAwareGraph
    from visibility_aware_edge_ldp.simulation.simulate import buy_hubs
    from visibility_aware_edge_ldp.truth.policy_file import open_policy

    world = buy_hubs(VisibilityAwareGraph(held, open_policy(policy)), seed)
    world = world if groups is None else world.grouped(groups, attributes)
    return world if scope is None else world.inside(scope, attributes)


def _trust(
    world: Any, trust: str, epsilon: str, statistics: str | None, options: Mapping[str, Any]
) -> tuple[str, list[str]]:
    """The trust model to take, and lines that say why, and whether anything but noise will come of it."""
    from visibility_aware_edge_ldp.evaluation.plan.predictions import advised, only_noise

    given = [name for name, value in options.items() if value != DEFAULTS[name]]
    if world.whole.sample is not None:
        return (USER.name if trust == AUTO else trust), []
    if trust != AUTO:
        return trust, [] if given else only_noise(world, trust, epsilon, statistics)
    found = advised(world, epsilon, statistics, given)
    return found.trust.name, [found.reason, *found.noise]


def _true_values(world: Any, answers: Any, found: dict[str, Any]) -> dict[str, str]:
    """Put the true value of each statistic into ``found``; return them as texts."""
    from visibility_aware_edge_ldp.aggregator.answers import number
    from visibility_aware_edge_ldp.simulation.estimate import true_values

    texts = {}
    for name, true in true_values(world, answers).items():
        found["estimates"][name]["truth"] = true if isinstance(true, float) else true.tolist()
        texts[name] = number(true) if isinstance(true, float) else "see --json"
    found["caution"] = "true values of a graph that was held are shown, so this is not private"
    return texts


def _write(found: Mapping[str, Any], answers: Any, folder: Path | None) -> list[str]:
    """Write what was found; one line that says where."""
    if folder is None:
        return []
    from visibility_aware_edge_ldp.presentation.result_files import write_estimates

    first, *others = write_estimates(found, str(answers.certificate), folder)
    return [f"Wrote {first}, {', '.join(path.name for path in others)}."]


def _promise(answers: Any, whole: bool) -> list[str]:
    """The certificate: all of it with what its loss means, or one line and what must not be overlooked."""
    told = answers.certificate
    if whole:
        return [str(told), _in_chances(answers)]
    return [f"{told.summary} All of it: --certificate.", *told.kept_back]


@contextmanager
def _forecast(
    world: Any, trust: str, statistics: str | None, rounds: int, dropout: float, estimator: str, hide: str,
    work: float | None, engine: str | None, checkpoint: Path | None, quiet: bool,
) -> Iterator[Any]:  # fmt: skip
    """Before a large run, what it needs; while it runs, how far it is."""
    from visibility_aware_edge_ldp.simulation.execution import FILED, Run
    from visibility_aware_edge_ldp.simulation.options import statistics_for
    from visibility_aware_edge_ldp.simulation.runtime_forecast import forecast, is_large
    from visibility_aware_edge_ldp.simulation.worlds import Phases

    asked = statistics_for(world, trust, statistics)
    run = Run(world, trust, asked, rounds, dropout, estimator, hide, work, engine, checkpoint)
    run.refuse_too_large()
    with common.ending_in_order() if run.strategy == FILED else nullcontext():
        if quiet or not is_large(run):
            yield None
            return
        found = forecast(run)
        hint = LESS_WORK if found.counting > MINUTE and work is None else ""
        common.say_need(run.need.octets, found.seconds, hint, disk=run.disk if run.strategy == FILED else 0)
        with common.progress_bar("answers and counting", counted=False) as progress:
            yield Phases(progress, found.phases)


@contextmanager
def _answering(world: Any, quiet: bool) -> Iterator[Any]:
    """While users answer for their rows and read parts of the answers, how far it is."""
    from visibility_aware_edge_ldp.simulation.worlds import Phases

    if quiet or world.graph.n < MANY_USERS:
        yield None
        return
    with common.progress_bar("first answers and sums", counted=False) as progress:
        yield Phases(progress, {"answers": 1.0, "rows": 0.3})


def _next_steps(
    trust: str, graph: str | None, policy: str, epsilon: str, part: Mapping[str, Any], bipartite: bool
) -> dict[str, str]:
    if Path(graph or "").is_dir() or part["roster"]:  # an ego survey, which not every command reads
        told = common.to_type("compare", graph, trials=3, output="out", roster=part["roster"], ties=part["ties"])
        return {} if part["weights"] else {told: "whether it helps that some lists are public"}
    top, beyond = part["top"], " of the whole graph" if part["scope"] else ""
    other, why = (USER, "users hold their lists") if trust == POSITION.name else (POSITION, "a reporter holds one bit")
    guarded = {"policy": None if policy == "nothing" else policy}
    again = partial(common.to_type, "estimate", graph, epsilon=None if epsilon == "1" else epsilon, **part)
    if bipartite:
        again = partial(
            common.to_type, "estimate", graph, "--bipartite", epsilon=None if epsilon == "1" else epsilon, **part
        )
        held = "people hold their lists of places" if other is USER else why
        return {
            again(trust=other.name, **guarded): f"nobody is trusted, and {held}",
            again(trust=USER.name, statistics="edges,people_degrees", **guarded): "what people's counts alone tell",
        }
    public = again(trust=None if trust == POSITION.name else trust, policy="profiles:0.5")
    released = common.to_type(
        "publish", graph, budget="budget.ledger", total=5, release="release.json", top=top, **guarded
    )
    return {
        **({released: f"intervals{beyond} that may leave the centre"} if trust == CURATOR.name else {}),
        common.to_type(
            "compare", graph, trials=3, top=top, output="out", **guarded
        ): f"all trust models; a report{beyond}",
        **({} if guarded["policy"] else {public: "if half of the users had public friend lists"}),
        **({} if part["groups"] else {again(trust=other.name, **guarded): f"nobody is trusted, and {why}"}),
    }


def _of_intervals(answers: Any) -> str:
    if all(row[3] == "none" for row in answers.rows()):
        return "These estimates come without intervals, and may be biased."
    return "A 95 % interval holds the true value in about 95 of 100 such collections."


def _in_chances(answers: Any) -> str:
    """The largest loss of an edge that is protected, as a factor between chances."""
    prices = [answers.bill[name] for name in answers.certificate.shown]
    if not prices:
        return "Everything is public here: nothing is hidden."
    loss, delta = max(price.epsilon for price in prices), max(price.delta for price in prices)
    if loss > LARGE:
        return f"An edge loses ε = {float(loss):.3g} in all, which hides little; a smaller --epsilon hides more."
    return (
        f"One protected edge more or less changes the chance of anything that is sent by a factor of {exp(loss):.3g} "
        f"at most{f', and by δ = {float(delta):g} besides' if delta else ''}; a smaller --epsilon hides more and "
        "widens the intervals."
    )


def _of_what(hide: str) -> str:
    """What the epsilon in the table's title is for."""
    if hide == "degree":
        return "each whole degree, twice that per edge"
    return "all statistics together"


def _least_errors(
    world: Any, answers: Any, trust: str, epsilon: str, rounds: int, dropout: str
) -> tuple[tuple[str, ...], list[tuple[str, ...]], list[str]]:
    """Head, rows and conditions of the table of lower bounds."""
    from visibility_aware_edge_ldp.evaluation.trials import HEAD, bound_rows, conditions

    rows = bound_rows(world, answers, trust, epsilon, rounds=rounds, dropout=float(dropout))
    return HEAD, [row.texts() for row in rows], conditions(rows)


def _without_a_centre(world: Any, epsilon: str, statistics: list[str], central: Any) -> str:
    """The price of not trusting: how many times larger the POSITION model's standard errors are."""
    from visibility_aware_edge_ldp.errors import TooLarge
    from visibility_aware_edge_ldp.simulation.estimate import estimate as run

    try:
        answers = run(world, POSITION.name, epsilon, statistics)
    except TooLarge:
        return "Without a centre: too many positions to ask each of them on this machine."
    known = [name for name in statistics if answers[name].has_standard_error]
    ratios = (
        f"{name} {answers[name].standard_error / error:,.0f}×" if (error := central[name].standard_error) else name
        for name in known
    )
    return (
        f"Without a centre, the POSITION model answers all of these together for one ε = {epsilon}; its "
        f"standard errors are, times the centre's: {', '.join(ratios)}. "
        "(For the centre's eyes: not on the bill, not for release.)"
    )
