// Markdown within a line: emphasis, code and links, as a tree of plain objects.

/** Longer than anybody emphasises; it bounds the search for an end that is missing. */
const REACH = 2000;
const DEEPEST = 6;
const WORD = /[\p{L}\p{N}_]/u;
const RULES = [
  [/\\([!-/:-@[-`{-~])/y, ([, mark]) => ({ type: "text", text: mark })],
  [/(`+)(?!`)([^]{1,2000}?)(?<!`)\1(?!`)/y, ([, , text]) => ({ type: "code", text: text.replace(/^ (.*[^ ].*) $/s, "$1") })],
  [/!\[([^\]]{0,500})\]\([^)\s]{0,2000}\)/y, ([, words]) => ({ type: "text", text: words })],
  [/\[([^\]]{1,500})\]\(<?([^)\s>]{1,2000})>?(?:\s+"[^"]{0,500}")?\)/y, ([, words, href], depth) => link(href, inside(words, depth))],
  [/<(https?:\/\/[^\s<>]{1,2000})>/y, ([, href]) => link(href, [{ type: "text", text: href }])],
  [/https?:\/\/[^\s<>"'`|、。)）」\]]{1,2000}/y, ([href]) => link(href, [{ type: "text", text: href }])],
  [/\*\*(?!\s)([^]{1,2000}?)(?<!\s)\*\*(?!\*)/y, ([, words], depth) => ({ type: "strong", children: inside(words, depth) })],
  [/__(?!\s)([^]{1,2000}?)(?<!\s)__(?![\p{L}\p{N}_])/uy, ([, words], depth) => ({ type: "strong", children: inside(words, depth) }), "word"],
  [/~~(?!\s)([^]{1,2000}?)(?<!\s)~~/y, ([, words], depth) => ({ type: "del", children: inside(words, depth) })],
  [/\*(?![\s*])([^*]{1,2000}?)(?<!\s)\*(?!\*)/y, ([, words], depth) => ({ type: "em", children: inside(words, depth) })],
  [/_(?![\s_])([^_]{1,2000}?)(?<!\s)_(?![\p{L}\p{N}_])/uy, ([, words], depth) => ({ type: "em", children: inside(words, depth) }), "word"],
  [/(?: {2,}|\\)\n/y, () => ({ type: "break" })],
];

export function parseInline(text, depth = 0) {
  const parts = [];
  let plain = "";
  let place = 0;
  while (place < text.length) {
    const found = depth > DEEPEST ? null : matchAt(text, place, depth);
    if (found === null) {
      plain += text[place];
      place += 1;
      continue;
    }
    if (plain !== "") parts.push({ type: "text", text: plain });
    plain = "";
    parts.push(found.part);
    place = found.end;
  }
  if (plain !== "") parts.push({ type: "text", text: plain });
  return parts;
}

function matchAt(text, place, depth) {
  // Most characters begin nothing.
  if (!"\\`![<h*_~ ".includes(text[place])) return null;
  for (const [rule, make, edge] of RULES) {
    // A column like unit_price_total holds underscores, but nothing emphasised.
    if (edge === "word" && place > 0 && WORD.test(text[place - 1])) continue;
    rule.lastIndex = place;
    const match = rule.exec(text.slice(0, place + REACH + 10));
    if (match !== null) return { part: make(match, depth), end: rule.lastIndex };
  }
  return null;
}

function inside(words, depth) {
  return parseInline(words, depth + 1);
}

// Other schemes could run a script or leave the browser.
function link(href, children) {
  return /^https?:\/\//i.test(href) ? { type: "link", href, children } : { type: "group", children };
}
