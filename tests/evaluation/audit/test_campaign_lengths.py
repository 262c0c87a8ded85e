"""Uploads have one length, whatever the list and the noise.  [CHARTER.6]"""

from __future__ import annotations

from visibility_aware_edge_ldp.campaign.upload import report_in
from visibility_aware_edge_ldp.evaluation.audit import campaign_lengths as lengths
from visibility_aware_edge_ldp.evaluation.audit.campaign_lengths import AUDITS, DEGREES, TWINS, WORDS, uploads
from visibility_aware_edge_ldp.evaluation.audit.campaign_stage import ROUNDS
from visibility_aware_edge_ldp.public import degree_report


def test_every_question_and_round_is_looked_at() -> None:
    (audit,) = AUDITS
    finding = audit.run()
    assert finding.holds
    assert finding.cases == sum(ROUNDS.values()) * len(DEGREES) * len(WORDS)
    assert {lengths._seat(each).charter.question for each in ROUNDS} == {"position", "degrees", "triangles", "hubs"}


def test_the_twin_is_caught_by_the_longest_list() -> None:
    (twin,) = TWINS
    assert twin.run().caught
    assert twin.run().losses[0].found == DEGREES[-1]


def test_degrees_are_what_they_say() -> None:
    seat, sent = lengths._seat("degrees"), {}
    for degree in DEGREES:
        ((_, upload),) = uploads(seat, degree, WORDS[0])
        sent[degree] = int(degree_report.decode(report_in(upload)).values[0, 0])
    assert all(abs(value - degree) <= 1 for degree, value in sent.items())


def test_far_noise_is_far() -> None:
    ((_, near),), ((_, far),) = (uploads(lengths._seat("degrees"), 0, word) for word in (WORDS[0], WORDS[2]))
    assert degree_report.decode(report_in(far)).values[0, 0] - degree_report.decode(report_in(near)).values[0, 0] > 10
    assert len(far) == len(near)
