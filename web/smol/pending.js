// Messages on their way: sent, but not yet shown by the server.

import { addBounded } from "./words.js";

const MOST_WAITING = 50;

/** A message of the same words may have been said before, so they are counted. */
export function addPending(state, text) {
  const waiting = state.pending.filter((message) => message.text === text).length;
  const message = { text, place: timesSaid(state, text) + waiting + 1 };
  return { ...state, returned: null, pending: addBounded(state.pending, message, MOST_WAITING) };
}

/** The server has shown one of them. */
export function settle(state, words) {
  const place = state.pending.findIndex(({ text }) => text.trim() === words.trim());
  return place < 0 ? state : { ...state, pending: state.pending.toSpliced(place, 1) };
}

/** What was not taken goes back to the person who wrote it. */
export function giveBack(state, lost) {
  if (lost.length === 0) return state;
  const pending = state.pending.filter((message) => !lost.includes(message));
  return { ...state, pending, returned: { text: lost.map(({ text }) => text).join("\n") } };
}

/** After a reconnect the server has told what it knows; what is not in it was lost with the line. */
export function compare(state) {
  const lost = state.pending.filter(({ text, place }) => timesSaid(state, text) < place);
  return { ...giveBack(state, lost), pending: [] };
}

function timesSaid({ chat }, text) {
  return chat.filter(({ kind, words }) => kind === "user" && words.trim() === text.trim()).length;
}
