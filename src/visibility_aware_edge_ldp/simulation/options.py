"""The options of ``estimate``, each with the trust models that it belongs to: validated once, refused in one place.

And how one epsilon of the user model is split between the questions that the statistics need.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, TypedDict

from visibility_aware_edge_ldp.errors import BadInput, BadPrivacyParameter, BadStatistic
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.privacy import Guarantee, Number, OneListEntry, parse_delta, parse_epsilon, parse_share
from visibility_aware_edge_ldp.public.protocol import PROTOCOLS, answers
from visibility_aware_edge_ldp.public.statistic import (
    BUTTERFLIES,
    CLUSTERING,
    FOUR_CYCLES,
    GROUPED,
    PLACE_DEGREES,
    TRANSITIVITY,
    TRIANGLES,
    check_statistics,
    is_built_in,
    is_set,
    possible,
    refuse_without_places,
    sources_of,
    statistic,
)
from visibility_aware_edge_ldp.public.surveys.degrees import DegreeSurvey, lists_in
from visibility_aware_edge_ldp.public.surveys.row_parts import groups_for, groups_for_share
from visibility_aware_edge_ldp.public.surveys.rows import best_first_share, row_surveys
from visibility_aware_edge_ldp.public.surveys.sample import position_sample
from visibility_aware_edge_ldp.public.trust import (
    CURATOR,
    DEGREE_SHARE,
    NEIGHBOURHOOD,
    ON_PLACES,
    POSITION,
    TRUSTS,
    USER,
    Trust,
    trust_model,
)
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC

ESTIMATORS = ("unbiased", "ipw_capped")
# What users sum for a statistic that has another name.
ROW_SOURCES = {TRANSITIVITY.name: TRIANGLES.name, BUTTERFLIES.name: FOUR_CYCLES.name}
# What groups get of epsilon where other statistics are asked for too.
GROUP_SHARE = Fraction(1, 2)
SAMPLE_ALONE = (
    "A sample of positions is drawn in the position model, for the unbiased estimator, and needs neither a "
    "share of the work nor an engine; leave the others out."
)
REST_ALONE = (
    "What is not wholly inside a scope is estimated by the unbiased estimator, from a sample outside and everybody "
    "inside, and needs neither a share of the work nor an engine; leave the others out."
)
PARTS_ALONE = (
    "A share of the first answers is downloaded for triangles or 4-cycles that are summed as usual, without an "
    "engine, and is said once, as --share or as --download; leave the others out."
)
CHECKPOINT_ALONE = (
    "With a checkpoint, all positions are asked and counted chunk by chunk by the unbiased estimator, which needs no "
    "share of the work and no rest; leave the others out."
)
LEAVE = "leave"
# What a sample with survey weights is asked for if nothing is named.
OF_A_SAMPLE = ("edges", "mean_degree")
WEIGHTED = ("edges", "stars", "tail", *GROUPED)
NOT_OF_THIS_MODEL = {
    "hide": "hide is 'edge', or in the user model 'degree'; got {value!r} in the {trust} model.",
    "reporters": "Reporters are chosen in the neighbourhood model, not in {trust}; leave them out.",
    "work": "A share of the work is chosen in the position model, not in {trust}; leave it out.",
    "sample_positions": SAMPLE_ALONE,
    "rest": "What is not wholly inside a scope is sampled in the position model, not in {trust}; leave it out.",
    "engine": "An engine works for the position and the user model, not for {trust}; leave it out.",
    "checkpoint": "A checkpoint is kept in the position model, not in {trust}; leave it out.",
    "rounds": "Rounds and estimator belong to the position model, not to {trust}; leave them out.",
    "estimator": "Rounds and estimator belong to the position model, not to {trust}; leave them out.",
    "clip": "Sums are clipped in the user model, not in {trust}; leave it out.",
    "share": "Users download a share of the first answers in the user model, not in {trust}; leave it out.",
    "download": "Users download first answers in the user model, not in {trust}; leave it out.",
    "dropout": "A curator holds everything and cannot drop out; leave dropout out.",
}


"""The sentence that refuses an option of another trust model; an option without one is left unused there."""


class Keywords(TypedDict, total=False):
    """The options by name, as ``estimate`` takes them."""

    rounds: int
    delta: Number
    estimator: str
    degree_share: Number
    hide: str
    clip: str
    share: Number
    download: str | None
    reporters: str
    work: float | None
    sample_positions: Number
    rest: str
    engine: str | None
    checkpoint: str | Path | None


@dataclass(frozen=True)
class Options:
    """What a trust model lets its user choose beside epsilon; ``delta`` is left unspent where noise needs none."""

    trust: ClassVar[Trust]
    delta: Number = 0

    def __post_init__(self) -> None:
        parse_delta(self.delta)

    @property
    def statistics(self) -> tuple[str, ...]:
        """The statistics that are estimated if none are named."""
        return self.trust.defaults


@dataclass(frozen=True)
class PositionOptions(Options):
    """POSITION: how often positions answer, which of them are asked, and how their answers are counted."""

    trust = POSITION
    rounds: int = 1
    estimator: str = "unbiased"
    work: float | None = None
    sample_positions: Number = 1
    engine: str | None = None
    rest: str = LEAVE
    checkpoint: str | Path | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        plain = self.estimator == "unbiased" and self.work is None and self.engine is None and not self.is_sampled
        if self.rest_sample is not None and not plain:
            raise BadInput(REST_ALONE)
        if self.is_sampled and (self.estimator != "unbiased" or self.work is not None or self.engine is not None):
            raise BadInput(SAMPLE_ALONE)
        alone = self.estimator == "unbiased" and self.work is None and not self.is_sampled and self.rest_sample is None
        if self.checkpoint is not None and not alone:
            raise BadInput(CHECKPOINT_ALONE)
        if self.estimator not in ESTIMATORS:
            raise BadInput(f"{self.estimator!r} is not an estimator; use {' or '.join(ESTIMATORS)}.")

    @property
    def rest_sample(self) -> Number | None:
        """The share of the positions outside the scope that is asked too; None where they are left alone."""
        kind, _, share = self.rest.partition(":")
        if (kind, share) == (LEAVE, ""):
            return None
        if kind != "sample" or not share:
            raise BadInput(f"The rest is {LEAVE!r}, or 'sample:S' with a share such as sample:0.1; got {self.rest!r}.")
        return share

    @property
    def is_sampled(self) -> bool:
        """Whether a public coin draws which positions are asked."""
        return position_sample(self.sample_positions) is not None


@dataclass(frozen=True)
class UserOptions(Options):
    """USER: how epsilon is split, what is hidden, and who answers for the second round."""

    trust = USER
    degree_share: Number = DEGREE_SHARE
    hide: str = "edge"
    engine: str | None = None
    clip: str = "smooth"
    share: Number = 1
    download: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        alone = self.hide == "edge" and self.clip == "smooth" and self.engine is None
        if self.in_parts and (not alone or (self.download is not None and parse_share(self.share, "share") != 1)):
            raise BadInput(PARTS_ALONE)
        if self.hide not in ("edge", "degree"):
            raise BadInput(NOT_OF_THIS_MODEL["hide"].format(value=self.hide, trust=self.trust.name))
        if self.clip not in ("smooth", "double"):
            raise BadInput(f"Triangles are clipped 'smooth' or 'double'; got {self.clip!r}.")
        if self.clip == "double" and not parse_delta(self.delta):
            raise BadPrivacyParameter("Double clipping is not pure: give the delta it needs, such as --delta 1e-6.")

    @property
    def statistics(self) -> tuple[str, ...]:
        """The statistics that are estimated if none are named: users who hide their degree tell its bin alone."""
        if self.hide == "degree":
            return ("degree_histogram",)
        return tuple(name for name in self.trust.defaults if not (self.in_parts and name == TRANSITIVITY.name))

    @property
    def in_parts(self) -> bool:
        """Whether a user may not have to download all first answers."""
        return self.download is not None or groups_for_share(self.share) > 1

    def groups(self, view: PublicView, epsilon: Number, summed: str = TRIANGLES.name) -> int | None:
        """How many groups a part of the first answers has; None where everybody downloads all of them."""
        return groups_for(view, epsilon, self.share, self.download, summed)


@dataclass(frozen=True)
class NeighbourhoodOptions(Options):
    """NEIGHBOURHOOD: who counts triangles."""

    trust = NEIGHBOURHOOD
    reporters: str = "auto"


@dataclass(frozen=True)
class CuratorOptions(Options):
    """CURATOR: a delta alone."""

    trust = CURATOR


OPTIONS: dict[str, type[Options]] = {
    each.trust.name: each for each in (PositionOptions, UserOptions, NeighbourhoodOptions, CuratorOptions)
}


DEFAULTS: dict[str, Any] = {each.name: each.default for kind in OPTIONS.values() for each in fields(kind)}


DEFAULTS["dropout"] = 0.0


def options_for(trust: Trust, given: Mapping[str, Any]) -> Options:
    """The options of this trust model from keywords; refuses what belongs to another one."""
    kind = OPTIONS[trust.name]
    own = {each.name for each in fields(kind)}
    for name, sentence in NOT_OF_THIS_MODEL.items():
        misplaced = name not in own and name not in trust.options and name in given
        if misplaced and not _is_default(name, given[name]):
            raise BadInput(sentence.format(value=given[name], trust=trust.name))
    unknown = [name for name in given if name not in DEFAULTS]
    if unknown:
        raise TypeError(f"estimate() got an unexpected keyword argument {unknown[0]!r}")
    return kind(**{name: value for name, value in given.items() if name in own})


def _is_default(name: str, value: Any) -> bool:
    """Whether an option says what it would say if it were left out; a share of 1 is also written "1"."""
    if name in ("sample_positions", "share"):
        return position_sample(value) is None
    return bool(value == DEFAULTS[name])


@dataclass(frozen=True)
class Plan:
    """Which statistics come from which question, and what each question may spend."""

    by_degrees: tuple[str, ...]
    by_rows: tuple[str, ...]
    degree_epsilon: Fraction
    row_epsilon: Fraction
    cycles_twice: bool = True
    by_groups: tuple[str, ...] = ()
    group_epsilon: Fraction = Fraction(0)

    @property
    def summed(self) -> tuple[str, ...]:
        """What users sum over their rows."""
        names = dict.fromkeys(ROW_SOURCES.get(name, name) for name in self.by_rows if statistic(name).over_pairs)
        once = {*CLUSTERING} if self.cycles_twice else {*CLUSTERING, FOUR_CYCLES.name}
        return tuple(name for name in names if name not in once)

    @property
    def clustered(self) -> tuple[str, ...]:
        """What takes degrees and answers for positions, both."""
        return tuple(name for name in self.by_rows if name in CLUSTERING)

    @property
    def from_answers(self) -> tuple[str, ...]:
        """What is estimated from the answers for positions, which take one round."""
        left = {*self.summed, *CLUSTERING}
        return tuple(name for name in self.by_rows if ROW_SOURCES.get(name, name) not in left)


def plan_for(
    statistics: Sequence[str],
    epsilon: Number,
    nodes: int,
    degree_share: Number = DEGREE_SHARE,
    absent: bool = False,
    people: int | None = None,
) -> Plan:
    """All of epsilon to the only question, or a share to the degrees; half to groups where others are asked too.

    Where whole rows may be missing, 4-cycles take two rounds: one round's estimate is for positions that are missing
    one by one. ``people`` is how many of the nodes are people, where the others are places.
    """
    share = parse_share(degree_share, "the degrees' share of epsilon")
    if not 0 < share < 1:
        raise BadPrivacyParameter(f"The degrees' share of epsilon is above 0 and below 1; got {degree_share}.")
    whole = parse_epsilon(epsilon)
    if by_groups := tuple(name for name in statistics if statistic(name).by_groups):
        others = tuple(name for name in statistics if name not in by_groups)
        left = whole * (1 - GROUP_SHARE) if others else Fraction(0)
        plan = plan_for(others, left, nodes, degree_share, absent) if others else Plan((), (), left, left)
        return replace(plan, by_groups=by_groups, group_epsilon=whole - left)
    by_degrees = tuple(name for name in statistics if needs_degrees(name))
    by_rows = tuple(name for name in statistics if needs_rows(name))
    if people is not None and by_rows:
        return _of_answers(by_degrees, by_rows, whole, share, nodes - people, absent)
    if not by_rows:
        return Plan(by_degrees, (), whole, Fraction(0))
    if not by_degrees:
        return Plan((), by_rows, Fraction(0), whole, absent or two_rounds_pay(whole, nodes))
    rest = whole * (1 - share)
    return Plan(by_degrees, by_rows, whole * share, rest, absent or two_rounds_pay(rest, nodes))


def _of_answers(
    by_degrees: tuple[str, ...], by_rows: tuple[str, ...], whole: Fraction, share: Fraction, places: int, absent: bool
) -> Plan:
    """Of people and places: everything from people's answers for their rows, where noisy degrees would not err less.

    Public numbers alone decide. The degree of a person who is absent is in no answer, so that degrees are then asked
    for. Butterflies take one round: people's sums would be noisier up to some thousand places.  [BIPARTITE.5]
    """
    noisy = 2 * variance_of_answers(share * whole)
    if not by_degrees or (not absent and places * variance_of_answers(whole) <= noisy):
        return Plan((), (*by_degrees, *by_rows), Fraction(0), whole, cycles_twice=False)
    return Plan(by_degrees, by_rows, whole * share, whole * (1 - share), cycles_twice=False)


def variance_of_answers(epsilon: Fraction) -> float:
    """The variance of the score of a bit that is answered at this loss; half of that of discrete Laplace noise."""
    return float(1 / (4 * math.sinh(float(epsilon) / 2) ** 2))


def two_rounds_pay(epsilon: Fraction, nodes: int) -> bool:
    """Whether the second round's noise on 4-cycles is below what one round has at least.  [CYCLE.3]"""
    first = best_first_share([FOUR_CYCLES.name], epsilon)
    one_round, answers = (variance_of_answers(part * epsilon) for part in (Fraction(1), first))
    return nodes * one_round**2 * float((1 - first) * epsilon) ** 2 > 40 * answers


