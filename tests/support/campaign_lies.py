"""Golden vectors of what a server sends, true and false: receipts, proofs, states, transcripts, problems, answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from support import campaign_vectors as good
from visibility_aware_edge_ldp.campaign import wire_format
from visibility_aware_edge_ldp.campaign.signed_documents import fingerprint, sign
from visibility_aware_edge_ldp.campaign.statements import RECEIPT, STATEMENT, sign_receipts

Vector = dict[str, Any]
CASE, PERSON = "position, one round", 3
SUMS = "triangles, three classes"
_ALONE = b"va-edge-ldp receipt 1\n"


def lies() -> list[Vector]:
    """Each with what it is, what was sent, and whether it is believed."""
    made = (_receipts(), _signed_receipts(), _proofs(), _states(), _transcripts(), _problems(), _answers())
    return [{"what": what, "name": name, "believed": true, **sent} for each in made for what, name, true, sent in each]


def _kept() -> tuple[Vector, Vector]:
    charters, uploads = (good.stored(f"campaign_{name}.json") for name in ("charters", "uploads"))
    return next(c for c in charters if c["case"] == CASE), next(u for u in uploads if u["case"] == CASE)


Lie = tuple[str, str, bool, Vector]


def _canonical(content: Any) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _receipts() -> Iterator[Lie]:
    charter, round_one = _kept()
    upload, other = (round_one["uploads"][str(person)] for person in (PERSON, PERSON + 1))
    truth = next(json.loads(text) for text in round_one["receipts"] if json.loads(text)["participant"] == PERSON)
    texts = {
        "the receipt": _canonical(truth),
        "of another upload": _canonical(
            next(json.loads(text) for text in round_one["receipts"] if json.loads(text)["participant"] == PERSON + 1)
        ),
        "of another participant": _canonical(truth | {"participant": PERSON + 1}),
        "of another round": _canonical(truth | {"round": 2}),
        "of round 3": _canonical(truth | {"round": 3}),
        "of another campaign": _canonical(truth | {"campaign": "0" * 64}),
        "of another digest": _canonical(truth | {"digest": "0" * 64}),
        "a digest in capitals": _canonical(truth | {"digest": truth["digest"].upper()}),
        "a participant as a text": _canonical(truth | {"participant": str(PERSON)}),
        "a member more": _canonical(truth | {"thanks": "yes"}),
        "a member less": _canonical({key: value for key, value in truth.items() if key != "digest"}),
        "a member twice": _canonical(truth)[:-1] + ',"round":1}',
        "not sorted": json.dumps(dict(reversed(truth.items())), separators=(",", ":")),
        "with spaces": json.dumps(truth, sort_keys=True),
        "with a line feed": _canonical(truth) + "\n",
        "a float": _canonical(truth).replace('"round":1', '"round":1.0'),
        "NaN": _canonical(truth).replace('"round":1', '"round":NaN'),
        "a boolean": _canonical(truth).replace('"round":1', '"round":true'),
        "a list": "[]",
        "nothing": "",
        "cut off": _canonical(truth)[:-1],
        "too long": _canonical(truth | {"digest": "0" * 5000}),
    }
    assert upload != other
    about = {"campaign": charter["identity"], "round": 1, "participant": PERSON, "upload": upload}
    for name, text in texts.items():
        yield "receipt", name, name == "the receipt", {**about, "sent": text}


def _signed_receipts() -> Iterator[Lie]:
    """What shows that a receipt is signed: in a group of seven, in others, and with what is not its own."""
    _, round_one = _kept()
    receipts, key = [text.encode() for text in round_one["receipts"]][:7], good.OTHER_KEY
    salts = [bytes([number]) * 32 for number in range(1, 8)]
    mine, beside = (bytes.fromhex(each) for each in sign_receipts(key, receipts, b"".join(salts))[2:4])
    others = (receipts[2:6], receipts[2:3])
    other, one = (bytes.fromhex(sign_receipts(key, some, bytes([9]) * 32 * len(some))[0]) for some in others)
    salted = [salt + receipt for salt, receipt in zip(salts, receipts, strict=True)]
    root, bare = wire_format.root(salted), wire_format.root(receipts)
    alone = sign(key, receipts[2], _ALONE)
    way = mine[64:]
    next_round = receipts[2].replace(b'"round":1', b'"round":2')
    true = {
        "in a group": mine,
        "in another group": other,
        "the only one": one,
        "as servers signed each receipt before": alone,
    }
    false = {
        "the way of the one beside it": beside,
        "its signature, and the way of the one beside it": mine[:64] + beside[64:],
        "its signature, and its way in another group": mine[:64] + other[64:],
        "its way, and the signature of another group": other[:64] + way,
        "another salt": mine[:64] + salts[6] + mine[96:],
        "another place": mine[:99] + b"\x03" + mine[100:],
        "a place beyond the last": mine[:99] + b"\x07" + mine[100:],
        "another number of receipts": mine[:103] + b"\x08" + mine[104:],
        "no number of receipts": mine[:96] + bytes(8) + mine[104:],
        "a hash too few": mine[:-32],
        "a hash too many": mine + mine[-32:],
        "hashes in another order": mine[:104] + mine[136:168] + mine[104:136] + mine[168:],
        "an octet too few": mine[:-1],
        "an octet too many": mine + b"\0",
        "the signature without the way": mine[:64],
        "a way without its place": mine[:103],
        "by another key": sign(good.KEY, root, RECEIPT) + way,
        "the root signed as a statement": sign(key, root, STATEMENT) + way,
        "the root signed as a receipt was before": sign(key, root, _ALONE) + way,
        "the receipt signed before, and a way": alone + way,
        "a round's root": sign(key, bare, RECEIPT) + way,
        "nothing": b"",
    }
    about = {"server": fingerprint(key), "receipt": receipts[2].decode()}
    for name, octets in (true | false).items():
        yield "signed receipt", name, name in true, {**about, "sent": octets.hex()}
    for name, receipt in {"of another round": next_round, "of another participant": receipts[3]}.items():
        for which, octets in {"in a group": mine, "the only one": one, "before": alone}.items():
            said = {**about, "receipt": receipt.decode(), "sent": octets.hex()}
            yield "signed receipt", f"{name}, {which}", False, said


def _proofs() -> Iterator[Lie]:
    from visibility_aware_edge_ldp.campaign.wire_format import leaf, proof, root

    _, round_one = _kept()
    people = [int(person) for person in round_one["uploads"]]
    digests = [json.loads(text)["digest"] for text in round_one["receipts"]]
    leaves = [leaf(person, digest) for person, digest in zip(people, digests, strict=True)]
    place, count = people.index(PERSON), len(people)
    hashes = [each.hex() for each in proof(leaves, place)]
    truth = {"index": place, "count": count, "proof": hashes}
    fewer = [each.hex() for each in proof(leaves[:-1], place)]
    changes: dict[str, Vector] = {
        "the proof": {},
        "with members that nobody knows": {"colour": "red", "root": "f" * 64, "digest": "0" * 64},
        "another place": {"index": place ^ 1},
        "a negative place": {"index": -1},
        "a place beyond the last": {"index": count},
        "another count": {"count": count + 1},
        "no count": {"count": 0},
        "a count beyond 64 bits": {"count": 1 << 64},
        "a hash too few": {"proof": hashes[:-1]},
        "a hash too many": {"proof": [*hashes, hashes[0]]},
        "another order": {"proof": hashes[::-1]},
        "no hashes": {"proof": []},
        "of a smaller set": {"count": count - 1, "proof": fewer},
        "hashes in capitals": {"proof": [each.upper() for each in hashes]},
        "short hashes": {"proof": [each[:62] for each in hashes]},
        "hashes that are numbers": {"proof": [0] * len(hashes)},
        "a proof that is a text": {"proof": "".join(hashes)},
        "a place as a text": {"index": str(place)},
        "a place as a boolean": {"index": True},
        "a count as a float": {"count": float(count)},
        "no place": {"index": None},
    }
    about = {"participant": PERSON, "upload": round_one["uploads"][str(PERSON)], "root": root(leaves).hex()}
    for name, change in changes.items():
        sent = json.dumps(truth | change)
        yield "proof", name, name in ("the proof", "with members that nobody knows"), {**about, "sent": sent}
    node = {**about, "upload": round_one["uploads"][str(people[place ^ 1])]}
    yield "proof", "of somebody else's upload", False, {**node, "sent": json.dumps(truth)}
    yield "proof", "to another root", False, {**about, "root": root(leaves[:-1]).hex(), "sent": json.dumps(truth)}
    bare = {**about, "root": root(leaves[:1]).hex(), "sent": json.dumps({"index": 0, "count": 1, "proof": []})}
    yield "proof", "of one, which is another", False, bare


def _states() -> Iterator[Lie]:
    truth = {"round": 1, "state": "closed", "root": "ab" * 32, "transcript": "", "asked": 9, "received": 8}
    texts = {
        "a state": json.dumps(truth),
        "with members that nobody knows": json.dumps(truth | {"statement": {"count": 8}, "colour": None}),
        "of another round": json.dumps(truth | {"round": 2}),
        "an unknown state": json.dumps(truth | {"state": "reopened"}),
        "no state": json.dumps({key: value for key, value in truth.items() if key != "state"}),
        "a root in capitals": json.dumps(truth | {"root": "AB" * 32}),
        "a short root": json.dumps(truth | {"root": "ab"}),
        "a root as a number": json.dumps(truth | {"root": 7}),
        "a transcript that is no digest": json.dumps(truth | {"transcript": "none"}),
        "a list": "[1]",
        "no JSON": "<html>",
    }
    for name, text in texts.items():
        yield "state", name, name in ("a state", "with members that nobody knows"), {"round": 1, "sent": text}


def _transcripts() -> Iterator[Lie]:
    case = next(each for each in good.stored("campaign_answers.json") if each["case"] == SUMS)
    truth = bytes.fromhex(case["transcript"])
    own = next(each for each in case["answers"] if each["round"] == 2)
    person, first = own["participant"], next(a for a in case["answers"] if a["participant"] == own["participant"])
    half, positions = len(truth) // 2, 12 * 11 // 2
    asked = [bool(truth[i >> 3] >> (i & 7) & 1) for i in range(positions)]
    start = person * (23 - person) // 2
    other = next(i for i in range(positions) if asked[i] and not start <= i < start + 11 - person)
    silent = next(i for i in range(positions) if not asked[i])
    mine = next(i for i in range(start, start + 11 - person) if asked[i])

    def flipped(*places: int) -> bytes:
        octets = bytearray(truth)
        for place in places:
            octets[place >> 3] ^= 1 << (place & 7)
        return bytes(octets)

    ones = 8 * half
    texts = {
        "the transcript": truth,
        "cut off": truth[:-1],
        "an octet more": truth + b"\0",
        "nothing": b"",
        "twice": truth + truth,
        "another's answer changed, and its digest": flipped(ones + other),
        "the own answer changed": flipped(ones + mine),
        "the own answer missing": flipped(mine),
        "a part of a row": flipped(other),
        "an answer that was not asked": flipped(silent),
        "a one without an answer": flipped(ones + silent),
        "bits after the last": flipped(positions),
        "bits after the last one": flipped(ones + positions),
        "both planes exchanged": truth[half:] + truth[:half],
    }
    about = {"case": SUMS, "participant": person, "first": first["result"]}
    for name, octets in texts.items():
        # A changed answer of somebody else cannot be told from a true one: the digest is what people compare.
        believed = name in ("the transcript", "another's answer changed, and its digest")
        yield "transcript", name, believed, {**about, "sent": octets.hex()}


def _problems() -> Iterator[Lie]:
    kind = "application/problem+json"
    truth = {"status": 409, "title": "The round is closed.", "type": "urn:va-edge-ldp:problem:late"}
    cases = {
        "a problem": (kind, _canonical(truth)),
        "with a sentence": (kind, _canonical(truth | {"detail": "It closed at noon."})),
        "with a parameter": (f"{kind}; charset=utf-8", _canonical(truth)),
        "of another media type": ("application/json", _canonical(truth)),
        "not canonical": (kind, json.dumps(truth)),
        "a type twice": (kind, _canonical(truth)[:-1] + ',"type":"urn:va-edge-ldp:problem:erased"}'),
        "a web page": ("text/html", "<html>502</html>"),
        "a list": (kind, "[]"),
        "another's type": (kind, _canonical(truth | {"type": "about:blank"})),
    }
    true = ("a problem", "with a sentence", "with a parameter")
    for name, (media_type, text) in cases.items():
        yield "problem", name, name in true, {"media_type": media_type, "sent": text, "problem": "late"}


def _answers() -> Iterator[Lie]:
    charter, round_one = _kept()
    truth = {"format": "va-edge-ldp estimates 2", "campaign": charter["identity"], "estimates": {}}
    truth |= {"rounds": [{"asked": 9, "answered": 9, "response_rate": 1.0, "root": round_one["root"]}]}
    texts = {
        "the answers": json.dumps(truth),
        "with members that nobody knows": json.dumps(truth | {"colour": "red"}),
        "of another format": json.dumps(truth | {"format": "va-edge-ldp estimates 9"}),
        "of another campaign": json.dumps(truth | {"campaign": "0" * 64}),
        "a list": "[]",
    }
    for name, text in texts.items():
        believed = name in ("the answers", "with members that nobody knows")
        yield "answers", name, believed, {"case": CASE, "sent": text}


if __name__ == "__main__":
    good.store("campaign_lies.json", lies())
