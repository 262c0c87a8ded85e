"""What the source documents print: figures as data, each with the place where it stands.

Errors are relative, so that 0.244 is 24.4 %; numbers only, no judgement.
"""

from __future__ import annotations

from dataclasses import dataclass

EPSILONS = (0.5, 1.0, 2.0, 4.0)
FIVE = ("edges", "max_degree", "triangles", "stars:2", "stars:3")


@dataclass(frozen=True)
class Claim:
    """One printed figure.

    Parameters
    ----------
    document, place
        Where it stands.
    epsilon
        The epsilon that the document names beside it.
    statistic
        In our words.
    value
        A relative error, or for slide 37 a relative improvement.
    kind
        Which of several figures of one statistic: "uniform", "aware", "clipped", "smooth", "improvement".
    """

    document: str
    place: str
    epsilon: float
    statistic: str
    value: float
    kind: str = ""


def _percent(*figures: float) -> tuple[float, ...]:
    return tuple(figure / 100 for figure in figures)


_SLIDE_36 = {"uniform": _percent(77.5, 71.8, 58.2, 31.2), "aware": _percent(38.4, 17.6, 4.8, 1.3)}
_SLIDE_37 = (
    ("triangles", 4.0, 0.96),
    ("stars:3", 4.0, 0.87),
    ("stars:2", 4.0, 0.88),
    ("max_degree", 2.0, 0.46),
    ("edges", 1.0, 0.54),
)
MEAN_IMPROVEMENT = 0.316
"""000, slide 37: over all statistics and epsilons."""

DOCUMENT_000 = (
    *(
        Claim("000", "slide 36", epsilon, "triangles", error, kind)
        for kind, errors in _SLIDE_36.items()
        for epsilon, error in zip(EPSILONS, errors, strict=True)
    ),
    *(Claim("000", "slide 37", epsilon, name, value, "improvement") for name, epsilon, value in _SLIDE_37),
)

DOCUMENT_001 = tuple(
    Claim("001", "§7.3", 1.0, statistic, error)
    for statistic, error in zip(
        ("edges", "max_degree", "triangles", "stars:2", "stars:3", "stars:4"),
        _percent(0.00, 0.15, 0.00, 0.02, 0.03, 1.75),
        strict=True,
    )
)
TRUTHS_001 = {
    "edges": 88_234,
    "max_degree": 1_045,
    "triangles": 1_612_010,
    "stars:2": 3_758_186,
    "stars:3": 155_637_684,
    "stars:4": 5_731_855_044,
}
"""001, §7.3: what it gives as true values."""

_SECTION_10 = {
    0.5: _percent(1.4, 36.5, 95.8, 62.2, 73.5),
    1.0: _percent(1.2, 9.7, 24.4, 41.7, 53.4),
    2.0: _percent(0.2, 2.1, 2.2, 16.4, 23.9),
    4.0: _percent(0.2, 2.9, 1.0, 2.0, 3.4),
}
DOCUMENT_003 = tuple(
    Claim("003", "§10.2", epsilon, statistic, error)
    for epsilon, errors in _SECTION_10.items()
    for statistic, error in zip(FIVE, errors, strict=True)
)

_TABLE_1 = {
    ("edges", ""): _percent(0.2, 0.01, 0.001),
    ("triangles", "clipped"): _percent(3.3, 0.6, 0.6),
    ("triangles", "smooth"): _percent(1.0, 0.2, 0.01),
    ("stars:2", "clipped"): _percent(0.3, 0.5, 0.7),
    ("stars:2", "smooth"): _percent(0.8, 0.04, 0.009),
}
EPSILONS_004 = (0.1, 1.0, 5.0)
DOCUMENT_004 = tuple(
    Claim("004", "Table 1", epsilon, statistic, error, kind)
    for (statistic, kind), errors in _TABLE_1.items()
    for epsilon, error in zip(EPSILONS_004, errors, strict=True)
)


def claimed(claims: tuple[Claim, ...], epsilon: float, statistic: str, kind: str = "") -> float:
    """The figure that is printed for this."""
    return next(c.value for c in claims if (c.epsilon, c.statistic, c.kind) == (epsilon, statistic, kind))
