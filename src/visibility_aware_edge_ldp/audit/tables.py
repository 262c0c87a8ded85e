"""The findings as tables that people read: claims, twins, false alarms and times."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from visibility_aware_edge_ldp.audit.engine.findings import Loss, family, largest
from visibility_aware_edge_ldp.audit.leakage import MANY_DEALS, Leak
from visibility_aware_edge_ldp.audit.smallest_faults import SmallestFault, smallest_faults
from visibility_aware_edge_ldp.audit.statistical.audits import FalseAlarms
from visibility_aware_edge_ldp.audit.timing.measure import ALPHA, LIMIT

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.audit.runner import Audited, Outcome

YES, NO, NONE = "✓", "✗", "-"
COLUMNS = ("exact", "statistical", "one run")
CLOCK = "time"
# These are told as −log10 of a chance, so that more is worse, and shown as the chance.
SURPRISES = ("slowest", "overruns")


@dataclass(frozen=True)
class Table:
    """Texts in rows, a line above and sentences below; so many columns from the left hold words and not numbers."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1
    note: str = ""


def tables(audited: Audited) -> list[Table]:
    """Those that have rows."""
    timed = [outcome for outcome in audited.real if outcome.way == CLOCK]
    claims = [outcome for outcome in audited.real if outcome.way != CLOCK]
    every = (
        claims_table(claims),
        faults_table(smallest_faults(claims)),
        twins_table(audited.twins),
        alarms_table(audited.alarms),
        times_table(timed),
    )
    return [table for table in every if table.rows]


def claims_table(outcomes: Sequence[Outcome]) -> Table:
    """One row for each mechanism and class, the ways beside each other."""
    return Table(
        "What is claimed, and what was found: the largest loss of one edge",
        ("mechanism", "class", "claimed", "exact", "shown ≥", "one run ≥", ""),
        tuple(row for name in _by_family(outcomes) for row in _claim_rows(name, outcomes)),
        2,
        "Losses are ε, and δ where there is one; of several ε that were tried, the one closest to its claim is shown. "
        "Exact: the largest loss over all that can be sent in the small worlds that were walked. Shown, one run: with "
        "99.9 % confidence the loss is at least this, from the bytes of clients in other worlds, some of which lose "
        "more than the small ones; at the same ε unless it is named (0.1 of 0.1). All must be at most what is claimed.",
    )


def faults_table(faults: Sequence[SmallestFault]) -> Table:
    """How much of each claim was found, and how small a fault would have been seen."""
    rows = (
        (each.mechanism, each.kind, f"{each.part:.3f}", _factor(each.factor), each.way, each.why or NONE)
        for each in faults
    )
    return Table(
        "How small a fault is seen: the least factor on ε that 99 of 100 audits notice",
        ("mechanism", "class", "found/claimed", "sees ε ×", "by", "why less than 0.9 is found"),
        tuple(rows),
        2,
        "The best over all worlds and ways. An exact audit sees every factor above claimed/found, always; samples see "
        "the factor in 99 of 100 audits.",
    )


def twins_table(outcomes: Sequence[Outcome]) -> Table:
    """What is wrong with each twin, and what caught it."""
    return Table(
        "Broken twins: the same code with one thing wrong, which the same audit must catch",
        ("what is wrong", "twin of", "claimed", "found", "caught by", "s"),
        tuple(_twin_row(outcome) for outcome in outcomes),
        2,
    )


def alarms_table(alarms: Sequence[FalseAlarms]) -> Table:
    """How often the auditor rang on correct mechanisms."""
    rows = (
        (a.mechanism, f"{a.alpha:g}", f"{a.repeats:,}", f"{a.rang:,}", f"{a.rate:.2%}", _mark(a.holds)) for a in alarms
    )
    return Table(
        "False alarms: how often the auditor rings on a correct mechanism",
        ("mechanism", "α", "audits", "rang", "rate", ""),
        tuple(rows),
        1,
        "α is the chance of a ring that the auditor allows itself; the rate must not be above it by more than chance.",
    )


