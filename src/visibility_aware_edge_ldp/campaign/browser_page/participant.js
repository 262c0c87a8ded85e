// The participant: opens a campaign, answers a round, checks. All requests go to one server.

import { firstRow, checkUpload, numbers, readTranscript, refuseOtherRow, rowSum, secondRow } from "./answers.js";
import { openCharter, openDocuments, refuseOtherNumbers } from "./campaign.js";
import { Refused, demand, fromHex, hex, joined, readObject, sha256, octets, textOf } from "./canonical.js";
import {
  charge, costs, enrol, friendBits, inside, isAnotherEpoch, isAsked, isBeyond, keep, questionKey, raiseCaps, rowLevels,
  uploadIn, uploadKey,
} from "./ledger.js";
import { deviceCoins } from "./noise.js";
import { Witness, refuseUnsigned } from "./statements.js";
import { answeredSets, checkReceipt, leaf, problemIn, proves, roundState } from "./tree.js";

const AGAIN = [408, 425, 429, 500, 502, 503, 504];
const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** The server refuses; `problem` is the last word of the problem's type, if it is one that is known. */
export class Declined extends Refused {
  constructor(status, problem) {
    super(`the server declined (${problem || status})`);
    this.problem = problem;
  }
}

/** The server was not reached, or could not answer now. */
export class Unreached extends Refused {}

export class Server {
  constructor(url) {
    const address = new URL(url);
    demand(address.protocol === "https:" || ["localhost", "127.0.0.1", "[::1]"].includes(address.hostname), "the server's address must begin with https");
    this.url = address.href.replace(/\/$/, "");
    this.origin = address.origin;
    this.token = ""; // until the server has shown what the pinned issuer signed
  }

  /** A reply's headers and octets; tried again where that may help. */
  async ask(method, path, most, { body = undefined, own = false, tries = 5 } = {}) {
    for (let attempt = 1; ; attempt++) {
      const reply = await this.once(method, path, body, own);
      if (reply && !AGAIN.includes(reply.status)) return this.taken(reply, most);
      if (attempt === tries || !navigator.onLine) throw new Unreached("the server cannot be reached now");
      const least = Number(reply?.headers.get("Retry-After")) || 0;
      await wait(Math.min(60, least) * 1000 + 250 * 2 ** attempt * (1 + Math.random()));
    }
  }

  async once(method, path, body, own) {
    const headers = own ? { Authorization: `Bearer ${this.token}` } : {};
    if (body) headers["Content-Type"] = "application/octet-stream";
    const rest = { credentials: "omit", redirect: "error", referrerPolicy: "no-referrer" };
    try {
      const reply = await fetch(this.url + path, { method, headers, body, ...rest });
      return { status: reply.status, headers: reply.headers, body: new Uint8Array(await reply.arrayBuffer()) };
    } catch (error) {
      if (error instanceof TypeError) return null; // no reply
      throw error;
    }
  }

  taken(reply, most) {
    if (reply.status >= 200 && reply.status < 300) {
      demand(reply.body.length <= most, "a reply that is too long");
      return reply;
    }
    throw new Declined(reply.status, problemIn(reply.headers.get("Content-Type") || "", reply.body));
  }
}

/** Refuses to go on in a page, or from a host, that the charter does not name. */
function refuseOtherPage(charter, shown, server) {
  if (!charter.page) return;
  demand(shown.digest === charter.page.digest, "this page is not the one that the issuer vouches for; answer nothing here, and tell the issuer");
  demand([server, ...charter.page.hosts].includes(shown.host), "the issuer does not name the host of this page; answer nothing here, and tell the issuer");
}

export class Participant {
  /** The campaign of an invitation, with everything checked; `shown` is what the page is (digest) and where it is from (host). */
  static async open(invitation, ledger, shown) {
    const found = new Participant();
    const server = new Server(invitation.server);
    Object.assign(found, { server, ledger, name: invitation.name.trim().normalize("NFC") });
    const { headers, body } = await server.ask("GET", "/v1/charter", 2 ** 20);
    const charter = await openCharter(body, headers.get("Charter-Signature") || "", invitation.issuer);
    refuseOtherPage(charter, shown, server.origin);
    server.token = invitation.token;
    const cycles = charter.question === "triangles" && charter.statistics[0] === "four_cycles";
    demand(!cycles, "4-cycles are not answered in a browser; use the program");
    const documents = {};
    const fetched = (name) => server.ask("GET", `/v1/${name}`, 2 ** 28, { own: name !== "edges" });
    for (const name of ["roster", "policy", "edges"]) documents[name] = (await fetched(name)).body;
    found.campaign = refuseOtherNumbers(openDocuments(charter, body, documents));
    found.person = found.campaign.names.findIndex((name) => `${name}` === found.name);
    demand(found.person >= 0, `${found.name} is not in the roster`);
    found.asked = found.campaign.asks(found.person);
    found.witness = await new Witness(server, ledger, found.campaign, found.person).look();
    await found.witness.amended();
    found.isAnotherEpoch = await ledger.look((page) => isAnotherEpoch(page, found.campaign));
    return found;
  }

