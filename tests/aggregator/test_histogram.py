"""A collection of Hadamard responses: a fold that refuses what breaks the protocol.  [WHOLE.4]"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from visibility_aware_edge_ldp.aggregator.histogram import HistogramCollection
from visibility_aware_edge_ldp.errors import BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.privacy import Bill
from visibility_aware_edge_ldp.public.surveys.histogram import histogram_report, histogram_survey
from visibility_aware_edge_ldp.simulation.simulate import collect
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

WORLD = VisibilityAwareGraph(erdos_renyi(60, 300, 2), VisibilityPolicy("0.3", "0.3", "0.4"))
SURVEY = histogram_survey(WORLD.public, 1)
N = WORLD.graph.n
EVERYBODY = np.ones(N, bool)


def test_order_and_repetition_do_not_matter() -> None:
    columns = np.arange(N) % SURVEY.mechanism.columns
    sent = [histogram_report(SURVEY.identity, i, EVERYBODY[:20], columns[i : i + 20]) for i in (0, 20, 40)]
    one, other = (HistogramCollection(SURVEY, WORLD.public) for _ in range(2))
    for report in sent:
        one.absorb(report)
    for report in [*sent[::-1], *sent]:
        other.absorb(report)
    assert (one.histogram().value == other.histogram().value).all()
    assert one.releases == other.releases
    assert one.response_rate == 1
    assert one.histogram().value == pytest.approx(SURVEY.mechanism.counts(columns))
    assert Bill(one.histogram().releases)["PRIVATE"].epsilon == 2


def test_what_breaks_the_protocol_is_refused() -> None:
    good = histogram_report(SURVEY.identity, 0, EVERYBODY, np.zeros(N, np.int64))
    bad = {
        "another survey": replace(good, survey="0" * 64),
        "users beyond": replace(good, start=1),
        "columns beyond": histogram_report(SURVEY.identity, 0, EVERYBODY[:1], np.array([SURVEY.mechanism.columns])),
        "second": histogram_report(SURVEY.identity, 3, EVERYBODY[:1], np.array([1])),
    }
    for words, report in bad.items():
        collection = HistogramCollection(SURVEY, WORLD.public)
        collection.absorb(good)
        before = collection.releases
        with pytest.raises(ProtocolViolation, match=words):
            collection.absorb(report)
        assert collection.releases == before
    other = VisibilityAwareGraph(WORLD.graph, VisibilityPolicy.nothing())
    with pytest.raises(ProtocolViolation, match="another"):
        HistogramCollection(SURVEY, other.public)
    with pytest.raises(BadStatistic, match="Nobody"):
        HistogramCollection(SURVEY, WORLD.public).histogram()


def test_bins_and_their_labels_cover_every_degree() -> None:
    found = collect(WORLD, SURVEY, 1)
    labels = found.histogram().labels
    assert labels is not None
    assert labels[:6] == [(0, 0), (1, 1), (2, 2), (3, 3), (4, 5), (6, 7)]
    assert labels[-1][1] == N - 1
    nearest = found.projected()
    assert nearest.value.sum() == pytest.approx(N)
    assert nearest.value.min() >= 0
    assert not nearest.unbiased
    low, high = nearest.interval()
    assert ((low >= 0) & (low <= nearest.value) & (nearest.value <= high) & (high <= N)).all()
    assert (low <= np.maximum(found.histogram().interval()[0], 0)).all()


@pytest.mark.parametrize("away", [0.0, 0.3])
def test_standard_errors_of_projected_counts_are_as_large_as_their_errors(away: float) -> None:
    """[WHOLE.5]; the twin takes those of the counts before they were projected, which are far larger."""
    survey = histogram_survey(WORLD.public, 2)
    truth = np.histogram(WORLD.graph.degrees, survey.edges)[0]
    runs = [collect(WORLD, survey, f"projected {i}", away) for i in range(400)]
    found = [one.projected() for one in runs]
    squares = np.mean([((one.value - truth) ** 2).mean() for one in found])
    stated, before = (np.mean([one.variance.mean() for one in each]) for each in (found, [r.histogram() for r in runs]))
    assert 0.9 <= np.sqrt(squares / stated) <= 1.1
    assert np.sqrt(squares / before) < 0.8


def test_counts_vary_together_as_they_are_said_to() -> None:
    """[WHOLE.5] The covariance by the law of every answer: bins of which one's row is the sum of two others'."""
    collection = collect(WORLD, SURVEY, 1)
    counts = np.zeros(len(SURVEY.edges) - 1)
    counts[[1, 2]] = 20.0, 40.0
    mechanism = SURVEY.mechanism
    columns = np.arange(mechanism.columns)
    exact = np.zeros((counts.size, counts.size))
    scores = np.array([mechanism.counts(np.array([column])) for column in columns])
    for place in (1, 2):
        law = np.array([float(mechanism.likelihood(int(column), place)) for column in columns])
        mean = law @ scores
        exact += counts[place] * ((scores * law[:, None]).T @ scores - np.outer(mean, mean))
    assert collection._covariance(counts) == pytest.approx(exact)
