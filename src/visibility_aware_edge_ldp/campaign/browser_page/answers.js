// Reports: what each question is answered with, and what an upload must be.

import { demand, fraction, fromHex, joined, octets, sameOctets, sha256 } from "./canonical.js";
import { nearest } from "./campaign.js";
import { Fraction, exactly } from "./exact.js";
import { WORD, chained, discreteLaplace, draw, flips, powerNoise, stride } from "./noise.js";
import { CLASSES, FRIEND_VISIBLE, HIDDEN, PRIVATE, PUBLIC } from "./rules.js";
import { eight } from "./tree.js";

const [FARTHEST_SUM, FARTHEST, FARTHEST_DRAW] = [1n << 61n, 1n << 62n, (1n << 62n) - 1n];
const cut = (number, most) => (number > most ? most : number < -most ? -most : number);
const headOf = (letters, ...rest) => joined(octets(letters), Uint8Array.of(1, ...rest));
const begins = (data, head) => sameOctets(data.subarray(0, head.length), head);

export function pack(bits) {
  const found = new Uint8Array(Math.ceil(bits.length / 8));
  for (let i = 0; i < bits.length; i++) if (bits[i]) found[i >> 3] |= 1 << (i & 7);
  return found;
}

export const unpack = (data, count) => Array.from({ length: count }, (_, i) => ((data[i >> 3] >> (i & 7)) & 1) === 1);
const rowStart = (nodes, person) => (person * (2 * nodes - person - 1)) / 2;
const lastOnes = (report, count) => unpack(report.subarray(report.length - Math.ceil(count / 8)), count);

/** The signed numbers at the end of a report. */
function numbersIn(report, from) {
  const view = new DataView(report.buffer, report.byteOffset + from, report.length - from);
  return Array.from({ length: (report.length - from) / 8 }, (_, i) => view.getBigInt64(8 * i));
}

function rowReport(campaign, person, number, ones) {
  const answered = campaign.row(person).map((kind) => kind !== PUBLIC);
  const place = [eight(rowStart(campaign.nodes, person)), eight(answered.length)];
  return joined(headOf("VAEL", number), ...place, fromHex(campaign.rowSurvey), pack(answered), pack(ones));
}

/** Round 1 of rows: the report, and for each threshold a map from the other end's number to what was said. */
export function firstRow(campaign, person, friends, levels, coins) {
  const classes = campaign.row(person);
  const own = campaign.thresholds(1);
  const said = classes.map(() => false);
  const fresh = new Map();
  const different = [...new Set(HIDDEN.map((kind) => own[kind]))].sort((a, b) => (a < b ? -1 : 1));
  for (const flip of different) {
    const isHere = (kind) => kind !== PUBLIC && own[kind] === flip;
    if (!classes.some(isHere)) continue;
    const drawn = chained(flip, friends.slice(person + 1), levels, coins);
    const level = new Map();
    classes.forEach((kind, i) => {
      if (isHere(kind)) level.set(person + 1 + i, (said[i] = drawn[i]));
    });
    fresh.set(flip, level);
  }
  return [rowReport(campaign, person, 1, said), fresh];
}

/** Round 2 of `position`. */
export function secondRow(campaign, person, friends, first, coins) {
  const classes = campaign.row(person);
  const before = lastOnes(first, classes.length);
  const ones = classes.map(() => false);
  for (const kind of [FRIEND_VISIBLE, PRIVATE]) {
    const places = classes.map((own, i) => (own === kind && before[i] ? i : -1)).filter((i) => i >= 0);
    const flipped = flips(places.length, campaign.thresholds(2)[kind], coins);
    places.forEach((i, k) => (ones[i] = friends[person + 1 + i] !== flipped[k]));
  }
  return rowReport(campaign, person, 2, ones);
}

const numbersHead = (campaign, person) => {
  const count = campaign.numbers;
  const head = campaign.byGroups ? headOf("VAEG", count >> 8, count & 255) : headOf("VAED", count);
  return joined(head, eight(person), eight(1), fromHex(campaign.charter.survey), Uint8Array.of(1));
};

/** `degrees` and `groups`. */
export function numbers(campaign, person, friends, coins) {
  const groups = campaign.byGroups ? campaign.policy.groups : null;
  const values = [];
  for (const kind of campaign.hidden) {
    const rate = fraction(campaign.charter.mechanisms[0].rates[CLASSES[kind]]);
    const counts = Array.from({ length: groups ? groups.labels.length : 1 }, () => 0n);
    friends.forEach((friend, other) => {
      if (friend && other !== person && campaign.policy.of(person, other) === kind) counts[groups ? groups.members[other] : 0]++;
    });
    const far = stride(new Fraction(1n).over(rate));
    for (const count of counts) values.push(cut(count + draw(discreteLaplace(rate), coins, far), FARTHEST));
  }
  return joined(numbersHead(campaign, person), ...values.map(eight));
}

