// Which answer every sample belongs to that was handed to the device, and how many of each have left it. A device takes
// samples in advance, so the two differ by its latency.

/** Silence is the generation `undefined`. `onHeard(generation, count)` in the order of the samples. */
export function createLedger(onHeard) {
  let runs = [];
  let length = 0;

  function hear(count) {
    const [run] = runs;
    const heard = Math.min(count, run.count);
    run.count -= heard;
    length -= heard;
    if (run.count === 0) runs.shift();
    onHeard(run.generation, heard);
  }

  return {
    wrote(generation, count) {
      if (count === 0) return;
      length += count;
      if (runs.length > 0 && runs.at(-1).generation === generation) runs.at(-1).count += count;
      else runs.push({ generation, count });
    },
    /** All but the last `latency` samples have been heard by now. */
    settle(latency) {
      while (length > latency) hear(length - latency);
    },
    /** How many of this generation the device still has. */
    onTheWay(generation) {
      return runs.filter((run) => run.generation === generation).reduce((sum, run) => sum + run.count, 0);
    },
    /** Nobody is to be told any more of what the device still has. */
    disown() {
      runs = length > 0 ? [{ generation: undefined, count: length }] : [];
    },
  };
}
