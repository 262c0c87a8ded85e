"""Two looks at answers that nobody keeps: the estimates of a whole collection, exact on all answers of small graphs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise, product

import numpy as np
import pytest

from visibility_aware_edge_ldp.aggregator.collection import estimate
from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.aggregator.node_statistics.second_look import (
    IN_CHUNKS,
    CountedScores,
    CountedTwice,
    SecondLook,
)
from visibility_aware_edge_ldp.aggregator.position import PositionCollection
from visibility_aware_edge_ldp.aggregator.streamed import StreamedCollection, refuse_lost
from visibility_aware_edge_ldp.compute.engines import LostTask
from visibility_aware_edge_ldp.errors import BadStatistic
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.public.layout import pack, unpack
from visibility_aware_edge_ldp.public.statistic import exact
from visibility_aware_edge_ldp.public.surveys.position import PositionReport, position_survey
from visibility_aware_edge_ldp.simulation.simulate import collect, reports
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.policy_file import open_policy
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

NAMES = ("edges", "degrees", "stars:2", "stars:3", "degree_variance")


def cut(sent: Sequence[PositionReport], bounds: Sequence[int]) -> list[list[PositionReport]]:
    """One long run of every round, cut into chunks."""
    held = [[unpack(each.answered, each.count), unpack(each.ones, each.count)] for each in sent]
    return [
        [
            PositionReport(each.survey, each.round, a, b - a, pack(answered[a:b]), pack(ones[a:b]))
            for each, (answered, ones) in zip(sent, held, strict=True)
        ]
        for a, b in pairwise(bounds)
    ]


def summed(chunks: list[StreamedCollection], times: Sequence[int] | None = None) -> dict[str, np.ndarray]:
    """What chunks have, each added so often."""
    often = np.ones(len(chunks), np.int64) if times is None else np.array(times)
    found = [each.counts for each in chunks]
    sums = {
        name: sum(int(t) * each[name].astype(each[name].dtype) for t, each in zip(often, found, strict=True))
        for name in found[0]
    }
    return {**sums, "times": often}


def two_looks(world: VisibilityAwareGraph, sent: Sequence[PositionReport], bounds: Sequence[int], **how: int) -> dict:
    """Estimates from chunks; with ``once`` from the first look alone."""
    survey, view, chunks = how.get("survey"), world.public, cut(sent, bounds)

    def absorbed(collection: StreamedCollection, chunk: list[PositionReport]) -> StreamedCollection:
        for report in chunk:
            collection.absorb(report)
        return collection

    first = [absorbed(StreamedCollection(survey, view, chunk[0].start), chunk) for chunk in chunks]
    whole = CountedTwice.of_counts(survey, view, summed(first), [bytes.fromhex(each.digest) for each in first])
    scores = CountedScores(whole)
    names = [name for name in NAMES if name != "degree_variance" or view.n > 4]
    found = estimate(whole, names, made=scores)  # type: ignore[arg-type]
    if how.get("once"):
        return found
    vectors = np.array([*scores.asked.values()])
    second = [absorbed(SecondLook(survey, view, vectors, whole.everybody, chunk[0].start), chunk) for chunk in chunks]
    assert [one.digest for one in first] == [two.digest for two in second]
    after = scores.after(summed(second)["later"])
    return estimate(whole, names, made=after)  # type: ignore[arg-type]


def close(one: Estimate, other: Estimate) -> None:
    np.testing.assert_allclose(one.value, other.value, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(one.variance, other.variance, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(one.interval(0.9), other.interval(0.9), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("policy", ["nothing", "profiles:0.5", "document-001", "fractions:0,1,0"])
def test_the_estimates_of_a_whole_collection(policy: str, dropout: float, rounds: int) -> None:
    world = VisibilityAwareGraph(powerlaw(90, 500, seed=1), open_policy(policy))
    survey, total = position_survey(world.public, 1, rounds), world.public.positions
    sent = list(reports(world, survey, 5, dropout))
    wanted = estimate(collect(world, survey, 5, dropout), NAMES)
    for bounds in ([0, total], [0, 1, 88, 89, 90, 1001, 3333, total]):
        found = two_looks(world, sent, bounds, survey=survey)
        for name in NAMES:
            close(found[name], wanted[name])


def test_the_same_numbers_however_parts_are_cut() -> None:
    world = VisibilityAwareGraph(powerlaw(90, 500, seed=1), VisibilityPolicy.nothing())
    survey, total = position_survey(world.public, 1), world.public.positions
    sent = list(reports(world, survey, 5))
    one, other = (two_looks(world, sent, cuts, survey=survey) for cuts in ([0, total], [0, 7, 2000, 2003, total]))
    assert all(one[name].variance == other[name].variance for name in ("edges", "stars:2", "stars:3"))
    assert one["stars:3"].value == other["stars:3"].value


@pytest.mark.parametrize("edges", [[(0, 1), (0, 2), (0, 3)], [(0, 1), (1, 2), (2, 3)], []])
def test_every_answer_of_a_small_graph(edges: list[tuple[int, int]]) -> None:
    """All 64 answers: the numbers are those of a whole collection, and their mean over the coins is the truth."""
    graph = Graph(range(4), np.array(edges, np.int32).reshape(-1, 2))
    world = VisibilityAwareGraph(graph, VisibilityPolicy.nothing())
    survey = position_survey(world.public, 1)
    response, true = survey.mechanism(next(iter(world.public.present)), 1), np.zeros(6, np.int64)
    true[[{(0, 1): 0, (0, 2): 1, (0, 3): 2, (1, 2): 3, (1, 3): 4, (2, 3): 5}[edge] for edge in edges]] = 1
    means = dict.fromkeys(("edges", "stars:2", "stars:3"), 0.0)
    for answer in product([False, True], repeat=6):
        report = PositionReport(survey.identity, 1, 0, 6, pack(np.ones(6, np.bool_)), pack(np.array(answer)))
        found = two_looks(world, [report], [0, 2, 5, 6], survey=survey)
        whole = PositionCollection(survey, world.public)
        whole.absorb(report)
        wanted, chance = estimate(whole, tuple(means)), 1.0
        for bit, said in zip(true.tolist(), answer, strict=True):
            chance *= float(response.likelihood(int(said), bit))
        for name in means:
            close(found[name], wanted[name])
            means[name] += chance * float(found[name].value)
    assert means == pytest.approx({name: float(exact(graph, name)) for name in means}, abs=1e-9)


@cache
def covered(once: bool) -> float:
    """Of many runs, the share whose 95 % interval holds the number of 2-stars."""
    world, held = VisibilityAwareGraph(powerlaw(60, 600, seed=1), VisibilityPolicy.nothing()), 0
    survey, truth = position_survey(world.public, 2), float(exact(world.graph, "stars:2"))
    for seed in range(400):
        found = two_looks(world, list(reports(world, survey, seed)), [0, 900, 1770], survey=survey, once=once)
        low, high = found["stars:2"].interval(0.95)
        held += low <= truth <= high
    return held / 400


@pytest.mark.long
def test_intervals_cover_and_without_the_second_look_they_do_not() -> None:
    assert 0.925 <= covered(False) <= 0.975
    assert covered(True) < 0.9


@pytest.mark.parametrize("times", [(1, 1, 0), (1, 2, 1), (2, 1, 0), (0, 0, 0), (2, 2, 2)])
def test_a_part_that_is_missing_or_came_twice_is_refused(times: tuple[int, ...]) -> None:
    """By each of the two controls alone, unless one chunk more hides one less, which the chunks' numbers tell."""
    world = VisibilityAwareGraph(powerlaw(40, 100, seed=1), VisibilityPolicy.nothing())
    survey, chunks = position_survey(world.public, 1), []
    for each in cut(list(reports(world, survey, 1)), [0, 100, 400, 780]):
        chunks.append(StreamedCollection(survey, world.public, each[0].start))
        chunks[-1].absorb(each[0])
    sums = summed(chunks, times)
    refuse_lost(summed(chunks), 40)
    for blind in ({"passed": np.full(40, 39)}, {"times": np.ones(3)}):
        with pytest.raises(LostTask, match="do not have every chunk once"):
            refuse_lost({**sums, **blind}, 40)
    with pytest.raises(LostTask):
        CountedTwice.of_counts(survey, world.public, sums, [])


def test_what_is_no_sum_over_parts_is_refused() -> None:
    world = VisibilityAwareGraph(powerlaw(40, 100, seed=1), VisibilityPolicy.nothing())
    collection = collect(world, position_survey(world.public, 1), 1, into=CountedTwice)
    with pytest.raises(BadStatistic, match="triangles is not a sum over chunks"):
        estimate(collection, ["triangles"])
    with pytest.raises(BadStatistic, match="mixing is not a sum over chunks"):
        CountedScores(collection).counts_between(np.zeros(40, np.int64), 1)
    assert set(CountedTwice.estimators) == set(IN_CHUNKS)
