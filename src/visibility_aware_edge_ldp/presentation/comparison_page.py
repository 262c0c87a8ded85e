"""The report: one HTML page that needs nothing else."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Any

from visibility_aware_edge_ldp import __version__
from visibility_aware_edge_ldp.evaluation import expected_errors, results
from visibility_aware_edge_ldp.evaluation.compare.design import HISTOGRAM
from visibility_aware_edge_ldp.evaluation.gains import QUESTION, SAME, Gain, decisive
from visibility_aware_edge_ldp.presentation import comparison_figures, labels
from visibility_aware_edge_ldp.presentation.drawing import Panel, attributes, beside, on_its_own
from visibility_aware_edge_ldp.presentation.files import filled, script_hash
from visibility_aware_edge_ldp.presentation.lever_figures import LEVER_THEME, described_levers
from visibility_aware_edge_ldp.public.trust import TRUSTS
from visibility_aware_edge_ldp.public.visibility import Multipliers, Visibility, times_epsilon
from visibility_aware_edge_ldp.tabular import ShadedCell, shaded_matrix

TEMPLATE, SCRIPT = "report.html.j2", "report.js"
SYNTHETIC = "(synthetic)"
HEADLINE = (5.4, 3.3)
BASES = {
    expected_errors.STANDARD_ERROR: "standard errors",
    expected_errors.EXACT_LAW: "exact law",
    expected_errors.TRIALS: "trials",
    expected_errors.TRIALS_AND_LAW: "trials and law",
}
# Standard errors below this part of their figure are what rounding leaves.
ROUNDING = 1e-9


def describe(statistic: str, series: comparison_figures.Series) -> str:
    """A panel in words, for those who do not see it."""
    models = dict.fromkeys(trust for trust, _ in series)
    lines = (f"{trust}: {_points(series, trust)}" if len(models) > 1 else _points(series, trust) for trust in models)
    return f"Expected relative error of {labels.label(statistic)} against ε: {'. '.join(lines)}."


def _points(series: comparison_figures.Series, trust: str) -> str:
    return "; ".join(
        f"at ε = {u.epsilon:g}, {results.UNIFORM} {labels.percent(u.error)}, {results.AWARE} {labels.percent(a.error)}"
        for u, a in zip(series[trust, results.UNIFORM], series[trust, results.AWARE], strict=True)
    )


def describe_gains(statistic: str, gains: Sequence[Gain]) -> str:
    """How many times smaller the error is, for each model and epsilon."""
    points = (f"{g.aware.trust} at ε = {g.aware.epsilon:g}, {labels.factor(g.factor, g.factor)}" for g in gains)
    return f"Gain from visibility for {labels.label(statistic)} against ε: {'; '.join(points)}."


def describe_statistics(comparison: results.Comparison, epsilon: float) -> str:
    """All errors at one epsilon."""
    points = (
        f"{gain.aware.trust}, {labels.label(gain.aware.statistic)}: {results.UNIFORM} "
        f"{labels.percent(gain.uniform.error)}, {results.AWARE} {labels.percent(gain.aware.error)}"
        for gain in comparison.gains
        if gain.aware.epsilon == epsilon
    )
    return f"Expected relative error by statistic at ε = {epsilon:g}. {'; '.join(points)}."


def describe_histogram(found: results.DrawnHistogram) -> str:
    """How far the drawn bins are from the true ones."""
    off = labels.percent(expected_errors.relative_error(found.drawn.nodes, found.truth))
    return (
        f"Degree histogram, {found.trust}, {found.policy}, at ε = {found.epsilon:g}, in {len(found.drawn.bins)} bins: "
        f"estimated and true numbers of nodes differ by {off} of all nodes in all."
    )


def page(comparison: results.Comparison, command: str, audit: Mapping[str, Any] | None = None) -> str:
    """The report as HTML; every text that comes from outside is escaped."""
    script = (Path(__file__).parent / SCRIPT).read_text(encoding="utf-8")
    told = {"script": script, "script_hash": script_hash(script), "command": command, "audit": audit}
    return filled(TEMPLATE, **content(comparison), **told)


def content(comparison: results.Comparison) -> dict[str, Any]:
    """All that the template is filled with."""
    every = comparison_figures.series_of(comparison)
    return {
        "c": comparison,
        "version": __version__,
        "synthetic": SYNTHETIC in comparison.graph,
        "alone": comparison_figures.is_alone(comparison),
        "models": models(comparison),
        "statistics": [labels.label(name) for name in every],
        "choices": [(name, labels.label(name)) for name in every],
        "histogram": HISTOGRAM in every,
        "epsilons": [f"{epsilon:g}" for epsilon in _epsilons(comparison)],
        "classes": classes(comparison),
        "positions": sum(comparison.positions.values()),
        "public_share": labels.percent(_share(comparison, "PUBLIC")),
        "friend_visible": comparison.positions.get("FRIEND_VISIBLE", 0) > 0,
        "private_loss": times_epsilon(comparison.multipliers.private),
        "friend_loss": times_epsilon(comparison.multipliers.friend_visible),
        "times": times(comparison.multipliers),
        "some_left_out": any(comparison_figures.left_out(series) for series in every.values()),
        "hundred": any(comparison_figures.crosses_all(series) for series in every.values()),
        "groups": groups(comparison),
        "question": QUESTION,
        "verdict": [text.removeprefix(QUESTION).strip() for text in comparison.verdict],
        "scatter": f"{200 * math.sqrt(0.95 * 0.05 / comparison.trials):.0f}",
        **drawings(comparison),
    }


def drawings(comparison: results.Comparison) -> dict[str, Any]:
    """Every figure with its words, and what it is about."""
    every, errors, gains = (
        comparison_figures.series_of(comparison),
        comparison_figures.error_panels(comparison),
        comparison_figures.gain_panels(comparison),
    )
    degrees = zip(comparison_figures.histogram_panels(comparison), comparison.histograms, strict=True)
    middle = comparison_figures.middle_epsilon(comparison)
    return {
        "figures": [
            _shown(
                errors[name], f"Error of {labels.label(name)}", describe(name, own), statistic=name, trust=_names(own)
            )
            for name, own in every.items()
        ],
        "gain_figures": [
            _shown(
                panel, f"Gain of {panel.title}", describe_gains(name, own), statistic=name, trust=_names(every[name])
            )
            for (name, own), panel in zip(
                comparison_figures.gains_by_statistic(comparison).items(), gains.values(), strict=True
            )
        ],
        "lever_figures": [
            _shown(panel, title, words, trust=trust)
            for trust, panel, title, words in described_levers(comparison, middle)
        ],
        "levers": LEVER_THEME,
        "statistic_figures": [
            _shown(panel, f"Errors at {panel.title}", describe_statistics(comparison, each), epsilon=f"{each:g}")
            for each, panel in comparison_figures.statistic_panels(comparison).items()
        ],
        "degree_figures": [
            _shown(panel, panel.title, describe_histogram(found), **_about(found)) for panel, found in degrees
        ],
        "matrices": [matrix_table(each) for each in comparison.matrices],
        "beside": beside,
        "middle": f"{middle:g}",
        "headline": _headline(comparison),
        "short_rows": short_rows(comparison),
    }


def matrix_table(found: results.DrawnMatrix) -> dict[str, Any]:
    """A mixing or contact matrix as texts: in each cell its value, interval and true value, and how dark it is."""
    drawn = found.drawn
    groups, rows = shaded_matrix(drawn.pairs, drawn.values, drawn.lows, drawn.highs)
    _, true = shaded_matrix(drawn.pairs, found.truth, found.truth, found.truth)
    what = labels.label(found.statistic).capitalize()
    return {
        "title": f"{what}, {found.trust.upper()}, {found.policy}, ε = {found.epsilon:g}",
        "about": attributes({name: getattr(found, name) for name in ("trust", "statistic")}),
        "groups": groups,
        "rows": [
            (group, [_matrix_cell(cell, known) for cell, known in zip(row, truth, strict=True)])
            for group, row, truth in zip(groups, rows, true, strict=True)
        ],
    }


def _matrix_cell(cell: ShadedCell, known: ShadedCell) -> dict[str, Any]:
    told, low, high, truth = (
        labels.value(math.nan if each is None else each) for each in (cell.value, cell.low, cell.high, known.value)
    )
    return {"value": told, "interval": f"{low} to {high}", "truth": truth, "shade": cell.shade}


def _headline(comparison: results.Comparison) -> dict[str, str]:
    """The one chart of the first screen: the statistic that the verdict is about."""
    every, name = comparison_figures.series_of(comparison), decisive(comparison.aware)
    panel = replace(comparison_figures.error_panels(comparison)[name], size=HEADLINE)
    return _shown(panel, f"Error of {labels.label(name)}, in short", f"In short. {describe(name, every[name])}")


def short_rows(comparison: results.Comparison) -> list[dict[str, Any]]:
    """Statistics by trust models at one epsilon: the error with visibility, and the gain."""
    middle = comparison_figures.middle_epsilon(comparison)
    found = {(g.aware.statistic, g.aware.trust): g for g in comparison.gains if g.aware.epsilon == middle}
    return [
        {"statistic": labels.label(name), "cells": [_short(found.get((name, trust))) for trust in comparison.models]}
        for name in dict.fromkeys(row.statistic for row in comparison.aware)
    ]


def _short(gain: Gain | None) -> dict[str, str]:
    if gain is None:
        return {"error": "", "gain": "", "verdict": ""}
    shown = f"{labels.factor(gain.factor, gain.factor)}×" if gain.verdict == SAME else gain.words
    return {"error": labels.percent(gain.aware.error), "gain": shown, "verdict": gain.verdict}


def _about(found: results.DrawnHistogram) -> dict[str, str]:
    return {"statistic": HISTOGRAM, "trust": found.trust, "epsilon": f"{found.epsilon:g}"}


def _shown(panel: Panel, title: str, words: str, **about: str) -> dict[str, str]:
    # The words begin differently for every panel of a page, and so do its identifiers.
    prefix = f"d{sha256(words.encode()).hexdigest()[:8]}-"
    return {
        "drawing": on_its_own(panel, prefix),
        "words": words,
        "title": title,
        "about": attributes(about),
    }


def _names(series: Iterable[tuple[str, str]]) -> str:
    """The models that have a line."""
    return " ".join(dict.fromkeys(trust for trust, _ in series))


def models(comparison: results.Comparison) -> list[dict[str, str]]:
    """The trust models: whom one trusts, how epsilon is spent, and which statistics are answered."""
    asked = {
        trust: ", ".join(dict.fromkeys(labels.label(row.statistic) for row in comparison.aware if row.trust == trust))
        for trust in comparison.models
    }
    return [
        {
            "name": trust.upper(),
            "trust": trust,
            "words": TRUSTS[trust].promise,
            "note": TRUSTS[trust].spending,
            "asked": asked[trust],
            "colour": labels.THEME[labels.COLOURS[trust]],
            "mark": labels.MARKER_PATHS[trust],
        }
        for trust in comparison.models
    ]


def classes(comparison: results.Comparison) -> list[dict[str, Any]]:
    """For each class of positions: how many there are, and the loss of one edge at each epsilon."""
    return [
        {
            "name": name,
            "count": f"{size:,}",
            "share": labels.percent(_share(comparison, name)),
            "promise": f"at most {times_epsilon(loss)}" if loss else "not protected",
            "losses": [f"{float(loss) * epsilon:g}" if loss else labels.DASH for epsilon in _epsilons(comparison)],
        }
        for name, size in comparison.positions.items()
        for loss in [comparison.multipliers.of(Visibility.of(name))]
    ]


def times(multipliers: Multipliers) -> str:
    """How many times as much as a PRIVATE edge a FRIEND_VISIBLE one may lose, in words; empty for no more."""
    ratio = multipliers.friend_visible / multipliers.private
    if ratio == 1:
        return ""
    return "twice" if ratio == 2 else f"{float(ratio):g} times"


def groups(comparison: results.Comparison) -> list[tuple[str, list[dict[str, Any]]]]:
    """The table's rows, by trust model and epsilon."""
    ordered = groupby(comparison.gains, key=lambda gain: (gain.aware.trust, gain.aware.epsilon))
    return [
        (f"{trust.upper()}, ε = {epsilon:g}", [table_row(gain) for gain in own]) for (trust, epsilon), own in ordered
    ]


