// What somebody wants changed, sent one after the other: a second wish for the same thing replaces one that waits.

/** `send(id, value)` to a promise that never fails; `onDone()` when nothing waits any more. */
export function createWishes({ send, onDone }) {
  const waiting = new Map();
  let isSending = false;

  async function sendAll() {
    isSending = true;
    // What is added meanwhile is visited, too.
    for (const [id, value] of waiting) {
      waiting.delete(id);
      await send(id, value);
    }
    isSending = false;
    onDone();
  }

  return {
    add(id, value) {
      waiting.set(id, value);
      if (!isSending) sendAll();
    },
    has: (id) => waiting.has(id),
  };
}
