// Answers while they are made: pieces grow in one place until the whole answer takes it.

import { createDraft } from "./entry.js";

/** Pieces of more than a few runs at once do not happen; older drafts are left as they are. */
const MOST_DRAFTS = 4;

export function createDrafts(transcript) {
  const drafts = new Map();

  function begin(packet) {
    const draft = createDraft(packet);
    drafts.set(packet.run, draft);
    if (drafts.size > MOST_DRAFTS) drafts.delete(drafts.keys().next().value);
    transcript.append(draft.node);
    return draft;
  }

  return {
    add(packet) {
      const draft = drafts.get(packet.run) ?? begin(packet);
      draft.body.append(packet.body);
      transcript.grown();
    },
    /** The node that this answer replaces, if it came in pieces. */
    take(run) {
      const draft = drafts.get(run);
      drafts.delete(run);
      return draft?.node ?? null;
    },
    clear: () => drafts.clear(),
  };
}
