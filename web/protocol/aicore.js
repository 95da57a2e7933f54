// Owns the words of the AI Core dialect: builds packets for the gateway and turns its frames into neutral objects.
// Only this folder may know a wire key; it knows nothing of sockets or of the page.

import * as agents from "./agents.js";
import { KEYS } from "./keys.js";
import * as voice from "./voice.js";

export { AGENTS, accept, answer, compare, discard, listBackups, restore, restoreBackup, showDiff } from "./agents.js";
export { CHANGE_PATH, OFFER_PATH, SETTINGS, changeBody, offerBody, readOffer } from "./settings.js";
export { PLAYBACK, audio, cancelAudio, listeningRate, playbackAck, pushToTalk } from "./voice.js";
export { KEYS };

export const SOCKET_PATH = "/core/ws/AIコア";
export const SESSION_PARAMETER = "セッションID";
export const LOGIN_PATH = "/core/auth/ログイン";
export const LOGOUT_PATH = "/core/auth/ログアウト";
/** Who logs in where the gateway has no users; the password is its token. */
export const LOCAL_USER = "local";
export const LOGIN_FAILED = "LOGIN_FAILED";
/** The close code that asks for a login. */
export const LOGGED_OUT = 3506;
/** In the order of connecting: `input` first, because its greeting names the session for the others. */
export const SOCKETS = Object.freeze(["input", "audio", "file", "0", "1", "2", "3", "4"]);
export const CHAT = "0";

const CONTROLS = Object.freeze({
  microphone: "マイク",
  speaker: "スピーカー",
  files: "ファイル",
  chat: "チャット",
  camera: "カメラ",
  agent1: "エージェント1",
  agent2: "エージェント2",
  agent3: "エージェント3",
  agent4: "エージェント4",
  log: "ログ",
  mode: "チャットモード",
});

const MARKERS = Object.freeze({
  "<<< 処理開始 >>>": "started",
  "<<< 処理終了 >>>": "finished",
  "<<< 処理中断 >>>": "cancelled",
  "!": "failed",
});

const PLAIN_KINDS = new Set([
  "welcome_info",
  "welcome_text",
  "streaming_started",
  "input_text",
  "input_request",
  "input_file",
  "output_text",
  "output_request",
  "output_file",
  "recognition_input",
  "cancel_run",
  "system_info",
]);

/** What this page can show besides texts. */
const FEATURES = Object.freeze(["resume", "ack", "history", "view", "system", "stream", "confirm", "agents", voice.PLAYBACK]);

export function connect({ session, socket, language, epoch, lastSeq, historyLimit, view }) {
  const packet = {
    type: "connect",
    [KEYS.session]: session ?? null,
    [KEYS.socket]: socket,
    [KEYS.language]: language,
    [KEYS.historyLimit]: historyLimit,
    [KEYS.view]: view,
    [KEYS.features]: FEATURES,
  };
  if (epoch !== null) {
    packet[KEYS.epoch] = epoch;
    packet[KEYS.lastSeq] = lastSeq;
  }
  return packet;
}

export function operations(controls) {
  const known = Object.entries(controls).filter(([name]) => name in CONTROLS);
  const named = Object.fromEntries(known.map(([name, value]) => [CONTROLS[name], value]));
  return { ...addressed(null, "operations"), [KEYS.body]: { [KEYS.controls]: named } };
}

export function chatText(mode, text) {
  return { ...inputText(CHAT, text), [KEYS.mode]: mode[0].toUpperCase() + mode.slice(1) };
}

export function agentText(channel, text) {
  return inputText(channel, text);
}

/** One request to each of these agents, told in the chat. */
export function agentsText(channels, text) {
  return { ...inputText("input", text), [KEYS.target]: channels.join(",") };
}

/** Reaches the live model without being shown in any pane. */
export function silentText(text) {
  return inputText("input", text);
}

export function agentRequest(channel, text) {
  return { ...addressed(channel, "input_request"), [KEYS.target]: channel, [KEYS.body]: text };
}

export function file(channel, name, base64) {
  return {
    ...addressed(channel, "input_file"),
    [KEYS.target]: channel,
    [KEYS.body]: base64,
    [KEYS.fileName]: name,
    [KEYS.thumbnail]: null,
  };
}

export function image(mime, base64) {
  return {
    ...addressed("input", "input_image"),
    [KEYS.target]: CHAT,
    [KEYS.body]: mime,
    [KEYS.fileName]: base64,
    [KEYS.thumbnail]: null,
  };
}

/** `run` is a run's number, "all", or null for whatever runs at this moment. */
export function cancelRun(channel, run = null) {
  const packet = { ...addressed(channel, "cancel_run"), [KEYS.body]: "" };
  return run === null ? packet : { ...packet, [KEYS.run]: run };
}

export function listBackup() {
  return { ...addressed("file", "files_backup"), [KEYS.body]: "" };
}

