"""What a comparison runs: trust model × policy × epsilon × trial, everybody at the same loss per edge."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from visibility_aware_edge_ldp import __version__
from visibility_aware_edge_ldp.client.curator import WorkedOut
from visibility_aware_edge_ldp.errors import BadInput, BadStatistic, did_you_mean
from visibility_aware_edge_ldp.evaluation.gains import levers, nothing_public, part_inside
from visibility_aware_edge_ldp.evaluation.results import AWARE, UNIFORM
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.privacy import Number, parse_epsilon
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy as AnyPolicy
from visibility_aware_edge_ldp.public.protocol import answers, registered_protocol
from visibility_aware_edge_ldp.public.statistic import (
    DEGREE_HISTOGRAM,
    DEGREES,
    MAX_DEGREE,
    Statistic,
    check_statistics,
    exact,
    is_built_in,
    possible,
    statistic,
)
from visibility_aware_edge_ldp.public.trust import POSITION, TRUSTS, USER
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.simulation.curator import Centre
from visibility_aware_edge_ldp.simulation.options import needs_degrees, plan_for, refuse_without_groups
from visibility_aware_edge_ldp.simulation.simulate import buy_hubs
from visibility_aware_edge_ldp.truth.graph import Graph

HISTOGRAM, PRIVATE = DEGREE_HISTOGRAM.name, Visibility.PRIVATE
# What noisy degrees alone answer and no standard error tells.
DEGREES_ALONE = (MAX_DEGREE.name, HISTOGRAM)
# Options under which degrees have another law than that of one answer from everybody.
BENDS = {"rounds", "estimator", "dropout"}


@dataclass(frozen=True)
class Cell:
    """One collection: who is trusted, under which policy, at which loss, for the how-manieth time."""

    trust: str
    policy: str
    epsilon: Fraction
    trial: int


@dataclass(frozen=True, eq=False)
class Design:
    """All that decides a comparison's numbers. It can be sent to other processes."""

    graph: Graph
    policies: Mapping[str, AnyPolicy]
    questions: Mapping[str, tuple[str, ...]]
    epsilons: tuple[Fraction, ...]
    trials: int
    options: Mapping[str, Mapping[str, Any]]
    truths: Mapping[str, Any]
    seed: int | str | None = None
    most_trials: int | None = None
    inside: Mapping[str, float] = field(default_factory=dict)
    """With a scope, what part of each true count lies inside it."""

    def __getstate__(self) -> dict[str, Any]:
        """Without the worlds, which each process makes for itself."""
        return {name: value for name, value in vars(self).items() if name not in ("worlds", "worked_out")}

    @cached_property
    def worlds(self) -> dict[str, VisibilityAwareGraph]:
        """The graph under each policy."""
        return {name: VisibilityAwareGraph(self.graph, policy) for name, policy in self.policies.items()}

    @cached_property
    def worked_out(self) -> dict[str, WorkedOut]:
        """What centres of each world work out of its graph: once for all trials."""
        return {name: Centre(world).worked_out for name, world in self.worlds.items()}

    @property
    def own_statistics(self) -> tuple[Statistic, ...]:
        """Those of other programs, which a new process does not know."""
        names = dict.fromkeys(name for wanted in self.questions.values() for name in wanted)
        return tuple(statistic(name) for name in names if not is_built_in(name))

    @property
    def asks_registered_protocols(self) -> bool:
        """Whether a protocol of another program is asked for, of which no new process can be told."""
        return any(registered_protocol(TRUSTS[trust], wanted) for trust, wanted in self.questions.items())

    @property
    def cells(self) -> list[Cell]:
        """Every collection. Trial by trial, so that the time left can be told, and a stop leaves no model behind."""
        return self._cells(range(self.trials))

    @property
    def extra_cells(self) -> list[Cell]:
        """Collections that are run only where a gain is not known closely enough without them."""
        return self._cells(range(self.trials, self.most))

    @property
    def most(self) -> int:
        """How many trials there may be of anything."""
        return max(self.trials, self.most_trials or 0)

    def _cells(self, trials: range) -> list[Cell]:
        """Unlike models next to each other, so that two processes do not compile the same kernels at once."""
        return [
            Cell(trust, policy, epsilon, trial)
            for trial in trials
            for epsilon in self.epsilons
            for policy in self.policies
            for trust in self.questions
        ]

    def asked(self, cell: Cell) -> tuple[str, ...]:
        """The statistics of a cell, and what costs nothing: degrees, and in the first trial a degree histogram.

        Extra trials leave out what degrees alone answer: there are cheaper ones for that.
        """
        wanted, options = self.questions[cell.trust], self.options[cell.trust]
        free = cell.trust == POSITION.name or (cell.trust == USER.name and any(map(needs_degrees, wanted)))
        if free and cell.trial >= self.trials:
            rest = tuple(name for name in wanted if name not in DEGREES_ALONE)
            # Users who are asked for no degrees would spend epsilon otherwise.
            return rest if cell.trust == POSITION.name or any(map(needs_degrees, rest)) else wanted
        drawn = (HISTOGRAM,) if free and not cell.trial else ()
        # Their noise has a known law where everybody answers, once.
        beside = (DEGREES.name,) if free and MAX_DEGREE.name in wanted and not BENDS & options.keys() else ()
        return tuple(dict.fromkeys((*wanted, *drawn, *beside)))

    def epsilon_of_degrees(self, trust: str, epsilon: Fraction) -> Fraction:
        """What part of epsilon the noisy degrees get: in the user model a share, if rows are asked for too."""
        if trust != USER.name:
            return epsilon
        split = {name: value for name, value in self.options[trust].items() if name == "degree_share"}
        return plan_for(self.questions[trust], epsilon, self.graph.n, **split).degree_epsilon

    def paid(self, policy: str) -> Fraction:
        """What choosing a policy has cost a PRIVATE edge already, in units of its multiplier.  [HUBS.2]"""
        return self.policies[policy].paid_epsilon

    def left(self, policy: str, epsilon: Fraction) -> Fraction:
        """What a collection may spend, so that everybody loses this epsilon by all that was ever reported."""
        return self.policies[policy].left_of(epsilon)

    def label(self, cell: Cell) -> str | None:
        """The seed of a cell: fresh noise for each."""
        return None if self.seed is None else f"{self.seed} {cell.policy} epsilon {cell.epsilon} trial {cell.trial}"

    def digest(self, trust: str, policy: str) -> str:
        """What the trials of this model and policy depend on, beside their epsilon and number."""
        world, groups = self.worlds[policy], self.graph.groups
        content = {
            "software": software(),
            "roster": world.public.roster_digest,
            "edges": hashlib.sha256(world.graph.edges.tobytes()).hexdigest(),
            "policy": [policy, world.policy.digest, *([str(self.paid(policy))] if self.paid(policy) else [])],
            "trust": [trust, self.questions[trust]],
            "options": {name: str(value) for name, value in self.options[trust].items()},
            "seed": self.seed,
            **({} if groups is None else {"groups": groups.describe()}),
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def designed(
    graph: Any,
    policy: AnyPolicy,
    epsilons: Sequence[Number],
    trials: int,
    statistics: str | Sequence[str] | None = None,
    trust: str | Sequence[str] = "all",
    seed: int | str | None = None,
    options: Mapping[str, Any] | None = None,
    most_trials: int | None = None,
) -> Design:
    """Check everything that can be checked before the first trial."""
    models, losses = trust_models(trust), tuple(dict.fromkeys(parse_epsilon(epsilon) for epsilon in epsilons))
    if trials < 1:
        raise BadInput(f"At least one trial is needed; got {trials}.")
    if not losses:
        raise BadInput("At least one epsilon is needed, such as 1.")
    aware = buy_hubs(VisibilityAwareGraph(graph, policy), seed)
    if aware.graph.people is not None:
        raise BadInput(
            "A comparison does not know people and places; use va.evaluate(world, trust, …), which repeats estimates."
        )
    alike = not aware.public.class_sizes[Visibility.FRIEND_VISIBLE]  # then classes are no lever
    last = {aware.policy, levers(aware.policy).get("scope")} if alike else {aware.policy}
    steps = {name: each for name, each in levers(aware.policy).items() if each not in last}
    policies = {AWARE: aware.policy, UNIFORM: nothing_public(aware.policy), **steps}
    questions = questions_for(models, statistics, aware.graph.n)
    names = dict.fromkeys(name for wanted in questions.values() for name in wanted)
    refuse_without_groups(aware, names)
    if {POSITION.name, USER.name} & questions.keys():
        names[HISTOGRAM] = None
    truths = {name: exact(aware.graph, name) for name in names}
    each = _options_of(questions, options or {})
    inside = part_inside(aware, truths)
    design = Design(aware.graph, policies, questions, losses, trials, each, truths, seed, most_trials, inside)
    design.left(AWARE, min(losses))  # refuses what the choice of the policy leaves nothing of
    return design


def trust_models(trust: str | Sequence[str]) -> tuple[str, ...]:
    """The trust models of "all", of a comma-separated text, or of a list."""
    listed = trust.split(",") if isinstance(trust, str) else list(trust)
    wanted = tuple(dict.fromkeys(name.strip() for name in listed))
    if wanted == ("all",):
        return tuple(TRUSTS)
    choice = f"use all, or some of {', '.join(TRUSTS)}."
    for name in wanted:
        if name not in TRUSTS:
            raise BadInput(f"{name!r} is not a trust model; {choice}{did_you_mean(name, tuple(TRUSTS))}")
    if not wanted:
        raise BadInput(f"No trust model was asked for; {choice}")
    return tuple(name for name in TRUSTS if name in wanted)


def questions_for(models: Sequence[str], statistics: str | Sequence[str] | None, n: int) -> dict[str, tuple[str, ...]]:
    """What each model is asked: of the statistics, those that it answers; models that answer none are left out."""
    if statistics is None:
        # Nobody pays for a question that POSITION, which answers everything from one collection, is not asked.
        return {
            trust: possible((name for name in TRUSTS[trust].defaults if name in POSITION.defaults), n)
            for trust in models
        }
    wanted = check_statistics(statistics, n)
    found = {trust: tuple(name for name in wanted if answers(TRUSTS[trust], name)) for trust in models}
    kept = {trust: names for trust, names in found.items() if names}
    missing = [name for name in wanted if not any(name in names for names in kept.values())]
    if missing:
        able = [trust.name for trust in TRUSTS.values() if answers(trust, missing[0])]
        raise BadStatistic(f"{missing[0]} is not answered in the model {', '.join(models)}; use {' or '.join(able)}.")
    return kept


def _options_of(models: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Each option to the models that take it."""
    for name in options:
        if not any(name in TRUSTS[trust].compared for trust in models):
            raise BadInput(f"No compared trust model ({', '.join(models)}) takes the option {name!r}; leave it out.")
    return {
        trust: {name: value for name, value in options.items() if name in TRUSTS[trust].compared} for trust in models
    }


@cache
def software() -> str:
    """This version, and its very code: numbers of other code are not ours."""
    root = Path(__file__).parents[2]
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.read_bytes())
    return f"{__version__} {digest.hexdigest()}"
