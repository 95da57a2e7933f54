// What a pane knows about its runs, derived from the packets of its channel and nothing else.

export const IDLE = Object.freeze({ running: false, queue: Object.freeze([]), marked: false, broken: null });

/** A run has come to no good end, and its number is not known yet. */
const UNNAMED = "unnamed";

/** `queue` holds the numbers of the waiting runs, next one first; `broken` the run that was stopped or failed. */
export function advance(state, packet) {
  switch (packet.kind) {
    case "cancel_run":
      return { ...state, broken: UNNAMED };
    case "output_stream":
      return packet.marker === null ? lineSeen(state) : marked(state, packet);
    case "output_text":
      return textSeen(state, packet);
    default:
      return state;
  }
}

export function isBusy(state) {
  return state.running || state.queue.length > 0;
}

/** Answers and the gateway's own words about a run have the same form; what came before tells them apart. */
export function isNotice(state, packet) {
  return isBroken(state, packet) || (packet.run !== null && waits(state, packet));
}

function isBroken(state, packet) {
  return state.broken !== null && (state.broken === UNNAMED || state.broken === packet.run);
}

function waits(state, packet) {
  return packet.place !== null || state.queue.includes(packet.run);
}

// A shortened history may begin in the middle of a run; after a marker a late line must not revive a stopped one.
function lineSeen(state) {
  return state.marked ? state : { ...state, running: true };
}

function marked(state, packet) {
  const broken = packet.marker === "cancelled" || packet.marker === "failed" ? UNNAMED : null;
  if (packet.marker !== "started") return { ...state, running: false, marked: true, broken };
  const started = packet.run ?? state.queue[0];
  return { running: true, marked: true, broken, queue: state.queue.filter((run) => run !== started) };
}

// A text without a run is said by the live model, or by the gateway about nothing in particular.
function textSeen(state, packet) {
  if (packet.run === null) return state.broken === UNNAMED ? { ...state, broken: null } : state;
  return waits(state, packet) ? queueNotice(state, packet) : answered({ ...state, broken: isBroken(state, packet) ? packet.run : null });
}

// A chat has no markers on the wire: its answer is the end of one run and the start of the next.
function answered(state) {
  if (state.marked || !isBusy(state)) return state;
  const [next, ...queue] = state.queue;
  return { ...state, running: next !== undefined, queue };
}

// With a place the run waits, which it does only behind another; without one it waits no more.
function queueNotice(state, packet) {
  const others = state.queue.filter((run) => run !== packet.run);
  if (packet.place === null) return { ...state, queue: others, broken: null };
  return { ...state, running: true, queue: [...others, packet.run].sort((a, b) => a - b) };
}
