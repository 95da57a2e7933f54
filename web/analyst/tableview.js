// A table that is put into order by its headers, with the mouse and the keyboard.

import { box, button, element } from "../element.js";
import { label, name as nameElement } from "../language.js";
import { isMissing, isNumeric, nextDirection, sorted } from "./order.js";

/** Longer ones are shown in full only when somebody asks: thousands of rows make a slow page. */
const FIRST_ROWS = 50;

export function createTable({ columns, rows }, caption = "") {
  const numeric = columns.map((_, column) => isNumeric(rows, column));
  const body = element("tbody");
  let order = { column: 0, direction: "none" };
  let limit = FIRST_ROWS;

  function draw() {
    const lines = sorted(rows, order.column, order.direction).slice(0, limit);
    body.replaceChildren(...lines.map((row) => box("tr", "", ...row.map((value, column) => cell(value, numeric[column])))));
  }

  function sortBy(column) {
    const direction = nextDirection(column === order.column ? order.direction : "none");
    order = { column, direction };
    titles.forEach((title, place) => title.setAttribute("aria-sort", place === column ? direction : "none"));
    draw();
  }

  const titles = columns.map((name, column) => createTitle(name, numeric[column], () => sortBy(column)));
  const table = box("table", "sortable", caption === "" ? null : element("caption", "", caption), box("thead", "", box("tr", "", ...titles)), body);
  const region = nameElement(box("div", "table-region", table), "tableRegion");
  region.tabIndex = 0;
  region.setAttribute("role", "region");
  draw();
  if (rows.length <= FIRST_ROWS) return region;
  const more = label(button("quiet more", "moreRows"), "moreRows", { count: rows.length });
  more.addEventListener("click", () => {
    limit = rows.length;
    more.remove();
    draw();
    region.focus();
  });
  return box("div", "long-table", region, more);
}

function createTitle(name, isNumber, onClick) {
  const sorter = element("button", "", name);
  sorter.type = "button";
  sorter.addEventListener("click", onClick);
  const title = box("th", isNumber ? "number" : "", sorter);
  title.scope = "col";
  title.setAttribute("aria-sort", "none");
  return title;
}

function cell(value, isNumber) {
  const missing = isMissing(value);
  const words = typeof value === "object" && !missing ? JSON.stringify(value) : String(value);
  return element("td", missing ? "missing" : isNumber ? "number" : "", missing ? "–" : words);
}
