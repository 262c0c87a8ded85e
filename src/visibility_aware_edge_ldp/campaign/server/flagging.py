"""For the operator alone: whose reports no honest participant sends, for as long as reports are kept.  [LIARS.5]"""

from __future__ import annotations

import time

from visibility_aware_edge_ldp.aggregator.plausible import Flag
from visibility_aware_edge_ldp.campaign.questions import Questions
from visibility_aware_edge_ldp.campaign.server.findings import findings_of
from visibility_aware_edge_ldp.campaign.server.retention import Erased, kept_until, refuse_too_soon
from visibility_aware_edge_ldp.campaign.server.store import Store
from visibility_aware_edge_ldp.campaign.server.tree import refuse_damage


def flagged_in(store: Store, questions: Questions) -> list[Flag]:
    """What is flagged in the frozen reports of a store; the published answers say how many reports that are."""
    stages = store.stages()
    refuse_too_soon(questions.charter, stages)
    if store.erased_at() is not None:
        raise Erased("The reports were erased, and with them whose were flagged; the answers say how many were.")
    if time.time() >= kept_until(questions.charter, stages, store.estimated_at()):
        raise Erased(
            "The time for which reports are kept is over, so they were due to go. Start the server, which erases them."
        )
    reports = {stage.round: store.bodies(stage.round) for stage in stages}
    for stage in stages:
        refuse_damage(stage, store.leaves(stage.round), reports[stage.round])
    return list(findings_of(questions, reports).flagged)
