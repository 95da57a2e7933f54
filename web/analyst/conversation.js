// All questions in their order. The page stays at the end while the reader is there, and never moves otherwise.

import { label } from "../language.js";
import { box, element } from "../element.js";
import { createSeries } from "./slot.js";
import { createAsked, createTurnView } from "./turnview.js";

const END_TOLERANCE_PX = 48;

/** The first of `scrollers` that can scroll does: which one it is depends on the width of the window. */
export function createConversation({ turns, latest, scrollers }, context) {
  const list = element("div", "turn-list");
  const waiting = element("div", "pending");
  const series = createSeries(list, (turn) => createTurnView(turn, context));
  turns.append(list, waiting);
  let following = true;
  let reports = 0;
  let shownPending = null;

  function scroller() {
    return scrollers.find((node) => getComputedStyle(node).overflowY === "auto") ?? scrollers[0];
  }

  function distance() {
    const { scrollHeight, scrollTop, clientHeight } = scroller();
    return scrollHeight - scrollTop - clientHeight;
  }

  function follow() {
    following = distance() < END_TOLERANCE_PX;
    latest.hidden = following;
  }

  function toEnd() {
    scroller().scrollTop = scroller().scrollHeight;
  }

  function drawPending(pending) {
    if (pending === shownPending) return;
    shownPending = pending;
    waiting.replaceChildren(...pending.map(({ text }) => createPending(text)));
  }

  // A report is read from its beginning.
  function move(count) {
    const isNew = count > reports;
    reports = count;
    if (!following) return follow();
    const report = isNew ? series.views.at(-1).node.querySelector(".report") : null;
    if (report === null) return toEnd();
    report.scrollIntoView({ block: "start" });
    follow();
  }

  for (const node of scrollers) node.addEventListener("scroll", follow, { passive: true });
  latest.addEventListener("click", toEnd);

  return {
    update(state) {
      series.update(state.turns);
      drawPending(state.pending);
      move(state.turns.filter((turn) => turn.report !== null).length);
    },
    /** Who asks wants to see what comes. */
    toEnd() {
      following = true;
      toEnd();
    },
  };
}

function createPending(words) {
  return box("div", "turn", createAsked(words), label(element("p", "end"), "sending"));
}
