// Who answers in the chat, who speaks, and who works where, in this session.

import { box, element, worded } from "./element.js";
import { label, text } from "./language.js";
import { SETTINGS } from "./protocol/aicore.js";
import { createSheet } from "./sheet.js";
import { createWishes } from "./wishes.js";

const LABEL_TEXTS = { chat: "chatModel", live: "liveModel", agent: "agent", place: "placeOf" };
/** What the gateway itself brings has words of the page. */
const OPTION_TEXTS = {
  scripted: "modelScripted",
  builtin: "agentBuiltin",
  analyst: "agentAnalyst",
  auto: "placeAuto",
  worktree: "placeWorktree",
  shared: "placeShared",
};

/** `actions`: offer() and change(id, value) to promises of answers; chosen(settings) is told what holds. */
export function createSettings(dialog, actions) {
  const state = dialog.querySelector(".sheet-state");
  const sheet = createSheet(dialog);
  const fields = new Map(SETTINGS.map((setting) => [setting.id, createField(setting, want)]));
  const wishes = createWishes({ send: change, onDone: load });
  let lastLoad = 0;

  function want(id, value) {
    // An answer that is on its way does not know of this.
    lastLoad += 1;
    fields.get(id).tell("settingSending");
    wishes.add(id, value);
  }

  async function change(id, value) {
    const { ok, message } = await answerOf(actions.change(id, value));
    if (wishes.has(id)) return;
    if (ok) fields.get(id).tell("settingChanged");
    else fields.get(id).refuse(message);
  }

  async function load() {
    const number = (lastLoad += 1);
    const { ok, message, data } = await answerOf(actions.offer());
    if (number !== lastLoad) return;
    dialog.setAttribute("aria-busy", "false");
    label(state, "empty");
    if (!ok) return say(state, message);
    fields.forEach((field) => field.draw(data));
    actions.chosen(data.chosen);
  }

  dialog.querySelector(".settings").append(...[...fields.values()].map((field) => field.node));
  fields.get(SETTINGS[0].id).select.autofocus = true;

  return {
    open() {
      if (sheet.isOpen) return;
      fields.forEach((field) => field.tell("empty"));
      sheet.open();
      dialog.setAttribute("aria-busy", "true");
      label(state, "listing");
      load();
    },
  };
}

async function answerOf(promise) {
  try {
    return await promise;
  } catch (error) {
    return { ok: false, message: text("loginFailed", { reason: error.message }) };
  }
}

// Words of others stay as they are when the language changes.
function say(node, words) {
  delete node.dataset.text;
  node.textContent = words;
}

function createField({ id, part, agent }, want) {
  const select = element("select");
  const outcome = element("span", "outcome");
  const caption = worded("label", "", LABEL_TEXTS[part], { number: agent ?? "" });
  const node = box("div", "setting", caption, select, outcome);
  let shown = "";
  let current = "";
  select.id = caption.htmlFor = `setting-${id}`;
  outcome.setAttribute("role", "status");
  node.dataset.setting = id;
  node.dataset.part = part;
  select.addEventListener("change", () => want(id, select.value));

  return {
    node,
    select,
    tell(key) {
      node.dataset.outcome = "told";
      label(outcome, key);
    },
    /** By the gateway, in its words. */
    refuse(words) {
      node.dataset.outcome = "refused";
      say(outcome, words);
      select.value = current;
    },
    draw({ chosen, options }) {
      current = String(chosen[id] ?? "");
      const choices = withChosen(options[part], current);
      // A list that is open would be closed.
      if (shown !== JSON.stringify(choices)) select.replaceChildren(...choices.map(createOption));
      shown = JSON.stringify(choices);
      if (select.value !== current) select.value = current;
    },
  };
}

/** What is chosen is shown, also when it is not there at the moment. */
export function withChosen(options, value) {
  if (value === "" || options.some((option) => option.value === value)) return options;
  return [...options, { value, label: value, isGone: true }];
}

function createOption({ value, label: words, isGone = false }) {
  const option = element("option", "", words);
  if (isGone) label(option, "modelGone", { name: words });
  else if (Object.hasOwn(OPTION_TEXTS, value)) label(option, OPTION_TEXTS[value]);
  option.value = value;
  return option;
}
