"""What a visibility policy tells by itself: how well it predicts edges, against policies dealt out anew.  [LEAK.1-5]"""

import math
from collections.abc import Hashable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.audit.policy_features import (
    CELLS,
    AskedRule,
    PolicyFeatures,
    policy_features,
    scope_grounds,
)
from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes, keyed_random_bytes, seeded_key
from visibility_aware_edge_ldp.public.node_rules import Attributes
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.rules import Names
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.truth.graph import Graph

Ints = npt.NDArray[np.int64]
Bits = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
PublicAttributes = Mapping[Hashable, Mapping[str, Hashable]]
# The chance that a policy which has nothing to do with the edges is flagged.  [LEAK.1]
FALSE_ALARM = 0.005
# With fewer ways to deal a policy out anew its chance cannot be as small as that, whatever it tells.  [LEAK.4]
FEWEST_DEALS = round(1 / FALSE_ALARM)
FLAGGED, PASSED, UNTESTED = "flagged", "passed", "could not be tested"
# In larger rosters so many users are drawn, and all is measured among them.
MOST_USERS = 2048
# So many edges, and so many non-edges, are looked at; their sampling error is at most 0.005.
SAMPLE = 10_000
LEARNED = "what like positions hold elsewhere"
OPENNESS = "open positions hold edges more or less often"
# Deals are counted up to here; a roster of some thousand users has more than a number can hold.
MANY_DEALS = 10**9


@dataclass(frozen=True)
class Leak:
    """How well a policy predicts edges, and whether that is more than its public grounds explain.

    ``predictor`` is what of the policy alone tells edges of non-public positions from non-edges best; ``auc`` its
    AUC (½ tells nothing), with the 95 % ``interval`` for the positions that were sampled; ``explained`` its mean
    AUC when the policy is dealt out anew among users of equal declared attributes. ``openness`` is the AUC of the
    class itself over all positions, public ones included. ``chance``, a p-value, is how often policies dealt out
    anew stand out as much as this one, by ``unexplained``, the predictor that stood out most. Of the users the
    share ``movable`` could be exchanged, in so many ``deals``, counted up to 10^9. ``verdict`` is ``"flagged"``,
    ``"passed"``, or ``"could not be tested"`` where there are too few deals to flag anything.
    """

    predictor: str
    auc: float
    interval: tuple[float, float]
    openness: float
    explained: float
    chance: float
    movable: float
    deals: int
    unexplained: str
    verdict: str
    advice: str

    @property
    def flagged(self) -> bool:
        """Whether the policy goes with the edges more than its grounds explain, or says itself that it was made so."""
        return self.verdict == FLAGGED

    @property
    def passed(self) -> bool:
        """Whether it was tested and not flagged."""
        return self.verdict == PASSED

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**asdict(self), "flagged": self.flagged, "passed": self.passed}


@dataclass(frozen=True, eq=False)
class Sample:
    """Positions of the graph, edges and non-edges, drawn without looking at the policy."""

    u: Ints = field(repr=False)
    v: Ints = field(repr=False)
    joined: Bits = field(repr=False)


def leak(
    graph: Graph,
    policy: VisibilityPolicy,
    attributes: PublicAttributes | None = None,
    *,
    shuffles: int = 199,
    sample: int = SAMPLE,
    seed: int | str = 0,
) -> Leak:
    """Measure what the policy alone tells about the edges; of a policy with a scope, what the worse of the two tells.

    Parameters
    ----------
    attributes
        What is declared to be public of each user, and may have decided the policy. Whatever it explains is not
        flagged; see [LEAK.2] for what a declaration is worth.
    shuffles
        How often the policy is dealt out anew; 199 is the least that can flag at the stated false-alarm rate.
    """
    if shuffles < 1 / FALSE_ALARM - 1:
        raise BadInput(f"{shuffles} shuffles can flag nothing; use at least {1 / FALSE_ALARM - 1:.0f}.")
    if policy.scope is not None:
        return _of_both(graph, policy, attributes or {}, shuffles=shuffles, sample=sample, seed=seed)
    coins = keyed_random_bytes(seeded_key(seed, "leak"))
    users = np.sort(_shuffled(graph.n, coins)[:MOST_USERS])
    resolved, part = policy.resolved(graph.names, graph.degrees), graph.induced(users)
    features, chosen = policy_features(resolved, graph.names, users), sample_positions(part, sample, coins)
    groups = attribute_groups(part.names, attributes)
    tables = [aucs(features, chosen, np.arange(part.n))]
    tables += [aucs(features, chosen, dealt_anew(groups, coins)) for _ in range(shuffles)]
    return _judged(policy, features, chosen, np.array(tables), groups)


