// What is read out of texts: Markdown, tables, numbers, and questions that fit a file.

import assert from "node:assert/strict";
import { test } from "node:test";
import { examplesFor } from "./examples.js";
import { delayBefore } from "./line.js";
import en from "./locales/en.js";
import ja from "./locales/ja.js";
import { parseInline } from "./inline.js";
import { parseMarkdown } from "./markdown.js";
import { isNumeric, numberIn, sorted } from "./order.js";
import { readCsv, readRecords, readTable } from "./records.js";

const types = (source) => parseMarkdown(source).map((block) => block.type);
const words = (parts) => parts.map((part) => part.text ?? words(part.children ?? [])).join("");

test("blocks of Markdown", () => {
  const source = "# 結論\n\nEast **leads**.\nsecond line\n- a\n- b\n\n1. x\n2. y\n\n> said\n\n```py\n# no heading\n```\n---\n| a | b |\n|---|--:|\n| 1 | 2 |\n";
  assert.deepEqual(types(source), ["heading", "paragraph", "list", "list", "quote", "code", "rule", "table"]);
  const [, , bullets, numbers, , code, , table] = parseMarkdown(source);
  assert.deepEqual([bullets.items.length, numbers.ordered, code.text], [2, true, "# no heading"]);
  assert.deepEqual([table.align, table.rows.length], [["start", "end"], 1]);
});

test("lists hold lists", () => {
  const [list] = parseMarkdown("- a\n  - b\n    - c\n- d");
  assert.equal(list.items.length, 2);
  assert.equal(list.items[0][1].items[0][1].type, "list");
});

test("whatever is written, reading ends and no words are lost", () => {
  for (const source of ["", "***", "- ", "1.", "> > > x", "```", "|", "|\n|-", "* *\n*", "[](", "#", "-\n-", "  - a\n- b\n - c", "`a", "a\r\nb"]) {
    assert.ok(Array.isArray(parseMarkdown(source)), source);
  }
  assert.equal(words(parseInline("**a *b _c `d [e](")), "**a *b _c `d [e](");
  assert.ok(parseMarkdown(">".repeat(5000)).length > 0);
  assert.ok(parseMarkdown(Array.from({ length: 500 }, (_, depth) => `${" ".repeat(depth * 2)}- x`).join("\n")).length > 0);
});

test("emphasis works beside Japanese, and not inside names of columns", () => {
  assert.deepEqual(parseInline("**東**が最大").map((part) => part.type), ["strong", "text"]);
  assert.deepEqual(parseInline("unit_price_total"), [{ type: "text", text: "unit_price_total" }]);
  assert.deepEqual(parseInline("2 * 3 * 4").map((part) => part.type), ["text"]);
  assert.deepEqual(parseInline("`a*b*`"), [{ type: "code", text: "a*b*" }]);
});

test("links go to the web or nowhere", () => {
  assert.equal(parseInline("[a](https://example.org/x)")[0].href, "https://example.org/x");
  for (const bad of ["javascript:alert(1)", "JavaScript:alert(1)", "data:text/html,x", "file:///etc/passwd", "//evil.example", "/analyst"]) {
    const parts = parseInline(`[a](${bad})`);
    assert.equal(parts[0].type, "group", bad);
    assert.equal(parts[0].href, undefined);
  }
});

test("cells are ordered by value, and what is missing comes last in both directions", () => {
  const rows = [["10"], [null], ["9"], ["1,200"], [""]];
  assert.deepEqual(sorted(rows, 0, "ascending").map(([cell]) => cell), ["9", "10", "1,200", null, ""]);
  assert.deepEqual(sorted(rows, 0, "descending").map(([cell]) => cell), ["1,200", "10", "9", null, ""]);
  assert.equal(sorted(rows, 0, "none"), rows);
  assert.deepEqual(sorted([["b"], [2], ["a"], [-1]], 0, "ascending").map(([cell]) => cell), [-1, 2, "a", "b"]);
});

test("numbers as people write them", () => {
  const read = [["1,234.5", 1234.5], ["-3.2%", -3.2], ["¥500", 500], ["1e3", 1000], [7, 7]];
  for (const [cell, value] of read) assert.equal(numberIn(cell), value, cell);
  for (const cell of ["", "-", "2026-01-03", "1,2", "a1", true, null]) assert.equal(numberIn(cell), null, String(cell));
  assert.equal(isNumeric([["1"], [null]], 0), true);
  assert.equal(isNumeric([[null]], 0), false);
});

test("records keep every column, and what is no table stays a text", () => {
  const table = readRecords('[{"a": 1}, {"a": 2, "b": "x"}]');
  assert.deepEqual(table, { columns: ["a", "b"], rows: [[1, null], [2, "x"]] });
  for (const other of ["no json", "[]", "[1]", "[null]", "{}", "[[1]]"]) assert.equal(readRecords(other), null, other);
});

test("CSV with quotes, line breaks and empty fields", () => {
  assert.deepEqual(readCsv('a,b\r\n"x, ""y""\nz",\n,2\n'), [["a", "b"], ['x, "y"\nz', ""], ["", "2"]]);
  assert.deepEqual(readTable("a,b\n1", "text/csv"), { columns: ["a", "b"], rows: [["1", null]] });
});

test("examples name columns of the file, by their types", () => {
  const data = {
    columns: ["id", "date", "region", "amount", "units"],
    dtypes: { id: "int64", date: "str", region: "str", amount: "float64", units: "int64" },
    head: [{ id: 1, date: "2026-01-03", region: "East", amount: 1, units: 2 }],
  };
  const found = new Map(examplesFor(data));
  assert.deepEqual(found.get("exampleBar"), { amount: "amount", group: "region" });
  assert.deepEqual(found.get("exampleLine"), { amount: "amount", date: "date" });
  assert.deepEqual(found.get("exampleCorrelation"), { amount: "amount", other: "units" });
  const words = examplesFor({ columns: ["名前"], dtypes: { 名前: "str" }, head: [] }).map(([key]) => key);
  assert.deepEqual(words, ["exampleOverview", "exampleCount", "exampleMissing", "exampleDuplicates"]);
});

test("both languages have the same texts with the same values", () => {
  const valuesIn = (words) => [...words.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort();
  assert.deepEqual(Object.keys(ja), Object.keys(en));
  for (const key of Object.keys(en)) assert.deepEqual(valuesIn(ja[key]), valuesIn(en[key]), key);
});

test("waits grow from half a second to ten, unless the gateway names one", () => {
  const waits = [0, 1, 2, 3, 4, 5, 50].map((attempt) => delayBefore(attempt, "", () => 1));
  assert.deepEqual(waits, [500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
  assert.equal(delayBefore(9, "", () => 0), 7500);
  assert.equal(delayBefore(9, "retry in 300 ms", () => 0), 300);
});
