"""What a browser sends in two worlds that differ by one edge a number: its own modules, and its own coins."""

from __future__ import annotations

import base64
import shutil
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from support.browser_program import copied
from visibility_aware_edge_ldp.audit.statistical.lower_bound import lower_bound
from visibility_aware_edge_ldp.campaign.directory import Campaign, new_campaign, read_campaign
from visibility_aware_edge_ldp.public.groups import Groups
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy

REPORTS = Path(__file__).with_name("browser_reports.mjs")
MAKE = """async ([texts, person, lists, count]) => {
    const { uploads } = await import("./browser_reports.mjs");
    return uploads(".", texts, person, lists, count);
}"""
STATISTICS = {"position": "edges", "degrees": "edges", "groups": "mixing", "triangles": "triangles"}
# How many edges one report tells of, each by numbers of its own.
ROW, LABELS = 240, 60


@dataclass(frozen=True)
class Sent:
    """For each world of one edge, what was sent: (worlds, columns); and what the edge may lose by that."""

    without: np.ndarray
    with_edge: np.ndarray
    claim: float

    def shown(self) -> float:
        """The loss that this shows, of the claim, but for a chance of 0.1 %."""
        return lower_bound(self.without, self.with_edge, alpha=0.001).epsilon / self.claim


def reports_page(browser_page: Any, folder: Path, host: str, changes: dict[str, tuple[str, str]] | None = None) -> Any:
    """The browser's page with the modules of the page, or of a worse one, at hand; ``host`` serves the folder."""
    place = copied(folder, changes)
    shutil.copy(REPORTS, place)
    (place / "blank.html").write_text("<!doctype html><title>Reports</title>", encoding="utf-8")
    browser_page.goto(f"{host}/{folder.name}/take-part/blank.html")
    return browser_page


def campaign_for(folder: Path, question: str, epsilon: int) -> Campaign:
    people = {"position": ROW + 1, "triangles": ROW + 1, "degrees": 3, "groups": LABELS + 1}[question]
    rounds = 2 if question in ("position", "triangles") else 1
    members = np.arange(people) % LABELS
    new_campaign(
        folder,
        names=[f"person {number}" for number in range(people)],
        policy=VisibilityPolicy.nothing(),
        question=question,
        epsilon=epsilon,
        statistics=[STATISTICS[question]],
        closes=[4_000_000_000, 4_000_000_001][:rounds],
        fewest=1,
        title="Many reports",
        epoch="audit",
        split=(Fraction(1, 2), Fraction(1, 2)) if question == "position" else (),
        groups=Groups("g", tuple(f"g{number}" for number in range(LABELS)), members) if question == "groups" else None,
    )
    return read_campaign(folder)


def shipment(page: Any, folder: Path, question: str, runs: int, epsilon: int = 2) -> Sent:
    """So many worlds on either side, several in each report; the first person of the roster answers."""
    found = campaign_for(folder, question, epsilon)
    names = [str(name) for name in found.documents.roster]
    texts = {"charter": found.charter.data.decode(), "signature": found.signed.signature.hex()}
    texts |= {name: data.decode() for name, data in found.documents.data.items()}
    each = {"position": ROW, "triangles": ROW, "degrees": 1, "groups": LABELS}[question]
    groups = found.documents.view.groups
    friends = names[1:2]
    if question != "degrees":  # one person of each group, or everybody of the row
        members = list(range(len(names))) if groups is None else groups.members.tolist()
        friends = [name for place, name in enumerate(names[1:], 1) if members.index(members[place], 1) == place]
    count = -(-runs // each)
    sent = page.evaluate(MAKE, [texts, 0, [[], friends], count])
    without, with_edge = (_columns(question, base64.b64decode(text), count, len(names)) for text in sent)
    share = float(found.charter.shares[0]) if question == "triangles" else 1.0
    return Sent(without, with_edge, epsilon * (share if question in ("position", "triangles") else 0.5))


def _columns(question: str, sent: bytes, count: int, people: int) -> np.ndarray:
    """What was sent about each edge, and which edge it is: (worlds, columns)."""
    if question in ("degrees", "groups"):
        edges = LABELS if question == "groups" else 1
        octets = np.frombuffer(sent, np.uint8).reshape(count, -1)[:, -8 * edges :]
        values = octets.copy().view(">i8").astype(np.int64).reshape(-1, 1)
    else:
        edges, rounds = people - 1, 2 if question == "position" else 1
        packed = np.frombuffer(sent, np.uint8).reshape(count, rounds, -1)[:, :, -((edges + 7) // 8) :]
        bits = np.unpackbits(packed, axis=2, bitorder="little")[:, :, :edges].astype(np.int64)
        values = bits.transpose(0, 2, 1).reshape(-1, rounds)
    return np.column_stack([values, np.tile(np.arange(edges), count)])
