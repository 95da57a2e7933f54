// What the page knows, made only from frames: the same frames give the same page, live or after a reload.

import { NO_MAP, applyToMap, emptied, show } from "./map.js";
import { addPending, compare, giveBack, settle } from "./pending.js";
import { addPicture } from "./picture.js";
import { addConfirm, settleConfirm, takeProgress } from "./run.js";
import { addEntry, entryOf } from "./transcript.js";

/** `replaying` while the server repeats what was said before; `returned` is what was not taken. */
export const EMPTY = Object.freeze({
  conversation: null,
  replaying: false,
  next: 1,
  chat: [],
  images: [],
  map: NO_MAP,
  run: null,
  confirms: [],
  pending: [],
  returned: null,
  cancelling: false,
});

/** Besides the server's frames: `local_say`, `local_cancel`, `local_show`. Others change nothing. */
export function apply(state, frame, heardAt = 0) {
  switch (frame.type) {
    case "connected":
      return greeted(state, frame.content);
    case "history_end":
      return { ...compare(state), replaying: false };
    case "user_message":
      return addEntry(state.replaying ? state : settle(state, entryOf(frame).words), entryOf(frame));
    case "text":
    case "code":
      return addEntry(state, entryOf(frame));
    case "error":
      return addEntry(refused(state), entryOf(frame));
    case "image":
      return addPicture(state, frame);
    case "map_definition":
    case "map":
    case "highlight_room":
    case "arrow":
    case "clear_arrows":
    case "clear_map":
      return withMap(state, applyToMap(state.map, frame));
    case "progress":
      return takeProgress(state, frame.content, heardAt);
    case "confirm":
      return addConfirm(state, frame.content);
    case "confirmed":
      return settleConfirm(state, frame.content);
    case "local_say":
      return addPending(state, frame.text);
    case "local_cancel":
      return { ...state, cancelling: isBusy(state) };
    case "local_show":
      return withMap(state, show(state.map, frame.shown));
    default:
      return state;
  }
}

export function isBusy({ run, pending }) {
  return run !== null || pending.length > 0;
}

// The definition comes before the greeting; all else is told again.
function greeted({ map, pending, cancelling }, content) {
  const fresh = { ...EMPTY, map: emptied(map), conversation: content?.conversation ?? null, pending, cancelling };
  return content?.resumed === true ? { ...fresh, replaying: true } : { ...compare(fresh), cancelling: false };
}

// An error while nothing is worked on is about the message that waits longest.
function refused(state) {
  if (state.run !== null || state.replaying) return state;
  const rest = giveBack(state, state.pending.slice(0, 1));
  return { ...rest, cancelling: rest.cancelling && isBusy(rest) };
}

function withMap(state, map) {
  return map === state.map ? state : { ...state, map };
}
