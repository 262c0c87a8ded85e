"""Answers: the estimates of one collection, their bill and their certificate."""

import html
import math
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.aggregator.estimate import ERRORS, Estimate
from visibility_aware_edge_ldp.privacy import Bill, Guarantee, OneEdge, OneListEntry, Relation, Release
from visibility_aware_edge_ldp.tabular import Records, Tabular, aligned, html_table

CENTRAL_WORDS = "per edge: even someone who sees all answers of the centre learns at most this about one edge"

# What follows the name of a statistic that is counted in a scope.
INSIDE = "inside the scope"
# The same for what a sample outside was asked for too, and for all of it.
BEYOND = ("not wholly inside", "inside and outside")
SIMULATED = "Simulated: every client ran on this machine, which held the whole graph."
COLLECTED = "Collected by campaign {}: everybody answered from a device of their own."


@dataclass(frozen=True)
class Certificate:
    """What is promised, to whom, against whom, and under which assumptions.  [POSITION.0], [COMPOSITION.1-4]

    ``bill`` is the total; ``paid`` are the releases in it that the policy was made from. ``also`` are promises under
    other relations, and ``per_list`` repeats the loss as much of the literature states it. ``campaign`` is the identity
    of the campaign that people answered; without one, everything was simulated. ``scope`` says where positions are
    asked and counted, and ``outside`` how many are not; without one, all are. ``rest`` says what was asked outside.
    """

    trust: str
    trust_words: str
    bill: Bill
    policy: str
    classes: Mapping[str, int]
    response: Mapping[str, float]
    assumptions: tuple[str, ...]
    simulated: bool
    local: bool = True
    not_for_release: tuple[str, ...] = ()
    relation: type[Relation] = OneEdge
    paid: tuple[Release, ...] = ()
    per_list: Mapping[str, Guarantee[OneListEntry]] = field(default_factory=dict)
    spent: Mapping[str, float] = field(default_factory=dict)
    also: tuple[Guarantee[Any], ...] = ()
    notes: tuple[str, ...] = ()
    campaign: str = ""
    scope: str = ""
    outside: int = 0
    rest: str = ""

    def lines(self) -> list[str]:
        """The certificate in sentences."""
        positions = ", ".join(f"{count:,} {name}" for name, count in self.classes.items())
        lost = [f"{name} {rate:.1%}" for name, rate in self.response.items() if rate < 1]
        sentences = [
            f"Trust model {self.trust}: {self.trust_words}",
            f"Promise, {self.relation.words if self.local else CENTRAL_WORDS}:",
            *(f"  an edge at a {name} position loses at most {self.bill[name]}" for name in self.shown),
            "  an edge at a PUBLIC position is not protected: everybody knows it",
            *(f"Promise too, {promise.relation.words}: {promise}." for promise in self.also),
            *self._spending(),
            *self._paid_before(),
            f"Policy: {self.policy}.",
        ]
        if self.scope:
            left = f"they are not asked, lose nothing{self._but_the_choice}, and nothing is said of them."
            sentences.append(
                f"Scope: {'numbers are' if self.rest else 'every number is'} of the graph inside, where {self.scope}. "
                f"{self.outside:,} positions lie outside: {self.rest or left}"
            )
        if positions:
            sentences.append(f"Positions{' inside' if self.scope else ''}: {positions}.")
        if lost:
            stayed = "the others are assumed to have stayed away whatever their bits"
            sentences.append(f"Response: {', '.join(lost)}; {stayed}.")
        sentences += [f"Assumes that {text}." for text in self.assumptions]
        sentences += [f"Note: {text}." for text in self.notes]
        sentences += self.kept_back
        sentences.append(COLLECTED.format(self.campaign) if self.campaign else SIMULATED)
        if self.simulated:
            sentences.append("Simulation, not private: the coins came from a seed that can be typed again.")
        return sentences

    @property
    def summary(self) -> str:
        """The promise in one line."""
        each = ", ".join(f"{self.bill[name]} per {name} edge" for name in self.shown)
        losses = f"at most {each}" if each else "nothing is hidden"
        public = "; PUBLIC ones are not protected" if self.classes.get("PUBLIC") else ""
        made = f"Collected by campaign {self.campaign}." if self.campaign else "Simulated on this machine."
        stamp = "Simulation, not private: seeded." if self.simulated else made
        some = self._but_the_choice + (" unless the coin drew them" if self.rest else "")
        scope = f"; positions outside the scope lose nothing{some}" if self.scope else ""
        return f"Certificate: {self.trust}, {losses}{public}{scope}. {stamp}"

    @property
    def shown(self) -> list[Hashable]:
        """The classes whose positions lose something: all, where nobody counted or some outside a scope lose too."""
        everywhere = not self.classes or self.rest or (self.scope and self.paid)
        return [name for name in self.bill if everywhere or name in self.classes]

    @property
    def _but_the_choice(self) -> str:
        """What was paid for choosing the policy is lost everywhere.  [HUBS.4]"""
        return " more than for choosing the policy" if self.paid else ""

    def _paid_before(self) -> list[str]:
        if not self.paid:
            return []
        bill = Bill(self.paid)
        shares = ", ".join(f"{bill[name]} per {name} edge" for name in self.shown if name in bill)
        return [f"Of this, {shares} was paid for choosing the policy."]

    def _spending(self) -> list[str]:
        """On what the loss was spent, and what it is per list, as other work often states it."""
        lines = []
        if len(self.spent) > 1:
            lines.append(f"Of ε went {', '.join(f'{share:.3g} to {what}' for what, share in self.spent.items())}.")
        shown = [f"{name} {price}" for name, price in self.per_list.items() if not self.classes or name in self.classes]
        if shown:
            lines.append(f"For comparison, {OneListEntry.words}: {', '.join(shown)}.")
        return lines

    @property
    def kept_back(self) -> list[str]:
        """What of the numbers is not for release, in a sentence; nothing where all of them are."""
        if not self.not_for_release:
            return []
        names = ", ".join(self.not_for_release)
        return [
            f"Not for release: the standard errors and intervals of {names}; their noise scale follows from the graph."
        ]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        scope = {"inside": self.scope, "positions_outside": self.outside, **({"rest": self.rest} if self.rest else {})}
        return {
            "trust": self.trust,
            "relation": self.relation.__name__,
            "loss_per_edge": _losses(self.bill),
            **({"paid_for_the_policy": _losses(Bill(self.paid))} if self.paid else {}),
            **({"loss_per_list_entry": _losses(self.per_list)} if self.per_list else {}),
            **({"spent": dict(self.spent)} if self.spent else {}),
            **{f"loss_{promise.relation.__name__}": float(promise.epsilon) for promise in self.also},
            "policy": self.policy,
            "positions": dict(self.classes),
            **({"scope": scope} if self.scope else {}),
            "response": dict(self.response),
            "assumptions": list(self.assumptions),
            **({"notes": list(self.notes)} if self.notes else {}),
            **({"campaign": self.campaign} if self.campaign else {}),
            "simulation_not_private": self.simulated,
            "errors_not_for_release": list(self.not_for_release),
        }


