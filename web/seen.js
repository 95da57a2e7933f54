// Which state of each agent's work the user has seen. Only that is accepted, also if a program of the agent still runs.

export function createSeen() {
  const versions = new Map();
  return {
    /** `version` is null where the gateway names none. */
    note(agent, version) {
      if (version === null) versions.delete(agent);
      else versions.set(agent, version);
    },
    /** The user has changed the work. */
    forget: (agent) => versions.delete(agent),
    /** Null: accept whatever is there. */
    of: (agent) => versions.get(agent) ?? null,
  };
}
