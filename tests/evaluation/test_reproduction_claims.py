"""What the documents print, as data: complete, and what the figures can be checked against by arithmetic."""

from __future__ import annotations

import pytest

from visibility_aware_edge_ldp.evaluation.reproduction_claims import (
    DOCUMENT_000,
    DOCUMENT_001,
    DOCUMENT_003,
    DOCUMENT_004,
    TRUTHS_001,
    Claim,
)

# 003 §10.2 prints estimates and true values too; where an error is that of the printed estimate, it can be recomputed.
ESTIMATES_003 = {
    ("triangles", 0.5): (585_852, 1_147_325),
    ("triangles", 1.0): (585_852, 728_892),
    ("triangles", 2.0): (585_852, 598_734),
    ("stars:2", 0.5): (2_004_736, 758_669),
    ("stars:2", 1.0): (2_004_736, 1_168_759),
    ("stars:2", 2.0): (2_004_736, 1_676_541),
    ("stars:2", 4.0): (2_004_736, 1_963_804),
    ("stars:3", 0.5): (92_049_152, 24_350_667),
    ("stars:3", 1.0): (92_049_152, 42_937_407),
    ("stars:3", 2.0): (92_049_152, 70_030_443),
    ("stars:3", 4.0): (92_049_152, 88_929_400),
}


def claimed(claims: tuple[Claim, ...], epsilon: float, statistic: str, kind: str = "") -> float:
    (value,) = (c.value for c in claims if (c.epsilon, c.statistic, c.kind) == (epsilon, statistic, kind))
    return value


@pytest.mark.parametrize(
    ("claims", "count"),
    [(DOCUMENT_000, 8 + 5), (DOCUMENT_001, 6), (DOCUMENT_003, 4 * 5), (DOCUMENT_004, 3 * 5)],
    ids=["000", "001", "003", "004"],
)
def test_every_figure_of_a_table_is_there_once(claims: tuple[Claim, ...], count: int) -> None:
    keys = {(claim.epsilon, claim.statistic, claim.kind) for claim in claims}
    assert len(claims) == len(keys) == count
    assert all(0 <= claim.value < 1 for claim in claims)


@pytest.mark.parametrize(("key", "printed"), ESTIMATES_003.items(), ids=lambda value: str(value))
def test_003_s_errors_are_those_of_its_estimates(key: tuple[str, float], printed: tuple[int, int]) -> None:
    truth, estimate = printed
    error = claimed(DOCUMENT_003, key[1], key[0])
    assert abs(estimate - truth) / truth == pytest.approx(error, abs=0.00051)


@pytest.mark.parametrize(
    ("epsilon", "printed"), [(0.5, 0.50), (1.0, 0.76), (2.0, 0.92), (4.0, 0.96)], ids=lambda value: f"{value:g}"
)
def test_000_s_improvements_are_those_of_its_errors(epsilon: float, printed: float) -> None:
    aware, uniform = (claimed(DOCUMENT_000, epsilon, "triangles", kind) for kind in ("aware", "uniform"))
    assert 1 - aware / uniform == pytest.approx(printed, abs=0.0075)


@pytest.mark.parametrize(
    ("statistic", "estimate"),
    [("stars:2", 3_757_454), ("stars:3", 155_598_212), ("stars:4", 5_631_567_123)],
)
def test_001_s_errors_are_those_of_its_estimates(statistic: str, estimate: int) -> None:
    truth = TRUTHS_001[statistic]
    assert abs(estimate - truth) / truth == pytest.approx(claimed(DOCUMENT_001, 1.0, statistic), abs=0.000051)
