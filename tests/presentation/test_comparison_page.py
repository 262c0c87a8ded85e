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
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from support.comparison_reports import COMMAND, FILES, NUMBERS, SMALL, made_of, row
from visibility_aware_edge_ldp import __version__
from visibility_aware_edge_ldp.errors import BadInput, MissingPart
from visibility_aware_edge_ldp.evaluation.compare.comparison import compare
from visibility_aware_edge_ldp.evaluation.results import AWARE, UNIFORM, Comparison
from visibility_aware_edge_ldp.model import VisibilityPolicy
from visibility_aware_edge_ldp.presentation import comparison_figures, comparison_page, drawing
from visibility_aware_edge_ldp.presentation import (
    comparison_figures as more_figures,
)
from visibility_aware_edge_ldp.presentation import labels as numbers
from visibility_aware_edge_ldp.presentation.result_files import as_csv, as_json, write_results
from visibility_aware_edge_ldp.public.visibility import Multipliers
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

VOID = {"meta", "link", "br", "img", "input", "hr"}


def test_all_files_are_written_and_nothing_else(folder: Path) -> None:
    assert sorted(os.listdir(folder)) == sorted(FILES)
    assert all((folder / name).stat().st_size > 500 for name in FILES)
    assert (folder / "error.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.long
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
    for values in expected:
        values["errors"] = " ".join(map(repr, values["errors"]))
    assert found == [{k: "" if v is None else str(v) for k, v in values.items()} for values in expected]


def test_nothing_measured_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="nothing to report"):
        write_results(made_of([], []), tmp_path / "out", COMMAND)
    assert not (tmp_path / "out").exists()


@pytest.mark.long
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
    text = comparison_page.page(odd, "va-edge-ldp compare '</script><script>alert(1)</script>'")
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
    # Every row, the classes of the bill, and the statistics of the first screen.
    assert html.count('<th scope="row">') == len(comparison.aware) + 3 + 4
    assert html.count('scope="rowgroup"') == 4
    assert "nan" not in re.sub(r"<[^>]*>", " ", html[html.index("<main>") :]).lower().split()
    for gain in comparison.gains:
        assert numbers.percent(gain.uniform.error) in html
        assert numbers.percent(gain.aware.error) in html
        assert numbers.percent(gain.aware.mean_relative_error) in html


def test_the_first_screen_decides(html: str, comparison: Comparison) -> None:
    first = " ".join(html[html.index("<main>") : html.index('<nav class="tabs"')].split())
    assert f'class="verdict">{comparison.verdict[0].removeprefix("Does visibility help? ")}</h2>' in first
    assert comparison.verdict[1] in first
    assert "Triangles within 5%: POSITION" in comparison.verdict[1]
    assert (first.count("<svg"), first.count("<table")) == (3, 1)  # the chart, and two marks of its legend
    [triangles] = [row for row in comparison_page.short_rows(comparison) if row["statistic"] == "triangles"]
    gain = next(g for g in comparison.gains if (g.aware.statistic, g.aware.epsilon) == ("triangles", 1))
    assert triangles["cells"][0]["error"] == numbers.percent(gain.aware.error)
    behind = html[html.index('<nav class="tabs"') :]
    assert [name for name in ("details", "certificate", "methods") if f'class="pane" id="{name}"' in behind] == [
        "certificate",
        "methods",
    ]
    assert 'class="filtered pane" id="details"' in behind


def test_the_bill_counts_friend_visible_edges_twice(comparison: Comparison) -> None:
    bill = {entry["name"]: entry["losses"] for entry in comparison_page.classes(comparison)}
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
    text = " ".join(comparison_page.page(held, COMMAND).split())
    assert words in text
    assert "edges lose up to twice" not in text
    friends, private = (
        next(e for e in comparison_page.classes(held) if e["name"] == n) for n in ("FRIEND_VISIBLE", "PRIVATE")
    )
    assert (private["promise"], friends["promise"], private["losses"][0], friends["losses"][0]) == losses
    assert f"FRIEND_VISIBLE edges lose {losses[1]}; PUBLIC pairs" in text


def test_a_panel_is_told_in_words(html: str, comparison: Comparison) -> None:
    # The first screen's, errors and gains of four statistics, all statistics at four epsilons, and two histograms.
    assert html.count('role="img"') == 1 + 4 + 4 + 4 + 2
    error = numbers.percent(comparison.uniform.row(0.5, "triangles").error)
    assert f"Expected relative error of triangles against ε: at ε = 0.5, uniform {error}," in html


def test_every_point_tells_its_value_and_what_it_is_about(html: str, comparison: Comparison) -> None:
    places = re.findall(r'<circle class="point" ([^>]*?) cx="([\d.]+)" cy="([\d.]+)" r="6"><title>(.*?)</title>', html)
    told = [words for *_, words in places]
    # Errors of both policies, drawn against epsilon and by statistic, and gains; one statistic on the first screen.
    assert len(told) == len(comparison.aware) * 5 + 2 * 4
    row = comparison.uniform.row(2, "stars:2")
    words = f"Error {numbers.percent(row.error)} ± {numbers.percent(row.figure.uncertainty)}: 2-stars at ε = 2"
    assert told.count(f"{words}, POSITION, uniform") == 2
    assert {about for about, *_ in places} >= {'data-trust="position" data-epsilon="2"'}
    assert all(0 < float(x) < 5.4 * 72 and 0 < float(y) < 3.3 * 72 for _, x, y, _ in places)


