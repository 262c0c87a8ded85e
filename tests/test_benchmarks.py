"""The benchmarks: every comparison runs, rivals find the same numbers, and what is missed is called missed."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from dataclasses import replace
from math import comb
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))  # benchmarks/ lies beside tests/ and is not installed

from benchmarks import __main__ as program
from benchmarks import cluster, downloads, dropout, estimates, exact, growth, pseudocode, report, rivals
from benchmarks.comparisons import REGISTRY
from benchmarks.figures import progress, write_figures
from benchmarks.registry import OURS, Comparison, NotHereError, Setting, Target, Verdict, Work, judged, measure, rival
from benchmarks.timing import Times, side_by_side

from visibility_aware_edge_ldp.aggregator.collection import estimate as estimate_position
from visibility_aware_edge_ldp.compute.engines import Threads
from visibility_aware_edge_ldp.compute.tile_file import in_order, write_tiles
from visibility_aware_edge_ldp.public.statistic import exact as truth
from visibility_aware_edge_ldp.public.surveys.position import position_survey
from visibility_aware_edge_ldp.simulation.simulate import collect
from visibility_aware_edge_ldp.truth.graph import Graph
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

# So much that nothing is flipped, and e to its half still fits a double.
NO_NOISE = 1400.0
NO_BITS = np.zeros(5, np.uint8)
SETTINGS: dict[str, Callable[[Graph], Setting]] = {
    "noisy triangles": estimates.noisy_triangles,
    "one round": estimates.one_round,
    "classes": estimates.classes,
    "two rounds": estimates.two_rounds,
    "documents": estimates.documents,
    "exact triangles": exact.exact_triangles,
    "smooth sensitivity": exact.smooth_sensitivity,
    "curator": exact.curator,
    "response": lambda graph: estimates.response(1000),
    "degrees": lambda graph: estimates.degrees(graph.n, graph.m),
    "reading": lambda graph: exact.reading(graph.m),
}


@pytest.fixture(scope="module")
def tiny() -> Graph:
    """A small graph with triangles."""
    return powerlaw(40, 200, seed=3)


@pytest.mark.long
@pytest.mark.parametrize("name", SETTINGS)
def test_every_comparison_runs(name: str, tiny: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimates, "OPENDP_BITS", 10)
    setting = SETTINGS[name](tiny)
    times = side_by_side(1, {each.name: each.take for each in setting.works if each.take is not None})
    assert next(iter(times)) == OURS
    assert all(one.median > 0 for one in times.values())
    assert setting.bound is None or setting.bound > 0


def test_targets_name_rivals_that_are_there(tiny: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimates, "facebook", lambda: tiny)
    monkeypatch.setattr(exact, "facebook", lambda: tiny)
    monkeypatch.setattr(exact, "real_graph", lambda file: tiny)
    monkeypatch.setattr(estimates, "many_nodes", lambda n: estimates.noisy_triangles(tiny))
    monkeypatch.setattr(estimates, "degrees", lambda users, edges: Setting("", ()))
    monkeypatch.setattr(exact, "reading", lambda edges, reading=exact.reading: reading(10))
    monkeypatch.setattr(downloads, "graph_of", lambda file: tiny)
    monkeypatch.setattr(cluster, "needs_dask", lambda: None)
    monkeypatch.setattr(cluster, "started", lambda name: Threads(1))
    monkeypatch.setattr(cluster, "answers", lambda nodes, path: write_tiles(path, NO_BITS, in_order([9]), "none"))
    monkeypatch.setattr(cluster, "against_threads", lambda nodes, real=cluster.against_threads: real(9))
    for comparison in REGISTRY.values():
        there = {"", *(each.name for each in comparison.prepare().works)}
        assert {target.against for target in comparison.targets} <= there, comparison.name


@pytest.mark.parametrize("library", exact.COUNTERS)
def test_libraries_count_the_same_triangles(library: str, tiny: Graph) -> None:
    pytest.importorskip({"NetworkX": "networkx"}.get(library, library))
    assert exact.COUNTERS[library](tiny)() == truth(tiny, "triangles") > 0


def test_the_product_of_scores_is_our_estimate(tiny: Graph) -> None:
    world = estimates.private(tiny)
    collection = collect(world, position_survey(world.public, 1), seed=5)
    plain = rivals.closed_paths(estimates.score_matrix(collection, np.float64))
    assert plain == pytest.approx(estimate_position(collection, ["triangles"])["triangles"].value)


def test_plain_two_rounds_find_the_truth_without_noise(tiny: Graph) -> None:
    pytest.importorskip("scipy")
    found, error = rivals.two_rounds(tiny, NO_NOISE, np.random.default_rng(1), with_error=True)
    assert found == pytest.approx(truth(tiny, "triangles"), rel=0.01)
    assert 0 < error < 0.01 * found
    alone, none = rivals.two_rounds(tiny, NO_NOISE, np.random.default_rng(1), with_error=False)
    assert (alone, np.isnan(none)) == (found, True)


def test_the_papers_algorithms_find_the_truth_without_noise(tiny: Graph) -> None:
    pytest.importorskip("scipy")
    triangles = truth(tiny, "triangles")
    for count in (rivals.noisy_counts, rivals.by_vertices):
        assert count(tiny, NO_NOISE / 2, np.random.default_rng(1)) == pytest.approx(triangles, rel=0.03), count
        assert count(tiny, 1, np.random.default_rng(1)) != pytest.approx(triangles, rel=0.01), count


@pytest.mark.parametrize("all_public", [False, True], ids=["private", "public"])
def test_the_pseudocode_finds_the_truth_without_noise(tiny: Graph, all_public: bool) -> None:
    positions = {pair: (bit, all_public) for pair, (bit, _) in estimates.pseudocode_positions(tiny).items()}
    coins = random.Random(1)
    assert len(positions) == comb(tiny.n, 2)
    assert pseudocode.edge_count(positions, NO_NOISE, coins) == tiny.m
    assert pseudocode.max_degree(positions, tiny.n, NO_NOISE, coins) == tiny.degrees.max()
    assert pseudocode.triangle_count(positions, NO_NOISE, coins) == truth(tiny, "triangles")
    assert pseudocode.star_count(positions, tiny.n, 3, NO_NOISE, coins) == truth(tiny, "stars:3")


def test_the_scipy_product_holds_common_neighbours(tiny: Graph) -> None:
    pytest.importorskip("scipy")
    assert rivals.scipy_square(tiny)().diagonal().tolist() == tiny.degrees.tolist()


MADE_UP = Comparison(
    "made-up",
    "something",
    lambda: Setting("nothing", (Work(OURS, lambda: 2.0), Work("them", lambda: 6.0), Work("away", None)), bound=0.5),
    (
        Target("faster", 4, "them"),
        Target("faster", 2, "them"),
        Target("times", 0.3, "them"),
        Target("seconds", 2),
        Target("faster", 1, "away"),
    ),
)


@pytest.mark.long
def test_a_missed_target_is_called_missed() -> None:
    found = measure(MADE_UP)
    assert [verdict.met for verdict in found.verdicts] == [False, True, False, True, None]
    assert [verdict.found for verdict in found.verdicts[:4]] == pytest.approx([3, 3, 1 / 3, 2])
    assert found.share_of_bound == 0.25
    lines = "\n".join(report.lines_of(found))
    assert "target ≥ 4× against them: 3×, missed" in lines
    assert "target ≥ 2× against them: 3×, met" in lines
    assert "target ≥ 1× against away: -, not measured" in lines
    assert "not installed" in lines
    page = report.as_markdown(report.Run(report.machine(0.0), (found,)))
    assert "| something | them | ≥ 4× | 3× | **missed** |" in page
    assert "| something | - | ≤ 2 s | 2 s | met |" in page


@pytest.mark.long
@pytest.mark.parametrize(("strict", "code"), [([], 0), (["--strict"], 1)], ids=["plain", "strict"])
def test_a_run_says_what_is_missed(
    strict: list[str], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(REGISTRY, MADE_UP.name, MADE_UP)
    written = tmp_path / "new" / "run.json"
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert program.main([MADE_UP.name, "dask", "--json", str(written), *strict]) == code
    said = capsys.readouterr().out
    assert "not measured: the library distributed is not installed" in said
    assert "2 of 4 targets that were measured are met, 2 are missed" in said
    numbers = json.loads(written.read_text(encoding="utf-8"))
    assert numbers["measured"][0]["times"]["them"]["seconds"] == [6.0] * MADE_UP.rounds
    assert numbers["measured"][0]["verdicts"][0]["met"] is False


def test_an_unknown_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        program.main(["nonsense"])
    assert "there is no comparison 'nonsense'" in capsys.readouterr().err


def test_a_long_comparison_waits_to_be_asked_for() -> None:
    long = REGISTRY["noisy-triangles-20000"]
    assert program.one(long, long=False).why_not.startswith("it is a long one")


def test_what_is_not_here_is_said() -> None:
    def absent() -> Setting:
        raise NotHereError("the file is not here")

    found = measure(Comparison("name", "what", absent, (Target("seconds", 1),)))
    assert (found.why_not, found.verdicts[0].met) == ("the file is not here", None)

    def not_installed() -> Callable[[], object]:
        raise ImportError

    assert rival("library", not_installed).take is None


def test_middle_half() -> None:
    times = Times((5.0, 1.0, 2.0, 4.0, 3.0))
    assert (times.median, times.quartiles) == (3.0, (2.0, 4.0))
    assert report.spoken(times) == "3 s (2 s to 4 s, 5 rounds)"
    assert Times((7.0,)).quartiles == (7.0, 7.0)


def test_growth_is_predicted_fitted_and_stops_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = []

    def cubic(nodes: int) -> growth.Point:
        ran.append(nodes)
        return growth.Point(nodes, None, (nodes / 1000) ** 3, 1.0)

    monkeypatch.setattr(growth, "available_bytes", lambda: 1 << 60)
    found = growth.grow((1000, 2000, 4000, 8000), budget=100.0, run=cubic)
    assert ran == [1000, 2000, 4000]
    assert [point.predicted for point in found.points] == [None, 8.0, 64.0]
    assert found.exponent == pytest.approx(3)
    assert found.stopped.startswith("8,000 nodes would take about 512 s")
    goal = growth.goal(found)
    assert [verdict.met for verdict in goal.verdicts] == [None, None]
    assert "by n³ it would take 125,000 s" in goal.why_not
    monkeypatch.setattr(growth, "available_bytes", lambda: 0)
    assert not growth.grow((1000,), run=cubic).points


def test_one_size_is_really_run() -> None:
    point = growth.one_size(60, 1)
    assert point.nodes == 60
    assert point.seconds > 0
    assert point.megabytes > 10


@pytest.mark.parametrize("way", growth.WAYS)
def test_every_way_is_run_at_a_small_size(way: str) -> None:
    point = growth.one_of(way, 150)
    assert point.nodes == 150
    assert point.seconds > 0
    assert growth.WAYS[way].sizes[0] == 1000


def test_how_a_way_grows_is_fitted_to_its_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "_child", lambda nodes, rounds, way: growth.Point(nodes, None, nodes**2.5, nodes / 10))
    setting = growth.of_way("user-parts", (100, 200, 400))
    found = judged(REGISTRY["growth-user-parts"], setting, {each.name: Times((each.take(),)) for each in setting.works})
    assert [(verdict.found, verdict.met) for verdict in found.verdicts[:2]] == [(pytest.approx(2.5), False)] * 2
    lines = "\n".join(report.lines_of(found))
    assert "target n^2 at most against the two largest: n^2.50, missed" in lines
    assert "target ≤ 4,000 MB against most memory: 40 MB, met" in lines
    assert [verdict.met for verdict in growth.of_way("user", (100, 200)).also()] == [None] * 3


@pytest.mark.long
def test_a_way_is_really_run_in_processes_of_its_own() -> None:
    found = measure(replace(REGISTRY["growth-degrees"], prepare=lambda: growth.of_way("degrees", (60, 120))))
    assert list(found.times) == ["60 nodes", "120 nodes"]
    assert all(times.median > 0 for times in found.times.values())
    assert found.verdicts[0].found is not None


def test_the_largest_size_is_judged() -> None:
    slow = growth.Growth((growth.Point(growth.GOAL_NODES, None, growth.GOAL_SECONDS + 1, growth.GOAL_MEGABYTES - 1),))
    assert [verdict.met for verdict in growth.goal(slow).verdicts] == [False, True]


def test_a_large_run_is_judged_by_its_time_its_memory_and_its_prediction(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = []

    def slow(nodes: int, *how: str) -> cluster.Run:
        ran.append(nodes)
        return cluster.Run(nodes, predicted=400.0, answering=60.0, counting=500.0, megabytes=300.0, triangles=1)

    monkeypatch.setattr(cluster, "needs_dask", lambda: None)
    monkeypatch.setattr(cluster, "in_a_process", slow)
    found = measure(REGISTRY["dask-200000"])
    assert ran == [cluster.GOAL_NODES]
    assert [(verdict.found, verdict.met) for verdict in found.verdicts] == [(560, True), (300, True), (1.4, False)]
    lines = "\n".join(report.lines_of(found))
    assert "target ≤ 500 MB against the larger worker: 300 MB, met" in lines
    assert "target ≤ 1.3× against what was foretold, either way: 1.4×, missed" in lines


@pytest.mark.long
def test_a_run_over_dask_is_really_run() -> None:
    pytest.importorskip("distributed")
    run = cluster.in_a_process(600)
    assert run.nodes == 600
    assert run.seconds > 0
    assert run.predicted > 0
    assert run.megabytes > 50
    expected = 600 * 599 * 598 / 6 * (1 / (1 + np.e)) ** 3  # nearly no edges: so many by chance
    assert run.triangles == pytest.approx(expected, rel=0.5)


@pytest.mark.long
def test_a_run_in_chunks_is_really_run_and_stands_beside_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    run = cluster.in_a_process(600, "chunks")
    assert run.nodes == 600
    assert run.seconds > 0 < run.predicted
    assert run.megabytes > 50
    monkeypatch.setattr(cluster, "in_a_process", lambda nodes, how: run)
    setting = cluster.large_parts(600)
    assert [verdict.found for verdict in setting.also()] == [run.megabytes, run.error]
    assert {each.name: each.take() > 0 for each in setting.works if each.take} == dict.fromkeys(
        (OURS, "foretold", cluster.RIVAL), True
    )


def test_tables_are_put_between_the_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n", encoding="utf-8")
    report.put_into(page, "new\n")
    assert page.read_text(encoding="utf-8") == f"before\n{report.BEGIN}\n\nnew\n\n{report.END}\nafter\n"


def test_figures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    found = judged(MADE_UP, MADE_UP.prepare(), {OURS: Times((2.0,)), "them": Times((6.0,))})
    points = tuple(growth.Point(n, None, n / 100, 1.0) for n in (100, 200))
    write_figures(report.Run(report.machine(0.0), (found,), growth.Growth(points)), tmp_path)
    assert "made-up: ≥ 4× them" in (tmp_path / "bench-targets.svg").read_text(encoding="utf-8")
    assert "n to the 1.00" in (tmp_path / "bench-growth.svg").read_text(encoding="utf-8")
    assert progress(Verdict("≤ 2 s", "", 4.0, False)) == 0.5
    assert progress(Verdict("≥ 1,000×", "them", 2000.0, True)) == 2


DROPOUT = [
    "--graphs",
    "about 100 nodes",
    "--policies",
    "nothing",
    "hubs",
    "--away",
    "0",
    "0.3",
    "--ways",
    "histogram",
    "hubs",
]


def lines_of_dropout(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    """What the table of dropout prints."""
    assert dropout.main([*DROPOUT, *words]) == 0
    return capsys.readouterr().out.splitlines()


def test_the_table_of_dropout_names_what_was_measured(capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of_dropout(capsys, "--runs", "50")
    measured = {line.split("|")[1].strip(): line for line in lines if line.count("|") == 10}
    assert measured["histogram: degree_histogram"].startswith("| histogram: degree_histogram | 4 | 0 | 9")
    # Where nothing is public nobody is a hub.
    assert measured["hubs: triangles"].startswith("| hubs: triangles | 2 | 2 | ")
    assert any(line.startswith("- hubs: triangles: Public hubs need … to … different nodes") for line in lines)


def test_runs_of_dropout_are_continued_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = lines_of_dropout(capsys, "--runs", "31")
    file = tmp_path / "runs.jsonl"
    lines_of_dropout(capsys, "--runs", "25", "--file", str(file))
    *first, last = file.read_text(encoding="utf-8").splitlines(keepends=True)
    file.write_text("".join([*first, last[:50]]), encoding="utf-8")  # as a kill may leave it
    assert sorted(lines_of_dropout(capsys, "--runs", "31", "--file", str(file))) == sorted(whole)
    kept = file.read_text(encoding="utf-8")
    assert sorted(lines_of_dropout(capsys, "--runs", "0", "--file", str(file))) == sorted(whole)
    assert file.read_text(encoding="utf-8") == kept


def test_only_cells_of_dropout_that_are_outside_are_run_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dropout, "outside", lambda cell: cell.setting.away > 0)
    lines_of_dropout(capsys, "--runs", "3", "--again", "2", "--file", str(tmp_path / "runs.jsonl"))
    done = dropout.Runs(tmp_path / "runs.jsonl").done
    assert {(at.away, len(numbers)) for (at, _), numbers in done.items()} == {(0.0, 3), (0.3, 5)}


@pytest.mark.parametrize(
    ("held", "conservative", "outside"), [(94, False, False), (90, True, True), (99, False, True), (99, True, False)]
)
def test_what_is_outside(held: int, conservative: bool, outside: bool) -> None:
    right = dropout.Run(0.0, 1.0, 1.0, 1.0, 0.0, 0.0, True, True, conservative)
    runs = [right] * held + [right._replace(held=0.0, below=1.0)] * (100 - held)
    assert dropout.outside(dropout.Cell(dropout.Setting("", "", 1.0, 0.0), "degrees", "edges", runs)) is outside


def test_a_graph_that_is_not_here_is_left_out_of_the_table(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert dropout.main(["--graphs", "fb100-caltech", "--runs", "1"]) == 0
    assert "fb100-caltech is not here" in capsys.readouterr().err
