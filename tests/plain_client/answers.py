"""Reports: what each question is answered with, and what an upload must be."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from plain_client.campaign import Campaign
from plain_client.canonical import Refused, demand, sha256
from plain_client.noise import Coins, chained, discrete_laplace, draw, flips, power_noise
from plain_client.rules import FRIEND_VISIBLE, HIDDEN, PRIVATE, PUBLIC

Levels = Sequence[dict[int, bool]]  # of each position of a row, what it answered before, by threshold
_FARTHEST_SUM, _FARTHEST, _FARTHEST_DRAW = 1 << 61, 1 << 62, (1 << 62) - 1
_LN2_HIGH, _LN2_LOW = float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33")
_INVERSE = float.fromhex("0x1.71547652b82fep+0")


def pack(bits: Sequence[bool]) -> bytes:
    octets = bytearray(-(-len(bits) // 8))
    for place, bit in enumerate(bits):
        octets[place >> 3] |= bit << (place & 7)
    return bytes(octets)


def unpack(octets: bytes, count: int) -> list[bool]:
    return [bool(octets[place >> 3] >> (place & 7) & 1) for place in range(count)]


def row_start(nodes: int, person: int) -> int:
    return person * (2 * nodes - person - 1) // 2


def row_report(campaign: Campaign, person: int, number: int, ones: Sequence[bool]) -> bytes:
    """VAEL."""
    answered = [kind != PUBLIC for kind in campaign.row(person)]
    head = struct.pack(">4sBBQQ", b"VAEL", 1, number, row_start(campaign.nodes, person), len(answered))
    return head + bytes.fromhex(campaign.row_survey) + pack(answered) + pack(ones)


def ones_of(report: bytes, count: int) -> list[bool]:
    return unpack(report[len(report) - (count + 7) // 8 :], count)


def first_row(
    campaign: Campaign, person: int, friends: Sequence[bool], levels: Levels, coins: Coins
) -> tuple[bytes, dict[int, dict[int, bool]]]:
    """Round 1 of rows: the report, and for each threshold what was said, by the other end's number."""
    classes, own = campaign.row(person), campaign.thresholds(1)
    bits, said = list(friends[person + 1 :]), [False] * len(classes)
    fresh: dict[int, dict[int, bool]] = {}
    for flip in sorted(set(own.values())):
        kinds = [kind for kind in HIDDEN if own[kind] == flip]
        if not any(kind in kinds for kind in classes):
            continue
        drawn = chained(flip, bits, levels, coins)
        fresh[flip] = {person + 1 + i: drawn[i] for i, kind in enumerate(classes) if kind in kinds}
        for other, bit in fresh[flip].items():
            said[other - person - 1] = bit
    return row_report(campaign, person, 1, said), fresh


def second_row(campaign: Campaign, person: int, friends: Sequence[bool], first: bytes, coins: Coins) -> bytes:
    """Round 2 of ``position``."""
    classes = campaign.row(person)
    before, ones = ones_of(first, len(classes)), [False] * len(classes)
    for kind in (FRIEND_VISIBLE, PRIVATE):
        places = [i for i, own in enumerate(classes) if own == kind and before[i]]
        for i, flip in zip(places, flips(len(places), campaign.thresholds(2)[kind], coins), strict=True):
            ones[i] = friends[person + 1 + i] != flip
    return row_report(campaign, person, 2, ones)


def numbers(campaign: Campaign, person: int, friends: Sequence[bool], coins: Coins) -> bytes:
    """``degrees`` and ``groups``."""
    groups = campaign.policy.groups if campaign.by_groups else None
    places = groups["members"] if groups else [0] * campaign.nodes
    rates = campaign.charter["mechanisms"][0]["rates"]
    others = [other for other in range(campaign.nodes) if other != person and friends[other]]
    values = []
    for kind, rate in zip(campaign.hidden, (Fraction(rates[c]) for c in sorted(rates)), strict=True):
        mine = [places[other] for other in others if campaign.policy.of(person, other) == kind]
        for group in range(len(groups["labels"]) if groups else 1):
            noisy = mine.count(group) + draw(discrete_laplace(rate), coins, max(1, round(1 / rate)))
            values.append(max(-_FARTHEST, min(noisy, _FARTHEST)))
    head = struct.pack(">4sBH" if groups else ">4sBB", b"VAEG" if groups else b"VAED", 1, len(values))
    place = struct.pack(">QQ", person, 1) + bytes.fromhex(campaign.charter["survey"])
    return head + place + b"\1" + struct.pack(f">{len(values)}q", *values)


@dataclass
class Transcript:
    """All first answers: who answered, and who said 1, by the number of the position."""

    answered: list[bool]
    ones: list[bool]
    digest: str
    rows: list[bool]


