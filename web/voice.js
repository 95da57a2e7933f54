// Talking and listening: microphone, speaker and level meter on one side, audio packets on the other.

import { fromBase64, toBase64 } from "./base64.js";
import { openMicrophone } from "./microphone.js";
import { audio, cancelAudio } from "./protocol/aicore.js";
import { createSpeaker } from "./speaker.js";

/** `claim()` takes the voice to this tab, `speak(packet)` sends on its socket, `onFailed(error)`: no microphone. */
export function createVoice({ meter, counters, claim, speak, onFailed, onBlocked }) {
  let microphone = null;
  let wanted = false;
  let audible = true;
  const speaker = createSpeaker({
    onProgress: (played) => (counters.playedSamples = played),
    onBlocked,
  });

  function sendChunk(pcm, peak) {
    showLevel(peak);
    if (speak(audio(toBase64(pcm)))) counters.sentChunks += 1;
  }

  function showLevel(peak) {
    meter.value = Math.sqrt(peak);
  }

  async function listen() {
    wanted = true;
    speak(cancelAudio());
    speaker.stop();
    claim();
    try {
      const opened = await openMicrophone(sendChunk);
      if (wanted && microphone === null) microphone = opened;
      else opened.close();
    } catch (error) {
      onFailed(error);
    }
  }

  function rest() {
    wanted = false;
    microphone?.close();
    microphone = null;
    showLevel(0);
  }

  return {
    setMicrophone: (on) => (on ? listen() : rest()),
    setSpeaker(on) {
      audible = on;
      if (!on) speaker.stop();
    },
    play(packet) {
      counters.receivedChunks += 1;
      if (audible) speaker.play(fromBase64(packet.base64));
    },
    /** The gateway heard the person speak. */
    cancelled() {
      counters.audioCancels += 1;
      speaker.stop();
    },
    hush() {
      speak(cancelAudio());
      speaker.stop();
    },
    unlock: () => audible && speaker.unlock(),
  };
}
