// The part of the AI Core dialect that is about talking: sound in both directions, what of it was heard, and its text.

import { KEYS } from "./keys.js";

/** The model that listens at another rate than all others. */
const WIDE_MODEL = "openai_live";
const RATE = 16_000;
const WIDE_RATE = 24_000;
const DEFAULT_OUTPUT_RATE = 24_000;
/** What the gateway tells about a turn: milliseconds, but for the last two. */
const FIGURES = Object.freeze({
  発話終了からターン終了: "turnEnded",
  ターン終了から初音: "modelBegan",
  初音から送信: "sent",
  送信から再生: "heard",
  割り込みから停止: "stopped",
  途切れ回数: "gaps",
  欠落数: "lost",
});
/** A gateway that says this takes `playback_ack` and `push_to_talk`. */
export const PLAYBACK = "playback";

/** At which rate the session's live model listens; `models` is what the greeting says of it. */
export function listeningRate(models) {
  return models?.LIVE_AI_NAME === WIDE_MODEL ? WIDE_RATE : RATE;
}

export function audio(base64, rate) {
  return { ...about("input_audio", `audio/pcm;rate=${rate}`), [KEYS.fileName]: base64, [KEYS.thumbnail]: null };
}

export function cancelAudio() {
  return { ...about("cancel_audio", null), [KEYS.fileName]: null, [KEYS.thumbnail]: null };
}

/** How much of an answer was heard, in samples of 24 kHz. */
export function playbackAck({ generation, played, leftMs, gaps }) {
  return about("playback_ack", {
    [KEYS.generation]: generation,
    [KEYS.playedSamples]: played,
    [KEYS.leftMs]: leftMs,
    [KEYS.gaps]: gaps,
  });
}

export function pushToTalk(isHeld) {
  return about("push_to_talk", { [KEYS.state]: isHeld ? "start" : "end" });
}

export function readSound(packet) {
  return {
    rate: rateOf(packet[KEYS.body]),
    base64: packet[KEYS.fileName] ?? "",
    generation: numberOf(packet[KEYS.generation]),
  };
}

export function readCancel(packet) {
  return { generation: numberOf(packet[KEYS.generation]) };
}

/** The text of an interrupted answer is what was heard of it. */
export function readSpoken(packet) {
  return { interrupted: packet[KEYS.interrupted] === true, playedMs: numberOf(packet[KEYS.playedMs]) };
}

/** The figures of the last turn as { name, meaning, value }, in the gateway's order; `meaning` is null for new ones. */
export function readFigures(packet) {
  const numbers = Object.entries(packet[KEYS.body] ?? {}).filter(([, value]) => typeof value === "number");
  return { body: { figures: numbers.map(([name, value]) => ({ name, meaning: FIGURES[name] ?? null, value })) } };
}

function about(kind, body) {
  return { [KEYS.channel]: "audio", [KEYS.kind]: kind, [KEYS.body]: body };
}

function rateOf(mime) {
  const match = /rate=(\d+)/.exec(mime ?? "");
  return match === null ? DEFAULT_OUTPUT_RATE : Number(match[1]);
}

function numberOf(value) {
  return Number.isInteger(value) ? value : null;
}
