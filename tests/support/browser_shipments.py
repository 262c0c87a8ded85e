"""What a browser sends in two worlds that differ by one edge a number, and what people send by the page's modules."""

from __future__ import annotations

import base64
import shutil
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from support.browser_program import copied, under_node
from support.campaign_town import Town
from visibility_aware_edge_ldp.audit.statistical.lower_bound import lower_bound
from visibility_aware_edge_ldp.campaign.directory import Campaign, new_campaign, read_campaign
from visibility_aware_edge_ldp.mechanisms.power_noise import SmoothPower
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_random_bytes, seeded_key
from visibility_aware_edge_ldp.public.groups import Groups
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy

REPORTS = Path(__file__).with_name("browser_reports.mjs")
MAKE = """async ([texts, person, lists, count, sums]) => {
    const { uploads } = await import("./browser_reports.mjs");
    return uploads(".", texts, person, lists, count, sums);
}"""
STATISTICS = {"position": "edges", "degrees": "edges", "groups": "mixing", "triangles": "triangles"}
# How many edges one report tells of, each by numbers of its own.
ROW, LABELS = 240, 60
# With so many friends at ε = 4 an edge moves the sum, and the scale of its noise, about as far as they are paid for.
FRIENDS, SUMS_EPSILON = 17, 4
# Python's noise is drawn at this scale, where whole numbers are fine.
_FINE = 1e6


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


def campaign_for(folder: Path, question: str, epsilon: int, people: int = 0) -> Campaign:
    people = people or {"position": ROW + 1, "triangles": ROW + 1, "degrees": 3, "groups": LABELS + 1}[question]
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
    each = {"position": ROW, "triangles": ROW, "degrees": 1, "groups": LABELS}[question]
    groups = found.documents.view.groups
    friends = names[1:2]
    if question != "degrees":  # one person of each group, or everybody of the row
        members = list(range(len(names))) if groups is None else groups.members.tolist()
        friends = [name for place, name in enumerate(names[1:], 1) if members.index(members[place], 1) == place]
    count = -(-runs // each)
    sent = page.evaluate(MAKE, [_texts(found), 0, [[], friends], count, False])
    without, with_edge = (_columns(question, base64.b64decode(text), count, len(names)) for text in sent)
    share = float(found.charter.shares[0]) if question == "triangles" else 1.0
    return Sent(without, with_edge, epsilon * (share if question in ("position", "triangles") else 0.5))


@dataclass(frozen=True)
class Sums(Sent):
    """Second rounds of triangles: reaches and sums; and the noise of the sums, of one that has scale 1."""

    noise: np.ndarray
    law: SmoothPower

    def strangeness(self) -> float:
        """How far the sizes of the noise are from those of a million draws by the Python program, by Kolmogorov."""
        drawn = self.law.sample_each(np.full(10**6, _FINE), keyed_random_bytes(seeded_key(24, "sums")))
        return _distance(np.abs(self.noise), np.abs(drawn) / _FINE)


def sums(page: Any, folder: Path, runs: int) -> Sums:
    """So many second rounds in either world: everybody else said 1 everywhere, and one friend more is there or not.

    Her reach is of somebody whom she does not know and who was said to know all her friends; it moves by M.
    """
    found = campaign_for(folder, "triangles", SUMS_EPSILON, FRIENDS + 3)
    names = [str(name) for name in found.documents.roster]
    lists = [names[1 : 1 + FRIENDS], names[1 : 2 + FRIENDS]]
    sent = page.evaluate(MAKE, [_texts(found), 0, lists, runs, True])
    first, second = found.charter.mechanisms
    law = SmoothPower(Fraction(second["total"]), Fraction(second["share"]))
    flip = Fraction(int(first["thresholds"]["PRIVATE"]), 1 << 64)
    unit = float((1 - flip) / (1 - 2 * flip)) * 2 ** second["fineness"]  # M
    worlds, noise = list[np.ndarray](), list[np.ndarray]()
    for count, text in zip((FRIENDS, FRIENDS + 1), sent, strict=True):
        octets = np.frombuffer(base64.b64decode(text), np.uint8).reshape(runs, -1)[:, -16:]
        worlds.append(octets.copy().view(">i8").astype(np.int64))
        noise.append((worlds[-1][:, 1] - count * (count - 1) / 2 * unit) / (count * unit + 2))
    return Sums(*worlds, SUMS_EPSILON * float(found.charter.shares[1]), np.concatenate(noise), law)


def _distance(some: np.ndarray, others: np.ndarray) -> float:
    """The largest difference between the shares of two samples that are at most so large."""
    both = np.concatenate([some, others])
    below = [np.searchsorted(np.sort(each), both, "right") / each.size for each in (some, others)]
    return float(np.abs(below[0] - below[1]).max())


def _texts(found: Campaign) -> dict[str, str]:
    texts = {"charter": found.charter.data.decode(), "signature": found.signed.signature.hex()}
    return texts | {name: data.decode() for name, data in found.documents.data.items()}


def sent_under_node(
    folder: Path, town: Town, people: list[int], count: int, changes: dict[str, tuple[str, str]] | None = None
) -> dict[int, list[bytes]]:
    """Of each of these people so many uploads by the page's modules under node, with coins that can be drawn again."""
    names = [str(name) for name in town.served.campaign.documents.roster]
    asked = [
        {
            "person": person,
            "friends": [names[other] for other in town.friends[person].nonzero()[0]],
            "key": seeded_key("node", person).hex(),
        }
        for person in people
    ]
    folder.mkdir()
    given = {"texts": _texts(town.served.campaign), "people": asked, "count": count}
    sent = [base64.b64decode(text) for text in under_node(folder, given, REPORTS, changes)]
    sizes = [len(each) // count for each in sent]
    return {
        person: [all_of[size * i : size * (i + 1)] for i in range(count)]
        for person, all_of, size in zip(people, sent, sizes, strict=True)
    }


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