def needs_degrees(name: str) -> bool:
    """Whether noisy degrees answer it, alone or with something else."""
    known = statistic(name)
    return known.from_degrees or name in (TRANSITIVITY.name, *CLUSTERING) or DegreeSurvey.protocol in known.estimators


def is_user_alone(name: str) -> bool:
    """Whether noisy degrees answer it, and scores of positions do not: tail counts and quantiles."""
    return statistic(name).from_degrees and answers(USER, name) and not answers(POSITION, name)


def is_position_alone(name: str) -> bool:
    """Whether only the answers of positions tell it: subgraphs of four nodes."""
    return answers(POSITION, name) and not any(answers(each, name) for each in TRUSTS.values() if each is not POSITION)


def needs_rows(name: str) -> bool:
    """Whether it is summed over users' rows; a statistic of another program comes from the degrees alone."""
    known = statistic(name)
    return (known.over_pairs and not known.estimators) or name == PLACE_DEGREES.name


def per_list(world: VisibilityAwareGraph, plan: Plan) -> dict[str, Guarantee[OneListEntry]]:
    """What an entry of one list loses by its holder's own reports: its part of degrees and groups, all of a row."""
    each = (plan.degree_epsilon + plan.group_epsilon) / lists_in(world.public) + plan.row_epsilon
    return {str(kind): Guarantee(OneListEntry, world.policy.multiplier(kind) * each) for kind in NON_PUBLIC[::-1]}


