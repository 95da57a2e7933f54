// Asks the gateway over HTTP.

import { readEnvelope } from "./protocol/aicore.js";

/** Throws when there is no answer; one that refuses is an answer. */
export async function ask(path, body) {
  const answer = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body });
  return readEnvelope(await answer.json());
}