def times_table(outcomes: Sequence[Outcome]) -> Table:
    """Whether time or length tell the secret."""
    return Table(
        "Time and length of an answer: short list against long list, near noise against far",
        ("client", "|t|", "slow by chance", "bytes differ by", "pairs", "medians", ""),
        tuple(_time_row(outcome) for outcome in outcomes),
        1,
        f"Welch's |t| of the measured times, the slowest left out: at most {LIMIT:g}, which equal times exceed at most "
        "2.2 times in 10,000 audits. Slow by chance: how likely it is that, in the pairs which differ most, the same "
        f"side is so often the slower one, or the one that overruns its pace; each at least {ALPHA:g}.",
    )


def leak_table(leak: Leak) -> Table:
    """How well the policy alone tells edges from non-edges."""
    low, high = leak.interval
    rows = (
        ("best predictor", leak.predictor),
        ("its AUC (0.5 tells nothing)", f"{leak.auc:.3f} ({low:.3f} to {high:.3f})"),
        ("AUC that the declared attributes explain", f"{leak.explained:.3f}"),
        ("AUC of the class itself, all positions", f"{leak.openness:.3f}"),
        ("policies dealt out anew that stand out as much", f"{leak.chance:.1%}"),
        ("stands out most", leak.unexplained),
        ("users that could be exchanged", f"{leak.movable:.0%}"),
        ("ways to exchange them", f"{leak.deals:,}" + (" or more" if leak.deals >= MANY_DEALS else "")),
        ("verdict", leak.verdict),
    )
    return Table("What the policy alone tells about edges", ("what", "found"), rows, 2)


def verdict(audited: Audited) -> str:
    """In a sentence, what was shown."""
    real, twins = audited.real, audited.twins
    kept, caught = sum(each.passed for each in real), sum(each.passed for each in twins)
    claims = f"{kept} of {len(real)} audits of the real code found no more than is claimed"
    if not twins:
        return f"{claims}."
    return f"{claims}; {caught} of {len(twins)} broken twins were caught."


LIMITS = (
    "What this cannot show: every outcome is walked for 3 to 5 users (8 around public hubs); of up to 1,000 users some "
    "worlds are looked at and not all, and that no other world loses more is a proof beside each mechanism, not a run; "
    "a bound from samples is a bound from below, so no alarm is no proof; and nothing is shown of faults that no twin "
    "has, of other programs on the machine, or of what happens outside the client."
)


def failures(audited: Audited) -> list[str]:
    """Each audit that failed, in a sentence."""
    said = [_failure(outcome) for outcome in audited.outcomes if not outcome.passed]
    said += [
        f"{each.mechanism}, {each.kind}: {each.part:.3f} of the claim was found, and nobody says why the bound is not "
        "tight (audit.smallest_faults.WHY)"
        for each in audited.unexplained
    ]
    rang = (alarm for alarm in audited.alarms if not alarm.holds)
    return said + [
        f"the auditor rang on {a.mechanism} in {a.rang:,} of {a.repeats:,} audits at α = {a.alpha:g}" for a in rang
    ]


def number(value: float) -> str:
    """Four digits, which tell 2 % from nothing."""
    return "∞" if math.isinf(value) else "not a number" if math.isnan(value) else f"{value:.4g}"


def worst(losses: Iterable[Loss]) -> Loss:
    """The loss that goes farthest beyond its claim, or comes closest to it; one that is not a number before all."""
    return max(losses, key=lambda loss: (not loss.holds, not loss.holds and not loss.exceeds, _part_of(loss)))


def _claim_rows(name: str, outcomes: Sequence[Outcome]) -> list[tuple[str, ...]]:
    mine = [outcome for outcome in outcomes if outcome.name == name]
    found = {(o.way, loss.kind): loss for o in mine if o.finding for loss in o.finding.losses}
    rows = []
    for kind in dict.fromkeys(kind for _, kind in found):
        losses = [found.get((way, kind)) for way in COLUMNS]
        # The ε of the runs is the row's: an exact finding at another one, beside its own claim, alarms nobody.
        claim = found.get(("statistical", kind)) or next(loss for loss in losses if loss is not None)
        cells = (_found_beside(loss, claim) for loss in losses)
        holds = all(loss.holds for loss in losses if loss is not None)
        rows.append((name, kind, _pair(claim.claimed, claim.claimed_delta), *cells, _mark(holds)))
    return rows + [_trouble_row(outcome) for outcome in mine if outcome.finding is None]