def _of_both(graph: Graph, policy: VisibilityPolicy, attributes: PublicAttributes, **options: Any) -> Leak:
    """A policy and its scope, each by itself: the one that is flagged, else the one that could not be tested.  [LEAK.5]

    The scope may go by the policy, by public friend lists and by what is declared.
    """
    chosen = policy.resolved(graph.names, graph.degrees)
    grounds = scope_grounds(chosen, graph.names, graph.edges)
    known = {name: {**grounds[name], **attributes.get(name, {})} for name in graph.names}
    asked = VisibilityPolicy.of(AskedRule(chosen.rule))
    found = leak(graph, asked, known, **options), leak(graph, policy.without_scope, attributes, **options)
    return min(found, key=lambda each: (FLAGGED, UNTESTED, PASSED).index(each.verdict))


def aucs(features: PolicyFeatures, sample: Sample, holder: Ints) -> list[float]:
    """The AUC of each predictor where user i has the place of ``holder[i]`` in the policy; openness comes last."""
    u, v = holder[sample.u], holder[sample.v]
    classes = features.classes(u, v)
    hidden = classes != Visibility.PUBLIC
    found = [auc(scores[hidden], sample.joined[hidden]) for scores in features.scores(u, v, classes)]
    cells, taught = features.cells(u, v, classes), np.arange(u.size) % 2 == 0
    rates = _rates(cells[taught & hidden], sample.joined[taught & hidden])
    learned = auc(rates[cells[~taught & hidden]], sample.joined[~taught & hidden])
    return [*found, learned, auc(-classes.astype(np.int64), sample.joined)]


def auc(scores: npt.NDArray[np.int64] | Floats, joined: Bits) -> float:
    """The chance that an edge scores above a non-edge, ties by halves (Mann–Whitney); ½ where one side is empty."""
    ones, zeros = scores[joined], np.sort(scores[~joined])
    if not ones.size or not zeros.size:
        return 0.5
    below = np.searchsorted(zeros, ones, side="left").sum(dtype=np.float64)
    up_to = np.searchsorted(zeros, ones, side="right").sum(dtype=np.float64)
    return float(below + up_to) / (2.0 * ones.size * zeros.size)


def _rates(cells: Ints, joined: Bits) -> Floats:
    """How often positions of each cell hold an edge, drawn a little towards the mean of all."""
    total, edges = np.bincount(cells, minlength=CELLS), np.bincount(cells[joined], minlength=CELLS)
    return np.asarray((edges + joined.mean() if joined.size else edges) / (total + 1), np.float64)


def standard_error(value: float, edges: int, others: int) -> float:
    """Of an AUC over so many sampled positions, at most: sqrt(A(1 − A)/min) (Birnbaum and Klose 1957)."""
    return float(np.sqrt(value * (1 - value) / max(1, min(edges, others))))


def sample_positions(graph: Graph, most: int, coins: RandomBytes) -> Sample:
    """All positions of a small graph; else up to ``most`` edges and as many non-edges, uniformly."""
    if graph.n * (graph.n - 1) // 2 <= 2 * most:
        u, v = np.triu_indices(graph.n, 1)
        return Sample(u.astype(np.int64), v.astype(np.int64), _has_edge(graph, u, v))
    edges = graph.edges[np.sort(_shuffled(graph.m, coins)[:most])].astype(np.int64)
    drawn = (_words(coins, 4 * most) % np.uint64(graph.n)).astype(np.int64).reshape(2, -1)
    pairs = np.unique(np.sort(drawn, axis=0), axis=1)
    free = pairs[:, (pairs[0] < pairs[1]) & ~_has_edge(graph, *pairs)]
    free = free[:, _shuffled(free.shape[1], coins)[:most]]
    joined = np.arange(len(edges) + free.shape[1]) < len(edges)
    return Sample(np.concatenate([edges[:, 0], free[0]]), np.concatenate([edges[:, 1], free[1]]), joined)


def attribute_groups(names: Names, attributes: PublicAttributes | None) -> Ints:
    """A number for each user: equal for those whose declared attributes are all equal."""
    table = attributes or {}
    rows = [tuple(sorted(table.get(name, {}).items(), key=lambda item: item[0])) for name in names]
    place = {row: i for i, row in enumerate(dict.fromkeys(rows))}
    return np.array([place[row] for row in rows], dtype=np.int64)