export function listTemp() {
  return { ...addressed("file", "files_temp"), [KEYS.body]: "" };
}

/** The session is stamped here, because a packet may be made before its session has a name. */
export function encode(packet, { session, request = null }) {
  const stamped = { [KEYS.session]: session, ...packet };
  return JSON.stringify(request === null ? stamped : { ...stamped, [KEYS.request]: request });
}

/** Never throws: what cannot be understood comes back as kind "invalid" or "unknown". */
export function decode(text, socket) {
  const packet = parseObject(text);
  if (packet === null) return { kind: "invalid", channel: socket, seq: null, body: text };
  return { ...common(packet, socket), ...special(packet) };
}

function inputText(channel, text) {
  return { ...addressed(channel, "input_text"), [KEYS.body]: text };
}

function addressed(channel, kind) {
  return { [KEYS.channel]: channel, [KEYS.kind]: kind };
}

function parseObject(text) {
  try {
    const value = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

function common(packet, socket) {
  return {
    kind: packet[KEYS.kind],
    channel: packet[KEYS.channel] ?? socket,
    session: packet[KEYS.session] ?? null,
    seq: Number.isInteger(packet[KEYS.seq]) ? packet[KEYS.seq] : null,
    run: packet[KEYS.run] ?? null,
    place: packet[KEYS.place] ?? null,
    request: packet[KEYS.request] ?? null,
    body: packet[KEYS.body] ?? "",
    fileName: packet[KEYS.fileName] ?? null,
    thumbnail: packet[KEYS.thumbnail] ?? null,
  };
}

function special(packet) {
  const body = packet[KEYS.body];
  switch (packet[KEYS.kind]) {
    case "init":
      return greeting(packet);
    case "ack":
      return { repeated: packet[KEYS.repeated] === true };
    case "error":
      return { code: packet[KEYS.code] ?? null, body: String(body ?? "") };
    case "heartbeat":
      return { body: { count: body?.[KEYS.count] ?? 0, time: body?.[KEYS.time] ?? 0 } };
    case "output_stream":
      // A piece of an answer may look like a mark, but only marks are numbered.
      return { marker: Number.isInteger(packet[KEYS.seq]) ? (MARKERS[body] ?? null) : null };
    case "output_audio":
      return voice.readSound(packet);
    case "cancel_audio":
      return voice.readCancel(packet);
    case "recognition_output":
      return voice.readSpoken(packet);
    case "metrics":
      return voice.readFigures(packet);
    case "output_request":
      return { agent: packet[KEYS.source] ?? null };
    case "update_info":
      return { body: { files: strings(body?.update_files), agent: body?.[KEYS.channel] ?? null } };
    case "files_backup":
      return { unchanged: isUnchanged(body), body: backupList(body) };
    case "files_temp":
      return {
        unchanged: isUnchanged(body),
        body: { newest: body?.[KEYS.newestTemp] ?? null, files: listed(body) },
      };
    default:
      return other(packet[KEYS.kind], body);
  }
}

function other(kind, body) {
  if (PLAIN_KINDS.has(kind)) return {};
  const read = agents.reader(kind);
  return read === null ? { kind: "unknown", name: String(kind) } : { body: read(isObject(body) ? body : {}) };
}

function greeting(packet) {
  const body = packet[KEYS.body] ?? {};
  return {
    epoch: packet[KEYS.epoch] ?? null,
    resumed: packet[KEYS.resumed] === true,
    features: strings(packet[KEYS.features]),
    body: { controls: controlsOf(body[KEYS.controls]), models: body[KEYS.models] ?? null },
  };
}

function controlsOf(named) {
  if (!isObject(named)) return null;
  const known = Object.entries(CONTROLS).filter(([, key]) => key in named);
  return Object.fromEntries(known.map(([name, key]) => [name, named[key]]));
}

// Another client of this session said what it has; this page draws what it has been shown.
function isUnchanged(body) {
  return body?.[KEYS.unchanged] === true;
}

function backupList(body) {
  return {
    projectPath: body?.[KEYS.projectPath] ?? "",
    backupPath: body?.[KEYS.backupPath] ?? "",
    newest: body?.[KEYS.lastBackup] ?? null,
    files: listed(body),
  };
}

function listed(body) {
  const files = body?.[KEYS.files];
  if (!Array.isArray(files)) return [];
  return files.map((entry) => ({ path: entry[KEYS.path] ?? "", modified: entry[KEYS.modified] ?? "" }));
}

function strings(value) {
  return Array.isArray(value) ? value.map(String) : [];
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function loginBody(name, password) {
  return JSON.stringify({ 利用者ID: name, パスワード: password });
}

/** HTTP answers are envelopes; one without a status is about a malformed request. */
export function readEnvelope(answer) {
  const message = answer.message ?? JSON.stringify(answer.detail);
  return { ok: answer.status === "OK", code: answer.error?.code, message, data: answer.data };
}
