"""The report in a real browser, from the disk: its controls, its hints, on paper, and without a script.

Pictures are kept in ``out/screenshots``, to be looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from support import browser as browsers
from visibility_aware_edge_ldp.evaluation.compare.comparison import compare
from visibility_aware_edge_ldp.evaluation.results import Comparison
from visibility_aware_edge_ldp.model import VisibilityPolicy
from visibility_aware_edge_ldp.presentation.comparison_figures import error_words
from visibility_aware_edge_ldp.presentation.comparison_page import page
from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

# The width between the margins of A4, in pixels: 182 mm.
A4 = 688
SIZES = {"desk": (1200, 900), "phone": (390, 844)}
ROWS = "#table-of-numbers tbody tr[data-trust]"


@dataclass
class Opened(browsers.Opened):
    """The report."""

    def seen(self, selector: str) -> int:
        """How many elements take up room."""
        seen = "all => all.filter(each => each.getClientRects().length).length"
        return int(self.page.eval_on_selector_all(selector, seen))

    def status(self) -> str:
        return str(self.page.inner_text("#shown"))

    def keep(self, name: str, whole: bool = False) -> None:
        self.page.screenshot(path=browsers.PICTURES / f"report-{name}.png", full_page=whole)


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    asked = ["edges", "triangles", "stars:2"]
    return compare(erdos_renyi(30, 100), VisibilityPolicy("0.5"), [1, 2], 2, asked, trust="all", seed=1)


@pytest.fixture(scope="module")
def report(comparison: Comparison, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("report") / "report.html"
    file.write_text(page(comparison, "va-edge-ldp compare"), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with browsers.chromium() as started:
        yield started


@dataclass(frozen=True)
class Reader:
    """Opens the report; at the end, no page may have complained or asked for anything but itself."""

    browser: Any
    report: Path
    opened: list[Opened] = field(default_factory=list)

    def __call__(self, size: str = "desk", **options: Any) -> Opened:
        one = Opened(browsers.new_page(self.browser, SIZES[size], **options))
        one.page.goto(self.report.as_uri())
        self.opened.append(one)
        return one


@pytest.fixture
def read(browser: Any, report: Path) -> Iterator[Reader]:
    reader = Reader(browser, report)
    yield reader
    for one in reader.opened:
        one.page.context.close()
        assert (one.said, one.asked) == ([], [report.as_uri()])


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_the_page_fits_and_is_drawn(read: Reader, size: str, scheme: str) -> None:
    one = read(size, color_scheme=scheme)
    one.keep(f"{size}-{scheme}", whole=True)
    assert one.page.evaluate("document.documentElement.scrollWidth") == SIZES[size][0]
    assert one.seen(".panel svg") == one.page.locator(".panel svg").count() == 1 + 3 + 3 + 2 + 4
    assert one.status() == f"All {one.seen(ROWS)} rows shown"


@pytest.mark.long
@pytest.mark.parametrize("size", SIZES)
def test_choices_filter_the_table_and_the_figures(read: Reader, comparison: Comparison, size: str) -> None:
    one, every = read(size), len(comparison.aware)
    assert one.seen(ROWS) == every == 2 * (3 + 3 + 1 + 3)

    one.page.select_option("[name=statistic]", "triangles")
    assert (one.seen(ROWS), one.status()) == (8, f"8 of {every} rows shown")
    assert one.seen("[aria-labelledby=figure] .panel") == one.seen("[aria-labelledby=gain] .panel") == 1
    assert one.seen("[aria-labelledby=degrees]") == 0

    one.page.select_option("[name=epsilon]", "2")
    one.page.uncheck("[value=curator]")
    assert (one.seen(ROWS), one.status()) == (3, f"3 of {every} rows shown")
    assert one.seen("#table-of-numbers tbody") == 3
    assert one.page.inner_text("#table-of-numbers tbody:not(.off) th[scope=rowgroup]") == "POSITION, ε = 2"
    assert one.seen("[aria-labelledby=figure] svg g[data-trust=curator]") == 0
    assert one.seen("[aria-labelledby=figure] svg g[data-trust=user]") > 0
    assert one.seen("[aria-labelledby=figure] .legend li[data-trust]") == 3
    assert one.seen("[aria-labelledby=statistics] .panel") == 1
    one.page.locator("#choose").scroll_into_view_if_needed()
    one.keep(f"{size}-chosen")

    one.page.click("button[type=reset]")
    # Waited for by its text: waiting for a function evaluates a string, which the page's own policy forbids.
    one.page.locator("#shown", has_text=re.compile(rf"^All {every} rows shown$")).wait_for()
    assert one.seen(ROWS) == every
    assert one.seen(".off") == one.page.locator(".off").count() == 0


@pytest.mark.parametrize("size", SIZES)
def test_verdict_and_chart_stand_on_the_first_screen(read: Reader, size: str) -> None:
    one = read(size)
    one.keep(f"{size}-first")
    for selector in ("h2.verdict", ".decision .panel svg"):
        box = one.page.locator(selector).bounding_box()
        assert box["y"] + box["height"] <= SIZES[size][1], selector


def test_parts_are_behind_tabs_and_paper_shows_all(read: Reader) -> None:
    one = read()
    parts = ("#details", "#certificate", "#methods")
    assert [one.seen(part) for part in parts] == [1, 0, 0]
    one.page.click(".tabs a[href='#certificate']")
    assert [one.seen(part) for part in parts] == [0, 1, 0]
    assert one.page.inner_text(".tabs [aria-current]") == "Certificate"
    one.page.emulate_media(media="print")
    assert [one.seen(part) for part in parts] == [1, 1, 1]
    assert one.seen(".tabs") == 0


def test_what_no_model_answers_leaves_no_empty_figure(read: Reader) -> None:
    one = read()
    for trust in ("position", "user", "curator"):
        one.page.uncheck(f"[value={trust}]")
    one.page.select_option("[name=statistic]", "edges")
    assert one.status().startswith("0 of ")
    assert one.seen(".holder") == one.page.locator("[aria-labelledby=statistics].holder:not(.off)").count() == 1


def test_pointing_at_a_mark_tells_its_value(read: Reader, comparison: Comparison) -> None:
    one = read()
    panel = one.page.locator("[aria-labelledby=figure] .panel[data-statistic=triangles]")
    panel.scroll_into_view_if_needed()
    expected = error_words("visibility-aware", comparison.aware.row(2, "triangles", "position"))
    assert re.search(r"Error [\d.,]+% ± [\d.,]+%: triangles at ε = 2, POSITION, visibility-aware", expected)
    point = panel.locator(".point", has_text=expected)
    place = point.bounding_box()
    one.page.mouse.move(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    assert one.page.inner_text("[role=tooltip]") == expected
    one.keep("desk-pointing")
    one.page.keyboard.press("Escape")
    one.page.mouse.move(1, 1)
    assert one.seen("[role=tooltip]") == 0


def test_a_tap_tells_a_value_that_stays_on_the_screen(read: Reader) -> None:
    one = read("phone", has_touch=True, is_mobile=True)
    points = one.page.locator("[aria-labelledby=figure] .panel[data-statistic=edges] .point")
    for place in (points.first, points.last):
        place.scroll_into_view_if_needed()
        box = place.bounding_box()
        one.page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        tip = one.page.locator("[role=tooltip]").bounding_box()
        assert 0 <= tip["x"] <= tip["x"] + tip["width"] <= 390
        assert "edges at ε = " in one.page.inner_text("[role=tooltip]")
    one.keep("phone-tapped")
    one.page.touchscreen.tap(5, 5)
    assert one.seen("[role=tooltip]") == 0


def test_the_keyboard_reaches_every_value(read: Reader) -> None:
    one = read()
    reader = one.page.locator("[aria-labelledby=gain] .panel[data-statistic=triangles] [role=slider]")
    one.page.locator("button[type=reset]").focus()
    one.page.keyboard.press("Tab")
    assert one.page.evaluate("document.activeElement.getAttribute('aria-label')") == "Error of edges, point by point"
    reader.focus()
    heard = [reader.get_attribute("aria-valuetext")]
    for _ in range(int(reader.get_attribute("aria-valuemax")) - 1):
        one.page.keyboard.press("ArrowRight")
        heard.append(reader.get_attribute("aria-valuetext"))
    marks = one.page.locator("[aria-labelledby=gain] .panel[data-statistic=triangles] .point").all_text_contents()
    assert heard == marks
    assert len(set(heard)) == 8
    one.page.keyboard.press("Home")
    assert one.page.inner_text("[role=tooltip]") == heard[0]
    assert reader.get_attribute("aria-valuenow") == "1"


def test_choices_are_made_with_the_keyboard(read: Reader, comparison: Comparison) -> None:
    one = read()
    one.page.locator("[value=position]").focus()
    one.page.keyboard.press("Space")
    assert one.status() == f"14 of {len(comparison.aware)} rows shown"
    assert one.page.get_by_role("status").inner_text() == one.status()


def test_paper_shows_everything_whatever_was_chosen(read: Reader, comparison: Comparison) -> None:
    one = read()
    one.page.select_option("[name=statistic]", "edges")
    one.page.select_option("[name=epsilon]", "1")
    assert one.seen(ROWS) < len(comparison.aware)
    one.page.emulate_media(media="print")
    assert one.seen(ROWS) == len(comparison.aware)
    assert one.seen(".panel") == one.page.locator(".panel").count()
    assert one.seen("#choose") == 0
    assert one.page.pdf(path=browsers.PICTURES / "report.pdf", format="A4", prefer_css_page_size=True).startswith(
        b"%PDF"
    )


def test_nothing_is_cut_off_on_paper(read: Reader) -> None:
    one = read()
    one.page.emulate_media(media="print")
    one.page.set_viewport_size({"width": A4, "height": 1000})
    beyond = """limit => [...document.querySelectorAll("main *")]
        .filter(each => each.getBoundingClientRect().right > limit + 1).map(each => each.tagName)"""
    assert one.page.evaluate(beyond, A4) == []
    lefts = """[...document.querySelectorAll(".panels")].map(
        each => [...each.children].map(panel => Math.round(panel.getBoundingClientRect().top)))"""
    for tops in one.page.evaluate(lefts):
        assert len(tops) == 1 or min(tops.count(top) for top in tops) > 1  # no panel alone in its row


def test_without_a_script_everything_is_shown(read: Reader, comparison: Comparison) -> None:
    one = read("phone", java_script_enabled=False)
    assert one.page.locator(ROWS).count() == len(comparison.aware)
    assert all(row.is_visible() for row in one.page.locator(ROWS).all())
    assert not one.page.locator("#choose").is_visible()
    assert one.page.locator(".panel svg").first.is_visible()
    assert all(pane.is_visible() for pane in one.page.locator(".pane").all())


def test_another_script_may_not_run(browser: Any, report: Path, tmp_path: Path) -> None:
    changed = tmp_path / "changed.html"
    changed.write_text(report.read_text(encoding="utf-8").replace("form.hidden = false", "form.hidden = !1"), "utf-8")
    opened = browser.new_page()
    opened.goto(changed.as_uri())
    assert not opened.locator("#choose").is_visible()
    opened.close()
