"""All audits by name and way, and which of them were asked for."""

from dataclasses import dataclass
from types import ModuleType

from visibility_aware_edge_ldp.audit import (
    bipartite,
    clipped_rows,
    cycle_parts,
    public_rules,
    release_budgets,
    row_parts,
    scope_combinations,
    scope_rest,
    whole_estimates,
)
from visibility_aware_edge_ldp.audit.at_size import registry as at_size
from visibility_aware_edge_ldp.audit.campaigns import changes, consents, ledgers, sums, waves
from visibility_aware_edge_ldp.audit.engine.findings import Audit, Finding, Loss, exact, exact_finding, family
from visibility_aware_edge_ldp.audit.protocols import (
    campaign,
    chain,
    curator,
    degrees,
    groups,
    histogram,
    hub_selection,
    hubs,
    mechanisms,
    neighbourhood,
    neighbourhood_bounds,
    position,
    published,
    refusals,
    rows,
    sample,
    scope,
)
from visibility_aware_edge_ldp.audit.statistical import audits as statistical
from visibility_aware_edge_ldp.audit.statistical import mutants, shipped_scopes
from visibility_aware_edge_ldp.audit.timing import campaign as timed_campaign
from visibility_aware_edge_ldp.audit.timing import measure as timed
from visibility_aware_edge_ldp.errors import BadInput, did_you_mean
from visibility_aware_edge_ldp.mechanisms.mechanism import BUILT_IN as BUILT_IN_MECHANISMS
from visibility_aware_edge_ldp.mechanisms.mechanism import MECHANISMS, Mechanism, exact_loss
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC

ALL = "all"
WAYS: dict[str, tuple[str, ...]] = {
    "exact": ("exact",),
    "statistical": ("statistical", "one run"),
    "time": ("time",),
}
"""What is asked for on the command line, and the ways of findings that it means."""

RUNS, MANY_RUNS = 10**6, 10**7
# Seconds of one audit, and of a million runs a side.
USUAL: dict[str, tuple[float, float]] = {
    "exact": (0.7, 0.0),
    "statistical": (0.2, 1.6),
    "one run": (0.2, 1.6),
    "time": (4.0, 0.0),
}
# The exact audits of the real code that take far longer.
LONG_SECONDS: dict[str, float] = {
    "user triangles, two rounds": 31.1,
    "position, one round": 11.9,
    "campaign rows": 10.0,
    "campaign waves": 4.0,
    "campaign waves, twelve": 10.0,
    "campaign ledger": 13.0,
    "campaign triangles, both rounds": 9.0,
    "campaign hubs": 8.0,
    "campaign positions, two rounds": 6.0,
    "user 4-cycles, two rounds": 9.4,
    "neighbourhood (a), believed": 8.0,
    "curator 2-stars": 7.0,
    "curator triangles, with delta": 5.9,
    "campaign triangles, round 1": 4.0,
    "curator 3-stars": 5.8,
    "neighbourhood (a), weighted": 5.2,
    "curator triangles": 4.5,
    "neighbourhood (b), plain": 4.5,
    "user triangles, parts of the first answers": 7.5,
    "user degrees": 4.5,
    "position, two rounds": 4.4,
    "neighbourhood (a), clipped": 4.2,
    "neighbourhood (b), shared": 3.1,
    "position, a sample": 2.5,
    "user histogram, one edge": 2.3,
    "scope, position": 2.4,
    "scope, position with a sample of the rest": 2.5,
    "scope, user groups": 2.5,
    "people and places, position": 3.4,
    "people and places, user": 3.3,
    "scope, user triangles": 1.7,
    "user triangles, at size": 11.0,
    "user 4-cycles, at size": 6.0,
    "curator triangles, with delta, at size": 8.0,
    "neighbourhood (a), weighted, at size": 7.0,
    "curator triangles, at size": 5.0,
    "neighbourhood (b), plain, at size": 5.0,
    "neighbourhood (b), shared, at size": 4.0,
}


@dataclass(frozen=True)
class Stage:
    """The exact audits of one protocol, and its mutants, which they must catch.

    ``long`` stand in for the audits of their names where there is time: all that four users can do, in minutes.
    """

    audits: tuple[Audit, ...]
    mutants: tuple[Audit, ...]
    long: tuple[Audit, ...] = ()


def _stage(*modules: ModuleType) -> Stage:
    found = [[a for each in modules for a in getattr(each, part, ())] for part in ("AUDITS", "MUTANTS", "LONG")]
    return Stage(*map(tuple, found))


_MODULES: tuple[tuple[ModuleType, ...], ...] = (
    (mechanisms,),
    (position,),
    (sample,),
    (degrees,),
    (groups,),
    (histogram,),
    (rows, clipped_rows, row_parts, cycle_parts),
    (neighbourhood, neighbourhood_bounds),
    (hubs,),
    (hub_selection,),
    (curator, published),
    (scope, scope_rest, scope_combinations),
    (bipartite,),
    (chain,),
    (refusals,),
    (public_rules, whole_estimates, release_budgets),
    (campaign, sums, ledgers, consents, waves, changes),
)
STAGES: dict[str, Stage] = {first.__name__.rpartition(".")[2]: _stage(first, *more) for first, *more in _MODULES}
"""By protocol, named as its module: what is audited exactly and what must be caught, in the order of findings."""