def spending(world: VisibilityAwareGraph, plan: Plan) -> dict[str, float]:
    """On what epsilon goes."""
    spent = {"the groups": plan.group_epsilon} if plan.by_groups else {}
    spent |= {"the degrees": plan.degree_epsilon} if plan.by_degrees else {}
    if plan.by_rows and not plan.summed:
        spent["the answers"] = plan.row_epsilon
    surveys = row_surveys(world.public, plan.row_epsilon, plan.summed) if plan.summed else {}
    for name, survey in surveys.items():
        spent["the first answers"] = survey.first.epsilon
        spent[f"the rows' {name.replace('_', ' ')}"] = survey.total
        spent["their standard errors"] = spent.get("their standard errors", Fraction(0)) + survey.reach
    return {what: float(share) for what, share in spent.items()}


def _other_trust(model: Trust) -> str:
    return f'use --trust {model.name} (trust="{model.name}").'


def refuse_without_groups(world: VisibilityAwareGraph, statistics: Iterable[str]) -> None:
    """Refuse a statistic of public groups on a graph that has none."""
    if world.graph.groups is None and (grouped := [name for name in statistics if statistic(name).by_groups]):
        raise BadStatistic(
            f"{grouped[0]} is about public groups; name them with --groups COLUMN --attributes FILE "
            "(in Python, world.grouped(COLUMN, TABLE))."
        )


