// Commands that the gateway has not acknowledged yet, in the order in which they were given.

export function createOutbox(onCount) {
  const waiting = new Map();
  const prefix = randomHex(8);
  let last = 0;

  return {
    /** A command with a slot replaces an older one of that slot: only the newest state of a switch matters. */
    add(packet, slot = null) {
      if (slot !== null) dropSlot(waiting, slot);
      last += 1;
      const request = `${prefix}-${last}`;
      waiting.set(request, { packet, slot });
      onCount(waiting.size);
      return request;
    },
    settle(request) {
      const known = waiting.delete(request);
      if (known) onCount(waiting.size);
      return known;
    },
    dropLargest() {
      const sizes = [...waiting].map(([request, { packet }]) => [request, JSON.stringify(packet).length]);
      const largest = sizes.reduce((best, next) => (next[1] > best[1] ? next : best), [null, 0]);
      return this.settle(largest[0]);
    },
    entries() {
      return [...waiting].map(([request, { packet }]) => ({ request, packet }));
    },
  };
}

function dropSlot(waiting, slot) {
  for (const [request, entry] of waiting) {
    if (entry.slot === slot) waiting.delete(request);
  }
}

// randomUUID exists only on secure origins; a gateway on the local network is often plain http.
function randomHex(bytes) {
  const noise = crypto.getRandomValues(new Uint8Array(bytes));
  return Array.from(noise, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