BUILT_IN = frozenset(STAGES)
EXACT = tuple(audit for stage in STAGES.values() for audit in stage.audits)
EXACT_MUTANTS = tuple(audit for stage in STAGES.values() for audit in stage.mutants)
LONG = {audit.name: audit for stage in STAGES.values() for audit in stage.long}
TIMED = (*timed.AUDITS, *timed_campaign.AUDITS)
TIMED_MUTANTS = (*timed.MUTANTS, *timed_campaign.MUTANTS)


@dataclass(frozen=True)
class Choice:
    """Which audits are wanted; a plain value, so that other processes can be told.

    Parameters
    ----------
    mechanism
        A part of the audited name, such as ``"position"``; or ``"all"``.
    way
        A key of ``WAYS``, or ``"all"``.
    runs
        Runs a side of a statistical audit, and canaries of a one-run audit.
    twins
        Whether broken twins are audited too.
    """

    mechanism: str = ALL
    way: str = ALL
    runs: int = RUNS
    twins: bool = True


def catalogue(runs: int = RUNS) -> tuple[Audit, ...]:
    """Everything: the real code by each way, then the mutants by each way; with many runs, the long walks too."""
    return (
        *(LONG.get(audit.name, audit) if runs >= MANY_RUNS else audit for audit in EXACT),
        *at_size.built_in(),
        *statistical.audits(runs),
        *shipped_scopes.audits(runs),
        *mutants.campaign_audits(runs),
        *statistical.one_run_audits(runs),
        *TIMED,
        *EXACT_MUTANTS,
        *at_size.MUTANTS,
        *mutants.mutants(runs),
        *shipped_scopes.mutants(runs),
        *TIMED_MUTANTS,
        *registered(),
    )


def registered() -> tuple[Audit, ...]:
    """The audits and mutants of stages and mechanisms that other programs have registered."""
    stages = [stage for name, stage in STAGES.items() if name not in BUILT_IN]
    about = "any two of its inputs, for each of its examples, by its law"
    made = [known for name, known in MECHANISMS.items() if name not in BUILT_IN_MECHANISMS]
    return (
        *(exact(known.name, audit_registered, known, about) for known in made),
        *(audit for stage in stages for audit in (*stage.audits, *stage.mutants)),
        *at_size.of_others(),
    )


def audit_registered(name: str, known: Mechanism, about: str) -> Finding:
    """The exact loss of each example of a mechanism that another program has registered, from its law."""
    losses, cases = [], 0
    for made in known.examples:
        (epsilon, delta), (lost, spent) = map(float, known.promise(made)), exact_loss(known, made)
        found = (epsilon, delta, spent) if delta else (lost, 0.0, 0.0)
        losses.append(Loss(str(NON_PUBLIC[-1]), epsilon, *found))
        cases += len(known.inputs(made)) * (len(known.inputs(made)) - 1)
    return exact_finding(name, losses, cases, about)


REAL_NAMES = frozenset(audit.name for audit in catalogue() if not audit.broken)


def chosen(choice: Choice) -> tuple[Audit, ...]:
    """The audits that were asked for, in the order of the catalogue.

    Raises
    ------
    BadInput
        When the way or the mechanism is not known, or none of it can be audited so.
    """
    if choice.way != ALL and choice.way not in WAYS:
        raise BadInput(
            f"{choice.way!r} is no way to audit; use {', '.join(WAYS)} or all.{did_you_mean(choice.way, [*WAYS, ALL])}"
        )
    every = catalogue(choice.runs)
    named = [audit for audit in every if _is_about(audit, choice.mechanism)]
    if not any(not audit.broken for audit in named):
        known = dict.fromkeys(family(name) for name in mechanism_names(every))
        raise BadInput(
            f"No mechanism is called {choice.mechanism!r}."
            f"{did_you_mean(choice.mechanism, [*known, *mechanism_names(every)])} "
            f"Known are: {', '.join(known)}; or all."
        )
    ways = WAYS.get(choice.way) or tuple(way for ways in WAYS.values() for way in ways)
    found = tuple(audit for audit in named if audit.way in ways and (choice.twins or not audit.broken))
    if not found:
        raise BadInput(f"{choice.mechanism!r} has no {choice.way} audit; use --way all to see which it has.")
    return found


def original_of(audit: Audit) -> str:
    """The name of the real code whose mutant this is, or what such names begin with."""
    if audit.name in REAL_NAMES:
        return audit.name
    return audit.of or family(audit.name)


def mechanism_names(audits: tuple[Audit, ...]) -> list[str]:
    """The names of the real code, each once."""
    return list(dict.fromkeys(audit.name for audit in audits if not audit.broken))


def _is_about(audit: Audit, mechanism: str) -> bool:
    wanted = mechanism.strip().lower()
    if wanted == ALL or not audit.broken:
        return wanted == ALL or (bool(wanted) and wanted in audit.name.lower())
    name = original_of(audit).lower()
    return bool(wanted) and (wanted in name or wanted.startswith(name))
