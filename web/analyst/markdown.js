// Markdown of reports as a tree of plain objects. It knows what a report needs, and passes everything else on as text.

import { parseInline } from "./inline.js";

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w+#-]*)[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const QUOTE = /^ {0,3}>\s?(.*)$/;
const DIVIDER = /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;
const DEEPEST = 8;

export function parseMarkdown(source) {
  return parseLines(String(source).replace(/\r\n?/g, "\n").replace(/\t/g, "    ").split("\n"), 0);
}

function parseLines(lines, depth) {
  const blocks = [];
  let place = 0;
  while (place < lines.length) {
    const taken = takeBlock(lines, place, depth);
    if (taken.block !== null) blocks.push(taken.block);
    place = taken.next;
  }
  return blocks;
}

function takeBlock(lines, place, depth) {
  const line = lines[place];
  if (line.trim() === "") return { block: null, next: place + 1 };
  const fence = FENCE.exec(line);
  if (fence !== null) return takeCode(lines, place, fence);
  const heading = HEADING.exec(line);
  if (heading !== null) {
    return { block: { type: "heading", level: heading[1].length, children: parseInline(heading[2]) }, next: place + 1 };
  }
  if (RULE.test(line)) return { block: { type: "rule" }, next: place + 1 };
  if (isTable(lines, place)) return takeTable(lines, place);
  if (depth < DEEPEST && QUOTE.test(line)) return takeQuote(lines, place, depth);
  if (depth < DEEPEST && ITEM.test(line)) return takeList(lines, place, depth);
  return takeParagraph(lines, place);
}

function takeCode(lines, place, [, mark, language]) {
  const isEnd = (line) => line.trim().startsWith(mark) && /^[`~]+$/.test(line.trim());
  let end = place + 1;
  while (end < lines.length && !isEnd(lines[end])) end += 1;
  return { block: { type: "code", language, text: lines.slice(place + 1, end).join("\n") }, next: end + 1 };
}

function takeQuote(lines, place, depth) {
  let end = place;
  while (end < lines.length && QUOTE.test(lines[end])) end += 1;
  const inner = lines.slice(place, end).map((line) => QUOTE.exec(line)[1]);
  return { block: { type: "quote", children: parseLines(inner, depth + 1) }, next: end };
}

function takeList(lines, place, depth) {
  const [, indent, mark] = ITEM.exec(lines[place]);
  const ordered = /\d/.test(mark);
  const items = [];
  let next = place;
  while (next < lines.length) {
    const found = ITEM.exec(lines[next]);
    if (found === null || found[1].length > indent.length + 1 || found[1].length < indent.length) break;
    if (/\d/.test(found[2]) !== ordered || RULE.test(lines[next])) break;
    const item = takeItem(lines, next, found);
    items.push(parseLines(item.lines, depth + 1));
    next = item.next;
  }
  // A list of this depth and kind that matches nothing cannot be: the first line is an item.
  return { block: { type: "list", ordered, start: ordered ? Number.parseInt(mark, 10) : 1, items }, next };
}

/** The lines of one item without their indentation; blank lines belong to it while something indented follows. */
function takeItem(lines, place, [, indent, , first]) {
  const inner = [first];
  let next = place + 1;
  while (next < lines.length) {
    const line = lines[next];
    const following = line.trim() === "" ? lines.slice(next).find((other) => other.trim() !== "") : line;
    if (following === undefined || widthOf(following) <= indent.length) break;
    inner.push(line.slice(Math.min(widthOf(line), indent.length + 2)));
    next += 1;
  }
  while (next < lines.length && lines[next].trim() === "") next += 1;
  return { lines: inner, next };
}

function widthOf(line) {
  return line.length - line.trimStart().length;
}

function takeParagraph(lines, place) {
  let end = place + 1;
  while (end < lines.length && !beginsBlock(lines, end)) end += 1;
  const text = lines.slice(place, end).map((line) => line.trimStart()).join("\n");
  return { block: { type: "paragraph", children: parseInline(text.trimEnd()) }, next: end };
}

function beginsBlock(lines, place) {
  const line = lines[place];
  return line.trim() === "" || [FENCE, HEADING, RULE, QUOTE, ITEM].some((rule) => rule.test(line)) || isTable(lines, place);
}

function isTable(lines, place) {
  const divider = lines[place + 1];
  return lines[place].includes("|") && divider !== undefined && divider.includes("-") && DIVIDER.test(divider);
}

function takeTable(lines, place) {
  const head = cells(lines[place]);
  const align = cells(lines[place + 1]).map((cell) => (cell.endsWith(":") ? (cell.startsWith(":") ? "center" : "end") : "start"));
  let end = place + 2;
  while (end < lines.length && lines[end].trim() !== "" && lines[end].includes("|")) end += 1;
  const rows = lines.slice(place + 2, end).map((line) => head.map((_, index) => parseInline(cells(line)[index] ?? "")));
  return { block: { type: "table", align, head: head.map((cell) => parseInline(cell)), rows }, next: end };
}

function cells(line) {
  const inner = line.trim().replace(/^\|/, "").replace(/(?<!\\)\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}
