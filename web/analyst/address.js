// What the address of this page says: which session, and which language.

export function readAddress(location) {
  const query = new URLSearchParams(location.search);
  return { session: query.get("session") || null, language: query.get("lang") ?? "" };
}

/** Replaced, not pushed: going back should leave the page instead of changing its session. */
export function keepSession(id) {
  const url = new URL(window.location.href);
  if (id === null) url.searchParams.delete("session");
  else url.searchParams.set("session", id);
  history.replaceState(null, "", url);
}

/** The login form leads back here, to the same session. */
export function askForLogin() {
  const query = new URLSearchParams(window.location.search);
  query.set("next", "analyst");
  window.location.replace(`/login?${query}`);
}
