// How long something took, in words.

import { text } from "../language.js";

/** Below ten seconds with one digit, because a tenth still tells something there. */
export function durationOf(milliseconds) {
  const seconds = Math.max(0, milliseconds) / 1000;
  if (seconds < 9.95) return text("seconds", { seconds: seconds.toFixed(1) });
  return wholeSeconds(milliseconds);
}

export function wholeSeconds(milliseconds) {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (seconds < 60) return text("seconds", { seconds });
  return text("minutes", { minutes: Math.floor(seconds / 60), seconds: seconds % 60 });
}
