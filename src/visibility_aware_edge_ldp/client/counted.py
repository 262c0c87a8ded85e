"""USER degrees and groups from numbers that were counted already: the same reports as from the lists.  [DEGREE.0-3]

For simulations whose lists do not fit into memory. Where all positions are of one class, what a user reports is the
length of its list, or how many of its friends are in each group, plus noise: nothing else of the list is used.
"""

from visibility_aware_edge_ldp.client.degrees import DegreeClient, Ints
from visibility_aware_edge_ldp.client.groups import GroupClient
from visibility_aware_edge_ldp.client.reporter import Client, Purse
from visibility_aware_edge_ldp.client.views import ListCounts
from visibility_aware_edge_ldp.errors import BadInput
from visibility_aware_edge_ldp.public.surveys.degrees import DegreeSurvey
from visibility_aware_edge_ldp.public.view import PublicView


class _Counted(DegreeClient):
    """Users whose numbers of friends were counted from a stream of edges, each listed once.  [DEGREE.0]"""

    _view: ListCounts  # type: ignore[assignment]

    def __init__(self, view: ListCounts, public: PublicView, purse: Purse) -> None:
        if not public.classes.is_constant or public.policy.scope is not None or public.people is not None:
            raise BadInput("Counted lists do not tell friends of several classes apart; let the lists answer.")
        beyond = view.start < 0 or view.start + view.count > public.n
        if beyond or (view.counts < 0).any() or (view.counts.sum(axis=0) >= max(public.n, 1)).any():
            raise BadInput(
                "Somebody has more friends than there are others, so an edge was listed twice; list it once."
            )
        Client.__init__(self, view, public, purse)  # type: ignore[misc]

    def counts(self, survey: DegreeSurvey) -> Ints:
        """(numbers, users): what was counted.  [DEGREE.1]"""
        return self._view.counts


class CountedDegreeClient(_Counted):
    """Users who report how many friends they have.  [DEGREE.0-3]"""


class CountedGroupClient(_Counted, GroupClient):
    """Users who report how many friends they have in each public group.  [GROUPS.0-3]"""
