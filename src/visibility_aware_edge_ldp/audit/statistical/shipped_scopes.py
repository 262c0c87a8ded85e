"""Runs of the real clients of USER inside a scope: an edge inside tells its ε, an edge outside nothing.  [SCOPE.2]"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np

from visibility_aware_edge_ldp.audit.engine.findings import Audit
from visibility_aware_edge_ldp.audit.protocols.scope import NOTHING, uncut
from visibility_aware_edge_ldp.audit.statistical import shipped_lists
from visibility_aware_edge_ldp.audit.statistical.lower_bound import ALL, paced
from visibility_aware_edge_ldp.audit.statistical.shipped_lists import PRIVATE, Pairs
from visibility_aware_edge_ldp.client.histogram import HistogramClient
from visibility_aware_edge_ldp.privacy import Guarantee, OneEdge
from visibility_aware_edge_ldp.public.scope import SameValue
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility

INSIDE, OUTSIDE = "scope, user histogram, inside", "scope, user histogram, outside"


@dataclass(frozen=True)
class ScopedPairs(Pairs):
    """In each world two users, perhaps friends; the scope has everybody's position with one neighbour by number.

    The two users of a world are such neighbours, or ``outside`` they are not.
    """

    outside: bool = False

    @property
    def claimed(self) -> Guarantee[OneEdge]:
        inside = super().claimed
        return Guarantee(OneEdge, Fraction(NOTHING)) if self.outside else inside

    def public(self, nodes: int) -> PublicView:
        return _by_neighbours(self.kind, nodes, int(self.outside))


@lru_cache(maxsize=4)
def _by_neighbours(kind: Visibility, nodes: int, shift: int) -> PublicView:
    scope = SameValue("pair", (np.arange(nodes) + shift) // 2)
    return shipped_lists.same_class(kind, nodes).within(scope)


def audits(runs: int) -> tuple[Audit, ...]:
    """The audits with so many runs a side."""
    histogram = partial(ScopedPairs, PRIVATE, shipped_lists.one_bin, shipped_lists.bins)
    return (
        paced(INSIDE, [histogram()], runs, ALL),
        paced(OUTSIDE, [histogram(outside=True)], runs, ALL),
    )


def mutants(runs: int) -> tuple[Audit, ...]:
    """A client whose histogram has its friends outside too."""
    holders = partial(shipped_lists.bins, client=uncut(HistogramClient))
    broken = "A client counts its friends outside the scope too."
    shipped = [ScopedPairs(PRIVATE, shipped_lists.one_bin, holders, outside=True)]
    return (paced("friends outside the scope", shipped, runs, ALL, broken, OUTSIDE),)
