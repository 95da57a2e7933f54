// The chat: stays at its end while the reader is there, and never moves otherwise.

import { createEntry, createPending } from "./entry.js";
import { createKeyed } from "./keyed.js";

const END_TOLERANCE_PX = 40;
/** Until a reader of the screen has taken note of what was added silently. */
const QUIET_MS = 500;

export function createChat(root) {
  const [list, entries, waiting, nothing, newest] = ["#talk-list", "#entries", "#pending", ".nothing", "#newest"].map((part) => root.querySelector(part));
  const series = createKeyed(entries, createEntry);
  let following = true;
  let shownPending = null;

  function follow() {
    following = list.scrollHeight - list.scrollTop - list.clientHeight < END_TOLERANCE_PX;
    newest.hidden = following;
  }

  function toEnd() {
    list.scrollTop = list.scrollHeight;
  }

  function drawPending(pending) {
    if (pending === shownPending) return;
    shownPending = pending;
    waiting.replaceChildren(...pending.map(createPending));
  }

  // What is told again after a reload is not read aloud again.
  function hush() {
    list.setAttribute("aria-live", "off");
    setTimeout(() => list.setAttribute("aria-live", "polite"), QUIET_MS);
  }

  list.addEventListener("scroll", follow, { passive: true });
  newest.addEventListener("click", toEnd);
  new ResizeObserver(() => (following ? toEnd() : follow())).observe(list);

  return {
    update({ chat, pending }, isRepeated) {
      if (isRepeated) hush();
      series.update(chat);
      drawPending(pending);
      nothing.hidden = chat.length + pending.length > 0;
      if (following) toEnd();
      else follow();
    },
    /** Who says something wants to see what comes. */
    toEnd() {
      following = true;
      toEnd();
    },
    reset() {
      series.reset();
      shownPending = null;
    },
  };
}
