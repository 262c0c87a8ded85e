// The policy: rule, multipliers, scope, groups, and the digest that surveys name.

import { demand, fraction, has, isObject, isPrintable, isWhole, members, refuseNewer, sha256, written } from "./canonical.js";
import {
  CLASSES, FRIEND_VISIBLE, HIDDEN, PRIVATE, PUBLIC, canonicalName, refuseDisorder, refuseStrangers, rowsOf, ruleOn, valueOf,
} from "./rules.js";

const AGREED = "those who were chosen as hubs had agreed to publish their friend lists, and everybody knew the rule";

function digestOf(described, multipliers) {
  const usual = multipliers.FRIEND_VISIBLE === "2" && multipliers.PRIVATE === "1";
  return sha256(written(usual ? described : { kind: "guarded", multipliers, rule: described }));
}

/** The policy of a document on a roster, inside its scope; refuses what does not fit. */
export function policyOn(document, names, edges) {
  demand(isObject(document), "a policy is an object");
  const extra = ["scope", "groups"].filter((name) => has(document, name));
  const known = ["format", "digest", "rule", "multipliers", "assumptions", "paid", ...extra];
  refuseNewer(document, known);
  members(document, ...known);
  demand(document.format === "va-edge-ldp policy 1" && Array.isArray(document.paid), "a policy of this format");
  demand(Array.isArray(document.assumptions) && document.assumptions.every((each) => each === AGREED), "an oracle");
  const given = members(document.multipliers, ...CLASSES.slice(1));
  const multipliers = [null, ...HIDDEN.map((kind) => fraction(given[CLASSES[kind]]))];
  demand(HIDDEN.every((kind) => multipliers[kind].n > 0n && multipliers[kind].compared(1000) <= 0), "multipliers");
  demand(multipliers[PRIVATE].compared(multipliers[FRIEND_VISIBLE]) <= 0, "PRIVATE is guarded at least as well");
  const rule = ruleOn(document.rule, names);
  demand(document.digest === digestOf(rule.described, given), "the digest of another policy");
  demand(edges.every(([u, v]) => rule.of(u, v) === PUBLIC), "public edges at PUBLIC positions");
  const groups = has(document, "groups") ? groupsOf(document.groups, names.length) : null;
  const plain = { of: rule.of, present: rule.present, digest: document.digest, inside: () => true, edges, scoped: false };
  if (!has(document, "scope")) return { ...plain, multipliers, given, groups };
  const [inside, scope] = scopeOn(document.scope, names, rule, edges);
  const digest = digestOf({ kind: "inside", rule: rule.described, scope }, given);
  return {
    of: (u, v) => (inside(u, v) ? rule.of(u, v) : PUBLIC),
    present: new Set([...rule.present, PUBLIC]),
    digest,
    inside,
    edges: edges.filter(([u, v]) => inside(u, v)),
    scoped: true,
    multipliers,
    given,
    groups,
  };
}

function groupsOf(groups, nodes) {
  const { attribute, labels, members: places } = members(groups, "attribute", "labels", "members");
  demand(Array.isArray(labels) && Array.isArray(places) && places.length === nodes, "a group for everybody");
  const isLabel = (each) => typeof each === "string" && each && [...each].length <= 200 && isPrintable(each);
  demand([attribute, ...labels].every(isLabel), "labels");
  demand(labels.length >= 1 && labels.length <= 100 && new Set(labels).size === labels.length, "1 to 100 different labels");
  demand(places.every((each) => isWhole(each) && each >= 0 && each < labels.length), "a group for everybody");
  return groups;
}

/** SHA-256 of little-endian numbers of 64 bits. */
export function membersDigest(numbers) {
  const view = new DataView(new ArrayBuffer(8 * numbers.length));
  numbers.forEach((each, i) => view.setBigInt64(8 * i, BigInt.asIntN(64, BigInt(each)), true));
  return sha256(new Uint8Array(view.buffer));
}

