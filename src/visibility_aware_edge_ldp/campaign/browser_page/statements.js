// What issuer and server sign over time: the log of charters, amendments, receipts, statements of closed rounds.
//
// All that was seen is kept in the ledger, so that nobody can show another past later on.

import {
  Refused, demand, fromHex, isHex, isObject, isWhole, joined, members, octets, read, readObject, refuseSignature, sameValue,
  sha256, textOf, written,
} from "./canonical.js";
import { inside } from "./ledger.js";
import { eight, rootAbove } from "./tree.js";

const LOG = octets("va-edge-ldp charter log 1\n");
const RECEIPT = octets("va-edge-ldp receipt 2\n");
const RECEIPT_ALONE = octets("va-edge-ldp receipt 1\n");
const STATEMENT = octets("va-edge-ldp statement 1\n");
const DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const LAST_SECOND = 253402300799;
const WHOLE = { round: [1, 2], count: [0, 1n << 63n], opened: [0, LAST_SECOND], closed: [0, LAST_SECOND] };
const HEAD = ["format", "campaign", "number", "previous", "kind"];
const KINDS = { token: ["person", "token"], device: ["person", "token", "ledger"], withdrawal: ["person"], deadline: ["round", "closes"] };
const LONGEST = 31622400;

/** The entries of a log, if the pinned issuer signed each and each names the one before it. */
export async function readLog(data, issuer) {
  const log = members(read(data, 2 ** 20), "format", "issuer", "entries");
  demand(log.format === "va-edge-ldp charter log 1" && log.issuer === issuer, "a log of somebody else’s charters");
  demand(Array.isArray(log.entries), "a log without entries");
  const found = [];
  let before = "";
  for (const each of log.entries) {
    const { entry, signature } = members(each, "entry", "signature");
    members(entry, "number", "before", "campaign", "epoch", "roster", "server");
    demand(entry.number === found.length + 1 && entry.before === before, "a log whose entries do not follow each other");
    demand(["campaign", "roster", "server"].every((name) => isHex(entry[name])) && typeof entry.epoch === "string", "an entry of a log");
    await refuseSignature(written(entry), signature, issuer, LOG);
    before = sha256(joined(LOG, written(entry)));
    found.push(entry);
  }
  return found;
}

/** The key that the campaign's server signs with; refuses a log that does not name the campaign as it is. */
export function serverKey(entries, identity, charter) {
  const named = entries.findLast((entry) => entry.campaign === identity);
  demand(named, "the issuer’s log does not name this campaign");
  demand(named.epoch === charter.epoch && named.roster === charter.roster, "the issuer’s log names this campaign otherwise");
  return named.server;
}

/** Whether one list begins with all that the other has. */
export const agree = (one, other) => one.slice(0, other.length).every((each, i) => sameValue(each, other[i]));

/** The statement in these octets, if the server signed them and they are one. */
export async function openStatement(data, signature, key) {
  await refuseSignature(data, signature, key, STATEMENT);
  const said = members(read(data, 2 ** 12), "format", "campaign", "root", "transcript", "before", ...Object.keys(WHOLE));
  demand(said.format === "va-edge-ldp statement 1" && isHex(said.campaign) && isHex(said.root), "a statement");
  demand(["transcript", "before"].every((name) => said[name] === "" || isHex(said[name])), "digests of a statement");
  for (const [name, [least, most]] of Object.entries(WHOLE)) {
    demand(isWhole(said[name]) && said[name] >= least && said[name] <= most, "numbers of a statement");
  }
  demand((said.before === "") === (said.round === 1), "what was stated before");
  return said;
}

/** Refuses a receipt of which nothing shows that the server signed it: alone, or by the root of a tree that it is in. */
export async function refuseUnsigned(receipt, shown, key) {
  if (isHex(shown, 64)) return refuseSignature(receipt, shown, key, RECEIPT_ALONE);
  const [, signature, salt, place, many, way] = /^(.{128})(.{64})(.{8})(.{8})((?:.{64})*)$/.exec(shown) || [];
  demand(isHex(signature, 64) && isHex(salt) && [place, many].every((each) => isHex(each, 4)), "how a receipt is signed");
  const beside = way.match(/.{64}/g) || [];
  demand(beside.every((each) => isHex(each)), "hashes");
  const root = rootAbove(joined(fromHex(salt), receipt), parseInt(place, 16), parseInt(many, 16), beside);
  demand(root, "a place of a receipt");
  return refuseSignature(root, signature, key, RECEIPT);
}

