"""The report's files: whole or absent, the same every time, and in need of nothing from elsewhere."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import math
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import pytest

from visibility_aware_edge_ldp import __version__
from visibility_aware_edge_ldp.errors import BadInput, MissingPart
from visibility_aware_edge_ldp.evaluation.comparison import AWARE, UNIFORM, Comparison, Gain, compare
from visibility_aware_edge_ldp.evaluation.report import axes, drawing, figures, looks, more_figures, numbers, page
from visibility_aware_edge_ldp.evaluation.report.files import as_csv, as_json, write_results
from visibility_aware_edge_ldp.evaluation.trials import Evaluation, TrialRow
from visibility_aware_edge_ldp.model import VisibilityPolicy
from visibility_aware_edge_ldp.public.visibility import Multipliers
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

NUMBERS = ["results.json", "results.csv"]
ALWAYS = ["report.html", *(f"{name}.{kind}" for name in ("error", "gain", "statistics") for kind in ("svg", "png"))]
FILES = [*NUMBERS, *ALWAYS, "degrees.svg", "degrees.png"]
COMMAND = "va-edge-ldp compare 'a <b>bold</b> & \"quoted\" graph' --trials 3"
VOID = {"meta", "link", "br", "img", "input", "hr"}


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    """Small, and with a list among its statistics, whose value is NaN."""
    return compare(
        erdos_renyi(40, 150),
        VisibilityPolicy("0.15", "0.35", "0.5"),
        epsilons=(0.5, 1, 2, 4),
        trials=3,
        statistics=("edges", "degrees", "triangles", "stars:2"),
        seed=1,
    )


@pytest.fixture(scope="module")
def folder(comparison: Comparison, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the comparison's files were written to; it was not there before."""
    folder = tmp_path_factory.mktemp("report") / "new" / "folder"
    assert write_results(comparison, folder, COMMAND) == [folder / name for name in FILES]
    return folder


@pytest.fixture(scope="module")
def html(folder: Path) -> str:
    return (folder / "report.html").read_text(encoding="utf-8")


def row(error: float, uncertainty: float = 0.01, epsilon: float = 1.0, truth: float = 10.0) -> TrialRow:
    return TrialRow(epsilon, "edges", truth, 10.5, 1.0, error, uncertainty, 0.95, 3, 0.1)


def made_of(aware: Sequence[TrialRow], uniform: Sequence[TrialRow]) -> Comparison:
    sizes = {"PUBLIC": 4, "FRIEND_VISIBLE": 0, "PRIVATE": 6}
    return Comparison("g.txt", 5, 3, "a policy", sizes, (), 1, 3, Evaluation(aware), Evaluation(uniform))


SMALL = made_of([row(0.1), row(0.05, epsilon=2.0)], [row(0.2), row(0.1, epsilon=2.0)])


# --- the files -----------------------------------------------------------------------------------


def test_all_files_are_written_and_nothing_else(folder: Path) -> None:
    assert sorted(os.listdir(folder)) == sorted(FILES)
    assert all((folder / name).stat().st_size > 500 for name in FILES)
    assert (folder / "error.png").read_bytes().startswith(b"\x89PNG")


