// The ledger: what was answered and what it cost, in IndexedDB before anything is sent.
//
// It is one record, changed inside one "readwrite" transaction that reads it, works out the answer without waiting for
// anything, and writes it. The browser lets one such transaction run at a time, over all tabs, and stores all of it or
// nothing: so two tabs cannot answer twice, and a tab may be closed at any moment. No lock is held outside of it.

import { Refused, demand, fromHex, hex, isObject, octets, read, sha256, writtenText } from "./canonical.js";
import { deviceCoins, responseLoss } from "./noise.js";
import { PUBLIC } from "./rules.js";

const FORMAT = "va-edge-ldp browser ledger 1";
const TABLES = ["names", "uploads", "memos", "bits", "levels", "charges", "classes"];
export const UNITS = 10n ** 12n;
const CAPS = [null, 2n * UNITS, UNITS];
export const LIFETIME = 4n;

const done = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

function blank() {
  const found = Object.assign(Object.create(null), { format: FORMAT, id: hex(deviceCoins(16)), serial: 0, moved: 0 });
  for (const name of [...TABLES, "caps"]) found[name] = Object.create(null);
  return found;
}

/** A ledger in a text that this program wrote; refuses a damaged one. */
function opened(text) {
  demand(typeof text === "string" && text.length > 65, "the ledger is damaged");
  const [digest, content] = [text.slice(0, 64), text.slice(65)];
  demand(sha256(octets(content)) === digest, "the ledger is damaged");
  const found = read(octets(content));
  demand(isObject(found) && found.format === FORMAT, "a ledger of another version");
  return found;
}

function closed(page) {
  const content = writtenText(page);
  return `${sha256(octets(content))} ${content}`;
}

/** A member that is an object, made if need be. */
export function inside(object, ...names) {
  for (const name of names) object = object[name] ??= Object.create(null);
  return object;
}

export class Ledger {
  static async open(name = "va-edge-ldp") {
    const request = indexedDB.open(name, 1);
    request.onupgradeneeded = () => request.result.createObjectStore("records");
    const found = new Ledger();
    found.database = await done(request);
    return found;
  }

  /** Let `act` change the ledger, alone, and give back what it returns once all of it is on disk. `act` does not wait.
   *
   * With `counts` it is newer than its copies from then on. */
  change(act, counts = true) {
    return new Promise((resolve, reject) => {
      const transaction = this.database.transaction("records", "readwrite", { durability: "strict" });
      const records = transaction.objectStore("records");
      let [result, failure] = [undefined, null];
      transaction.oncomplete = () => resolve(result);
      transaction.onabort = () => reject(failure || transaction.error || new Refused("the browser did not keep the ledger"));
      records.get("ledger").onsuccess = ({ target }) => {
        try {
          const page = target.result === undefined ? blank() : opened(target.result);
          const before = page.serial;
          result = act(page);
          if (counts && page.serial === before) page.serial++;
          records.put(closed(page), "ledger");
        } catch (error) {
          failure = error;
          transaction.abort();
        }
      };
    });
  }

  /** What `act` reads in the ledger. */
  async look(act) {
    const text = await done(this.database.transaction("records").objectStore("records").get("ledger"));
    return act(text === undefined ? blank() : opened(text));
  }

  /** The ledger as a text for another device; from now on it answers there, and here only if it comes back. */
  async moved() {
    await this.change((page) => void (page.moved = 1));
    return this.look((page) => closed({ ...page, moved: 0, serial: page.serial + 1 }));
  }

  /** Take over a ledger from another device; refuses to lose what is here, and older copies. */
  async take(text) {
    const given = opened(text);
    await this.change((page) => {
      const empty = TABLES.every((name) => !Object.keys(page[name]).length);
      demand(empty || page.id === given.id, "this browser has a ledger of its own, which would be lost");
      demand(empty || given.serial > page.serial, "this is an older copy than the ledger in this browser");
      Object.assign(page, given, { serial: given.serial + 1 });
    });
  }

  /** Ticks that were not sent yet. */
  async draft(key) {
    return (await done(this.database.transaction("records").objectStore("records").get(`draft ${key}`))) || [];
  }

  async keepDraft(key, names) {
    const transaction = this.database.transaction("records", "readwrite");
    await done(names.length ? transaction.objectStore("records").put(names, `draft ${key}`)
      : transaction.objectStore("records").delete(`draft ${key}`));
  }
}

