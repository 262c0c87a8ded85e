"""NEIGHBOURHOOD (a): users who see two steps far count the triangles they own, and add noise.  [OWNER.1-6]"""

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.client.reporter import Bits, Client, Purse, who_takes_part
from visibility_aware_edge_ldp.client.views import Edges, TwoHop
from visibility_aware_edge_ldp.compute import backend
from visibility_aware_edge_ldp.compute.plain.common_neighbours import RisingEdges
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import sample_each
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes
from visibility_aware_edge_ldp.public.surveys import neighbourhood
from visibility_aware_edge_ldp.public.surveys.degrees import DegreeSurvey
from visibility_aware_edge_ldp.public.surveys.neighbourhood import NeighbourhoodReport, NeighbourhoodSurvey, OwnerPlan
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import Visibility

Ints = npt.NDArray[np.int64]

# Weights are whole numbers of 2^-40; the square root of that splits them for exact sums.
_HALF = 1 << 20
WEIGHT_ONE = _HALF * _HALF
# Counts stay below 2^60 and noise is cut beyond 2^62, so what is sent is a function of the exact sum.  [OWNER.6]
_SENT_AT_MOST = 1 << 61


class NeighbourhoodClient(Client[NeighbourhoodSurvey, TwoHop, NeighbourhoodReport]):
    """Users who each see their own neighbourhood: their views, their purse and what they have answered.

    ``first`` is the survey of degrees that these users answered, and what they reported, public friends included.
    Bounds that are to be believed are compared with it; the other guards keep their promise whatever the bounds are.
    """

    def __init__(
        self, view: TwoHop, public: PublicView, purse: Purse, first: tuple[DegreeSurvey, Ints] | None = None
    ) -> None:
        _check_edges(view, public.n)
        super().__init__(view, public, purse)
        self._first = first

    def verify(self, survey: NeighbourhoodSurvey, round_number: int) -> NeighbourhoodSurvey:
        """Refuse a plan for other users too and, where they are believed, bounds below the users' own reports."""
        super().verify(survey, round_number)
        public = self._public
        if survey.nodes != public.n or survey.plan.bounds.size != public.n:
            raise ProtocolViolation(
                f"The survey is about {survey.nodes:,} users; this client's roster has {public.n:,}."
            )
        if survey.plan.guard == neighbourhood.BELIEVED:
            self._check_bounds(survey.plan)
        return survey

    def _check_bounds(self, plan: OwnerPlan) -> None:
        """An aggregator that lowers a bound would lower the noise on this user's edges.  [OWNER.2]"""
        if self._first is None or plan.first != self._first[0]:
            raise ProtocolViolation("These users never answered the survey of degrees that the plan's bounds rest on.")
        needed = np.minimum(self._first[1] + plan.margin, self._public.n - 2)
        if (plan.bounds[self._view.users] < needed).any():
            raise ProtocolViolation("The plan's bound is below what this user's own report allows.")

    def randomize(
        self, survey: NeighbourhoodSurvey, round_number: int, random_bytes: RandomBytes, present: Bits | None
    ) -> NeighbourhoodReport:
        """How many triangles each user owns, with noise.  [OWNER.6]"""
        answered = who_takes_part(present, self._view.count)
        counts = owned_triangles(self._view.edges, self._public, survey.plan)[self._view.users]
        noise = sample_each(survey.loss, survey.plan.sensitivities[self._view.users], random_bytes)
        values = np.where(answered, np.clip(counts + noise, -_SENT_AT_MOST, _SENT_AT_MOST), 0)
        return NeighbourhoodReport(survey.identity, self._view.start, answered, values)


def owned_triangles(edges: Edges, public: PublicView, plan: OwnerPlan) -> Ints:
    """How many triangles with a non-public side each user owns, in the plan's units; right for those who see enough.

    A triangle is owned by its user of highest rank.  [OWNER.1]
    """
    kept = edges[_kept(edges, plan)] if plan.guard == neighbourhood.CLIPPED else edges
    rising = RisingEdges.of(kept, plan.ranks)
    hidden = (public.classes.of(kept[:, 0], kept[:, 1]) != Visibility.PUBLIC)[rising.source]
    weights = _weights(edges, plan)
    sums = backend.kernels("common_neighbours").owned_sums(rising, hidden, weights, _HALF)
    whole, broken = sums[:, plan.ranks].astype(np.object_)
    counts: Ints = ((whole * _HALF + broken) * plan.unit // WEIGHT_ONE).astype(np.int64)
    return counts


def _weights(edges: Edges, plan: OwnerPlan) -> Ints:
    """By rank, in parts of WEIGHT_ONE: 1, or bound/degree for a user with more friends than its bound.  [OWNER.3]"""
    weights = np.full(plan.bounds.size, WEIGHT_ONE)
    if plan.guard == neighbourhood.WEIGHTED:
        degrees = np.bincount(edges.ravel(), minlength=plan.bounds.size)
        fair = np.minimum(WEIGHT_ONE, plan.bounds * WEIGHT_ONE // np.maximum(degrees, 1))
        # Users without a bound of their own weigh nothing, so that what is missed is known: [OWNED.3].
        weights[plan.ranks] = np.where(plan.reported, fair, 0)
    return weights


def _kept(edges: Edges, plan: OwnerPlan) -> Bits:
    """Edges that neither end forgets: a user keeps its friends of highest rank, as many as its bound.  [OWNER.4]"""
    holder, friend = np.concatenate([edges, edges[:, ::-1]]).T
    order = np.lexsort((-plan.ranks[friend], holder))
    starts = np.concatenate([[0], np.cumsum(np.bincount(edges.ravel(), minlength=plan.bounds.size))])
    remembered = np.empty(holder.size, np.bool_)
    remembered[order] = np.arange(holder.size) - starts[holder[order]] < plan.bounds[holder[order]]
    return remembered[: len(edges)] & remembered[len(edges) :]


def _check_edges(view: TwoHop, nodes: int) -> None:
    """One bit is one row: an edge named twice would count twice.  [OWNER.0]"""
    edges = view.edges
    if view.start < 0 or view.count < 0 or view.start + view.count > nodes:
        raise BadInput(f"A roster of {nodes:,} users has no users {view.start} to {view.start + view.count - 1}.")
    if len(edges) and (edges.min() < 0 or edges.max() >= nodes or (edges[:, 0] >= edges[:, 1]).any()):
        raise BadInput("A neighbourhood's edges must be rows u < v of users of the roster.")
    keys = edges[:, 0].astype(np.int64) * nodes + edges[:, 1]
    if (np.diff(keys) <= 0).any():
        raise BadInput("A neighbourhood's edges must be sorted, and each named once.")
