// What the page's address says: which session, which language, looking or taking part.

import { SESSION_PARAMETER } from "./protocol/aicore.js";

export function readAddress(location) {
  const query = new URLSearchParams(location.search);
  return {
    session: query.get(SESSION_PARAMETER) || query.get("session") || null,
    language: query.get("lang") ?? "",
    view: query.get("view") === "1",
  };
}

/** Replaced, not pushed: going back should leave the page instead of changing its session. */
export function keepSession(id) {
  const url = new URL(window.location.href);
  url.searchParams.delete("session");
  url.searchParams.set(SESSION_PARAMETER, id);
  history.replaceState(null, "", url);
}

export function keepLanguage(language) {
  const url = new URL(window.location.href);
  url.searchParams.set("lang", language);
  history.replaceState(null, "", url);
}

export function withoutSession() {
  const url = new URL(window.location.href);
  [SESSION_PARAMETER, "session", "view"].forEach((name) => url.searchParams.delete(name));
  return url.href;
}
