"""A plan in words and short tables: can this be afforded, and whom must one trust?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from visibility_aware_edge_ldp.aggregator.node_statistics.second_look import IN_CHUNKS
from visibility_aware_edge_ldp.aggregator.sample import bytes_needed
from visibility_aware_edge_ldp.aggregator.streamed import counts_suffice
from visibility_aware_edge_ldp.compute.threads import number_of_cores
from visibility_aware_edge_ldp.evaluation.plan import base
from visibility_aware_edge_ldp.evaluation.plan.base import Subsample
from visibility_aware_edge_ldp.public.statistic import TRIANGLES, with_sources
from visibility_aware_edge_ldp.public.statistic import statistic as registered
from visibility_aware_edge_ldp.public.trust import POSITION, TRUSTS
from visibility_aware_edge_ldp.simulation.chunks import MEASURED, ChunksForecast
from visibility_aware_edge_ldp.simulation.memory import needed_bytes, size

if TYPE_CHECKING:
    from visibility_aware_edge_ldp.evaluation.plan.planner import Plan
    from visibility_aware_edge_ldp.evaluation.plan.predictions import Prediction
    from visibility_aware_edge_ldp.evaluation.plan.scenarios import Publicity, Reached

Table = tuple[tuple[str, ...], list[tuple[str, ...]]]

LOSS = "ε is the loss per PRIVATE edge against all reports; what one trust model answers together shares it."
UNKNOWN, FEW_NUMBERS = "?", "‡"
LEGEND = {
    "*": "mostly noise: ± the standard error, which is more than a third of the value, and no mean error",
    "°": "hardly any noise: the error is 0 or comes in steps, and ± is the standard error",
    "†": "a centre's small pilot decides how it splits ε, and is noisy: ± the standard error; most runs do better",
    "-": "no closed form; simulate it with `va-edge-ldp compare`",
    UNKNOWN: "a plan cannot tell which ε is enough: no relative error is known; simulate with `va-edge-ldp compare`",
    FEW_NUMBERS: "rests on few numbers and may miss by 15 % and more: a few users or one pair decide it, or degrees or "
    "triangles were made up from the numbers that you gave (--family FILE with a graph like yours says more)",
}
# From here on a plan says what could be left out: beyond so many words of work, about six seconds, or so much memory.
MANY_NODES, FEW_WORDS, MUCH_MEMORY = 20_000, 2 * 10**12, 4 * 10**9
WORDS_A_SECOND = 3.3e11
# From so many nodes on it says what a run chunk by chunk takes, with this machine's cores and with so many workers.
CHUNKS_PAY, WORKERS = 100_000, (16, 64)
SHARES = ("0.5", "0.2", "0.1", "0.05", "0.02", "0.01", "0.005", "0.002", "0.001")


def answer(plan: Plan) -> list[str]:
    """The first lines: yes or no, whom to trust, and what ε each needs."""
    rows = {row.trust: row for row in plan.predictions if (row.statistic, row.epsilon) == focus(plan)}
    statistic, epsilon = focus(plan)
    if plan.target_error is None:
        found = "; ".join(f"{trust} {_cell(row)}" for trust, row in rows.items())
        return [f"Mean error of {focused(plan)}: {found}."]
    reached = next(each for each in plan.targets if each.statistic == statistic)
    verdict = _verdict(rows, statistic, epsilon, plan.target_error)
    return [f"{_condition(plan, statistic)}{verdict}", *_smallest(reached)]


def opening(plan: Plan) -> list[str]:
    """What stands before the tables: the answer, what was assumed, and what could be left out."""
    return [*answer(plan), plan.assumed, *too_much(plan), *chunk_by_chunk(plan)]


def focused(plan: Plan, how: str = "") -> str:
    """What the first lines are about, in words: "triangles at ε = 1"."""
    statistic, epsilon = focus(plan)
    return f"{registered(statistic).phrase}{how} at ε = {epsilon:g}"


def subsample_note(without: Subsample) -> str:
    """What the position model leaves out, in a sentence that follows another."""
    if without.positions < 1:
        return f" Position model: a public coin draws {percent(float(without.positions))} of the positions to be asked."
    if without.work is not None and without.work < 1:
        return f" Position model: {percent(without.work)} of the triples and rows are counted."
    return ""


def scope_note(plan: Plan) -> str:
    """With a scope: what is asked, and what part of the assumed graph's counts lies inside."""
    if not plan.inside:
        return ""
    parts = ", ".join(f"{part:.2%} of {registered(name).phrase}" for name, part in plan.inside.items())
    return f" The scope asks {percent(1 - plan.public_share)} of the positions; inside lie {parts}."


