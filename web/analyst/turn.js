// One question and what became of it: steps, a report or a question back, and the outcome.

/** `text` is null where a run began without a question that we know. */
export function newTurn(kind, text, startedAt = null) {
  return {
    kind,
    text,
    run: null,
    steps: [],
    progress: null,
    report: null,
    question: null,
    messages: [],
    trouble: null,
    outcome: null,
    elapsedMs: null,
    startedAt,
  };
}

export function addToTurn(turn, frame, clock) {
  switch (frame.type) {
    case "progress":
      return { ...turn, progress: frame, startedAt: startOf(frame, clock) ?? turn.startedAt };
    case "report":
      return { ...turn, report: frame };
    case "question":
      return { ...turn, question: frame.text };
    case "artifact":
      return frame.kind === "report" ? turn : { ...turn, steps: withArtifact(turn.steps, frame) };
    default:
      return { ...turn, steps: withPart(turn.steps, frame) };
  }
}

/** A request that ends without `report` still has an outcome. */
export function endTurn(turn, { outcome, elapsed_ms: elapsedMs }) {
  return { ...turn, outcome: outcome ?? "finished", elapsedMs: elapsedMs ?? null };
}

/** When the request began by the clock of this computer; null if the frame does not say it. */
export function startOf({ at, elapsed_ms: elapsed = 0 }, clock) {
  const told = Date.parse(at);
  return Number.isNaN(told) || elapsed === null ? null : told - elapsed + clock;
}

// `reason`, `code` and `exec` of one loop are one step; a second attempt of the same kind is a step of its own.
function withPart(steps, frame) {
  const last = steps.at(-1);
  if (last === undefined || last.loop !== frame.loop || last[frame.type] !== null) {
    return [...steps, { ...newStep(frame.loop), [frame.type]: frame }];
  }
  return steps.with(-1, { ...last, [frame.type]: frame });
}

// The frame does not name its loop: it comes right after the code that made it.
function withArtifact(steps, frame) {
  const made = steps.findLastIndex((step) => step.exec !== null);
  const place = made < 0 ? steps.length - 1 : made;
  if (place < 0) return [{ ...newStep(null), artifacts: [frame] }];
  const step = steps[place];
  const others = step.artifacts.filter(({ file_name: name }) => name !== frame.file_name);
  return steps.with(place, { ...step, artifacts: [...others, frame] });
}

function newStep(loop) {
  return { loop, reason: null, code: null, exec: null, artifacts: [] };
}
