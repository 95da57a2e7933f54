// What a frame says, as words: whatever it holds becomes a text, and no text is endless.

/** What should be a text and is none is shown as it came. */
export function wordsOf(value) {
  if (typeof value === "string") return value;
  return value === undefined || value === null ? "" : JSON.stringify(value);
}

/** The rest is counted instead of shown. */
export function shorten(words, most) {
  return words.length <= most ? words : `${words.slice(0, most)}… (+${words.length - most})`;
}

/** The newest ones stay. */
export function addBounded(list, item, most) {
  return [...list, item].slice(-most);
}
