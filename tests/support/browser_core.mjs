// The browser's core on the golden vectors and on reports drawn at random; the same under node and in a browser.

/** Coins that are counted: a key's AES-256-CTR stream, or these octets and no more. */
async function counted(core, coins) {
  let stream = core.fromHex(coins.octets || "");
  if (coins.key) {
    const key = await crypto.subtle.importKey("raw", core.fromHex(coins.key), "AES-CTR", false, ["encrypt"]);
    const blank = { name: "AES-CTR", counter: new Uint8Array(16), length: 128 };
    stream = new Uint8Array(await crypto.subtle.encrypt(blank, key, new Uint8Array(1 << 14)));
  }
  const take = (count) => {
    const start = take.taken;
    take.taken += count;
    if (take.taken > stream.length) throw new Error("more coins were taken than there are");
    return stream.subarray(start, take.taken);
  };
  take.taken = 0;
  return take;
}

async function opened(core, vector) {
  const data = core.octets(vector.charter);
  const pinned = vector.pinned || JSON.parse(vector.charter).issuer;
  const charter = await core.openCharter(data, vector.signature, pinned);
  return core.refuseOtherNumbers(core.openDocuments(charter, data, documents(core, vector)));
}

const documents = (core, vector) =>
  Object.fromEntries(["roster", "policy", "edges"].map((name) => [name, core.octets(vector[name])]));

async function refused(core, act) {
  try {
    return (await act()) === false;
  } catch (error) {
    if (error instanceof core.Refused) return true;
    throw error;
  }
}

const bits = (text) => [...text].map((each) => each === "1");

function levelsOf(levels, count, first) {
  const found = Array.from({ length: count }, () => new Map());
  for (const level of levels) {
    found.forEach((map, i) => {
      if (level.known[first + i] === "1") map.set(BigInt(level.threshold), level.ones[first + i] === "1");
    });
  }
  return found;
}

function friendsOf(campaign, answer) {
  const person = answer.participant;
  const edges = new Set(campaign.policy.edges.map(([u, v]) => `${u} ${v}`));
  return campaign.names.map((name, other) =>
    other !== person && campaign.policy.of(person, other) === 0
      ? edges.has(`${Math.min(person, other)} ${Math.max(person, other)}`)
      : answer.friends.includes(`${name}`) || answer.friends.includes(name));
}

function reportOf(core, campaign, transcript, answer, coins) {
  const person = answer.participant;
  const friends = friendsOf(campaign, answer);
  if (!campaign.byRows) return core.numbers(campaign, person, friends, coins);
  if (answer.round === 1) {
    const levels = levelsOf(answer.levels, campaign.nodes - 1 - person, person + 1);
    return core.firstRow(campaign, person, friends, levels, coins)[0];
  }
  const first = core.fromHex(answer.first);
  if (campaign.question === "position") return core.secondRow(campaign, person, friends, first, coins);
  return core.rowSum(campaign, person, friends, first, core.readTranscript(campaign, core.fromHex(transcript)), coins);
}

async function charters(core, vectors, say) {
  for (const vector of vectors.charters.filter((each) => each.case !== "hubs")) {
    const campaign = await opened(core, vector);
    const losses = [...campaign.totalLosses()].map(([kind, loss]) => [core.CLASSES[kind], `${loss}`]);
    const asked = campaign.names.map((_, i) => i).filter((i) => campaign.asks(i));
    const sizes = campaign.rounds.map((round) => asked.map((i) => campaign.uploadSize(i, round)));
    const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
    say("charter", vector.case, campaign.identity === vector.identity && same(asked, vector.asked) &&
      same(sizes, vector.sizes) && same(losses.sort(), Object.entries(vector.losses).sort()));
  }
}

async function uploads(core, vectors, say) {
  for (const vector of vectors.uploads.filter((each) => each.case !== "hubs")) {
    const campaign = await opened(core, vectors.charters.find((each) => each.case === vector.case));
    const sent = Object.entries(vector.uploads).map(([person, data]) => [Number(person), core.fromHex(data)]);
    sent.sort(([a], [b]) => a - b);
    const leaves = sent.map(([person, upload]) => core.leaf(person, upload));
    const last = { index: leaves.length - 1, count: leaves.length, proof: vector["proof of the last"] };
    const holds = core.root(leaves) === vector.root && core.proves(last, leaves.at(-1), vector.root);
    say("root", vector.case, holds && !core.proves(last, leaves[0], vector.root));
    sent.forEach(([person, upload], i) => {
      core.checkReceipt(core.octets(vector.receipts[i]), campaign.identity, vector.round, person, upload);
      core.checkUpload(campaign, person, vector.round, upload);
      say("upload", `${vector.case} ${person}`, true);
    });
  }
}

