// The part of the AI Core dialect that is about who answers, speaks and works in a session. It goes over HTTP.

import { AGENTS } from "./agents.js";
import { KEYS } from "./keys.js";

export const OFFER_PATH = "/core/AIコア/モデル情報/取得";
export const CHANGE_PATH = "/core/AIコア/モデル情報/設定";

/** What the page lets people choose, in the order in which it shows it. */
export const SETTINGS = Object.freeze([
  { id: "CHAT_AI_NAME", part: "chat", agent: null },
  { id: "LIVE_AI_NAME", part: "live", agent: null },
  ...AGENTS.flatMap((agent) => [
    { id: `CODE_AI${agent}_NAME`, part: "agent", agent },
    { id: `CODE_AI${agent}_PLACE`, part: "place", agent },
  ]),
]);

const OFFERS = Object.freeze({ chat: "chat_models", live: "live_models", agent: "code_models" });
const PLACES = Object.freeze(["auto", "worktree", "shared"].map((value) => ({ value, label: value })));

export function offerBody(session) {
  return JSON.stringify({ [KEYS.session]: session });
}

export function changeBody(session, id, value) {
  return JSON.stringify({ [KEYS.session]: session, [KEYS.models]: { [id]: value } });
}

/** What is chosen, and for each part what there is to choose from. */
export function readOffer(data) {
  const offer = data?.available_models ?? {};
  const options = Object.entries(OFFERS).map(([part, name]) => [part, optionsOf(offer[name] ?? {})]);
  return { chosen: data?.[KEYS.models] ?? {}, options: { ...Object.fromEntries(options), place: PLACES } };
}

// A name without models is one that nobody has set up.
function optionsOf(named) {
  const there = Object.entries(named).filter(([, models]) => Object.keys(models).length > 0);
  const options = there.map(([value, models]) => ({ value, label: models.auto ?? Object.values(models)[0] }));
  const isShared = ({ label }) => options.filter((other) => other.label === label).length > 1;
  return options.map((option) => (isShared(option) ? { ...option, label: `${option.label} (${option.value})` } : option));
}
