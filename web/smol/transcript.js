// What is said in the chat, oldest first, and never more than a page can show.

import { addBounded, shorten, wordsOf } from "./words.js";

export const MOST_ENTRIES = 500;
const MOST_CHARACTERS = 100_000;
const MOST_NAME = 40;
const USUAL_LANGUAGE = "python";

/** Kinds: user, text, error, code, decision (about a permission), ended (a turn). */
export function addEntry(state, entry) {
  return { ...state, next: state.next + 1, chat: addBounded(state.chat, { key: state.next, ...entry }, MOST_ENTRIES) };
}

export function entryOf({ type, content, language, step }) {
  const words = shorten(wordsOf(content), MOST_CHARACTERS);
  if (type !== "code") return { kind: type === "user_message" ? "user" : type, words };
  return { kind: "code", words, language: nameOf(language) || USUAL_LANGUAGE, step: nameOf(step) };
}

function nameOf(value) {
  return wordsOf(value).slice(0, MOST_NAME);
}