export function sealed(transcript, salt) {
  demand(isHex(transcript) && isHex(salt), "a digest and a salt");
  return sha256(joined(octets("va-edge-ldp transcript 1\n"), fromHex(salt), fromHex(transcript)));
}

/** Refuses a statement that is not of what the state of the round, and round 1's statement, name. */
export function refuseMisstated(said, identity, state, salt, before = null) {
  const same = said.campaign === identity && said.round === state.round && said.root === state.root;
  demand(same, "the server’s statement is of another round or root; tell the issuer");
  demand(!state.transcript || said.transcript === sealed(state.transcript, salt), "the server states another transcript; tell the issuer");
  demand(!before || said.before === sha256(before), "the server’s statements do not follow each other; tell the issuer");
}

/** What people read to each other. */
export async function code(statement) {
  const key = await crypto.subtle.importKey("raw", statement, "PBKDF2", false, ["deriveBits"]);
  const turns = { name: "PBKDF2", hash: "SHA-256", salt: octets("va-edge-ldp code 1\n"), iterations: 65536 };
  const bits = [...new Uint8Array(await crypto.subtle.deriveBits(turns, key, 256))].map((each) => each.toString(2).padStart(8, "0")).join("");
  const digits = Array.from({ length: 20 }, (_, i) => DIGITS[parseInt(bits.slice(5 * i, 5 * i + 5), 2)]).join("");
  return digits.match(/..../g).join("-");
}

/** All amendments, each checked, and the deadlines that hold now. */
export async function readAmendments(data, charter, identity) {
  const listed = read(data, 2 ** 26);
  demand(Array.isArray(listed), "a list of amendments");
  const [found, deadlines] = [[], charter.rounds.map(({ closes }) => closes)];
  let head = identity;
  for (const each of listed) {
    const { amendment: said, signature } = members(each, "amendment", "signature");
    demand(isObject(said) && Object.hasOwn(KINDS, said.kind), "a kind of amendment that this page does not know");
    members(said, ...HEAD, ...KINDS[said.kind]);
    demand(said.format === "va-edge-ldp amendment 1" && said.campaign === identity, "an amendment of something else");
    demand(said.number === found.length + 1 && said.previous === head, "an amendment that does not follow the one before it");
    demand(["person", "token", "ledger"].every((name) => !(name in said) || isHex(said[name])), "digests of an amendment");
    await refuseSignature(written(said), signature, charter.issuer);
    demand(!("token" in said) || found.every(({ token }) => token !== said.token), "a token that is given twice");
    if (said.kind === "deadline") extend(deadlines, said, charter);
    head = sha256(written(said));
    found.push(said);
  }
  return [found, deadlines];
}

function extend(deadlines, { round, closes }, charter) {
  demand(isWhole(round) && round >= 1 && round <= deadlines.length && isWhole(closes), "a round and its deadline");
  const most = charter.rounds[round - 1].closes + LONGEST;
  const next = round < deadlines.length ? deadlines[round] : closes + 1;
  demand(deadlines[round - 1] < closes && closes < next && closes <= most, "a deadline that may not be");
  deadlines[round - 1] = closes;
}

/** Whether an amendment is about this person, as its salt shows. */
export const isAbout = (amendment, identity, person, salt) =>
  isHex(salt) && amendment.person === sha256(joined(octets("va-edge-ldp person 1\n"), fromHex(identity), fromHex(salt), eight(person)));

/** What one participant sees of a campaign's log, amendments and statements, kept in the ledger. */
export class Witness {
  constructor(server, ledger, campaign, person) {
    Object.assign(this, { server, ledger, campaign, person, key: "" });
  }

