// The questions of the chat and of all agents in one place, wherever the reader is on the page.

import { createQuestion } from "./question.js";
import { label } from "./language.js";

/** So long an answered question says what was decided. */
const VERDICT_MS = 2_000;
/** After something moved, a click that was meant for what was there before is not taken. */
const MOVED_MS = 500;
const TICK_MS = 1_000;

/** `actions`: answer(id, decision) to a request number, reveal(agent), waiting(agents), one for each question. */
export function createInbox(root, actions) {
  const list = root.querySelector("ol");
  const fold = root.querySelector(".fold");
  const open = new Map();
  const sent = new Map();
  const idle = new Set();
  let replaying = true;
  let movedTimer = null;
  let cameFrom = null;

  function draw() {
    const waiting = [...open.values()].filter((question) => !isVoid(question));
    for (const question of open.values()) question.node.hidden = isVoid(question);
    root.hidden = waiting.length === 0 && list.querySelector("[data-settled]") === null;
    label(root.querySelector(".inbox-count"), "questions", { count: waiting.length });
    actions.waiting(waiting.map(({ agent }) => agent));
    moved();
  }

  // A question of the history whose agent does nothing was never answered: its run ended with the gateway.
  function isVoid(question) {
    return !question.known && idle.has(question.agent);
  }

  function moved() {
    clearTimeout(movedTimer);
    list.dataset.moved = "true";
    movedTimer = setTimeout(() => delete list.dataset.moved, MOVED_MS);
  }

  function ask(body) {
    if (open.has(body.id)) return;
    const question = createQuestion(body, replaying ? null : Date.now(), {
      answer: (decision) => sent.set(actions.answer(body.id, decision), body.id),
      reveal: () => actions.reveal(body.agent),
    });
    open.set(body.id, question);
    list.append(question.node);
    draw();
  }

  function settle(verdict) {
    const question = open.get(verdict.id);
    if (question === undefined) return;
    const focused = question.node.contains(document.activeElement);
    open.delete(verdict.id);
    for (const [request, id] of sent) id === verdict.id && sent.delete(request);
    if (replaying) question.node.remove();
    else say(question, verdict);
    if (focused) moveOn();
    draw();
  }

  function say(question, verdict) {
    question.settle(verdict);
    setTimeout(() => {
      question.node.remove();
      draw();
    }, VERDICT_MS);
  }

  function moveOn() {
    const next = visible()[0];
    if (next === undefined) leave();
    else next.focus();
  }

  function visible() {
    return [...open.values()].filter((question) => !question.node.hidden);
  }

  function enter() {
    const first = visible()[0];
    if (first === undefined) return;
    if (!root.contains(document.activeElement)) cameFrom = document.activeElement;
    setFolded(false);
    first.focus();
  }

  function leave() {
    if (cameFrom?.isConnected) cameFrom.focus();
    else document.activeElement?.blur();
    cameFrom = null;
  }

  function step(distance) {
    const questions = visible();
    const at = questions.findIndex(({ node }) => node.contains(document.activeElement));
    questions[Math.min(questions.length - 1, Math.max(0, at + distance))]?.focus();
  }

  function setFolded(folded) {
    list.hidden = folded;
    fold.setAttribute("aria-expanded", String(!folded));
  }

  function keyed(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.isComposing) return;
    const question = visible().find(({ node }) => node.contains(event.target));
    const moves = { Escape: leave, ArrowDown: () => step(1), ArrowUp: () => step(-1) };
    // Inside a long text the arrows scroll.
    const scrolls = event.target.matches("pre") && event.key.startsWith("Arrow");
    if (event.key in moves && !scrolls) moves[event.key]();
    else if (/^[yan]$/i.test(event.key)) question?.press(event.key.toUpperCase());
    else return;
    event.preventDefault();
  }

  // The code, not the key: with this modifier some keyboards write other letters. Whoever presses it once more than
  // needed stays here: an answer must not become a letter of some text.
  function summoned(event) {
    if (event.code !== "KeyQ" || !event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    if (!visible().some(({ node }) => node.contains(document.activeElement))) enter();
  }

  fold.addEventListener("click", () => setFolded(!list.hidden));
  root.addEventListener("keydown", keyed);
  document.addEventListener("keydown", summoned);
  setInterval(() => open.forEach((question) => question.tick()), TICK_MS);

  return {
    ask,
    settle,
    /** The gateway did not take an answer: somebody else gave one, or it came too late. */
    refused(request, code) {
      const id = sent.get(request);
      sent.delete(request);
      const question = open.get(id);
      if (question === undefined) return;
      if (code !== "nothing_to_confirm") return question.unlock();
      open.delete(id);
      question.node.remove();
      draw();
    },
    /** What an agent does tells whether an old question still waits. */
    agentState(agent, state) {
      const known = idle.has(agent);
      if (state === "waiting_for_input") idle.add(agent);
      else idle.delete(agent);
      if (known !== idle.has(agent) && open.size > 0) draw();
    },
    /** The history follows, until `live`. */
    clear() {
      replaying = true;
      open.clear();
      sent.clear();
      list.replaceChildren();
      draw();
    },
    live() {
      replaying = false;
    },
  };
}
