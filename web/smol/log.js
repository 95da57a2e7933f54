// Every frame of the connection as it was, for whoever wants to see what happens: the newest ones, each shortened.

import { addBounded, shorten, wordsOf } from "./words.js";

export const MOST_FRAMES = 300;
const MOST_CHARACTERS = 20_000;
/** Text of one piece, such as a picture's bytes, tells nothing after its beginning. */
const MOST_OF_PIECE = 120;
const PIECE = /^\S*$/;

export const EMPTY_LOG = Object.freeze({ next: 1, frames: [] });

/** `direction` is "in" or "out"; `frame` is null for what could not be read. */
export function addFrame(log, { at, direction, raw, frame }) {
  const entry = {
    key: log.next,
    at,
    direction,
    type: frame === null ? "?" : wordsOf(frame.type ?? Object.keys(frame)[0]).slice(0, 40),
    size: raw.length,
    raw: shorten(raw, MOST_CHARACTERS),
    pretty: frame === null ? shorten(raw, MOST_CHARACTERS) : shorten(JSON.stringify(frame, shortPiece, 2), MOST_CHARACTERS),
  };
  return { next: log.next + 1, frames: addBounded(log.frames, entry, MOST_FRAMES) };
}

export function clearLog(log) {
  return { ...log, frames: [] };
}

/** A frame is an object; everything else is null. */
export function readFrame(raw) {
  try {
    const frame = JSON.parse(raw);
    return frame !== null && typeof frame === "object" && !Array.isArray(frame) ? frame : null;
  } catch {
    return null;
  }
}

function shortPiece(_, value) {
  return typeof value === "string" && value.length > MOST_OF_PIECE && PIECE.test(value) ? shorten(value, MOST_OF_PIECE) : value;
}
