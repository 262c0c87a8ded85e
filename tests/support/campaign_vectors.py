"""Golden vectors of campaigns; a change of one is a new format.

In ``tests``, `python -m support.campaign_vectors`, `…campaign_answer_vectors` and `…campaign_lies` write them anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.campaign import signed_documents, wire_format
from visibility_aware_edge_ldp.campaign import signed_documents as signing
from visibility_aware_edge_ldp.campaign.charter import Charter, Round, SignedCharter
from visibility_aware_edge_ldp.campaign.charter_log import CharterLog
from visibility_aware_edge_ldp.campaign.directory import charter_of
from visibility_aware_edge_ldp.campaign.documents import Documents, drafted
from visibility_aware_edge_ldp.campaign.statements import SignedStatement, Statement, code, sealed, sign_receipts
from visibility_aware_edge_ldp.campaign.terms import Terms
from visibility_aware_edge_ldp.campaign.wire_format import SALT, Receipt
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.positions import row_start
from visibility_aware_edge_ldp.public.surveys import degrees as degree_report
from visibility_aware_edge_ldp.public.surveys import hubs as hub_report
from visibility_aware_edge_ldp.public.surveys import position as codec
from visibility_aware_edge_ldp.public.surveys import rows as row_report
from visibility_aware_edge_ldp.public.surveys.hubs import HubReport
from visibility_aware_edge_ldp.public.surveys.position import PositionReport
from visibility_aware_edge_ldp.public.surveys.rows import RowReport
from visibility_aware_edge_ldp.public.visibility import Visibility

FOLDER = Path(__file__).parents[1] / "vectors"
KEY, OTHER_KEY = bytes(range(32)), bytes(range(1, 33))
NAMES: list[str | int] = ["Ada", "Bea", "Čenda", "Дора", "Eve", "Finn", "Gül", "Hal", 9, 10, "11", "Ivo"]
EPOCH, CLOSES = "vectors 1", (2_000_000_000, 2_000_086_400)
SPREAD, HUBS = VisibilityPolicy("1/5", "3/10", salt="vectors"), {"Ada": "public", "Дора": "public"}

# name -> question, statistics, rounds, policy
CASES: dict[str, tuple[str, tuple[str, ...], int, VisibilityPolicy]] = {
    "position, one round": ("position", ("edges", "triangles", "stars:2"), 1, SPREAD),
    "position, two rounds": ("position", ("edges",), 2, SPREAD.guarded(3, "3/2")),
    "degrees": ("degrees", ("edges", "degree_histogram", "tail:3"), 1, SPREAD),
    "triangles": ("triangles", ("triangles",), 2, VisibilityPolicy.from_profiles(HUBS, rule="both")),
    "4-cycles": ("triangles", ("four_cycles",), 2, VisibilityPolicy.nothing()),
    "hubs": ("hubs", ("triangles",), 1, VisibilityPolicy.from_profiles(HUBS, rule="any")),
}


def every_other_public_edge(policy: VisibilityPolicy) -> np.ndarray:
    first, second = np.triu_indices(len(NAMES), 1)
    return np.stack([first, second], axis=1)[policy.bind(NAMES).of(first, second) == Visibility.PUBLIC][::2]


def documents_of(case: str) -> Documents:
    policy = CASES[case][3]
    return drafted(NAMES, policy, every_other_public_edge(policy), EPOCH)


def charter_for(case: str, documents: Documents, epsilon: str = "1") -> Charter:
    question, statistics, rounds, _ = CASES[case]
    closing = tuple(Round(when, 2) for when in CLOSES[:rounds])
    split = (Fraction(1, rounds),) * rounds if question == "position" else ()
    issuer = signing.fingerprint(KEY)
    return charter_of(documents, issuer, question, epsilon, statistics, closing, case, EPOCH, 86_400, split)


def upload(terms: Terms, participant: int, number: int, transcript: str = "ab" * 32) -> bytes:
    """What a client might send, with a salt that is none."""
    return bytes([participant, number] * (SALT // 2)) + _report(terms, participant, number, transcript)


def _report(terms: Terms, participant: int, number: int, transcript: str) -> bytes:
    """Every other asked bit is 1, and numbers are small."""
    survey, n = terms.survey, terms.view.n
    one, some = np.ones(1, np.bool_), np.array([participant - 3], np.int64)
    if terms.charter.question == "degrees":
        values = np.arange(len(survey.classes), dtype=np.int64)[:, None] - 1
        return degree_report.encode(degree_report.degree_report(survey.identity, participant, one, values))
    if terms.charter.question == "hubs":
        place = survey.plan.hubs.index(participant)
        return hub_report.encode_hub(HubReport(survey.identity, place, (-5,) * len(survey.numbers), 7))
    if terms.charter.question == "triangles" and number == 2:
        return row_report.encode_rows(RowReport(survey.identity, transcript, participant, one, some, some * 1000))
    start, count = row_start(n, participant), n - 1 - participant
    asked = terms.view.classes.range(start, count) != Visibility.PUBLIC
    answered, ones = (np.packbits(bits, bitorder="little").tobytes() for bits in (asked, asked & _every_other(count)))
    identity = survey.first.identity if terms.charter.question == "triangles" else survey.identity
    return codec.encode(PositionReport(identity, number, start, count, answered, ones))


def _every_other(count: int) -> np.ndarray:
    return np.arange(count) % 2 == 0


def charters() -> list[dict[str, Any]]:
    """Good charters with their documents, signatures, identities, losses and sizes of uploads."""
    made = []
    for case in CASES:
        documents = documents_of(case)
        charter = charter_for(case, documents)
        terms = Terms(charter, documents.view)
        asked = np.flatnonzero(terms.asked(1)).tolist()
        made.append(
            {
                "case": case,
                "key": KEY.hex(),
                "charter": charter.data.decode(),
                "signature": SignedCharter.of(charter, KEY).signature.hex(),
                "identity": charter.identity,
                **{name: data.decode() for name, data in documents.data.items()},
                "losses": {str(kind): str(loss) for kind, loss in terms.losses.items()},
                "asked": asked,
                "sizes": [[terms.upload_size(i, r) for i in asked] for r in range(1, len(charter.rounds) + 1)],
            }
        )
    return made


def uploads() -> list[dict[str, Any]]:
    """Good uploads with their receipts, and the root of each round with a proof."""
    made = []
    for case in CASES:
        documents = documents_of(case)
        charter = charter_for(case, documents)
        terms = Terms(charter, documents.view)
        for number in range(1, len(charter.rounds) + 1):
            asked = np.flatnonzero(terms.asked(number)).tolist()
            sent = {i: upload(terms, i, number) for i in asked}
            digests = {i: signed_documents.digest(data) for i, data in sent.items()}
            leaves = [wire_format.leaf(i, digests[i]) for i in asked]
            receipts = [Receipt(charter.identity, number, i, digests[i]).to_bytes().decode() for i in asked]
            made.append(
                {
                    "case": case,
                    "round": number,
                    "uploads": {str(i): data.hex() for i, data in sent.items()},
                    "receipts": receipts,
                    "root": wire_format.root(leaves).hex(),
                    "proof of the last": [each.hex() for each in wire_format.proof(leaves, len(leaves) - 1)],
                }
            )
    return made


def statements() -> list[dict[str, Any]]:
    """The issuer's log of all charters; and of each a signed receipt, statements of its rounds and their codes."""
    log, made = CharterLog(signing.fingerprint(KEY)), list[dict[str, Any]]()
    for place, case in enumerate(CASES):
        charter = charter_for(case, documents_of(case))
        log = log.extended(charter, signing.fingerprint(OTHER_KEY), KEY)
        receipt = Receipt(charter.identity, 1, place, "cd" * 32).to_bytes()
        rounds, before = list[dict[str, Any]](), ""
        for number in charter.numbers:
            heard = charter.question == "triangles" and number == 1
            seal = sealed("ab" * 32, bytes([place] * 32)) if heard else ""
            said = Statement(
                charter.identity, number, "ef" * 32, place, seal, 1_900_000_000, CLOSES[number - 1], before
            )
            signature = SignedStatement.of(said, OTHER_KEY).signature.hex()
            before = said.digest
            rounds.append({"statement": said.data.decode(), "signature": signature, "code": code(said.data)})
        group = [Receipt(charter.identity, 1, each, "cd" * 32).to_bytes() for each in range(place + 1)]
        shown = sign_receipts(OTHER_KEY, group, bytes(range(32)) * len(group))[place]
        alone = signing.sign(OTHER_KEY, receipt, b"va-edge-ldp receipt 1\n").hex()  # as it was signed before
        signed = {"receipt": receipt.decode(), "signature": shown, "signature alone": alone}
        made.append({"case": case, "server": signing.fingerprint(OTHER_KEY), **signed, "rounds": rounds})
    return [{"case": "log", "issuer": log.issuer, "log": log.data.decode()}, *made]


FILES: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "campaign_charters.json": charters,
    "campaign_uploads.json": uploads,
    "campaign_statements.json": statements,
}


@cache
def stored(name: str) -> Any:
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


def store(name: str, vectors: list[dict[str, Any]]) -> None:
    (FOLDER / name).write_text(json.dumps(vectors, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    from support.campaign_attacks import malicious

    for name, make in FILES.items():
        store(name, make())
    store("campaign_malicious.json", malicious())
