// Where this page is: its conversation, its language, and the way to the login and back.

const CONVERSATION_KEY = "kakehashi.smol.conversation";

/** Of this tab only: another tab is another conversation. A browser may forbid to keep anything; then a reload begins anew. */
export function createPlace(page) {
  let conversation = read();
  return {
    page,
    conversation: () => conversation,
    keep(id) {
      conversation = id;
      attempt(() => sessionStorage.setItem(CONVERSATION_KEY, id));
    },
    forget() {
      conversation = null;
      attempt(() => sessionStorage.removeItem(CONVERSATION_KEY));
    },
  };
}

/** Only a clear no counts: a server that does not answer has not logged anybody out. */
export async function isLoggedIn() {
  const answer = await fetch("../api/me").catch(() => null);
  return answer?.status !== 401;
}

/** The login form leads back here; the conversation waits in the tab. */
export function askForLogin() {
  const query = new URLSearchParams(window.location.search);
  query.set("next", "smol");
  window.location.replace(`../login?${query}`);
}

function read() {
  return attempt(() => sessionStorage.getItem(CONVERSATION_KEY)) ?? null;
}

function attempt(action) {
  try {
    return action();
  } catch {
    return null;
  }
}