def test_older_files_are_replaced_and_other_files_are_kept(tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text("old")
    (tmp_path / "mine.txt").write_text("mine")
    write_results(SMALL, tmp_path, COMMAND)
    assert (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_json_has_no_nan_and_says_how_it_was_made(comparison: Comparison) -> None:
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    content = json.loads(as_json(comparison, COMMAND), parse_constant=refuse)
    assert content["command"] == COMMAND
    assert (content["software"], content["version"]) == ("VA-Edge-LDP", __version__)
    assert content["simulation"] is True
    degrees = next(r for r in content[AWARE] if r["statistic"] == "degrees")
    assert degrees["truth"] is None
    assert degrees["mean_relative_error"] > 0
    assert [gain["factor"] for gain in content["gains"]] == [gain.factor for gain in comparison.gains]


def test_csv_has_the_rows_of_the_json(comparison: Comparison) -> None:
    content = json.loads(as_json(comparison, COMMAND))
    expected = [{"policy": name, **values} for name in (AWARE, UNIFORM) for values in content[name]]
    found = list(csv.DictReader(as_csv(comparison).decode("utf-8").splitlines()))
    assert len(found) == len(expected) == 2 * 4 * 4
    assert found == [{k: "" if v is None else str(v) for k, v in values.items()} for values in expected]


def test_names_that_are_no_valid_text_can_be_written(tmp_path: Path) -> None:
    odd = replace(SMALL, graph="caf\udce9 图 $x$ <i>.txt")
    write_results(odd, tmp_path, "command \udce9")
    assert json.loads((tmp_path / "results.json").read_bytes())["graph"] == odd.graph
    assert "图 $x$ &lt;i&gt;.txt" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_nothing_measured_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="nothing to report"):
        write_results(made_of([], []), tmp_path / "out", COMMAND)
    assert not (tmp_path / "out").exists()


# --- what can go wrong ---------------------------------------------------------------------------


@pytest.mark.parametrize("stops", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_an_interrupted_writing_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stops: BaseException
) -> None:
    def fail(*_: object) -> None:
        raise stops

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises((BadInput, KeyboardInterrupt)):
        write_results(SMALL, tmp_path, COMMAND)
    assert os.listdir(tmp_path) == []


def test_a_stop_before_the_report_keeps_the_old_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "report.html").write_text("old")
    really = os.replace

    def fail_at_the_report(source: Path, target: Path) -> None:
        if target.name == "report.html":
            raise OSError(5, "Input/output error")
        really(source, target)

    monkeypatch.setattr(os, "replace", fail_at_the_report)
    with pytest.raises(BadInput, match="Input/output error"):
        write_results(SMALL, tmp_path, COMMAND)
    assert (tmp_path / "report.html").read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == sorted([*NUMBERS, "report.html"])


def test_a_folder_that_cannot_be_made_is_said_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(BadInput, match=r"cannot be written to .*Choose another folder"):
            write_results(SMALL, folder, COMMAND)
    assert (tmp_path / "file").read_text() == "not a folder"


@pytest.mark.parametrize("library", ["matplotlib", "jinja2"])
def test_without_the_extra_the_numbers_are_written_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingPart, match=r"\[plot\]") as caught:
        write_results(SMALL, tmp_path, COMMAND)
    assert (caught.value.library, caught.value.extra) == (library, "plot")
    assert "results.json" in str(caught.value)
    assert sorted(os.listdir(tmp_path)) == sorted(NUMBERS)


# --- the page ------------------------------------------------------------------------------------


