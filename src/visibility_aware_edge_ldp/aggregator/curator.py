"""CURATOR: what everybody can make of the centre's answers.  [CENTRE.1-2]"""

from collections.abc import Callable
from dataclasses import replace
from math import comb

from visibility_aware_edge_ldp.aggregator.collection import public_graph
from visibility_aware_edge_ldp.aggregator.estimate import Estimate, Interval
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.public.statistic import exact, star_size
from visibility_aware_edge_ldp.public.surveys.curator import BoundQuery, CuratorReport, CuratorSurvey
from visibility_aware_edge_ldp.public.view import PublicView


def estimate(
    survey: CuratorSurvey,
    view: PublicView,
    report: CuratorReport,
    standard_deviation: float,
    reach: Callable[[float], int],
) -> Estimate:
    """The answer as an estimate; its spread is given by the centre, or known where sensitivity is constant."""
    _check(survey, report)
    query = survey.asked[report.index]
    if isinstance(query, BoundQuery):
        raise ProtocolViolation("A bound was sent where an answer is needed.")

    def limits(level: float) -> Interval:
        half = reach(level)
        return float(report.value - half), float(report.value + half)

    releases = (replace(survey.release(report.index + 1), transcript=report.mark),)
    return Estimate(query.statistic, float(report.value), standard_deviation**2, releases, limits=limits)


def published(
    survey: CuratorSurvey, report: CuratorReport, view: PublicView, told: CuratorReport | None = None
) -> Estimate:
    """The answer as an estimate, from released numbers alone; ``told`` is the bound on its noise.  [CENTRE.2]"""
    _check(survey, report)
    query = survey.queries[report.index]
    if query.has_constant_sensitivity:
        noise = query.constant_noise(view)
        if noise is None:
            return estimate(survey, view, report, 0.0, lambda level: 0)
        return estimate(survey, view, report, noise.variance**0.5, lambda level: noise.interval(level)[1])
    if told is None:
        raise ProtocolViolation(f"No bound was told for {query.statistic}; its interval is not for release.")
    _check(survey, told)
    bound = survey.asked[told.index]
    if not isinstance(bound, BoundQuery) or bound.of != query:
        raise ProtocolViolation("The bound is about another question than the answer.")
    noisy, value = bound.noisy_bound, told.value
    found = estimate(survey, view, report, noisy.variance(value) ** 0.5, lambda level: noisy.half_width(value, level))
    paid = replace(survey.release(told.index + 1), transcript=told.mark)
    return replace(found, releases=(*found.releases, paid))


def _check(survey: CuratorSurvey, report: CuratorReport) -> None:
    if report.survey != survey.identity or not 0 <= report.index < survey.rounds:
        raise ProtocolViolation("An answer to another survey or another question was sent here.")


def bounds(view: PublicView, statistic: str) -> tuple[int, int]:
    """What everybody knows of a count: at least its public part, at most that of a complete graph.  [CENTRE.1]

    An answer moved between the two is a separate figure, because it is no longer unbiased.
    """
    n, k = view.n, star_size(statistic)
    most = {"edges": comb(n, 2), "max_degree": n - 1, "triangles": comb(n, 3)}
    top = n * comb(n - 1, k) if k is not None else most[statistic]
    return int(exact(public_graph(view), statistic)), top