async function consider(core, vector, reached) {
  reached.push("bytes");
  if ("bytes" in vector) core.read(core.fromHex(vector.bytes), 2 ** 20);
  reached.push("charter");
  const data = core.octets(vector.charter);
  const charter = await core.openCharter(data, vector.signature, vector.pinned);
  reached.push("documents");
  const campaign = core.openDocuments(charter, data, documents(core, vector));
  reached.push("question");
  core.refuseOtherNumbers(campaign);
  reached.push("upload");
  const first = vector.first ? core.fromHex(vector.first).subarray(32) : null;
  core.checkUpload(campaign, vector.participant, vector.round, core.fromHex(vector.upload), first, vector.transcript || "");
}

async function attacks(core, vectors, say) {
  for (const vector of vectors.malicious) {
    const reached = [];
    const stopped = await refused(core, () => consider(core, vector, reached));
    const early = vector.case === "hubs" && vector.stage === "upload" ? "question" : vector.stage; // it declines hubs
    say("attack", `${vector.name}: ${reached.at(-1)}, not ${early}`, stopped && reached.at(-1) === early);
  }
}

async function noise(core, vectors, say) {
  for (const vector of vectors.noise) {
    if (vector.what === "threshold") {
      say("noise", `T(${vector.loss})`, `${core.threshold(core.Fraction.of(vector.loss))}` === vector.threshold);
      continue;
    }
    const coins = await counted(core, vector.coins);
    const text = (said) => said.map(Number).join("");
    let found;
    if (vector.what === "flips") found = text(core.flips(vector.count, BigInt(vector.threshold), coins));
    else if (vector.what === "chained answers") {
      const given = bits(vector.bits);
      found = text(core.chained(BigInt(vector.threshold), given, levelsOf(vector.levels, given.length, 0), coins));
    } else {
      const law = vector.what === "discrete Laplace"
        ? core.discreteLaplace(core.Fraction.of(vector.rate))
        : core.powerNoise(core.Fraction.of(vector.loss), core.Fraction.of(vector.share), core.exactly(fromC(vector.scale)));
      found = vector.result.map(() => `${core.draw(law, coins)}`);
    }
    say("noise", JSON.stringify(vector).slice(0, 200), `${found}` === `${vector.result}` && coins.taken === vector.taken);
  }
}

/** A double from its digits in C's hex. */
function fromC(text) {
  const [, whole, rest, power] = /^0x([01])\.?([0-9a-f]*)p([-+][0-9]+)$/.exec(text);
  return parseInt(whole + rest, 16) * 2 ** (Number(power) - 4 * rest.length);
}

async function answers(core, vectors, say) {
  for (const vector of vectors.answers.filter((each) => JSON.parse(each.charter).question !== "hubs")) {
    const campaign = await opened(core, vector);
    const asked = campaign.names.map((_, i) => i).filter((i) => campaign.asks(i));
    say("asked", vector.case, `${asked}` === `${vector.asked}`);
    for (const answer of vector.answers) {
      const coins = await counted(core, answer.coins);
      const report = reportOf(core, campaign, vector.transcript, answer, coins);
      const where = `${vector.case}, round ${answer.round} of ${answer.participant}`;
      say("answer", where, core.hex(report) === answer.result && (answer.taken === undefined || coins.taken === answer.taken));
      core.checkUpload(campaign, answer.participant, answer.round, core.joined(new Uint8Array(32), report));
    }
  }
}

async function believed(core, vectors, vector) {
  const sent = core.octets(vector.sent);
  if (vector.what === "problem") return core.problemIn(vector.media_type, sent) === vector.problem;
  const upload = core.fromHex(vector.upload || "");
  const caseOf = (list) => list.find((each) => each.case === vector.case);
  return !(await refused(core, async () => {
    if (vector.what === "receipt") core.checkReceipt(sent, vector.campaign, vector.round, vector.participant, upload);
    else if (vector.what === "signed receipt") await core.refuseUnsigned(core.octets(vector.receipt), vector.sent, vector.server);
    else if (vector.what === "proof") return core.proves(core.readObject(sent), core.leaf(vector.participant, upload), vector.root);
    else if (vector.what === "state") core.roundState(sent, vector.round);
    else if (vector.what === "transcript") {
      const campaign = await opened(core, caseOf(vectors.answers));
      const transcript = core.readTranscript(campaign, core.fromHex(vector.sent));
      core.refuseOtherRow(campaign, vector.participant, core.fromHex(vector.first), transcript);
    } else core.answeredSets(sent, caseOf(vectors.charters).identity);
    return true;
  }));
}

