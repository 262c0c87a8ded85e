"""All audits by name and way, and which of them were asked for."""

from __future__ import annotations

from dataclasses import dataclass

from visibility_aware_edge_ldp.errors import BadInput, meant
from visibility_aware_edge_ldp.evaluation.audit import (
    campaign_bytes,
    campaign_lengths,
    exact_believed,
    exact_campaign,
    exact_chain,
    exact_curator,
    exact_degrees,
    exact_histogram,
    exact_hub_choice,
    exact_hubs,
    exact_owned,
    exact_position,
    exact_position_twins,
    exact_rows,
    exact_sample,
    exact_samplers,
    exact_smooth,
    one_run,
    statistical_audits,
    statistical_twins,
    timed_campaign,
    timing,
)
from visibility_aware_edge_ldp.evaluation.audit.finding import Audit

ALL = "all"
WAYS: dict[str, tuple[str, ...]] = {
    "exact": ("exact",),
    "statistical": ("statistical", "one run"),
    "time": ("time",),
}
"""What is asked for on the command line, and the ways of findings that it means."""

RUNS, MANY_RUNS = 10**6, 10**7

TWIN_OF: dict[str, str] = {
    "epsilon × 1.1": "position, one round",
    "threshold 2 % off": "position, one round",
    "one bit not randomized": "position, each of eight bits",
    "same coins for two users": "position, two users together",
    "edge re-asked per triangle": "position, two rounds",
    "asked twice, new noise": "user degrees, asked twice",
    "noise scaled by own degree": "neighbourhood (a), clipped",
    "exact public hub": "neighbourhood (b), shared",
    "one uniform at two epsilons": "position, two surveys",
    "float Laplace": "user degrees",
}
"""Twins that are named for their fault: the audited name whose twin each is."""

EXACT = (
    *exact_samplers.AUDITS,
    *exact_smooth.AUDITS,
    *exact_position.AUDITS,
    *exact_sample.AUDITS,
    *exact_degrees.AUDITS,
    *exact_histogram.AUDITS,
    *exact_rows.AUDITS,
    *exact_owned.AUDITS,
    *exact_believed.AUDITS,
    *exact_hubs.AUDITS,
    *exact_hub_choice.AUDITS,
    *exact_curator.AUDITS,
    *exact_chain.AUDITS,
    *exact_campaign.AUDITS,
    *campaign_lengths.AUDITS,
)
EXACT_TWINS = (
    *exact_samplers.TWINS,
    *exact_smooth.TWINS,
    *exact_position_twins.TWINS,
    *exact_sample.TWINS,
    *exact_degrees.TWINS,
    *exact_histogram.TWINS,
    *exact_rows.TWINS,
    *exact_owned.TWINS,
    *exact_believed.TWINS,
    *exact_hubs.TWINS,
    *exact_hub_choice.TWINS,
    *exact_curator.TWINS,
    *exact_chain.TWINS,
    *exact_campaign.TWINS,
    *campaign_lengths.TWINS,
)

LONG = {audit.name: audit for audit in (*exact_position.LONG, *exact_rows.LONG)}
"""Walks of everything that four users can do, which take minutes; they stand in for the shorter ones of their names."""

TIMED = (*timing.AUDITS, *timed_campaign.AUDITS)
TIMED_TWINS = (*timing.TWINS, *timed_campaign.TWINS)

REAL_NAMES = frozenset(
    audit.name for audit in (*EXACT, *statistical_audits.AUDITS, *campaign_bytes.AUDITS, *one_run.AUDITS, *TIMED)
)


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
    """Everything: the real code by each way, then the twins by each way; with many runs, the long walks too."""
    return (
        *(LONG.get(audit.name, audit) if runs >= MANY_RUNS else audit for audit in EXACT),
        *statistical_audits.audits(runs),
        *campaign_bytes.audits(runs),
        *one_run.audits(runs),
        *TIMED,
        *EXACT_TWINS,
        *statistical_twins.twins(runs),
        *campaign_bytes.twins(runs),
        *TIMED_TWINS,
    )


def chosen(choice: Choice) -> tuple[Audit, ...]:
    """The audits that were asked for, in the order of the catalogue.

    Raises
    ------
    BadInput
        When the way or the mechanism is not known, or none of it can be audited so.
    """
    if choice.way != ALL and choice.way not in WAYS:
        raise BadInput(
            f"{choice.way!r} is no way to audit; use {', '.join(WAYS)} or all.{meant(choice.way, [*WAYS, ALL])}"
        )
    every = catalogue(choice.runs)
    named = [audit for audit in every if _is_about(audit, choice.mechanism)]
    if not any(not audit.broken for audit in named):
        known = dict.fromkeys(family(name) for name in mechanisms(every))
        raise BadInput(
            f"No mechanism is called {choice.mechanism!r}.{meant(choice.mechanism, [*known, *mechanisms(every)])} "
            f"Known are: {', '.join(known)}; or all."
        )
    ways = WAYS.get(choice.way) or tuple(way for ways in WAYS.values() for way in ways)
    found = tuple(audit for audit in named if audit.way in ways and (choice.twins or not audit.broken))
    if not found:
        raise BadInput(f"{choice.mechanism!r} has no {choice.way} audit; use --way all to see which it has.")
    return found


def twin_of(audit: Audit) -> str:
    """The name of the real code whose broken twin this is, or what such names begin with."""
    if audit.name in REAL_NAMES:
        return audit.name
    return TWIN_OF.get(audit.name, family(audit.name))


def family(name: str) -> str:
    """What names of like audits begin with: ``"position"`` of ``"position, one round"``."""
    return name.split(",")[0]


def mechanisms(audits: tuple[Audit, ...]) -> list[str]:
    """The names of the real code, each once."""
    return list(dict.fromkeys(audit.name for audit in audits if not audit.broken))


def _is_about(audit: Audit, mechanism: str) -> bool:
    wanted = mechanism.strip().lower()
    if wanted == ALL or not audit.broken:
        return wanted == ALL or (bool(wanted) and wanted in audit.name.lower())
    name = twin_of(audit).lower()
    return bool(wanted) and (wanted in name or wanted.startswith(name))
