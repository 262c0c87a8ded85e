"""What a person reads first, and the files of a plan."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from visibility_aware_edge_ldp.errors import MissingPart
from visibility_aware_edge_ldp.evaluation.plan import figures, words
from visibility_aware_edge_ldp.evaluation.plan.files import write_plan
from visibility_aware_edge_ldp.evaluation.plan.planner import Plan, plan
from visibility_aware_edge_ldp.evaluation.plan.publicity import Publicity
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

GRAPH = powerlaw(200, 2000, 4)
ROWS = [
    Publicity("positions", 0.0, "user", 0.2),
    *(Publicity(kind, share, "user", 0.2 - share / 5) for kind in figures.KIND_LOOKS for share in (0.1, 0.5)),
]


def made(**options: object) -> Plan:
    return plan(family=GRAPH, statistics="triangles", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("epsilons", "target", "trust", "start"),
    [
        ([4], 0.2, ("position", "user"), "Yes: ε = 4 is enough for triangles within 20%, and nobody is trusted"),
        ([1], 0.05, ("position", "curator"), "At ε = 1 only with a trusted centre"),
        ([1], 0.001, ("position", "user"), "No: at ε = 1 nobody brings triangles within 0.1%. The nearest, position"),
    ],
)
def test_the_first_line_says_whether_and_whom(
    epsilons: list[int], target: float, trust: tuple[str], start: str
) -> None:
    found = made(epsilons=epsilons, target_error=target, trust=trust)
    first, second, *_ = words.answer(found)
    assert first.startswith(start)
    assert second.startswith(f"The smallest ε for {words.percent(target)}: ")


def test_without_a_target_errors_are_named() -> None:
    (line,) = words.answer(made(epsilons=[2], trust=("user",)))
    assert line.startswith("Mean error of triangles at ε = 2: user ")


def test_never_is_said() -> None:
    found = made(epsilons=[1], target_error=1e-9, trust=("user",))
    assert words.answer(found)[-1] == "Never, up to ε = 16: user."
    assert words.target_table(found)[1] == [("triangles", "never", "-")]


def test_tables_and_their_marks() -> None:
    found = plan(family=GRAPH, statistics="triangles,max_degree", epsilons=["0.2", 1, 9], trust=("position",))
    head, rows = words.error_table(found)
    assert head == ("trust", "statistic", "ε = 0.2", "ε = 1", "ε = 9", "least at 1")
    by_name = {row[1]: row for row in rows}
    assert by_name["triangles"][2].endswith("*")
    assert by_name["triangles"][4].endswith("°")
    assert by_name["max_degree"][2:] == ("-", "-", "-", "-")
    assert [line[0] for line in words.legend(found)] == ["*", "°", "-"]
    assert words.cost_table(found)[1][0][0] == "position"
    assert words.public_table(ROWS)[1][0] == ("nothing", "20%")


def test_next_steps_fit_the_plan() -> None:
    from_numbers = plan(200, 2000, statistics="triangles", epsilons=[1], trust=("position",))
    assert any("--clustering" in step for step in words.next_steps(from_numbers))
    mine = made(epsilons=[1], trust=("position",))
    assert not any("--clustering" in step for step in words.next_steps(mine))
    steps, fewer = words.next_steps(mine), words.next_steps(mine, shown=True, drawn=True)
    assert [flag for flag in ("--more-public", "--output") if any(flag in step for step in steps)] == [
        "--more-public",
        "--output",
    ]
    assert not any(flag in step for flag in ("--more-public", "--output") for step in fewer)


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.12345, "12.3%"), (0.0012345, "0.12%"), (3.0, "300%"), (0.0, "0%"), (1e-8, "1e-06%"), (float("nan"), "-")],
)
def test_percentages(share: float, text: str) -> None:
    assert words.percent(share) == text


def test_files_are_whole_and_the_same_every_time(tmp_path: Path) -> None:
    found = plan(family=GRAPH, statistics="edges,triangles", epsilons=[1, 2], target_error=0.05)
    names = [path.name for path in write_plan(found, tmp_path, ROWS)]
    assert names == ["plan.json", "plan.csv", "public.csv", "error.svg", "error.png", "public.svg", "public.png"]
    content = json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))
    assert len(content["more_public"]) == len(ROWS)
    with (tmp_path / "plan.csv").open(encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == len(found.predictions)
    drawn = (tmp_path / "error.svg").read_text(encoding="utf-8")
    assert all(text in drawn for text in (figures.HERE, figures.HARDEST, "Triangles", "position", "curator"))
    assert all(text in (tmp_path / "public.svg").read_text() for text in figures.KIND_WORDS.values())
    assert figures.figure_files(found)["error.svg"] == drawn.encode()


def test_numbers_are_written_where_nothing_can_be_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.style", None)
    with pytest.raises(MissingPart, match=r"plan\.json"):
        write_plan(made(epsilons=[1], trust=("position",)), tmp_path)
    assert (tmp_path / "plan.csv").is_file()