def statistics_for(world: VisibilityAwareGraph, trust: str, statistics: str | Sequence[str] | None) -> tuple[str, ...]:
    """The statistics asked for, or those that the trust model answers by default, as far as the graph has them.

    "all" and "summary" mean those of these that the trust model answers.
    """
    model, n, people = trust_model(trust), world.graph.n, world.graph.people
    if world.whole.sample is not None:
        return _of_a_sample(model, world, statistics)
    if people is not None:
        return _of_people_and_places(model, n, statistics)
    wanted = check_statistics(possible(model.defaults, n) if statistics is None else statistics, n)
    if statistics is not None and is_set(statistics):
        return tuple(name for name in wanted if answers(model, name))
    refuse_without_places(wanted, people)
    if model is not USER and any(map(is_user_alone, wanted)):
        raise BadStatistic(
            "Tail counts, quantiles of degrees and what is made from them come from users' noisy degrees; "
            + _other_trust(USER)
        )
    if model is not USER and (clustered := [name for name in wanted if name in CLUSTERING]):
        raise BadStatistic(
            f"{clustered[0]} takes everybody's class of degree, which answers of positions do not tell without bias; "
            + _other_trust(USER)
        )  # [CLUSTER.4]
    if model is not POSITION and (scored := [name for name in wanted if is_position_alone(name)]):
        raise BadStatistic(f"{scored[0]} comes from answers of positions; {_other_trust(POSITION)}")
    refuse_without_groups(world, wanted)
    for name in wanted:
        known = is_built_in(name) and not statistic(name).by_groups
        if not known and not answers(model, name):
            able = [each.name for each in TRUSTS.values() if answers(each, name)]
            way_out = (
                f"use {' or '.join(able)}" if able else f"estimators are named by protocol: {', '.join(PROTOCOLS)}"
            )
            raise BadStatistic(f"{name} has no estimator in the {trust} model; {way_out}.")
    return wanted