  /** Begin to use the ledger for this epoch; `raise` says that the owner allows what this round costs. */
  enrol(number, another = false, raise = false) {
    return this.ledger.change((page) => {
      enrol(page, this.campaign, this.name, another);
      if (raise) raiseCaps(page, this.campaign, this.person, number);
    });
  }

  async state(number) {
    const said = roundState((await this.server.ask("GET", `/v1/rounds/${number}`, 2 ** 16)).body, number);
    const stated = await this.witness.seen(`statement ${this.campaign.identity} ${number}`);
    demand(!stated.length || ["closed", "estimated"].includes(said.state), "a closed round is called open again; tell the issuer");
    return said;
  }

  kept(number) {
    return this.ledger.look((page) => uploadIn(page, this.campaign, number));
  }

  /** What to do now: a round to send, answer or wait for, or nothing; what was sent before; and the rounds' states. */
  async situation() {
    const kept = [];
    for (const number of this.campaign.rounds) kept.push(await this.kept(number));
    const unsent = kept.findIndex((each) => each && !each.receipt) + 1;
    if (unsent) return { act: "send", number: unsent, kept, states: [] };
    const states = [];
    for (const number of this.campaign.rounds) states.push((await this.state(number)).state);
    const open = states.indexOf("open") + 1;
    if (open && !kept[open - 1] && (open === 1 || kept[0])) return { act: "answer", number: open, kept, states };
    return { act: states.some((each) => each === "waiting" || each === "open") && kept[0] ? "wait" : "over", kept, states };
  }

  /** The people who are asked about: name, place, and what the ledger has kept of them (true, false or undefined). */
  people() {
    return this.ledger.look((page) => {
      const bits = page.bits[this.campaign.charter.epoch] || {};
      const all = this.campaign.names.map((name, place) => ({ name: `${name}`, place }));
      const asked = all.filter(({ place }) => isAsked(this.campaign, this.person, place));
      return asked.map((each) => ({ ...each, kept: bits[each.name] === undefined ? undefined : bits[each.name] === 1 }));
    });
  }

  /** What a round costs, class by class, and whether that is more than the owner has allowed. */
  async costs(number) {
    const own = [this.campaign, this.person, number];
    return this.ledger.look((page) => ({ classes: costs(page, ...own), isBeyond: isBeyond(page, ...own) }));
  }

  /** Before round 2: the own report of round 1, which the server must count as it was sent, and the transcript. */
  async heard(number) {
    if (number === 1) return { first: null, transcript: null };
    const [kept, closed] = [await this.kept(1), await this.state(1)];
    demand(kept && ["closed", "estimated"].includes(closed.state), "round 1 was not answered here, or is not closed");
    const first = kept.upload.subarray(32);
    if (this.campaign.question === "position") {
      demand(await this.isAmong(1, kept.upload, closed), "the closed round lacks your report; tell the issuer");
      return { first, transcript: null };
    }
    const most = (this.campaign.nodes * (this.campaign.nodes - 1)) / 4 + 2;
    const { body } = await this.server.ask("GET", "/v1/rounds/1/transcript", most);
    const transcript = readTranscript(this.campaign, body);
    const named = [closed.transcript, (await this.state(2)).transcript].filter(Boolean);
    demand(named.length && named.every((each) => each === transcript.digest), "another transcript than the closed round names");
    refuseOtherRow(this.campaign, this.person, first, transcript);
    if (this.witness.key) await this.witness.stated({ ...closed, transcript: transcript.digest });
    return { first, transcript };
  }

  /** Whether a closed round holds the own upload, by a proof among as many as the server states. */
  async isAmong(number, upload, state) {
    const stated = this.witness.key ? await this.witness.stated(state) : null;
    try {
      const said = readObject((await this.server.ask("GET", `/v1/rounds/${number}/proof/${this.person}`, 2 ** 16, { own: true })).body);
      demand(!stated || said.count === stated.count, "the proof is among another number of reports than the server states; tell the issuer");
      return proves(said, leaf(this.person, upload), state.root);
    } catch (error) {
      if (error instanceof Declined && error.problem === "not-found") return false;
      throw error;
    }
  }

