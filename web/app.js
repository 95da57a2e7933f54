// Wires the page: which packet goes to which part, and which part sends what.

import { keepLanguage, keepSession, readAddress, withoutSession } from "./address.js";
import { ask } from "./ask.js";
import { createBackups } from "./backups.js";
import { createBranch } from "./branch.js";
import { PICTURE_MIME } from "./camera.js";
import { createChatWork } from "./chatwork.js";
import { createCompare } from "./compare.js";
import { createCounters } from "./counters.js";
import { createDiffView } from "./diffview.js";
import { createEntry, createLogEntry, lineCount } from "./entry.js";
import { createFiles } from "./files.js";
import { createInbox } from "./inbox.js";
import { chooseLanguage, otherLanguage, setLanguage, text } from "./language.js";
import { createLiveView } from "./liveview.js";
import { troubleKey } from "./microphone.js";
import { createPane } from "./pane.js";
import * as aicore from "./protocol/aicore.js";
import { verdictKey } from "./questionline.js";
import { agentsIn, createRecipients } from "./recipients.js";
import { createSeen } from "./seen.js";
import { openSession } from "./session.js";
import { createSettings } from "./settings.js";
import { createStatus } from "./status.js";
import { createSwitches } from "./switches.js";
import { createToasts } from "./toasts.js";
import { createTranscript } from "./transcript.js";
import { FILE_LIMIT_MIB, isTooLarge, readBase64 } from "./upload.js";
import { createVoiceBar } from "./voicebar.js";
import { createWork } from "./work.js";

const find = (selector) => document.querySelector(selector);
const address = readAddress(window.location);
const counters = createCounters();
const FILE_CHANGES = new Set(["input_file", "output_file", "update_info", "accept", "restore"]);
const CHOSEN = new Set(["accept", "discard", "restore"]);
const SPOKEN = new Set(["recognition_input", "recognition_output"]);
const TITLE = document.title;
const seen = createSeen();
/** What can be done with an agent's work, wherever it is shown. */
const choices = {
  diff: (agent) => diffView.open(agent),
  accept: (agent) => session.send(aicore.accept(agent, null, seen.of(agent))),
  branch: (agent) => branch.open(agent),
  discard: (agent) => session.send(aicore.discard(agent)),
  restore: (agent, run) => session.send(aicore.restore(agent, run)),
  // The project's own backups are brought back on any agent's channel.
  restoreBackup: (agent, name) => session.send(aicore.restoreBackup(agent ?? aicore.AGENTS[0], name)),
};

buildAgentPanes();
setLanguage(chooseLanguage(address.language, navigator.language));
document.body.classList.toggle("viewing", address.view);
find("#view-only").hidden = !address.view;

const toasts = createToasts(find("#toasts"));
const status = createStatus({
  list: find("#dots"),
  age: find("#heartbeat"),
  offline: find("#offline"),
  unsent: find("#unsent"),
});
const log = createTranscript(find("#log .transcript"));
const inbox = createInbox(find("#inbox"), {
  answer: (id, decision) => session.send(aicore.answer(id, decision)),
  reveal,
  waiting: (agents) => {
    document.title = agents.length === 0 ? TITLE : `(${agents.length}) ${TITLE}`;
    panes.get(aicore.CHAT).setAsks(agents.includes(aicore.CHAT));
  },
});
const compare = createCompare(find("#compare"), {
  ...choices,
  compare: (check) => session.send(aicore.compare(aicore.AGENTS, check), "compare"),
  saw: seen.note,
});
const backups = createBackups(find("#backups"), {
  ...choices,
  backups: () => session.send(aicore.listBackups(), "backups"),
});
const diffView = createDiffView(find("#diff"), {
  ask: (agent, path) => session.send(aicore.showDiff(agent, path), "diff"),
  saw: seen.note,
});
const settings = createSettings(find("#settings"), {
  offer: askOffer,
  change: (id, value) => ask(aicore.CHANGE_PATH, aicore.changeBody(session.id, id, value)),
  chosen: (models) => voice.configure(models),
});
const branch = createBranch(find("#branch"), (agent, chosen) =>
  session.send(aicore.accept(agent, chosen, seen.of(agent))),
);
const recipients = createRecipients(find("#mode"), find("#some-agents"), (mode) => switches.setByUser("mode", mode));
const panes = new Map([aicore.CHAT, ...aicore.AGENTS].map((channel) => [channel, openPane(channel)]));
const files = createFiles(find("#files"), { ask: askFiles, counters });
const voice = createVoiceBar(document, {
  counters,
  claim: () => session.claimVoice(),
  speak: (packet) => session.speak(packet),
  onFailed: microphoneFailed,
  onBlocked: (key) => toasts.show(text(key)),
});
createLiveView(find("#camera"), {
  sendPicture: async (blob) => {
    const request = session.send(aicore.image(PICTURE_MIME, await readBase64(blob)));
    if (request !== null) toasts.show(text("pictureSent"));
  },
  sendText: (words) => session.send(aicore.silentText(words)),
  failed: (error) => toasts.show(text("cameraFailed", { reason: reasonOf(error) }), "error"),
});
const switches = createSwitches(document, {
  onChange: applySwitch,
  onUser: (values) => session.send(aicore.operations(values), "operations"),
});
const session = openSession({
  origin: window.location.origin,
  id: address.session,
  language: document.documentElement.lang,
  view: address.view,
  counters,
  listeners: {
    onPacket: route,
    onReset: (channel) => (channel === "input" ? inbox.clear() : panes.get(channel)?.clear()),
    onState: connectionChanged,
    onSession: showSession,
    onUnsent: status.setUnsent,
    onTooBig: () => toasts.show(text("refusedFrame"), "error"),
    onRefused: showRefusal,
  },
});