  seen(name) {
    return this.ledger.look((page) => (page.seen && page.seen[name]) || []);
  }

  /** Keep what was seen, in place of those that it goes on from. */
  async see(name, data, signature = "", replaced = () => false) {
    const text = textOf(data);
    const known = await this.seen(name);
    if (known.some((each) => each.data === text)) return;
    await this.ledger.change((page) => {
      const table = inside(page, "seen");
      table[name] = [...(table[name] || []).filter((each) => !replaced(read(octets(each.data)))), { data: text, signature }];
    }, false);
  }

  /** What the server signs with, by the issuer's log as it is shown now; empty where nothing is signed. */
  async look() {
    const { charter, identity } = this.campaign;
    const name = `log ${charter.issuer}`;
    const before = await this.seen(name);
    let data;
    try {
      data = (await this.server.ask("GET", "/v1/log", 2 ** 20)).body;
    } catch (error) {
      if (error.problem !== "not-found") throw error;
      demand(!(await this.seen(`key ${identity}`)).length, "the issuer’s log is not shown any more; tell the issuer");
      return this;
    }
    const entries = await readLog(data, charter.issuer);
    const entriesOf = (log) => log.entries.map(({ entry }) => entry);
    await this.see(name, data, "", (log) => entriesOf(log).length <= entries.length && agree(entries, entriesOf(log)));
    for (const each of before) {
      const old = entriesOf(read(octets(each.data)));
      demand(agree(entries.slice(0, old.length), old.slice(0, entries.length)), "the issuer signed two different logs; answer nothing, and ask others");
      const own = old.findLastIndex((entry) => entry.campaign === identity);
      demand(own < entries.length, "an older log of charters than this browser has seen; tell the issuer");
    }
    this.key = serverKey(entries, identity, charter);
    await this.see(`key ${identity}`, written(this.key));
    return this;
  }

  /** The amendments, which go on from those that were seen; from now on `deadlines` are those that hold. */
  async amended() {
    const { charter, identity } = this.campaign;
    const { body } = await this.server.ask("GET", "/v1/amendments", 2 ** 26);
    const [found, deadlines] = await readAmendments(body, charter, identity);
    const amendmentsOf = (list) => list.map(({ amendment }) => amendment);
    for (const each of await this.seen(`amendments ${identity}`)) {
      demand(agree(found, amendmentsOf(read(octets(each.data)))), "an amendment is not shown any more; tell the issuer");
    }
    await this.see(`amendments ${identity}`, body, "", () => true);
    this.deadlines = deadlines;
    return found;
  }

  /** The statement of a closed round: signed, kept, as the state says, and the same as ever. */
  async stated(state) {
    const name = (number) => `statement ${this.campaign.identity} ${number}`;
    const { headers, body } = await this.server.ask("GET", `/v1/rounds/${state.round}/statement`, 2 ** 12);
    const signature = headers.get("Statement-Signature") || "";
    const said = await openStatement(body, signature, this.key);
    await this.see(name(state.round), body, signature);
    demand((await this.seen(name(state.round))).length === 1, "the server signed two statements of one round; tell the issuer, and others");
    const [before] = await this.seen(name(state.round - 1));
    refuseMisstated(said, this.campaign.identity, state, headers.get("Transcript-Salt") || "", before ? octets(before.data) : null);
    return said;
  }

  /** The code of a round whose statement was seen; nothing for others. */
  async codeOf(number) {
    const [found] = await this.seen(`statement ${this.campaign.identity} ${number}`);
    return found ? code(octets(found.data)) : "";
  }

  /** Whether the issuer has signed that this person withdrew. */
  async withdrew() {
    const found = await this.amended();
    const said = readObject((await this.server.ask("GET", `/v1/amendments/${this.person}`, 2 ** 16, { own: true })).body);
    if (!Array.isArray(said.amendments)) throw new Refused("what is amended about you");
    const saltOf = (number) => said.amendments.find((each) => isObject(each) && each.number === number)?.salt;
    return found.some((each) => each.kind === "withdrawal" && isAbout(each, this.campaign.identity, this.person, saltOf(each.number)));
  }
}
