// What the close of a connection asks of the page.

/** Codes from 3500 on that the page can do something about: they are those of every socket of the gateway. */
const NOT_YOURS = 3504;
const DELETED = 3505;
const NOT_LOGGED_IN = 3506;

/**
 * "login", "forget" (the conversation, then connect anew), "again" or "stop".
 * Who is logged in decides first: a login that has ended also closes conversations.
 */
export function afterRefusal(code, isLoggedIn) {
  const known = [NOT_YOURS, DELETED, NOT_LOGGED_IN].includes(code);
  if (!known) return "stop";
  if (!isLoggedIn) return "login";
  return code === NOT_LOGGED_IN ? "again" : "forget";
}
