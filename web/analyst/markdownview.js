// Draws the tree of a Markdown text. Everything becomes text or a known element, never markup.

import { box, element } from "../element.js";
import { createTable } from "./tableview.js";
import { createCodeBlock } from "./codeblock.js";
import { parseMarkdown } from "./markdown.js";

/** The title of the report is a heading of the second level. */
const HEADING_OFFSET = 2;
const TAGS = { strong: "strong", em: "em", del: "del", group: "span" };

export function createMarkdown(source) {
  return box("div", "prose", ...parseMarkdown(source).map(drawBlock));
}

function drawBlock(block) {
  switch (block.type) {
    case "heading":
      return box(`h${Math.min(6, block.level + HEADING_OFFSET)}`, "", ...drawParts(block.children));
    case "paragraph":
      return box("p", "", ...drawParts(block.children));
    case "list":
      return drawList(block);
    case "quote":
      return box("blockquote", "", ...block.children.map(drawBlock));
    case "code":
      return createCodeBlock(block.text, block.language);
    case "rule":
      return element("hr");
    case "table":
      return createTable({ columns: block.head.map(wordsOf), rows: block.rows.map((row) => row.map(wordsOf)) });
  }
}

function drawList({ ordered, start, items }) {
  const list = box(ordered ? "ol" : "ul", "", ...items.map((blocks) => box("li", "", ...drawItem(blocks))));
  if (ordered && start !== 1) list.start = start;
  return list;
}

// A single line needs no paragraph of its own.
function drawItem(blocks) {
  return blocks.flatMap((block, place) => (place === 0 && block.type === "paragraph" ? drawParts(block.children) : [drawBlock(block)]));
}

function drawParts(parts) {
  return parts.map(drawPart);
}

function drawPart(part) {
  switch (part.type) {
    case "text":
      return document.createTextNode(part.text);
    case "code":
      return element("code", "", part.text);
    case "break":
      return element("br");
    case "link":
      return drawLink(part);
    default:
      return box(TAGS[part.type], "", ...drawParts(part.children));
  }
}

function drawLink({ href, children }) {
  const node = box("a", "", ...drawParts(children));
  node.href = href;
  node.target = "_blank";
  node.rel = "noopener noreferrer";
  return node;
}

function wordsOf(parts) {
  return parts.map((part) => part.text ?? wordsOf(part.children ?? [])).join("");
}