def _trouble_row(outcome: Outcome) -> tuple[str, ...]:
    cells = ("error" if way == outcome.way else NONE for way in COLUMNS)
    return (f"{outcome.name}: {outcome.trouble}", NONE, NONE, *cells, NO)


def _found_beside(loss: Loss | None, claim: Loss) -> str:
    """What was found; with its own claim where that is not the row's, and a mark where it is too much."""
    if loss is None:
        return NONE
    same = (loss.claimed, loss.claimed_delta) == (claim.claimed, claim.claimed_delta)
    # A bound from below is stated for the claimed delta: there is none to be found beside it.
    text = _pair(loss.found, loss.found_delta if loss.found_delta != loss.claimed_delta else 0)
    return text + ("" if same else f" of {number(loss.claimed)}") + ("" if loss.holds else f" {NO}")


def _twin_row(outcome: Outcome) -> tuple[str, ...]:
    what, seconds = _statement(outcome.broken), f"{outcome.seconds:.1f}"
    if outcome.finding is None:
        return (f"{what}: {outcome.trouble}", outcome.twin_of, NONE, "error", f"not caught {NO}", seconds)
    loss = worst(outcome.finding.losses)
    caught = f"{outcome.way} {YES}" if outcome.passed else f"not caught {NO}"
    return (what, outcome.twin_of, *_claimed_and_found(loss), caught, seconds)


def _claimed_and_found(loss: Loss) -> tuple[str, str]:
    if loss.kind == CLOCK:
        return f"|t| < {number(loss.claimed)}", f"{loss.found:.1f}"
    if loss.kind in SURPRISES:
        return f"chance ≥ {_chance(loss.claimed)}", _chance(loss.found)
    if loss.kind == "length":
        return f"{loss.claimed:g} bytes", f"{loss.found:g}"
    return _pair(loss.claimed, loss.claimed_delta), _pair(loss.found, loss.found_delta)


def _time_row(outcome: Outcome) -> tuple[str, ...]:
    if outcome.finding is None:
        return (f"{outcome.name}: {outcome.trouble}", "error", NONE, NONE, NONE, NONE, NO)
    losses = {loss.kind: loss for loss in outcome.finding.losses}
    chance = _chance(largest(losses[kind].found for kind in SURPRISES if kind in losses))
    shown = f"{losses[CLOCK].found:.2f}", chance, f"{losses['length'].found:g}", f"{outcome.finding.cases:,}"
    return (outcome.name, *shown, outcome.finding.about.removeprefix("medians "), _mark(outcome.passed))


def _failure(outcome: Outcome) -> str:
    what = f"the twin of {outcome.twin_of} ({_statement(outcome.broken)})" if outcome.broken else outcome.name
    if outcome.finding is None:
        return f"{what}, {outcome.way}: {outcome.trouble}"
    claimed, found = _claimed_and_found(worst(outcome.finding.losses))
    return f"{what}, {outcome.way}: found {found}, claimed {claimed}{', not caught' if outcome.broken else ''}"


def _by_family(outcomes: Sequence[Outcome]) -> list[str]:
    """Names as they come, but those that begin alike together."""
    names = list(dict.fromkeys(outcome.name for outcome in outcomes))
    families = list(dict.fromkeys(map(family, names)))
    return sorted(names, key=lambda name: families.index(family(name)))


def _statement(text: str) -> str:
    """With a capital letter and without a full stop, as cells are."""
    return text[:1].upper() + text[1:].rstrip(".")


def _pair(epsilon: float, delta: float) -> str:
    return number(epsilon) + (f"\nδ {delta:.2g}" if delta else "")


def _part_of(loss: Loss) -> float:
    """How much of its claim a loss uses up; what is not a number counts as all and more."""
    part = loss.found / loss.claimed if loss.claimed else math.inf * loss.found if loss.found else 0.0
    return math.inf if math.isnan(part) else part


def _chance(surprise: float) -> str:
    return f"{10**-surprise:.1g}"


def _factor(factor: float) -> str:
    return "∞" if math.isinf(factor) else f"{factor:.3f}"


def _mark(good: bool) -> str:
    return YES if good else NO
