// A campaign: its charter and documents, checked, and all that follows from epsilon.

import {
  demand, fraction, isHex, isObject, isWhole, members, octets, quoted, read, refuseMisread, refuseNewer,
  refuseSignature, sameValue, sha256, written,
} from "./canonical.js";
import { Fraction } from "./exact.js";
import { responseLoss, threshold } from "./noise.js";
import { membersDigest, policyOn } from "./policy.js";
import { CLASSES, FRIEND_VISIBLE, HIDDEN, PRIVATE, PUBLIC } from "./rules.js";

const FORMAT = "va-edge-ldp charter 2";
const HOLDING = "position {u, v}, u < v, is held by u; the roster is in the order of SHA-256 of the epoch and the name";
const TEXTS = ["format", "holding", "trust", "title", "epoch", "issuer", "roster", "policy", "edges", "question", "survey"];
const MEMBERS = [...TEXTS, "nodes", "statistics", "epsilon", "shares", "mechanisms", "rounds", "retention"];
// What a charter may say besides.
const OPTIONAL = ["page"];
const HOST = /^(https:\/\/[a-z0-9.-]{1,253}|http:\/\/(localhost|127\.0\.0\.1))(:[1-9][0-9]{0,4})?$/;
const DEGREES = ["edges", "degrees", "max_degree", "degree_histogram"];
const SCORES = [
  ...DEGREES, "triangles", "transitivity", "four_cycles", "three_paths", "tailed_triangles", "diamonds", "four_cliques", "stars",
];
// question: trust, numbers of rounds, statistics
const QUESTIONS = {
  position: ["POSITION", [1, 2], SCORES],
  degrees: ["USER", [1], [...DEGREES, "stars", "tail", "degree_quantile"]],
  groups: ["USER", [1], ["mixing", "contacts", "group_degrees", "ergm_targets", "assortativity", "ei_index", "coleman"]],
  triangles: ["USER", [2], ["triangles", "four_cycles"]],
  hubs: ["NEIGHBOURHOOD", [1], ["triangles"]],
};
const SURVEY = "va-edge-ldp survey 1";

/** The charter in these octets, if the pinned issuer signed them and they are one. */
export async function openCharter(data, signature, pinned) {
  await refuseSignature(data, signature, pinned);
  const charter = read(data, 2 ** 20);
  demand(isObject(charter) && charter.format === FORMAT, "a charter of another version than this page knows: ask the issuer for another page");
  demand(!Object.hasOwn(charter, "consent"), "consent of both ends, which this page cannot keep to; use the program");
  demand(!Object.hasOwn(charter, "wave"), "waves after the first are not answered in a browser; use the program");
  demand(!Object.hasOwn(charter, "parts"), "parts of the first answers are not summed over in a browser; use the program");
  refuseNewer(charter, [...MEMBERS, ...OPTIONAL]);
  members(charter, ...MEMBERS, ...OPTIONAL.filter((name) => Object.hasOwn(charter, name)));
  demand([...TEXTS, "epsilon"].every((name) => typeof charter[name] === "string"), "texts");
  demand(["nodes", "retention"].every((name) => isWhole(charter[name])), "whole numbers");
  demand(["statistics", "shares", "mechanisms", "rounds"].every((name) => Array.isArray(charter[name])), "lists");
  demand(charter.holding === HOLDING, "another way of holding positions");
  refuseMisread(charter.title, 200);
  refuseMisread(charter.epoch, 100);
  demand(["issuer", "roster", "policy", "edges", "survey"].every((name) => isHex(charter[name])), "digests");
  demand(charter.nodes >= 2 && charter.nodes < 2 ** 31, "how many people there are");
  demand(charter.retention >= 0 && charter.retention <= 315576000, "how long reports are kept");
  if (Object.hasOwn(charter, "page")) checkPage(charter.page);
  checkQuestion(charter);
  checkRounds(charter);
  demand(charter.issuer === pinned, "another issuer than the one that signed");
  return charter;
}

function checkPage(page) {
  const { digest, hosts } = members(page, "digest", "hosts");
  demand(isHex(digest) && Array.isArray(hosts) && hosts.length <= 16, "a page");
  demand(hosts.every((each, i) => typeof each === "string" && HOST.test(each) && (!i || hosts[i - 1] < each)), "hosts of a page");
}

function checkQuestion(charter) {
  demand(Object.hasOwn(QUESTIONS, charter.question), "a question that this page does not know: ask the issuer for a newer page");
  const [trust, rounds, statistics] = QUESTIONS[charter.question];
  demand(charter.trust === trust, "another trust model");
  demand(rounds.includes(charter.rounds.length), "another number of rounds");
  const asked = charter.statistics;
  demand(asked.length && asked.every((each) => typeof each === "string"), "statistics");
  demand(new Set(asked).size === asked.length && (asked.length === 1 || charter.question !== "triangles"), "each once");
  for (const each of asked) {
    const [name, number, ...more] = each.split(":");
    const numbered = ["stars", "tail", "degree_quantile"].includes(name);
    demand(statistics.includes(name) && !more.length && (number !== undefined) === numbered, "a statistic that is answered");
    const [least, most] = { stars: [2, charter.nodes - 1], tail: [1, charter.nodes - 1] }[name] || [1, 99];
    demand(!numbered || (/^[0-9]+$/.test(number) && Number(number) >= least && Number(number) <= most), "its range");
  }
  const epsilon = fraction(charter.epsilon);
  demand(epsilon.n > 0n && epsilon.compared(1000) <= 0, "epsilon");
}

