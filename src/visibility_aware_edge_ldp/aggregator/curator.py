"""CURATOR: what everybody can make of the centre's answers.  [CENTRE.1]"""

from collections.abc import Callable
from dataclasses import replace
from math import comb

from visibility_aware_edge_ldp.aggregator.collection import public_graph
from visibility_aware_edge_ldp.aggregator.estimate import Estimate, Interval
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.public.statistic import exact, star_size
from visibility_aware_edge_ldp.public.surveys.curator import CuratorReport, CuratorSurvey
from visibility_aware_edge_ldp.public.view import PublicView


def estimate(
    survey: CuratorSurvey,
    view: PublicView,
    report: CuratorReport,
    standard_deviation: float,
    reach: Callable[[float], int],
) -> Estimate:
    """The answer as an estimate; its spread is given by the centre, or known where sensitivity is constant."""
    if report.survey != survey.identity or not 0 <= report.index < len(survey.queries):
        raise ProtocolViolation("An answer to another survey or another question was sent here.")
    query = survey.queries[report.index]

    def limits(level: float) -> Interval:
        half = reach(level)
        return float(report.value - half), float(report.value + half)

    releases = (replace(survey.release(report.index + 1), transcript=report.mark),)
    return Estimate(query.statistic, float(report.value), standard_deviation**2, releases, limits=limits)


def bounds(view: PublicView, statistic: str) -> tuple[int, int]:
    """What everybody knows of a count: at least its public part, at most that of a complete graph.  [CENTRE.1]

    An answer moved between the two is a separate figure, because it is no longer unbiased.
    """
    n, k = view.n, star_size(statistic)
    most = {"edges": comb(n, 2), "max_degree": n - 1, "triangles": comb(n, 3)}
    top = n * comb(n - 1, k) if k is not None else most[statistic]
    return int(exact(public_graph(view), statistic)), top