def stated_attributes(policy: VisibilityPolicy) -> PublicAttributes | None:
    """The columns that the policy's own rules read, for whoever can vouch that they are public; None without rules."""
    if not isinstance(policy.rule, Attributes):
        return None
    columns = sorted({rule.column for rule in policy.rule.rules})
    return {name: {column: row.get(column) for column in columns} for name, row in policy.rule.table.items()}


def dealt_anew(groups: Ints, coins: RandomBytes) -> Ints:
    """A uniform permutation of the users within each group."""
    home, away = np.argsort(groups, kind="stable"), np.lexsort((_words(coins, groups.size), groups))
    holder = np.empty(groups.size, np.int64)
    holder[home] = away
    return holder


def standing_out(table: Floats) -> Floats:
    """(policies, predictors): how far each AUC is from the mean of its column, in the column's deviations.  [LEAK.1]"""
    spread = table.std(axis=0)
    # What no exchange can move stands out nowhere; sums of equal numbers differ by rounding.
    return np.asarray(np.abs(table - table.mean(axis=0)) / np.where(spread > 1e-12, spread, np.inf))


def _judged(policy: VisibilityPolicy, features: PolicyFeatures, sample: Sample, table: Floats, groups: Ints) -> Leak:
    stands, names = standing_out(table), [*features.names, LEARNED, OPENNESS]
    chance = float((stands.max(axis=1) >= stands[0].max() - 1e-9).mean())
    best, most = int(np.argmax(np.abs(table[0, : len(features.names)] - 0.5))), int(np.argmax(stands[0]))
    turned = table[:, best] if table[0, best] >= 0.5 else 1 - table[:, best]
    hidden = features.classes(sample.u, sample.v) != Visibility.PUBLIC
    error = standard_error(float(turned[0]), *np.bincount(sample.joined[hidden], minlength=2))
    interval = (max(0.0, float(turned[0]) - 1.96 * error), min(1.0, float(turned[0]) + 1.96 * error))
    hides, sizes, ways = bool(hidden.any()), np.bincount(groups), deals(groups)
    tested = PASSED if hides and ways >= FEWEST_DEALS else UNTESTED
    verdict = FLAGGED if policy.is_oracle or chance <= FALSE_ALARM else tested
    return Leak(
        names[best],
        float(turned[0]),
        interval,
        float(table[0, -1]),
        float(turned[1:].mean()),
        chance,
        float((sizes[groups] > 1).mean()) if groups.size else 0.0,
        ways,
        names[most],
        verdict,
        _advice(policy, verdict, hides),
    )


def _advice(policy: VisibilityPolicy, verdict: str, hides: bool) -> str:
    if policy.is_oracle:
        return "The policy is an oracle: it was chosen by looking at private edges; use it in simulations only."
    what = "scope" if isinstance(policy.rule, AskedRule) else "policy"
    if verdict == FLAGGED:
        return (
            f"The {what} goes with the edges more than what was declared explains: name the public attributes that "
            "decided it, or do not use it, for it tells about edges whatever the noise."
        )
    if verdict == UNTESTED and not hides:
        return (
            "The policy could not be tested: it hides nothing, because every position that was looked at is PUBLIC. "
            "Check the rule and the values that it compares with."
        )
    if verdict == UNTESTED:
        return (
            f"The {what} could not be tested: too few users have equal declared attributes to be exchanged in "
            f"{FEWEST_DEALS} ways, so nothing could be flagged. Declare fewer attributes, or coarser ones, so that at "
            "least 6 users share theirs."
        )
    return f"The {what} tells no more about edges than its declared grounds do, as far as this test can see."


def deals(groups: Ints) -> int:
    """In how many ways users can be exchanged within their groups, counted up to ``MANY_DEALS``.  [LEAK.4]"""
    ways = 1
    for size in np.bincount(groups):
        ways = min(MANY_DEALS, ways * math.factorial(min(int(size), 13)))
    return ways


def _has_edge(graph: Graph, u: Ints, v: Ints) -> Bits:
    keys = graph.edges[:, 0].astype(np.int64) * graph.n + graph.edges[:, 1]
    wanted = np.asarray(u, np.int64) * graph.n + v
    place = np.minimum(np.searchsorted(keys, wanted), max(keys.size - 1, 0))
    return np.asarray(keys[place] == wanted) if keys.size else np.zeros(wanted.size, np.bool_)


def _shuffled(count: int, coins: RandomBytes) -> Ints:
    return np.argsort(_words(coins, count)).astype(np.int64)


def _words(coins: RandomBytes, count: int) -> npt.NDArray[np.uint64]:
    return np.frombuffer(coins(8 * count), dtype="<u8").astype(np.uint64)
