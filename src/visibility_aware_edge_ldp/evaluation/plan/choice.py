"""Which trust model errs least for what is asked, and whether anything but noise would come of it.  [PLAN.1-9]"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from visibility_aware_edge_ldp.aggregator.answers import number
from visibility_aware_edge_ldp.evaluation.plan.moment_sums import moments_of
from visibility_aware_edge_ldp.evaluation.plan.predictions import Prediction, predictions
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.privacy.parameters import Number, parse_epsilon
from visibility_aware_edge_ldp.public.statistic import FOUR_CYCLES, is_built_in
from visibility_aware_edge_ldp.public.trust import POSITION, TRUSTS, USER, Trust
from visibility_aware_edge_ldp.simulation.estimate import statistics_for

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
    wanted = statistics_for(world, USER.name, statistics)
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
    if model not in NOBODY_TRUSTED or world.graph.n > FEW or loss < LEAST:
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
