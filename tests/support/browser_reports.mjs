// Uploads as the page makes them, many of one person: its own modules and its own coins, each time with an empty ledger.

const MODULES = ["canonical", "campaign", "ledger", "noise", "participant"];

const empty = () => ({
  format: "", id: "", serial: 0, moved: 0, names: {}, uploads: {}, memos: {}, bits: {}, levels: {}, charges: {}, classes: {},
  caps: { 1: `${10n ** 15n}`, 2: `${10n ** 15n}` },
});

/** All uploads of `count` times, one after the other in base 64, for each list of friends. */
export async function uploads(folder, texts, person, lists, count) {
  const core = {};
  for (const name of MODULES) Object.assign(core, await import(`${folder}/${name}.js`));
  const data = core.octets(texts.charter);
  const charter = await core.openCharter(data, texts.signature, JSON.parse(texts.charter).issuer);
  const documents = Object.fromEntries(["roster", "policy", "edges"].map((name) => [name, core.octets(texts[name])]));
  const campaign = core.refuseOtherNumbers(core.openDocuments(charter, data, documents));
  const rounds = campaign.question === "position" ? campaign.rounds : [1];
  const who = Object.assign(new core.Participant(), { campaign, person, name: `${campaign.names[person]}` });
  return lists.map((friends) => {
    const found = [];
    for (let i = 0; i < count; i++) {
      const page = empty();
      for (const number of rounds) {
        const first = number === 2 ? found.at(-1).subarray(32) : null;
        found.push(who.answered(page, number, new Set(friends), { first, transcript: null }, core.deviceCoins).upload);
      }
    }
    const all = core.joined(...found);
    let text = "";
    for (let at = 0; at < all.length; at += 30000) text += btoa(String.fromCharCode(...all.subarray(at, at + 30000)));
    return text;
  });
}
