// Changes the rate of a stream of samples with a windowed sinc filter, so that speech keeps clear of aliases.

const ZERO_CROSSINGS = 12;
const TABLE_STEPS = 64;
const KERNEL = buildKernel();

/** Returns a function from a block of samples to the samples at the new rate; it remembers the end of each block. */
export function createResampler(from, to) {
  if (from === to) return (block) => block;
  const step = from / to;
  const cutoff = Math.min(1, to / from);
  const reach = Math.ceil(ZERO_CROSSINGS / cutoff);
  let held = new Float32Array(reach);
  let position = reach;

  return (block) => {
    const samples = joined(held, block);
    const output = [];
    for (; position + reach < samples.length; position += step) {
      output.push(sampleAt(samples, position, reach, cutoff));
    }
    const kept = Math.min(samples.length, Math.floor(position) - reach);
    held = samples.slice(kept);
    position -= kept;
    return output;
  };
}

function joined(first, second) {
  const whole = new Float32Array(first.length + second.length);
  whole.set(first);
  whole.set(second, first.length);
  return whole;
}

function sampleAt(samples, position, reach, cutoff) {
  const centre = Math.floor(position);
  let sum = 0;
  for (let index = centre - reach + 1; index <= centre + reach; index += 1) {
    sum += samples[index] * weight(Math.abs(index - position) * cutoff);
  }
  return sum * cutoff;
}

function weight(distance) {
  return KERNEL[Math.round(distance * TABLE_STEPS)] ?? 0;
}

function buildKernel() {
  const length = ZERO_CROSSINGS * TABLE_STEPS;
  return Float32Array.from({ length }, (_, index) => {
    const x = (Math.PI * index) / TABLE_STEPS;
    const window = 0.5 + 0.5 * Math.cos((Math.PI * index) / length);
    return index === 0 ? 1 : (Math.sin(x) / x) * window;
  });
}
