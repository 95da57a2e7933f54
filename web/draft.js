// Answers while they are made: pieces grow in one place until the whole answer takes it. An agent that goes on after a
// tool goes on below it.

import { createDraft } from "./entry.js";

/** Pieces of more than a few runs at once do not happen; older drafts are left as they are. */
const MOST_DRAFTS = 4;
/** With this a message begins, or a paragraph: a good place to go on below what came between. */
const BLANK_LINE = "\n\n";

export function createDrafts(transcript) {
  /** For each run the nodes of its parts, and the body that grows. */
  const drafts = new Map();

  function begin(packet) {
    const run = { nodes: [], body: null };
    drafts.set(packet.run, run);
    if (drafts.size > MOST_DRAFTS) drafts.delete(drafts.keys().next().value);
    return run;
  }

  function part(run, packet) {
    const { node, body } = createDraft(packet);
    run.nodes.push(node);
    run.body = body;
    transcript.append(node);
  }

  function goesBelow(run, packet) {
    return packet.body.startsWith(BLANK_LINE) && !transcript.isLast(run.nodes.at(-1));
  }

  return {
    add(packet) {
      const run = drafts.get(packet.run) ?? begin(packet);
      const fresh = run.body === null || goesBelow(run, packet);
      if (fresh) part(run, packet);
      run.body.append(fresh ? packet.body.replace(/^\n+/, "") : packet.body);
      transcript.grown();
    },
    /** The nodes that this answer replaces, if it came in pieces; the last one is the newest. */
    take(run) {
      const nodes = drafts.get(run)?.nodes ?? [];
      drafts.delete(run);
      return nodes;
    },
    clear: () => drafts.clear(),
  };
}
