// The work of all agents side by side, to choose the best of it.

import { clock, money, short, signed } from "./amount.js";
import { leftOutNote } from "./changes.js";
import { createChoices } from "./choices.js";
import { createChosen } from "./chosen.js";
import { createDetails } from "./details.js";
import { box, element, worded } from "./element.js";
import { label } from "./language.js";
import { createSheet } from "./sheet.js";

const OUTCOME_TEXTS = {
  finished: "outcomeFinished",
  cancelled: "outcomeCancelled",
  failed: "outcomeFailed",
  interrupted: "outcomeInterrupted",
};

/** `actions` as for choices, compare(check) to a request number, and saw(agent, version). */
export function createCompare(dialog, actions) {
  const table = dialog.querySelector("tbody");
  const news = dialog.querySelector(".sheet-news");
  const again = dialog.querySelector(".again");
  const sheet = createSheet(dialog);
  const checks = new Map();
  let request = null;

  // A check takes long; what it said holds as long as the agent's work is that of the same run.
  function withCheck(row) {
    if (row.check !== null) checks.set(row.agent, { run: row.run, check: row.check });
    const kept = checks.get(row.agent);
    return kept?.run === row.run ? { ...row, check: kept.check } : row;
  }

  function ask(check) {
    request = actions.compare(check);
    busy(check ? "comparingChecked" : "comparing");
  }

  // The buttons stay as they are: one that is switched off would lose the focus.
  function busy(key) {
    dialog.setAttribute("aria-busy", String(key !== "empty"));
    label(dialog.querySelector(".sheet-state"), key);
  }

  function draw(rows) {
    const focused = table.contains(document.activeElement);
    table.replaceChildren(...rows.map((row) => createRow(withCheck(row), actions)));
    if (focused) again.focus();
  }

  again.addEventListener("click", () => ask(false));
  dialog.querySelector(".check").addEventListener("click", () => ask(true));

  return {
    open() {
      news.replaceChildren();
      sheet.open();
      ask(false);
    },
    receive({ body }) {
      if (!sheet.isOpen) return;
      request = null;
      busy("empty");
      body.rows.forEach((row) => actions.saw(row.agent, row.version));
      draw(body.rows);
    },
    /** The gateway cannot compare. */
    refused(refused) {
      if (refused === request) busy("empty");
    },
    /** Something became of somebody's work, so the figures are no longer true. */
    chosen(packet) {
      if (packet.kind !== "accept") checks.delete(packet.channel);
      if (!sheet.isOpen) return;
      const number = packet.channel;
      news.replaceChildren(worded("span", "whose", "agent", { number }), createChosen(packet, actions));
      if (packet.body.outcome === "done") ask(false);
    },
  };
}

function createRow(row, actions) {
  const node = element("tr");
  node.dataset.agent = row.agent;
  const cells = row.reason === null ? figures(row) : [reasonCell(row.reason)];
  // What is in the project already can be neither accepted nor discarded.
  const choosable = row.reason === null && row.fileCount > 0 && row.place !== "shared";
  const choices = choosable ? createChoices(row.agent, actions) : null;
  node.append(whose(row), ...cells, cell("", choices));
  return node;
}

function whose({ agent, name, outcome, run }) {
  const head = box("th", "", worded("span", "", "agent", { number: agent }), element("span", "note", name));
  head.scope = "row";
  const key = OUTCOME_TEXTS[outcome] ?? (run === null ? "outcomeNone" : "outcomeRunning");
  head.append(worded("span", "note", key));
  return head;
}

function reasonCell(reason) {
  const node = cell("", element("span", "note", reason));
  node.colSpan = 7;
  return node;
}

function figures(row) {
  return [
    cell("files", box("div", "", element("span", "", String(row.fileCount)), leftOutNote(row.leftOut))),
    cell("changedLines", element("span", "lines-changed", signed(row.added, row.removed))),
    cell("time", element("span", "", row.seconds === null ? "\u2013" : clock(row.seconds))),
    cell("tokensHead", element("span", "", row.tokens === null ? "\u2013" : short(row.tokens))),
    cell("cost", element("span", "", row.cost === null ? "\u2013" : money(row.cost))),
    cell("check", checkOf(row.check)),
    cell("overlaps", overlapsOf(row.overlaps)),
  ];
}

// On a narrow screen a row becomes a card, and every figure needs its name beside it.
function cell(key, content) {
  const node = box("td", "", content);
  if (key !== "") node.prepend(worded("span", "cell-name", key));
  return node;
}

function checkOf(check) {
  if (check === null) return element("span", "", "\u2013");
  const passed = check.code === 0;
  const key = check.code === null ? "checkUnfinished" : passed ? "checkPassed" : "checkFailed";
  const output = () => element("pre", "", check.output);
  const node = createDetails("check-result", key, { code: check.code ?? "" }, output, false);
  node.dataset.passed = String(passed);
  node.title = check.output.slice(-600);
  return node;
}

function overlapsOf(overlaps) {
  if (overlaps.length === 0) return element("span", "", "\u2013");
  const build = () => {
    const rows = overlaps.map(({ path, agents }) =>
      box("li", "", element("span", "path", path), worded("span", "badge warn", "overlap", { agents: agents.join(", ") })),
    );
    return box("ul", "", ...rows);
  };
  return createDetails("overlap-list", "overlapCount", { count: overlaps.length }, build, false);
}
