// A WAV that a voice detector takes for speech: syllables of a gliding, buzzing pitch, then a pause.

const RATE = 48_000;
const SPOKEN_SECONDS = 1.8;
const PAUSE_SECONDS = 3;
export const RECORDING_SECONDS = SPOKEN_SECONDS + PAUSE_SECONDS;
const SYLLABLES_PER_SECOND = 4;

export function speech() {
  const samples = Math.round(RATE * RECORDING_SECONDS);
  const data = Buffer.alloc(samples * 2);
  let phase = 0;
  for (let index = 0; index < RATE * SPOKEN_SECONDS; index += 1) {
    const time = index / RATE;
    phase += (2 * Math.PI * (130 + 40 * Math.sin(2 * Math.PI * 1.3 * time))) / RATE;
    data.writeInt16LE(Math.round(16_000 * syllable(time) * buzz(phase)), index * 2);
  }
  return Buffer.concat([header(data.length), data]);
}

function syllable(time) {
  return Math.max(0, Math.sin(Math.PI * SYLLABLES_PER_SECOND * time)) ** 0.5;
}

/** A few harmonics weighted like an open vowel; a pure tone would be filtered out as noise. */
function buzz(phase) {
  const weights = [0.5, 0.4, 0.35, 0.5, 0.6, 0.4, 0.2, 0.15];
  return weights.reduce((sum, weight, index) => sum + weight * Math.sin(phase * (index + 1)), 0) / 3;
}

function header(length) {
  const head = Buffer.alloc(44);
  head.write("RIFF", 0);
  head.writeUInt32LE(36 + length, 4);
  head.write("WAVEfmt ", 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(RATE, 24);
  head.writeUInt32LE(RATE * 2, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write("data", 36);
  head.writeUInt32LE(length, 40);
  return head;
}
