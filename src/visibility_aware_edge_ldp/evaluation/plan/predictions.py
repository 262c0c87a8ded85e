"""The error of one statistic in one trust model at one ε, before anybody is asked.  [PLAN.1-9]

And from it: which trust model errs least for what is asked, and whether anything but noise would come of it.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any

from visibility_aware_edge_ldp.aggregator.answers import number
from visibility_aware_edge_ldp.evaluation.lower_bounds import LowerBound, least_here, least_on_the_hardest
from visibility_aware_edge_ldp.evaluation.plan import base
from visibility_aware_edge_ldp.evaluation.plan.base import Model, PredictedError, Question
from visibility_aware_edge_ldp.evaluation.plan.curator import MODEL as BY_CURATOR
from visibility_aware_edge_ldp.evaluation.plan.graph_moments import Moments
from visibility_aware_edge_ldp.evaluation.plan.moment_sums import moments_of
from visibility_aware_edge_ldp.evaluation.plan.neighbourhood import MODEL as BY_NEIGHBOURHOOD
from visibility_aware_edge_ldp.evaluation.plan.position import MODEL as BY_POSITION
from visibility_aware_edge_ldp.evaluation.plan.user import MODEL as BY_USER
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.privacy import Number, parse_epsilon
from visibility_aware_edge_ldp.public.statistic import (
    DEGREES,
    EDGES,
    FOUR_CYCLES,
    TRANSITIVITY,
    check_statistics,
    is_built_in,
    is_set,
    star_size,
    statistic,
)
from visibility_aware_edge_ldp.public.surveys.curator import CONSTANT
from visibility_aware_edge_ldp.public.trust import CURATOR, POSITION, TRUSTS, USER, Trust
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC
from visibility_aware_edge_ldp.simulation.options import is_position_alone, is_user_alone, statistics_for

# Beyond this part of the value an estimate is mostly noise, and its error is no longer a percentage of anything.
TOO_LARGE = 1 / 3
# Where a centre's split varies so that standard errors are this much larger than typical ones, no law is normal.
UNEVEN = 1.05
# Stars of so many edges are mostly those of the few users of highest degree.
MANY_EDGES = 3
PREDICTIONS: dict[str, Model] = {each.trust.name: each for each in (BY_POSITION, BY_USER, BY_NEIGHBOURHOOD, BY_CURATOR)}
"""How each trust model is predicted, by its name."""
# Beyond so many people POSITION takes minutes and more, and nobody would want it unasked.
MANY = 10_000
# Up to so many, noise is likely and looking for it takes no time.
FEW = 500
# Below this, everything is noise and no law is near a normal one.
LEAST = 1e-3
# Sums over so many people are near enough to choose by.
ROWS = 100
# An estimate below so many standard errors might as well be 0.
HIDDEN = 2
# The first is taken where nothing can be predicted.
NOBODY_TRUSTED = (USER, POSITION)


@dataclass(frozen=True)
class Prediction:
    """One row of a plan; tests and benchmarks hold it against runs.  [PLAN.11]

    Parameters
    ----------
    value
        What the assumed graph has.
    standard_error
        Of the estimate; for degrees the mean over users. NaN where nothing can be said, and ``note`` says why.
    bias
        What the estimate is low by, where it is not unbiased.
    mean_relative_error
        The mean of |estimate − value|/value; NaN where the normal approximation does not hold.
    least
        No unbiased estimate of a local protocol has a smaller standard error on the assumed graph; NaN if not known.
    least_on_the_hardest
        The same for some graph with as many nodes and as high a degree, for every estimate.
    from_few_numbers
        Whether it rests on degrees or triangles of a graph that was made up from a few numbers, or on a few users or
        one pair of any graph: it may miss by 15 % and more.
    entries
        Of a statistic of groups: the standard error of each of its entries, of which ``standard_error`` is the mean.
    """

    trust: str
    statistic: str
    epsilon: float
    value: float
    standard_error: float
    mean_relative_error: float
    bias: float = 0.0
    least: float = math.nan
    least_on_the_hardest: float = math.nan
    note: str = ""
    from_few_numbers: bool = False
    entries: tuple[float, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether the mean relative error can be believed."""
        return not math.isnan(self.mean_relative_error)

    @property
    def relative_standard_error(self) -> float:
        """The standard error beside the value; NaN where there is no such number."""
        return self.standard_error / abs(self.value) if self.value else math.nan

    @property
    def likely_relative_error(self) -> float:
        """The mean relative error; where it is not known, the relative standard error, which is larger."""
        return self.mean_relative_error if self.holds else self.relative_standard_error

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON and CSV, without the entries; None where nothing can be said."""
        plain = {name: each for name, each in asdict(self).items() if name != "entries"}
        return {name: None if isinstance(x, float) and math.isnan(x) else x for name, x in plain.items()}


def predictions(
    moments: Moments,
    trust: str,
    epsilon: Fraction,
    statistics: Sequence[str],
    delta: Fraction = Fraction(0),
    shown: Sequence[str] | None = None,
    bounds: bool = True,
    without: base.Subsample = base.ALL,
) -> list[Prediction]:
    """All statistics that one trust model answers together for one ε, or those of them that are to be shown.

    ``without`` says what the position model leaves out.
    """
    model, asked = PREDICTIONS[trust], offered(trust, statistics)
    question = Question(moments, epsilon, asked, delta, without)
    secret = any(moments.positions[kind] > 0 for kind in NON_PUBLIC)
    rows = [
        _row(model, question, name, model.predicted(question, name) if secret else PredictedError(0.0))
        for name in shown or asked
    ]
    return [_with_bounds(moments, row) for row in rows] if bounds and model.bounded else rows


def offered(trust: str, statistics: Sequence[str]) -> list[str]:
    """Those of the statistics that a plan has rows for in this trust model."""
    return [name for name in statistics if PREDICTIONS[trust].offers(name)]


def marked(rows: Sequence[Prediction], made_up: bool, degrees_known: bool) -> list[Prediction]:
    """The rows, those marked that rest on few numbers and may miss by 15 % and more.  [PLAN.9]

    Of a made-up graph, all that need degrees or triangles which nobody told: edges and degrees need only the numbers of
    nodes and edges, and a centre's pilot sets all answers by all values. Of any graph, what a few users or one pair
    decide: k-stars from k = 3 on, transitivity, and what a centre's smooth bound is for.
    """
    guessed = {row.statistic for row in rows if made_up and not _known_from_numbers(row.statistic, degrees_known)}
    split = {row.statistic for row in rows if row.trust == CURATOR.name} & guessed

    def rests(row: Prediction) -> bool:
        by_values = row.statistic in guessed or (row.trust == CURATOR.name and bool(split))
        return (by_values or _decided_by_few(row)) and 0 < row.standard_error < math.inf

    return [replace(row, from_few_numbers=rests(row)) for row in rows]


def _decided_by_few(row: Prediction) -> bool:
    """Whether a few users, or one pair of them, decide how large the error is."""
    smooth = row.trust == CURATOR.name and row.statistic not in CONSTANT
    return smooth or row.statistic == TRANSITIVITY.name or (star_size(row.statistic) or 0) >= MANY_EDGES


def _known_from_numbers(name: str, degrees_known: bool) -> bool:
    return name in (EDGES.name, DEGREES.name) or (degrees_known and statistic(name).from_degrees)


def _row(model: Model, question: Question, name: str, found: PredictedError | str) -> Prediction:
    trust, epsilon, value = model.trust.name, float(question.epsilon), question.moments.value(name)
    if isinstance(found, str):
        return Prediction(trust, name, epsilon, value, math.nan, math.nan, note=found)
    note = _doubt(model, question, name, value, found)
    size = _mean_size(found) / value if value else math.inf
    row = Prediction(trust, name, epsilon, value, found.deviation, math.nan if note else size, found.bias, note=note)
    return replace(row, entries=found.entries)


def _with_bounds(moments: Moments, row: Prediction) -> Prediction:
    """The same beside what no local protocol can beat.  [LIMIT.2, LIMIT.4]"""
    found = (bound(moments.world, row.statistic, row.epsilon) for bound in (least_here, least_on_the_hardest))
    here, hardest = (_root(bound) for bound in found)
    return replace(row, least=here, least_on_the_hardest=hardest)


def _root(bound: LowerBound | None) -> float:
    return math.nan if bound is None else bound.standard_error_at_least


def _mean_size(found: PredictedError) -> float:
    """E|noise − bias|: given, or that of a normal law about its bias."""
    if found.mean is not None:
        return found.mean
    if not found.bias or not found.deviation:
        return base.NORMAL * found.deviation + abs(found.bias)
    z = found.bias / found.deviation
    return found.deviation * base.NORMAL * math.exp(-z * z / 2) + found.bias * math.erf(z / math.sqrt(2))


def _doubt(model: Model, question: Question, name: str, value: float, found: PredictedError) -> str:
    """Why the normal approximation does not hold; empty where it does.  [PLAN.9]"""
    if not value:
        return "the assumed graph has none, so there is no relative error"
    if not statistic(name).per_person and found.deviation > TOO_LARGE * abs(value):
        return f"{base.MOSTLY_NOISE}: the standard error is {found.deviation / abs(value):.0%} of the value"
    if own := model.doubt(question, found):
        return own
    if found.uneven > UNEVEN:
        times = f"{found.uneven:.2g} times that of a typical run"
        return f"{base.BY_LUCK} and decides the split of ε: a standard error {times}"
    return ""


@dataclass(frozen=True)
class Advice:
    """A trust model, why it is taken, and what will be nothing but noise."""

    trust: Trust
    reason: str
    noise: tuple[str, ...] = ()


def advised(
    world: VisibilityAwareGraph, epsilon: Number, statistics: str | Sequence[str] | None, options: Sequence[str] = ()
) -> Advice:
    """Of the trust models in which nobody is trusted, the one that errs least for what is asked.

    Parameters
    ----------
    world, epsilon, statistics
        As in ``estimate``. Where several statistics are asked for, the geometric mean of their standard errors counts.
    options
        Options that were given; a model that does not have them all is not taken.
    """
    able = [trust for trust in TRUSTS.values() if set(options) <= {*trust.options}]
    if options and able:
        return Advice(able[0], f"trust model {able[0].title}, to which {', '.join(options)} belong")
    loss = parse_epsilon(epsilon)
    if world.graph.people is not None:
        reason = "trust model USER: people hold their lists of places; --trust position asks one bit at a time"
        return Advice(USER, reason)
    if statistics is not None and any(map(is_position_alone, check_statistics(statistics, world.graph.n))):
        return Advice(POSITION, "trust model POSITION, which alone tells all of this")
    wanted = statistics_for(world, USER.name, statistics)
    if not is_set(statistics or ()) and any(map(is_user_alone, wanted)):
        return Advice(USER, "trust model USER, which alone tells all of this")
    if loss < LEAST:
        return Advice(POSITION, f"trust model POSITION; {_other(USER)}")
    if world.graph.n > MANY or not all(map(is_built_in, wanted)):
        return Advice(USER, f"trust model USER; {_other(POSITION)}")
    moments = moments_of(world, FOUR_CYCLES.name in wanted, ROWS)
    rows = {
        trust: {row.statistic: row for row in predictions(moments, trust.name, loss, wanted, bounds=False)}
        for trust in NOBODY_TRUSTED
    }
    ratios = [_log_ratio(rows[USER][name], rows[POSITION][name]) for name in wanted if name in rows[USER]]
    known = [ratio for ratio in ratios if math.isfinite(ratio)]
    best, other = (POSITION, USER) if sum(known) > 0 else NOBODY_TRUSTED
    factor = math.exp(abs(sum(known)) / max(len(known), 1))
    times = f"{float(f'{factor:.2g}'):,g}"
    least = f"whose standard errors are about {times} times smaller here" if factor > 1.05 else "as good as any here"
    return Advice(best, f"trust model {best.title}, {least}; {_other(other)}", _noise(world, epsilon, rows[best]))


def only_noise(
    world: VisibilityAwareGraph, trust: str, epsilon: Number, statistics: str | Sequence[str] | None
) -> list[str]:
    """A sentence on what will be nothing but noise, for a few people whose model nobody has to trust; else nothing."""
    model, loss = TRUSTS.get(trust), parse_epsilon(epsilon)
    if model not in NOBODY_TRUSTED or world.graph.n > FEW or loss < LEAST or world.graph.people is not None:
        return []
    wanted = statistics_for(world, trust, statistics)
    if not all(map(is_built_in, wanted)):
        return []
    rows = predictions(moments_of(world, FOUR_CYCLES.name in wanted, ROWS), trust, loss, wanted, bounds=False)
    return list(_noise(world, epsilon, {row.statistic: row for row in rows}))


def _other(trust: Trust) -> str:
    holds = "one bit at a time" if trust is POSITION else "from people who hold their friend lists"
    return f"--trust {trust.name} asks {holds}"


def _log_ratio(first: Prediction, second: Prediction) -> float:
    if not (first.standard_error > 0 and second.standard_error > 0):
        return math.nan
    return math.log(first.standard_error / second.standard_error)


def _noise(world: VisibilityAwareGraph, epsilon: Number, rows: dict[str, Prediction]) -> tuple[str, ...]:
    """A sentence that names what drowns in its noise, if anything does."""
    hidden = [row for row in rows.values() if row.standard_error * HIDDEN > abs(row.value)]
    if not hidden:
        return ()
    told = ", ".join(f"{row.statistic} ± {number(row.standard_error)}" for row in hidden)
    return (
        f"{world.graph.n:,} people at ε = {epsilon}: {told}: nothing but noise. Ask more people, or for a larger "
        "--epsilon",
    )


def edges_standard_error(people: int, epsilon: Number, trust: Trust = USER) -> float:
    """The standard error of the number of edges where nothing is public, from public numbers alone.

    USER: half the sum of as many discrete Laplace noises at ε/2 as there are people. POSITION: a score of variance
    e^ε/(e^ε − 1)² at each of n(n − 1)/2 positions.
    """
    loss = float(parse_epsilon(epsilon))
    if trust is POSITION:
        return math.sqrt(people * (people - 1) / 2 * math.exp(loss)) / math.expm1(loss)
    alpha = math.exp(-loss / 2)
    return math.sqrt(people * 2 * alpha) / (1 - alpha) / 2


def feasibility(people: int, epsilon: Number, trust: Trust = USER) -> str:
    """One sentence on what so many people can tell at this ε: how far off the number of edges will be."""
    error = edges_standard_error(people, epsilon, trust)
    ties = 2 * HIDDEN * error / people
    verdict = (
        "nothing but noise" if ties > (people - 1) / 4 else f"noise where people have fewer than {ties:.2g} ties each"
    )
    return f"{people:,} people at ε = {epsilon}: edges ± {number(error)}, {verdict}."
