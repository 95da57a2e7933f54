// The order of cells: numbers by their value, words by their language, and what is missing at the end.

/** Numbers as people write them: 1,234.5 and -3.2% and ¥500. */
const NUMBER = /^[¥$€£]?[-+]?[¥$€£]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:e[-+]?\d+)?%?$/i;

export function numberIn(value) {
  if (typeof value === "number") return value;
  if (typeof value !== "string") return null;
  const words = value.trim().replaceAll("−", "-");
  if (!/\d/.test(words) || !NUMBER.test(words)) return null;
  const number = Number(words.replace(/[¥$€£,%+]/g, ""));
  return Number.isNaN(number) ? null : number;
}

export function isMissing(value) {
  return value === null || value === undefined || value === "" || Number.isNaN(value);
}

/** `direction`: "ascending", "descending", or "none" for the order in which the rows came. */
export function sorted(rows, column, direction) {
  if (direction === "none") return rows;
  const sign = direction === "ascending" ? 1 : -1;
  return rows.toSorted((a, b) => compare(a[column], b[column], sign));
}

function compare(a, b, sign) {
  if (isMissing(a) || isMissing(b)) return Number(isMissing(a)) - Number(isMissing(b));
  const [left, right] = [numberIn(a), numberIn(b)];
  if (left !== null && right !== null) return sign * (left - right);
  // Numbers among words stay together.
  if (left !== null || right !== null) return sign * (left !== null ? -1 : 1);
  return sign * String(a).localeCompare(String(b), undefined, { numeric: true });
}

export function nextDirection(direction) {
  return { none: "ascending", ascending: "descending", descending: "none" }[direction];
}

/** A column is set in the manner of numbers if it holds nothing else. */
export function isNumeric(rows, column) {
  const values = rows.map((row) => row[column]).filter((value) => !isMissing(value));
  return values.length > 0 && values.every((value) => numberIn(value) !== null);
}
