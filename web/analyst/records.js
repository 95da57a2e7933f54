// Tables as they come over the wire, read into columns and rows.

/** A list of records, as JSON text or already read. Null: it is none, and should be shown as the text that it is. */
export function readRecords(content) {
  const value = typeof content === "string" ? readJson(content) : content;
  if (!Array.isArray(value) || value.length === 0) return null;
  if (!value.every((record) => typeof record === "object" && record !== null && !Array.isArray(record))) return null;
  const columns = [...new Set(value.flatMap((record) => Object.keys(record)))];
  return { columns, rows: value.map((record) => columns.map((name) => record[name] ?? null)) };
}

/** The text of a table file, by its media type. */
export function readTable(text, mediaType) {
  if (mediaType.includes("json")) return readRecords(text);
  const lines = readCsv(text, mediaType.includes("tab-separated") ? "\t" : ",");
  if (lines.length < 1) return null;
  const [columns, ...rows] = lines;
  return { columns, rows: rows.map((row) => columns.map((_, index) => row[index] ?? null)) };
}

/** Fields in quotes may hold commas, line breaks and doubled quotes. */
export function readCsv(text, comma = ",") {
  const field = new RegExp(`"((?:[^"]|"")*)"|([^${comma}\\n\\r"][^${comma}\\n\\r]*)|(${comma})|(\\r?\\n|\\r)`, "g");
  const lines = [[]];
  let open = true;
  for (const [, quoted, bare, separator, end] of text.replace(/^\uFEFF/, "").matchAll(field)) {
    const line = lines.at(-1);
    if (separator !== undefined || end !== undefined) {
      if (open) line.push("");
      if (end !== undefined) lines.push([]);
      open = true;
    } else {
      line.push(quoted === undefined ? bare : quoted.replaceAll('""', '"'));
      open = false;
    }
  }
  if (open && lines.at(-1).length > 0) lines.at(-1).push("");
  return lines.filter((line) => line.length > 1 || (line[0] ?? "") !== "");
}

function readJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