/** All first answers in these octets; refuses what is no transcript. */
export function readTranscript(campaign, data) {
  const { nodes } = campaign;
  const asked = Array.from({ length: nodes }, (_, person) => campaign.row(person).map((kind) => kind !== PUBLIC));
  const flat = asked.flat();
  const here = flat.reduce((sum, each) => sum + each, 0);
  const size = Math.ceil(flat.length / 8);
  let [answered, ones] = [[], []];
  if (campaign.policy.scoped) {
    const head = Math.ceil(nodes / 8);
    demand(data.length === head + Math.ceil(here / 8), "a transcript of another length");
    const rows = unpack(data.subarray(0, head), nodes);
    const said = unpack(data.subarray(head), here);
    demand(rows.every((row, person) => !row || asked[person].includes(true)), "a row that is not asked");
    demand(sameOctets(joined(pack(rows), pack(said)), data), "bits after the last");
    let next = 0;
    asked.forEach((row, person) => row.forEach((each) => {
      answered.push(each && rows[person]);
      ones.push(each && said[next++]);
    }));
  } else {
    demand(data.length === 2 * size, "a transcript of another length");
    [answered, ones] = [unpack(data.subarray(0, size), flat.length), unpack(data.subarray(size), flat.length)];
    demand(sameOctets(joined(pack(answered), pack(ones)), data), "bits after the last");
  }
  demand(answered.every((each, i) => !each || flat[i]), "answers of what is PUBLIC");
  demand(ones.every((each, i) => !each || answered[i]), "ones without an answer");
  const rows = asked.map((row, person) => {
    const own = answered.slice(rowStart(nodes, person), rowStart(nodes, person + 1));
    demand(!own.includes(true) || own.every((each, i) => each === row[i]), "a row that answered in part");
    return own.includes(true);
  });
  const digest = sha256(joined(octets(campaign.rowSurvey), pack(answered), pack(ones)));
  return { answered, ones, digest, rows, asked: asked.filter((row) => row.includes(true)).length };
}

/** The own row must be in the transcript as it was sent. */
export function refuseOtherRow(campaign, person, first, transcript) {
  const count = campaign.nodes - 1 - person;
  const start = rowStart(campaign.nodes, person);
  const sent = [unpack(first.subarray(54), count), lastOnes(first, count)];
  const holds = sent.every((bits, i) => bits.every((bit, k) => bit === [transcript.answered, transcript.ones][i][start + k]));
  demand(holds, "the transcript lacks the own row");
}

const FACTORIALS = Array.from({ length: 14 }, (_, i) => {
  let found = 1;
  for (let j = 2; j <= i + 1; j++) found *= j;
  return found;
});

function expOf(x) {
  const k = nearest(x * 1.4426950408889634);
  const r = x - k * 0.6931471803691238 - k * 1.9082149292705877e-10;
  let s = 1 / FACTORIALS[13];
  for (let j = 13; j > 0; j--) s = s * r + 1 / FACTORIALS[j - 1];
  return (s * r + 1) * 2 ** k;
}

/** Round 2 of `triangles`. */
export function rowSum(campaign, person, friends, first, transcript, coins) {
  const stated = campaign.charter.mechanisms[1];
  refuseOtherRow(campaign, person, first, transcript);
  const [steps, total, scale] = measuredRow(campaign, person, friends, transcript);
  const [loss, share, rate] = [stated.total, stated.share, stated.reach].map(fraction);
  const exact = exactly(scale);
  const reached = steps + draw(discreteLaplace(rate), coins, stride(new Fraction(1n).over(rate)));
  const noise = cut(draw(powerNoise(loss, share, exact), coins, stride(exact.over(loss))), FARTHEST_DRAW);
  const values = [reached, total + noise].map((each) => eight(cut(each, FARTHEST_SUM)));
  return joined(sumHead(campaign, person, fromHex(transcript.digest)), ...values);
}

const sumHead = (campaign, person, heard) =>
  joined(headOf("VAET"), eight(person), eight(1), fromHex(campaign.charter.survey), heard, Uint8Array.of(1));

