"""What the source documents print: figures as data, each with the place where it stands.

Errors are relative, so that 0.244 is 24.4 %; numbers only, no judgement.
"""

from dataclasses import dataclass

EPSILONS = (0.5, 1.0, 2.0, 4.0)
FIVE = ("edges", "max_degree", "triangles", "stars:2", "stars:3")


@dataclass(frozen=True)
class Claim:
    """One printed figure: where it stands, and the epsilon that the document names beside it.

    ``value`` is a relative error, or for slide 37 a relative improvement. ``kind`` tells several figures of one
    statistic apart: "uniform", "aware", "clipped", "smooth", "improvement".
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


# How a document's ε converts to a loss per edge against all reports, and one sentence for each thing that differs.
LOSS_000 = (
    "A position has one holder and answers at ε/2 in each of two rounds: ε per edge for one statistic, and 5ε for "
    "the five of slide 37, each of which is run by itself. Here ε is the loss of an edge for all five together, in "
    "every measured column, and the same for uniform and visibility-aware."
)
DIFFERENCES_000 = (
    "Run honestly: the slides give no formula for false positives, so this is document 003's estimator (ipw_capped) "
    "on a transcript with one answer per position and round.",
    "The graph: slide 35 names all 4,039 nodes. False triangles outnumber the true ones there, and the estimator is "
    "off by thousands of per cent at ε ≤ 1, whatever is public. The slides' examples have n = 300 (Appendix A), so "
    "300 nodes are shown too.",
    "The uniform column: on neither graph do errors fall as slowly as in slide 36; much of the improvement printed "
    "there is the baseline's.",
    "Detection: slide 23 uses p(ε) in both rounds; each round has ε/2.",
    "Visibility: half of the positions are public here, edges or not; the slides publish half of the true edges, "
    "which is itself a release.",
    "Slide 37: ours, and everybody's edges, compare the standard errors that estimates carry (wide ones for max "
    "degree), because ratios of a few trials' errors say little; the document's estimator carries none, so its "
    "measured errors are compared, and one trial on Facebook is too few for that.",
    "The gain: with half of the positions exact, the variance of the edge count is half, so its error falls by 29 %, "
    "and not by 54 %, at any ε.",
)
LOSS_001 = (
    "Each of six answers costs (1, 10⁻⁶) per PRIVATE edge and twice that ε per FRIEND_VISIBLE edge, so all six cost "
    "(6, 6·10⁻⁶), as §7.4 says. “Run honestly” pays that. “Ours” asks the same centre at ε = 1 a question with δ = "
    "0: 6 in all. “Ours, no centre” is USER with ε = 6 for all six together. The last column spends 1 on all six: "
    "what “1.0” promises to somebody who reads it as the loss of the table."
)
DIFFERENCES_001 = (
    "Trust: the document calls this local; somebody must hold the whole graph to compute smooth sensitivity, so it "
    "is a centre. The last two columns are local.",
    "Run honestly: Laplace noise on a smooth bound over all pairs that are not public. The document looks at "
    "existing edges only, which hides removals and not additions. Its scale 2S/ε is half as much again as is needed, "
    "and its 2/ε for edges and max degree twice as much.",
    "Ours: power noise, which needs no δ.",
    "Draws: the document prints one; the other columns are means.",
    "Triangles: 0.00 % is a lucky draw; 293 common neighbours (not about 45, as in §6.3) give 0.036 % on average "
    "with the document's own noise.",
    "4-stars: one edge at the largest hub moves 190 million of them, 0.2 % of all, and noise has to hide that.",
)
LOSS_003 = (
    "A position has one holder and answers once a round, so ε/2 twice is ε per edge. The document runs each of its "
    "five statistics with an ε of its own: 5ε by its own count. As printed, it costs more: an edge is asked again "
    "from its other end (2-stars and 3-stars; max degree where both ends are candidates: 1.5ε each), and once for "
    "every candidate triangle that it is in (a loss that grows with n). Here ε is the loss of an edge for all five "
    "statistics together, in every measured column: at most a fifth of the document's."
)
DIFFERENCES_003 = (
    "Run honestly: the document's estimator with its caps and penalties, on a transcript in which every position "
    "answers once a round (ipw_capped).",
    "Triangles: the document asks an edge afresh in each of its triangles, so its figure rests on answers that "
    "nobody may have. Run honestly, its error is larger at ε = 2 than at ε = 1: it has biases of both signs, which "
    "happen to cancel there.",
    "Stars: a capped inverse weight and C(d, k) of a rounded noisy degree lose 40 to 75 % of the stars at ε ≤ 1; "
    "elementary symmetric polynomials of unbiased scores lose none.",
    "Max degree: the maximum of noisy degrees is too high; ours takes the known noise off.",
    "Edges: the document's count is one round with the whole ε and an unbiased sum, and so is ours, which gives the "
    "other four from the same answers; so the factor is about 1.",
    "Two rounds, unbiased: the honest transcript with our scores; one round with the whole ε is better still.",
    "Visibility: 33.1 % of the positions are public here, edges or not; the document says it of edges.",
)
LOSS_004 = (
    "The document's ε is that of one list. An edge between two private users stands in two lists, so edges and "
    "2-stars cost 2ε per edge, and are compared at that. Triangles: one edge moves the counts of both its ends and "
    "of every common friend, 3ε together, and up to three times that because a cap may swap friends; public users "
    "who answer exactly leave no finite loss at all. So triangles are compared at the strictest reading, ε per edge. "
    "Every statistic is paid for by itself, but ours gives edges and 2-stars from one answer."
)
DIFFERENCES_004 = (
    "Hubs: in all columns a fifth of the users, those of highest true degree, is public. That uses private data; it "
    "is assumed to be known who they are.",
    "Edges: the document's degree reports are honest at 2ε per edge, and ours are the same. What it prints is less "
    "than its own noise gives on average (0.036 % at ε = 1).",
    "Triangles, clipped: run honestly, each triangle is counted by one of its users, with noise for the three edges "
    "that one may move (cap:50). The cap itself loses triangles at every ε.",
    "Triangles, smooth: noise scaled by a user's own sensitivity tells that sensitivity, so this cannot be run "
    "honestly; bounds bought with noisy degrees stand in its place (reporters: users).",
    "Triangles, ours: sixteen public hubs count, and add noise for what is not public. What they leave out is in "
    "their interval. Where the printed error is below ours, no finite loss stands behind it.",
    "2-stars, clipped: run honestly as printed, C(min(d, 50), 2) with noise 49/ε; hubs are exact, because their "
    "lists are public. What the cap cuts off stays off at every ε.",
    "2-stars, smooth: the noise's scale is the degree itself, so this cannot be run honestly. Ours: a noisy degree, "
    "of scale 1/ε whatever the degree, gives 2-stars without bias.",
    "Power-law and random graphs: the document says that it studied them and prints no figure; these have Facebook's "
    "numbers of nodes and edges. In a random graph friends of a hub rarely know each other, hubs see a quarter of "
    "the triangles, and say so in their interval.",
)
