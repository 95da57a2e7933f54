// What a tool is given is mostly JSON on one line; people read it better on several.

export function readable(words) {
  if (!/^\s*[[{]/.test(words)) return words;
  try {
    return JSON.stringify(JSON.parse(words), null, 2);
  } catch {
    // It was shortened, or only looks like JSON.
    return words;
  }
}