class Answers(Mapping[str, Estimate], Tabular):
    """Estimates by the name of their statistic.

    ``truths`` are the true values where a simulation was asked for them (``truth=True``), else empty. ``rest`` has for
    a statistic what is not wholly inside the scope, and the sum, where a sample outside was asked.
    """

    def __init__(
        self,
        estimates: Mapping[str, Estimate],
        certificate: Certificate,
        truths: Mapping[str, Any] | None = None,
        rest: Mapping[str, tuple[Estimate, Estimate]] | None = None,
    ) -> None:
        inside = certificate.scope
        self._estimates = {name: replace(found, scope=inside) if inside else found for name, found in estimates.items()}
        self.certificate = certificate
        self.truths, self.rest = dict(truths or {}), dict(rest or {})

    def __getitem__(self, statistic: str) -> Estimate:
        if statistic not in self._estimates:
            raise KeyError(f"{statistic} was not asked for; these were: {', '.join(self._estimates)}")
        return self._estimates[statistic]

    def __iter__(self) -> Iterator[str]:
        return iter(self._estimates)

    def __len__(self) -> int:
        return len(self._estimates)

    @property
    def bill(self) -> Bill:
        """The total loss per class of all that these answers were made from.  [COMPOSITION.4]"""
        return Bill((*self.certificate.paid, *(release for found in self.values() for release in found.releases)))

    def records(self, level: float = 0.95) -> Records:
        """One row a statistic, or one for each entry of an array, with its label."""
        kept = self.certificate.not_for_release
        scope = {"counted": INSIDE} if self.certificate.scope else {}
        rows = [
            {**row, **scope, "errors_are_for_release": name not in kept}
            for name, found in self.items()
            for row in _records(name, found, level, self.truths)
        ]
        return rows + [
            {**row, "counted": counted, "errors_are_for_release": True}
            for name in self.rest
            for each, counted in self._with_rest(name)[1:]
            for row in _records(name, each, level, dict.fromkeys(self.truths, math.nan))
        ]

    def draw(self, axes: Any) -> None:
        """Estimates with their 95 % intervals, each as a share of its own value; true values as crosses."""
        shown = [row for row in self.records() if row["label"] == "" and row["value"]]
        for place, row in enumerate(shown):
            low, value, high = (row[name] / row["value"] for name in ("low", "value", "high"))
            axes.plot([low, high], [place, place], color="C0")
            axes.plot([value], [place], "o", color="C0")
            if row.get("truth") is not None:
                axes.plot([row["truth"] / row["value"]], [place], "x", color="C1")
        axes.set_yticks(range(len(shown)), [row["statistic"] for row in shown])
        axes.set_xlabel("estimate = 1, with its 95 % interval" + ("; × true value" if self.truths else ""))
        axes.invert_yaxis()

    def rows(self, level: float = 0.95) -> list[tuple[str, str, str, str]]:
        """(statistic, estimate, standard error, interval) as texts; an array is told by its size."""
        if not self.certificate.scope:
            return [_row(estimate, level) for estimate in self.values()]
        shown = [(found, counted) for name in self for found, counted in self._with_rest(name)]
        return [(f"{row[0]} {counted}", *row[1:]) for found, counted in shown for row in [_row(found, level)]]

    def _with_rest(self, name: str) -> list[tuple[Estimate, str]]:
        """An estimate inside, and what a sample outside adds to it."""
        return [(self[name], INSIDE), *zip(self.rest.get(name, ()), BEYOND, strict=False)]

    def __str__(self) -> str:
        table = [("statistic", "estimate", "± s.e.", "95 % interval"), *self.rows()]
        lines = aligned(table, left=1)
        lines.insert(1, "-" * len(lines[0]))
        shown = ["Not for release: the true values, which are private."] if self.truths else []
        return "\n".join([*lines, "", str(self.certificate), *shown])

    def __repr__(self) -> str:
        return f"<Answers: {', '.join(self)}; {self.bill}>"

    def _repr_html_(self) -> str:
        table = html_table(("statistic", "estimate", "± s.e.", "95 % interval"), self.rows())
        return f"{table}<pre>{html.escape(str(self.certificate))}</pre>"

    def as_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Plain values for JSON."""
        kept = self.certificate.not_for_release
        return {
            "estimates": {
                name: {
                    **estimate.as_dict(level),
                    **({"counted": INSIDE} if self.certificate.scope else {}),
                    "errors_are_for_release": name not in kept,
                    **{
                        key: {**each.as_dict(level), "counted": counted}
                        for key, (each, counted) in zip(("rest", "sum"), self._with_rest(name)[1:], strict=False)
                    },
                }
                for name, estimate in self.items()
            },
            "certificate": self.certificate.as_dict(),
        }


def _losses(bill: Mapping[Any, Guarantee[Any]]) -> dict[str, dict[str, float]]:
    return {str(name): {"epsilon": float(price.epsilon), "delta": float(price.delta)} for name, price in bill.items()}


def _records(name: str, found: Estimate, level: float, truths: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    labels = [""] if found.labels is None else [str(label) for label in found.labels]
    true = np.broadcast_to(np.atleast_1d(truths.get(name, math.nan)), len(labels))
    for place, (label, row) in enumerate(zip(labels, found.records(level), strict=True)):
        *_, value = (number for key, number in row.items() if key not in ERRORS)
        told = {"truth": float(true[place])} if truths else {}
        yield {"statistic": name, "label": label, "value": value, **{key: row[key] for key in ERRORS}, **told}


def _row(estimate: Estimate, level: float) -> tuple[str, str, str, str]:
    if isinstance(estimate.value, np.ndarray):
        size, mean = f"{len(estimate.value):,} values", float(np.mean(estimate.standard_error))
        error = f"{mean:,.3g} on average" if estimate.has_standard_error else "none"
        return estimate.statistic, size, error, "see --json, .interval()"
    low, high = estimate.shown_interval(level)
    error = "none" if np.isnan(estimate.variance) else number(estimate.standard_error)
    ends = "none" if np.isnan(low) or np.isnan(high) else f"[{number(low)}, {number(high)}]"
    return estimate.statistic, number(estimate.value), error, ends


def noise_hides(value: Any, error: float | None) -> bool:
    """Whether a value is less than twice its standard error, so that it might as well be 0; said of single numbers."""
    return isinstance(value, int | float) and error is not None and abs(value) < 2 * error


def number(value: Any) -> str:
    """A number as people read it: whole when large, four digits when small."""
    if abs(value) < 1e-9:
        return "0"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:,.1f}" if abs(value) >= 10 else f"{value:.4g}"