def table_row(gain: Gain) -> dict[str, Any]:
    """One statistic at one epsilon as texts."""
    row = gain.aware
    return {
        "about": attributes({"trust": row.trust, "epsilon": f"{row.epsilon:g}", "statistic": row.statistic}),
        "statistic": labels.label(row.statistic),
        "truth": labels.value(row.truth),
        "sides": [_side(gain.uniform), _side(row)],
        "gain": gain.words,
        "gain_spread": labels.factor(gain.uncertainty, gain.factor) if math.isfinite(gain.uncertainty) else "",
        "verdict": gain.verdict,
    }


def _side(row: results.TrialRow) -> dict[str, Any]:
    one, doubt = row.one or expected_errors.Measured(math.nan, math.nan, math.nan), row.figure.uncertainty
    return {
        "estimate": labels.value(one.value),
        "interval": [labels.value(end) for end in (one.low, one.high)] if math.isfinite(one.low + one.high) else [],
        "error": labels.percent(row.error),
        "error_spread": labels.percent(doubt) if doubt > ROUNDING * row.error else "",
        "basis": BASES[row.figure.basis],
        "coverage": labels.DASH if math.isnan(row.coverage) else f"{row.coverage:.0%}",
        "observed": labels.percent(row.mean_relative_error),
        "consistent": row.is_consistent,
    }


def _epsilons(comparison: results.Comparison) -> list[float]:
    return list(dict.fromkeys(row.epsilon for row in comparison.aware))


def _share(comparison: results.Comparison, name: str) -> float:
    total = sum(comparison.positions.values())
    return comparison.positions.get(name, 0) / total if total else math.nan