export const uploadKey = (campaign, number) => `${campaign.identity} ${number}`;

/** What was answered in a round, and its receipt's text; null where nothing was. */
export function uploadIn(page, campaign, number) {
  const kept = page.uploads[uploadKey(campaign, number)];
  return kept ? { upload: fromHex(kept.upload), receipt: kept.receipt } : null;
}

/** In one epoch a participant has one name, and in a new one the owner says that the list is of another time. */
export function enrol(page, campaign, name, another) {
  demand(!page.moved, "this ledger was moved to another device; take part there, or bring it back");
  const { epoch } = campaign.charter;
  const known = page.names[epoch];
  demand(known === undefined || known === name, `this browser has answered as ${known}; another person needs another browser`);
  demand(known !== undefined || another || !Object.keys(page.names).length, "another epoch");
  page.names[epoch] = name;
}

/** Whether the owner must say that this list is of another time than those before. */
export const isAnotherEpoch = (page, campaign) =>
  Object.keys(page.names).length > 0 && page.names[campaign.charter.epoch] === undefined;

/** What names a question: asked again, it is answered alike. */
export function questionKey(campaign, number, transcript = "") {
  const edges = campaign.question === "triangles" ? campaign.charter.edges : "";
  return `${campaign.charter.survey} ${number} ${transcript} ${edges}`;
}

/** How much a position of a class may lose in one epoch; LIFETIME times as much in all. The owner's alone. */
export const capOf = (page, kind) => (page.caps[kind] === undefined ? CAPS[kind] : BigInt(page.caps[kind]));

const unitsOf = (loss) => loss.times(UNITS).ceiling();

/** What this round, those after it and all that others answer in the campaign cost: name, question, chain, units, now. */
function charges(campaign, person, number, transcript) {
  const found = [];
  for (const each of campaign.rounds) {
    const chain = campaign.byRows && each === 1;
    const flips = chain ? campaign.thresholds(1) : [];
    const units = new Map([...campaign.losses(each)].map(([kind, loss]) =>
      [kind, unitsOf(chain ? responseLoss(flips[kind], 12) : loss)]));
    campaign.names.forEach((name, other) => {
      const own = other > person || !campaign.byRows;
      const kind = other === person ? PUBLIC : campaign.policy.of(person, other);
      if (kind === PUBLIC || (own && each < number)) return;
      const heard = own && each === number ? transcript : campaign.question === "triangles" ? campaign.identity : "";
      const named = chain ? `chain ${flips[kind]}` : `${questionKey(campaign, each, heard)} ${own ? "own" : "others"}`;
      found.push({ name: `${name}`, question: named, chain: Number(chain), units: units.get(kind), now: chain || !own || each === number });
    });
  }
  return found;
}

/** What each name has lost, epoch by epoch: the largest of chains, and the sum of all else. */
function lost(page, due, here) {
  const all = new Map(); // name → epoch → question → [chain, units]
  const add = (name, epoch, question, chain, units) => {
    if (!all.has(name)) all.set(name, new Map());
    const epochs = all.get(name);
    if (!epochs.has(epoch)) epochs.set(epoch, new Map());
    if (!epochs.get(epoch).has(question)) epochs.get(epoch).set(question, [chain, units]);
  };
  for (const epoch of Object.keys(page.charges)) {
    for (const [question, { chain, units }] of Object.entries(page.charges[epoch])) {
      for (const name of Object.keys(units)) add(name, epoch, question, chain, BigInt(units[name]));
    }
  }
  for (const { name, question, chain, units } of due) add(name, here, question, chain, units);
  const sums = new Map();
  for (const [name, epochs] of all) {
    const found = { epoch: 0n, ever: 0n };
    for (const [epoch, questions] of epochs) {
      let [most, sum] = [0n, 0n];
      for (const [chain, units] of questions.values()) {
        if (!chain) sum += units;
        else if (units > most) most = units;
      }
      if (epoch === here) found.epoch = most + sum;
      found.ever += most + sum;
    }
    sums.set(name, found);
  }
  return sums;
}

