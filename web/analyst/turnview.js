// One question on the page, with everything that became of it.

import { box, button, element, worded } from "../element.js";
import { label, name as nameElement, text } from "../language.js";
import { durationOf } from "./duration.js";
import { createMarkdown } from "./markdownview.js";
import { createReport } from "./report.js";
import { createSeries, createSlot } from "./slot.js";
import { createStep } from "./step.js";

const OUTCOMES = { finished: "outcomeFinished", failed: "outcomeFailed", cancelled: "outcomeCancelled" };

const UNEXPLAINED = {};

/** `context` is that of the report. */
export function createTurnView(first, context) {
  if (first.kind === "message") return createMessage(first);
  const asked = first.text === null ? null : createAsked(first.text);
  const list = element("ol", "steps");
  const steps = createSeries(list, (step) => createStep(step, context));
  const title = element("summary");
  const work = box("details", "work", title, list);
  // What is going on is open; what was done before a reload is there for who wants it.
  work.open = first.outcome === null;
  const report = createSlot("", (value) => createReport(value, context));
  const messages = createSeries(element("div", "messages"), createAnswer);
  const question = createSlot("", (words) => createQuestion(words, context.ask));
  const trouble = createSlot("", ({ message = null }) =>
    message === null ? worded("p", "turn-trouble", "failedHint") : element("p", "turn-trouble", message),
  );
  const end = createSlot("", ({ outcome, elapsedMs }) => createEnd(outcome, elapsedMs));
  const node = box("article", "turn", asked, work, messages.node, report.node, trouble.node, question.node, end.node);
  let ended = null;

  return {
    node,
    update(turn) {
      steps.update(turn.steps);
      work.hidden = turn.steps.length === 0;
      label(title, "stepsCount", { count: turn.steps.filter((step) => step.code !== null).length || turn.steps.length });
      messages.update(turn.messages);
      messages.node.hidden = turn.messages.length === 0;
      report.update(turn.report);
      trouble.update(turn.trouble ?? (isUnexplained(turn) ? UNEXPLAINED : null));
      question.update(turn.question);
      if (turn.outcome !== null && ended?.outcome !== turn.outcome) ended = turn;
      end.update(ended);
      node.dataset.outcome = turn.outcome ?? "";
    },
  };
}

function isUnexplained({ outcome, report, trouble }) {
  return outcome === "failed" && report === null && trouble === null;
}

export function createAsked(words) {
  return box("div", "asked", worded("span", "unseen", "you"), element("p", "", words));
}

function createMessage({ text: words }) {
  const node = box("article", "turn", element("p", "elsewhere", words));
  return { node, update() {} };
}

function createAnswer(words) {
  return { node: createMarkdown(words), update() {} };
}

function createQuestion(words, ask) {
  const yes = button("yes", "yes", () => ask(text("yes")));
  nameElement(yes, "yesLabel");
  return box("div", "question", box("p", "question-head", worded("span", "", "analystAsks")), element("p", "question-words", words), yes);
}

function createEnd(outcome, elapsedMs) {
  const key = OUTCOMES[outcome] ?? OUTCOMES.finished;
  return elapsedMs === null ? element("p", "end") : worded("p", `end ${outcome}`, key, { time: durationOf(elapsedMs) });
}