def _of_a_sample(model: Trust, world: VisibilityAwareGraph, statistics: str | Sequence[str] | None) -> tuple[str, ...]:
    """The statistics asked for of a sample with survey weights, or its usual ones; sets mean those that it tells."""
    if model is not USER:
        raise BadStatistic(f"Survey weights are of people who hold their own lists; {_other_trust(USER)}")
    usual = OF_A_SAMPLE + (("mixing",) if world.graph.groups is not None else ())
    wanted = check_statistics(usual if statistics is None else statistics, world.graph.n)
    told = {name for name in wanted if all(statistic(each).kind in WEIGHTED for each in sources_of(name))}
    if statistics is not None and is_set(statistics):
        return tuple(name for name in wanted if name in told)
    if others := [name for name in wanted if name not in told]:
        raise BadStatistic(
            f"{others[0]} is not told by a sample with survey weights; ask for {', '.join(WEIGHTED)}, or what is made "
            "from these, such as mean_degree."
        )
    refuse_without_groups(world, wanted)
    return wanted


def _of_people_and_places(model: Trust, n: int, statistics: str | Sequence[str] | None) -> tuple[str, ...]:
    """The statistics asked for of people and places, or the usual ones; "all" and "summary" mean what is answered."""
    if not model.on_places:
        able = " and ".join(each.name for each in TRUSTS.values() if each.on_places)
        raise BadStatistic(f"People and places are asked in the {able} models, not in {model.name}; use one of them.")
    wanted = check_statistics(ON_PLACES if statistics is None else statistics, n)
    kinds = {name: statistic(name).kind for name in dict.fromkeys((*wanted, *ON_PLACES))}
    if statistics is not None and is_set(statistics):
        return tuple(name for name, kind in kinds.items() if kind in model.on_places)
    if others := [name for name in wanted if kinds[name] not in model.on_places]:
        why = "places answer nothing there, so " if kinds[others[0]] in POSITION.on_places else ""
        raise BadStatistic(
            f"{others[0]} is not told of people and places in the {model.name} model: {why}ask for "
            f"{', '.join(model.on_places)}."
        )
    return wanted
