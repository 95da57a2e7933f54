// The chat at work: the tools that its model and the live model use. Their questions are among those of the agents.

import { createRows } from "./rows.js";
import { createTool } from "./tool.js";

export function createChatWork(transcript) {
  const rows = createRows(transcript);

  return {
    tellsState: false,
    receive(packet) {
      if (packet.kind !== "tool") return false;
      rows.show(packet, packet.body.id, createTool);
      return true;
    },
    clear: rows.clear,
  };
}