function checkRounds(charter) {
  const shares = charter.shares.map(fraction);
  let before = 0;
  for (const each of charter.rounds) {
    if (isObject(each)) refuseNewer(each, ["closes", "fewest"]);
    members(each, "closes", "fewest");
    demand(isWhole(each.closes) && isWhole(each.fewest), "whole numbers");
    demand(each.fewest >= 1 && each.fewest <= charter.nodes, "the fewest responders");
    demand(each.closes > before && each.closes <= 253402300799, "deadlines one after the other");
    before = each.closes;
  }
  demand(shares.length === charter.rounds.length && shares.every((share) => share.n > 0n), "shares");
  demand(shares.reduce((sum, share) => sum.plus(share), new Fraction(0n)).compared(1) === 0, "shares");
  demand(charter.mechanisms.length === shares.length && charter.mechanisms.every(isObject), "a mechanism a round");
}

/** A charter with its documents, all checked; `rowSurvey` is the identity that reports of rows name. */
export class Campaign {
  constructor(charter, identity, names, policy) {
    Object.assign(this, { charter, identity, names, policy, rowSurvey: "", lost: {} });
    this.nodes = names.length;
    this.question = charter.question;
    this.epsilon = fraction(charter.epsilon);
    this.byGroups = this.question === "groups";
    this.byRows = this.question === "position" || this.question === "triangles";
    this.hidden = HIDDEN.filter((kind) => policy.present.has(kind));
    this.rounds = charter.rounds.map((_, i) => i + 1);
  }

  /** How many numbers `degrees` or `groups` ask for. */
  get numbers() {
    return this.hidden.length * (this.byGroups ? this.policy.groups.labels.length : 1);
  }

  /** The classes of a row's positions. */
  row(person) {
    return Array.from({ length: this.nodes - 1 - person }, (_, i) => this.policy.of(person, person + 1 + i));
  }

  asks(person) {
    demand(person >= 0 && person < this.nodes, "nobody has this number");
    for (let other = this.byRows ? person + 1 : 0; other < this.nodes; other++) {
      if (other !== person && this.policy.of(person, other) !== PUBLIC) return true;
    }
    return false;
  }

  uploadSize(person, number) {
    if (this.question === "triangles" && number === 2) return 32 + 102;
    if (this.byRows) return 32 + 54 + 2 * Math.ceil((this.nodes - 1 - person) / 8);
    return 32 + 55 + Number(this.byGroups) + 8 * this.numbers;
  }

  thresholds(number) {
    const stated = this.charter.mechanisms[number - 1].thresholds;
    return [null, ...HIDDEN.map((kind) => BigInt(stated[CLASSES[kind]]))];
  }

  /** What an edge of each class loses by all reports of a round: a map from classes. */
  losses(number) {
    return (this.lost[number] ??= this.lossesOf(number, 60));
  }

  lossesOf(number, decimals) {
    const stated = this.charter.mechanisms[number - 1];
    const map = (object, loss) => new Map(Object.keys(object).map((name) => [CLASSES.indexOf(name), loss(object[name])]));
    if (stated.kind === "randomized response") {
      return map(stated.thresholds, (flip) => responseLoss(BigInt(flip), decimals));
    }
    if (stated.kind === "discrete Laplace") return map(stated.rates, (rate) => fraction(rate).times(stated.lists));
    const one = fraction(stated.reach).plus(fraction(stated.total));
    return map(stated.steps, (steps) => fraction(steps).times(one));
  }

  totalLosses() {
    const found = new Map();
    for (const number of this.rounds) {
      for (const [kind, loss] of this.losses(number)) found.set(kind, loss.plus(found.get(kind) || 0));
    }
    return found;
  }
}

/** The campaign, if these are its documents. */
export function openDocuments(charter, data, documents) {
  for (const name of ["roster", "policy", "edges"]) demand(sha256(documents[name]) === charter[name], `another ${name}`);
  const names = read(documents.roster);
  demand(Array.isArray(names) && names.length === charter.nodes, "a roster of another size");
  for (const name of names) {
    demand(typeof name === "string" || isWhole(name), "a name");
    refuseMisread(`${name}`, 200);
  }
  demand(new Set(names.map(String)).size === names.length, "names that are written alike");
  const order = names.map((name) => sha256(written([charter.epoch, `${name}`])));
  demand(order.every((each, i) => !i || order[i - 1] < each), "a roster in an order of somebody's choice");
  const edges = read(documents.edges);
  const isEdge = (pair) =>
    Array.isArray(pair) && pair.length === 2 && pair.every(isWhole) && pair[0] >= 0 && pair[0] < pair[1] && pair[1] < names.length;
  demand(Array.isArray(edges) && edges.every(isEdge), "pairs of places");
  const ascend = ([a, b], [c, d]) => a < c || (a === c && b < d);
  demand(edges.every((pair, i) => !i || ascend(edges[i - 1], pair)), "edges in order");
  return new Campaign(charter, sha256(data), names, policyOn(read(documents.policy), names, edges));
}

