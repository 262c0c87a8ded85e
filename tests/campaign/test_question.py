"""Questions are protocols, and the loss of their stated integers is what their surveys are billed.  [CHARTER.3]"""

from fractions import Fraction

import pytest

from support.campaign_vectors import CASES, charter_for, documents_of
from visibility_aware_edge_ldp.campaign.questions import QUESTIONS
from visibility_aware_edge_ldp.campaign.terms import Terms
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC


@pytest.mark.parametrize("epsilon", ["1/100", "1", "7/3", "12"])
@pytest.mark.parametrize("case", CASES)
def test_the_loss_is_what_the_survey_is_billed(case: str, epsilon: str) -> None:
    documents = documents_of(case)
    charter = charter_for(case, documents, epsilon)
    terms = Terms(charter, documents.view)
    billed = {kind: Fraction(0) for kind in NON_PUBLIC}
    for release in terms.survey.releases:
        for kind, price in release.prices:
            billed[kind] += price.epsilon
    for kind, loss in terms.losses.items():
        assert loss <= billed[kind] <= documents.policy.multiplier(kind) * charter.epsilon
        assert loss >= billed[kind] * (1 - Fraction(1, 10**10))
    rounds = [terms.round_losses(number) for number in range(1, len(charter.rounds) + 1)]
    assert terms.losses == {kind: sum(each[kind] for each in rounds) for kind in terms.losses}


@pytest.mark.parametrize(
    ("question", "trust", "rounds", "answered"),
    [
        (
            "position",
            "position",
            (1, 2),
            "edges degrees max_degree degree_histogram triangles transitivity four_cycles three_paths "
            "tailed_triangles diamonds four_cliques stars:K",
        ),
        ("degrees", "user", (1,), "edges degrees max_degree degree_histogram stars:K tail:T degree_quantile:Q"),
        ("triangles", "user", (2,), "triangles four_cycles"),
        ("hubs", "neighbourhood", (1,), "triangles"),
    ],
)
def test_trust_rounds_and_statistics_are_the_protocols(
    question: str, trust: str, rounds: tuple[int, ...], answered: str
) -> None:
    known = QUESTIONS[question]
    assert (known.trust.name, known.rounds, known.answered) == (trust, rounds, tuple(answered.split()))
    assert len(known.formats) == len(known.protocol.layouts)
    assert not any(map(known.answers, ("no statistic", "stars:many")))


@pytest.mark.parametrize("question", QUESTIONS)
def test_of_every_pair_of_ends_one_is_asked_or_both_are_charged_at_once(question: str) -> None:
    known, nodes = QUESTIONS[question], 5
    for participant in range(nodes):
        own, others = known.own(participant, nodes), known.others(participant, nodes)
        assert (own != others).all()