/** Which positions are inside, and the object that the digest is made of. */
function scopeOn(scope, names, rule, edges) {
  const { words, columns, files } = members(scope, "words", "columns", "files");
  demand(typeof words === "string" && isObject(columns) && isObject(files), "a scope");
  const keys = [words, ...Object.keys(columns), ...Object.keys(files)];
  demand(keys.every((each) => [...each].length <= 200 && isPrintable(each)), "printable words");
  const used = new Set();
  const part = (word) => {
    const trimmed = word.trim();
    const colon = trimmed.indexOf(":");
    const [kind, rest] = colon < 0 ? [trimmed, ""] : [trimmed.slice(0, colon), trimmed.slice(colon + 1)];
    if (colon < 0 && (kind === "lists" || kind === "public")) {
      const open = [(u, v) => rule.of(u, v) === PUBLIC, { kind: "public" }];
      return kind === "public" ? open : joinedScopes([listsScope(names.length, rule, edges), open], "either");
    }
    const table = { group: columns, file: files }[kind];
    demand(rest && (kind === "group" || kind === "file") && has(table, rest), "a scope's word");
    used.add(`${kind}:${rest}`);
    return kind === "group" ? sameScope(rest, table[rest], names) : namedScope(table[rest], names);
  };
  const parts = words.split("|").map((each) => joinedScopes(each.split("&").map(part), "both"));
  demand(used.size === keys.length - 1, "tables of the words");
  return joinedScopes(parts, "either");
}

function joinedScopes(parts, kind) {
  if (parts.length === 1) return parts[0];
  const every = (u, v) => parts.every(([inside]) => inside(u, v));
  const some = (u, v) => parts.some(([inside]) => inside(u, v));
  return [kind === "both" ? every : some, { kind, parts: parts.map(([, described]) => described) }];
}

function sameScope(words, rows, names) {
  const values = new Map(rowsOf(rows, 2).map(([name, value]) => [canonicalName(name), valueOf(value)]));
  refuseDisorder(rows.map(([name]) => canonicalName(name)));
  refuseStrangers(rows.map(([name]) => name), names);
  const numbers = new Map();
  const places = names.map((name) => {
    const value = values.get(canonicalName(name)) ?? null;
    if (value !== null && !numbers.has(value)) numbers.set(value, numbers.size);
    return value === null ? -1 : numbers.get(value);
  });
  demand(numbers.size, "somebody has a value");
  const attribute = words.split(",missing=")[0];
  const inside = (u, v) => places[u] === places[v] && places[u] >= 0;
  return [inside, { kind: "same value", attribute, values: membersDigest(places) }];
}

function namedScope(rows, names) {
  const pairs = rowsOf(rows, 2).map(([a, b]) => [canonicalName(a), canonicalName(b)]);
  refuseDisorder(pairs);
  refuseStrangers(rows.flat(), names);
  const place = new Map(names.map((name, number) => [canonicalName(name), number]));
  const code = (u, v) => Math.min(u, v) * names.length + Math.max(u, v);
  const ends = pairs.map(([a, b]) => [place.get(a), place.get(b)]).filter(([u, v]) => u !== v);
  const known = new Set(ends.map(([u, v]) => code(u, v)));
  const codes = [...known].sort((a, b) => a - b);
  return [(u, v) => known.has(code(u, v)), { kind: "named", positions: membersDigest(codes) }];
}

function listsScope(nodes, rule, edges) {
  const people = Array.from({ length: nodes }, (_, person) => person);
  const held = new Map();
  const isOpen = people.map((u) => people.every((v) => u === v || rule.of(u, v) === PUBLIC));
  for (const [u, v] of edges.flatMap(([a, b]) => [[a, b], [b, a]])) {
    if (isOpen[u]) held.set(u, (held.get(u) || new Set([u])).add(v));
  }
  demand(held.size, "the scope 'lists' needs public friend lists");
  const lists = [...held.keys()].sort((a, b) => a - b).map((owner) => held.get(owner));
  const marks = people.map(() => 0n);
  lists.forEach((each, k) => each.forEach((person) => (marks[person] |= 1n << BigInt(k))));
  const size = Math.ceil(lists.length / 64);
  const flat = marks.flatMap((mark) => Array.from({ length: size }, (_, word) => BigInt.asIntN(64, mark >> BigInt(64 * word))));
  const described = { kind: "lists", lists: lists.length, members: membersDigest(flat) };
  return [(u, v) => (marks[u] & marks[v]) !== 0n, described];
}
