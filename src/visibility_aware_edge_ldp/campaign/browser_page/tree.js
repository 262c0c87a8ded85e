// What a server says: receipts, states, problems, answers, and the tree of a round.

import {
  Refused, demand, fromHex, hex, isHex, isObject, isWhole, joined, members, octets, read, readObject, sha256,
} from "./canonical.js";
import { sha256Octets } from "./hashes.js";

const PROBLEM = "urn:va-edge-ldp:problem:";
const STATES = ["waiting", "open", "closing", "closed", "estimated"];
const hash = (...parts) => sha256Octets(joined(...parts));
const mark = (number) => Uint8Array.of(number);

/** A whole number in 8 octets. */
export function eight(number) {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigInt64(0, BigInt.asIntN(64, BigInt(number)));
  return new Uint8Array(view.buffer);
}

export const leaf = (person, upload) => joined(eight(person), sha256Octets(upload));

/** The root of a round's leaves, in hex. */
export function root(leaves) {
  let level = leaves.map((each) => hash(mark(0), each));
  while (level.length > 1) {
    const next = [];
    for (let i = 0; i < level.length; i += 2) {
      next.push(i + 1 < level.length ? hash(mark(1), level[i], level[i + 1]) : level[i]);
    }
    level = next;
  }
  return hex(hash(mark(2), eight(leaves.length), level.length ? level[0] : hash(octets(""))));
}

/** The root that a leaf in this place leads to by the hashes (in hex) beside its way; null where there is none. */
export function rootAbove(own, place, many, beside) {
  let [index, count] = [BigInt(place), BigInt(many)];
  if (!(index >= 0n && index < count && count < 1n << 64n)) return null;
  let found = hash(mark(0), own);
  const hashes = beside.map(fromHex);
  for (let last = count - 1n; last > 0n; last >>= 1n) {
    if ((index ^ 1n) <= last) {
      if (!hashes.length) return null;
      const next = hashes.shift();
      found = index & 1n ? hash(mark(1), next, found) : hash(mark(1), found, next);
    }
    index >>= 1n;
  }
  return hashes.length ? null : hash(mark(2), eight(count), found);
}

/** Whether a reply's proof leads from the own leaf to the root that the state of the round names. */
export function proves(said, own, namedRoot) {
  demand(isObject(said) && isWhole(said.index) && isWhole(said.count) && Array.isArray(said.proof), "a proof");
  demand(isHex(namedRoot) && said.proof.every((each) => isHex(each)), "hashes");
  const found = rootAbove(own, said.index, said.count, said.proof);
  return found !== null && hex(found) === namedRoot;
}

/** Refuses a receipt that is not for these very octets. */
export function checkReceipt(data, campaign, number, person, upload) {
  const said = members(read(data, 2 ** 12), "campaign", "digest", "participant", "round");
  const holds =
    said.campaign === campaign && said.digest === sha256(upload) && said.participant === person && said.round === number;
  demand(holds, "a receipt of something else");
  return said;
}

/** The problem's name in a refusal; nothing where it is none. */
export function problemIn(kind, body) {
  if (kind.split(";")[0].trim() !== "application/problem+json") return "";
  try {
    const said = read(body, 2 ** 16);
    const name = isObject(said) ? said.type : null;
    return typeof name === "string" && name.startsWith(PROBLEM) ? name.slice(PROBLEM.length) : "";
  } catch (error) {
    if (error instanceof Refused) return "";
    throw error;
  }
}

/** The state of a round in a reply; members that are not known here are passed over. */
export function roundState(body, number) {
  const said = readObject(body);
  demand(said.round === number && STATES.includes(said.state), "the state of a round");
  for (const name of ["root", "transcript"]) {
    said[name] = said[name] || "";
    demand(said[name] === "" || isHex(said[name]), "digests");
  }
  return said;
}

/** Which sets the answers of this campaign name as those that they were made from. */
export function answeredSets(body, campaign) {
  const said = readObject(body);
  demand(said.format === "va-edge-ldp estimates 2", "answers of another format");
  demand(said.campaign === campaign, "answers of another campaign");
  demand(Array.isArray(said.rounds) && said.rounds.every(isObject), "answers of no rounds");
  return said.rounds;
}
