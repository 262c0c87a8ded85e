"""Golden vectors of waves; in ``tests``, `python -m support.campaign_wave_vectors` writes them anew."""

from __future__ import annotations

from typing import Any

import numpy as np

from support.campaign_answer_vectors import key
from support.campaign_vectors import CLOSES, EPOCH, KEY, NAMES, SPREAD, store
from visibility_aware_edge_ldp.campaign.charter import Charter, Round, SignedCharter
from visibility_aware_edge_ldp.campaign.directory import charter_of
from visibility_aware_edge_ldp.campaign.documents import drafted
from visibility_aware_edge_ldp.campaign.participant.reports import ParticipantContext
from visibility_aware_edge_ldp.campaign.participant.waves import Told, report
from visibility_aware_edge_ldp.campaign.signed_documents import fingerprint
from visibility_aware_edge_ldp.campaign.waves import STATISTICS, Wave
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_random_bytes

FILE = "campaign_waves.json"
# Of the names that a participant has positions with: who is a friend, wave after wave.
LISTS = ("10110100101", "10100110101", "00100110101", "10111110100")


def waves() -> list[dict[str, Any]]:
    """A first campaign, and three waves that tell at most one change or two of each tie."""
    documents, found = drafted(NAMES, SPREAD, [], EPOCH), list[dict[str, Any]]()
    texts = {name: data.decode() for name, data in documents.data.items()}
    due = (Round(CLOSES[0], 2),)

    def charter(title: str, epsilon: str, wave: Wave | None = None) -> Charter:
        issuer = fingerprint(KEY)
        return charter_of(documents, issuer, "position", epsilon, STATISTICS, due, title, EPOCH, wave=wave)

    first = charter("wave 1", "1/2")
    for most in (1, 2):
        told = Told.start(_bits(LISTS[0]))
        for number, given in enumerate(LISTS[1:], 2):
            made = charter(f"wave {number}", "3/4", Wave(first.identity, number, most))
            context = ParticipantContext(made, documents, 0)
            coins = key("waves", most, number)
            drawn = keyed_random_bytes(bytes.fromhex(coins["key"]))
            sent, changed = report(context.row, context.terms.survey, number, told, _bits(given), drawn)
            found.append(
                {
                    "case": f"wave {number}, {most} told",
                    "charter": made.data.decode(),
                    "signature": SignedCharter.of(made, KEY).signature.hex(),
                    "pinned": made.issuer,
                    **texts,
                    "identity": made.identity,
                    "losses": {str(kind): str(loss) for kind, loss in context.terms.losses.items()},
                    "participant": 0,
                    "friends before": _text(told.friends),
                    "told so often": told.times[1:].tolist(),
                    "since": told.last,
                    "friends now": given,
                    "coins": coins,
                    "report": sent.hex(),
                    "told to have changed": _text(changed),
                }
            )
            told = told.after(changed, number)
    return found


def _bits(text: str) -> np.ndarray:
    return np.array([False, *(each == "1" for each in text)])


def _text(bits: np.ndarray) -> str:
    return "".join("01"[int(bit)] for bit in bits[1:])


if __name__ == "__main__":
    store(FILE, waves())