  /** Refuses what is called open an hour after its deadline, and a token that was given for another program's ledger. */
  async refuseLate(number) {
    const found = await this.witness.amended();
    demand(Date.now() / 1000 <= this.witness.deadlines[number - 1] + 3600, "this round should be closed: its deadline is over");
    const token = sha256(octets(this.server.token));
    demand(!found.some((each) => each.kind === "device" && each.token === token), "this token is for a ledger of the installed program");
  }

  /** Refuses to answer anew where the server has an answer that this ledger does not know. */
  async refuseOtherLedger(number) {
    try {
      await this.server.ask("GET", `/v1/rounds/${number}/reports/${this.person}`, 2 ** 12, { own: true });
    } catch (error) {
      if (error instanceof Declined && ["not-found", "not-open"].includes(error.problem)) return;
      throw error;
    }
    const here = await this.kept(number); // another tab may have answered just now
    demand(here, "the server holds an answer that this browser does not know: you answered on another device, or somebody has your token");
  }

  /** Answer a round from a list of names: the receipt, once it is kept. What was answered before is sent as it is. */
  async answer(number, given, coins = deviceCoins) {
    const begun = Date.now();
    let kept = await this.kept(number);
    if (!kept) {
      await this.refuseLate(number);
      await this.refuseOtherLedger(number);
      const heard = await this.heard(number);
      kept = await this.ledger.change((page) => this.answered(page, number, new Set(given), heard, coins));
      const pace = 1000 + this.campaign.nodes; // public, so that the time it takes tells nothing of the list
      await wait(pace - ((Date.now() - begun) % pace));
    }
    const path = `/v1/rounds/${number}/reports/${this.person}`;
    const { headers, body } = await this.server.ask("PUT", path, 2 ** 12, { body: kept.upload, own: true });
    const receipt = checkReceipt(body, this.campaign.identity, number, this.person, kept.upload);
    if (this.witness.key) {
      const signature = headers.get("Receipt-Signature") || "";
      await refuseUnsigned(body, signature, this.witness.key);
      await this.witness.see(`receipt ${this.campaign.identity} ${number}`, body, signature);
    }
    await this.ledger.change((page) => void (page.uploads[uploadKey(this.campaign, number)].receipt ||= textOf(body)));
    return receipt;
  }

  /** The upload of a round, inside one transaction of the ledger; nothing here waits. */
  answered(page, number, given, { first, transcript }, coins) {
    const { campaign, person } = this;
    enrol(page, campaign, this.name, false);
    const before = uploadIn(page, campaign, number);
    if (before) return before;
    const heard = transcript ? transcript.digest : "";
    charge(page, campaign, person, number, heard); // before a bit of the list is looked at
    const memos = inside(page.memos, campaign.charter.epoch);
    const question = questionKey(campaign, number, heard);
    const friends = friendBits(page, campaign, person, given);
    let [report, fresh] = [memos[question] ? fromHex(memos[question]) : null, new Map()];
    if (!report) {
      if (!campaign.byRows) report = numbers(campaign, person, friends, coins);
      else if (number === 1) [report, fresh] = firstRow(campaign, person, friends, rowLevels(page, campaign, person), coins);
      else if (transcript) report = rowSum(campaign, person, friends, first, transcript, coins);
      else report = secondRow(campaign, person, friends, first, coins);
    }
    keep(page, campaign, person, friends, fresh);
    memos[question] = hex(report);
    const upload = joined(deviceCoins(32), report);
    checkUpload(campaign, person, number, upload, first, heard);
    page.uploads[uploadKey(campaign, number)] = { upload: hex(upload), receipt: "" };
    return { upload, receipt: "" };
  }

  /** Of each answered round its root and code, if all are closed, hold what was sent, and are those of the answers. */
  async check() {
    await this.witness.look();
    const most = 2 ** 20 + this.campaign.charter.statistics.length * 2 ** 10 + this.campaign.nodes * 2 ** 8;
    const sets = answeredSets((await this.server.ask("GET", "/v1/estimates", most)).body, this.campaign.identity);
    const found = [];
    for (const number of this.campaign.rounds) {
      const kept = await this.kept(number);
      if (!kept) continue;
      const state = await this.state(number);
      demand(["closed", "estimated"].includes(state.state), "the round is not closed");
      const isIn = await this.isAmong(number, kept.upload, state);
      demand(isIn || (await this.witness.withdrew()), "the round lacks your report; tell the issuer");
      demand(sets[number - 1]?.root === state.root, "the answers name another set of reports; tell the issuer");
      if (isIn) found.push({ round: number, root: state.root, code: await this.witness.codeOf(number) });
    }
    return found;
  }
}