/** Refuses a charter that states anything else than what follows from epsilon. */
export function refuseOtherNumbers(campaign) {
  demand(campaign.question !== "hubs", "questions to hubs are not answered in a browser; use the program");
  demand(!campaign.byGroups || campaign.policy.groups, "groups are asked, and there are none");
  const [shares, mechanisms, survey] = follows(campaign);
  const { shares: s, mechanisms: m, survey: y } = campaign.charter;
  demand(sameValue([shares, mechanisms, survey], [s, m, y]), "the charter does not follow from its epsilon");
  for (const [kind, loss] of campaign.totalLosses()) {
    demand(loss.compared(campaign.policy.multipliers[kind].times(campaign.epsilon)) <= 0, "it costs more than its epsilon");
  }
  return campaign;
}

const identityOf = (content) => sha256(written(content));

function follows(campaign) {
  const { epsilon, charter, policy } = campaign;
  if (campaign.question === "triangles") return triangles(campaign);
  if (campaign.question === "position") {
    const shares = charter.shares.map(fraction);
    const [stated, survey] = rows(campaign, epsilon, shares);
    campaign.rowSurvey = survey;
    return [shares.map(String), stated, survey];
  }
  const rates = {};
  for (const kind of campaign.hidden) rates[CLASSES[kind]] = `${policy.multipliers[kind].times(epsilon).over(2)}`;
  const content = { ...world(campaign), trust: "user", question: "degrees", epsilon: `${epsilon}` };
  content["discrete Laplace, loss per list entry"] = rates;
  if (campaign.byGroups) {
    content.question = "friends in each group";
    content.groups = { ...policy.groups, members: membersDigest(policy.groups.members) };
  }
  return [["1"], [{ kind: "discrete Laplace", lists: 2, rates }], identityOf(content)];
}

function world(campaign) {
  const { names, policy } = campaign;
  const entry = (name) => (typeof name === "string" && /^-?[0-9]+$/.test(name) ? `[${quoted(name)}]` : quoted(`${name}`));
  const roster = sha256(octets(`[${names.map(entry).join(", ")}]`));
  const found = { format: SURVEY, nodes: names.length, roster, policy: policy.digest };
  const usual = policy.given.FRIEND_VISIBLE === "2" && policy.given.PRIVATE === "1";
  return usual ? found : { ...found, multipliers: policy.given };
}

function rows(campaign, epsilon, shares) {
  const flip = (kind, share) => `${threshold(campaign.policy.multipliers[kind].times(share).times(epsilon))}`;
  const flips = shares.map((share) => ({ FRIEND_VISIBLE: flip(FRIEND_VISIBLE, share), PRIVATE: flip(PRIVATE, share) }));
  const content = { ...world(campaign), trust: "position", epsilon: `${epsilon}`, shares: shares.map(String) };
  content["flip thresholds out of 2^64, per round"] = flips;
  return [flips.map((thresholds) => ({ kind: "randomized response", thresholds })), identityOf(content)];
}

/** The whole number nearest to a double, ties to even. */
export function nearest(number) {
  const low = Math.floor(number);
  const over = number - low;
  return over > 0.5 || (over === 0.5 && low % 2 !== 0) ? low + 1 : low;
}

function triangles(campaign) {
  const { epsilon, policy } = campaign;
  const [statistic] = campaign.charter.statistics;
  const small = epsilon.compared(new Fraction(3n, 4n)) < 0;
  const cycles = statistic === "four_cycles";
  const first = cycles ? Fraction.of(small ? "1/2" : "13/20") : Fraction.of(small ? "27/50" : "29/50");
  const rest = new Fraction(1n).minus(first);
  const reach = epsilon.over(40);
  const total = rest.times(epsilon).minus(reach);
  const share = new Fraction(1n).over(total.times(cycles ? 8 : 14).plus(cycles ? 3 : 4));
  const fineness = (cycles ? 0 : 10) + Math.min(0, nearest(3 * Math.log2(epsilon.toNumber())));
  const [stated, survey] = rows(campaign, first.times(epsilon), [new Fraction(1n)]);
  campaign.rowSurvey = survey;
  const least = policy.multipliers[PRIVATE];
  const steps = { FRIEND_VISIBLE: `${policy.multipliers[FRIEND_VISIBLE].over(least)}`, PRIVATE: "1" };
  const common = { share: `${share}`, fineness };
  stated.push({ kind: "row sums", statistic, reach: `${reach.times(least)}`, total: `${total.times(least)}`, steps, ...common });
  const content = { format: SURVEY, trust: "user", question: statistic, first: survey };
  return [[`${first}`, `${rest}`], stated, identityOf({ ...content, reach: `${reach}`, total: `${total}`, ...common })];
}
