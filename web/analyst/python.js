// Splits Python into the parts that are shown in different colours.

const WORDS =
  "False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield";
const KEYWORDS = new Set(WORDS.split(" "));
const PART =
  /(?<comment>#[^\n]*)|(?<string>[rbfuRBFU]{0,2}(?:"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?))|(?<number>\b\d[\d_.]*(?:e[-+]?\d+)?\b)|(?<word>[\p{L}_][\p{L}\p{N}_]*)/giu;

/** `[{ kind, text }]`, all of the text in its order; `kind` is "" for what has no colour. */
export function paintPython(code) {
  const parts = [];
  let place = 0;
  for (const match of code.matchAll(PART)) {
    const kind = kindOf(match.groups);
    if (kind === "") continue;
    if (match.index > place) parts.push({ kind: "", text: code.slice(place, match.index) });
    parts.push({ kind, text: match[0] });
    place = match.index + match[0].length;
  }
  if (place < code.length) parts.push({ kind: "", text: code.slice(place) });
  return parts;
}

function kindOf({ comment, string, number, word }) {
  if (comment !== undefined) return "py-comment";
  if (string !== undefined) return "py-string";
  if (number !== undefined) return "py-number";
  return KEYWORDS.has(word) ? "py-keyword" : "";
}
