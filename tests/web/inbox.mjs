// What has arrived, in order, and waiting for what is to come.

import { PATIENCE_MS } from "./browser.mjs";

/** `name` says in failures whose frames they are. */
export function createInbox(name, patience = PATIENCE_MS) {
  const frames = [];
  const waiting = new Set();
  let read = 0;

  return {
    /** Everything that has arrived. */
    frames,
    put(frame) {
      frames.push(frame);
      for (const check of waiting) check();
    },
    /** The frames that nobody has taken yet, up to the first that fits. */
    until(fits) {
      return new Promise((resolve, reject) => {
        const check = () => {
          const at = frames.findIndex((frame, index) => index >= read && fits(frame));
          if (at < 0) return;
          waiting.delete(check);
          clearTimeout(timer);
          const taken = frames.slice(read, at + 1);
          read = at + 1;
          resolve(taken);
        };
        const fail = () => {
          waiting.delete(check);
          reject(new Error(`${name} waits in vain after ${JSON.stringify(frames.slice(-8))}`));
        };
        const timer = setTimeout(fail, patience);
        waiting.add(check);
        check();
      });
    },
  };
}