def read_transcript(campaign: Campaign, data: bytes) -> Transcript:
    """The transcript in these octets; refuses what is none."""
    nodes = campaign.nodes
    count = nodes * (nodes - 1) // 2
    asked = [kind != PUBLIC for person in range(nodes) for kind in campaign.row(person)]
    size = -(-count // 8)
    if campaign.policy.scoped:
        head = -(-nodes // 8)
        demand(len(data) == head + -(-sum(asked) // 8), "a transcript of another length")
        rows, said = unpack(data[:head], nodes), iter(unpack(data[head:], sum(asked)))
        owners = [person for person in range(nodes) for _ in range(person + 1, nodes)]
        answered = [here and rows[owner] for here, owner in zip(asked, owners, strict=True)]
        ones = [here and next(said) for here in asked]
        held = [any(kind != PUBLIC for kind in campaign.row(person)) for person in range(nodes)]
        demand(not any(row and not own for row, own in zip(rows, held, strict=True)), "a row that is not asked")
        demand(pack(rows) + pack([one for one, here in zip(ones, asked, strict=True) if here]) == data, "spare bits")
    else:
        demand(len(data) == 2 * size, "a transcript of another length")
        answered, ones = unpack(data[:size], count), unpack(data[size:], count)
        demand(pack(answered) + pack(ones) == data, "bits after the last")
    demand(not any(here and not own for here, own in zip(answered, asked, strict=True)), "answers of what is PUBLIC")
    demand(not any(one and not here for one, here in zip(ones, answered, strict=True)), "ones without an answer")
    rows = []
    for person in range(nodes):
        place = slice(row_start(nodes, person), row_start(nodes, person + 1))
        demand(answered[place] == asked[place] or not any(answered[place]), "a row that answered in part")
        rows.append(any(answered[place]))
    digest = sha256(campaign.row_survey.encode() + pack(answered) + pack(ones))
    return Transcript(answered, ones, digest, rows)


def refuse_other_row(campaign: Campaign, person: int, first: bytes, transcript: Transcript) -> None:
    """The own row must be in the transcript as it was sent."""
    count = campaign.nodes - 1 - person
    place = slice(row_start(campaign.nodes, person), row_start(campaign.nodes, person) + count)
    sent = unpack(first[54 : 54 + -(-count // 8)], count), ones_of(first, count)
    demand((transcript.answered[place], transcript.ones[place]) == sent, "the transcript lacks the own row")


def exp(x: float) -> float:
    k = round(x * _INVERSE)
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    s = 1 / math.factorial(14)
    for j in range(13, 0, -1):
        s = s * r + 1 / math.factorial(j)
    return math.ldexp(s * r + 1.0, k)


def row_sum(
    campaign: Campaign, person: int, friends: Sequence[bool], first: bytes, transcript: Transcript, coins: Coins
) -> bytes:
    """Round 2 of ``triangles``."""
    stated = campaign.charter["mechanisms"][1]
    refuse_other_row(campaign, person, first, transcript)
    steps, total, scale = measured_row(campaign, person, friends, transcript)
    loss, share, rate = (Fraction(stated[name]) for name in ("total", "share", "reach"))
    steps += draw(discrete_laplace(rate), coins, max(1, round(1 / rate)))
    noise = draw(power_noise(loss, share, Fraction(scale)), coins, max(1, int(scale / float(loss))))
    total += max(-_FARTHEST_DRAW, min(noise, _FARTHEST_DRAW))
    cut = (max(-_FARTHEST_SUM, min(each, _FARTHEST_SUM)) for each in (steps, total))
    head = struct.pack(">4sBQQ", b"VAET", 1, person, 1) + bytes.fromhex(campaign.charter["survey"])
    return head + bytes.fromhex(transcript.digest) + b"\1" + struct.pack(">2q", *cut)


def measured_row(
    campaign: Campaign, person: int, friends: Sequence[bool], transcript: Transcript
) -> tuple[int, int, float]:
    """Reach and sum before noise, and the scale of the sum's noise."""
    stated = campaign.charter["mechanisms"][1]
    demand(stated["statistic"] == "triangles", "4-cycles are not summed by this program")
    planes, largest = _planes(campaign, transcript)
    reach, total = _measured(campaign, person, friends, planes)
    unit = 2.0 ** stated["fineness"]
    if largest * campaign.nodes**2 * unit * 64 > 2**52:
        raise Refused("scores too large to be summed exactly")
    beta = float(Fraction(stated["share"]) * Fraction(stated["total"]) * (1 - Fraction(1, 1 << 60))) * (1 - 1e-6)
    pace = largest / beta
    bound = reach if reach >= pace else pace * exp(min(reach / pace, 1.0) - 1)
    scale = bound * ((1 + 1e-9) * unit) + 2
    return math.floor(reach / (largest * (1 + 1e-9))), math.floor(total * unit + 0.5), scale


Plane = tuple[float, set[tuple[int, int]]]


def _planes(campaign: Campaign, transcript: Transcript) -> tuple[list[Plane], float]:
    asked = sum(any(kind != PUBLIC for kind in campaign.row(person)) for person in range(campaign.nodes))
    rate = max(sum(transcript.rows) - 1, 1) / (asked - 1) if asked > 1 else 1.0
    edges = set(campaign.policy.edges)
    planes: list[Plane] = [(1.0, edges)] if edges else []
    sizes = [1.0] if edges else []
    pairs = [(u, v) for u in range(campaign.nodes) for v in range(u + 1, campaign.nodes)]
    for kind in (FRIEND_VISIBLE, PRIVATE):
        here = [i for i, pair in enumerate(pairs) if transcript.answered[i] and campaign.policy.of(*pair) == kind]
        if here:
            q = Fraction(campaign.thresholds(1)[kind], 1 << 64)
            zero, one = float(-q / (1 - 2 * q)) / rate, float((1 - q) / (1 - 2 * q)) / rate
            planes.append((zero, {pairs[i] for i in here}))
            planes.append((one - zero, {pairs[i] for i in here if transcript.ones[i]}))
            sizes += [abs(zero), abs(one)]
    return planes, max(sizes, default=1.0) or 1.0


def _measured(campaign: Campaign, person: int, friends: Sequence[bool], planes: list[Plane]) -> tuple[float, float]:
    """The reach and the sum."""
    later = range(person + 1, campaign.nodes)
    mine = [k for k in later if friends[k] and campaign.policy.inside(person, k)]

    def counted(plane: set[tuple[int, int]], x: int) -> int:
        return sum((min(k, x), max(k, x)) in plane for k in mine if k != x)

    losses = campaign.policy.multipliers
    worth = {PRIVATE: 1.0, FRIEND_VISIBLE: float(losses[PRIVATE] / losses[FRIEND_VISIBLE])}
    reach = 0.0
    for x in later:
        if (kind := campaign.policy.of(person, x)) != PUBLIC:
            pull = 0.0
            for weight, plane in planes:
                pull += weight * counted(plane, x)
            reach = max(reach, abs(pull) * worth[kind])
    total = 0.0
    for weight, plane in planes:
        total += weight * sum(counted(plane, x) for x in mine)
    return reach, total / 2


def check_upload(
    campaign: Campaign, person: int, number: int, upload: bytes, first: bytes | None = None, transcript: str = ""
) -> None:
    """Refuses what this participant's program would not have written."""
    demand(campaign.asks(person), "nothing is asked")
    demand(len(upload) == campaign.upload_size(person, number), "another size")
    report = upload[32:]
    if campaign.question == "triangles" and number == 2:
        heard = bytes.fromhex(transcript) if transcript else report[53:85]
        head = struct.pack(">4sBQQ", b"VAET", 1, person, 1) + bytes.fromhex(campaign.charter["survey"]) + heard
        demand(report.startswith(head + b"\1"), "another head")
        demand(all(abs(each) <= _FARTHEST_SUM for each in struct.unpack(">2q", report[-16:])), "numbers too large")
    elif campaign.plan:
        head = struct.pack(">4sBBB", b"VAEB", 1, campaign.plan.hubs.index(person), 1)
        demand(report.startswith(head + bytes.fromhex(campaign.charter["survey"])), "another head")
        values = struct.unpack(">2q", report[-16:])
        demand(all(abs(each) <= _FARTHEST for each in values), "numbers too large")
        demand(not values[1] or campaign.charter["mechanisms"][0]["loose"] != "0", "loose edges that are not asked")
    elif campaign.question in ("degrees", "groups"):
        kind, code = (b"VAEG", ">4sBHQQ") if campaign.by_groups else (b"VAED", ">4sBBQQ")
        head = struct.pack(code, kind, 1, campaign.numbers, person, 1) + bytes.fromhex(campaign.charter["survey"])
        demand(report.startswith(head + b"\1"), "another head")
        values = struct.unpack(f">{campaign.numbers}q", report[len(head) + 1 :])
        demand(all(abs(each) <= _FARTHEST for each in values), "numbers too large")
    else:
        classes = campaign.row(person)
        ones = ones_of(report, len(classes))
        demand(report == row_report(campaign, person, number, ones), "another head, or another row")
        demand(not any(one and kind == PUBLIC for one, kind in zip(ones, classes, strict=True)), "ones not asked")
        if number == 2 and first is not None:
            before = ones_of(first, len(classes))
            demand(not any(one and not said for one, said in zip(ones, before, strict=True)), "ones not asked again")
