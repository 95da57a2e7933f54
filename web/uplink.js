// What the microphone has heard and the line has not taken yet. A line that is broken or slow costs the oldest words,
// never the newest: a conversation is about now.

/** Three seconds in frames of 20 ms. */
const CAPACITY = 150;
const OLDEST_MS = 3_000;

/** `send(packet)` says whether the line has taken it. */
export function createUplink(send, now = () => performance.now()) {
  let waiting = [];

  function forgetOld() {
    const since = now() - OLDEST_MS;
    waiting = waiting.filter(({ at }) => at >= since).slice(-CAPACITY);
  }

  /** How many were sent. */
  function flush() {
    forgetOld();
    const left = waiting.findIndex(({ packet }) => !send(packet));
    return waiting.splice(0, left === -1 ? waiting.length : left).length;
  }

  return {
    push(packet) {
      waiting.push({ packet, at: now() });
      return flush();
    },
    flush,
  };
}
