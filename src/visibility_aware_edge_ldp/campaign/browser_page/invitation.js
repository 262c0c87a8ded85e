// What a letter's link says, and what this page is.

import { sha256 } from "./canonical.js";
import { Unreached } from "./participant.js";

/** What the part of an address after # says; the server never sees that part. */
export function invitationIn(address) {
  const given = new URLSearchParams(new URL(address, location.href).hash.slice(1));
  const server = given.get("server") || new URL("..", new URL(address, location.href).href.split("#")[0]).href;
  const found = { server, name: given.get("name"), token: given.get("token"), issuer: given.get("issuer"), page: given.get("page") };
  return found.name && found.token && found.issuer ? found : null;
}

/** What this page is, and where it is from. */
export async function ownPage() {
  const reply = await fetch(location.href.split("#")[0], { cache: "force-cache", credentials: "omit" }).catch(() => null);
  if (!reply) throw new Unreached("the server cannot be reached now");
  return { digest: sha256(new Uint8Array(await reply.arrayBuffer())), host: location.origin };
}
