// Samples in the order of their arrival, in one circle of memory that doubles when it is full.

const FIRST_SIZE = 32_768;

/** `limit` is the most samples that are ever kept. */
export function createRing(limit) {
  // The size stays a power of two, so that a position is found by a mask.
  let memory = new Int16Array(FIRST_SIZE);
  let first = 0;
  let length = 0;

  function grow(size) {
    const larger = new Int16Array(size);
    for (let index = 0; index < length; index += 1) larger[index] = memory[(first + index) & (memory.length - 1)];
    memory = larger;
    first = 0;
  }

  return {
    /** False, and nothing taken, where there is no room. */
    add(samples) {
      if (length + samples.length > limit) return false;
      while (length + samples.length > memory.length) grow(memory.length * 2);
      const mask = memory.length - 1;
      for (let index = 0; index < samples.length; index += 1) memory[(first + length + index) & mask] = samples[index];
      length += samples.length;
      return true;
    },
    /** The oldest sample; only while there is one. */
    take() {
      const sample = memory[first];
      first = (first + 1) & (memory.length - 1);
      length -= 1;
      return sample;
    },
    drop(count) {
      first = (first + count) & (memory.length - 1);
      length -= count;
    },
    get length() {
      return length;
    },
  };
}
