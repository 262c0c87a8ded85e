// Uploads as the page makes them, many of one person: its own modules, each time with an empty ledger; under node too.

const MODULES = ["answers", "canonical", "campaign", "ledger", "noise", "participant"];

const empty = () => ({
  format: "", id: "", serial: 0, moved: 0, names: {}, uploads: {}, memos: {}, bits: {}, levels: {}, charges: {}, classes: {},
  caps: { 1: `${10n ** 15n}`, 2: `${10n ** 15n}` },
});

/** Her first answers, and what everybody hears if all others say 1 everywhere; the first of the roster has the first row. */
function heardBy(core, who, answer) {
  const first = answer(1, [], null).subarray(32);
  const asked = who.campaign.names.flatMap((_, person) => who.campaign.row(person).map(() => true));
  const count = who.campaign.nodes - 1;
  const own = core.unpack(first.subarray(first.length - Math.ceil(count / 8)), count);
  const planes = [asked, [...own, ...asked.slice(count)]].map(core.pack);
  return { first, transcript: core.readTranscript(who.campaign, core.joined(...planes)) };
}

/** A key's AES-256-CTR stream, a megabyte of it, as coins that can be drawn again. */
async function keyed(core, text) {
  const key = await crypto.subtle.importKey("raw", core.fromHex(text), "AES-CTR", false, ["encrypt"]);
  const blank = { name: "AES-CTR", counter: new Uint8Array(16), length: 128 };
  const stream = new Uint8Array(await crypto.subtle.encrypt(blank, key, new Uint8Array(1 << 20)));
  let taken = 0;
  return (count) => {
    taken += count;
    if (taken > stream.length) throw new Error("more coins were taken than there are");
    return stream.subarray(taken - count, taken);
  };
}

/** All uploads of `count` times, one after the other in base 64, for each list of friends.
 *
 * `sums` are round 2 of triangles; coins are the device's own, or those of a key.
 */
export async function uploads(folder, texts, person, lists, count, sums = false, key = "") {
  const core = {};
  for (const name of MODULES) Object.assign(core, await import(`${folder}/${name}.js`));
  const data = core.octets(texts.charter);
  const charter = await core.openCharter(data, texts.signature, JSON.parse(texts.charter).issuer);
  const documents = Object.fromEntries(["roster", "policy", "edges"].map((name) => [name, core.octets(texts[name])]));
  const campaign = core.refuseOtherNumbers(core.openDocuments(charter, data, documents));
  const rounds = campaign.question === "position" ? campaign.rounds : [sums ? 2 : 1];
  const who = Object.assign(new core.Participant(), { campaign, person, name: `${campaign.names[person]}` });
  const coins = key ? await keyed(core, key) : core.deviceCoins;
  const answer = (number, friends, heard, page = empty()) =>
    who.answered(page, number, new Set(friends), heard || { first: null, transcript: null }, coins).upload;
  const heard = sums ? heardBy(core, who, answer) : null;
  return lists.map((friends) => {
    const found = [];
    for (let i = 0; i < count; i++) {
      const page = empty();
      for (const number of rounds) {
        const before = number === 2 && !sums ? { first: found.at(-1).subarray(32), transcript: null } : heard;
        found.push(answer(number, friends, before, page));
      }
    }
    const all = core.joined(...found);
    let text = "";
    for (let at = 0; at < all.length; at += 30000) text += btoa(String.fromCharCode(...all.subarray(at, at + 30000)));
    return text;
  });
}

if (typeof process !== "undefined") {
  const { readFileSync } = await import("node:fs");
  const [folder, file] = process.argv.slice(2);
  const { texts, people, count } = JSON.parse(readFileSync(file, "utf8"));
  const found = [];
  for (const { person, friends, key } of people) found.push(...(await uploads(folder, texts, person, [friends], count, false, key)));
  console.log(JSON.stringify(found));
}