/** Reach and sum before noise, and the scale of the sum's noise. */
export function measuredRow(campaign, person, friends, transcript) {
  const stated = campaign.charter.mechanisms[1];
  demand(stated.statistic === "triangles", "4-cycles are not summed by this program");
  const [planes, largest] = planesOf(campaign, transcript);
  const [reach, total] = measured(campaign, person, friends, planes);
  const unit = 2 ** stated.fineness;
  demand(largest * campaign.nodes ** 2 * unit * 64 <= 2 ** 52, "scores too large to be summed exactly");
  const small = new Fraction((1n << 60n) - 1n, 1n << 60n);
  const beta = fraction(stated.share).times(fraction(stated.total)).times(small).toNumber() * (1 - 1e-6);
  const pace = largest / beta;
  const bound = reach >= pace ? reach : pace * expOf(Math.min(reach / pace, 1) - 1);
  const scale = bound * ((1 + 1e-9) * unit) + 2;
  return [BigInt(Math.floor(reach / (largest * (1 + 1e-9)))), BigInt(Math.floor(total * unit + 0.5)), scale];
}

/** Weights with functions that say whether a position is in the plane, and M. */
function planesOf(campaign, transcript) {
  const { nodes, policy } = campaign;
  const rate = transcript.asked > 1 ? Math.max(transcript.rows.filter(Boolean).length - 1, 1) / (transcript.asked - 1) : 1;
  const place = (u, v) => (u < v ? rowStart(nodes, u) + v - u - 1 : rowStart(nodes, v) + u - v - 1);
  const edges = new Set(policy.edges.map(([u, v]) => place(u, v)));
  const planes = edges.size ? [[1, (u, v) => edges.has(place(u, v))]] : [];
  const sizes = edges.size ? [1] : [];
  const seen = new Set();
  for (let u = 0; u < nodes && seen.size < HIDDEN.length; u++) {
    if (transcript.rows[u]) for (let v = u + 1; v < nodes; v++) seen.add(policy.of(u, v));
    seen.delete(PUBLIC);
  }
  for (const kind of HIDDEN.filter((each) => seen.has(each))) {
    const q = new Fraction(campaign.thresholds(1)[kind], WORD);
    const rest = new Fraction(1n).minus(q.times(2));
    const zero = q.times(-1n).over(rest).toNumber() / rate;
    const one = new Fraction(1n).minus(q).over(rest).toNumber() / rate;
    const isHere = (u, v) => transcript.answered[place(u, v)] && policy.of(u, v) === kind;
    planes.push([zero, isHere], [one - zero, (u, v) => transcript.ones[place(u, v)] && isHere(u, v)]);
    sizes.push(Math.abs(zero), Math.abs(one));
  }
  return [planes, Math.max(...sizes, 0) || 1];
}

/** The reach and the sum. */
function measured(campaign, person, friends, planes) {
  const { nodes, policy } = campaign;
  const mine = friends.map((friend, k) => (friend && k > person && policy.inside(person, k) ? k : -1)).filter((k) => k >= 0);
  const counted = planes.map(([, isIn]) => Array.from({ length: nodes }, (_, x) =>
    x > person ? mine.reduce((sum, k) => sum + Number(k !== x && isIn(k, x)), 0) : 0));
  const worth = [0, policy.multipliers[PRIVATE].over(policy.multipliers[FRIEND_VISIBLE]).toNumber(), 1];
  let reach = 0;
  for (let x = person + 1; x < nodes; x++) {
    const kind = policy.of(person, x);
    if (kind === PUBLIC) continue;
    const pull = planes.reduce((sum, [weight], p) => sum + weight * counted[p][x], 0);
    reach = Math.max(reach, Math.abs(pull) * worth[kind]);
  }
  const total = planes.reduce((sum, [weight], p) => sum + weight * mine.reduce((all, x) => all + counted[p][x], 0), 0);
  return [reach, total / 2];
}

/** Refuses what this participant's program would not have written. */
export function checkUpload(campaign, person, number, upload, first = null, transcript = "") {
  demand(campaign.asks(person), "nothing is asked");
  demand(upload.length === campaign.uploadSize(person, number), "another size");
  const report = upload.subarray(32);
  const within = (from, most) =>
    demand(numbersIn(report, from).every((each) => each <= most && each >= -most), "numbers too large");
  if (campaign.question === "triangles" && number === 2) {
    const head = sumHead(campaign, person, transcript ? fromHex(transcript) : report.subarray(53, 85));
    demand(begins(report, head), "another head");
    within(head.length, FARTHEST_SUM);
  } else if (!campaign.byRows) {
    const head = numbersHead(campaign, person);
    demand(begins(report, head), "another head");
    within(head.length, FARTHEST);
  } else {
    const classes = campaign.row(person);
    const ones = lastOnes(report, classes.length);
    demand(sameOctets(report, rowReport(campaign, person, number, ones)), "another head, or another row");
    demand(!ones.some((one, i) => one && classes[i] === PUBLIC), "ones not asked");
    if (number === 2 && first) {
      const before = lastOnes(first, classes.length);
      demand(!ones.some((one, i) => one && !before[i]), "ones not asked again");
    }
  }
}