def scope_dict(plan: Plan) -> dict[str, Any]:
    """The same for JSON, with what each lever does."""
    split = [each.as_dict() for each in plan.splits]
    return {"positions_asked": 1 - plan.public_share, "part_inside": dict(plan.inside), "split": split}


def too_much(plan: Plan) -> list[str]:
    """Where everything at once takes more than one machine likes: what to leave out, and what that costs."""
    if (
        plan.graph.n <= MANY_NODES
        or plan.without != base.ALL
        or POSITION.name not in {row.trust for row in plan.predictions}
    ):
        return []
    statistic, epsilon = focus(plan)
    before = plan.row(POSITION.name, statistic, str(epsilon)).standard_error
    lines = []
    for without, takes in _less(plan):
        after = plan.with_less(POSITION.name, statistic, str(epsilon), without).standard_error
        how = f"--work {without.work:g}" if without.work else f"--sample-positions {float(without.positions):.1g}"
        if before and after == after:
            lines.append(
                f"In the position model {takes}; {how} would do, with {after / before:.3g} times the standard error of "
                f"{focused(plan)}."
            )
    return lines


def forecast_of_chunks(plan: Plan) -> tuple[list[str], ChunksForecast] | None:
    """What the position model can count chunk by chunk, and what that takes; None where the graph is small."""
    asked = [name for name in plan.statistics if counts_suffice((name,), IN_CHUNKS)]
    position = POSITION.name in {row.trust for row in plan.predictions}
    if plan.graph.n < CHUNKS_PAY or plan.without != base.ALL or not position or not asked:
        return None
    stars = [name for name in with_sources(asked) if registered(name).kind == "stars"]
    return asked, ChunksForecast(plan.graph.n, plan.graph.m, len(stars))


def chunks_dict(plan: Plan) -> dict[str, Any]:
    """The same for JSON."""
    found = forecast_of_chunks(plan)
    return {} if found is None else {"in_chunks": {"statistics": found[0], **found[1].as_dict()}}


def chunk_by_chunk(plan: Plan) -> list[str]:
    """The same in a sentence, for this machine and for more workers."""
    found = forecast_of_chunks(plan)
    if found is None:
        return []
    asked, chunks = found
    here = number_of_cores()
    times = ", ".join(f"{_spell(chunks.processor_seconds / w)} with {w}" for w in dict.fromkeys((here, *WORKERS)))
    rest = [registered(name).phrase for name in plan.statistics if name not in asked]
    others = f" {', '.join(rest)} are no sums over chunks: they take a file of tiles." if rest else ""
    return [
        f"In the position model {', '.join(asked)} are counted chunk by chunk, and no answer is kept (estimate "
        f"--checkpoint FOLDER --engine dask:N): {chunks.chunks} chunks, {_spell(chunks.processor_seconds)} of one core "
        f"at {chunks.each:.2g} ns an answer (measured here just now on {MEASURED:,} answers), so {times} workers; at "
        f"most {size(chunks.worker_octets)} of memory each.{others}"
    ]


def _less(plan: Plan) -> Iterator[tuple[Subsample, str]]:
    """A part of the counting where that takes long, a part of the positions where memory ends."""
    n, words = plan.graph.n, next(each.words for each in plan.costs if each.trust == POSITION.name)
    if words > FEW_WORDS and plan.without.positions == 1:
        yield (
            Subsample(work=float(f"{FEW_WORDS / words:.1g}")),
            f"counting takes about {_spell(words / WORDS_A_SECOND)}",
        )
    needed = needed_bytes(n)
    if needed > MUCH_MEMORY:
        share = next(share for share in SHARES if bytes_needed(n, float(share)) <= MUCH_MEMORY or share == SHARES[-1])
        yield base.subsample(share), f"every position at once takes {needed / 1e9:.2g} GB of memory"