class Nesting(HTMLParser):
    """Checks that elements are closed in order and that identifiers are unique; keeps all attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_well_formed(html: str) -> None:
    parser = Nesting()
    parser.feed(html)
    assert parser.open == []
    names = [value for _, name, value in parser.attributes if name == "id"]
    assert len(names) == len(set(names))
    wanted = [
        value.removeprefix("#") for _, name, value in parser.attributes if name in ("xlink:href", "aria-labelledby")
    ]
    assert set(wanted + re.findall(r"url\(#([^)]*)\)", html)) <= set(names)


def test_the_page_needs_nothing_from_elsewhere(html: str) -> None:
    parser = Nesting()
    parser.feed(html)
    assert "http://" not in html
    assert "https://" not in html
    addresses = [value for _, name, value in parser.attributes if name in ("src", "href", "xlink:href", "srcset")]
    assert all(address.startswith("#") for address in addresses + re.findall(r"url\(([^)]*)\)", html))
    assert "@import" not in html


def test_one_script_may_run_and_it_is_ours(html: str) -> None:
    parser = Nesting()
    parser.feed(html)
    policy = next(value for _, name, value in parser.attributes if name == "content" and "default-src" in value)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    [script] = re.findall(r"<script>(.*?)</script>", html, flags=re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert rules == {
        "default-src": "'none'",
        "style-src": "'unsafe-inline'",
        "script-src": f"'sha256-{digest}'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    assert html.count("<script") == 1
    assert not [name for _, name, _ in parser.attributes if name.startswith("on")]
    assert "innerHTML" not in script


def test_names_from_outside_cannot_become_script(tmp_path: Path) -> None:
    odd = replace(SMALL, graph="</title><script>alert(1)</script>", policy='"><img src=x onerror=alert(1)>')
    text = page.page(odd, "va-edge-ldp compare '</script><script>alert(1)</script>'")
    assert text.count("<script") == text.count("</script>") == 1
    assert "<img" not in text


def test_the_command_is_shown_and_escaped(html: str) -> None:
    assert "a &lt;b&gt;bold&lt;/b&gt; &amp; &#34;quoted&#34; graph" in html
    assert "<b>" not in html


def test_the_page_says_what_is_promised(html: str) -> None:
    text = " ".join(html.split())
    for sentence in (
        "ε is the loss per PRIVATE edge against all reports of all rounds together, once for all statistics",
        "FRIEND_VISIBLE edges lose up to twice that.",
        "PUBLIC positions are exact and not protected.",
        "That the policy follows from public knowledge alone",
        "A simulation on a graph that was held.",
        "Synthetic: made by a formula",
        "random:40,150 (synthetic)",
        f"<cite>VA-Edge-LDP</cite>, version {__version__}",
        "author = {{The VA-Edge-LDP authors}}",
        "ε ∈ {0.5, 1, 2, 4} per PRIVATE edge",
    ):
        assert sentence in text, sentence


def test_every_number_is_in_the_table(html: str, comparison: Comparison) -> None:
    assert html.count('<th scope="row">') == len(comparison.aware) + 3
    assert html.count('scope="rowgroup"') == 4
    assert "nan" not in re.sub(r"<[^>]*>", " ", html[html.index("<main>") :]).lower().split()
    for gain in comparison.gains:
        assert numbers.percent(gain.uniform.mean_relative_error) in html
        assert numbers.percent(gain.aware.mean_relative_error) in html


def test_the_bill_counts_friend_visible_edges_twice(comparison: Comparison) -> None:
    bill = {entry["name"]: entry["losses"] for entry in page.classes(comparison)}
    assert bill == {
        "PUBLIC": ["–"] * 4,
        "FRIEND_VISIBLE": ["1", "2", "4", "8"],
        "PRIVATE": ["0.5", "1", "2", "4"],
    }


@pytest.mark.parametrize(
    ("guard", "words", "losses"),
    [
        (("3", "1"), "FRIEND_VISIBLE edges lose up to 3 times that.", ("at most ε", "at most 3ε", "1", "3")),
        (("1", "1"), "FRIEND_VISIBLE edges lose no more than that.", ("at most ε", "at most ε", "1", "1")),
        (("5", "2"), "FRIEND_VISIBLE edges lose up to 2.5 times that.", ("at most 2ε", "at most 5ε", "2", "5")),
    ],
)
def test_the_page_says_what_the_policy_guards(guard: tuple[str, str], words: str, losses: tuple[str, ...]) -> None:
    sizes = {"PUBLIC": 4, "FRIEND_VISIBLE": 1, "PRIVATE": 6}
    multipliers = Multipliers(*map(Fraction, guard))
    held = replace(SMALL, positions=sizes, multipliers=multipliers)
    text = " ".join(page.page(held, COMMAND).split())
    assert words in text
    assert "edges lose up to twice" not in text
    friends, private = (next(e for e in page.classes(held) if e["name"] == n) for n in ("FRIEND_VISIBLE", "PRIVATE"))
    assert (private["promise"], friends["promise"], private["losses"][0], friends["losses"][0]) == losses
    assert f"FRIEND_VISIBLE edges lose {losses[1]}; PUBLIC pairs" in text


def test_a_panel_is_told_in_words(html: str, comparison: Comparison) -> None:
    # Errors and gains of four statistics, all statistics at four epsilons, and a histogram under each policy.
    assert html.count('role="img"') == 4 + 4 + 4 + 2
    error = numbers.percent(comparison.uniform.row(0.5, "triangles").mean_relative_error)
    assert f"Mean relative error of triangles against ε: at ε = 0.5, uniform {error}," in html


def test_every_point_tells_its_value_and_what_it_is_about(html: str, comparison: Comparison) -> None:
    places = re.findall(r'<circle class="point" ([^>]*?) cx="([\d.]+)" cy="([\d.]+)" r="6"><title>(.*?)</title>', html)
    told = [words for *_, words in places]
    # Errors of both policies, drawn against epsilon and by statistic, and gains.
    assert len(told) == len(comparison.aware) * 5
    row = comparison.uniform.row(2, "stars:2")
    words = (
        f"Error {numbers.percent(row.mean_relative_error)} ± {numbers.percent(row.error_uncertainty)}: 2-stars at ε = 2"
    )
    assert told.count(f"{words}, POSITION, uniform") == 2
    assert {about for about, *_ in places} >= {'data-trust="position" data-epsilon="2"'}
    assert all(0 < float(x) < 3.3 * 72 and 0 < float(y) < 3.3 * 72 for _, x, y, _ in places)


def test_points_stand_on_the_marks() -> None:
    panel = figures.error_panels(SMALL)["edges"]
    svg = drawing.on_its_own(panel, "")
    circles = set(re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', svg))
    marks = re.findall(
        r'<use xlink:href="[^"]*" x="([\d.]+)" y="([\d.]+)" style="fill: var\(--(?:aware|uniform)\); stroke', svg
    )
    assert len(marks) == 4
    assert {(f"{float(x):.1f}", f"{float(y):.1f}") for x, y in marks} == circles


def test_the_interval_of_a_mean_is_students() -> None:
    low, high = page.interval(row(0.1))
    assert (low, high) == pytest.approx((10.5 - 4.303 / math.sqrt(3), 10.5 + 4.303 / math.sqrt(3)))
    assert page.interval(replace(row(0.1), standard_deviation=math.nan)) == ()


@pytest.mark.parametrize(("freedom", "exact"), [(1, 12.7062), (2, 4.3027), (3, 3.1824), (4, 2.7764), (19, 2.0930)])
def test_students_points(freedom: int, exact: float) -> None:
    assert numbers.clear(freedom) == pytest.approx(exact, rel=0.01)


def test_an_only_trial_has_no_uncertainty() -> None:
    single = replace(row(0.2), error_uncertainty=math.nan, standard_deviation=math.nan)
    text = page.page(made_of([single], [single]), COMMAND)
    assert "not told apart from the uniform one in 1" in " ".join(text.split())
    assert "nan" not in text[text.index("<main>") :].lower()


def test_errors_of_zero_and_infinity_are_shown_as_such() -> None:
    odd = made_of([row(0.0, 0.0), row(math.inf, math.nan, 2.0)], [row(0.5), row(math.inf, math.nan, 2.0)])
    text = page.page(odd, COMMAND)
    assert "have no place on logarithmic axes" in text
    assert [page.table_row(gain)["gain"] for gain in odd.gains] == ["∞", "–"]
    assert json.loads(as_json(odd, COMMAND))["gains"][0]["factor"] is None


@pytest.mark.parametrize(
    ("aware", "uniform", "word"),
    [(0.1, 0.2, "better"), (0.2, 0.1, "worse"), (0.19, 0.2, "unclear"), (0.0, 0.2, "unclear")],
)
def test_a_gain_is_clear_beyond_its_uncertainty(aware: float, uniform: float, word: str) -> None:
    assert page.verdict(Gain(row(aware), row(uniform))) == word


@pytest.mark.parametrize(("trials", "exact"), [(3, 2.776), (5, 2.306), (10, 2.101), (1000, 1.961)])
def test_the_bound_is_students(trials: int, exact: float) -> None:
    assert page.bound(trials) == pytest.approx(exact, rel=0.02)


def test_the_verdict_is_swapped_with_the_policies() -> None:
    swapped = {"better": "worse", "worse": "better", "unclear": "unclear"}
    pairs = [(row(a / 50), row(b / 50)) for a in range(1, 12) for b in range(1, 12)]
    assert all(page.verdict(Gain(a, u)) == swapped[page.verdict(Gain(u, a))] for a, u in pairs)


@pytest.mark.parametrize(
    ("share", "text"),
    [(13.75, "1,375%"), (0.2013, "20.1%"), (0.0023, "0.23%"), (0.0, "0%"), (math.nan, "–"), (math.inf, "∞")],
)
def test_percent(share: float, text: str) -> None:
    assert numbers.percent(share) == text


# --- the figures ---------------------------------------------------------------------------------


def drawn(comparison: Comparison) -> tuple[object, ...]:
    panels = [*figures.error_panels(comparison).values(), *more_figures.gain_panels(comparison).values()]
    inline = [drawing.on_its_own(panel, "") for panel in panels]
    return figures.error_file(comparison), more_figures.more_files(comparison), *inline


def test_figures_are_the_same_every_time_and_change_no_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(matplotlib.rcParams, "lines.linewidth", 7.0)
    before = dict(matplotlib.rcParams)
    first = drawn(SMALL)
    assert dict(matplotlib.rcParams) == before
    monkeypatch.undo()
    assert drawn(SMALL) == first


def test_the_svg_has_letters_and_no_date(folder: Path) -> None:
    svg = (folder / "error.svg").read_text(encoding="utf-8")
    root = ElementTree.fromstring(svg)
    texts = ["".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}text")]
    for wanted in ("uniform", "visibility-aware", "triangles", "2-stars", "0.5", "4", "ε per PRIVATE edge"):
        assert wanted in texts
    assert any(text.endswith("%") for text in texts)
    assert "dc:date" not in svg


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (0.009, 0.06, ["1%", "2%", "5%"]),
        (0.002, 0.15, ["0.2%", "0.5%", "1%", "2%", "5%", "10%"]),
        (0.002, 2, ["0.3%", "1%", "3%", "10%", "30%", "100%"]),
        (0.5, 3e5, ["100%", "1,000%", "10,000%", "100,000%", "10⁶%", "10⁷%"]),
    ],
)
def test_ticks_are_round(low: float, high: float, labels: list[str]) -> None:
    assert [axes.percent_label(tick) for tick in axes.percent_ticks(low, high)] == labels


def test_crowded_epsilons_are_thinned() -> None:
    assert axes.apart([0.5, 1, 2, 4]) == [0.5, 1, 2, 4]
    assert axes.apart([1.0]) == [1.0]
    assert len(axes.apart([1 + i / 10 for i in range(91)])) <= 8


def test_rows_are_drawn_by_growing_epsilon() -> None:
    mixed = made_of([row(0.1, epsilon=4), row(0.2)], [row(0.1, epsilon=4), row(0.2)])
    assert [r.epsilon for r in figures.series_of(mixed)["edges"]["position", AWARE]] == [1.0, 4]


# --- several trust models ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def every_model() -> Comparison:
    return compare(erdos_renyi(40, 200), VisibilityPolicy("0.5"), (0.5, 1), 2, trust="all", seed=1)


def test_each_model_has_its_line_its_words_and_its_rows(every_model: Comparison) -> None:
    text = page.page(every_model, COMMAND)
    for name in ("POSITION", "USER", "NEIGHBOURHOOD", "CURATOR"):
        assert f"Trust model {name}: " in text
        assert f"<span>{name}, ε = 0.5</span>" in text
    assert text.count('scope="rowgroup"') == 4 * 2
    assert "its questions share one ε" in text
    assert all(colour in text for colour in ("var(--third)", "var(--fourth)"))


def test_models_are_told_apart_by_colour_and_marker_and_policies_by_dashes() -> None:
    every = [looks.look_of(trust, AWARE, False) for trust in looks.COLOURS]
    assert len({look.colour for look in every}) == len({look.marker for look in every}) == 4
    assert all(
        (looks.look_of(trust, policy, False).line, looks.look_of(trust, policy, False).hollow) == way
        for trust in looks.COLOURS
        for policy, way in ((AWARE, ("-", False)), (UNIFORM, ("--", True)))
    )


def test_the_legend_names_all_models(every_model: Comparison) -> None:
    svg, _ = figures.error_file(every_model)
    root = ElementTree.fromstring(svg)
    texts = ["".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"position", "user", "neighbourhood", "curator", UNIFORM, AWARE} <= set(texts)
    assert not any("$" in text for text in texts)


def test_csv_says_the_trust_model(every_model: Comparison) -> None:
    found = list(csv.DictReader(as_csv(every_model).decode("utf-8").splitlines()))
    assert list(found[0])[:4] == ["policy", "trust", "epsilon", "statistic"]
    assert {line["trust"] for line in found} == {"position", "user", "neighbourhood", "curator"}
    assert {gain["trust"] for gain in json.loads(as_json(every_model, COMMAND))["gains"]} == set(every_model.models)


def test_histograms_are_beside_the_truth(every_model: Comparison) -> None:
    assert [(h.trust, h.policy) for h in every_model.histograms] == [
        (trust, policy) for trust in ("position", "user") for policy in (AWARE, UNIFORM)
    ]
    for found in every_model.histograms:
        assert found.epsilon == 1
        assert sum(found.truth) == 40
        assert found.drawn.bins[0][0] == 0
        assert len(found.truth) == len(found.drawn.nodes) == len(found.drawn.bins)
    svg, png = more_figures.more_files(every_model)["degrees"]
    assert "estimated" in svg
    assert png.startswith(b"\x89PNG")


@pytest.mark.parametrize(("low", "high"), [(0.6, 1.6), (0.05, 90.0), (0.66, 1.5), (1e-6, 2.0)])
def test_axes_of_gains_have_some_ticks_but_not_too_many(low: float, high: float) -> None:
    ticks = axes.plain_ticks(low, high)
    assert 2 <= len(ticks) <= 7
    assert ticks == sorted(ticks)
    assert all(low <= tick <= high for tick in ticks)
    assert 1 in ticks
