// A report: conclusion and evidence, figures, tables, what was assumed, and what could be asked next.

import { box, element, worded } from "../element.js";
import { name as nameElement } from "../language.js";
import { createFigure, downloadLink } from "./artifact.js";
import { createMarkdown } from "./markdownview.js";
import { readRecords } from "./records.js";
import { createTable } from "./tableview.js";

/** `open(artifact)` enlarges a figure, `artifact(name)` finds one, `ask(text)` asks. */
export function createReport(report, context) {
  const { title, sections, assumptions, suggestions } = report;
  return box(
    "article",
    "report",
    box("header", "", box("div", "report-title", element("h2", "", title), badges(report)), downloads(report)),
    ...sections.map((section) => createSection(section, context)),
    isEmpty(assumptions) ? null : createAssumptions(assumptions),
    isEmpty(suggestions) ? null : createSuggestions(suggestions, context.ask),
  );
}

function isEmpty(list) {
  return (list ?? []).length === 0;
}

function badges({ intermediate, rule_based: ruleBased }) {
  const shown = [
    intermediate ? [worded("span", "badge warn", "intermediate"), "intermediateHint"] : null,
    ruleBased ? [worded("span", "badge", "ruleBased"), "ruleBasedHint"] : null,
  ].filter((badge) => badge !== null);
  const node = box("p", "badges", ...shown.flatMap(([badge, hint]) => [badge, worded("span", "badge-hint", hint)]));
  node.hidden = shown.length === 0;
  return node;
}

function downloads({ url, html_url: html }) {
  const links = [
    url ? downloadLink(url, "asMarkdown") : null,
    html ? downloadLink(html, "asHtml") : null,
    url ? downloadLink(`${url}?format=tar`, "asArchive") : null,
  ];
  const node = nameElement(box("div", "downloads", worded("span", "", "downloadReport"), ...links), "downloadReport");
  node.setAttribute("role", "group");
  return node;
}

function createSection(section, context) {
  const { section_type: type, content, description } = section;
  if (type === "image") return createPicture(content, description, context);
  if (type === "table") return createTableSection(content, description);
  return createMarkdown(content);
}

function createPicture(name, description, { artifact, open }) {
  const found = artifact(name);
  if (found === undefined) return worded("p", "lost", "missingFigure", { name });
  return createFigure(found, open, description || found.description || name);
}

// What cannot be read as a table is still worth reading.
function createTableSection(content, description) {
  const table = readRecords(content);
  if (table !== null) return createTable(table, description ?? "");
  const words = typeof content === "string" ? content : JSON.stringify(content, null, 2);
  return box("div", "", description ? element("p", "table-title", description) : null, createMarkdown(words));
}

function createAssumptions(assumptions) {
  return box("section", "assumptions", worded("h3", "", "assumptions"), box("ul", "", ...assumptions.map((words) => element("li", "", words))));
}

function createSuggestions(suggestions, ask) {
  const buttons = suggestions.map((words) => {
    const node = element("button", "suggestion", words);
    node.type = "button";
    node.addEventListener("click", () => ask(words));
    return box("li", "", node);
  });
  return box("section", "suggestions", worded("h3", "", "suggestions"), box("ul", "", ...buttons));
}
