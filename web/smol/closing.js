// What the close of a connection asks of the page.

/** Codes from 3500 on that the page can do something about. */
const LOGIN_NEEDED = 3504;
const UNKNOWN_CONVERSATION = 3505;
const SHUTTING_DOWN = 3506;

/**
 * "login", "forget" (the conversation, then connect anew), "again" or "stop".
 * Other interfaces of the gateway give these three numbers other meanings, so who is logged in decides first.
 */
export function afterRefusal(code, isLoggedIn) {
  const known = [LOGIN_NEEDED, UNKNOWN_CONVERSATION, SHUTTING_DOWN].includes(code);
  if (!known) return "stop";
  if (!isLoggedIn) return "login";
  return code === SHUTTING_DOWN ? "again" : "forget";
}
