"""Mechanisms by themselves, drawn many times: a number that an edge moves as far as its promise allows.  [SHOWN.2]

Shipments as in ``shipped_bytes``, of one number each. They show that the samplers draw what their laws say where no
client stands between them and the audit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

import numpy as np

from visibility_aware_edge_ldp.evaluation.audit.events import Columns, Ints
from visibility_aware_edge_ldp.evaluation.audit.exact_smooth import WorstPair
from visibility_aware_edge_ldp.evaluation.audit.shipped_bytes import Bits, fresh_coins
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.entropy import Coins
from visibility_aware_edge_ldp.mechanisms.hadamard import HadamardResponse
from visibility_aware_edge_ldp.mechanisms.many_laplaces import sample_each
from visibility_aware_edge_ldp.mechanisms.power_noise import SmoothPower
from visibility_aware_edge_ldp.mechanisms.randomized_response import RandomizedResponse
from visibility_aware_edge_ldp.mechanisms.smooth_noise import SmoothNoise
from visibility_aware_edge_ldp.privacy.guarantee import Guarantee
from visibility_aware_edge_ldp.privacy.relation import OneEdge
from visibility_aware_edge_ldp.public.visibility import Visibility

Draw = Callable[[Bits, Coins], Ints]
WEIGHTS = {Visibility.PRIVATE: 1, Visibility.FRIEND_VISIBLE: 2}
"""By how many units of the bound an edge of each class moves a number."""
SENSITIVITY, BINS, BOUND = 3, 4, 2


@dataclass(frozen=True)
class Drawn:
    """One number a world, by a mechanism that is told whether the edge is there."""

    kind: Visibility
    claimed: Guarantee[OneEdge]
    draw: Draw = field(repr=False)

    def send(self, edges: Bits, seed: str) -> Columns:
        """What was drawn."""
        return self.draw(edges, fresh_coins(seed, "mechanism"))[:, None]


def randomized_response(kind: Visibility, mechanism: type[RandomizedResponse] = RandomizedResponse) -> Drawn:
    """The bit itself."""
    loss = Fraction(WEIGHTS[kind])
    answer = mechanism(loss).randomize
    return Drawn(kind, Guarantee(OneEdge, loss), lambda edges, coins: answer(edges, coins).astype(np.int64))


def discrete_laplace(kind: Visibility) -> Drawn:
    """A count that a PRIVATE edge moves by the sensitivity."""
    law = DiscreteLaplace(Fraction(1), SENSITIVITY)
    return Drawn(
        kind, _laplace_price(kind), lambda edges, coins: _moved(edges, kind) + law.sample_many(len(edges), coins)
    )


def many_laplaces(kind: Visibility) -> Drawn:
    """The same by the sampler that takes a sensitivity for each number."""

    def draw(edges: Bits, coins: Coins) -> Ints:
        return _moved(edges, kind) + sample_each(Fraction(1), np.full(len(edges), SENSITIVITY), coins)

    return Drawn(kind, _laplace_price(kind), draw)


def _laplace_price(kind: Visibility) -> Guarantee[OneEdge]:
    return Guarantee(OneEdge, Fraction(WEIGHTS[kind]))


def _moved(edges: Bits, kind: Visibility) -> Ints:
    return edges.astype(np.int64) * SENSITIVITY * WEIGHTS[kind]


def hadamard_response(kind: Visibility) -> Drawn:
    """The bin of a degree that the edge changes."""
    answer = HadamardResponse(Fraction(1), BINS).randomize
    return Drawn(kind, Guarantee(OneEdge, Fraction(1)), lambda edges, coins: answer(edges.astype(np.int64), coins))


def smooth(noise: SmoothNoise, kind: Visibility) -> Drawn:
    """A value and its bound, both moved by an edge as far as a smooth bound allows."""
    pair = WorstPair(noise, WEIGHTS[kind], BOUND, Decimal(1))
    laws = [noise.law(bound) for bound in pair.bounds]

    def draw(edges: Bits, coins: Coins) -> Ints:
        drawn = np.empty(len(edges), np.int64)
        for edge, law in enumerate(laws):
            chosen = np.flatnonzero(edges == bool(edge))
            drawn[chosen] = law.sample_many(chosen.size, coins) if chosen.size else 0
        return drawn + edges * pair.shift

    return Drawn(kind, Guarantee(OneEdge, *noise.price(pair.weight)), draw)


def many_powers(kind: Visibility, narrower: float = 1.0) -> Drawn:
    """As power noise on a smooth bound, by the sampler that takes a bound for each number, which users' sums use."""
    noise = SmoothPower(Fraction(1))
    pair = WorstPair(noise, WEIGHTS[kind], BOUND, Decimal(1))
    # Clients round their bounds up; here the wider one is rounded down, so that no more is moved than is paid for.
    bounds = np.nextafter(np.array([float(bound) for bound in pair.bounds]) / narrower, [np.inf, 0.0])

    def draw(edges: Bits, coins: Coins) -> Ints:
        return noise.sample_each(bounds[edges.astype(np.int64)], coins) + edges * pair.shift

    return Drawn(kind, Guarantee(OneEdge, *noise.price(pair.weight)), draw)
