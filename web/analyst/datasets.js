// The files of a session: what they are, their first rows, and what was repaired when they were read.

import { box, button, element, worded } from "../element.js";
import { label, name as nameElement } from "../language.js";

/** `choose(name)` makes another file `df`. */
export function createDatasets(list, choose) {
  let shown = [];

  return {
    /** The newest one is `df` and stands first. */
    update(datasets) {
      if (datasets === shown) return;
      shown = datasets;
      const rows = datasets.map((dataset, place) => createCard(dataset, place === datasets.length - 1, choose));
      list.replaceChildren(...rows.reverse());
    },
  };
}

function createCard(dataset, isChosen, choose) {
  const { name, shape, warnings = [], sampled = null } = dataset;
  const [rows, columns] = shape.map((count) => count.toLocaleString("en"));
  const summary = box("summary", "", element("span", "dataset-name", name), variable(name, isChosen), worded("span", "shape", "shape", { rows, columns }));
  const details = box(
    "details",
    "dataset",
    summary,
    isChosen ? null : chooseButton(name, choose),
    sampled === null ? null : worded("p", "note-line", "sampled", countsOf(sampled)),
    warnings.length === 0 ? null : createWarnings(warnings),
    createPreview(dataset),
    dataset.encoding === undefined ? null : worded("p", "encoding", "encoding", { encoding: dataset.encoding }),
  );
  details.open = isChosen;
  return box("li", isChosen ? "chosen" : "", details);
}

function chooseButton(name, choose) {
  return nameElement(button("quiet choose", "chooseTable", () => choose(name)), "chooseTableLabel", { name });
}

/** How code names the file. */
function variable(name, isChosen) {
  if (isChosen) return nameElement(element("span", "badge", "df"), "dfLabel");
  return element("code", "variable", `dfs["${name.replace(/\.[^.]*$/, "")}"]`);
}

function countsOf({ rows_read: read, rows_total: total }) {
  return { read: read.toLocaleString("en"), total: total.toLocaleString("en") };
}

function createWarnings(warnings) {
  const list = box("ul", "", ...warnings.map((words) => element("li", "", String(words))));
  return box("div", "warnings", worded("h4", "", "warnings"), list);
}

function createPreview({ name, columns, dtypes, head }) {
  const titles = columns.map((column) => {
    const title = box("th", "", element("span", "column", column), element("span", "type", dtypes[column] ?? ""));
    title.scope = "col";
    title.classList.toggle("number", head.some((record) => typeof record[column] === "number"));
    return title;
  });
  const lines = head.map((record) => box("tr", "", ...columns.map((column) => cell(record[column]))));
  const table = box("table", "", box("thead", "", box("tr", "", ...titles)), box("tbody", "", ...lines));
  const region = nameElement(box("div", "table-region", table), "preview", { name });
  region.tabIndex = 0;
  region.setAttribute("role", "region");
  return head.length === 0 ? box("div", "", region, label(element("p", "note-line"), "noRows")) : region;
}

function cell(value) {
  const missing = value === null || value === undefined;
  const node = element("td", missing ? "missing" : "", missing ? "–" : String(value));
  if (typeof value === "number") node.classList.add("number");
  return node;
}