def _spell(seconds: float) -> str:
    """Seconds, minutes or hours."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 6000 else f"{seconds / 3600:.0f} hours"


def _condition(plan: Plan, statistic: str) -> str:
    """What the verdict hangs on and was not told: how many triangles friends close."""
    if not registered(statistic).over_pairs or not lacks_clustering(plan):
        return ""
    return (
        "For a made-up graph with few triangles (friendship graphs have many, and another answer: give --clustering, "
        "0.2 to 0.6): "
    )


def lacks_clustering(plan: Plan) -> bool:
    """Whether triangles are few because a graph was made up without being told how many there are."""
    return plan.made_up and not plan.clustering


def _verdict(rows: dict[str, Prediction], statistic: str, epsilon: float, target: float) -> str:
    sizes = {trust: rows[trust].likely_relative_error for trust in TRUSTS if trust in rows}
    known = {trust: size for trust, size in sizes.items() if not math.isnan(size)}
    good = [trust for trust, size in known.items() if size <= target]
    local = {trust: size for trust, size in known.items() if TRUSTS[trust].local}
    what, aim = registered(statistic).phrase, f"within {percent(target)}"
    if first := next((trust for trust in good if trust in local), None):
        return (
            f"Yes: ε = {epsilon:g} is enough for {what} {aim}, and {TRUSTS[first].trusted} "
            f"({first}: mean error {percent(rows[first].mean_relative_error)})."
        )
    best = min(local, key=lambda trust: local[trust], default=None)
    nearest = "" if best is None else f" The nearest, {best}, errs by about {percent(local[best])}."
    centre = percent(known[good[0]]) if good else ""
    if len(known) < len(sizes):
        with_centre = f" A trusted centre would err by about {centre}." if good else nearest
        return f"A plan cannot tell whether ε = {epsilon:g} is enough for {what} {aim} without a centre.{with_centre}"
    if good:
        return (
            f"At ε = {epsilon:g} only with a trusted centre, which would err by about {centre}: no local model brings "
            f"{what} {aim}.{nearest}"
        )
    return f"No: at ε = {epsilon:g} nobody brings {what} {aim}.{nearest}"


def _smallest(reached: Reached) -> list[str]:
    known = {trust: e for trust, e in reached.epsilons.items() if e is not None}
    never = [trust for trust in reached.epsilons if trust not in known and trust not in reached.unknown]
    local = sorted((e, trust) for trust, e in known.items() if TRUSTS[trust].local)
    parts = [f"{trust} {e:.3g}" for e, trust in local]
    parts += [f"with a trusted centre {e:.3g}" for trust, e in known.items() if not TRUSTS[trust].local]
    lines = [f"The smallest ε for {percent(reached.target_error)}: {', '.join(parts)}."] if parts else []
    lines += [f"Never, up to ε = 16: {', '.join(never)}."] if never else []
    for reason in dict.fromkeys(reached.unknown.values()):
        models = ", ".join(trust for trust, why in reached.unknown.items() if why == reason)
        lines.append(f"It cannot tell the smallest ε of {models} ({reason}).")
    return lines


def focus(plan: Plan) -> tuple[str, float]:
    """The statistic and the ε that the first lines are about: triangles at ε = 1 where the plan has them."""
    names, losses = plan.statistics, sorted({row.epsilon for row in plan.predictions})
    statistic = TRIANGLES.name if TRIANGLES.name in names else names[0]
    return statistic, min(losses, key=lambda e: abs(math.log(e)))


def error_table(plan: Plan) -> Table:
    """One line a trust model and statistic: the mean error at every ε, and the least possible standard error."""
    losses, (_, focused) = sorted({row.epsilon for row in plan.predictions}), focus(plan)
    head = ("trust", "statistic", *(f"ε = {loss:g}" for loss in losses), f"least at {focused:g}")
    by_key = {(row.trust, row.statistic, row.epsilon): row for row in plan.predictions}
    rows, before = [], ""
    for trust, statistic in dict.fromkeys((row.trust, row.statistic) for row in plan.predictions):
        cells = [_cell(by_key[trust, statistic, loss]) for loss in losses]
        row = by_key[trust, statistic, focused]
        least = percent(row.least / row.value) if row.least == row.least and row.value else "-"
        mark = f" {FEW_NUMBERS}" if row.from_few_numbers else ""
        rows.append((trust if trust != before else "", f"{statistic}{mark}", *cells, least))
        before = trust
    return head, rows


def _cell(row: Prediction) -> str:
    if row.holds:
        return percent(row.mean_relative_error)
    size = row.relative_standard_error
    return "-" if math.isnan(size) else f"±{percent(size)}{_mark(row)}"


def _mark(row: Prediction) -> str:
    marks = {base.MOSTLY_NOISE: "*", base.FEW_FLIPS: "°", base.MOSTLY_EXACT: "°", base.BY_LUCK: "†"}
    return next((mark for start, mark in marks.items() if row.note.startswith(start)), "")


def legend(plan: Plan) -> list[str]:
    """What the marks of the tables mean, as far as there are any, and what ε is."""
    cells = [cell for row in error_table(plan)[1] for cell in row[1:-1]]
    cells += [cell for row in target_table(plan)[1] for cell in row[1:-1] if cell == UNKNOWN]
    marks = [f"{mark} {text}." for mark, text in LEGEND.items() if any(cell.endswith(mark) for cell in cells)]
    return [*marks, LOSS]


def target_table(plan: Plan) -> Table:
    """The smallest ε of each trust model, one line a statistic."""
    models = tuple(dict.fromkeys(row.trust for row in plan.predictions))
    rows = []
    for each in plan.targets:
        found = [_epsilon(each, model) if model in each.epsilons else "-" for model in models]
        rows.append((each.statistic, *found, each.least_epsilon or "-"))
    return ("statistic", *models, "cheapest"), rows


def _epsilon(reached: Reached, trust: str) -> str:
    epsilon = reached.epsilons[trust]
    if epsilon is None:
        return UNKNOWN if trust in reached.unknown else "never"
    return f"{epsilon:.3g}"


def cost_table(plan: Plan) -> Table:
    """Bytes and work, and how long a simulated run would take on this machine; one line a trust model."""
    head = ("trust", "who reports", "bytes up", "bytes down", "words of work", "a run here")
    return head, [
        (
            each.trust,
            f"{each.reporters:,}",
            f"{each.bytes_up:,}",
            f"{each.bytes_down:,}",
            f"{each.words:.1e}",
            _time(each.seconds),
        )
        for each in plan.costs
    ]


def _time(seconds: float) -> str:
    if math.isnan(seconds):
        return "-"
    return f"about {_spell(seconds)}" if seconds >= 1 else "below 1 s"


def public_table(rows: Sequence[Publicity]) -> Table:
    """Relative standard errors as more becomes public: one line a policy, one column a trust model."""
    models = tuple(dict.fromkeys(row.trust for row in rows))
    by_key = {(row.public, row.trust): row.relative_standard_error for row in rows}
    lines = [
        (public, *(percent(by_key[public, m]) for m in models)) for public in dict.fromkeys(r.public for r in rows)
    ]
    return ("public", *models), lines


def next_steps(plan: Plan, shown: bool = False, drawn: bool = False) -> list[str]:
    """What to try next; not the effect of publicity where it is ``shown``, nor figures where they are ``drawn``."""
    steps = []
    if lacks_clustering(plan) and any(registered(name).over_pairs for name in plan.statistics):
        steps.append(
            "A made-up graph has few triangles, which makes their relative errors too large without a centre, and too "
            "small with one: give --clustering (friendship graphs have 0.2 to 0.6), or --family FILE with a graph like "
            "yours."
        )
    if not plan.public_share and not shown:
        steps.append(f"See what public profiles would buy: --more-public (for {focused(plan)}).")
    if not drawn:
        steps.append("Draw it: --output FOLDER writes figures with the lower bounds, and all numbers as JSON and CSV.")
    steps.append(f"Simulate before you ask anybody: va-edge-ldp compare GRAPH --epsilons {focus(plan)[1]:g}.")
    return steps


def percent(share: float) -> str:
    """Three digits, or two below 1 %."""
    if math.isnan(share):
        return "-"
    value = 100 * share
    if not 1e-4 <= abs(value) < 1e5:
        return "0%" if not value else f"{value:.0e}%"
    return f"{value:.0f}%" if value >= 100 else f"{value:.3g}%" if value >= 1 else f"{value:.2g}%"