async function lies(core, vectors, say) {
  for (const vector of vectors.lies) {
    say("lie", `${vector.what}: ${vector.name}`, (await believed(core, vectors, vector)) === vector.believed);
  }
}

async function statements(core, vectors, say) {
  const [kept, ...cases] = vectors.statements;
  const log = JSON.parse(kept.log);
  const entries = await core.readLog(core.octets(kept.log), kept.issuer);
  for (const wrong of [log.entries.slice(1), log.entries.toReversed(), [{ ...log.entries[0], signature: "00".repeat(64) }]]) {
    say("log", "a broken one", await refused(core, () => core.readLog(core.written({ ...log, entries: wrong }), kept.issuer)));
  }
  say("log", "of somebody else", await refused(core, () => core.readLog(core.octets(kept.log), cases[0].server)));
  say("log", "lists that agree", core.agree(entries, entries.slice(0, 2)) && !core.agree(entries, entries.slice(1)));
  for (const [place, each] of cases.entries()) {
    const vector = vectors.charters.find((other) => other.case === each.case);
    const [identity, charter] = [core.sha256(core.octets(vector.charter)), JSON.parse(vector.charter)];
    const key = core.serverKey(entries, identity, charter);
    say("log", each.case, key === each.server && (await refused(core, () => core.serverKey(entries, "00".repeat(32), charter))));
    for (const shown of [each.signature, each["signature alone"]]) {
      await core.refuseUnsigned(core.octets(each.receipt), shown, key);
      say("statement", "a receipt's signature", await refused(core, () => core.openStatement(core.octets(each.receipt), shown, key)));
    }
    let before = null;
    for (const [i, round] of each.rounds.entries()) {
      const data = core.octets(round.statement);
      const said = await core.openStatement(data, round.signature, key);
      const state = { round: i + 1, root: "ef".repeat(32), transcript: said.transcript ? "ab".repeat(32) : "" };
      const salt = place.toString(16).padStart(2, "0").repeat(32);
      core.refuseMisstated(said, identity, state, salt, before);
      say("statement", `${each.case} ${i + 1}`, (await core.code(data)) === round.code);
      for (const wrong of [{ root: "ee".repeat(32) }, { round: 2 - i }, { transcript: "aa".repeat(32) }]) {
        say("statement", "of something else", await refused(core, () => core.refuseMisstated(said, identity, { ...state, ...wrong }, salt, before)));
      }
      const changed = core.octets(round.statement.replace("ef", "ee"));
      say("statement", "changed", await refused(core, () => core.openStatement(changed, round.signature, key)));
      before = data;
    }
  }
}

async function amendments(core, vectors, say) {
  for (const vector of vectors.amendments) {
    const read = () => core.readAmendments(core.octets(vector.amendments), JSON.parse(vector.charter), vector.identity);
    if (!vector.deadlines) {
      say("amendment", vector.name, await refused(core, read));
      continue;
    }
    const [found, deadlines] = await read();
    const about = (salt) => found.map((each) => vector.people.findIndex((person) => core.isAbout(each, vector.identity, person, salt)));
    say("amendment", vector.name, `${deadlines}` === `${vector.deadlines}` && `${vector.salts.map(about)}` === `${vector.about}`);
  }
}

/** How many vectors of each sort were compared, and the names of those that differ. */
export async function run(core, vectors) {
  const [counts, wrong] = [{}, []];
  const say = (sort, name, holds) => {
    counts[sort] = (counts[sort] || 0) + 1;
    if (!holds) wrong.push(`${sort} ${name}`);
  };
  for (const each of [charters, uploads, attacks, noise, answers, lies, statements, amendments]) {
    const needs = { attacks: "malicious" }[each.name] || each.name;
    if (!vectors[needs]) continue;
    try {
      await each(core, vectors, say);
    } catch (error) {
      wrong.push(`${each.name}: ${error.stack}`);
    }
  }
  return { counts, wrong };
}

if (typeof process !== "undefined") {
  const { readFileSync } = await import("node:fs");
  const [folder, file] = process.argv.slice(2);
  const core = {};
  for (const name of ["canonical", "exact", "noise", "rules", "campaign", "answers", "tree", "statements"]) {
    Object.assign(core, await import(`${folder}/${name}.js`));
  }
  console.log(JSON.stringify(await run(core, JSON.parse(readFileSync(file, "utf8")))));
}
