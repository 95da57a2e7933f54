// Numbers that tell a test, or a curious person, what the page has done. Written by the modules, read by anybody.

export function createCounters() {
  return {
    received: 0,
    duplicates: 0,
    greetings: 0,
    resumed: 0,
    redials: 0,
    sentChunks: 0,
    receivedChunks: 0,
    playedSamples: 0,
    playedPeak: 0,
    gaps: 0,
    sentAcks: 0,
    audioCancels: 0,
    stopMs: null,
    listsDrawn: 0,
    listsSkipped: 0,
  };
}
