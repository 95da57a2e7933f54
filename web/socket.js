// One WebSocket that comes back by itself. Knows close codes and waiting times; frames pass through unread.

const FIRST_DELAY_MS = 400;
const LONGEST_DELAY_MS = 20_000;
const GREETING_TIMEOUT_MS = 10_000;

/**
 * States: "connecting" until `confirm()`, then "ready"; "waiting" between attempts; "refused" for good.
 * `hello` makes the first frame anew for every attempt, because the cursor in it moves; `url` may be made anew as well.
 * `delay(attempt, reason)` is the wait before an attempt, in milliseconds.
 */
export function openSocket({ url, hello = null, onFrame, onState, onClosed, onRefused, delay = delayBefore }) {
  let wire = null;
  let attempt = 0;
  let timer = null;
  let state = "waiting";

  function become(next) {
    state = next;
    onState(next);
  }

  function dial() {
    clearTimeout(timer);
    become("connecting");
    wire = new WebSocket(typeof url === "function" ? url() : url);
    wire.onopen = () => hello !== null && wire.send(hello());
    wire.onmessage = (event) => onFrame(event.data);
    wire.onclose = (event) => closed(event.code, event.reason);
    timer = setTimeout(() => retryAfter(delay(attempt++, "")), GREETING_TIMEOUT_MS);
  }

  function closed(code, reason) {
    onClosed(code);
    if (mayReconnect(code)) return retryAfter(delay(attempt++, reason));
    hangUp();
    become("refused");
    onRefused(code, reason);
  }

  function retryAfter(wait) {
    hangUp();
    become("waiting");
    timer = setTimeout(dial, wait);
  }

  // A dead network never finishes the closing handshake, so the old wire is forgotten instead of awaited.
  function hangUp() {
    clearTimeout(timer);
    if (wire === null) return;
    wire.onopen = wire.onmessage = wire.onclose = null;
    wire.close();
    wire = null;
  }

  return {
    dial,
    redial() {
      hangUp();
      dial();
    },
    /** Skips the rest of a waiting time, for instance when the network is back. */
    hurry() {
      if (state === "waiting") dial();
    },
    /** The gateway has greeted us: this attempt succeeded. */
    confirm() {
      clearTimeout(timer);
      attempt = 0;
      become("ready");
    },
    close() {
      hangUp();
      become("waiting");
    },
    send(text) {
      if (state !== "ready") return false;
      wire.send(text);
      return true;
    },
    get backlog() {
      return wire === null ? 0 : wire.bufferedAmount;
    },
    get state() {
      return state;
    },
  };
}

export function mayReconnect(code) {
  return code < 3500 || code > 3999;
}

/** Half of the wait is random, so that the clients of a restarted gateway do not return in one wave. */
export function delayBefore(attempt, reason, random = Math.random) {
  const hint = /retry in (\d+) ms/.exec(reason);
  const base = hint === null ? Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** attempt) : Number(hint[1]);
  return hint === null ? base * (0.5 + random() / 2) : base + random() * Math.max(200, base / 2);
}