switches.drawAll();
if (address.session !== null) showSession(address.session);
wireHeader();
exposeCounters();

function buildAgentPanes() {
  const template = find("#agent-pane");
  for (const number of aicore.AGENTS) {
    const pane = template.content.cloneNode(true);
    pane.firstElementChild.id = `agent${number}`;
    for (const element of pane.querySelectorAll("[data-numbered]")) {
      element.dataset.values = JSON.stringify({ number });
    }
    find("#agents").append(pane);
  }
}

function openPane(channel) {
  const root = channel === aicore.CHAT ? find("#chat") : find(`#agent${channel}`);
  const actions = {
    send: (words) => (channel === aicore.CHAT ? sendChat(pane, words) : sendToAgent(root, channel, words)),
    upload: (chosen) => chosen.forEach((file) => upload(channel, file)),
    cancel: (run) => session.send(aicore.cancelRun(channel, run)),
  };
  const agentWork = (transcript) => createWork(root, channel, transcript, choices);
  const pane = createPane(root, actions, channel === aicore.CHAT ? createChatWork : agentWork);
  return pane;
}

function sendChat(pane, words) {
  const mode = recipients.mode();
  const agents = agentsIn(mode);
  if (agents !== null) return sendToSome(agents, words);
  const request = session.send(aicore.chatText(mode, words));
  if (mode === "chat") pane.awaitAnswer(request);
  return request;
}

function sendToSome(agents, words) {
  if (agents.length > 0) return session.send(aicore.agentsText(agents, words));
  toasts.show(text("nobodyChosen"), "error");
  return undefined;
}

function sendToAgent(root, channel, words) {
  const asRequest = root.querySelector(".tell-chat").checked;
  return session.send(asRequest ? aicore.agentRequest(channel, words) : aicore.agentText(channel, words));
}

async function upload(channel, file) {
  const { name } = file;
  if (isTooLarge(file)) return toasts.show(text("tooLarge", { name, limit: FILE_LIMIT_MIB }), "error");
  try {
    session.send(aicore.file(channel, name, await readBase64(file)));
  } catch {
    toasts.show(text("unreadable", { name }), "error");
  }
}

function askFiles(kind) {
  session.ask(kind === "files_backup" ? aicore.listBackup() : aicore.listTemp());
}

async function askOffer() {
  const answer = await ask(aicore.OFFER_PATH, aicore.offerBody(session.id));
  return { ...answer, data: answer.ok ? aicore.readOffer(answer.data) : null };
}

function route(packet, socket) {
  switch (packet.kind) {
    case "init":
      return greeted(packet, socket);
    case "heartbeat":
      return status.beat();
    case "output_audio":
      return voice.play(packet);
    case "cancel_audio":
      return voice.cancelled(packet);
    case "metrics":
      return voice.setFigures(packet.body.figures);
    case "files_backup":
    case "files_temp":
      return files.receive(packet);
    case "compare":
      return compare.receive(packet);
    case "diff":
      return diffView.receive(packet);
    case "backups":
      return backups.receive(packet);
    case "error":
      return failed(packet);
    case "system_info":
      return announce(packet.body, socket);
    case "unknown":
    case "invalid":
      return logLine("error", text("unknownPacket", { name: packet.name ?? packet.body }));
    default:
      return show(packet, socket);
  }
}

function connectionChanged(socket, state) {
  status.setState(socket, state);
  if (socket === "audio" && state !== "ready") voice.disconnected();
}

function greeted(packet, socket) {
  if (packet.body.controls !== null) switches.restore(packet.body.controls);
  if (packet.body.models !== null) voice.configure(packet.body.models);
  if (socket === "audio") voice.greeted(packet);
  if (socket === "file") files.refresh();
}

function failed({ code, body, request }) {
  if (request !== null) refuse(request, code);
  toasts.show(body, "error");
  logLine("error", body);
  // Every further chunk would be refused as well.
  if (code === "not_holder" && switches.get("microphone")) switches.setByUser("microphone", false);
}

function refuse(request, code) {
  panes.forEach((pane) => pane.refused(request));
  inbox.refused(request, code);
  compare.refused(request);
  diffView.refused(request);
  backups.refused(request);
}

