// Rows of a transcript that change as what they show goes on.

import { mark } from "./entry.js";

/** Later news about older ones get a row of their own. */
const MOST_ROWS = 500;

export function createRows(transcript) {
  const rows = new Map();

  function add(packet, key, row) {
    rows.set(key, row);
    if (rows.size > MOST_ROWS) rows.delete(rows.keys().next().value);
    transcript.append(mark(row.node, packet));
    return row;
  }

  return {
    /** Puts a packet into the row of its kind and this id; `create` makes the row for the first one. */
    show(packet, id, create) {
      const key = `${packet.kind}/${id}`;
      const old = rows.get(key);
      const row = old === undefined || old.isOver?.(packet.body) ? add(packet, key, create()) : old;
      row.update(packet.body);
      transcript.grown();
    },
    of: (kind, id) => rows.get(`${kind}/${id}`),
    clear: () => rows.clear(),
  };
}