/** For each class that is asked, in units: the largest loss of a position before and after this campaign, and the caps. */
export function costs(page, campaign, person, number, transcript = "") {
  const { epoch } = campaign.charter;
  const before = lost(page, [], epoch);
  const after = lost(page, charges(campaign, person, number, transcript), epoch);
  const found = new Map();
  campaign.names.forEach((name, other) => {
    const kind = other === person ? PUBLIC : campaign.policy.of(person, other);
    if (kind === PUBLIC) return;
    const [old, next] = [before.get(`${name}`) || { epoch: 0n, ever: 0n }, after.get(`${name}`) || { epoch: 0n, ever: 0n }];
    const here = found.get(kind) || { before: 0n, everBefore: 0n, after: 0n, everAfter: 0n, cap: capOf(page, kind) };
    const larger = (a, b) => (a > b ? a : b);
    found.set(kind, {
      ...here, before: larger(here.before, old.epoch), everBefore: larger(here.everBefore, old.ever),
      after: larger(here.after, next.epoch), everAfter: larger(here.everAfter, next.ever),
    });
  });
  return found;
}

/** Whether this campaign would cost more than the caps. */
export function isBeyond(page, campaign, person, number) {
  try {
    charge(read(octets(writtenText(page))), campaign, person, number);
    return false;
  } catch (error) {
    if (error instanceof Refused) return true;
    throw error;
  }
}

/** Raise the owner's caps so far that this campaign can be answered: every class that it asks about, or has before. */
export function raiseCaps(page, campaign, person, number) {
  const all = [...costs(page, campaign, person, number).values()];
  const most = (a, b) => (a > b ? a : b);
  const needed = all.reduce((found, each) => most(found, most(each.after, (each.everAfter + LIFETIME - 1n) / LIFETIME)), 0n);
  for (const kind of [1, 2]) page.caps[kind] = `${most(capOf(page, kind), needed)}`;
}

/** Declines what would cost more than the caps; then writes the charges of this round and of what others answer. */
export function charge(page, campaign, person, number, transcript = "") {
  const { epoch } = campaign.charter;
  const due = charges(campaign, person, number, transcript);
  const after = lost(page, due, epoch);
  const classes = inside(page.classes, epoch);
  campaign.names.forEach((name, other) => {
    const kind = other === person ? PUBLIC : campaign.policy.of(person, other);
    if (kind === PUBLIC) return;
    const held = (classes[`${name}`] = [...new Set([...(classes[`${name}`] || []), kind])].sort());
    const { epoch: here, ever } = after.get(`${name}`) || { epoch: 0n, ever: 0n };
    for (const each of held) {
      demand(here <= capOf(page, each), "this would cost more than you allow for one epoch");
      demand(ever <= LIFETIME * capOf(page, each), "this would cost more than you allow for a lifetime");
    }
  });
  const table = inside(page.charges, epoch);
  for (const { name, question, chain, units, now } of due) {
    if (!now) continue;
    const entry = (table[question] ??= Object.assign(Object.create(null), { chain, units: Object.create(null) }));
    entry.units[name] ??= `${units}`;
  }
}

/** Whether a position is asked about: in rows, those that this person holds. */
export const isAsked = (campaign, person, other) =>
  other !== person && (other > person || !campaign.byRows) && campaign.policy.of(person, other) !== PUBLIC;

/** Who is a friend: by what is public, else by the ledger, else by the list. */
export function friendBits(page, campaign, person, given) {
  const kept = page.bits[campaign.charter.epoch] || Object.create(null);
  const open = new Set(campaign.policy.edges.filter((edge) => edge.includes(person)).map(([u, v]) => (u === person ? v : u)));
  return campaign.names.map((name, other) => {
    if (other === person) return false;
    if (campaign.policy.of(person, other) === PUBLIC) return open.has(other);
    return kept[`${name}`] === undefined ? given.has(`${name}`) : kept[`${name}`] === 1;
  });
}

/** What each position of the row answered before in this epoch, by threshold. */
export function rowLevels(page, campaign, person) {
  const levels = page.levels[campaign.charter.epoch] || Object.create(null);
  return campaign.names.slice(person + 1).map((name) =>
    new Map(Object.entries(levels[`${name}`] || {}).map(([flip, said]) => [BigInt(flip), said === 1])));
}

/** Keep the bits that an answer was made from, and its levels. */
export function keep(page, campaign, person, friends, fresh) {
  const { epoch } = campaign.charter;
  const bits = inside(page.bits, epoch);
  campaign.names.forEach((name, other) => {
    if (isAsked(campaign, person, other)) bits[`${name}`] ??= Number(friends[other]);
  });
  for (const [flip, level] of fresh) {
    for (const [other, said] of level) inside(page.levels, epoch, `${campaign.names[other]}`)[`${flip}`] ??= Number(said);
  }
}
