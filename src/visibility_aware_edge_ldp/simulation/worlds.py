"""A world in a simulation: what each client holds of it, who takes part, and the certificate of what was asked."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.aggregator.answers import Certificate
from visibility_aware_edge_ldp.client.views import FriendLists, PositionBits, PositionEdges
from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.mechanisms.entropy import Coins, keyed_coins, secure_coins, seeded_key
from visibility_aware_edge_ldp.model import VisibilityAwareGraph
from visibility_aware_edge_ldp.privacy.guarantee import Bill, Release
from visibility_aware_edge_ldp.public.positions import TILE, Ints, numbers, position_count
from visibility_aware_edge_ldp.public.surveys.position import PositionSurvey
from visibility_aware_edge_ldp.public.trust import Trust
from visibility_aware_edge_ldp.truth.graph import Graph

MOST_COUNTED = 200_000_000
POLICY_ASSUMPTION = "which positions are public follows from public knowledge alone"
ROSTER_ASSUMPTION = "the list of nodes is public knowledge"
CoinsFor = Callable[[str, int], Coins]
Bits = npt.NDArray[np.bool_]
USERS_PER_VIEW = 1 << 16


def check_world(world: object) -> None:
    """Refuse a graph alone: it does not say who may know what."""
    if not isinstance(world, VisibilityAwareGraph):
        raise BadInput(
            f"A world is needed, not a {type(world).__name__}: wrap the graph, as in "
            "va.VisibilityAwareGraph(graph, va.VisibilityPolicy.nothing())."
        )


def certificate(
    world: VisibilityAwareGraph,
    trust: Trust,
    releases: Iterable[Release],
    seed: int | str | None,
    response: Mapping[Any, float] | None = None,
    classes: Mapping[Any, int] | None = None,
    assumptions: tuple[str, ...] = (),
    **more: Any,
) -> Certificate:
    """The certificate of all that was asked in this world under this trust model.

    ``classes`` are how many positions of each class were asked, where not all of them were; ``more`` are other fields
    of the certificate.
    """
    counted = positions_per_class(world) if classes is None else classes
    return Certificate(
        trust=trust.title,
        trust_words=trust.promise,
        bill=Bill((*world.policy.paid, *releases)),
        paid=world.policy.paid,
        policy=str(world.policy),
        classes={str(kind): size for kind, size in counted.items() if size},
        response={str(kind): rate for kind, rate in (response or {}).items()},
        assumptions=(*assumptions_of(world), *assumptions),
        simulated=seed is not None,
        local=trust.local,
        **more,
    )


def positions_per_class(world: VisibilityAwareGraph) -> Mapping[Any, int]:
    """Positions per class, counted where there are not too many to look at each."""
    return {} if world.public.positions > MOST_COUNTED else world.public.class_sizes


def assumptions_of(world: VisibilityAwareGraph) -> tuple[str, ...]:
    """What must be public knowledge for the promise to hold."""
    return POLICY_ASSUMPTION, ROSTER_ASSUMPTION, *world.policy.assumptions, *world.graph.assumptions


def cut(graph: Graph) -> Iterator[PositionBits]:
    """The views of all positions, a run of positions at a time."""
    total = position_count(graph.n)
    octets, ones = _packed_edges(numbers(graph.n, graph.edges[:, 0], graph.edges[:, 1]))
    for start in range(0, total, TILE):
        count = min(TILE, total - start)
        packed = np.zeros((count + 7) // 8, np.uint8)
        first, last = np.searchsorted(octets, [start // 8, start // 8 + packed.size])
        packed[octets[first:last] - start // 8] = ones[first:last]
        yield PositionBits.of_packed(start, count, packed)


def _packed_edges(edges: Ints) -> tuple[Ints, npt.NDArray[np.uint8]]:
    """From the sorted numbers of edges: which octets of packed bits hold ones, and what these octets are."""
    octets = edges >> 3
    lasts = np.flatnonzero(np.append(octets[1:] != octets[:-1], octets.size > 0))
    # Different bits of one octet add up; what all edges up to each octet's last add up to is quickly had.
    sums = np.cumsum(1 << (edges & 7))[lasts]
    return octets[lasts], np.diff(sums, prepend=0).astype(np.uint8)


def cut_sample(graph: Graph, survey: PositionSurvey) -> Iterator[PositionEdges]:
    """The views of all positions, a tile of the coin at a time."""
    edges, tile = np.sort(numbers(graph.n, graph.edges[:, 0], graph.edges[:, 1])), survey.drawn.tile
    for start in range(0, survey.drawn.positions, tile):
        count = min(tile, survey.drawn.positions - start)
        inside = slice(*np.searchsorted(edges, [start, start + count]))
        yield PositionEdges(start, count, edges[inside])


def cut_lists(graph: Graph, users_per_view: int = USERS_PER_VIEW) -> Iterator[FriendLists]:
    """The friend lists of all users, so many users at a time."""
    starts, friends = backend.kernels("bitset").lists_of(graph.edges, graph.degrees)
    for first in range(0, graph.n, users_per_view):
        offsets = starts[first : min(first + users_per_view, graph.n) + 1]
        yield FriendLists(first, offsets - offsets[0], friends[offsets[0] : offsets[-1]])


def coins_for(seed: int | str | None) -> CoinsFor:
    """Coins for each (purpose, run of positions): secret without a seed, repeatable with one."""
    if seed is None:
        return lambda purpose, start: secure_coins()
    return lambda purpose, start: keyed_coins(seeded_key(seed, purpose, start))


def who_is_present(count: int, dropout: float, coins: Coins) -> Bits | None:
    """Who takes part, each by a coin of its own; None for everybody."""
    if not dropout:
        return None
    drawn = np.frombuffer(coins(4 * count), dtype="<u4")
    return drawn >= int(dropout * 2**32)
