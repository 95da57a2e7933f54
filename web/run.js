// What a pane knows about its runs, derived from the packets of its channel and nothing else.

export const IDLE = Object.freeze({ running: false, queue: Object.freeze([]), marked: false });

/** `queue` holds the numbers of the waiting runs, next one first. */
export function advance(state, packet) {
  switch (packet.kind) {
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

// A shortened history may begin in the middle of a run; after a marker a late line must not revive a stopped one.
function lineSeen(state) {
  return state.marked ? state : { ...state, running: true };
}

function marked(state, packet) {
  if (packet.marker !== "started") return { ...state, running: false, marked: true };
  const started = packet.run ?? state.queue[0];
  return { running: true, marked: true, queue: state.queue.filter((run) => run !== started) };
}

// A text without a run is said by the live model, or by the gateway about nothing in particular.
function textSeen(state, packet) {
  if (packet.run === null) return state;
  const waits = packet.place !== null || state.queue.includes(packet.run);
  return waits ? queueNotice(state, packet) : answered(state);
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
  if (packet.place === null) return { ...state, queue: others };
  return { ...state, running: true, queue: [...others, packet.run].sort((a, b) => a - b) };
}
