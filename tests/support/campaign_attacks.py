"""Malicious vectors: bytes that a participant or a server must refuse, each in one clear sentence."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from support import campaign_vectors as good
from visibility_aware_edge_ldp.campaign import signed_documents
from visibility_aware_edge_ldp.campaign import signed_documents as signing
from visibility_aware_edge_ldp.campaign.policy_text import read_rule
from visibility_aware_edge_ldp.campaign.wire_format import SALT, report_in
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy

Vector = dict[str, Any]
ISSUER = signing.fingerprint(good.KEY)
STAGES = ("bytes", "charter", "documents", "question", "upload")


def honest(case: str, participant: int = 0, number: int = 1) -> Vector:
    """A vector that nobody refuses, to be spoilt in one place."""
    found = {each["case"]: each for each in good.stored("campaign_charters.json")}[case]
    rounds = {(each["case"], each["round"]): each for each in good.stored("campaign_uploads.json")}
    kept = {name: found[name] for name in ("charter", "signature", "roster", "policy", "edges")}
    asked = found["asked"][participant]
    sent = rounds[case, number]["uploads"][str(asked)]
    return {"case": case, **kept, "pinned": ISSUER, "participant": asked, "round": number, "upload": sent}


def signed(vector: Vector, text: str, key: bytes = good.KEY) -> Vector:
    return {**vector, "charter": text, "signature": signing.sign(key, text.encode()).hex()}


def restated(case: str, change: Callable[[Vector], object]) -> Vector:
    """A charter by its own issuer that states something else."""
    vector = honest(case)
    content = json.loads(vector["charter"])
    change(content)
    return signed(vector, signed_documents.encode(content).decode())


def redocumented(case: str, name: str, text: str, **also: Any) -> Vector:
    """Another document, pinned by a charter of the issuer."""
    pinned = {name: signed_documents.digest(text.encode()), **also}
    return {**restated(case, lambda content: content.update(pinned)), name: text}


def _set(*path: str | int, to: Any) -> Callable[[Vector], object]:
    def change(content: Any) -> None:
        for step in path[:-1]:
            content = content[step]
        content[path[-1]] = to

    return change


def _bytes() -> Iterator[tuple[str, str, Vector]]:
    written = {
        "duplicate keys": ('{"a":1,"a":2}', "stands twice"),
        "a float": ('{"a":1.0}', "not a whole number"),
        "an exponent": ('{"a":1e3}', "not a whole number"),
        "NaN": ('{"a":NaN}', "not a whole number"),
        "minus infinity": ("[-Infinity]", "not a whole number"),
        "null": ("[null]", "neither an object"),
        "a boolean": ("[true]", "neither an object"),
        "a space": ('{"a": 1}', "not sorted"),
        "a newline at the end": ("[1]\n", "not sorted"),
        "unsorted keys": ('{"b":1,"a":2}', "not sorted"),
        "minus nought": ("[-0]", "not sorted"),
        "a leading nought": ("[01]", "Expecting"),
        "an escape that need not be": ('["\\u0041"]', "not sorted"),
        "an escaped slash": ('["\\/"]', "not sorted"),
        "half a surrogate pair": ('["\\ud800"]', "surrogate"),
        "letters that are not composed": ('["e\u0301"]', "composed form"),
        "a byte order mark": ("\ufeff[1]", "Expecting"),
        "a number of 65 bits": (f"[{1 << 63}]", "beyond 64 bits"),
        "a number of five thousand digits": (f"[{'9' * 5000}]", "beyond 64 bits"),
        "nesting of 17": ("[" * 17 + "]" * 17, "nested deeper"),
        "nesting of two thousand": ("[" * 2000 + "]" * 2000, "nested deeper"),
        "nothing": ("", "Expecting"),
        "two values": ("[1][2]", "Extra data"),
    }
    for name, (text, says) in written.items():
        yield name, says, {"bytes": text.encode().hex()}
    yield "no UTF-8", "not UTF-8", {"bytes": "5b22ff225d"}
    yield "UTF-16", "not UTF-8", {"bytes": '["a"]'.encode("utf-16").hex()}


def _charters() -> Iterator[tuple[str, str, Vector]]:
    case = "position, two rounds"
    base = honest(case)
    flipped = f"{int(base['signature'][:2], 16) ^ 1:02x}{base['signature'][2:]}"
    yield "another signature", "not signed", {**base, "signature": flipped}
    yield "half a signature", "128 hexadecimal", {**base, "signature": base["signature"][:64]}
    yield "a signature in capitals", "128 hexadecimal", {**base, "signature": base["signature"].upper()}
    yield "a changed title", "not signed", {**base, "charter": base["charter"].replace("two rounds", "too rounds")}
    yield "signed by somebody else", "not signed", signed(base, base["charter"], good.OTHER_KEY)
    other = signing.fingerprint(good.OTHER_KEY)
    yield "another issuer's name", "another issuer", restated(case, _set("issuer", to=other))
    yield "a pin of something else", "64 hexadecimal", {**base, "pinned": "issuer"}
    yield "a space in a charter", "not sorted", signed(base, base["charter"].replace(":", ": ", 1))
    yield "a charter of another format", "version", restated(case, _set("format", to="va-edge-ldp charter 3"))
    yield "a charter from before salts", "version", restated(case, _set("format", to="va-edge-ldp charter 1"))
    yield "a field more", "unknown 'colour'", restated(case, _set("colour", to="red"))
    yield "a field less", "lacks 'epoch'", restated(case, lambda content: content.pop("epoch"))
    yield "a charter that is a list", "version", signed(base, "[]")
    yield "an empty title", "title", restated(case, _set("title", to=""))
    yield "a title that turns round", "title", restated(case, _set("title", to="abc\u202efed"))
    yield "a title as a number", "must be a text", restated(case, _set("title", to=7))
    yield "another trust model", "trust model", restated(case, _set("trust", to="CURATOR"))
    yield "another holder", "way of holding", restated(case, _set("holding", to="the issuer holds everything"))
    yield "an unknown question", "not a question", restated(case, _set("question", to="photographs"))
    yield "a statistic of another question", "does not answer tail:3", restated(case, _set("statistics", to=["tail:3"]))
    yield "an unknown statistic", "not a statistic", restated(case, _set("statistics", to=["secrets"]))
    yield "a statistic twice", "each statistic once", restated(case, _set("statistics", to=["edges", "edges"]))
    both = ["triangles", "four_cycles"]
    yield "two statistics where one is asked", "not these together", restated("triangles", _set("statistics", to=both))
    yield "no statistic", "No statistic", restated(case, _set("statistics", to=[]))
    yield "a negative deadline", "one after the other", restated(case, _set("rounds", 0, "closes", to=-1))
    yield "rounds out of order", "one after the other", restated(case, lambda content: content["rounds"].reverse())
    yield "a deadline after all years", "one after the other", restated(case, _set("rounds", 1, "closes", to=1 << 62))
    yield "a deadline as a text", "whole number", restated(case, _set("rounds", 0, "closes", to="tomorrow"))
    yield "a round too few", "in 1 rounds", restated("triangles", lambda content: content["rounds"].pop())
    more = {"closes": 1 << 31, "fewest": 2}
    yield "a round too many", "in 2 rounds", restated("degrees", lambda content: content["rounds"].append(more))
    yield "a share too few", "shares", restated(case, lambda content: content["shares"].pop())
    yield "shares of nothing", "shares", restated(case, _set("shares", to=["0", "1"]))
    yield "shares that sum to more", "shares", restated(case, _set("shares", to=["1/2", "3/4"]))
    yield "nobody need respond", "fewest responders", restated(case, _set("rounds", 0, "fewest", to=0))
    yield "more than everybody must respond", "fewest responders", restated(case, _set("rounds", 0, "fewest", to=13))
    yield "no epsilon", "epsilon must be above 0", restated(case, _set("epsilon", to="0"))
    yield "a huge epsilon", "at most 1000", restated(case, _set("epsilon", to="1001"))
    yield "an epsilon in another spelling", "lowest terms", restated(case, _set("epsilon", to="2/2"))
    yield "an epsilon as a decimal", "lowest terms", restated(case, _set("epsilon", to="0.5"))
    yield "a negative epsilon", "lowest terms", restated(case, _set("epsilon", to="-1"))
    yield "an epsilon of a thousand digits", "lowest terms", restated(case, _set("epsilon", to="1/" + "9" * 1000))
    yield "an epsilon in other digits", "lowest terms", restated(case, _set("epsilon", to="١"))
    yield "negative retention", "seconds", restated(case, _set("retention", to=-1))
    yield "a hundred years of retention", "ten years", restated(case, _set("retention", to=3_155_760_000))
    yield "a title that hides its end", "seen whole", restated(case, _set("title", to="Friends      for ever"))
    yield "one participant", "2 to", restated(case, _set("nodes", to=1))
    yield "a digest in capitals", "64 hexadecimal", restated(case, lambda c: c.update(roster=c["roster"].upper()))
    yield "mechanisms of fewer rounds", "every round", restated(case, lambda content: content["mechanisms"].pop())


def _documents() -> Iterator[tuple[str, str, Vector]]:
    case = "position, one round"
    base = honest(case)
    roster, edges, policy = (json.loads(base[name]) for name in ("roster", "edges", "policy"))
    yield "a roster that is not pinned", "roster document", {**base, "roster": base["roster"].replace("Ada", "Ido")}
    yield "a policy that is not pinned", "policy document", {**base, "policy": base["policy"].replace("1/5", "2/5")}
    yield "edges that are not pinned", "edges document", {**base, "edges": "[]"}
    yield "another roster size", "13 participants", restated(case, _set("nodes", to=13))

    def with_roster(names: Any) -> Vector:
        return redocumented(case, "roster", signed_documents.encode(names).decode())

    def with_edges(listed: Any) -> Vector:
        return redocumented(case, "edges", signed_documents.encode(listed).decode())

    def with_policy(*path: str | int, to: Any) -> Vector:
        content = json.loads(base["policy"])
        _set(*path, to=to)(content)
        return redocumented(case, "policy", signed_documents.encode(content).decode())

    yield "a roster in a chosen order", "public hash", with_roster(roster[::-1])
    yield "another epoch", "public hash", restated(case, _set("epoch", to="vectors 2"))
    yield "a name twice", "written alike", with_roster([*roster[:-1], roster[0]])
    yield "two names that look alike", "written alike", with_roster([*roster[:-1], "9"])
    yield "an empty name", "seen whole", with_roster(["", *roster[1:]])
    yield "a name of two lines", "seen whole", with_roster(["a\nb", *roster[1:]])
    yield "a name that is read from the right", "seen whole", with_roster(["a\u202eb", *roster[1:]])
    yield "a name that shows nothing", "seen whole", with_roster(["a\u3164", *roster[1:]])
    yield "a name that is a list", "list of names", with_roster([[], *roster[1:]])
    yield "an edge of one end", "list of pairs", with_edges([[0]])
    yield "an edge to nobody", "different places", with_edges([[0, 12]])
    yield "an edge to oneself", "different places", with_edges([[3, 3]])
    yield "an edge backwards", "different places", with_edges([[1, 0]])
    yield "an edge twice", "each stands once", with_edges([edges[0], edges[0]])
    yield "unsorted edges", "each stands once", with_edges(edges[::-1])
    hidden = next([u, v] for u in range(12) for v in range(u + 1, 12) if not _is_public(u, v))
    yield "a public edge at a private position", "PUBLIC positions only", with_edges([hidden])
    yield "another policy digest", "not of the same policy", with_policy("digest", to="0" * 64)
    yield "an oracle's rule", "kind of rule", with_policy("rule", to={"kind": "oracle hubs", "fraction": "1/2"})
    yield "an oracle's assumption", "nobody paid for", with_policy("assumptions", to=["the hubs are known"])
    yield "an unknown rule", "kind of rule", with_policy("rule", "kind", to="whim")
    yield "shares beyond 1", "more than 1", with_policy("rule", "public", to="9/10")
    yield "multipliers the wrong way round", "cannot be guarded better", with_policy("multipliers", "PRIVATE", to="3")
    yield "a policy with a field more", "nothing else", with_policy("colour", to="red")
    lopsided = {"kind": "types", "types": [], "otherwise": 0, "words": "w", "table": [["PUBLIC", "PRIVATE"]] * 2}
    yield "a class that the ends read differently", "read alike", with_policy("rule", to=lopsided)
    strangers = {**lopsided, "types": [["Zoe", 0]], "table": [["PRIVATE"]]}
    stranger = dict(policy, rule=strangers, digest=_digest(strangers))
    yield (
        "a policy about strangers",
        "not in the graph",
        redocumented(case, "policy", signed_documents.encode(stranger).decode()),
    )


def _is_public(u: int, v: int) -> bool:
    return not good.documents_of("position, one round").view.classes.of(u, v)[0]


def _digest(rule: Any) -> str:
    return VisibilityPolicy.of(read_rule(rule)).digest


def _questions() -> Iterator[tuple[str, str, Vector]]:
    case, threshold = "position, two rounds", ("mechanisms", 1, "thresholds", "PRIVATE")
    told = json.loads(honest(case)["charter"])["mechanisms"][1]["thresholds"]["PRIVATE"]
    yield "a threshold too low", "thresholds PRIVATE", restated(case, _set(*threshold, to=str(int(told) - 1)))
    yield "a threshold too high", "thresholds PRIVATE", restated(case, _set(*threshold, to=str(int(told) + 1)))
    yield "a threshold of nothing", "thresholds PRIVATE", restated(case, _set(*threshold, to="0"))
    yield "a threshold as a number", "thresholds PRIVATE", restated(case, _set(*threshold, to=int(told)))
    yield "another epsilon, old thresholds", "does not follow", restated(case, _set("epsilon", to="2"))
    yield "other shares, old thresholds", "does not follow", restated(case, _set("shares", to=["1/3", "2/3"]))
    yield "a mechanism more", "does not follow", restated(case, _set("mechanisms", 0, "bonus", to="1"))
    yield "another mechanism", "does not follow", restated(case, _set("mechanisms", 0, "kind", to="none"))
    yield "another survey", "another survey", restated(case, _set("survey", to="0" * 64))
    rates = ("mechanisms", 0, "rates", "PRIVATE")
    yield "a rate beyond epsilon", "rates PRIVATE", restated("degrees", _set(*rates, to="1"))
    yield "one list instead of two", "lists", restated("degrees", _set("mechanisms", 0, "lists", to=1))
    yield "another split of triangles", "shares", restated("triangles", _set("shares", to=["1/2", "1/2"]))
    yield "another scale of sums", "total", restated("triangles", _set("mechanisms", 1, "total", to="4"))
    yield "a finer unit of sums", "fineness", restated("triangles", _set("mechanisms", 1, "fineness", to=11))
    yield "a lower floor", "floors all 1", restated("hubs", _set("mechanisms", 0, "floors", "all", 0, to=1))
    yield "hubs of somebody's choice", "hubs", restated("hubs", _set("mechanisms", 0, "hubs", to=[0]))
    other = redocumented("triangles", "policy", honest("hubs")["policy"])
    yield "another policy than the survey's", "another survey", other


def _uploads() -> Iterator[tuple[str, str, Vector]]:
    rows, numbers, hubs = (honest(case) for case in ("position, one round", "degrees", "hubs"))
    sums = honest("triangles", number=2)

    def spoilt(vector: Vector, place: int, mask: int) -> Vector:
        """With bits of this octet of its report turned over."""
        data = bytearray.fromhex(vector["upload"])
        data[SALT + place] ^= mask
        return {**vector, "upload": data.hex()}

    yield "a byte more", "bytes; ", {**rows, "upload": rows["upload"] + "00"}
    yield "a byte less", "bytes; ", {**rows, "upload": rows["upload"][:-2]}
    yield "nothing sent", "bytes; 0", {**rows, "upload": ""}
    yield "a report without a salt", "bytes; ", {**numbers, "upload": numbers["upload"][2 * SALT :]}
    yield "another kind of report", "version", spoilt(rows, 0, 1)
    yield "another version", "version", spoilt(rows, 4, 3)
    yield "another round in the head", "another participant", spoilt(rows, 5, 2)
    yield "another start", "another participant", spoilt(rows, 13, 1)
    yield "another survey in the head", "another survey", spoilt(rows, 30, 1)
    report = report_in(bytes.fromhex(rows["upload"]))
    asked = report[54]
    lowest, silent = asked & -asked, ~asked & 255
    yield (
        "a part of a row",
        "as a whole",
        spoilt(spoilt(rows, 54, lowest), 56, lowest & report[56]),
    )
    yield "an answer at a public position", "as a whole", spoilt(rows, 54, silent & -silent)
    yield "an answer of who did not answer", "did not answer", spoilt(rows, 56, silent & -silent)
    yield "bits after the last", "did not answer", spoilt(rows, 55, 128)
    yield "somebody else's row", "another participant", {**rows, "participant": 1}
    yield "a participant who does not exist", "there is no 12", {**rows, "participant": 12}
    yield "a negative participant", "there is no -1", {**rows, "participant": -1}
    yield "a round that does not exist", "there is no 2", {**rows, "round": 2}
    yield "who is not asked", "not asked", {**rows, "participant": 11}
    second = honest("position, two rounds", number=2)
    first = bytes.fromhex(honest("position, two rounds", number=1)["upload"])
    quiet = first[:-2] + b"\0\0"
    yield "round 2 where round 1 said 0", "said 1 in round 1", {**second, "first": quiet.hex()}
    yield "round 1 again as round 2", "another round", {**second, "upload": first.hex()}
    yield "sums on another transcript", "another transcript", {**sums, "transcript": "cd" * 32}
    yield "sums of nobody", "did not answer", spoilt(sums, 85, 1)
    yield "sums beyond the cut", "2^61", spoilt(sums, 86, 0x40)
    yield "sums of somebody else", "another participant", {**sums, "participant": 1}
    yield "bits after the last user", "after its last user", spoilt(sums, 85, 2)
    yield "degrees of nobody", "did not answer", spoilt(numbers, 54, 1)
    for name, vector, head in (("degrees", numbers, 54), ("sums", sums, 85)):
        kept = 2 * (SALT + head)
        silence = vector["upload"][:kept] + "0" * len(vector["upload"][kept:])
        yield f"{name} that say nothing", "sends nothing", {**vector, "upload": silence}
    yield "a degree beyond 2^62", "beyond 2^62", spoilt(numbers, 55, 0x40)
    yield "degrees of somebody else", "another participant", {**numbers, "participant": 1}
    yield "degrees of another class", "carries", spoilt(numbers, 5, 1)
    yield "a count beyond 2^62", "beyond 2^62", spoilt(hubs, 39, 0x40)
    yield "the report of another hub", "another hub", spoilt(hubs, 5, 1)


def malicious() -> list[Vector]:
    """All of them, with the stage that refuses each and what it says; kept is what differs from the honest one."""
    makers = zip(STAGES, (_bytes, _charters, _documents, _questions, _uploads), strict=True)
    return [
        {"name": name, "stage": stage, "says": says, **_what_differs(made)}
        for stage, make in makers
        for name, says, made in make()
    ]


def whole(vector: Vector) -> Vector:
    """A stored vector with what it has in common with the honest one of its case."""
    return {**honest(vector["case"]), **vector} if "case" in vector else vector


def _what_differs(vector: Vector) -> Vector:
    base = honest(vector["case"]) if "case" in vector else {}
    return {name: value for name, value in vector.items() if name == "case" or base.get(name) != value}