// Every socket brings the same words of the operator; one toast is enough.
function announce(words, socket) {
  if (socket !== "input") return;
  toasts.show(words, "notice");
  logLine("system", words);
}

function show(packet, socket) {
  if (FILE_CHANGES.has(packet.kind)) files.refreshSoon();
  if (CHOSEN.has(packet.kind)) [compare, backups].forEach((sheet) => sheet.chosen(packet));
  if (CHOSEN.has(packet.kind) && packet.body.outcome === "done") seen.forget(packet.channel);
  if (packet.kind === "result") seen.note(packet.channel, packet.body.version);
  if (packet.kind === "state") inbox.agentState(socket, packet.body.state);
  if (SPOKEN.has(packet.kind)) voice.caption(packet);
  const pane = panes.get(socket);
  if (pane !== undefined) return pane.receive(packet);
  showElsewhere(packet);
}

// What comes on `input` belongs to no pane.
function showElsewhere(packet) {
  if (packet.kind === "confirm_request") return asked(packet.body);
  if (packet.kind === "confirm_result") return decided(packet.body);
  if (packet.kind === "welcome_text") inbox.live();
  // What the gateway tells the live model was not typed by anybody here.
  if (packet.kind === "input_text") return logLine("toLive", packet.body);
  const entry = createEntry(packet);
  if (entry !== null) log.append(entry, lineCount(packet));
}

function asked(body) {
  inbox.ask(body);
  const key = body.agent === aicore.CHAT ? "chatAsksPermission" : "asksPermission";
  logLine("system", text(key, { agent: body.agent, tool: body.tool }));
}

function decided(body) {
  inbox.settle(body);
  const verdict = text(verdictKey(body), { tool: "" });
  const key = body.agent === aicore.CHAT ? "chatDecided" : "decided";
  logLine("system", text(key, { agent: body.agent, verdict }));
}

function logLine(heading, words) {
  log.append(createLogEntry(heading, words), words.split("\n").length);
}

function applySwitch(name, value) {
  if (name === "microphone") return voice.setMicrophone(value);
  if (name === "speaker") return voice.setSpeaker(value);
  if (name === "mode") return recipients.show(value);
  find(`#${name}`).hidden = !value;
  if (name === "files" && value && session !== undefined) files.refresh();
}

function reveal(agent) {
  const name = agent === aicore.CHAT ? "chat" : `agent${agent}`;
  if (!switches.get(name)) switches.setByUser(name, true);
  find(`#${name}`).scrollIntoView({ block: "nearest" });
  panes.get(agent).focus();
}

function microphoneFailed(error) {
  toasts.show(text(troubleKey(error, window.isSecureContext), { reason: error.message }), "error");
  if (switches.get("microphone")) switches.setByUser("microphone", false);
}

// Without a secure origin the browser hides the devices, and the raw message would only name a property.
function reasonOf(error) {
  return window.isSecureContext ? error.message : text("insecure");
}

function showSession(id) {
  keepSession(id);
  find("#session-id").textContent = id;
}

function showRefusal(code, reason) {
  if (code === aicore.LOGGED_OUT) return askForLogin();
  find("#refusal-text").textContent = text("refused", { code, reason });
  find("#refusal").hidden = false;
}

// The form leads back to the same session.
function askForLogin() {
  window.location.replace(`/login${window.location.search}`);
}

async function logOut() {
  await fetch(aicore.LOGOUT_PATH, { method: "POST" }).catch(() => null);
  askForLogin();
}

function wireHeader() {
  find("#logout").addEventListener("click", logOut);
  find("#compare-open").addEventListener("click", compare.open);
  find("#backups-open").addEventListener("click", backups.open);
  find("#settings-open").addEventListener("click", settings.open);
  find("#hush").addEventListener("click", voice.hush);
  find("#copy").addEventListener("click", copySession);
  find("#language").addEventListener("click", changeLanguage);
  for (const button of document.querySelectorAll(".new-session")) {
    button.addEventListener("click", () => window.location.assign(withoutSession()));
  }
  window.addEventListener("online", session.hurry);
  document.addEventListener("visibilitychange", () => !document.hidden && session.hurry());
  for (const gesture of ["pointerdown", "keydown"]) document.addEventListener(gesture, voice.unlock);
  preventStrayDrops();
}

// A file dropped beside a pane would otherwise replace the page.
function preventStrayDrops() {
  for (const kind of ["dragover", "drop"]) window.addEventListener(kind, (event) => event.preventDefault());
}

async function copySession() {
  try {
    await navigator.clipboard.writeText(session.id ?? "");
    toasts.show(text("copied"));
  } catch {
    getSelection().selectAllChildren(find("#session-id"));
  }
}

function changeLanguage() {
  const language = otherLanguage();
  setLanguage(language);
  keepLanguage(language);
  session.speakLanguage(language);
}

function exposeCounters() {
  const readers = Object.keys(counters).map((name) => [name, { get: () => counters[name], enumerable: true }]);
  window.kakehashi = Object.freeze(Object.create(null, Object.fromEntries(readers)));
}
