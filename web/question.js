// One question of an agent or of the chat as a card: what it wants, how risky that is, how long it waits, and three answers.

import { clock } from "./amount.js";
import { createDetails, isShort } from "./details.js";
import { countsOf, createDiff } from "./diff.js";
import { box, button, element, worded } from "./element.js";
import { label, name } from "./language.js";
import { readable } from "./payload.js";
import { CHAT } from "./protocol/aicore.js";
import { verdictKey } from "./questionline.js";
import { actOnSecondPress } from "./twostep.js";

const LEVEL_TEXTS = { INFO: "levelInfo", WARN: "levelWarn", CRITICAL: "levelCritical" };
const KEYS_OF = { allow: "Y", always: "A", refuse: "N" };

/** `actions`: answer({ approved, always }), reveal() shows the pane of whoever asks. `since` is null if nobody knows when it was asked. */
export function createQuestion(body, since, actions) {
  const level = body.level in LEVEL_TEXTS ? body.level : "CRITICAL";
  const left = element("span", "left");
  const answers = createAnswers(level, decide);
  const node = box("li", "question", head(body, level, left, actions), element("p", "wanted", body.tool));
  node.append(...about(body), answers);
  node.dataset.level = level;
  node.dataset.question = body.id;
  node.setAttribute("role", "group");
  name(node, body.agent === CHAT ? "questionOfChat" : "questionLabel", { number: body.agent, tool: body.tool });
  let locked = false;
  const deadline = body.seconds === null ? null : (since ?? Date.now()) + body.seconds * 1000;

  function decide(decision) {
    if (locked) return;
    lock(true);
    actions.answer(decision);
  }

  // Not switched off: that would throw the keyboard back to the top of the page.
  function lock(next) {
    locked = next;
    for (const choice of answers.querySelectorAll("button")) choice.setAttribute("aria-disabled", String(locked));
  }

  function tick() {
    if (deadline === null) return;
    const time = clock((deadline - Date.now()) / 1000);
    label(left, since === null ? "timeAtMost" : "timeLeft", { time });
  }

  tick();
  return {
    node,
    agent: body.agent,
    known: since !== null,
    tick,
    /** The answer did not arrive: it may be given again. */
    unlock: () => lock(false),
    press: (key) => answers.querySelector(`[data-key="${key}"]`)?.click(),
    /** A dangerous question is not allowed by a careless Enter. */
    focus: () => answers.querySelector(level === "CRITICAL" ? ".refuse" : ".allow").focus(),
    settle(verdict) {
      node.dataset.settled = String(verdict.approved);
      answers.replaceChildren(worded("p", "verdict", verdictKey(verdict), { tool: body.tool }));
    },
  };
}

function head(body, level, left, actions) {
  const agent = button("quiet whose", "agent", actions.reveal);
  label(agent, body.agent === CHAT ? "chat" : "agent", { number: body.agent });
  return box("div", "question-head", agent, worded("span", "level", LEVEL_TEXTS[level]), left);
}

function about({ reason, diff, input }) {
  const parts = [];
  if (reason !== "") parts.push(element("p", "reason", reason));
  if (diff !== null) {
    parts.push(createDetails("asked-diff", "questionDiff", countsOf(diff), () => createDiff(diff), isShort(diff)));
  }
  if (input !== "") parts.push(inputOf(readable(input), diff === null));
  return parts;
}

function inputOf(words, alone) {
  const build = () => {
    const content = element("pre", "", words);
    content.tabIndex = 0;
    return content;
  };
  return createDetails("asked-input", "questionInput", {}, build, alone && isShort(words));
}

function createAnswers(level, decide) {
  const decisions = {
    allow: { approved: true, always: false },
    always: { approved: true, always: true },
    refuse: { approved: false, always: false },
  };
  // What is dangerous is asked about every time, so there is no "always" for it.
  const offered = Object.entries(decisions).filter(([, { always }]) => level !== "CRITICAL" || !always);
  const choices = offered.map(([kind, decision]) => {
    const choice = button(kind, kind);
    const risky = level === "CRITICAL" && decision.approved;
    const act = () => decide(risky ? { ...decision, twice: true } : decision);
    if (risky) actOnSecondPress(choice, { key: kind, sureKey: `${kind}Sure`, act });
    else choice.addEventListener("click", act);
    choice.dataset.key = KEYS_OF[kind];
    choice.setAttribute("aria-keyshortcuts", KEYS_OF[kind]);
    return choice;
  });
  return box("div", "answers", ...choices);
}