def test_the_table_shows_one_collection_s_interval(html: str, comparison: Comparison) -> None:
    gain = next(gain for gain in comparison.gains if gain.aware.statistic == "triangles")
    one = gain.aware.one
    assert one is not None
    assert one.low >= 0 > one.uncut_low
    side = comparison_page.table_row(gain)["sides"][1]
    assert (side["estimate"], side["interval"]) == (
        numbers.value(one.value),
        [numbers.value(0.0), numbers.value(one.high)],
    )


def test_an_only_trial_has_no_uncertainty() -> None:
    single = replace(row(0.2), error_uncertainty=math.nan, standard_deviation=math.nan)
    text = comparison_page.page(made_of([single], [single]), COMMAND)
    assert "More trials are needed for 1." in " ".join(text.split())
    assert "nan" not in text[text.index("<main>") :].lower()


def test_errors_of_zero_and_infinity_are_shown_as_such() -> None:
    odd = made_of([row(0.0, 0.0), row(math.inf, math.nan, 2.0)], [row(0.5), row(math.inf, math.nan, 2.0)])
    text = comparison_page.page(odd, COMMAND)
    assert "have no place on logarithmic axes" in text
    assert [comparison_page.table_row(gain)["gain"] for gain in odd.gains] == ["exact", "-"]
    exact = json.loads(as_json(odd, COMMAND))["gains"][0]
    assert (exact["factor"], exact["verdict"], exact["words"]) == (None, "exact", "exact")


def drawn(comparison: Comparison) -> tuple[object, ...]:
    panels = [*comparison_figures.error_panels(comparison).values(), *more_figures.gain_panels(comparison).values()]
    inline = [drawing.on_its_own(panel, "") for panel in panels]
    return comparison_figures.error_file(comparison), more_figures.more_files(comparison), *inline


def test_the_svg_has_letters_and_no_date(folder: Path) -> None:
    svg = (folder / "error.svg").read_text(encoding="utf-8")
    root = ElementTree.fromstring(svg)
    texts = ["".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}text")]
    for wanted in ("uniform", "visibility-aware", "triangles", "2-stars", "0.5", "4", "ε per PRIVATE edge"):
        assert wanted in texts
    assert any(text.endswith("%") for text in texts)
    assert "dc:date" not in svg


@pytest.fixture(scope="module")
def every_model() -> Comparison:
    return compare(erdos_renyi(40, 200), VisibilityPolicy("0.5"), (0.5, 1), 2, trust="all", seed=1)


@pytest.mark.long
def test_each_model_has_its_line_its_words_and_its_rows(every_model: Comparison) -> None:
    text = comparison_page.page(every_model, COMMAND)
    for name in ("POSITION", "USER", "NEIGHBOURHOOD", "CURATOR"):
        assert f"Trust model {name}: " in text
        assert f"<span>{name}, ε = 0.5</span>" in text
    assert text.count('scope="rowgroup"') == 4 * 2
    assert "its questions share one ε" in text
    assert all(colour in text for colour in ("var(--third)", "var(--fourth)"))


def test_csv_says_the_trust_model(every_model: Comparison) -> None:
    found = list(csv.DictReader(as_csv(every_model).decode("utf-8").splitlines()))
    assert list(found[0])[:4] == ["policy", "trust", "epsilon", "statistic"]
    assert {line["trust"] for line in found} == {"position", "user", "neighbourhood", "curator"}
    assert {gain["trust"] for gain in json.loads(as_json(every_model, COMMAND))["gains"]} == set(every_model.models)


def test_matrices_are_shown_with_intervals_in_their_cells() -> None:
    graph = erdos_renyi(40, 200, 1)
    groups = {node: ("<b>", "old & wise")[int(node) % 2] for node in graph.names}
    found = compare(graph, "profiles:0.5", [1], 1, "mixing", trust="position,user", groups=groups, seed=1)
    shown = comparison_page.page(found, COMMAND)
    assert shown.count('<table class="matrix"') == 4
    assert "<b>" not in shown
    assert '<th scope="row">old &amp; wise</th>' in shown
    table = comparison_page.matrix_table(found.matrices[0])
    assert table["title"] == "Mixing matrix, POSITION, visibility-aware, ε = 1"
    cells = [cell for _, row in table["rows"] for cell in row]
    assert max(cell["shade"] for cell in cells) == 10
    for cell in cells:
        assert f'<td class="shade{cell["shade"]}">{cell["value"]}<small>{cell["interval"]}</small>' in shown
    assert '<table class="matrix"' not in comparison_page.page(replace(found, matrices=()), COMMAND)
