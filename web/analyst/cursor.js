// Which frames this page has, so that nothing is shown twice and nothing is left out after a reconnect.

/** These belong to one connection and are never repeated. */
const UNNUMBERED = new Set(["connected", "ack"]);

/**
 * Every frame of the history has a number of its own; one that is not part of it has the number of the last one before.
 * So a smaller number than the last was here already, and an equal one is something new.
 */
export function createCursor() {
  let last = 0;
  return {
    /** What goes into `after`. */
    get after() {
      return last;
    },
    isNew(frame) {
      if (UNNUMBERED.has(frame.type) || typeof frame.seq !== "number") return true;
      if (frame.seq < last) return false;
      last = frame.seq;
      return true;
    },
    reset() {
      last = 0;
    },
  };
}
