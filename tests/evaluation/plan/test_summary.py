"""What a person reads first, and the files of a plan."""

from __future__ import annotations

import pytest

from visibility_aware_edge_ldp.evaluation.plan import summary
from visibility_aware_edge_ldp.evaluation.plan.planner import Plan, plan
from visibility_aware_edge_ldp.evaluation.plan.scenarios import Publicity
from visibility_aware_edge_ldp.model import VisibilityPolicy
from visibility_aware_edge_ldp.presentation import plan_figures
from visibility_aware_edge_ldp.truth.synthetic import powerlaw

GRAPH = powerlaw(200, 2000, 4)


ROWS = [
    Publicity("positions", 0.0, "user", 0.2),
    *(Publicity(kind, share, "user", 0.2 - share / 5) for kind in plan_figures.KIND_LOOKS for share in (0.1, 0.5)),
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
    first, second, *_ = summary.answer(found)
    assert first.startswith(start)
    assert second.startswith(f"The smallest ε for {summary.percent(target)}: ")


def test_without_a_target_errors_are_named() -> None:
    (line,) = summary.answer(made(epsilons=[2], trust=("user",)))
    assert line.startswith("Mean error of triangles at ε = 2: user ")


def test_never_is_said() -> None:
    found = made(epsilons=[1], target_error=1e-9, trust=("user",))
    assert summary.answer(found)[-1] == "Never, up to ε = 16: user."
    assert summary.target_table(found)[1] == [("triangles", "never", "-")]


def test_what_has_no_closed_form_is_not_called_impossible() -> None:
    found = plan(family=GRAPH, statistics="max_degree", epsilons=[1], target_error=0.05, trust=("user", "curator"))
    first, second, third = summary.answer(found)
    assert first.startswith("A plan cannot tell whether ε = 1 is enough for the largest degree within 5% without")
    assert second.startswith("The smallest ε for 5%: with a trusted centre")
    assert third.startswith("It cannot tell the smallest ε of user (no closed form")
    assert summary.target_table(found)[1][0][1] == "?"
    assert summary.target_table(found)[1][0][-1] == "-"
    assert "?" in [line[0] for line in summary.legend(found)]
    assert "never" not in str(found).lower()


def test_rows_that_rest_on_few_numbers_are_marked() -> None:
    asked = {"statistics": "edges,stars:2,triangles", "epsilons": [1], "trust": ("user",)}
    by_numbers, by_degrees, mine = (
        summary.error_table(plan(*numbers, **more, **asked))[1]  # type: ignore[arg-type]
        for numbers, more in (((200, 2000), {}), ((), {"degrees": GRAPH.degrees.tolist()}), ((), {"family": GRAPH}))
    )
    assert [row[1] for row in by_numbers] == ["edges", "stars:2 ‡", "triangles ‡"]
    assert [row[1] for row in by_degrees] == ["edges", "stars:2", "triangles ‡"]
    assert [row[1] for row in mine] == ["edges", "stars:2", "triangles"]


def test_what_few_users_or_one_pair_decide_is_marked_on_any_graph() -> None:
    """These missed by more than 15 % on graphs that a plan was told whole."""
    names = "edges,stars:2,stars:3,transitivity,triangles,max_degree"
    found = plan(family=GRAPH, statistics=names, epsilons=[1], trust=("user", "curator"))
    marked = {(row.trust, row.statistic) for row in found.predictions if row.from_few_numbers}
    assert marked == {
        *(("user", name) for name in ("stars:3", "transitivity")),
        *(("curator", name) for name in ("stars:2", "stars:3", "triangles")),
    }
    assert any(line.startswith("‡ rests on few numbers and may miss by 15 %") for line in summary.legend(found))
    public = plan(family=GRAPH, policy=VisibilityPolicy(1), statistics="stars:3", epsilons=[1], trust=("user",))
    assert not any(row.from_few_numbers for row in public.predictions)


def test_tables_and_their_marks() -> None:
    found = plan(family=GRAPH, statistics="triangles,max_degree", epsilons=["0.2", 1, 9], trust=("position",))
    head, rows = summary.error_table(found)
    assert head == ("trust", "statistic", "ε = 0.2", "ε = 1", "ε = 9", "least at 1")
    by_name = {row[1]: row for row in rows}
    assert by_name["triangles"][2].endswith("*")
    assert by_name["triangles"][4].endswith("°")
    assert by_name["max_degree"][2:] == ("-", "-", "-", "-")
    assert [line[0] for line in summary.legend(found)] == ["*", "°", "-", "ε"]
    assert summary.cost_table(found)[1][0][0] == "position"
    assert summary.public_table(ROWS)[1][0] == ("nothing", "20%")


def test_a_large_plan_foretells_a_run_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    found = plan(family=GRAPH, statistics="edges,stars:2,triangles", epsilons=[1], trust=("position",))
    assert summary.chunk_by_chunk(found) == []
    assert "in_chunks" not in found.as_dict()
    monkeypatch.setattr(summary, "CHUNKS_PAY", 200)
    (said,) = summary.chunk_by_chunk(found)
    assert said in str(found)
    told = found.as_dict()["in_chunks"]
    assert told["statistics"] == ["edges", "stars:2"]
    assert told["processor_seconds"] == pytest.approx(told["nanoseconds_an_answer"] * 19_900 / 1e9)
    assert f"{told['chunks']} chunks" in said
    assert f"{told['nanoseconds_an_answer']:.2g} ns an answer" in said
    assert "with 64 workers" in said
    assert said.endswith("triangles are no sums over chunks: they take a file of tiles.")
    for other in ({"statistics": "triangles"}, {"trust": ("user",)}, {"work": "0.5"}):
        asked = {"statistics": "edges", "trust": ("position",), **other}
        assert summary.chunk_by_chunk(plan(family=GRAPH, epsilons=[1], **asked)) == []  # type: ignore[arg-type]


def test_next_steps_fit_the_plan() -> None:
    from_numbers = plan(200, 2000, statistics="triangles", epsilons=[1], trust=("position",))
    assert any("--clustering" in step for step in summary.next_steps(from_numbers))
    mine = made(epsilons=[1], trust=("position",))
    assert not any("--clustering" in step for step in summary.next_steps(mine))
    steps, fewer = summary.next_steps(mine), summary.next_steps(mine, shown=True, drawn=True)
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
    assert summary.percent(share) == text
